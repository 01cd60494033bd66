package permission

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// globToken is one element of a word that the shell expands.
type globToken struct {
	kind   byte // 'c' a character, '[' a class, '?', '*' a star, '.' a hole
	char   rune
	class  string // what stands between the brackets
	negate bool
}

// wide reports whether the token stands for any number of characters.
func (t globToken) wide() bool { return t.kind == '*' || t.kind == '.' }

// accepts reports whether the token may stand for a character in lower case.
func (t globToken) accepts(c rune) bool {
	switch t.kind {
	case 'c':
		return t.char == c
	case '[':
		return c != '/' && inClass(t.class, c) != t.negate
	case '.':
		return true
	}
	return c != '/'
}

// globTokens reads a glob in which a backslash quotes and ** is a hole.
func globTokens(glob string) []globToken {
	tokens := make([]globToken, 0, len(glob))
	for i := 0; i < len(glob); {
		c, n := utf8.DecodeRuneInString(glob[i:])
		t := globToken{kind: 'c', char: foldRune(c)}
		switch c {
		case '*':
			t.kind = '*'
			for n < len(glob)-i && glob[i+n] == '*' {
				t.kind = '.'
				n++
			}
		case '?':
			t.kind = '?'
		case '[':
			if end := classEnd(glob[i:]); end > 1 {
				body := glob[i+1 : i+end-1]
				t.kind, t.negate = '[', strings.HasPrefix(body, "!") || strings.HasPrefix(body, "^")
				t.class, n = strings.TrimLeft(body, "!^"), end
			}
		case '\\':
			if i+n < len(glob) {
				var m int
				c, m = utf8.DecodeRuneInString(glob[i+n:])
				t.char = foldRune(c)
				n += m
			}
		}
		i += n
		tokens = append(tokens, t)
	}
	return tokens
}

func foldRune(c rune) rune { return unicode.ToLower(unicode.ToUpper(c)) }

// classEnd is the length of the bracket expression at the start of s, 1 if it
// does not end.
func classEnd(s string) int {
	i := 1
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		i++
	}
	if i < len(s) && s[i] == ']' {
		i++
	}
	for ; i < len(s); i++ {
		switch {
		case s[i] == ']':
			return i + 1
		case s[i] == '[' && i+1 < len(s) && strings.IndexByte(":.=", s[i+1]) >= 0:
			if end := strings.Index(s[i+2:], s[i+1:i+2]+"]"); end >= 0 && end < 32 {
				i += end + 3
			}
		case s[i] == '\\':
			i++
		}
	}
	return 1
}

// inClass reports whether a character may be meant by what stands between
// brackets. Names of sets that are not known mean every character.
func inClass(class string, c rune) bool {
	if strings.Contains(class, "[") || len(class) > 256 {
		return true
	}
	runes := []rune(strings.ReplaceAll(class, `\`, ""))
	for i := 0; i < len(runes); i++ {
		from, to := runes[i], runes[i]
		if i+2 < len(runes) && runes[i+1] == '-' {
			to = runes[i+2]
			i += 2
		}
		for _, v := range [...]rune{c, unicode.ToUpper(c)} {
			if from <= v && v <= to {
				return true
			}
		}
	}
	return false
}

// overlap compares a word that the shell expands with a pattern of a rule, in
// folded case. It is the largest number of characters that both spell out in a
// text that both match, -1 if there is no such text.
func overlap(word []globToken, pattern []rune) int {
	row, next := make([]int, len(pattern)+1), make([]int, len(pattern)+1)
	fill(row)
	row[0] = 0
	for i := 0; i <= len(word); i++ {
		fill(next)
		for j, n := range row {
			if n < 0 {
				continue
			}
			star := j < len(pattern) && pattern[j] == '*'
			if star {
				row[j+1] = max(row[j+1], n)
			}
			if i == len(word) {
				continue
			}
			w := word[i]
			if w.wide() || star {
				next[j] = max(next[j], n)
			}
			if star || j == len(pattern) {
				continue
			}
			switch c := pattern[j]; {
			case c != '?' && !w.accepts(c):
			case w.wide():
				row[j+1] = max(row[j+1], n)
			case c != '?' && (w.kind == 'c' || w.kind == '['):
				next[j+1] = max(next[j+1], n+1)
			default:
				next[j+1] = max(next[j+1], n)
			}
		}
		if i < len(word) {
			row, next = next, row
		}
	}
	return row[len(pattern)]
}

func fill(row []int) {
	for i := range row {
		row[i] = -1
	}
}

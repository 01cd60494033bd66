package permission

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxExpanded bounds the bytes that braces and variables add to a script.
const maxExpanded = 16 << 10

// spend reports whether the script may still grow by n bytes.
func (r *reader) spend(n int) bool {
	if r.expanded+n > maxExpanded {
		return false
	}
	r.expanded += n
	return true
}

// words reads words as the shell expands them: one for each member of a brace
// list, one for each part of a value, and one more for each other value that
// the script gives to a variable in it.
func (r *reader) words(args ...*syntax.Word) []Word {
	out := make([]Word, 0, len(args))
	for _, a := range args {
		source := slice(r.src, a)
		if lit := literalOf(a); lit != "" {
			w := plainWord(lit)
			w.Source = source
			out = append(out, w)
			continue
		}
		first := len(out)
		for _, alternative := range r.alternatives(a, source) {
			t := wordText{reader: r}
			for t.pick = 0; t.pick == 0 || t.pick < t.picks; t.pick++ {
				t.read(alternative)
			}
			out = append(out, t.words...)
		}
		if len(out) == first {
			// The shell may drop it, or may not.
			out = append(out, Word{Text: source, Known: source == `""` || source == "''"})
		}
		for i := first; i < len(out); i++ {
			out[i].Source, out[i].more = source, i > first
		}
	}
	return out
}

// word reads a word that the shell does not split.
func (r *reader) word(w *syntax.Word) Word {
	source := slice(r.src, w)
	if lit := literalOf(w); lit != "" {
		word := plainWord(lit)
		word.Source = source
		return word
	}
	t := wordText{reader: r, whole: true, quoted: true}
	t.read(w)
	word := t.words[0]
	word.Source = source
	return word
}

func (t *wordText) read(w *syntax.Word) {
	for i, p := range w.Parts {
		t.part(p, i+1 < len(w.Parts))
	}
	t.end()
}

// literalOf is the text of a word that is nothing but text, else "".
func literalOf(w *syntax.Word) string {
	if len(w.Parts) == 1 {
		if lit, ok := w.Parts[0].(*syntax.Lit); ok && !strings.ContainsAny(lit.Value, "\\*?[{") {
			return lit.Value
		}
	}
	return ""
}

// alternatives are the words a word with braces stands for; it alone if it has
// none, or more than are worth reading.
func (r *reader) alternatives(w *syntax.Word, source string) []*syntax.Word {
	split := *w
	if !strings.Contains(source, "{") || !syntax.SplitBraces(&split) {
		return []*syntax.Word{w}
	}
	lists, ok := expandParts(split.Parts, max(1, (maxExpanded-r.expanded)/(len(source)+1)))
	if !ok || len(lists) > 1 && !r.spend(len(lists)*len(source)) {
		return []*syntax.Word{w}
	}
	out := make([]*syntax.Word, len(lists))
	for i, parts := range lists {
		out[i] = &syntax.Word{Parts: joinLiterals(parts)}
	}
	return out
}

// expandParts lists what parts with brace lists among them stand for, false if
// that is more than limit.
func expandParts(parts []syntax.WordPart, limit int) ([][]syntax.WordPart, bool) {
	lists := [][]syntax.WordPart{nil}
	for _, p := range parts {
		members := [][]syntax.WordPart{{p}}
		if brace, ok := p.(*syntax.BraceExp); ok {
			if members, ok = braceMembers(brace, limit); !ok {
				return nil, false
			}
		}
		if len(lists)*len(members) > limit {
			return nil, false
		}
		next := lists
		if len(members) > 1 {
			next = make([][]syntax.WordPart, 0, len(lists)*len(members))
		} else {
			next = lists[:0]
		}
		for _, l := range lists {
			for _, m := range members {
				if len(members) == 1 {
					next = append(next, append(l, m...))
					continue
				}
				next = append(next, append(l[:len(l):len(l)], m...))
			}
		}
		lists = next
	}
	return lists, true
}

func braceMembers(b *syntax.BraceExp, limit int) ([][]syntax.WordPart, bool) {
	if b.Sequence {
		return sequence(b, limit)
	}
	var members [][]syntax.WordPart
	for _, e := range b.Elems {
		inner, ok := expandParts(e.Parts, limit)
		if !ok || len(members)+len(inner) > limit {
			return nil, false
		}
		members = append(members, inner...)
	}
	return members, true
}

// sequence expands {1..3} and {a..c}. One with a step or with padding is not
// read.
func sequence(b *syntax.BraceExp, limit int) ([][]syntax.WordPart, bool) {
	from, to := b.Elems[0].Lit(), b.Elems[1].Lit()
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	letters := err1 != nil && err2 != nil && len(from) == 1 && len(to) == 1
	if letters {
		first, last = int(from[0]), int(to[0])
	}
	padded := !letters && (strconv.Itoa(first) != from || strconv.Itoa(last) != to)
	const far = 1 << 30 // beyond it the difference may not fit
	if len(b.Elems) != 2 || padded || min(first, last) < -far || max(first, last) > far || max(last-first, first-last) >= limit {
		return nil, false
	}
	var members [][]syntax.WordPart
	for n := min(first, last); n <= max(first, last); n++ {
		text := strconv.Itoa(n)
		if letters {
			text = string(rune(n))
		}
		members = append(members, []syntax.WordPart{&syntax.Lit{Value: text}})
	}
	return members, true
}

// joinLiterals puts text together again that was split at braces.
func joinLiterals(parts []syntax.WordPart) []syntax.WordPart {
	var out []syntax.WordPart
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			out = append(out, &syntax.Lit{Value: text.String()})
			text.Reset()
		}
	}
	for _, p := range parts {
		if lit, ok := p.(*syntax.Lit); ok {
			text.WriteString(lit.Value)
			continue
		}
		flush()
		out = append(out, p)
	}
	flush()
	return out
}

// braceEnd is the length of the brace expansion at the start of s, 0 if the
// shell would not expand it. One that runs on into the next part of the word
// counts, whatever it holds.
func braceEnd(s string, more bool) int {
	depth, list := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '{':
			depth++
		case s[i] == ',', strings.HasPrefix(s[i:], ".."):
			list = true
		case s[i] == '}':
			if depth--; depth == 0 {
				if !list {
					return 0
				}
				return i + 1
			}
		}
	}
	if more {
		return len(s)
	}
	return 0
}

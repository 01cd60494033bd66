package permission

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Word is one word of a command.
type Word struct {
	Source string // as written
	// Text is the word after quote removal. What only the shell can know
	// stands in it as written, unless the script itself assigns the variable.
	Text  string
	Known bool // Text is what the program gets; a leading ~ may stand in it
	// glob is the word as a pattern for path.Match, if the shell expands it.
	glob string
}

// name is what the word calls when it is a command word: no directory, no
// extension of Windows, in lower case as some file systems do not mind it.
func (w Word) name() string {
	return strings.TrimSuffix(strings.ToLower(path.Base(w.Text)), ".exe")
}

// bare reports whether the word is spelled without quotes, path or expansion.
func (w Word) bare() bool {
	return w.Known && w.Source == w.Text && !strings.Contains(w.Text, "/")
}

// option returns the word if it is written like an option, else "".
func (w Word) option() string {
	if len(w.Text) > 1 && w.Text[0] == '-' {
		return w.Text
	}
	return ""
}

// wordText does quote removal part by part.
type wordText struct {
	src  string
	vars map[string]string
	text strings.Builder
	// glob is built beside text; it is of use only if meta is set.
	glob      strings.Builder
	meta      bool
	unknown   bool
	unescaped bool // an escape of $'…' that is left as written
}

// word reads a word of the source.
func (r *reader) word(w *syntax.Word) Word {
	source := slice(r.src, w)
	if len(w.Parts) == 1 {
		if lit, ok := w.Parts[0].(*syntax.Lit); ok && !strings.ContainsAny(lit.Value, "\\*?[{") {
			return Word{Source: source, Text: lit.Value, Known: true}
		}
	}
	t := wordText{src: r.src, vars: r.vars}
	for i, p := range w.Parts {
		t.part(p, i+1 < len(w.Parts))
	}
	if t.unescaped {
		r.opaque("text is spelled in escapes: " + source)
	}
	word := Word{Source: source, Text: t.text.String(), Known: !t.unknown && !t.meta}
	if t.meta {
		word.glob = t.glob.String()
	}
	return word
}

func (t *wordText) literal(s string) {
	t.text.WriteString(s)
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(`*?[\`, s[i]) >= 0 {
			t.glob.WriteByte('\\')
		}
		t.glob.WriteByte(s[i])
	}
}

func (t *wordText) hole(n syntax.Node) {
	t.unknown = true
	t.text.WriteString(slice(t.src, n))
	t.glob.WriteByte('*')
}

// bareText handles text outside quotes: backslashes, patterns and braces.
// more says that another part of the word follows.
func (t *wordText) bareText(s string, more bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i < len(s) {
				t.literal(s[i : i+1])
			}
		case '*', '?', '[':
			if c == '[' && strings.IndexByte(s[i:], ']') < 0 {
				t.literal("[")
				continue
			}
			t.meta = true
			t.text.WriteByte(c)
			t.glob.WriteByte(c)
			if c == '[' && i+1 < len(s) && s[i+1] == '!' {
				i++
				t.text.WriteByte('!')
				t.glob.WriteByte('^')
			}
		case '{':
			// A brace list is as good as a star here: both stand for several
			// words that the text does not spell out.
			if end := braceEnd(s[i:], more); end > 0 {
				t.meta = true
				t.text.WriteString(s[i : i+end])
				t.glob.WriteByte('*')
				i += end - 1
				continue
			}
			t.literal("{")
		case ']', '^', '-':
			t.text.WriteByte(c)
			t.glob.WriteByte(c)
		default:
			t.literal(s[i : i+1])
		}
	}
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

func (t *wordText) part(p syntax.WordPart, more bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		t.bareText(p.Value, more)
	case *syntax.SglQuoted:
		if p.Dollar {
			t.ansi(p.Value)
			return
		}
		t.literal(p.Value)
	case *syntax.DblQuoted:
		for _, q := range p.Parts {
			if lit, ok := q.(*syntax.Lit); ok {
				t.literal(unescapeDouble(lit.Value))
				continue
			}
			t.part(q, false)
		}
	case *syntax.ParamExp:
		if value, ok := t.vars[variable(p)]; ok {
			t.unknown = true
			t.literal(value)
			return
		}
		t.hole(p)
	case *syntax.ExtGlob:
		t.meta = true
		t.hole(p)
	default:
		t.hole(p)
	}
}

// ansi handles $'…' as far as the usual escapes go.
func (t *wordText) ansi(s string) {
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			t.literal(s[i : i+1])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			t.literal("\n")
		case 't':
			t.literal("\t")
		case '\\', '\'', '"':
			t.literal(s[i : i+1])
		default:
			t.unescaped, t.unknown = true, true
			t.literal(s[i-1 : i+1])
		}
	}
}

func unescapeDouble(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`", "\\\n", "").Replace(s)
}

// variable is the name of a plain $name or ${name}, else "".
func variable(p *syntax.ParamExp) string {
	if p.Param == nil || p.Excl || p.Length || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Exp != nil {
		return ""
	}
	return p.Param.Value
}

// slice is the source of a node, "" if its position makes no sense.
func slice(src string, n syntax.Node) string {
	from, to := n.Pos().Offset(), n.End().Offset()
	if from > to || to > uint(len(src)) {
		return ""
	}
	return src[from:to]
}

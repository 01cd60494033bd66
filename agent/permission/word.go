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

	// glob is the word as a pattern, see overlap, if the shell expands it or
	// a part of it is not known.
	glob string
	// void is Text without the parts that are not known: what the program gets
	// if they are empty.
	void string
	// lead is what the word begins with whatever its parts turn out to be.
	lead string
	more bool // it comes from the same source as the word before
}

// plainWord is a word that means what is written.
func plainWord(text string) Word {
	return Word{Source: text, Text: text, Known: true, void: text, lead: text}
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

// pattern is what the word may become: its glob, or its text quoted.
func (w Word) pattern() string {
	if w.glob != "" {
		return w.glob
	}
	return quoteGlob(w.Text)
}

// hole is the pattern of a part that is not known. Unlike the * of a shell it
// may hold slashes and begin with a dot.
const hole = "**"

// maxGlob is the length in bytes of a pattern worth comparing; a longer one may
// stand for anything.
const maxGlob = 512

// wordText does expansion and quote removal part by part.
type wordText struct {
	*reader
	whole bool   // values are not split into words
	pick  int    // which of a variable's values to take, counted from the latest
	picks int    // how many there are
	words []Word // complete ones

	text, void, glob strings.Builder
	lead             string
	meta             bool // glob is of use
	unknown          bool
	quoted           bool // it is a word even if empty
	opened           bool // lead is complete
}

func (t *wordText) literal(s string) {
	t.text.WriteString(s)
	t.void.WriteString(s)
	if !strings.ContainsAny(s, `*?[\`) {
		t.glob.WriteString(s)
		return
	}
	t.glob.WriteString(quoteGlob(s))
}

func quoteGlob(s string) string {
	if !strings.ContainsAny(s, `*?[\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(`*?[\`, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// open ends what is certain at the beginning of the word.
func (t *wordText) open() {
	if !t.opened {
		t.opened, t.lead = true, t.text.String()
	}
}

func (t *wordText) hole(source string) {
	t.open()
	t.unknown, t.meta = true, true
	t.text.WriteString(source)
	t.glob.WriteString(hole)
}

// value stands for a variable that the script assigns.
func (t *wordText) value(s string, quoted bool) {
	t.open()
	t.unknown = true
	if quoted || t.whole {
		t.literal(s)
		return
	}
	for i, f := range strings.Fields(s) {
		if i > 0 || strings.TrimLeft(s, " \t\n") != s {
			t.end()
			t.open()
			t.unknown = true
		}
		t.live(f)
	}
	if strings.TrimRight(s, " \t\n") != s {
		t.end()
	}
}

// live is text whose wildcards count.
func (t *wordText) live(s string) {
	t.text.WriteString(s)
	t.void.WriteString(s)
	t.glob.WriteString(s)
	t.meta = t.meta || strings.ContainsAny(s, "*?[")
}

// end completes a word, if there is one.
func (t *wordText) end() {
	if t.text.Len() > 0 || t.quoted {
		t.open()
		w := Word{Text: t.text.String(), Known: !t.unknown && !t.meta, void: t.void.String(), lead: t.lead}
		if t.meta {
			w.glob = t.glob.String()
			if len(w.glob) > maxGlob {
				w.glob = hole
			}
		}
		t.words = append(t.words, w)
	}
	t.text.Reset()
	t.void.Reset()
	t.glob.Reset()
	t.lead, t.meta, t.unknown, t.quoted, t.opened = "", false, false, false, false
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
			t.open()
			if c != '*' || !strings.HasSuffix(t.text.String(), "*") {
				t.glob.WriteByte(c)
			}
			t.meta = true
			t.text.WriteByte(c)
			t.void.WriteByte(c)
			if c == '[' {
				n := classEnd(s[i:])
				t.text.WriteString(s[i+1 : i+n])
				t.void.WriteString(s[i+1 : i+n])
				t.glob.WriteString(s[i+1 : i+n])
				i += n - 1
			}
		case '{':
			// What the shell makes of this list is not known.
			if end := braceEnd(s[i:], more); end > 0 {
				t.hole(s[i : i+end])
				i += end - 1
				continue
			}
			t.literal("{")
		default:
			end := i + 1
			for end < len(s) && strings.IndexByte(`\*?[{`, s[end]) < 0 {
				end++
			}
			t.literal(s[i:end])
			i = end - 1
		}
	}
}

func (t *wordText) part(p syntax.WordPart, more bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		t.bareText(p.Value, more)
	case *syntax.SglQuoted:
		t.quoted = true
		if p.Dollar {
			t.literal(unescapeANSI(p.Value))
			return
		}
		t.literal(p.Value)
	case *syntax.DblQuoted:
		t.quoted = true
		for _, q := range p.Parts {
			if lit, ok := q.(*syntax.Lit); ok {
				t.literal(unescapeDouble(lit.Value))
				continue
			}
			t.expansion(q, true)
		}
	default:
		t.expansion(p, false)
	}
}

func (t *wordText) expansion(p syntax.WordPart, quoted bool) {
	if p, ok := p.(*syntax.ParamExp); ok {
		name := variable(p)
		if values := t.vars[name]; len(values) > 0 {
			value := values[max(len(values)-1-t.pick, 0)]
			t.picks = max(t.picks, len(values))
			if t.spend(len(value)) {
				t.value(value, quoted && !strings.HasSuffix(name, "]"))
				return
			}
		}
	}
	if _, ok := p.(*syntax.ProcSubst); ok { // the name of a pipe
		t.open()
		t.unknown = true
		t.literal(slice(t.src, p))
		return
	}
	t.hole(slice(t.src, p))
}

func unescapeDouble(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`", "\\\n", "").Replace(s)
}

// variable is the name of a plain $name or ${name}, with [@] behind it if it
// stands for the whole of an array, else "".
func variable(p *syntax.ParamExp) string {
	if p.Param == nil || p.Excl || p.Length || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Exp != nil {
		return ""
	}
	if p.Index == nil {
		return p.Param.Value
	}
	if w, ok := p.Index.(*syntax.Word); ok && (w.Lit() == "@" || w.Lit() == "*") {
		return p.Param.Value + "[@]"
	}
	return ""
}

// slice is the source of a node, "" if its position makes no sense.
func slice(src string, n syntax.Node) string {
	from, to := n.Pos().Offset(), n.End().Offset()
	if from > to || to > uint(len(src)) {
		return ""
	}
	return src[from:to]
}

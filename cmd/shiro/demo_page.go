package main

import (
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A page is the transcript as it is printed: a column of labels and one of
// text, which is wrapped word by word as it streams.
type page struct {
	w      io.Writer
	colour bool
	col    int    // characters in the current line
	spaces int    // before the next word
	word   []byte // not printed yet
	style  string // of what is printed
}

const (
	pageWidth  = 80
	labelWidth = 13
)

// Styles, as parameters of the terminal's SGR sequence.
const (
	plain = ""
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
	cyan  = "36"
)

func newPage(w io.Writer) *page {
	p := &page{w: w}
	if f, ok := w.(*os.File); ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		fi, err := f.Stat()
		p.colour = err == nil && fi.Mode()&os.ModeCharDevice != 0
	}
	return p
}

// print writes s in the page's style. Write errors show in the shell.
func (p *page) print(s string) {
	p.col += utf8.RuneCountInString(s)
	if p.colour && p.style != plain && s != "" {
		s = "\x1b[" + p.style + "m" + s + "\x1b[0m"
	}
	io.WriteString(p.w, s)
}

func (p *page) newline() {
	io.WriteString(p.w, "\n")
	p.col, p.spaces = 0, 0
}

// head begins an entry with its label, below an empty line.
func (p *page) head(style, label string) {
	p.finish()
	p.newline()
	p.label(style, label)
}

// label begins a further line of an entry with a label of its own.
func (p *page) label(style, label string) {
	p.finish()
	p.style = style
	p.print(label)
	p.style = plain
}

// entry is a whole entry.
func (p *page) entry(style, label, text string) {
	p.head(style, label)
	p.text(text)
	p.finish()
}

// line is a further line of an entry, with a label of its own.
func (p *page) line(style, label, text string) {
	p.label(style, label)
	p.text(text)
	p.finish()
}

// finish ends the current line, if there is one.
func (p *page) finish() {
	p.flush()
	if p.col > 0 {
		p.newline()
	}
	p.style = plain
}

// text adds words, wrapped. They need not end where s ends.
func (p *page) text(s string) {
	for _, r := range s {
		switch {
		case r == '\n':
			p.flush()
			p.newline()
		case r == ' ':
			p.flush()
			p.spaces++
		case !unicode.IsControl(r): // a model must not steer the terminal
			p.word = utf8.AppendRune(p.word, r)
		}
	}
}

// flush prints the word that is complete.
func (p *page) flush() {
	if len(p.word) == 0 {
		return
	}
	if n := utf8.RuneCount(p.word); p.col > labelWidth && p.col+p.spaces+n > pageWidth {
		p.newline()
	}
	p.indent()
	p.print(strings.Repeat(" ", p.spaces) + string(p.word))
	p.word, p.spaces = p.word[:0], 0
}

func (p *page) indent() {
	if p.col < labelWidth {
		io.WriteString(p.w, strings.Repeat(" ", labelWidth-p.col))
		p.col = labelWidth
	}
}

// verbatim adds text as it is, without wrapping. It need not end where s ends.
func (p *page) verbatim(s string) {
	p.flush()
	for part := range strings.Lines(s) {
		line := strings.TrimSuffix(part, "\n")
		whole := line != part
		if shown := strings.Map(visible, strings.ReplaceAll(line, "\t", "    ")); strings.TrimSpace(shown) != "" || !whole {
			p.indent()
			p.print(shown)
		}
		if whole {
			p.newline()
		}
	}
}

func visible(r rune) rune {
	if unicode.IsControl(r) {
		return -1
	}
	return r
}

// diff adds the lines of a unified diff.
func (p *page) diff(s string) {
	for line := range strings.Lines(s) {
		switch line[0] {
		case '-':
			p.style = red
		case '+':
			p.style = green
		default:
			p.style = dim
		}
		p.verbatim(line)
	}
	p.finish()
}

// bar is a gauge of twenty steps.
func bar(percent int) string {
	full := (min(max(percent, 0), 100) + 2) / 5
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", 20-full) + "]"
}

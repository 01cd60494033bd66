package tool

import (
	"bytes"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// contextLines is the number of unchanged lines around the changes of a hunk.
const contextLines = 3

// A Hunk is a part of a file's change that can be accepted or refused alone.
type Hunk struct {
	ID                 string // given by whoever shows it
	OldStart, OldLines int    // lines from 1, as a unified diff counts; OldLines 0: after line OldStart
	NewStart, NewLines int
	Text               string // the lines of a unified diff, each with its ' ', '-' or '+'; valid UTF-8

	edits []TextEdit // byte offsets in the base
}

// diff returns the hunks that make base into proposed. Hunks do not overlap,
// so any choice of them applies.
func diff(base, proposed []byte) []Hunk {
	edits := lineEdits(base, proposed)
	var hunks []Hunk
	for c := (cursor{text: base}); len(edits) > 0; {
		n := 1
		for n < len(edits) && gap(base, edits[n-1].End, edits[n].Start) <= 2*contextLines {
			n++
		}
		hunks = append(hunks, c.hunk(edits[:n]))
		edits = edits[n:]
	}
	return hunks
}

// lineEdits are edits of whole lines that make base into proposed. Only what
// lies between the common beginning and the common end is compared.
func lineEdits(base, proposed []byte) []TextEdit {
	head := commonPrefix(base, proposed)
	head = bytes.LastIndexByte(base[:head], '\n') + 1
	a, b := base[head:], proposed[head:]
	tail := commonSuffix(a, b)
	if nl := bytes.IndexByte(a[len(a)-tail:], '\n'); nl >= 0 {
		tail -= nl + 1
	} else {
		tail = 0
	}
	diffs := udiff.Lines(string(a[:len(a)-tail]), string(b[:len(b)-tail]))
	edits := make([]TextEdit, len(diffs))
	for i, d := range diffs {
		edits[i] = TextEdit{Start: head + d.Start, End: head + d.End, New: d.New}
	}
	return edits
}

// block is how many bytes are compared at once.
const block = 64

func commonPrefix(a, b []byte) int {
	n, end := 0, min(len(a), len(b))
	for n+block <= end && string(a[n:n+block]) == string(b[n:n+block]) {
		n += block
	}
	for n < end && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b []byte) int {
	n, end := 0, min(len(a), len(b))
	for n+block <= end && string(a[len(a)-n-block:len(a)-n]) == string(b[len(b)-n-block:len(b)-n]) {
		n += block
	}
	for n < end && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// gap is the number of lines in text[from:to], counted no further than matters.
func gap(text []byte, from, to int) int {
	lines := 0
	for from < to && lines <= 2*contextLines {
		from = lineEnd(text, from)
		lines++
	}
	return lines
}

// lineEnd is the offset after the line that starts at i.
func lineEnd(text []byte, i int) int {
	if nl := bytes.IndexByte(text[i:], '\n'); nl >= 0 {
		return i + nl + 1
	}
	return len(text)
}

// A cursor counts lines while hunks are made from the first to the last.
type cursor struct {
	text  []byte
	at    int // offset, at the start of a line
	line  int // lines before it
	delta int // by how many lines the new text is ahead there
}

// hunk makes the hunk of edits, which lie after the cursor, and moves past them.
func (c *cursor) hunk(edits []TextEdit) Hunk {
	first, last := edits[0].Start, edits[len(edits)-1].End
	start := first
	for range contextLines {
		if start > c.at {
			start = bytes.LastIndexByte(c.text[:start-1], '\n') + 1
		}
	}
	c.line += bytes.Count(c.text[c.at:start], []byte("\n"))
	h := Hunk{OldStart: c.line + 1, NewStart: c.line + c.delta + 1, edits: edits}
	var b strings.Builder
	lines := func(mark byte, text string) int {
		n := 0
		for line := range strings.Lines(text) {
			b.WriteByte(mark)
			b.WriteString(plain(line))
			if !strings.HasSuffix(line, "\n") {
				b.WriteString("\n\\ No newline at end of file\n")
			}
			n++
		}
		return n
	}
	same := func(from, to int) {
		n := lines(' ', string(c.text[from:to]))
		h.OldLines += n
		h.NewLines += n
	}
	at := start
	for _, e := range edits {
		same(at, e.Start)
		h.OldLines += lines('-', string(c.text[e.Start:e.End]))
		h.NewLines += lines('+', e.New)
		at = e.End
	}
	end := last
	for range contextLines {
		if end < len(c.text) {
			end = lineEnd(c.text, end)
		}
	}
	same(last, end)
	h.Text = b.String()

	c.line += bytes.Count(c.text[start:last], []byte("\n"))
	c.at = last
	c.delta += h.NewLines - h.OldLines
	if h.OldLines == 0 {
		h.OldStart--
	}
	if h.NewLines == 0 {
		h.NewStart--
	}
	return h
}

// apply returns base with edits, which are in order, made.
func apply(base []byte, edits []TextEdit) []byte {
	size := len(base)
	for _, e := range edits {
		size += len(e.New) - (e.End - e.Start)
	}
	out, at := make([]byte, 0, size), 0
	for _, e := range edits {
		out = append(append(out, base[at:e.Start]...), e.New...)
		at = e.End
	}
	return append(out, base[at:]...)
}

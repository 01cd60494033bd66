package tool

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"
)

// replace returns the edits that put new in the place of old in text: of its
// only occurrence, or of all.
//
// A line end in old matches either kind in text. A line end in new takes the
// kind that is used where it goes, so a file keeps its style and a mixed file
// its mixture. Nothing else is approximate: no blank, quote or case is
// overlooked, and no character of new has a meaning of its own.
func replace(text []byte, old, new string, all bool) ([]TextEdit, error) {
	u := unify(text)
	from, to := lf(old), lf(new)
	switch {
	case old == "":
		return nil, errors.New("oldString is empty: give the text to replace, or use write_file")
	case from == to:
		return nil, errors.New("oldString and newString are identical: no change")
	}
	at := occurrences(u.text, from, all)
	switch {
	case len(at) == 0:
		return nil, errors.New("oldString not found" + hint(u.text, from))
	case len(at) > 1 && !all:
		return nil, fmt.Errorf("oldString appears %d times: add surrounding lines to make it unique, or set replaceAll", len(at))
	}
	head, tail := commonEnds(from, to)
	edits := make([]TextEdit, len(at))
	for i, start := range at {
		start, end := start+head, start+len(from)-tail
		edits[i] = TextEdit{
			Start: u.offset(start), End: u.offset(end),
			New: u.style(start, end, to[head:len(to)-tail], new),
		}
	}
	return edits, nil
}

// occurrences are the offsets of old in text: all that do not overlap, or, to
// tell whether one is the only one, all that there are.
func occurrences(text []byte, old string, all bool) []int {
	var at []int
	for i := 0; ; {
		n := bytes.Index(text[i:], []byte(old))
		if n < 0 {
			return at
		}
		at = append(at, i+n)
		if i += n + 1; all {
			i += len(old) - 1
		}
	}
}

// commonEnds is how much two different texts have in common at the beginning
// and, in the rest, at the end. That part of a match stays untouched.
func commonEnds(a, b string) (head, tail int) {
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head, tail
}

func lf(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// A unified text has "\n" for every "\r\n" of the original.
type unified struct {
	text []byte
	crs  []int // offsets in text of the line ends that were "\r\n"
}

func unify(original []byte) unified {
	if !bytes.Contains(original, []byte("\r\n")) {
		return unified{text: original}
	}
	u := unified{text: make([]byte, 0, len(original))}
	for {
		before, after, found := bytes.Cut(original, []byte("\r\n"))
		u.text = append(u.text, before...)
		if !found {
			return u
		}
		u.crs = append(u.crs, len(u.text))
		u.text = append(u.text, '\n')
		original = after
	}
}

// offset is the offset in the original of offset i in the text; that of a line
// end is where its "\r" is.
func (u unified) offset(i int) int { return i + sort.SearchInts(u.crs, i) }

// style gives the line ends in s, which replaces text[start:end], the kinds of
// those it replaces, one by one, and the last or the nearest for the rest.
// A text without any line end leaves them as the model wrote them in given.
func (u unified) style(start, end int, s, given string) string {
	if !strings.Contains(s, "\n") {
		return s
	}
	if bytes.IndexByte(u.text, '\n') < 0 {
		if strings.Contains(given, "\r\n") {
			return strings.ReplaceAll(s, "\n", "\r\n")
		}
		return s
	}
	if len(u.crs) == 0 {
		return s
	}
	var b strings.Builder
	at := start
	crlf := u.crlfNear(start)
	for line := range strings.Lines(s) {
		body, ended := strings.CutSuffix(line, "\n")
		b.WriteString(body)
		if !ended {
			break
		}
		if nl := bytes.IndexByte(u.text[at:end], '\n'); nl >= 0 {
			crlf = u.crlf(at + nl)
			at += nl + 1
		}
		if crlf {
			b.WriteByte('\r')
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// crlfNear reports the kind of the line that offset i is in, or of the one
// before when that is the last and has no end.
func (u unified) crlfNear(i int) bool {
	if nl := bytes.IndexByte(u.text[i:], '\n'); nl >= 0 {
		return u.crlf(i + nl)
	}
	return u.crlf(bytes.LastIndexByte(u.text[:i], '\n'))
}

func (u unified) crlf(i int) bool {
	k := sort.SearchInts(u.crs, i)
	return k < len(u.crs) && u.crs[k] == i
}

// hint helps a model whose text was not found: it names the line where text
// differs from it in nothing but blanks and quotes, or else the one most like
// its longest line.
func hint(text []byte, old string) string {
	want := squeezedLines(old)
	lines := strings.Split(string(text), "\n")
	key := slices.MaxFunc(want, func(a, b string) int { return len(a) - len(b) })
	if key == "" || len(lines) > 100_000 {
		return ""
	}
	best, at := 0, 0
	for i, line := range lines {
		line = squeeze(line)
		if line == want[0] && alike(lines[i:], want) {
			return fmt.Sprintf(": line %d matches except for blanks or quotation marks: read it again and copy it exactly: %q", i+1, excerpt(lines[i]))
		}
		if n := likeness(line, key); n > best {
			best, at = n, i
		}
	}
	if 2*best < len(key) {
		return ": nothing in the file is near it: read the file again"
	}
	return fmt.Sprintf(": the nearest is line %d: %q", at+1, excerpt(lines[at]))
}

// alike reports whether lines begin with want, squeezed.
func alike(lines, want []string) bool {
	if len(lines) < len(want) {
		return false
	}
	for i := range want {
		if squeeze(lines[i]) != want[i] {
			return false
		}
	}
	return true
}

func squeezedLines(s string) []string {
	lines := strings.Split(strings.Trim(s, "\n"), "\n")
	for i := range lines {
		lines[i] = squeeze(lines[i])
	}
	return lines
}

// squeeze is s without blanks, with plain quotation marks and dashes.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\uFEFF' {
			return -1
		}
		return face(r)
	}, s)
}

// likeness is the number of bytes two lines have in common at their ends.
func likeness(a, b string) int {
	head, tail := commonEnds(a, b)
	return head + tail
}

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
	at, err := places(u.text, []byte(from), all)
	if err != nil {
		return nil, err
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

// A mismatch is the error of a text that is not in one place: in how many it is.
type mismatch int

func (n mismatch) Error() string {
	if n == 0 {
		return "oldString not found"
	}
	return fmt.Sprintf("oldString appears %d times: add surrounding lines to make it unique, or set replaceAll", int(n))
}

// places are the offsets of old in text, where they do not overlap: of the only
// one that there is, or of all, and a mismatch when there is none.
func places(text, old []byte, all bool) ([]int, error) {
	first := bytes.Index(text, old)
	switch {
	case first < 0:
		return nil, mismatch(0)
	case !all && bytes.Contains(text[first+1:], old):
		return nil, mismatch(max(2, bytes.Count(text, old))) // at least 2 where they overlap
	}
	at := []int{first}
	for all {
		next := at[len(at)-1] + len(old)
		n := bytes.Index(text[next:], old)
		if n < 0 {
			break
		}
		at = append(at, next+n)
	}
	return at, nil
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

	last int // offset of the last line end; -1 for none
	end  int // of the line that was asked about last, so that none is read twice
}

func unify(original []byte) *unified {
	u := &unified{text: original, last: bytes.LastIndexByte(original, '\n'), end: -1}
	if !bytes.Contains(original, []byte("\r\n")) {
		return u
	}
	u.text = make([]byte, 0, len(original))
	for {
		before, after, found := bytes.Cut(original, []byte("\r\n"))
		u.text = append(u.text, before...)
		if !found {
			u.last -= len(u.crs)
			return u
		}
		u.crs = append(u.crs, len(u.text))
		u.text = append(u.text, '\n')
		original = after
	}
}

// offset is the offset in the original of offset i in the text; that of a line
// end is where its "\r" is.
func (u *unified) offset(i int) int { return i + sort.SearchInts(u.crs, i) }

// style gives the line ends in s, which replaces text[start:end], the kinds of
// those it replaces, one by one, and the last or the nearest for the rest.
// A text without any line end leaves them as the model wrote them in given.
// Calls go from the text's beginning to its end.
func (u *unified) style(start, end int, s, given string) string {
	if !strings.Contains(s, "\n") {
		return s
	}
	if u.last < 0 {
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
func (u *unified) crlfNear(i int) bool {
	if i > u.last {
		return u.crlf(u.last)
	}
	if i > u.end {
		u.end = i + bytes.IndexByte(u.text[i:], '\n')
	}
	return u.crlf(u.end)
}

func (u *unified) crlf(i int) bool {
	k := sort.SearchInts(u.crs, i)
	return k < len(u.crs) && u.crs[k] == i
}

// hint helps a model whose text was not found: it names the line where text
// differs from it in nothing but blanks and quotes, or else the one most like
// its longest line.
func hint(text []byte, old string, m *mask) string {
	have, want := squeeze(string(text)), squeeze(strings.Trim(old, "\r\n"))
	key := slices.MaxFunc(strings.Split(want, "\n"), func(a, b string) int { return len(a) - len(b) })
	if key == "" {
		return ""
	}
	if i := strings.Index("\n"+have+"\n", "\n"+want+"\n"); i >= 0 {
		n := strings.Count(have[:i], "\n")
		return fmt.Sprintf(": line %d matches except for blanks or quotation marks: read it again and copy it exactly: %q", n+1, excerpt(m.hide(nthLine(text, n))))
	}
	best, at, n := 0, 0, 0
	for line := range strings.SplitSeq(have, "\n") {
		if like := likeness(line, key); like > best {
			best, at = like, n
		}
		n++
	}
	if 2*best < len(key) {
		return ": nothing in the file is near it: read the file again"
	}
	return fmt.Sprintf(": the nearest is line %d: %q", at+1, excerpt(m.hide(nthLine(text, at))))
}

// nthLine is a line of text by its number from 0, without its end.
func nthLine(text []byte, n int) string {
	for ; n > 0; n-- {
		text = text[lineEnd(text, 0):]
	}
	return strings.TrimRight(string(text[:lineEnd(text, 0)]), "\r\n")
}

// squeeze is s without the blanks in its lines, with plain quotation marks and
// dashes.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && unicode.IsSpace(r) || r == '\uFEFF' {
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

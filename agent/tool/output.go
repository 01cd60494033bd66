package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"shiro/memory/transcript"
)

// Of a long output a third of what is shown is its beginning, the rest its end.
const (
	headUnits = limit / 3
	tailUnits = limit - headUnits

	headBytes = 3 * headUnits // as many as those units can take
	tailBytes = 3 * tailUnits
)

// An output is what a command printed.
type output struct {
	stdout, stderr screen
	mask           *mask
}

// newOutput has live called with what is printed, as it comes and masked.
func newOutput(m *mask, live func(channel, text string) bool) *output {
	o := &output{screen{mask: m}, screen{mask: m}, m}
	o.stdout.live = func(text string) bool { return live("stdout", text) }
	o.stderr.live = func(text string) bool { return live("stderr", text) }
	return o
}

// report is a result: head, then the blocks of what was printed, in all no
// longer than a result may be.
func (o *output) report(head string) string {
	room := limit - units(head) - 2*noticeRoom
	outRoom, errRoom := room, room
	switch half := room / 2; {
	case o.stdout.kept.units+o.stderr.kept.units <= room:
	case o.stderr.kept.units <= half:
		outRoom = room - o.stderr.kept.units
	case o.stdout.kept.units <= half:
		errRoom = room - o.stdout.kept.units
	default:
		outRoom, errRoom = half, half
	}
	var b strings.Builder
	b.WriteString(head)
	for _, part := range []struct {
		name string
		kept *ends
		room int
	}{{"stdout", &o.stdout.kept, outRoom}, {"stderr", &o.stderr.kept, errRoom}} {
		if text := trimBlock(part.kept.text(part.room, o.mask)); text != "" {
			fmt.Fprintf(&b, "\n\n%s:\n%s", part.name, text)
		}
	}
	return b.String()
}

// trimBlock takes away blank lines before text and blanks after it.
func trimBlock(text string) string {
	text = strings.TrimRight(text, " \t\r\n")
	for {
		line, rest, found := strings.Cut(text, "\n")
		if !found || strings.TrimSpace(line) != "" {
			return text
		}
		text = rest
	}
}

// ends keep the two ends of a text of any length.
type ends struct {
	head, tail []byte
	units      int // of the whole text
}

func (e *ends) write(text []byte) {
	e.units += units(text)
	if n := min(len(text), headBytes-len(e.head)); n > 0 {
		e.head = append(e.head, text[:n]...)
		text = text[n:]
	}
	if len(text) > tailBytes {
		text = text[len(text)-tailBytes:]
	}
	e.tail = append(e.tail, text...)
	if len(e.tail) > 2*tailBytes {
		e.tail = e.tail[:copy(e.tail, e.tail[len(e.tail)-tailBytes:])]
	}
}

// text is the whole text if it has at most room units, and else its ends with
// a notice of what is missing between them. No secret of m is cut in two.
func (e *ends) text(room int, m *mask) string {
	if e.units <= room {
		return string(e.head) + string(e.tail)
	}
	head := transcript.Cut(m.hide(strings.ToValidUTF8(string(e.head), "")), room/3)
	tail := lastUnits(m.hide(string(e.tail)), room-room/3)
	return fmt.Sprintf("%s\n... [truncated %d of %d chars] ...\n%s", head, e.units-units(head)-units(tail), e.units, tail)
}

// lastUnits is the longest end of text of at most n UTF-16 units.
func lastUnits(text string, n int) string {
	i := len(text)
	for i > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:i])
		if r == utf8.RuneError && size == 1 { // where the text was cut
			break
		}
		if n--; r > 0xFFFF {
			n--
		}
		if n < 0 {
			break
		}
		i -= size
	}
	return text[i:]
}

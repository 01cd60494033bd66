package tool

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"shiro/memory/transcript"
)

// limit is the length of a result in UTF-16 units, as the terminal tool counts.
const limit = 30_000

// A report is a result under construction. It keeps what fits and counts the rest.
type report struct {
	kept    []byte
	units   int // of kept
	dropped int // units
	notes   []string
	mask    *mask // of what is cut in two, where half a secret would not be known
}

func (r *report) write(p []byte) {
	if !utf8.Valid(p) || bytes.IndexByte(p, 0) >= 0 {
		p = []byte(plain(string(p)))
	}
	n := units(p)
	if r.dropped == 0 && r.units+n > limit {
		fits := transcript.Cut(r.mask.hide(string(p)), limit-r.units)
		kept := units(fits)
		r.kept, r.units = append(r.kept, fits...), r.units+kept
		r.dropped = n - kept
		return
	}
	if r.dropped > 0 {
		r.dropped += n
		return
	}
	r.kept, r.units = append(r.kept, p...), r.units+n
}

func (r *report) add(s string) { r.write([]byte(s)) }

func (r *report) addf(format string, args ...any) { r.write(fmt.Appendf(nil, format, args...)) }

// note puts a remark after the text, where no cut reaches it.
func (r *report) note(remark string) { r.notes = append(r.notes, remark) }

func (r *report) String() string {
	b := r.kept
	if r.dropped > 0 {
		b = fmt.Appendf(b, "\n... [truncated %d chars]", r.dropped)
	}
	for _, remark := range r.notes {
		b = fmt.Appendf(b, "\n[%s]", remark)
	}
	return string(b)
}

// clip is s as a result: plain and of limited length. A text that a report or
// a command made, notice and all, is left as it is.
func clip(s string) string {
	s = plain(s)
	if len(s) <= limit || units(s) <= limit+noticeRoom {
		return s
	}
	var r report
	r.add(s)
	return r.String()
}

// noticeRoom is more than a notice and remarks take.
const noticeRoom = 400

// plain is s as valid UTF-8 without NUL. A byte that cannot stay is shown as
// what it is, \xNN: U+FFFD would say that nobody knows any more.
func plain(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	const digits = "0123456789abcdef"
	b := make([]byte, 0, len(s)+len(s)/8+8)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == 0 || r == utf8.RuneError && n == 1 {
			b = append(b, '\\', 'x', digits[s[i]>>4], digits[s[i]&15])
		} else {
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return string(b)
}

// units counts the UTF-16 units of s.
func units[T string | []byte](s T) int {
	n := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 0xF0:
			n += 2
		case c < 0x80 || c >= 0xC0:
			n++
		}
	}
	return n
}

// visible is s on one line, with everything that would not show escaped.
func visible(s string) string {
	s = strings.Join(strings.Fields(plain(s)), " ")
	hidden := func(r rune) bool { return !unicode.IsPrint(r) || unicode.Is(unicode.Variation_Selector, r) }
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, "\\u{%x}", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

const titleLength = 60

// title is a title of a verb and what it acts on.
func title(verb, what string) string {
	room := titleLength - len(verb) - 1
	what = visible(what)
	if utf8.RuneCountInString(what) > room {
		what = string([]rune(what)[:room-1]) + "…"
	}
	return strings.TrimSpace(verb + " " + what)
}

// pathTitle is title for a path, of which the end says more than the beginning.
func pathTitle(verb, path string) string {
	room := titleLength - len(verb) - 1
	path = visible(filepath.ToSlash(path))
	if runes := []rune(path); len(runes) > room {
		path = "…" + string(runes[len(runes)-room+1:])
	}
	return strings.TrimSpace(verb + " " + path)
}

// excerpt is s, shortened, for a message.
func excerpt(s string) string {
	if cut := transcript.Cut(s, 60); cut != s {
		return cut + "…"
	}
	return s
}

// count is n and a noun, in the plural unless n is 1.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

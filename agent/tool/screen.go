package tool

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// maxLine is how much of a line, in bytes, is held back for the program may
// write it anew after a carriage return.
const maxLine = 32 << 10

// A screen turns what a program prints for a terminal into plain text: without
// escape sequences and control characters, and with only the last state of a
// line that was written several times. It is an io.Writer.
type screen struct {
	live func(text string) bool // is called with text as it comes until it returns false
	mask *mask                  // of what live gets
	kept ends

	state byte
	line  []byte // what was not kept yet: the last line, or its end
	cr    bool   // the next character begins the line anew
	fresh []byte // what live has not had yet
}

// States of a screen within an escape sequence.
const (
	inText   = iota
	inEscape // after ESC
	inCSI    // after ESC [
	inString // after ESC ], P, X, ^ or _; ends with BEL or ESC \
)

// Write never fails. It is not to be called by two goroutines at once.
func (s *screen) Write(p []byte) (int, error) {
	if s.state == inText && !s.cr && printable(p) {
		s.print(p)
	} else {
		for _, c := range p {
			if s.state != inText {
				s.escape(c)
			} else {
				s.put(c)
			}
		}
	}
	s.show(false)
	return len(p), nil
}

// Close takes what is left as the end of the output.
func (s *screen) Close() error {
	s.keep(len(s.line))
	s.show(true)
	return nil
}

// printable reports whether p holds nothing that a screen would act on.
func printable(p []byte) bool {
	for _, c := range p {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7F {
			return false
		}
	}
	return true
}

// print takes text that can be taken as it is.
func (s *screen) print(p []byte) {
	s.line = append(s.line, p...)
	s.emit(p)
	if nl := bytes.LastIndexByte(p, '\n'); nl >= 0 {
		s.keep(len(s.line) - len(p) + nl + 1)
	}
	if len(s.line) > maxLine {
		s.keep(whole(s.line))
	}
}

func (s *screen) put(c byte) {
	switch {
	case c == 0x1B:
		s.state = inEscape
	case c == '\r':
		s.cr = true
	case c == '\b':
		_, n := utf8.DecodeLastRune(s.line)
		s.line = s.line[:len(s.line)-n]
	case c < ' ' && c != '\t' && c != '\n', c == 0x7F:
	default:
		if s.cr && c != '\n' {
			s.line = s.line[:0]
			s.emit([]byte{'\r'})
		}
		s.cr = false
		s.print([]byte{c})
	}
}

func (s *screen) emit(p []byte) {
	if s.live != nil {
		s.fresh = append(s.fresh, p...)
	}
}

// escape takes the next byte of an escape sequence.
func (s *screen) escape(c byte) {
	switch {
	case c == 0x1B:
		s.state = inEscape
	case c == '\n' || c == 0x18: // a sequence does not go over the line's end
		s.state = inText
		s.put(c)
	case s.state == inEscape:
		s.state = inText
		switch {
		case c == '[':
			s.state = inCSI
		case strings.IndexByte("]PX^_", c) >= 0:
			s.state = inString
		case c >= ' ' && c < '0': // one more to come
			s.state = inEscape
		}
	case s.state == inCSI && (c >= '@' && c <= '~' || c >= 0x80), s.state == inString && c == 0x07:
		s.state = inText
	}
}

// keep moves the first n bytes of the line to what is kept.
func (s *screen) keep(n int) {
	if text := s.line[:n]; utf8.Valid(text) {
		s.kept.write(text)
	} else {
		s.kept.write([]byte(plain(string(text))))
	}
	s.line = s.line[:copy(s.line, s.line[n:])]
}

// show hands live what is new, except for what more text may make into a secret
// or a character, unless that is all there will be.
func (s *screen) show(all bool) {
	if len(s.fresh) == 0 {
		return
	}
	text := s.mask.hide(string(s.fresh))
	n := len(text)
	if !all {
		n = whole(text[:n-s.mask.begun(text)])
	}
	if n > 0 && !s.live(plain(text[:n])) {
		s.live, s.fresh = nil, nil
		return
	}
	s.fresh = append(s.fresh[:0], text[n:]...)
}

// whole is the length of p without a character that is cut off at its end.
func whole[T string | []byte](p T) int {
	for i := len(p) - 1; i >= 0 && i >= len(p)-utf8.UTFMax; i-- {
		if utf8.RuneStart(p[i]) {
			if !utf8.FullRuneInString(string(p[i:])) {
				return i
			}
			break
		}
	}
	return len(p)
}

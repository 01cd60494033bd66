package permission

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Runs of blanks and of line ends longer than these push what follows out of
// sight and are shown as a count.
const (
	maxBlanks = 40
	maxLines  = 12
)

// Escape makes a text safe to judge by eye: characters that are invisible,
// that reorder or overwrite others, or that only look like a space are shown
// as \u{200B}, \x1b or \r, and padding as [500 blanks]. Tab and line end stay.
// It is for display only; what runs is the text itself.
func Escape(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 32)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == ' ' || r == '\n':
			n = runLength(s[i:])
			switch {
			case !longRun(r, n):
				b.WriteString(s[i : i+n])
			case r == ' ':
				fmt.Fprintf(&b, "[%d blanks]", n)
			default:
				fmt.Fprintf(&b, "[%d line ends]\n", n)
			}
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\r':
			b.WriteString(`\r`)
		case r < ' ' && r != '\t' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case invisible(r):
			fmt.Fprintf(&b, `\u{%04X}`, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// plain reports whether Escape has nothing to do.
func plain(s string) bool {
	run, before := 0, rune(-1)
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return false
			}
		}
		if run++; r != before {
			run, before = 1, r
		}
		if r < ' ' && r != '\n' && r != '\t' || invisible(r) || longRun(r, run) {
			return false
		}
	}
	return true
}

func longRun(r rune, n int) bool {
	return r == ' ' && n > maxBlanks || r == '\n' && n > maxLines
}

// runLength counts how often the first byte of s is repeated at its start.
func runLength(s string) int {
	n := 1
	for n < len(s) && s[n] == s[0] {
		n++
	}
	return n
}

// invisible reports whether a character shows nothing, changes the order of
// others, or looks like a space without being one.
func invisible(r rune) bool {
	if r < 0x7f {
		return false
	}
	return r == 0x2800 || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// cut shortens s to n UTF-16 units without splitting a character and marks
// that it did.
func cut(s string, n int) string {
	for i, r := range s {
		if n -= utf16.RuneLen(r); n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

package memory

import (
	"strings"
	"unicode"
)

const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
	emojiPresentation  = '\ufe0f'
)

// oneLine is s as it may stand in a line of a prompt: each run of line breaks and
// tabs is a space, and control and invisible characters are gone, for they could
// end the line or say what nobody sees. Joiners stay inside words and emoji.
func oneLine(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	last := ' ' // the last rune kept
	for _, r := range s {
		switch {
		case r == '\n', r == '\r', r == '\t', r == '\v', r == '\f', r == '\u0085', r == '\u2028', r == '\u2029':
			if last == ' ' {
				continue
			}
			r = ' '
		case r == zeroWidthNonJoiner, r == zeroWidthJoiner, r == emojiPresentation:
			joinsNext := r != emojiPresentation
			if last == ' ' || last == zeroWidthNonJoiner || last == zeroWidthJoiner || last == emojiPresentation && !joinsNext {
				continue
			}
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			continue
		}
		b.WriteRune(r)
		last = r
	}
	return strings.TrimRight(b.String(), string([]rune{zeroWidthNonJoiner, zeroWidthJoiner}))
}

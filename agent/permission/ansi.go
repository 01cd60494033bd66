package permission

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// unescapeANSI decodes what stands in $'…'. A zero character ends the text, as
// it does in bash.
func unescapeANSI(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		n, code := 0, uint64(0) // length and value of a numeric escape
		switch c := s[i]; {
		case c >= '0' && c <= '7':
			n, code = number(s[i:], 8, 3)
			i += n - 1
		case c == 'x':
			n, code = number(s[i+1:], 16, 2)
			i += n
		case c == 'u', c == 'U':
			n, code = number(s[i+1:], 16, map[byte]int{'u': 4, 'U': 8}[c])
			i += n
			if n > 0 && code > utf8.RuneSelf {
				b.WriteRune(rune(code))
				continue
			}
		case c == 'c' && i+1 < len(s):
			i++
			n, code = 1, uint64(s[i]&0x1f)
		default:
			if at := strings.IndexByte(`abeEfnrtv\'"?`, c); at >= 0 {
				b.WriteByte("\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[at])
				continue
			}
		}
		switch {
		case n == 0:
			b.WriteByte('\\')
			b.WriteByte(s[i])
		case byte(code) == 0:
			return b.String()
		default:
			b.WriteByte(byte(code))
		}
	}
	return b.String()
}

// number reads up to limit digits at the start of s.
func number(s string, base, limit int) (n int, value uint64) {
	for n < limit && n < len(s) {
		d, err := strconv.ParseUint(s[n:n+1], base, 8)
		if err != nil {
			break
		}
		value, n = value*uint64(base)+d, n+1
	}
	return n, value
}

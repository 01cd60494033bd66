package provider

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// appendUnquoted appends the text of a JSON string, quotes included. A surrogate
// half at its end is kept in half and joined with the next string of
// the same stream: some servers escape an emoji in two deltas.
func appendUnquoted(dst, quoted []byte, half *rune) []byte {
	s := quoted[1 : len(quoted)-1]
	for len(s) > 0 {
		i := bytes.IndexByte(s, '\\')
		if i != 0 {
			if i < 0 {
				i = len(s)
			}
			dst = appendValid(flushHalf(dst, half), s[:i])
			s = s[i:]
			continue
		}
		if len(s) < 2 || s[1] == 'u' && len(s) < 6 {
			return utf8.AppendRune(flushHalf(dst, half), utf8.RuneError) // no JSON
		}
		if s[1] != 'u' {
			dst = append(flushHalf(dst, half), unescaped(s[1]))
			s = s[2:]
			continue
		}
		r := hex4(s[2:6])
		s = s[6:]
		switch {
		case *half != 0 && r >= 0xDC00 && r <= 0xDFFF:
			dst = utf8.AppendRune(dst, utf16.DecodeRune(*half, r))
			*half = 0
		case r >= 0xD800 && r <= 0xDBFF:
			dst = flushHalf(dst, half)
			*half = r
		default:
			dst = utf8.AppendRune(flushHalf(dst, half), r) // a lone low half becomes U+FFFD
		}
	}
	return dst
}

// flushHalf gives up on a surrogate half that found no partner.
func flushHalf(dst []byte, half *rune) []byte {
	if *half == 0 {
		return dst
	}
	*half = 0
	return utf8.AppendRune(dst, utf8.RuneError)
}

func appendValid(dst, s []byte) []byte {
	if utf8.Valid(s) {
		return append(dst, s...)
	}
	return append(dst, strings.ToValidUTF8(string(s), "\uFFFD")...)
}

func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

func hex4(s []byte) rune {
	var r rune
	for _, c := range s {
		r <<= 4
		switch {
		case c <= '9':
			r |= rune(c - '0')
		default:
			r |= rune(c|0x20-'a') + 10
		}
	}
	return r
}

// appendQuoted appends s as a JSON string, as JavaScript writes it. Bytes that
// are no UTF-8 become U+FFFD.
func appendQuoted[T string | []byte](dst []byte, s T) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			if r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += size
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

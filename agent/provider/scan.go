package provider

import (
	"bytes"
	"strconv"
)

// A stream is mostly small events of which we need one or two members. These
// functions find them in place: nothing is copied and what is not needed is only
// skipped. They check the nesting, not the grammar.

// eachMember calls f with every member of a JSON object. It reports whether
// data is one object and nothing else.
func eachMember(data []byte, f func(name, value []byte)) bool {
	i := skipSpace(data, 0)
	if i == len(data) || data[i] != '{' {
		return false
	}
	for i = skipSpace(data, i+1); i < len(data) && data[i] == '"'; {
		end := skipString(data, i)
		if end < 0 {
			return false
		}
		name := data[i+1 : end-1]
		i = skipSpace(data, end)
		if i == len(data) || data[i] != ':' {
			return false
		}
		i = skipSpace(data, i+1)
		if end = skipValue(data, i); end < 0 {
			return false
		}
		f(name, data[i:end])
		if i = skipSpace(data, end); i < len(data) && data[i] == ',' {
			i = skipSpace(data, i+1)
		}
	}
	return i < len(data) && data[i] == '}' && skipSpace(data, i+1) == len(data)
}

// eachElement calls f with every element of a JSON array. It does nothing with
// any other value.
func eachElement(data []byte, f func(value []byte)) {
	if len(data) == 0 || data[0] != '[' {
		return
	}
	for i := skipSpace(data, 1); i < len(data) && data[i] != ']'; {
		end := skipValue(data, i)
		if end < 0 {
			return
		}
		f(data[i:end])
		if i = skipSpace(data, end); i < len(data) && data[i] == ',' {
			i = skipSpace(data, i+1)
		}
	}
}

// skipValue returns the end of the value that begins at i, or -1.
func skipValue(b []byte, i int) int {
	if i == len(b) {
		return -1
	}
	if b[i] == '"' {
		return skipString(b, i)
	}
	if b[i] != '{' && b[i] != '[' {
		begin := i
		for i < len(b) && bytes.IndexByte([]byte(",]} \t\r\n"), b[i]) < 0 {
			i++
		}
		if i == begin {
			return -1
		}
		return i
	}
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			end := skipString(b, i)
			if end < 0 {
				return -1
			}
			i = end - 1
		}
	}
	return -1
}

// skipString returns the end of the string whose quote is at i, or -1.
func skipString(b []byte, i int) int {
	for i++; ; {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		i++
		if slashes%2 == 0 {
			return i
		}
	}
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// isText reports whether raw is a JSON string with something in it.
func isText(raw []byte) bool { return len(raw) > 2 && raw[0] == '"' }

// isSet reports whether there is a value other than null.
func isSet(raw []byte) bool { return len(raw) > 0 && string(raw) != "null" }

// text is a JSON string's text; "" for any other value.
func text(raw []byte) string {
	if !isText(raw) {
		return ""
	}
	var half rune
	return string(flushHalf(appendUnquoted(nil, raw, &half), &half))
}

// number is a JSON number's value, or absent for any other value.
func number(raw []byte, absent int) int {
	if n, err := strconv.Atoi(string(raw)); err == nil {
		return n
	}
	return absent
}

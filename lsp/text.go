package lsp

import (
	"strings"
	"unicode/utf8"
)

// offset returns the byte offset of a position in text. Positions past the end
// of a line mean its end, past the last line the end of the text. Lines end at
// "\n", and a "\r" before it is not part of the line: editors that know a lone
// "\r" as a line end never send one.
func offset(text string, p position, utf16 bool) int {
	at := 0
	for range p.Line {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			return len(text)
		}
		at += n + 1
	}
	line := text[at:]
	if n := strings.IndexByte(line, '\n'); n >= 0 {
		line = strings.TrimSuffix(line[:n], "\r")
	}
	if !utf16 {
		n := min(int(p.Character), len(line))
		for n > 0 && n < len(line) && !utf8.RuneStart(line[n]) {
			n--
		}
		return at + n
	}
	units := int(p.Character)
	for i, r := range line {
		if units <= 0 {
			return at + i
		}
		units--
		if r > 0xFFFF {
			units--
		}
	}
	return at + len(line)
}

// positionAt is the inverse of offset, for an offset between characters.
func positionAt(text string, at int, utf16 bool) position {
	start := strings.LastIndexByte(text[:at], '\n') + 1
	character := at - start
	if utf16 {
		character = 0
		for _, r := range text[start:at] {
			character++
			if r > 0xFFFF {
				character++
			}
		}
	}
	return position{Line: uint32(strings.Count(text[:start], "\n")), Character: uint32(character)}
}

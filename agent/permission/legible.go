package permission

import (
	"errors"
	"strings"
)

// What stands here is where the parser and bash part ways, found by running
// both on generated scripts. Such scripts are asked about.

var (
	errLong   = errors.New("the command is too long to read")
	errDeep   = errors.New("the command is nested too deep to read")
	errBinary = errors.New("the command holds characters that shells read differently")
)

// legible checks what the parser and bash would disagree about, and what
// would take the parser too long.
func legible(src string) error {
	if len(src) > maxScript {
		return errLong
	}
	if strings.ContainsAny(src, "\x00\r") {
		return errBinary
	}
	depth := 0
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '(', '{', '[':
			if depth++; depth > maxNesting {
				return errDeep
			}
		case ')', '}', ']':
			depth = max(depth-1, 0)
		}
	}
	return nil
}

// oddlyContinued reports whether a line ends in a backslash where the parser
// and bash disagree about what follows: in a comment, which bash ends there,
// and in the middle of an operator, which bash puts together again.
func oddlyContinued(src string) bool {
	for rest := src; ; {
		line, after, ok := strings.Cut(rest, "\\\n")
		if !ok {
			return false
		}
		line = line[strings.LastIndexByte(line, '\n')+1:]
		if strings.Contains(line, "#") || line != "" && strings.IndexByte("$<>(){}![]", line[len(line)-1]) >= 0 {
			return true
		}
		rest = after
	}
}

// endsOnce reports whether a here-document, given from behind its operator,
// has its end in the last line and nowhere else, also if continued lines are
// joined first: bash does that before it looks for the end, the parser after.
func endsOnce(text, end string) bool {
	if !strings.Contains(text, "\\\n") {
		return true
	}
	lines := strings.Split(strings.ReplaceAll(text, "\\\n", ""), "\n")
	for i, line := range lines {
		if (strings.TrimLeft(line, "\t") == end) != (i == len(lines)-1) {
			return false
		}
	}
	return true
}

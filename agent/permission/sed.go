package permission

import "strings"

// sed looks for commands in scripts of sed that start programs or name files:
// e, r, R, w, W and the flags e and w of s. A script that is not known asks.
func (r *reader) sed(c *Command, words []Word) {
	script := firstIsPattern("sed", words)
	for i := 1; i < len(words); i++ {
		w := words[i]
		switch {
		case w.option() == "":
			if script {
				r.sedScript(c, w)
			}
			script = false
		case w.Text == "-e" || w.Text == "--expression":
			if i++; i < len(words) {
				r.sedScript(c, words[i])
			}
		case strings.HasPrefix(w.Text, "-e"):
			r.sedScript(c, w.from(2))
		case strings.HasPrefix(w.Text, "--expression="):
			r.sedScript(c, w.from(len("--expression=")))
		case w.Text[1] != '-' && strings.Contains(w.Text, "e"): // -ne script
			if i++; i < len(words) {
				r.sedScript(c, words[i])
			}
		}
	}
}

func (r *reader) sedScript(c *Command, w Word) {
	s := sedText{rest: w.Text}
	ok := s.script()
	for _, name := range s.files {
		r.file(plainWord(name), true)
	}
	if c.Hazard == "" && (!ok || !w.Known) {
		c.Hazard = "this script of sed may start programs or write files"
	}
}

// sedText is what is left of a script.
type sedText struct {
	rest  string
	files []string
}

// script reads to the end. It is false if a command is not a harmless one.
func (s *sedText) script() bool {
	ok := true
	for {
		s.rest = strings.TrimLeft(s.rest, " \t\n;{}")
		if s.rest == "" {
			return ok
		}
		if !s.address() || s.rest == "" {
			return false
		}
		name := s.rest[0]
		s.rest = s.rest[1:]
		switch name {
		case '#', ':', 'a', 'i', 'c', 'b', 't', 'T', 'v':
			s.line()
		case 's', 'y':
			ok = s.substitute(name) && ok
		case 'r', 'R', 'w', 'W':
			s.files = append(s.files, strings.TrimSpace(s.line()))
			ok = false
		case 'p', 'P', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'x', 'z', '=', '}', 'q', 'Q', 'l':
			s.rest = strings.TrimLeft(s.rest, "0123456789 ")
		default:
			return false
		}
	}
}

// line takes the rest of the line, or of the lines if they are continued.
func (s *sedText) line() string {
	for i := 0; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '\\':
			i++
		case '\n':
			line := s.rest[:i]
			s.rest = s.rest[i:]
			return line
		}
	}
	line := s.rest
	s.rest = ""
	return line
}

// address drops what selects lines: numbers, $, patterns, and what joins them.
func (s *sedText) address() bool {
	for s.rest != "" {
		switch c := s.rest[0]; {
		case strings.IndexByte("0123456789$,~+-! \tIM", c) >= 0:
			s.rest = s.rest[1:]
		case c == '/' || c == '\\' && len(s.rest) > 1:
			if c == '\\' {
				s.rest = s.rest[1:]
			}
			delimiter := s.rest[0]
			s.rest = s.rest[1:]
			if !s.until(delimiter) {
				return false
			}
		default:
			return true
		}
	}
	return true
}

// until drops a pattern and its end. Inside brackets the delimiter may or may
// not end it, depending on the sed, so brackets around one are not read.
func (s *sedText) until(delimiter byte) bool {
	for i := 0; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '\\':
			i++
		case delimiter:
			open := strings.LastIndexByte(s.rest[:i], '[')
			if open >= 0 && strings.IndexByte(s.rest[open:i], ']') < 0 {
				return false
			}
			s.rest = s.rest[i+1:]
			return true
		}
	}
	return false
}

func (s *sedText) substitute(name byte) bool {
	if s.rest == "" || s.rest[0] == '\n' || s.rest[0] == '\\' {
		return false
	}
	delimiter := s.rest[0]
	s.rest = s.rest[1:]
	for range 2 { // the pattern, then the replacement
		if !s.until(delimiter) {
			s.rest = ""
			return false
		}
	}
	if name == 'y' {
		return true
	}
	for s.rest != "" {
		switch c := s.rest[0]; {
		case strings.IndexByte("0123456789gpiImM", c) >= 0:
			s.rest = s.rest[1:]
		case c == 'w':
			s.rest = s.rest[1:]
			s.files = append(s.files, strings.TrimSpace(s.line()))
			return false
		default:
			return strings.IndexByte(" \t\n;}", c) >= 0
		}
	}
	return true
}

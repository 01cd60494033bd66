package permission

import "strings"

// rough splits text that may hold commands without understanding it: at every
// character that could end a command or open another, quotes dropped. It finds
// more commands than there are, which is right for refusing and for nothing
// else.
func rough(text string) []Command {
	var commands []Command
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";|&\n\r(){}<>`", r) }) {
		if words := roughWords(part); len(words) > 0 {
			commands = append(commands, Command{Text: texts(words), Words: words, normal: normal(words)})
		}
	}
	return commands
}

func roughWords(part string) []Word {
	var words []Word
	for _, f := range strings.Fields(part) {
		f = strings.Map(func(r rune) rune {
			if r == '"' || r == '\'' || r == '\\' {
				return -1
			}
			return r
		}, f)
		if f != "" {
			words = append(words, Word{Source: f, Text: f})
		}
	}
	return words
}

// roughRefusal is the guard for text that cannot be read: any word may be the
// one that is run.
func roughRefusal(text string) string {
	switch {
	case dropsData(text):
		return dropsDataReason
	case strings.Contains(strings.Join(strings.Fields(text), ""), ":(){"):
		return forkBombReason
	case roughlyPiped(text):
		return pipedReason
	}
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, ">")
		if !ok {
			break
		}
		if rest = after; rawDevice(strings.TrimLeft(after, `>|& "'`)) {
			return rawDeviceReason
		}
	}
	for _, c := range rough(text) {
		for i, w := range c.Words {
			name := w.name()
			if !guarded(name) {
				continue
			}
			// Bounded, or a long line of such words would take its square.
			args := c.normal[i+1 : min(i+200, len(c.normal))]
			if name == "git" {
				args = afterOptions(args)
			}
			if why := refusal(name, args); why != "" {
				return why
			}
		}
	}
	return ""
}

// afterOptions drops git's own options.
func afterOptions(args []string) []string {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		n := 1
		if args[0] == "-C" || args[0] == "-c" {
			n = min(2, len(args))
		}
		args = args[n:]
	}
	return args
}

func roughlyPiped(text string) bool {
	for _, list := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";&\n", r) }) {
		fetched := false
		for _, stage := range strings.Split(list, "|") {
			fetches := false
			for _, w := range roughWords(stage) {
				name := w.name()
				if fetched && isShell(name) {
					return true
				}
				fetches = fetches || name == "curl" || name == "wget"
			}
			fetched = fetched || fetches
		}
	}
	return false
}

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
		if f = strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(f); f != "" {
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
		for i := range c.Words {
			// The words after this bound matter to no rule, and looking at all
			// of them for each word would make long lines slow.
			words := c.Words[i:min(len(c.Words), i+200)]
			tail := Command{Words: words, normal: normal(words[:1])}
			if !guarded(tail.normal[0]) {
				continue
			}
			tail.normal = normal(words)
			if tail.normal[0] == "git" {
				readGit(&tail)
			}
			if why := refusal(tail.normal); why != "" {
				return why
			}
		}
	}
	return ""
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

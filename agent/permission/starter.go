package permission

import "strings"

// starter describes a program whose operands are another command.
type starter struct {
	flags, valued string   // its short options without and with a value
	long          []string // its long options; a "=" at the end takes a value
	operands      int      // of its own, before the command
	assigns       bool     // NAME=value may stand before the command
	rule          bool     // it does more than start the command
	input         bool     // it adds arguments from its input
	asks          bool     // it gives the command other rights

	// Short and long options that take a directory to run in, and a file to
	// read, with blanks around each.
	dirs, files string
}

// started is what stands before the command that a starter starts.
type started struct {
	n                    int    // where that command begins
	assigns, dirs, files []Word // the values, in order
	ok                   bool   // every option is known
}

func starterOf(name string, words []Word) (starter, bool) {
	switch name {
	case "env":
		return starter{flags: "i0v", valued: "uC", long: []string{"ignore-environment", "unset=", "chdir=", "null", "debug"}, assigns: true, dirs: " -C --chdir "}, true
	case "command":
		// With -v it only tells where a command is.
		tells := len(words) > 1 && strings.ContainsAny(words[1].option(), "vV")
		return starter{flags: "p"}, !tells
	case "builtin", "nohup", "busybox", "toybox":
		return starter{rule: strings.HasSuffix(name, "box")}, true
	case "exec":
		return starter{flags: "cl", valued: "a"}, true
	case "nice":
		return starter{flags: "0123456789", valued: "n", long: []string{"adjustment="}}, true
	case "ionice":
		return starter{flags: "t", valued: "cn", long: []string{"class=", "classdata=", "ignore"}}, true
	case "time":
		return starter{flags: "pv", valued: "f", long: []string{"portability", "verbose", "format="}}, true
	case "timeout":
		return starter{flags: "v", valued: "sk", long: []string{"signal=", "kill-after=", "foreground", "preserve-status", "verbose"}, operands: 1}, true
	case "stdbuf":
		return starter{valued: "ioe", long: []string{"input=", "output=", "error="}}, true
	case "setsid":
		return starter{flags: "cfw", long: []string{"ctty", "fork", "wait"}}, true
	case "sudo":
		return starter{
			flags: "AbBEHiknPsS", valued: "CDghpRrTtUu", asks: true, assigns: true, dirs: " -D --chdir ",
			long: []string{"user=", "group=", "host=", "chdir=", "preserve-env", "non-interactive", "stdin", "login", "shell", "set-home", "background"},
		}, true
	case "doas":
		return starter{flags: "Lns", valued: "Cu", asks: true}, true
	case "pkexec":
		return starter{long: []string{"user=", "keep-cwd", "disable-internal-agent"}, asks: true}, true
	case "xargs":
		return starter{
			flags: "0eilprtxo", valued: "adEILnPs", rule: true, input: true, files: " -a --arg-file ",
			long: []string{"null", "no-run-if-empty", "verbose", "interactive", "exit", "open-tty", "replace", "arg-file=", "delimiter=", "eof", "max-args=", "max-chars=", "max-lines", "max-procs="},
		}, true
	}
	return starter{}, false
}

// read reads a starter's own options and operands.
func (s starter) read(words []Word) (o started) {
	own := s.operands
	for o.n = 1; o.n < len(words); o.n++ {
		w := words[o.n]
		switch {
		case w.Text == "--" && w.Known:
			o.n, o.ok = min(o.n+1+own, len(words)), true
			return o
		case w.option() != "":
			if !w.Known {
				return o
			}
			name, at, known := s.valueAt(w.Text)
			if !known {
				return o
			}
			if at < 0 {
				continue
			}
			value := w.from(at)
			if at == len(w.Text) && !strings.HasSuffix(w.Text, "=") {
				if o.n++; o.n == len(words) {
					break
				}
				value = words[o.n]
			}
			if strings.Contains(s.dirs, " "+name+" ") {
				o.dirs = append(o.dirs, value)
			}
			if strings.Contains(s.files, " "+name+" ") {
				o.files = append(o.files, value)
			}
		case s.assigns && isAssignment(w.Text):
			o.assigns = append(o.assigns, w)
		case own > 0:
			own--
		default:
			o.ok = true
			return o
		}
	}
	o.n, o.ok = min(o.n, len(words)), true
	return o
}

// valueAt finds the option in a word that takes a value and where the value
// begins: behind the word if it is the next one, -1 if there is none. known
// says whether the starter has all the options in the word.
func (s starter) valueAt(word string) (name string, at int, known bool) {
	if long, ok := strings.CutPrefix(word, "--"); ok {
		name, _, given := strings.Cut(long, "=")
		for _, l := range s.long {
			switch {
			case l == name:
				return "", -1, true
			case l != name+"=":
			case given:
				return "--" + name, len("--") + len(name) + 1, true
			default:
				return "--" + name, len(word), true
			}
		}
		return "", -1, false
	}
	for i := 1; i < len(word); i++ {
		if strings.IndexByte(s.valued, word[i]) >= 0 {
			return "-" + word[i:i+1], i + 1, true
		}
		if strings.IndexByte(s.flags, word[i]) < 0 {
			return "", -1, false
		}
	}
	return "", -1, true
}

// isAssignment reports whether a word reads NAME=value.
func isAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && isName(name)
}

func isName(name string) bool {
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		return false
	}
	return strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") == ""
}

// writesInput reports whether options of xargs put input inside a word.
func writesInput(words []Word) bool {
	for _, w := range words {
		if strings.HasPrefix(w.Text, "-I") || strings.HasPrefix(w.Text, "-i") || strings.HasPrefix(w.Text, "--replace") {
			return true
		}
	}
	return false
}

// isShell reports whether a program runs the text it is given as commands in
// the language that is read here.
func isShell(name string) bool {
	switch name {
	case "bash", "sh", "zsh", "ksh", "dash", "ash", "mksh":
		return true
	}
	return false
}

// runsText is isShell and the builtins that do the same.
func runsText(name string) bool {
	return isShell(name) || name == "eval" || name == "source" || name == "."
}

func startsShell(commands []Command) bool {
	for _, c := range commands {
		if isShell(c.Name()) {
			return true
		}
	}
	return false
}

// fetches reports whether one of the commands downloads.
func fetches(commands []Command) bool {
	for _, c := range commands {
		if n := c.Name(); n == "curl" || n == "wget" {
			return true
		}
	}
	return false
}

// shellStart is what the options of a shell say.
type shellStart struct {
	code, stdin, unknown bool
	operand              int // index of the first word that is no option
}

func shellOptions(words []Word) (o shellStart) {
	for o.operand = 1; o.operand < len(words); o.operand++ {
		w := words[o.operand]
		switch {
		case !w.Known:
			o.unknown = true
			return o
		case w.Text == "--":
			o.operand++
			o.unknown = o.operand < len(words) && !words[o.operand].Known
			return o
		case w.Text == "-":
			o.stdin = true
			return o
		case strings.HasPrefix(w.Text, "--"):
			if w.Text != "--login" && w.Text != "--norc" && w.Text != "--noprofile" && w.Text != "--posix" {
				o.unknown = true
				return o
			}
		case len(w.Text) > 1 && (w.Text[0] == '-' || w.Text[0] == '+'):
			for _, letter := range w.Text[1:] {
				switch {
				case letter == 'c':
					o.code = true
				case letter == 's':
					o.stdin = true
				case letter == 'o' || letter == 'O':
					o.operand++
				case !strings.ContainsRune("elfuvxnhmpBCEPT", letter):
					o.unknown = true
				}
			}
		default:
			return o
		}
	}
	return o
}

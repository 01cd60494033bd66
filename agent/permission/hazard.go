package permission

import (
	"os"
	"path"
	"strings"
)

// A rule such as "git *" or "go test *" trusts a program with its arguments.
// The options below turn such a program into one that starts another or writes
// where it is told; a command with one of them is asked all the same.
func riskyOptions(program string) []string {
	switch program {
	case "go":
		return []string{"-exec", "-toolexec", "-vettool", "-ldflags", "-overlay", "-modfile", "-compiler", "-gccgoflags", "-pkgdir"}
	case "find":
		return []string{"-delete", "-fprint", "-fprint0", "-fprintf", "-fls"}
	case "fd", "fdfind":
		return []string{"-x", "-X", "--exec", "--exec-batch"}
	case "rg":
		return []string{"--pre", "--hostname-bin"}
	case "sort":
		return []string{"-o", "--output", "--compress-program"}
	case "sed":
		return []string{"-i", "--in-place", "-f", "--file"}
	case "perl", "ruby", "yq":
		return []string{"-i", "--in-place", "--inplace"}
	case "tar":
		return []string{"-I", "-F", "--use-compress-program", "--to-command", "--checkpoint-action", "--rsh-command", "--info-script"}
	case "rsync":
		return []string{"-e", "--rsh", "--rsync-path"}
	case "curl":
		return []string{"-o", "-O", "-K", "--output", "--remote-name", "--config"}
	case "man":
		return []string{"-P", "-H", "--pager", "--html"}
	case "tree":
		return []string{"-o"}
	case "make":
		return []string{"--eval"}
	case "cargo":
		return []string{"--config"}
	case "npm", "pnpm", "yarn":
		return []string{"--script-shell"}
	}
	return nil
}

func hazard(program string, words []Word) string {
	risky := riskyOptions(program)
	is := isOption
	switch program {
	case "go":
		is = isGoOption
	case "tar":
		if len(words) > 1 && words[1].option() == "" && words[1].Text != "" { // letters without a dash
			letters := words[1]
			letters.Text, letters.lead = "-"+letters.Text, "-"+letters.lead
			words = append([]Word{words[0], letters}, words[2:]...)
		}
	}
	for i, w := range words[1:] {
		for _, o := range risky {
			if mayBeOption(w, o, is) {
				return program + " " + o + " starts another program or writes a file"
			}
		}
		if program == "go" && w.option() != "" && writesElsewhere(words, i+1) {
			return program + " " + w.Text + " writes a file"
		}
	}
	return ""
}

// mayBeOption reports whether a word sets an option, or may once the shell
// knows what is in it.
func mayBeOption(w Word, option string, is func(word, option string) bool) bool {
	switch {
	case w.option() != "" && is(w.Text, option):
		return true
	case w.Known || w.Source == "…":
		return false
	case w.lead == "":
		return true
	case w.lead[0] != '-':
		return false
	case len(w.lead) == 1, len(option) == 2 && w.lead[1] != '-':
		return true
	}
	return strings.HasPrefix(option, w.lead) || strings.HasPrefix("-"+option, w.lead) || is(w.lead, option)
}

// isGoOption is isOption for programs that have no bundles and no short forms.
func isGoOption(word, option string) bool {
	name, _, _ := strings.Cut(word, "=")
	return name == option || name == "-"+option
}

// writesElsewhere reports whether the option of go at word i writes to a file
// that is not in the workspace, or may be one that others read as a program.
func writesElsewhere(words []Word, i int) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(words[i].Text, "-"), "=")
	name = strings.TrimPrefix(name, "test.")
	switch name {
	case "o", "coverprofile", "cpuprofile", "memprofile", "blockprofile", "mutexprofile", "trace", "outputdir":
	default:
		return false
	}
	opt, _, _ := strings.Cut(words[i].Text, "=")
	value, _, _ := valueOf(words, i, opt)
	if value.Text == os.DevNull && value.Known {
		return false
	}
	clean := path.Clean(value.Text)
	return name == "o" || !value.Known || path.IsAbs(clean) || strings.HasPrefix(clean, "..") || strings.HasPrefix(clean, "~") || strings.HasPrefix(clean, ".git/")
}

// isOption reports whether a word sets an option: -x also within -yx, --long
// also shortened and with a value, -long as Go programs take it.
func isOption(word, option string) bool {
	name, _, _ := strings.Cut(word, "=")
	switch {
	case strings.HasPrefix(option, "--"):
		return len(name) > 3 && strings.HasPrefix(option, name)
	case len(option) > 2:
		return name == option || name == "-"+option
	}
	return len(word) > 1 && word[1] != '-' && strings.IndexByte(word, option[1]) > 0
}

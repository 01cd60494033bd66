package permission

import "strings"

// A rule such as "git *" or "go test *" trusts a program with its arguments.
// The options below turn such a program into one that starts another or writes
// where it is told; a command with one of them is asked all the same.
func riskyOptions(program string) []string {
	switch program {
	case "go":
		return []string{"-exec", "-toolexec", "-vettool"}
	case "find":
		return []string{"-delete", "-fprint", "-fprint0", "-fprintf", "-fls"}
	case "fd", "fdfind":
		return []string{"-x", "-X", "--exec", "--exec-batch"}
	case "rg":
		return []string{"--pre", "--hostname-bin"}
	case "sort":
		return []string{"-o", "--output", "--compress-program"}
	case "sed", "perl", "ruby", "yq":
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
	for _, w := range words[1:] {
		if w.option() == "" {
			continue
		}
		for _, o := range risky {
			if isOption(w.Text, o) {
				return program + " " + o + " starts another program or writes a file"
			}
		}
	}
	return ""
}

// gitHazard looks at a git command from its subcommand on.
func gitHazard(words []Word) string {
	if len(words) == 0 {
		return ""
	}
	sub := words[0].Text
	next := ""
	if len(words) > 1 {
		next = words[1].Text
	}
	switch {
	case !words[0].Known:
		return "the git subcommand is not known"
	case sub == "bisect" && next == "run", sub == "submodule" && next == "foreach", sub == "filter-branch":
		return "git " + sub + " starts other programs"
	case sub == "config" && next != "--get" && next != "--get-all" && next != "--list" && next != "-l" && next != "get" && next != "list":
		return "git config changes what git runs"
	}
	short := gitShortOption(sub)
	for _, w := range words[1:] {
		if w.option() == "" {
			continue
		}
		for _, o := range [...]string{"--output", "--ext-diff", "--textconv", "--open-files-in-pager", "--upload-pack", "--receive-pack", "--exec", "--extcmd"} {
			if isOption(w.Text, o) {
				return "git " + sub + " " + o + " starts another program or writes a file"
			}
		}
		if short != "" && isOption(w.Text, short) {
			return "git " + sub + " " + short + " starts another program"
		}
	}
	return ""
}

// gitShortOption is the short option with which a subcommand starts another
// program.
func gitShortOption(sub string) string {
	switch sub {
	case "grep":
		return "-O"
	case "rebase", "difftool":
		return "-x"
	case "clone":
		return "-c"
	case "ls-remote":
		return "-u"
	}
	return ""
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

// hazardous reports whether a variable changes what other commands run or
// where they look for it.
func hazardous(name string) bool {
	switch name {
	case "PATH", "ENV", "IFS", "PS4", "CDPATH", "HOME", "SHELL", "SHELLOPTS", "PROMPT_COMMAND", "GLOBIGNORE",
		"EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "XDG_CONFIG_HOME",
		"CC", "CXX", "LD", "AR", "MAKEFLAGS", "MAVEN_OPTS", "JAVA_TOOL_OPTIONS", "CLASSPATH",
		"DOCKER_HOST", "KUBECONFIG", "GCONV_PATH":
		return true
	case "NODE_ENV", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING", "PYTHONHASHSEED",
		"CARGO_TERM_COLOR", "RUST_BACKTRACE", "RUST_LOG":
		return false
	case "GOFLAGS", "GOROOT", "GOPATH", "GOENV", "GOTOOLCHAIN", "GOPROXY", "GONOSUMDB", "GOSUMDB", "GOTOOLDIR", "GOBIN", "GOWORK":
		return true
	}
	upper := strings.ToUpper(name)
	for _, p := range []string{"LD_", "DYLD_", "GIT_", "BASH", "SSH_", "NODE_", "NPM_", "PYTHON", "PERL", "RUBY", "RUST", "CARGO_", "CGO_"} {
		if strings.HasPrefix(upper, p) {
			return upper != "CGO_ENABLED"
		}
	}
	return false
}

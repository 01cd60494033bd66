package permission

import (
	"slices"
	"strings"
)

// git finds the subcommand behind git's own options and returns the words
// from there on, or just the command word if there is none.
func (r *reader) git(c *Command) []Word {
	words, i := c.Words, 1
	outer := r.at
loop:
	for i < len(words) {
		switch opt := words[i].Text; opt {
		case "-C":
			if i+1 == len(words) {
				break loop
			}
			r.moveTo(words[i+1])
			i += 2
		case "--no-pager", "-P", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs", "--no-advice":
			i++
		case "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source":
			c.Hazard = "git " + opt + " changes what git runs"
			if i+1 < len(words) {
				r.hide(optionValue(words[i+1].Text))
			}
			i += 2
		case "--version", "--help", "-v", "-h":
			break loop
		default:
			if !strings.HasPrefix(opt, "-") {
				break loop
			}
			c.Hazard = "git " + opt + " changes what git runs"
			r.hide(optionValue(opt))
			i++
		}
	}
	r.at = outer
	c.places = r.places[:len(r.places):len(r.places)]
	i = min(i, len(words))
	c.normal = append([]string{"git"}, plainTexts(words[i:])...)
	if i > 1 && words[0].bare() {
		c.plain = strings.TrimSuffix("git "+sources(words[i:]), " ")
	}
	if i == len(words) {
		return words[:1]
	}
	if h := gitHazard(words[i:]); h != "" {
		c.Hazard = h
	}
	return words[i:]
}

// optionValue is the text after an option's = and what git takes for a command
// behind it.
func optionValue(text string) string {
	if _, value, ok := strings.Cut(text, "="); ok {
		return strings.TrimLeft(value, "!")
	}
	if len(text) > 2 && text[0] == '-' && text[1] != '-' {
		return text[2:]
	}
	return ""
}

// gitHazard looks at a git command from its subcommand on.
func gitHazard(words []Word) string {
	sub := words[0].Text
	has := func(texts ...string) bool {
		return slices.ContainsFunc(words[1:], func(w Word) bool { return slices.Contains(texts, w.Text) })
	}
	switch {
	case !words[0].Known:
		return "the git subcommand is not known"
	case sub == "bisect" && has("run"), sub == "submodule" && has("foreach"), sub == "filter-branch":
		return "git " + sub + " starts other programs"
	case sub == "config" && !readsConfig(words[1:]):
		return "git config changes what git runs"
	}
	risky := append(gitOptions(sub), "--output", "--ext-diff", "--textconv", "--open-files-in-pager", "--upload-pack", "--receive-pack", "--exec", "--extcmd")
	for _, w := range words[1:] {
		for _, o := range risky {
			if mayBeOption(w, o, isOption) {
				return "git " + sub + " " + o + " starts another program or writes a file"
			}
		}
	}
	return ""
}

// gitOptions are options of a subcommand that start another program or write.
func gitOptions(sub string) []string {
	switch sub {
	case "grep":
		return []string{"-O"}
	case "rebase", "difftool":
		return []string{"-x"}
	case "clone":
		return []string{"-c", "-u", "--config", "--template", "--separate-git-dir"}
	case "init":
		return []string{"--template", "--separate-git-dir"}
	case "ls-remote":
		return []string{"-u"}
	case "archive", "format-patch", "bugreport":
		return []string{"-o", "--output-directory"}
	}
	return nil
}

// readsConfig reports whether git config is told to read, and nothing else.
func readsConfig(words []Word) bool {
	reads := false
	for i, w := range words {
		name, _, _ := strings.Cut(w.Text, "=")
		switch name {
		case "--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l":
			reads = true
		case "get", "list":
			reads = reads || i == 0
		case "--global", "--local", "--system", "--worktree", "--show-origin", "--show-scope", "--null", "-z", "--name-only",
			"--type", "--bool", "--int", "--path", "--includes", "--no-includes", "--all", "--default":
		default:
			if w.option() != "" || !w.Known && w.lead == "" {
				return false
			}
		}
	}
	return reads
}

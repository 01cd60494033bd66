package permission

import (
	"path"
	"strings"
)

// fileArguments guesses which words of a command name files. It leans to yes:
// only words that are known to be text, patterns or code are left out. A git
// command is given from its subcommand on, with a name such as "git add".
func fileArguments(name string, words []Word) []File {
	f := fileFinder{name: name, writes: writesAll(name, words)}
	f.skip = firstIsPattern(name, words)
	end := false // of options
	for i := 1; i < len(words); i++ {
		w := words[i]
		if w.option() == "" || end {
			f.operand(w)
			continue
		}
		if end = w.Text == "--"; end {
			continue
		}
		if takesText(name, w.Text) {
			i++
			continue
		}
		f.option(w)
		if output := isOutput(w.Text); i+1 < len(words) && (output || takesFile(name, w.Text)) {
			i++
			f.add(words[i], words[i].Text, output)
			if takesFile(name, w.Text) {
				f.pattern(words[i].Text)
			}
		}
	}
	if lastIsTarget(name) && f.last < len(f.files) {
		f.files[f.last].Write = true
	}
	f.copies(words)
	return f.files
}

// pattern makes the latest file one that the program itself expands.
func (f *fileFinder) pattern(text string) {
	if n := len(f.files); n > 0 && strings.ContainsAny(text, "*?[") {
		f.files[n-1].glob = text
	}
}

// copies adds the files that a program makes in a directory: under the names
// they have where they come from.
func (f *fileFinder) copies(words []Word) {
	if !lastIsTarget(f.name) && f.name != "mv" || len(f.operands) == 0 {
		return
	}
	from, to := f.operands[:len(f.operands)-1], f.operands[len(f.operands)-1]
	directory := len(from) > 1 || strings.HasSuffix("/"+to.Text, "/") || strings.HasSuffix("/"+to.Text, "/.") || strings.HasSuffix("/"+to.Text, "/..")
	for i := 1; i < len(words); i++ {
		for _, o := range [...]string{"-t", "--target-directory"} {
			if value, _, ok := valueOf(words, i, o); ok {
				from, to, directory = f.operands, value, true
			}
		}
	}
	for _, w := range from {
		made := File{Name: path.Join(to.Text, path.Base(w.Text)), Write: true, maybe: !directory}
		if w.glob != "" || to.glob != "" {
			made.glob = path.Join(to.pattern(), path.Base(w.pattern()))
		}
		f.files = append(f.files, made)
	}
}

type fileFinder struct {
	name   string
	files  []File
	writes bool // every operand is written
	skip   bool // the next operand is a pattern or a script
	last   int  // index in files of the latest operand

	operands []Word
}

func (f *fileFinder) add(w Word, name string, write bool) {
	if name == "" || isText(name) {
		return
	}
	file := File{Name: name, Write: write}
	if strings.HasSuffix(w.Text, name) {
		part := w.from(len(w.Text) - len(name))
		file.glob, file.void = part.glob, part.void
	}
	f.files = append(f.files, file)
}

// operand records a word and the parts of it that may be a name by
// themselves: if=name, @name, rev:name, name:where.
func (f *fileFinder) operand(w Word) {
	if f.skip {
		f.skip = false
		return
	}
	f.last = len(f.files)
	f.operands = append(f.operands, w)
	f.add(w, w.Text, f.writes)
	f.parts(w, w.Text)
}

// Of many parts only the outer ones are looked at, or a long word of nothing
// but marks would take its square.
func (f *fileFinder) parts(w Word, text string) {
	const outer = 16
	seen, left := 0, strings.Count(text, "=")+strings.Count(text, ":")+strings.Count(text, "@")
	for i := 0; i < len(text); i++ {
		if c := text[i]; c != '=' && c != ':' && c != '@' {
			continue
		}
		seen, left = seen+1, left-1
		if seen > outer && left >= outer {
			continue
		}
		switch text[i] {
		case '=', ':', '@':
			f.add(w, text[i+1:], f.writes || strings.HasPrefix(text, "of="))
			if text[i] == ':' {
				f.add(w, text[:i], f.writes)
			}
		}
	}
}

// option records what is glued to an option: --file=name, -fname.
func (f *fileFinder) option(w Word) {
	name, value, ok := strings.Cut(w.Text, "=")
	switch {
	case strings.HasPrefix(name, "--exclude"), strings.HasPrefix(name, "--ignore"):
	case takesText(f.name, name), len(name) > 2 && takesText(f.name, name[:2]):
	case ok:
		f.add(w, value, f.writes || isOutput(name))
		if takesFile(f.name, name) {
			f.pattern(value)
		}
		f.parts(w, value)
	case !strings.HasPrefix(name, "--") && len(name) > 2:
		f.add(w, name[2:], f.writes || isOutput(name[:2]))
		if takesFile(f.name, name[:2]) {
			f.pattern(name[2:])
		}
	}
}

// isText reports whether a word that a pattern for names would match is more
// likely source code, such as process.env, or a name that is left out. It
// never holds for a path: what is before a slash proves nothing.
func isText(s string) bool {
	if strings.Contains(s, "/") {
		return false
	}
	for _, p := range [...]string{"process.env", "import.meta.env", "Deno.env", "Bun.env", "os.environ"} {
		if strings.Contains(s, p) {
			return true
		}
	}
	return strings.HasPrefix(s, "!")
}

// namesOnly reports whether a command prints its words or tells about files
// without showing or changing what is in them.
func namesOnly(name string, words []Word) bool {
	switch name {
	case "ls", "test", "[", "stat", "basename", "dirname", "realpath", "readlink", "true", "false", ":", "which", "type", "man",
		"git check-ignore", "git ls-files", "git status":
		return true
	case "find":
		for _, w := range words {
			switch w.Text {
			case "-exec", "-execdir", "-ok", "-okdir", "-delete":
				return false
			}
		}
		return true
	}
	return false
}

// firstIsPattern reports whether the first operand is a pattern or a script,
// which it is unless an option gives one.
func firstIsPattern(name string, words []Word) bool {
	var given []string
	switch name {
	case "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "git grep":
		given = []string{"-e", "-f", "--regexp", "--file"}
	case "sed", "awk", "gawk", "mawk":
		given = []string{"-e", "-f", "--expression", "--file"}
	case "jq", "yq":
		given = []string{"-f", "--from-file"}
	case "tr", "fd":
	default:
		return false
	}
	for _, w := range words[1:] {
		for _, o := range given {
			if w.option() != "" && isOption(w.Text, o) {
				return false
			}
		}
	}
	return true
}

// takesFile reports whether an option is followed by the name, or a pattern
// for the names, of files the program reads.
func takesFile(name, opt string) bool {
	switch name {
	case "grep", "egrep", "fgrep", "zgrep", "git grep":
		return opt == "--include" || opt == "-f" || opt == "--file"
	case "rg":
		return opt == "-g" || opt == "--glob" || opt == "--iglob" || opt == "-f" || opt == "--file"
	case "find":
		return opt == "-name" || opt == "-iname" || opt == "-path" || opt == "-ipath" || opt == "-wholename"
	}
	return false
}

// takesText reports whether an option is followed by text or code rather than
// a name.
func takesText(name, opt string) bool {
	switch name {
	case "grep", "egrep", "fgrep", "rg", "sed", "git grep":
		return opt == "-e" || opt == "--regexp" || opt == "--expression" || opt == "--exclude"
	case "git commit", "git tag", "git merge", "git stash", "git notes":
		return opt == "-m" || opt == "-am" || opt == "--message" || opt == "--author"
	case "git log", "git shortlog", "git diff", "git show":
		return opt == "-G" || opt == "-S" || opt == "--grep" || opt == "--author"
	case "gh", "glab":
		return opt == "-t" || opt == "--title" || opt == "-b" || opt == "--body" || opt == "-m"
	case "node", "bun", "deno", "python", "python3", "ruby", "perl", "php":
		return opt == "-c" || opt == "-e" || opt == "-p" || opt == "--eval" || opt == "--print" || opt == "-r" && name == "php"
	case "tar", "rsync", "tree":
		return opt == "--exclude"
	}
	return false
}

func isOutput(opt string) bool { return opt == "-o" || opt == "-O" || opt == "--output" }

// lastIsTarget reports whether a program writes its last operand and only
// reads the others.
func lastIsTarget(name string) bool {
	switch name {
	case "cp", "ln", "install", "rsync", "scp":
		return true
	}
	return false
}

// writesAll reports whether a program changes every file it is given.
func writesAll(name string, words []Word) bool {
	switch name {
	case "tee", "touch", "truncate", "rm", "rmdir", "unlink", "shred", "mv", "chmod", "chown", "chgrp", "patch", "sponge", "mkdir",
		"ed", "ex", "vi", "vim", "nvim", "nano", "pico", "emacs", "joe", "micro",
		"git checkout", "git restore", "git rm", "git mv", "git apply", "git clean", "git reset":
		return true
	case "sed", "perl", "ruby", "yq":
		return hazard(name, words) != ""
	case "find":
		return true // namesOnly has the harmless ones
	}
	return false
}

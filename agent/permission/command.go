package permission

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// command records a simple command and reads what it starts in turn. words is
// not empty.
func (r *reader) command(words []Word, redirs []*syntax.Redirect) {
	i := len(r.out.Commands)
	r.out.Commands = append(r.out.Commands, Command{Text: sources(words), Words: words, normal: normal(words)})
	c := &r.out.Commands[i]
	name := c.Name()
	if !words[0].Known {
		r.opaque("the command word is not literal: " + words[0].Source)
		r.hide(c.Text)
	}
	c.Hazard = hazard(name, words)
	if s, ok := starterOf(name, words); ok {
		r.start(i, s, words, redirs)
		return
	}
	switch name {
	case "bash", "sh", "zsh", "ksh", "dash", "ash", "mksh":
		r.shell(i, words, redirs)
		return
	case "git":
		words = readGit(c)
		name = strings.Join(c.normal[:min(2, len(c.normal))], " ")
		if c.dir != "" {
			r.visits(c.dir)
		}
	case "find":
		r.find(i, words)
	case "cd", "pushd":
		r.move(words)
	case "trap":
		r.trap(words)
	case "eval":
		r.opaque("eval runs text as commands")
		r.hide(texts(words[1:]))
	case "source", ".", "alias", "unalias", "shopt", "enable", "hash", "bind", "complete", "compgen", "fc", "let":
		r.opaque(name + " reads text as code or changes what commands mean")
	case "read", "mapfile", "readarray", "getopts", "printf", "unset", "export", "declare", "typeset", "local", "readonly", "test", "[":
		r.builtin(name, words)
	case "ssh", "watch", "parallel", "script", "su", "strace", "ltrace", "flock", "chroot", "jobs":
		r.hide(texts(words[1:]))
	case "docker", "podman", "kubectl":
		if len(words) > 1 && (words[1].Text == "exec" || words[1].Text == "run") {
			r.hide(texts(words[2:]))
		}
	}
	r.arguments(name, words)
}

// arguments records the files among the words of a command.
func (r *reader) arguments(name string, words []Word) {
	files := fileArguments(name, words)
	if name == "echo" || name == "printf" {
		r.out.echoed = append(r.out.echoed, files...)
		return
	}
	r.out.Files = append(r.out.Files, files...)
}

// start reads a command whose operands are another command.
func (r *reader) start(i int, s starter, words []Word, redirs []*syntax.Redirect) {
	c := &r.out.Commands[i]
	n, assigns, ok := s.operand(words)
	if s.asks {
		c.asks, c.Hazard = true, c.Name()+" runs it as another user"
	}
	if !ok {
		r.opaque("options that are not known: " + c.Text)
		r.hide(texts(words[1:]))
		r.arguments("", words)
		return
	}
	for _, w := range assigns {
		name, _, _ := strings.Cut(w.Text, "=")
		value := w
		value.Text = w.Text[len(name)+1:]
		r.set(name, value)
	}
	inner := words[n:]
	if len(inner) == 0 {
		return
	}
	c.Starter = !s.rule && !s.asks && words[0].bare()
	if s.input {
		r.out.takesInput = true
		inner = append(slices.Clone(inner), Word{Source: "…", Text: "…"})
		if isShell(inner[0].name()) && writesInput(words[1:n]) {
			r.opaque("input becomes part of a script: " + c.Text)
		}
	}
	if r.inner++; r.inner > maxInner {
		r.opaque("too many commands that start another")
		r.hide(texts(inner))
	} else {
		r.command(inner, redirs)
	}
	r.inner--
}

// shell reads a shell that is started with a script: as an argument, from a
// here-document, or in a file, which only a rule can speak for.
func (r *reader) shell(i int, words []Word, redirs []*syntax.Redirect) {
	c := &r.out.Commands[i]
	o := shellOptions(words)
	switch {
	case o.unknown:
		r.opaque("a shell started in a way that is not known: " + c.Text)
		r.hide(texts(words[1:]))
	case o.code && o.operand < len(words):
		script := words[o.operand].Text
		if strings.Contains(script, "{}") {
			r.opaque("input becomes part of a script: " + c.Text)
		}
		c.Starter = words[0].bare() && c.Name() != "zsh"
		r.nested(script)
		r.arguments("", words[o.operand:])
	case !o.code && !o.stdin && o.operand < len(words) && words[o.operand].Text != "/dev/stdin":
		r.arguments("", words)
	default:
		script, ok := r.input(redirs)
		if !ok {
			r.opaque("a shell that reads its commands from elsewhere: " + c.Text)
			r.hide(r.src)
			return
		}
		c.Starter = words[0].bare() && c.Name() != "zsh"
		r.nested(script)
	}
}

// input is the text that redirects feed to a command, if it is all literal.
func (r *reader) input(redirs []*syntax.Redirect) (string, bool) {
	text, ok := "", false
	for _, d := range redirs {
		switch d.Op {
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn:
			return "", false
		case syntax.WordHdoc:
			w := r.word(d.Word)
			text, ok = w.Text, w.Known
		case syntax.Hdoc, syntax.DashHdoc:
			if d.Hdoc == nil {
				continue
			}
			text = slice(r.src, d.Hdoc)
			quoted := strings.ContainsAny(slice(r.src, d.Word), `'"\`)
			ok = quoted || !strings.ContainsAny(text, "\\$`")
			if body := d.Hdoc.Lit(); ok && body != "" {
				text = body
			}
		}
	}
	return text, ok
}

func (r *reader) find(i int, words []Word) {
	narrow, deletes := false, false
	for j := 1; j < len(words); j++ {
		switch words[j].Text {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := j + 1
			for end < len(words) && words[end].Text != ";" && (words[end].Text != "+" || words[end-1].Text != "{}") {
				end++
			}
			if end > j+1 {
				r.command(words[j+1:end:end], nil)
			}
			j = end
		case "-delete":
			deletes = true
		case "-fprint", "-fprint0", "-fprintf", "-fls":
			if j+1 < len(words) {
				r.file(words[j+1], true)
			}
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex":
			narrow = narrow || j+1 < len(words) && strings.Trim(words[j+1].Text, "*.") != ""
		case "-empty":
			narrow = true
		}
	}
	r.out.Commands[i].deletes = deletes && !narrow
}

func (r *reader) move(words []Word) {
	for _, w := range words[1:] {
		if w.option() == "" {
			r.visits(w.Text)
			r.at = path.Join(r.at, w.Text)
			if path.IsAbs(w.Text) {
				r.at = w.Text
			}
			return
		}
	}
}

// visits records a directory in which names that follow may lie: as seen from
// the start and as seen from where the script moved before.
func (r *reader) visits(dir string) {
	if len(r.out.dirs) >= maxDirs {
		r.opaque("the script moves between many directories")
		return
	}
	r.out.dirs = append(r.out.dirs, dir)
	if r.at != "" && !path.IsAbs(dir) {
		r.out.dirs = append(r.out.dirs, path.Join(r.at, dir))
	}
}

func (r *reader) trap(words []Word) {
	if len(words) < 3 || words[1].Text == "-" || words[1].Text == "" && words[1].Known {
		return
	}
	if words[1].option() != "" || !words[1].Known {
		r.opaque("a trap that cannot be read: " + sources(words))
		r.hide(texts(words))
		return
	}
	r.nested(words[1].Text)
}

// builtin looks for what commands that set variables do to them.
func (r *reader) builtin(name string, words []Word) {
	r.out.takesInput = r.out.takesInput || name == "read" || name == "mapfile" || name == "readarray"
	sets := name != "test" && name != "[" && (name != "printf" || len(words) > 1 && strings.HasPrefix(words[1].Text, "-v"))
	for _, w := range words[1:] {
		if sets || name == "test" || name == "[" {
			r.evaluates = r.evaluates || w.Text == "-v" || strings.Contains(w.Text, "[")
		}
		if !sets {
			continue
		}
		v := strings.TrimPrefix(w.Text, "-v")
		v, _, _ = strings.Cut(strings.TrimSuffix(v, "+"), "=")
		if hazardous(strings.TrimSuffix(v, "+")) {
			r.out.Assigns = append(r.out.Assigns, Assign{Name: v, Hazard: true})
		}
	}
}

// readGit finds the subcommand behind git's own options and returns the words
// from there on, or just the command word if there is none.
func readGit(c *Command) []Word {
	words, i := c.Words, 1
loop:
	for i < len(words) {
		switch opt := words[i].Text; opt {
		case "-C":
			if i+1 == len(words) {
				break loop
			}
			c.dir = words[i+1].Text
			if !words[i+1].Known {
				c.Hazard = "git is sent to a directory that is not known"
			}
			i += 2
		case "--no-pager", "-P", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs", "--no-advice":
			i++
		case "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source":
			c.Hazard = "git " + opt + " changes what git runs"
			i += 2
		case "--version", "--help", "-v", "-h":
			break loop
		default:
			if !strings.HasPrefix(opt, "-") {
				break loop
			}
			c.Hazard = "git " + opt + " changes what git runs"
			i++
		}
	}
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

func normal(words []Word) []string {
	return append([]string{words[0].name()}, plainTexts(words[1:])...)
}

func plainTexts(words []Word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.Text
	}
	return out
}

func texts(words []Word) string { return strings.Join(plainTexts(words), " ") }

func sources(words []Word) string {
	if len(words) == 1 {
		return words[0].Source
	}
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.Source
	}
	return strings.Join(out, " ")
}

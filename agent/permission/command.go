package permission

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// command records a simple command and reads what it starts in turn. words is
// not empty.
func (r *reader) command(words []Word, redirs []*syntax.Redirect) {
	i := len(r.out.Commands)
	r.out.Commands = append(r.out.Commands, Command{Text: sources(words), Words: words, normal: normal(words), forms: r.forms(words)})
	c := &r.out.Commands[i]
	name := c.Name()
	if !words[0].Known {
		r.calls = true
		r.opaque("the command word is not literal: " + words[0].Source)
		r.hide(texts(words))
		for _, f := range c.forms {
			r.hide(strings.Join(f, " "))
		}
	}
	c.Hazard = hazard(name, words)
	r.sentTo(c, name, words)
	if s, ok := starterOf(name, words); ok {
		r.start(i, s, words, redirs)
		return
	}
	switch name {
	case "bash", "sh", "zsh", "ksh", "dash", "ash", "mksh":
		r.shell(i, words, redirs)
		return
	case "git":
		words = r.git(c)
		name = strings.Join(c.normal[:min(2, len(c.normal))], " ")
	case "find":
		r.find(i, words)
	case "cd", "pushd":
		r.move(words)
	case "set":
		r.exports = r.exports || setsExport(words)
	case "sed":
		r.sed(c, words)
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
	if name == "echo" || name == "printf" || namesOnly(name, words) {
		r.out.echoed = append(r.out.echoed, files...)
		return
	}
	r.out.Files = append(r.out.Files, files...)
}

// start reads a command whose operands are another command.
func (r *reader) start(i int, s starter, words []Word, redirs []*syntax.Redirect) {
	c := &r.out.Commands[i]
	own := s.read(words)
	if s.asks {
		c.asks, c.Hazard = true, c.Name()+" runs it as another user"
	}
	if !own.ok {
		r.opaque("options that are not known: " + c.Text)
		r.hide(texts(words[1:]))
		for _, w := range words[1:] {
			r.hide(optionValue(w.Text))
		}
		r.arguments("", words)
		return
	}
	outer := r.exports
	r.exports = true
	for _, w := range own.assigns {
		name, _, _ := strings.Cut(w.Text, "=")
		r.set(name, w.from(len(name)+1))
	}
	r.exports = outer
	for _, w := range own.files {
		r.file(w, false)
	}
	inner := words[own.n:]
	if len(inner) == 0 {
		return
	}
	c.Starter = !s.rule && !s.asks && words[0].bare()
	if s.input {
		r.out.takesInput = true
		if !writesInput(words[1:own.n]) {
			inner = append(slices.Clone(inner), Word{Source: "…", Text: "…"})
		} else if isShell(inner[0].name()) {
			r.opaque("input becomes part of a script: " + c.Text)
		}
	}
	at := r.at
	for _, w := range own.dirs {
		r.moveTo(w)
	}
	r.started(inner, redirs)
	r.at = at
}

// started reads a command that another starts.
func (r *reader) started(words []Word, redirs []*syntax.Redirect) {
	if r.inner++; r.inner > maxInner {
		r.opaque("too many commands that start another")
		r.hide(texts(words))
	} else {
		r.command(words, redirs)
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
		v = strings.TrimSuffix(v, "+")
		if hazardous(v) || name == "export" && isName(v) && !harmlessVariable(v) {
			r.out.Assigns = append(r.out.Assigns, Assign{Name: v, Hazard: true})
		}
		delete(r.vars, v)
	}
}

func normal(words []Word) []string {
	return append([]string{words[0].name()}, plainTexts(words[1:])...)
}

// forms are other ways to read a command with parts that are not known: as if
// they were empty.
func (r *reader) forms(words []Word) [][]string {
	if !slices.ContainsFunc(words, func(w Word) bool { return !w.Known && w.void != w.Text }) {
		return nil
	}
	var void []Word
	for _, w := range words {
		switch {
		case w.Known || w.Source == "…":
			void = append(void, w)
		case w.void != "":
			v := w
			v.Text = w.void
			void = append(void, v)
		}
	}
	if len(void) == 0 {
		return nil
	}
	form := normal(void)
	if form[0] == "git" {
		form = append(form[:1], afterOptions(form[1:])...)
	}
	return [][]string{form}
}

func plainTexts(words []Word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.Text
	}
	return out
}

func texts(words []Word) string { return strings.Join(plainTexts(words), " ") }

// sources is what words were written as, each once.
func sources(words []Word) string {
	if len(words) == 1 {
		return words[0].Source
	}
	out := make([]string, 0, len(words))
	for i, w := range words {
		if i == 0 || !w.more {
			out = append(out, w.Source)
		}
	}
	return strings.Join(out, " ")
}

package permission

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (r *reader) assignment(n *syntax.Assign) {
	if n.Name == nil {
		return
	}
	if n.Array != nil {
		r.array(n.Name.Value, n.Array)
		return
	}
	var value Word
	if n.Value != nil {
		value = r.word(n.Value)
	}
	if n.Naked {
		if r.exports {
			r.assigned(n.Name.Value, Word{})
		}
		return
	}
	if before := r.vars[n.Name.Value]; n.Append && len(before) > 0 {
		value.Text = before[len(before)-1] + value.Text
		value.Known = value.Known && r.spend(len(value.Text))
	}
	r.set(n.Name.Value, value)
}

func (r *reader) array(name string, a *syntax.ArrayExpr) {
	var elements []*syntax.Word
	for _, e := range a.Elems {
		if e.Value != nil {
			elements = append(elements, e.Value)
		}
	}
	all := Word{Known: true}
	words := r.words(elements...)
	for _, w := range words {
		r.file(w, false)
		all.Known = all.Known && w.Known
	}
	all.Text = texts(words)
	r.assigned(name, all)
	delete(r.vars, name)
	r.keep(name+"[@]", all)
}

// set records that a variable gets a value.
func (r *reader) set(name string, value Word) {
	r.assigned(name, value)
	if value.glob != hole { // it is judged where it is used
		r.file(value, false)
	}
	r.keep(name, value)
}

func (r *reader) assigned(name string, value Word) {
	hazard := hazardous(name)
	if r.exports {
		hazard = !harmlessVariable(name)
	}
	r.out.Assigns = append(r.out.Assigns, Assign{Name: name, Value: value, Hazard: hazard})
	if name == "PS4" || name == "PROMPT_COMMAND" {
		r.opaque(name + " is code")
		r.hide(value.Text)
	}
}

// maxValues is how many values of one variable are told apart.
const maxValues = 8

// keep remembers the value of a variable, or that it is not known.
func (r *reader) keep(name string, value Word) {
	if !value.Known || len(r.vars[name]) == maxValues {
		delete(r.vars, name)
		return
	}
	r.vars[name] = append(r.vars[name], value.Text)
}

// declare reads export, declare and the like, whose variables other programs
// get if an option says so.
func (r *reader) declare(n *syntax.DeclClause) bool {
	exports := n.Variant.Value == "export"
	if n.Variant.Value == "nameref" {
		r.opaque("a variable under another name")
	}
	for _, a := range n.Args {
		if a.Name != nil || a.Value == nil {
			continue
		}
		w := r.word(a.Value)
		exports = exports || !w.Known || strings.Contains(w.option(), "x")
		r.evaluates = r.evaluates || w.option() != "" // such as -i
		if !w.Known || expandable(w.Text) || w.option() != "" && strings.Contains(w.Text, "n") {
			r.opaque("a declaration that cannot be read: " + n.Variant.Value + " " + w.Source)
		}
	}
	outer := r.exports
	r.exports = r.exports || exports
	for _, a := range n.Args {
		r.walk(a)
	}
	r.exports = outer
	return false
}

// harmlessVariable reports whether a variable that other programs get is known
// to change nothing about what they run. Any other may: each program has its
// own that name programs, options or files.
func harmlessVariable(name string) bool {
	switch name {
	case "GOOS", "GOARCH", "GOARM", "GOAMD64", "CGO_ENABLED", "GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GOTRACEBACK",
		"CI", "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE",
		"NODE_ENV", "RAILS_ENV", "RACK_ENV", "APP_ENV", "DEBUG", "VERBOSE", "LOG_LEVEL", "PORT", "HOST",
		"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING", "PYTHONHASHSEED",
		"CARGO_TERM_COLOR", "RUST_BACKTRACE", "RUST_LOG", "SOURCE_DATE_EPOCH":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

// hazardous reports whether a variable of the script changes what other
// commands run or where they look for it, if the environment holds it already.
func hazardous(name string) bool {
	if harmlessVariable(name) {
		return false
	}
	switch name {
	case "PATH", "ENV", "IFS", "PS4", "CDPATH", "HOME", "SHELL", "SHELLOPTS", "PROMPT_COMMAND", "GLOBIGNORE",
		"EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESSOPEN", "LESSCLOSE",
		"CC", "CXX", "LD", "AR", "CLASSPATH", "DOCKER_HOST", "KUBECONFIG", "GCONV_PATH":
		return true
	}
	upper := strings.ToUpper(name)
	for _, p := range []string{"LD_", "DYLD_", "GIT_", "BASH", "SSH_", "NODE_", "NPM_", "PYTHON", "PERL", "RUBY", "RUST", "CARGO_", "CGO_", "GO", "PKG_", "XDG_"} {
		if strings.HasPrefix(upper, p) {
			return true
		}
	}
	for _, part := range []string{"FLAGS", "OPT", "CONFIG", "PROG"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

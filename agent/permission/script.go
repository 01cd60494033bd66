package permission

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of what is read. Longer or deeper scripts are reported as unreadable
// rather than letting one call occupy the server.
const (
	maxScript  = 64 << 10 // bytes
	maxNesting = 400      // open brackets
	maxInner   = 8        // scripts within scripts, starters of starters, functions within functions
	maxDirs    = 8        // directories moved to
)

// Script is what can be read off a shell command without running it.
type Script struct {
	// Commands are all simple commands, wherever they stand: in lists,
	// pipelines, substitutions, functions, here-documents, and behind other
	// commands that start them.
	Commands  []Command
	Redirects []Redirect
	Assigns   []Assign
	Files     []File // the files that commands and loops name
	// Opaque are the reasons why not all that would run is seen; none if it is.
	Opaque []string

	dirs       []string // where the script moves to, in order
	hidden     []string // texts in which commands may stand
	texts      []string // here-documents
	forkBomb   bool     // a function that starts itself twice
	piped      bool     // a download is fed to a shell
	echoed     []File   // words printed, which are files once something reads them as arguments
	takesInput bool     // something does
	functions  bool     // it declares some
}

// Command is a simple command.
type Command struct {
	// Text is the source of its words, one blank between them, without
	// assignments and redirects. Rules are compared with it.
	Text  string
	Words []Word
	// Starter says that it does no more than start another listed command.
	Starter bool
	// Hazard says why no rule with a wildcard should let it run, "" if nothing.
	Hazard string

	normal  []string   // the words that count: base name, no options before a subcommand
	plain   string     // a git command without -C and the like, "" if it has none
	forms   [][]string // other ways to read normal, see reader.forms
	places  []string   // the directories it may run in, none if only where the script starts
	asks    bool       // no rule lets it run
	deletes bool       // find … -delete without a condition
}

// Name is the command's base name as far as known: "rm" for \rm and /bin/rm.
func (c Command) Name() string { return c.Words[0].name() }

// Redirect is a redirection to or from a file.
type Redirect struct {
	Op     string // such as ">" or "<"
	Target Word
	Write  bool
}

// Assign is an assignment to a variable, wherever the script makes it.
type Assign struct {
	Name  string
	Value Word
	// Hazard says that the variable changes what other commands do, as PATH.
	Hazard bool
}

// File is a word that names a file, as far as one can tell.
type File struct {
	Name  string
	Write bool // the command is known to write, move or remove it
	maybe bool // whether there is such a file depends on what is a directory
	glob  string
	void  string
}

// Read reads a shell command as bash would. The error says why it cannot be
// read at all; the script then holds nothing to judge by.
func Read(command string) (Script, error) {
	r := reader{vars: map[string][]string{"IFS": {" "}}, out: &Script{}}
	if err := r.script(command); err != nil {
		return Script{hidden: []string{command}}, err
	}
	if r.quotes && r.evaluates {
		r.opaque("numbers are evaluated where quoted text may be a command")
		r.hide(command)
	}
	if r.out.takesInput {
		r.out.Files = append(r.out.Files, r.out.echoed...)
		for _, text := range r.out.texts {
			for _, name := range strings.Fields(text) {
				r.out.Files = append(r.out.Files, File{Name: name})
			}
		}
	}
	r.boundGlobs()
	if r.calls {
		for _, a := range r.out.Assigns {
			r.hide(a.Value.Text)
		}
	}
	return *r.out, nil
}

// maxGlobs is how many words that stand for other names are judged.
const maxGlobs = 256

// boundGlobs keeps a script of nothing but wildcards from occupying the server.
func (r *reader) boundGlobs() {
	n := 0
	for i := range r.out.Files {
		if f := &r.out.Files[i]; f.glob != "" {
			if n++; n > maxGlobs {
				f.glob = ""
			}
		}
	}
	if n > maxGlobs {
		r.opaque("many words stand for other names")
	}
}

// reader walks one script; scripts within scripts share its output.
type reader struct {
	src    string
	vars   map[string][]string // literal values the script gives to variables, the latest last
	out    *Script
	inner  int
	tick   bool     // inside backquotes
	at     string   // where the script moved to
	places []string // all it moved to

	functions int  // around the current node
	expanded  int  // bytes that braces and variables added, see spend
	calls     bool // a command word is not literal
	exports   bool // assignments reach other programs

	quotes    bool // there is text that would run a command if expanded again
	evaluates bool // and something that does so, see expression
}

func (r *reader) script(src string) error {
	if err := legible(src); err != nil {
		return err
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(src), "")
	if err != nil {
		return fmt.Errorf("parse shell command: %w", err)
	}
	if oddlyContinued(src) {
		r.opaque("a line that is continued within a comment or an operator")
		r.hide(src)
	}
	outer := r.src
	r.src = src
	for _, s := range file.Stmts {
		r.walk(s)
	}
	r.src = outer
	return nil
}

// nested reads a script found inside another. What cannot be read there makes
// the whole unreadable, not unparsable.
func (r *reader) nested(src string) {
	if r.inner++; r.inner > maxInner {
		r.opaque("scripts are nested too deep")
		r.hide(src)
	} else if err := r.script(src); err != nil {
		r.opaque(err.Error())
		r.hide(src)
	}
	r.inner--
}

func (r *reader) opaque(why string) { r.out.Opaque = append(r.out.Opaque, why) }
func (r *reader) hide(text string)  { r.out.hidden = append(r.out.hidden, text) }

func (r *reader) walk(n syntax.Node) { syntax.Walk(n, r.visit) }

// visit is called for each node before its children; false skips those.
func (r *reader) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Stmt:
		return r.statement(n)
	case *syntax.BinaryCmd:
		if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
			r.pipe(n)
			return false
		}
	case *syntax.FuncDecl:
		r.function(n)
		return false
	case *syntax.ForClause:
		r.loop(n)
	case *syntax.Assign:
		r.assignment(n)
	case *syntax.DeclClause:
		return r.declare(n)
	case *syntax.Redirect:
		r.redirect(n)
	case *syntax.CmdSubst:
		return r.substitution(n)
	case *syntax.ProcSubst:
		r.printed(n.Stmts)
		return false
	default:
		r.expression(n)
	}
	return true
}

func (r *reader) statement(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return true
	}
	outer := r.exports
	r.exports = true
	for _, a := range call.Assigns {
		r.walk(a)
	}
	r.exports = outer
	words := r.words(call.Args...)
	r.command(words, s.Redirs)
	before := len(r.out.Commands)
	for _, w := range call.Args {
		r.walk(w)
	}
	for _, d := range s.Redirs {
		r.walk(d)
	}
	if runsText(words[0].name()) && fetches(r.out.Commands[before:]) {
		r.out.piped = true
	}
	return false
}

func (r *reader) pipe(n *syntax.BinaryCmd) {
	fetched := false
	for _, s := range stages(n) {
		before := len(r.out.Commands)
		r.walk(s)
		r.out.piped = r.out.piped || fetched && startsShell(r.out.Commands[before:])
		fetched = fetched || fetches(r.out.Commands[before:])
	}
}

// stages are the parts of a pipeline, which the parser nests to the left.
func stages(n *syntax.BinaryCmd) []*syntax.Stmt {
	list := []*syntax.Stmt{n.Y}
	for {
		left, ok := n.X.Cmd.(*syntax.BinaryCmd)
		if !ok || left.Op != n.Op || len(n.X.Redirs) > 0 {
			break
		}
		n = left
		list = append(list, n.Y)
	}
	list = append(list, n.X)
	slices.Reverse(list)
	return list
}

func (r *reader) function(n *syntax.FuncDecl) {
	r.out.functions = true
	if r.functions++; r.functions > maxInner {
		r.opaque("functions are nested too deep")
	} else {
		r.out.forkBomb = r.out.forkBomb || forkBomb(n)
	}
	r.walk(n.Body)
	r.functions--
}

func (r *reader) loop(n *syntax.ForClause) {
	items, ok := n.Loop.(*syntax.WordIter)
	if !ok {
		return
	}
	for _, item := range r.words(items.Items...) {
		r.set(items.Name.Value, item)
	}
	if len(items.Items) == 0 {
		r.set(items.Name.Value, Word{})
	}
}

func (r *reader) file(w Word, write bool) {
	if w.Text != "" {
		r.out.Files = append(r.out.Files, File{Name: w.Text, Write: write, glob: w.glob, void: w.void})
	}
}

func (r *reader) redirect(n *syntax.Redirect) {
	if n.N != nil && strings.HasPrefix(n.N.Value, "{") {
		r.set(strings.Trim(n.N.Value, "{}"), Word{})
	}
	switch n.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		r.document(n)
		return
	case syntax.WordHdoc:
		r.out.texts = append(r.out.texts, r.word(n.Word).Text)
		return
	}
	target := r.word(n.Word)
	if (n.Op == syntax.DplIn || n.Op == syntax.DplOut) && target.Known && strings.Trim(target.Text, "0123456789-") == "" {
		return
	}
	for _, target := range r.words(n.Word) {
		write := n.Op != syntax.RdrIn || strings.HasPrefix(target.Text, "/dev/tcp/") || strings.HasPrefix(target.Text, "/dev/udp/")
		r.out.Redirects = append(r.out.Redirects, Redirect{Op: n.Op.String(), Target: target, Write: write})
	}
}

func (r *reader) document(n *syntax.Redirect) {
	if n.Hdoc == nil {
		return
	}
	r.out.texts = append(r.out.texts, slice(r.src, n.Hdoc))
	r.quotes = r.quotes || expandable(slice(r.src, n.Hdoc))
	end := r.word(n.Word)
	if from, to := n.Word.End().Offset(), n.Hdoc.End().Offset(); end.Source != end.Text || from <= to && to <= uint(len(r.src)) && endsOnce(r.src[from:to], end.Text) {
		return
	}
	r.opaque("a here-document with an unclear end")
	r.hide(r.src)
}

func (r *reader) substitution(n *syntax.CmdSubst) bool {
	// Inside nested backquotes the source is escaped once more than its words.
	if n.Backquotes && (r.tick || strings.Contains(slice(r.src, n), `\`)) {
		r.opaque("escapes within backquotes")
		r.hide(slice(r.src, n))
	}
	outer := r.tick
	r.tick = r.tick || n.Backquotes
	r.printed(n.Stmts)
	r.tick = outer
	return false
}

// printed reads commands whose output becomes words: the names they print are
// files. What a function prints stands elsewhere.
func (r *reader) printed(stmts []*syntax.Stmt) {
	before := len(r.out.echoed)
	for _, s := range stmts {
		r.walk(s)
	}
	r.out.Files = append(r.out.Files, r.out.echoed[before:]...)
	r.out.echoed = r.out.echoed[:before]
	r.out.takesInput = r.out.takesInput || r.out.functions
}

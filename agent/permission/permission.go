// Package permission decides whether a tool call may run. It knows three
// things: the guard, which refuses irreversible shell commands; the user's
// rules, tables of patterns per tool; and how to read a shell command, so that
// a rule speaks about every command in it and not about its first word.
//
// It runs nothing, asks nobody and looks at no file: a [Policy] is a pure
// function of the call, the rules and what was granted. Confining paths to the
// workspace and following links is the work of the tools, which pass the path
// they resolved beside the one they were given.
package permission

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// ShellTool names the tool whose calls are shell commands.
const ShellTool = "bash"

// ShellLimit says what rules about shell commands cannot promise. It belongs
// wherever such rules are shown.
const ShellLimit = "A text rule cannot fence a shell: it binds the commands, file names and redirects that stand in the command, " +
	"not what a script, a variable or another program does. What cannot be read is asked."

// Decision is the answer to a call. The zero value asks.
type Decision int

const (
	Ask Decision = iota
	Allow
	Deny
)

func (d Decision) String() string {
	switch d {
	case Allow:
		return "allow"
	case Deny:
		return "deny"
	}
	return "ask"
}

// ParseDecision reads "allow", "ask" or "deny". Any other word is Ask and
// false, so that a misspelling never widens anything.
func ParseDecision(s string) (Decision, bool) {
	switch s {
	case "allow":
		return Allow, true
	case "deny":
		return Deny, true
	}
	return Ask, s == "ask"
}

// Rule is one line of a table. Tool is a tool's name and may contain *.
// Pattern is compared with the whole subject, with case: * stands for any run
// of characters, newlines too, ? for exactly one, the rest for itself.
//
// The subjects of the shell tool are the simple commands in a script, as they
// are written; a pattern that ends in " *" also covers the command without
// arguments. A redirect that writes has the subject "> path"; what allows it
// is a pattern that begins with ">", one that is only stars, or one without
// wildcards that is the whole script. The same goes, but for ">", for what
// makes a harmless command another: options that start programs, and variables
// such as PATH.
type Rule struct {
	Tool, Pattern string
	Decision      Decision
}

// String is the rule as users are shown it: the tool, then the quoted pattern.
func (r Rule) String() string { return r.Tool + " " + strconv.Quote(r.Pattern) }

// Call is a tool call to be judged. Paths are written with slashes.
type Call struct {
	Tool     string
	Mutates  bool     // it changes something outside the conversation
	Command  string   // what the shell tool would run
	Paths    []string // the files it names, each as given and, if different, as resolved
	Subjects []string // other texts patterns are compared with: a URL, a ref, a glob
	Root     string   // the workspace root, absolute; "" if there is none
}

// What decided, in [Verdict].
const (
	SourceGuard   = "guard"
	SourceRule    = "rule"    // a rule of the configuration
	SourceDefault = "default" // a builtin rule, or none matched
	SourceGrant   = "grant"
	SourceYolo    = "yolo"
)

// Verdict is the answer with its grounds.
type Verdict struct {
	Decision Decision
	// Rule that decided, such as bash "git *"; several are joined by ", ". It
	// is empty if none matched.
	Rule   string
	Source string
	// Reason is one sentence for the user and, on Deny, for the model.
	Reason string
	// Unreadable says that the shell command hides what it would run.
	Unreadable bool
}

// Options configures a Policy.
type Options struct {
	// Rules of the user, in the order of the configuration. Those for a tool
	// replace the builtin rules of that tool. Rules whose tool holds a *
	// concern tools that no rule names exactly; over the builtin rules of a
	// tool they can only tighten.
	Rules   []Rule
	NoGuard bool
	// Yolo turns Ask into Allow. Guard and Deny stay.
	Yolo bool
}

// Policy judges calls. It does not change after New and may be shared.
type Policy struct {
	named    map[string][]entry // the user's rules by exact tool name
	globs    []entry            // the user's rules for tools with a *
	builtin  map[string][]entry
	builtins []entry // builtin rules for tools with a *

	// Tools whose deny rules bind the files in a shell command: those that
	// read, and those that read or write.
	fences, writeFences []string
	denials             map[string][]fence // by those tools

	noGuard bool
	yolo    bool
}

// New makes a Policy.
func New(o Options) *Policy {
	p := &Policy{named: map[string][]entry{}, builtin: map[string][]entry{}, noGuard: o.NoGuard, yolo: o.Yolo}
	for _, r := range defaults() {
		e := newEntry(r, SourceDefault)
		if strings.Contains(r.Tool, "*") {
			p.builtins = append(p.builtins, e)
		} else {
			p.builtin[r.Tool] = append(p.builtin[r.Tool], e)
		}
	}
	for _, r := range o.Rules {
		e := newEntry(r, SourceRule)
		if strings.Contains(r.Tool, "*") {
			p.globs = append(p.globs, e)
		} else {
			p.named[r.Tool] = append(p.named[r.Tool], e)
		}
	}
	for _, tool := range readers {
		if p.fenced(tool) {
			p.fences = append(p.fences, tool)
		}
	}
	p.writeFences = slices.Clone(p.fences)
	for _, tool := range writers {
		if p.fenced(tool) {
			p.writeFences = append(p.writeFences, tool)
		}
	}
	p.denials = make(map[string][]fence, len(p.writeFences))
	for _, tool := range p.writeFences {
		p.denials[tool] = p.fencesOf(tool)
	}
	return p
}

// Decide judges a call. Grants are what the user allowed or forbade while
// working; each list may have its own life. A grant can allow what would be
// asked and forbid anything, never lift a Deny.
func (p *Policy) Decide(c Call, granted ...[]Rule) Verdict {
	var v Verdict
	if c.Tool == ShellTool {
		v = p.decideShell(c, granted)
	} else {
		v = p.decideTool(c, granted)
	}
	if v.Decision == Ask && p.yolo {
		v.Decision, v.Source = Allow, SourceYolo
		v.Reason = "Allowed because nothing is asked: " + v.Reason
	}
	return v
}

// decideTool judges each subject by itself and answers with the strictest:
// a call that names an allowed and a forbidden file is forbidden.
func (p *Policy) decideTool(c Call, granted [][]Rule) Verdict {
	var worst Verdict
	first := true
	take := func(v Verdict) {
		if first || strictness(v.Decision) > strictness(worst.Decision) {
			worst, first = v, false
		}
	}
	for _, s := range c.Subjects {
		take(p.judge(c, s, []string{s}, granted))
	}
	for _, s := range c.Paths {
		forms := spellings(s, c.Root, nil)
		take(p.judge(c, forms[0], forms, granted))
	}
	if first {
		take(p.judge(c, "", []string{""}, granted))
	}
	return worst
}

// judge decides one subject. A deny holds if it catches any of the subject's
// spellings, in any letter case; the rest goes by the first spelling alone.
func (p *Policy) judge(c Call, subject string, forms []string, granted [][]Rule) Verdict {
	for _, f := range forms {
		if e := p.find(c.Tool, foldName(f), (*entry).matchFolded); e.decides(Deny) {
			return denied(e, subject)
		}
		if e := p.find(c.Tool, f, (*entry).match); e.decides(Deny) {
			return denied(e, subject)
		}
		if e := p.otherWriter(c.Tool, f); e != nil {
			return denied(e, subject)
		}
	}
	if r, ok := lastGrant(granted, c.Tool, Deny, func(r Rule) bool { return wild(fold(r.Pattern), foldName(subject)) }); ok {
		return Verdict{Decision: Deny, Rule: r.String(), Source: SourceGrant, Reason: "Denied by " + r.String() + about(subject)}
	}
	e := p.find(c.Tool, subject, (*entry).match)
	if e.decides(Allow) && !(c.Mutates && e.source == SourceDefault && strings.Contains(e.Tool, "*")) {
		return Verdict{Decision: Allow, Rule: e.String(), Source: e.source, Reason: "Allowed by " + e.String() + "."}
	}
	if r, ok := lastGrant(granted, c.Tool, Allow, func(r Rule) bool { return wild(r.Pattern, subject) }); ok {
		return Verdict{Decision: Allow, Rule: r.String(), Source: SourceGrant, Reason: "You allowed " + r.String() + "."}
	}
	return asking(e, subject, "")
}

// otherWriter returns the rule that denies a file to another tool that writes:
// what may not be written may not be edited either. A rule for every file is
// about its tool alone.
func (p *Policy) otherWriter(tool, name string) *entry {
	if !slices.Contains(writers, tool) {
		return nil
	}
	for _, other := range p.writeFences[len(p.fences):] {
		for _, e := range []*entry{p.find(other, name, (*entry).match), p.find(other, foldName(name), (*entry).matchFolded)} {
			if e.decides(Deny) && !e.any() {
				return e
			}
		}
	}
	return nil
}

func denied(e *entry, subject string) Verdict {
	return Verdict{Decision: Deny, Rule: e.String(), Source: e.source, Reason: "Denied by the rule " + e.String() + about(subject)}
}

func asking(e *entry, subject, why string) Verdict {
	v := Verdict{Source: SourceDefault, Reason: "No rule allows this" + about(subject)}
	if e != nil {
		v.Rule, v.Source = e.String(), e.source
	}
	if why != "" {
		v.Reason = why
	}
	return v
}

// about ends a sentence with what it is about, short enough for a title.
func about(subject string) string {
	if subject == "" {
		return "."
	}
	return ": " + Escape(cut(subject, 120))
}

// lastGrant finds the newest grant of the wanted kind that matches.
func lastGrant(granted [][]Rule, tool string, want Decision, match func(Rule) bool) (Rule, bool) {
	for i := len(granted) - 1; i >= 0; i-- {
		for j := len(granted[i]) - 1; j >= 0; j-- {
			r := granted[i][j]
			if r.Decision == want && wild(r.Tool, tool) && match(r) {
				return r, true
			}
		}
	}
	return Rule{}, false
}

// strictness orders decisions for choosing between several.
func strictness(d Decision) int {
	switch d {
	case Allow:
		return 0
	case Ask:
		return 1
	}
	return 2
}

// spellings lists the names one file goes by: first the one rules are written
// for, clean and relative to the root if inside, then the text as given and
// the absolute name. dirs are directories a script moved to before.
func spellings(name, root string, dirs []string) []string {
	clean := path.Clean(name)
	if root != "" {
		root = path.Clean(root)
	}
	first := clean
	if rel, ok := strings.CutPrefix(clean, root+"/"); ok && root != "" {
		first = rel
	}
	forms := append(make([]string, 0, 4), first)
	if name != first {
		forms = append(forms, name)
	}
	if path.IsAbs(clean) {
		if clean != first {
			forms = append(forms, clean)
		}
		return forms
	}
	if root != "" {
		forms = append(forms, path.Join(root, clean))
	}
	for _, d := range dirs {
		forms = append(forms, spellings(path.Join(d, clean), root, nil)...)
	}
	return forms
}

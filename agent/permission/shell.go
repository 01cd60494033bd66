package permission

import "strings"

// shellCall is one shell command under judgement.
type shellCall struct {
	*Policy
	root    string
	granted [][]Rule
	script  Script
}

// decideShell judges a command by everything in it: the guard first, then
// whatever denies, then whether each part is allowed. A part is a simple
// command, a redirect that writes, or an assignment to a variable such as PATH.
func (p *Policy) decideShell(c Call, granted [][]Rule) Verdict {
	script, err := Read(c.Command)
	if !p.noGuard {
		if why := guard(&script); why != "" {
			return guardVerdict(c.Command, why)
		}
	}
	s := shellCall{Policy: p, root: c.Root, granted: granted, script: script}
	whole := strings.TrimSpace(c.Command)
	if v, ok := s.denial(whole); ok {
		return v
	}
	switch {
	case err != nil:
		return Verdict{Source: SourceDefault, Unreadable: true, Reason: "The command cannot be read: " + err.Error() + "."}
	case len(script.Opaque) > 0:
		return Verdict{Source: SourceDefault, Unreadable: true, Reason: "The command hides what it runs: " + Escape(cut(script.Opaque[0], 160)) + "."}
	}
	return s.permission(whole)
}

// denial looks for a rule that forbids a part of the command.
func (s *shellCall) denial(whole string) (Verdict, bool) {
	// A pattern that is only stars says nothing about a text made of parts.
	if e := s.find(ShellTool, whole, (*entry).matchCommand); e.decides(Deny) && (!e.any() || len(s.script.Commands) == 0) {
		return denied(e, whole), true
	}
	for i := range s.script.Commands {
		if v, ok := s.commandDenial(&s.script.Commands[i]); ok {
			return v, true
		}
	}
	for _, r := range s.script.Redirects {
		if r.Write {
			if e := s.find(ShellTool, s.redirectText(r), (*entry).match); e.decides(Deny) {
				return denied(e, s.redirectText(r)), true
			}
		}
		if v, ok := s.fileDenial(File{Name: r.Target.Text, Write: r.Write, glob: r.Target.glob, void: r.Target.void}, true); ok {
			return v, true
		}
	}
	for _, f := range s.script.Files {
		if v, ok := s.fileDenial(f, false); ok && !f.maybe {
			return v, true
		}
	}
	return s.hiddenDenial()
}

func (s *shellCall) hiddenDenial() (Verdict, bool) {
	for _, text := range s.script.hidden {
		for _, c := range rough(text) {
			if v, ok := s.commandDenial(&c); ok {
				return v, true
			}
			for _, w := range c.Words {
				if w.option() != "" || isText(w.Text) {
					continue
				}
				if v, ok := s.fileDenial(File{Name: w.Text}, false); ok {
					return v, true
				}
			}
		}
	}
	return Verdict{}, false
}

// commandDenial compares a command with the rules as it is written and in
// every other way of writing it that is known.
func (s *shellCall) commandDenial(c *Command) (Verdict, bool) {
	if e := s.find(ShellTool, c.Text, (*entry).matchCommand); e.decides(Deny) && !(e.any() && c.Starter) {
		return denied(e, c.Text), true
	}
	for _, form := range commandForms(c) {
		if e := s.find(ShellTool, form, (*entry).matchCommand); e.decides(Deny) && !e.any() {
			return denied(e, c.Text), true
		}
		if r, ok := lastGrant(s.granted, ShellTool, Deny, func(r Rule) bool { return wildCommand(r.Pattern, form) }); ok {
			return Verdict{Decision: Deny, Rule: r.String(), Source: SourceGrant, Reason: "Denied by " + r.String() + about(c.Text)}, true
		}
	}
	if e := s.find(ShellTool, canonical(c.normal), (*entry).matchCanonical); e.decides(Deny) && !e.any() {
		return denied(e, c.Text), true
	}
	return Verdict{}, false
}

// commandForms are ways to spell a command: as written, with the base name and
// without quotes, and without options (and their values) before a subcommand.
func commandForms(c *Command) []string {
	forms := []string{c.Text}
	add := func(words []string) {
		if f := strings.Join(words, " "); f != forms[len(forms)-1] {
			forms = append(forms, f)
		}
	}
	for _, words := range append([][]string{c.normal}, c.forms...) {
		add(words)
		rest := words[1:]
		for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
			rest = rest[1:]
		}
		if len(rest) < len(words)-1 {
			add(append([]string{words[0]}, rest...))
			if len(rest) > 1 {
				add(append([]string{words[0]}, rest[1:]...))
			}
		}
	}
	return forms
}

func (s *shellCall) redirectText(r Redirect) string {
	return "> " + spellings(r.Target.Text, s.root, nil)[0]
}

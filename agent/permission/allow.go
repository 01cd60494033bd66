package permission

import (
	"path"
	"slices"
	"strings"
)

// permission looks for the rules that allow every part, or for one that is the
// whole command word for word.
func (s *shellCall) permission(whole string) Verdict {
	asks := slices.ContainsFunc(s.script.Commands, func(c Command) bool { return c.asks })
	if v, ok := s.allowed(whole, func(pattern string) bool { return !hasWildcard(pattern) }); ok && !asks {
		v.Reason = "Allowed by " + v.Rule + "."
		return v
	}
	var grounds []Verdict
	for i := range s.script.Commands {
		c := &s.script.Commands[i]
		if c.Starter {
			continue
		}
		if c.Hazard == "" && !s.stays(c) {
			c.Hazard = "it runs in another directory than the workspace"
		}
		if e := s.mayRun(c); e != nil {
			return asking(e, c.Text, because("it may turn out to be what "+e.String()+" is about", c.Text))
		}
		v, ok := s.commandPermission(c)
		if !ok {
			return asking(s.find(ShellTool, c.Text, (*entry).matchCommand), c.Text, because(c.Hazard, c.Text))
		}
		grounds = append(grounds, v)
	}
	for _, r := range s.script.Redirects {
		if !r.Write || harmless(r.Target) {
			continue
		}
		v, ok := s.redirectPermission(r)
		if !ok {
			return asking(nil, "> "+r.Target.Text, "")
		}
		grounds = append(grounds, v)
	}
	for _, a := range s.script.Assigns {
		if _, ok := s.allowed(a.Name+"="+a.Value.Source, isAny); a.Hazard && !ok {
			return asking(nil, "", because(a.Name+" changes what the command does", whole))
		}
	}
	for _, f := range s.script.Files {
		var rule string
		if e, _ := s.globbed(f); e != nil {
			rule = e.String()
		} else if v, ok := s.fileDenial(f, false); ok {
			rule = v.Rule
		} else {
			continue
		}
		if _, ok := s.allowed(f.Name, isAny); !ok {
			return asking(nil, "", because(f.Name+" may stand for a file denied by "+rule, whole))
		}
	}
	return join(grounds)
}

func (s *shellCall) commandPermission(c *Command) (Verdict, bool) {
	if c.asks {
		return Verdict{}, false
	}
	texts := []string{c.Text}
	if c.plain != "" && c.Hazard == "" {
		texts = append(texts, c.plain)
	}
	for _, text := range texts {
		v, ok := s.allowed(text, func(pattern string) bool {
			return c.Hazard == "" || isAny(pattern) || !hasWildcard(pattern)
		})
		if ok {
			return v, v.Source == SourceGrant || !s.asked(c)
		}
	}
	return Verdict{}, false
}

// asked reports whether a rule asks for the command in another spelling, so
// that \git push does not slip past a rule for git push.
func (s *shellCall) asked(c *Command) bool {
	for _, form := range commandForms(c)[1:] {
		if e := s.find(ShellTool, form, (*entry).matchCommand); e.decides(Ask) && !e.any() {
			return true
		}
	}
	return false
}

// redirectPermission: a rule about commands never speaks for a redirect. One
// that begins with ">" does, and one that allows everything.
func (s *shellCall) redirectPermission(r Redirect) (Verdict, bool) {
	known := r.Target.Known && (len(s.script.dirs) == 0 || path.IsAbs(r.Target.Text))
	return s.allowed(s.redirectText(r), func(pattern string) bool {
		return isAny(pattern) || known && strings.HasPrefix(pattern, ">")
	})
}

// allowed asks the rules, then the grants, whether one that covers the text
// allows it and may: sufficient judges its pattern.
func (s *shellCall) allowed(text string, sufficient func(pattern string) bool) (Verdict, bool) {
	if e := s.find(ShellTool, text, (*entry).matchCommand); e.decides(Allow) && sufficient(e.Pattern) {
		return Verdict{Decision: Allow, Rule: e.String(), Source: e.source}, true
	}
	if r, ok := lastGrant(s.granted, ShellTool, Allow, func(r Rule) bool { return wildCommand(r.Pattern, text) && sufficient(r.Pattern) }); ok {
		return Verdict{Decision: Allow, Rule: r.String(), Source: SourceGrant}, true
	}
	return Verdict{}, false
}

// stays reports whether a command runs in the workspace, or does the same
// everywhere.
func (s *shellCall) stays(c *Command) bool {
	switch c.Name() {
	case "cd", "pushd", "popd", "pwd", "ls", "cat", "head", "tail", "wc", "echo", "printf", "true", "false", "grep", "test", "[":
		return true
	}
	return !slices.ContainsFunc(c.places, func(dir string) bool { return !s.inside(dir) })
}

// inside reports whether a directory is the workspace or within it.
func (s *shellCall) inside(dir string) bool {
	dir = spellings(dir, s.root, nil)[0]
	return dir == path.Clean(s.root) || !path.IsAbs(dir) && dir != ".." && !strings.HasPrefix(dir, "../") && !strings.HasPrefix(dir, "~")
}

func isAny(pattern string) bool       { return strings.Trim(pattern, "*") == "" }
func hasWildcard(pattern string) bool { return strings.ContainsAny(pattern, "*?") }

// harmless are targets that keep nothing.
func harmless(w Word) bool {
	return w.Known && (w.Text == "/dev/null" || w.Text == "/dev/stdout" || w.Text == "/dev/stderr" || w.Text == "/dev/tty")
}

func because(hazard, text string) string {
	if hazard == "" {
		return ""
	}
	return Escape(hazard) + about(text)
}

// join names the grounds on which the parts of a command are allowed.
func join(grounds []Verdict) Verdict {
	if len(grounds) == 0 {
		return Verdict{Source: SourceDefault, Reason: "There is no command in this that a rule could allow."}
	}
	v := Verdict{Decision: Allow, Source: grounds[0].Source}
	var rules []string
	for _, g := range grounds {
		if g.Source == SourceGrant {
			v.Source = SourceGrant
		}
		if !slices.Contains(rules, g.Rule) {
			rules = append(rules, g.Rule)
		}
	}
	v.Rule = strings.Join(rules, ", ")
	v.Reason = "Allowed by " + v.Rule + "."
	return v
}

package agent

import (
	"strings"

	"shiro/agent/permission"
	"shiro/agent/tool"
	"shiro/memory/transcript"
)

// newApproval is what the user is asked about c. An edit is set by its
// proposal.
func (s *Session) newApproval(t *turn, c *call) *Approval {
	shown := c.live.item.Shown
	a := &Approval{
		ID: approvalID(c.stored), Item: c.live.item.ID, Turn: t.id, Tool: c.tool.Name,
		Kind: "other", Title: shown.Title, Why: c.verdict.Reason, Risk: "medium", CWD: s.CWD,
		subject: shown, answered: make(chan Answer, 1),
	}
	if c.tool.Propose != nil {
		a.propose = func() (*tool.Edit, error) { return s.proposal(t, c) }
	}
	if c.stored == "" {
		c.stored = storedID(a.ID)
	}
	if shown.Command != "" {
		a.describeCommand(shown.Command)
		if c.verdict.Unreadable {
			a.Risk = "high"
		}
	}
	a.Options = options(s.setup.Policy.Offer(s.permissionCall(c.tool, shown)))
	return a
}

func (a *Approval) describeCommand(command string) {
	a.Kind, a.Command, a.Shown = "command", command, permission.Escape(command)
	script, err := permission.Read(command)
	if err != nil {
		return
	}
	for _, c := range script.Commands {
		a.Commands = append(a.Commands, c.Text)
	}
	for _, r := range script.Redirects {
		if r.Write {
			a.Writes = append(a.Writes, r.Target.Text)
		}
	}
}

func (a *Approval) setEdit(e *tool.Edit) {
	a.Kind, a.Edit, a.Escaped = "edit", e, make(map[string]string)
	n := 0
	for i := range e.Files {
		for k := range e.Files[i].Hunks {
			n++
			h := &e.Files[i].Hunks[k]
			h.ID = hunkID(a.ID, n)
			if shown := permission.Escape(strings.ReplaceAll(h.Text, "\r\n", "\n")); shown != strings.ReplaceAll(h.Text, "\r\n", "\n") {
				a.Escaped[h.ID] = shown
			}
		}
	}
}

// options are the answers to an approval. What would be granted is shown with
// the option; nothing is granted for a call that hides what it does.
func options(rules []permission.Rule) []Option {
	opts := []Option{{ID: "once", Kind: "allow_once", Label: "Allow once"}}
	if len(rules) > 0 {
		var shown []string
		for _, r := range rules {
			shown = append(shown, r.String())
		}
		what := strings.Join(shown, ", ")
		opts = append(opts,
			Option{ID: "turn", Kind: "allow_turn", Label: label("Allow in this turn: ", what), Rules: rules},
			Option{ID: "session", Kind: "allow_session", Label: label("Allow in this session: ", what), Rules: rules},
			Option{ID: "always", Kind: "allow_always", Label: label("Allow until the server ends: ", what), Rules: rules, Scope: "this folder, until the server ends"},
		)
	}
	return append(opts, Option{ID: "no", Kind: "reject", Label: "Reject"})
}

// label fits a button: 60 UTF-16 units.
func label(what, rules string) string {
	s := permission.Escape(what + rules)
	if cut := transcript.Cut(s, 59); cut != s {
		return cut + "…"
	}
	return s
}

func (s *Session) permissionCall(t *tool.Tool, subject tool.Subject) permission.Call {
	c := permission.Call{Mutates: true, Command: subject.Command, Paths: subject.Paths, Subjects: subject.Subjects, Root: s.CWD}
	if t != nil {
		c.Tool, c.Mutates = t.Name, t.Mutates
	}
	return c
}

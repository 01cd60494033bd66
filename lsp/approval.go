package lsp

import (
	"context"
	"errors"

	"shiro/agent"
	wire "shiro/lsp/protocol"
)

func (s *Server) approvalList(_ context.Context, p *wire.ApprovalListParams) (*wire.ApprovalListResult, error) {
	sessions := s.agent.Sessions()
	if p.SessionID != "" {
		sess, err := s.live(p.SessionID)
		if err != nil {
			return nil, err
		}
		sessions = []*agent.Session{sess}
	}
	res := &wire.ApprovalListResult{Approvals: []wire.Approval{}}
	for _, sess := range sessions {
		res.Approvals = append(res.Approvals, wireApprovals(sess.ID, sess.Approvals())...)
	}
	return res, nil
}

func (s *Server) approvalRespond(_ context.Context, p *wire.ApprovalRespondParams) (*wire.ApprovalRespondResult, error) {
	sessions := s.agent.Sessions()
	if p.SessionID != "" {
		sess, err := s.live(p.SessionID)
		if err != nil {
			return nil, err
		}
		sessions = []*agent.Session{sess}
	}
	ans, err := s.answer(p)
	if err != nil {
		return nil, err
	}
	for _, sess := range sessions {
		r, err := sess.Respond(p.ApprovalID, ans)
		switch {
		case errors.Is(err, agent.ErrNoApproval):
			continue
		case errors.Is(err, agent.ErrBadAnswer):
			return nil, fail(wire.KindInvalidParams, "%v", err)
		case err != nil:
			return nil, err
		}
		res := &wire.ApprovalRespondResult{Status: wire.RespondApplied, ResolvedBy: r.By, Outcome: wire.Outcome(r.Outcome)}
		switch {
		case r.Already:
			res.Status = wire.RespondAlreadyResolved
		case r.Outcome == agent.Stale:
			res.Status = wire.RespondStale
		}
		return res, nil
	}
	return nil, fail(wire.KindApprovalNotFound, "no approval %q is open", p.ApprovalID)
}

func (s *Server) answer(p *wire.ApprovalRespondParams) (agent.Answer, error) {
	ans := agent.Answer{
		Option: p.OptionID, Feedback: p.Feedback, HunkFeedback: p.HunkFeedback,
		Request: p.ClientRequestID, By: s.client.ClientID,
	}
	if p.Hunks != nil {
		ans.Hunks = make(map[string]bool, len(p.Hunks))
		for id, d := range p.Hunks {
			ans.Hunks[id] = d == wire.HunkAccept
		}
	}
	for i, e := range p.Edited {
		path, ok := pathOf(e.URI)
		if !ok {
			return ans, fail(wire.KindInvalidParams, "params.edited[%d].uri: %q is no file", i, e.URI)
		}
		if ans.Edited == nil {
			ans.Edited = make(map[string]string)
		}
		ans.Edited[path] = e.NewText
	}
	return ans, nil
}

func wireApprovals(session string, as []*agent.Approval) []wire.Approval {
	all := make([]wire.Approval, len(as))
	for i, a := range as {
		all[i] = wireApproval(session, a)
	}
	return all
}

func wireApproval(session string, a *agent.Approval) wire.Approval {
	w := wire.Approval{
		ApprovalID: a.ID, SessionID: session, ItemID: a.Item, Kind: wire.ApprovalKind(a.Kind),
		Title: a.Title, Reason: a.Why, Risk: wire.Risk(a.Risk), Options: make([]wire.ApprovalOption, len(a.Options)),
	}
	for i, o := range a.Options {
		w.Options[i] = wire.ApprovalOption{ID: o.ID, Kind: wire.OptionKind(o.Kind), Label: o.Label, Scope: o.Scope}
		for _, r := range o.Rules {
			w.Options[i].Rules = append(w.Options[i].Rules, wire.Rule{Tool: r.Tool, Pattern: r.Pattern})
		}
	}
	if a.Command != "" {
		w.Subject.Command = &wire.CommandSubject{Command: a.Command, Cwd: a.CWD, Commands: orEmpty(a.Commands), Writes: orEmpty(a.Writes)}
		if a.Shown != a.Command {
			w.Subject.Command.Shown = a.Shown
		}
	}
	if a.Edit != nil {
		w.Subject.Edit = &wire.EditSubject{Files: []wire.FileEdit{}}
		for _, f := range a.Edit.Files {
			file := wire.FileEdit{URI: uriOf(f.Path), Op: wire.FileOp(f.Op), BaseHash: f.BaseHash, Hunks: []wire.Hunk{}}
			if f.Version >= 0 {
				file.BaseVersion = &f.Version
			}
			for _, h := range f.Hunks {
				file.Hunks = append(file.Hunks, wire.Hunk{
					HunkID: h.ID, OldStart: h.OldStart, OldLines: h.OldLines, NewStart: h.NewStart, NewLines: h.NewLines, Text: h.Text, Shown: a.Escaped[h.ID],
				})
			}
			w.Subject.Edit.Files = append(w.Subject.Edit.Files, file)
		}
	}
	return w
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

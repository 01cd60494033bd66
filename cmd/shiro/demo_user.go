package main

import (
	"context"
	"fmt"
	"path"

	wire "shiro/lsp/protocol"
)

// answerNext answers the oldest question, unless the last answer is still being
// carried out: what it changes must be saved before a command runs. The first
// question after a command is where the server is killed.
func (d *demo) answerNext(ctx context.Context) error {
	if d.current != "" || len(d.asked) == 0 {
		return nil
	}
	d.showQuestion(d.asked[0])
	if len(d.exits) > 0 && !d.killed {
		if err := d.crash(ctx, d.asked[0]); err != nil {
			return err
		}
		if len(d.asked) == 0 {
			return nil // it comes as an event
		}
	}
	a := d.asked[0]
	d.asked, d.current = d.asked[1:], a.ItemID
	p := d.decide(a)
	var res wire.ApprovalRespondResult
	if err := d.Call(ctx, wire.MethodApprovalRespond, p, &res); err != nil {
		return fmt.Errorf("answering %q: %w", a.Title, err)
	}
	return nil
}

// showQuestion shows what is asked, unless it stands there already.
func (d *demo) showQuestion(a wire.Approval) {
	if a.ApprovalID == d.question {
		return
	}
	d.question = a.ApprovalID
	d.entry(bold, "asks", a.Title+"?")
	if a.Subject.Edit == nil {
		return
	}
	for _, f := range a.Subject.Edit.Files {
		for i, h := range f.Hunks {
			d.line(bold, fmt.Sprintf("hunk %d of %d", i+1, len(f.Hunks)), fmt.Sprintf("%s, line %d", path.Base(f.URI), h.OldStart))
			d.diff(h.Text)
		}
	}
}

// decide makes and shows the user's answer: yes, except to a hunk they object
// to and to a command that hides what it does.
func (d *demo) decide(a wire.Approval) wire.ApprovalRespondParams {
	p := wire.ApprovalRespondParams{SessionID: a.SessionID, ApprovalID: a.ApprovalID, ClientRequestID: "demo-" + a.ApprovalID}
	kind := wire.AllowOnce
	if a.Risk == wire.RiskHigh {
		kind, p.Feedback = wire.Reject, "use a command that can be read"
	}
	said := string(kind)
	for _, o := range a.Options {
		if o.Kind == kind {
			p.OptionID, said = o.ID, o.Label
		}
	}
	if p.Feedback != "" {
		said += ": " + p.Feedback
	}
	d.line(cyan, "you:", said)
	if a.Subject.Edit == nil || kind == wire.Reject {
		return p
	}
	p.Hunks, p.HunkFeedback = map[string]wire.HunkDecision{}, map[string]string{}
	for _, f := range a.Subject.Edit.Files {
		for i, h := range f.Hunks {
			p.Hunks[h.HunkID] = wire.HunkAccept
			said := "accept"
			if why := objection(h); why != "" {
				p.Hunks[h.HunkID], p.HunkFeedback[h.HunkID] = wire.HunkReject, why
				said = "reject: " + why
			}
			d.line(plain, "", fmt.Sprintf("hunk %d  %s", i+1, said))
		}
	}
	return p
}

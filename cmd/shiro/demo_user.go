package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	wire "shiro/lsp/protocol"
)

// answerNext answers the oldest question, unless the last answer is still being
// carried out: what it changes must be saved before a command runs. The first
// question after a command is where the server is killed.
func (d *demo) answerNext(ctx context.Context) error {
	if d.current != "" || len(d.asked) == 0 {
		return nil
	}
	a := d.asked[0]
	d.showQuestion(a)
	if len(d.exits) > 0 && !d.killed {
		if err := d.crash(ctx, a); err != nil {
			return err
		}
		if len(d.asked) == 0 {
			return nil // it comes as an event
		}
		a = d.asked[0]
	}
	d.asked = d.asked[1:]
	d.current = a.ItemID
	p := decision(a)
	d.showAnswer(a, p)
	var res wire.ApprovalRespondResult
	if err := d.Call(ctx, wire.MethodApprovalRespond, p, &res); err != nil {
		return fmt.Errorf("answering %q: %w", a.Title, err)
	}
	return nil
}

// decision is what the user answers: yes, except to a hunk they object to and
// to what cannot be read.
func decision(a wire.Approval) wire.ApprovalRespondParams {
	p := wire.ApprovalRespondParams{SessionID: a.SessionID, ApprovalID: a.ApprovalID, ClientRequestID: "demo-" + a.ApprovalID}
	kind := wire.AllowOnce
	if a.Risk == wire.RiskHigh {
		kind, p.Feedback = wire.Reject, "say it in a way that can be read"
	}
	i := slices.IndexFunc(a.Options, func(o wire.ApprovalOption) bool { return o.Kind == kind })
	p.OptionID = a.Options[i].ID
	if a.Subject.Edit == nil || kind == wire.Reject {
		return p
	}
	p.Hunks, p.HunkFeedback = map[string]wire.HunkDecision{}, map[string]string{}
	for _, f := range a.Subject.Edit.Files {
		for _, h := range f.Hunks {
			p.Hunks[h.HunkID] = wire.HunkAccept
			if why := objection(h); why != "" {
				p.Hunks[h.HunkID], p.HunkFeedback[h.HunkID] = wire.HunkReject, why
			}
		}
	}
	return p
}

func (d *demo) showQuestion(a wire.Approval) {
	d.entry(bold, "asks", a.Title)
	if a.Subject.Edit == nil {
		return
	}
	for _, f := range a.Subject.Edit.Files {
		for i, h := range f.Hunks {
			d.line(bold, fmt.Sprintf("hunk %d of %d", i+1, len(f.Hunks)), fmt.Sprintf("%s, line %d", filepath.Base(f.URI), h.OldStart))
			d.diff(h.Text)
		}
	}
}

func (d *demo) showAnswer(a wire.Approval, p wire.ApprovalRespondParams) {
	option := a.Options[slices.IndexFunc(a.Options, func(o wire.ApprovalOption) bool { return o.ID == p.OptionID })]
	d.label(cyan, "you:")
	d.text(option.Label)
	if p.Feedback != "" {
		d.text(": " + p.Feedback)
	}
	d.finish()
	if p.Hunks == nil {
		return
	}
	for _, f := range a.Subject.Edit.Files {
		for i, h := range f.Hunks {
			verdict := string(p.Hunks[h.HunkID])
			if why := p.HunkFeedback[h.HunkID]; why != "" {
				verdict += ": " + why
			}
			d.line(plain, "", fmt.Sprintf("hunk %d: %s", i+1, verdict))
		}
	}
}

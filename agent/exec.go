package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"shiro/agent/permission"
	"shiro/agent/tool"
	"shiro/memory/transcript"
)

// editTries bounds how often an edit is worked out anew because its file
// changed between proposal and commit.
const editTries = 5

// Texts that stand for the result of a call that did not run or did not end.
const (
	deniedByUser   = "User denied this tool call."
	undecided      = "The user interrupted the turn before this call was decided. It did not run."
	interruptedRun = "the user interrupted this call. It did not finish; its effects are unknown."
)

// execute runs a call that is allowed.
func (s *Session) execute(t *turn, c *call) {
	s.begin(t, c)
	if s.forbidden(t, c) {
		return
	}
	out, err := s.perform(t, c)
	switch {
	case err == nil:
		s.finish(t, c, transcript.Output{Type: transcript.OutputText, Text: out})
	case err == context.Canceled && t.ctx.Err() != nil:
		s.finish(t, c, failure(interruptedRun))
	default:
		s.finish(t, c, failure(err.Error()))
	}
}

// forbidden asks the guard and the rules again just before a call acts: an
// earlier call of the step can have made a link that leads elsewhere.
func (s *Session) forbidden(t *turn, c *call) bool {
	shown := c.tool.Describe(c.part.Input)
	s.mu.Lock()
	v := s.decideLocked(c.tool.Name, shown)
	s.mu.Unlock()
	if v.Decision != permission.Deny {
		return false
	}
	c.outcome = Rejected
	s.finish(t, c, transcript.Output{Type: transcript.OutputDenied, Text: v.Reason})
	return true
}

func (s *Session) begin(t *turn, c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.live.item.Status = InProgress
	s.publishLocked(t.id, ItemUpdated{c.live.item})
}

func (s *Session) perform(t *turn, c *call) (result string, err error) {
	defer s.recovered(t, c, &err)
	tc := tool.Call{ID: c.part.ToolCallID, Input: c.part.Input, Output: func(channel, text string) { s.output(t, c, channel, text) }}
	if c.tool.Propose == nil {
		return c.tool.Run(t.ctx, tc)
	}
	for range editTries {
		var e *tool.Edit
		if e, err = c.tool.Propose(t.ctx, tc); err != nil {
			return "", err
		}
		if err = s.commitEdit(t, e); !errors.Is(err, tool.ErrStale) {
			return e.Result(), err
		}
	}
	return "", err
}

// recovered, deferred, makes an error of a tool's panic.
func (s *Session) recovered(t *turn, c *call, err *error) {
	if r := recover(); r != nil {
		s.log.Error("tool panicked", "tool", c.tool.Name, "turn", t.id, "call", c.part.ToolCallID, "panic", r)
		*err = fmt.Errorf("the tool failed: %v", r)
	}
}

// output takes what a command prints.
func (s *Session) output(t *turn, c *call, channel, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := c.live.add(channel, text, keptOutput)
	s.publishLocked(t.id, ItemDelta{c.live.item.ID, channel, from, text})
}

// runApproved waits for the answer to c and carries out what was allowed. An
// edit whose file changed meanwhile is put before the user again, unless it
// still does the same.
func (s *Session) runApproved(t *turn, c *call) {
	for {
		waited := time.Now()
		ans, outcome := s.await(t.ctx, c.approval)
		t.waited += time.Since(waited)
		c.outcome = outcome
		switch {
		case outcome == "":
			return
		case outcome == Stale:
		case outcome == OutcomeCancelled:
			s.finish(t, c, transcript.Output{Type: transcript.OutputDenied, Text: undecided})
			return
		case outcome == Rejected:
			s.finish(t, c, transcript.Output{Type: transcript.OutputDenied, Text: refusalText(ans.Feedback)})
			return
		case c.approval.Edit == nil:
			s.attempt(c)
			s.execute(t, c)
			return
		case s.applyApproved(t, c, ans):
			return
		}
		if !s.askAgain(t, c) {
			return
		}
	}
}

func refusalText(feedback string) string {
	if feedback = strings.TrimSpace(feedback); feedback != "" {
		return deniedByUser + " Their reason: " + feedback
	}
	return deniedByUser
}

// applyApproved commits what the user accepted of an edit. It reports false
// when the edit would now do something else than was shown.
func (s *Session) applyApproved(t *turn, c *call, ans Answer) bool {
	s.begin(t, c)
	for range editTries {
		if s.forbidden(t, c) {
			return true
		}
		now, err := s.proposal(t, c)
		if err != nil {
			s.finish(t, c, failure(err.Error()))
			return true
		}
		if !stillFits(c.approval.Edit, now, ans) {
			return false
		}
		s.attempt(c)
		e := accepted(c.approval.Edit, now, ans)
		if len(e.Files) == 0 {
			c.outcome = Rejected
			s.finish(t, c, transcript.Output{Type: transcript.OutputDenied, Text: deniedByUser + " " + e.Result()})
			return true
		}
		switch err := s.commitEdit(t, e); {
		case errors.Is(err, tool.ErrStale):
			continue
		case err != nil:
			s.finish(t, c, failure(err.Error()))
			return true
		}
		s.finish(t, c, transcript.Output{Type: transcript.OutputText, Text: e.Result()})
		return true
	}
	return false
}

func (s *Session) proposal(t *turn, c *call) (e *tool.Edit, err error) {
	defer s.recovered(t, c, &err)
	return c.tool.Propose(t.ctx, tool.Call{ID: c.part.ToolCallID, Input: c.part.Input})
}

// stillFits reports whether an answer to the edit that was shown can be applied
// to the edit as it is now. The user's own text of a file is the whole file, so
// there not even a line far away may have changed.
func stillFits(shown, now *tool.Edit, ans Answer) bool {
	if !tool.SameChange(shown, now) {
		return false
	}
	for i, f := range shown.Files {
		if _, own := ans.Edited[f.Path]; own && f.BaseHash != now.Files[i].BaseHash {
			return false
		}
	}
	return true
}

// accepted is the part of an edit that an answer allows. Now does the same as
// shown, whose hunk ids the answer uses.
func accepted(shown, now *tool.Edit, ans Answer) *tool.Edit {
	e := now
	if ans.Hunks != nil {
		e = now.Accept(func(file, hunk int) (bool, string) {
			id := shown.Files[file].Hunks[hunk].ID
			return ans.Hunks[id], ans.HunkFeedback[id]
		})
	}
	for path, text := range ans.Edited {
		if i := slices.IndexFunc(e.Files, func(f tool.FileEdit) bool { return f.Path == path }); i >= 0 {
			e = e.Amend(i, []byte(text))
		}
	}
	return e
}

// askAgain puts the edit as it would be now before the user. It reports false
// when it cannot be made any more; then c is done.
func (s *Session) askAgain(t *turn, c *call) bool {
	e, err := s.proposal(t, c)
	if err != nil {
		c.outcome = Allowed // by the user; the file is what refused
		s.finish(t, c, failure(err.Error()))
		return false
	}
	stored := c.stored
	c.stored = "" // a new approval needs a new id; the transcript keeps the first
	a := s.newApproval(t, c)
	c.stored = stored
	a.Why = "The file changed after you were shown this edit."
	a.setEdit(e)
	c.approval = a
	s.raise(a)
	return true
}

// attempt notes in the journal that an approved call begins: should the process
// end while it runs, its effects are unknown, and it must not be asked again as
// if nothing had happened. The result, when there is one, takes its place.
func (s *Session) attempt(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logLocked(true, transcript.NewResult(transcript.Result(c.part, transcript.Output{Type: transcript.OutputErrorText, Text: transcript.CutShort}, false)))
}

// commitEdit makes the changes and counts them for the turn.
func (s *Session) commitEdit(t *turn, e *tool.Edit) error {
	if err := s.setup.Commit(t.ctx, e); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range e.Files {
		i := slices.IndexFunc(t.changed, func(c ChangedFile) bool { return c.Path == f.Path })
		if i < 0 {
			i = len(t.changed)
			t.changed = append(t.changed, ChangedFile{Path: f.Path})
		}
		for _, h := range f.Hunks {
			for line := range strings.Lines(h.Text) {
				switch line[0] {
				case '+':
					t.changed[i].Added++
				case '-':
					t.changed[i].Removed++
				}
			}
		}
	}
	return nil
}

// finish sets what came of a call and closes its item.
func (s *Session) finish(t *turn, c *call, out transcript.Output) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.done, c.out = true, out
	t.madeLocked(c, out)
	s.logLocked(false, transcript.NewResult(transcript.Result(c.part, out, c.approval == nil)))
	c.live.item.finish(out)
	if t.ctx.Err() != nil && c.live.item.Status != Completed {
		c.live.item.Status = Cancelled
	}
	s.publishLocked(t.id, ItemCompleted{c.live.item})
}

// hunkID names the n-th hunk of an approval.
func hunkID(approval string, n int) string {
	return fmt.Sprintf("hnk_%s_%d", strings.TrimPrefix(approval, "apr_"), n)
}

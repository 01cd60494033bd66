package agent

import (
	"fmt"
	"slices"
	"sync"

	"shiro/agent/permission"
	"shiro/agent/provider"
	"shiro/agent/tool"
	"shiro/memory/transcript"
)

// A call is one tool call of a step on its way to a result.
type call struct {
	part    transcript.Part
	live    *liveItem
	tool    *tool.Tool
	verdict permission.Verdict

	approval *Approval // set when the user was asked
	stored   string    // the id of the request in the transcript; empty without one
	outcome  Outcome
	done     bool // out is what came of it
	out      transcript.Output
	kept     bool // its result is in the transcript
	again    bool // not carried out, since it was made too often
}

// runStep closes the items of a response, carries out its calls and puts both
// into the transcript, whole. It returns the number of calls.
func (s *Session) runStep(t *turn, res *provider.Response) int {
	calls, ids := s.closeResponse(t, res)
	for _, c := range calls {
		if why, bad := res.Malformed[c.part.ToolCallID]; bad {
			s.finish(t, c, failure("the arguments of this call cannot be used: "+why+". Send them again as one JSON object."))
			continue
		}
		if !s.repeats(t, c) {
			s.decide(t, c)
		}
	}
	s.runFree(t, calls)
	asked := s.propose(t, calls)
	if len(asked) == 0 {
		s.runFree(t, calls) // those behind a call that needs no answer after all
		s.skip(t, calls)
	}

	parts := make([]transcript.Part, 0, len(res.Parts))
	next := 0
	for i, p := range res.Parts {
		s.name(i, ids[i])
		parts = append(parts, p)
		if p.Type == transcript.TypeToolCall {
			parts[len(parts)-1] = calls[next].part
			parts = append(parts, calls[next].request()...)
			next++
		}
	}
	step := []*transcript.Message{transcript.Assistant(parts...)}
	if results := sameStep(calls); len(results) > 0 {
		step = append(step, transcript.Tool(results...))
	}
	s.commit(len(asked) > 0, step...)
	s.raise(asked...)
	s.runAsked(t, calls)
	return len(calls)
}

// skip closes the calls that an interrupt kept from running.
func (s *Session) skip(t *turn, calls []*call) {
	for _, c := range calls {
		if !c.done {
			s.finish(t, c, failure("the user interrupted the turn before this call ran."))
		}
	}
}

// name keeps the id of an item that will be that part of the next message.
func (s *Session) name(part int, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.placeLocked(part, id)
}

// closeResponse completes the items of a response and returns its calls, and
// the item of each part, empty for none.
func (s *Session) closeResponse(t *turn, res *provider.Response) (calls []*call, ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logLocked(false, s.entryLocked(transcript.EntryResponse, transcript.Assistant(res.Parts...)))
	shown := slices.DeleteFunc(slices.Clone(s.live), func(l *liveItem) bool { return l.item.Withdrawn })
	ids = make([]string, len(res.Parts))
	for i, p := range res.Parts {
		kind := map[string]Kind{transcript.TypeText: TextItem, transcript.TypeReasoning: ReasoningItem, transcript.TypeToolCall: ToolItem}[p.Type]
		if kind == "" || kind != ToolItem && p.Text == "" {
			continue
		}
		var l *liveItem
		at := slices.IndexFunc(shown, func(l *liveItem) bool { return l.item.Kind == kind && l.item.CallID == p.ToolCallID })
		if at >= 0 {
			l = shown[at]
			shown = slices.Delete(shown, at, at+1)
		} else {
			l = s.addLiveLocked(i, Item{Turn: t.id, Kind: kind, Status: InProgress})
		}
		ids[i] = l.item.ID
		if kind == ToolItem {
			p.Input = object(p.Input)
			l.item = s.toolItem(l.item.ID, t.id, p)
			calls = append(calls, &call{part: p, live: l})
		}
		switch {
		case at < 0:
			s.publishLocked(t.id, ItemStarted{l.item})
		case kind == ToolItem:
			s.publishLocked(t.id, ItemUpdated{l.item})
		}
		if kind != ToolItem {
			l.item.Text, l.item.Status = p.Text, Completed
			s.publishLocked(t.id, ItemCompleted{l.item})
		}
	}
	for _, l := range shown { // shown while it streamed, and not in the response
		s.withdrawLocked(t, l, "")
	}
	return calls, ids
}

// decide asks the guard and the rules about c. What they refuse is done.
func (s *Session) decide(t *turn, c *call) {
	c.tool = s.tool(c.part.ToolName)
	if c.tool == nil {
		s.finish(t, c, failure(s.unknownTool(c.part.ToolName)))
		return
	}
	if err := c.check(); err != nil {
		s.finish(t, c, failure(err.Error()))
		return
	}
	s.mu.Lock()
	c.verdict = s.decideLocked(c.tool.Name, c.live.item.Shown)
	s.mu.Unlock()
	if c.verdict.Decision == permission.Deny {
		s.finish(t, c, transcript.Output{Type: transcript.OutputDenied, Text: c.verdict.Reason})
	}
}

func (s *Session) decideLocked(name string, subject tool.Subject) permission.Verdict {
	grants := [][]permission.Rule{s.grants, s.agent.granted(s.CWD)}
	if s.running != nil {
		grants = append(grants, s.running.grants)
	}
	return s.setup.Policy.Decide(s.permissionCall(s.tool(name), subject), grants...)
}

// runFree carries out what may run unasked: calls that change nothing at once
// and together, calls that change something one after the other, as far as no
// earlier one waits for the user.
func (s *Session) runFree(t *turn, calls []*call) {
	var wg sync.WaitGroup
	var ordered []*call
	waiting := false
	for _, c := range calls {
		switch {
		case c.done:
		case c.verdict.Decision != permission.Allow:
			waiting = true
		case t.ctx.Err() != nil:
		case !c.tool.Mutates:
			wg.Go(func() { s.execute(t, c) })
		case !waiting:
			ordered = append(ordered, c)
		}
	}
	for _, c := range ordered {
		if t.ctx.Err() == nil {
			s.execute(t, c)
		}
	}
	wg.Wait()
}

// propose works out what the calls that need an answer would do.
func (s *Session) propose(t *turn, calls []*call) (asked []*Approval) {
	for _, c := range calls {
		if c.done || c.verdict.Decision == permission.Allow || t.ctx.Err() != nil {
			continue
		}
		var edit *tool.Edit
		if c.tool.Propose != nil {
			var err error
			if edit, err = s.proposal(t, c); err != nil {
				s.finish(t, c, failure(err.Error()))
				continue
			}
		}
		a := s.newApproval(t, c)
		if edit != nil {
			a.setEdit(edit)
		}
		c.approval = a
		asked = append(asked, a)
	}
	return asked
}

// runAsked waits for the answers in the order of the calls and carries out
// what was allowed; then it puts answers and results into the transcript. What
// is not answered when the conversation ends goes on waiting there.
func (s *Session) runAsked(t *turn, calls []*call) {
	var responses, results []transcript.Part
	refused := false
	for _, c := range calls {
		if c.kept {
			continue
		}
		switch {
		case c.done:
		case s.ctx.Err() != nil && c.approval == nil:
			continue
		case t.ctx.Err() != nil && c.approval == nil:
			s.finish(t, c, transcript.Output{Type: transcript.OutputDenied, Text: undecided})
		case c.approval == nil && refused:
			s.finish(t, c, transcript.Output{Type: transcript.OutputDenied, Text: "This call was not run, because the user refused an earlier call of the same step."})
		case c.approval == nil:
			c.outcome = Allowed
			s.execute(t, c)
		default:
			if s.runApproved(t, c); !c.done {
				continue
			}
			refused = refused || c.outcome != Allowed
		}
		if c.stored != "" {
			responses = append(responses, c.response())
		}
		results = append(results, transcript.Result(c.part, c.out, false))
	}
	var step []*transcript.Message
	if len(responses) > 0 {
		step = append(step, transcript.Tool(responses...))
	}
	if len(results) > 0 {
		step = append(step, transcript.Tool(results...))
	}
	s.commit(false, step...)
}

// commit appends the messages of a step; its closed items are theirs now.
func (s *Session) commit(sync bool, messages ...*transcript.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.appendLocked(sync, messages...)
	s.live = slices.DeleteFunc(s.live, func(l *liveItem) bool {
		return l.item.Status != Pending && l.item.Status != InProgress
	})
}

// request is what stands after the call in the transcript: the request for
// approval when the user is asked, or one that a rule has answered. A call that
// waits behind such a call has one too: without, a record that ends here could
// not be gone on with.
func (c *call) request() []transcript.Part {
	denied := c.verdict.Decision == permission.Deny
	switch {
	case c.approval != nil:
	case denied, !c.done:
		c.stored = storedID(approvalID(""))
	default:
		return nil
	}
	return []transcript.Part{{
		Type: transcript.TypeApprovalRequest, ToolCallID: c.part.ToolCallID, ApprovalID: c.stored, Automatic: denied,
	}}
}

func (c *call) response() transcript.Part {
	p := transcript.Part{Type: transcript.TypeApprovalResponse, ApprovalID: c.stored, Approved: c.outcome == Allowed}
	if !p.Approved {
		p.Reason = c.out.Text
	}
	return p
}

// sameStep returns the results of the calls that did not wait for the user.
func sameStep(calls []*call) []transcript.Part {
	var parts []transcript.Part
	for _, c := range calls {
		if !c.done || c.approval != nil {
			continue
		}
		if c.stored != "" {
			parts = append(parts, c.response())
		}
		parts = append(parts, transcript.Result(c.part, c.out, true))
		c.kept = true
	}
	return parts
}

func failure(text string) transcript.Output {
	return transcript.Output{Type: transcript.OutputErrorText, Text: "Error: " + text}
}

func (s *Session) unknownTool(name string) string {
	var names []string
	for _, t := range s.tools {
		names = append(names, t.Name)
	}
	return fmt.Sprintf("there is no tool %q. The tools are: %s.", name, joinNearest(name, names))
}

// check says what is wrong with the input, before anybody is asked about it.
func (c *call) check() error {
	if c.tool.Check == nil {
		return nil
	}
	return c.tool.Check(c.part.Input)
}

package agent

import (
	"cmp"
	"slices"

	"shiro/agent/permission"
	"shiro/memory/transcript"
	"shiro/prune"
)

// This file goes on with records that were left in the middle of a step: by the
// terminal tool when it is closed while it asks, and by us.

// A leftover is a call of the last response without a result.
type leftover struct {
	at       place
	call     transcript.Part
	request  string // stored id of the request for approval; empty when there is none
	answered bool   // the request
	refusal  string // the reason, when the answer was no
}

// leftovers returns the calls of the last response of messages that have no
// result, in order.
func leftovers(messages []*transcript.Message) (open []leftover) {
	at := len(messages) - 1
	results := make(map[string]bool)
	responses := make(map[string]transcript.Part) // by the request's id
	for ; at >= 0 && messages[at].Role == transcript.RoleTool; at-- {
		for _, p := range messages[at].Parts {
			switch p.Type {
			case transcript.TypeToolResult:
				results[p.ToolCallID] = true
			case transcript.TypeApprovalResponse:
				responses[p.ApprovalID] = p
			}
		}
	}
	if at < 0 || messages[at].Role != transcript.RoleAssistant {
		return nil
	}
	part := -1
	for _, p := range messages[at].Parts {
		if p.Type != transcript.TypeApprovalRequest {
			part++
		}
		switch p.Type {
		case transcript.TypeToolCall:
			if !p.ProviderExecuted && !results[p.ToolCallID] {
				open = append(open, leftover{at: place{at, part}, call: p})
			}
		case transcript.TypeApprovalRequest:
			n := slices.IndexFunc(open, func(l leftover) bool { return l.call.ToolCallID == p.ToolCallID })
			if n < 0 {
				continue
			}
			open[n].request = p.ApprovalID
			if response, ok := responses[p.ApprovalID]; ok {
				open[n].answered = true
				if !response.Approved {
					open[n].refusal = cmp.Or(response.Reason, deniedByUser)
				}
			}
		}
	}
	return open
}

func (l leftover) waits() bool { return l.request != "" && !l.answered }

// standIn is the result of a call that does not wait for the user. What was
// approved may have run.
func (l leftover) standIn() transcript.Part {
	out := failure(prune.NoResult)
	if l.refusal != "" {
		out = transcript.Output{Type: transcript.OutputDenied, Text: l.refusal}
	}
	return transcript.Result(l.call, out, false)
}

// pending returns the calls at the end of messages that wait for the user.
func pending(messages []*transcript.Message) []leftover {
	return slices.DeleteFunc(leftovers(messages), func(l leftover) bool { return !l.waits() })
}

// unanswered returns stand-ins for all results that the last response of
// messages lacks.
func unanswered(messages []*transcript.Message) []transcript.Part {
	var results []transcript.Part
	for _, l := range leftovers(messages) {
		results = append(results, l.standIn())
	}
	return results
}

// mend returns messages without calls that were passed over: the terminal tool
// stores a prompt behind a call that was never answered, and can then go on no
// more. The last response is left as it is.
func mend(messages []*transcript.Message) []*transcript.Message {
	mended := make([]*transcript.Message, 0, len(messages))
	for i, m := range messages {
		if m.Role != transcript.RoleTool {
			if missing := unanswered(messages[:i]); len(missing) > 0 {
				mended = append(mended, transcript.Tool(missing...))
			}
		}
		mended = append(mended, m)
	}
	return mended
}

// closeLeftovers gives results to the calls that the record was left with and
// that do not wait for the user.
func (s *Session) closeLeftovers(t *turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var results []transcript.Part
	var items []Item
	for _, l := range leftovers(s.rec.Messages) {
		if l.waits() {
			continue
		}
		r := l.standIn()
		it := s.toolItem(s.itemIDLocked(l.at), s.lastTurnLocked(), l.call)
		it.finish(r.Output)
		results, items = append(results, r), append(items, it)
	}
	if len(results) == 0 {
		return
	}
	s.appendLocked(false, transcript.Tool(results...))
	for _, it := range items {
		s.publishLocked(t.id, ItemCompleted{it})
	}
}

func (s *Session) lastTurnLocked() string {
	if len(s.turnIDs) == 0 {
		return ""
	}
	return s.turnIDs[len(s.turnIDs)-1]
}

// resumeSuspended begins a turn for approvals that were open when the process
// that asked them ended.
func (s *Session) resumeSuspended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(pending(s.rec.Messages)) > 0 {
		s.beginLocked(s.newTurn(Prompt{}, turnID(len(s.turnIDs)), ByResume))
	}
}

// runPending asks again for the open calls of the last response, in the
// transcript already, and carries out what is approved.
func (s *Session) runPending(t *turn) {
	var calls []*call
	s.mu.Lock()
	for _, o := range leftovers(s.rec.Messages) {
		l := &liveItem{item: s.toolItem(s.itemIDLocked(o.at), t.id, o.call), part: o.at.part}
		s.live = append(s.live, l)
		calls = append(calls, &call{part: o.call, live: l, stored: o.request})
	}
	s.mu.Unlock()
	for _, c := range calls {
		s.decide(t, c)
		if c.verdict.Decision == permission.Allow {
			c.verdict = permission.Verdict{Reason: "It was waiting when the session was closed."}
		}
	}
	s.raise(s.propose(t, calls)...)
	s.runAsked(t, calls)
}

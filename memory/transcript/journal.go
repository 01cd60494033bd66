package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Kinds of a journal entry.
const (
	EntryMessage  = "message"  // a whole message, in its place
	EntryResponse = "response" // a model's response whose calls are not all answered
	EntryResult   = "result"   // the result of one call of the last response or message; the last one counts
	EntryNotebook = "notebook" // the task list
	EntryTotals   = "totals"   // tokens and cost at the end of a turn
	EntryLabel    = "label"    // name and whether archived
)

// An Entry is one line of a session's journal: something that happened in a
// conversation and may not be in its record yet. Which fields are set depends
// on Kind.
type Entry struct {
	Seq  uint64 `json:"seq"` // of the newest durable event before it
	Kind string `json:"kind"`

	At      int      `json:"at,omitempty"`      // message, response: index in the transcript
	After   string   `json:"after,omitempty"`   // message, response: Mark of the transcript before it
	Message *Message `json:"message,omitempty"` // message, response; result: a tool message with that result

	Notebook json.RawMessage `json:"notebook,omitempty"`

	Name     string `json:"name,omitempty"`
	Archived bool   `json:"archived,omitempty"`

	InputTokens  int64    `json:"inputTokens,omitempty"`
	OutputTokens int64    `json:"outputTokens,omitempty"`
	CostUSD      *float64 `json:"costUsd,omitempty"`
}

// NewResult returns the entry of a call's result.
func NewResult(p Part) Entry {
	return Entry{Kind: EntryResult, Message: Tool(p)}
}

// Mark tells a transcript that ends in messages' last one from others of the
// same length: 16 hexadecimal digits, empty for no messages.
func Mark(messages []*Message) string {
	if len(messages) == 0 {
		return ""
	}
	sum := sha256.Sum256(messages[len(messages)-1].raw)
	return hex.EncodeToString(sum[:8])
}

// ErrOtherHistory says that a journal belongs to another state of the record:
// somebody else went on with it, or shortened it.
var ErrOtherHistory = errors.New("the journal does not continue this record")

// CutShort is the result of a call that was running when the process ended.
const CutShort = "Error: the program ended while this call ran. It did not finish; its effects are unknown."

// Replay adds to the record what its journal has beyond it, and sets Seq. A
// response that was not whole is closed: calls without a result get one that
// says so. When the journal does not continue the record, only what comes
// before that place is added, and the error is ErrOtherHistory.
func (s *Session) Replay(entries []Entry) error {
	next := *s
	var open *Entry // the last response, until its messages come
	var results []Part
	for i := range entries {
		e := &entries[i]
		next.Seq = max(next.Seq, e.Seq)
		switch e.Kind {
		case EntryMessage, EntryResponse, EntryResult:
			if e.Message == nil {
				return fmt.Errorf("entry %d: no message", i+1)
			}
		}
		switch e.Kind {
		case EntryMessage, EntryResponse:
			if e.At > len(next.Messages) { // whoever wrote it had closed the step
				next.end(open, results)
				open, results = nil, nil
			}
			if done, err := next.known(e); err != nil {
				*s = next // what came before is good
				return err
			} else if done {
				continue
			}
			open, results = nil, nil
			if e.Kind == EntryResponse {
				open = e
				continue
			}
			next.Messages = append(next.Messages[:len(next.Messages):len(next.Messages)], e.Message)
		case EntryResult:
			results = append(results, e.Message.Parts...)
		case EntryNotebook:
			next.Notebook = e.Notebook
		case EntryLabel:
			next.Name, next.Archived = e.Name, e.Archived
		case EntryTotals:
			next.InputTokens, next.OutputTokens, next.CostUSD = e.InputTokens, e.OutputTokens, e.CostUSD
		}
	}
	next.end(open, results)
	*s = next
	return nil
}

// end adds what a step that did not come to its messages left: its response,
// with a result for each call, or the results of calls that were approved.
func (s *Session) end(response *Entry, results []Part) {
	s.Messages = s.Messages[:len(s.Messages):len(s.Messages)]
	if response == nil {
		s.Messages = append(s.Messages, approved(s.Messages, results)...)
		return
	}
	s.Messages = append(s.Messages, response.Message)
	if closed := closing(response.Message, results); len(closed) > 0 {
		s.Messages = append(s.Messages, Tool(closed...))
	}
}

// known reports whether the transcript has e's message already.
func (s *Session) known(e *Entry) (bool, error) {
	switch {
	case e.At < len(s.Messages):
		if e.Kind == EntryMessage && string(s.Messages[e.At].raw) != string(e.Message.raw) {
			return false, ErrOtherHistory
		}
		return true, nil
	case e.At > len(s.Messages) || e.After != Mark(s.Messages):
		return false, ErrOtherHistory
	}
	return false, nil
}

// approved returns the messages that answer those calls at the end of messages
// which waited for the user, were allowed, and have a result in the journal.
// The others go on waiting.
func approved(messages []*Message, results []Part) []*Message {
	requests := make(map[string]string) // call id -> approval id, while unanswered
	for _, m := range messages {
		for _, p := range m.Parts {
			switch p.Type {
			case TypeApprovalRequest:
				requests[p.ToolCallID] = p.ApprovalID
			case TypeToolResult:
				delete(requests, p.ToolCallID)
			}
		}
	}
	var answers, outputs []Part
	for i, r := range results {
		id, waiting := requests[r.ToolCallID]
		later := slices.ContainsFunc(results[i+1:], func(p Part) bool { return p.ToolCallID == r.ToolCallID })
		if !waiting || later {
			continue
		}
		denied := r.Output.Type == OutputDenied
		answer := Part{Type: TypeApprovalResponse, ApprovalID: id, Approved: !denied}
		if denied {
			answer.Reason = r.Output.Text
		}
		answers, outputs = append(answers, answer), append(outputs, r)
	}
	if len(answers) == 0 {
		return nil
	}
	return []*Message{Tool(answers...), Tool(outputs...)}
}

// closing returns one result for each call of m, in the order of the calls.
func closing(m *Message, results []Part) []Part {
	var parts []Part
	for _, c := range m.Calls() {
		p := Result(c, Output{Type: OutputErrorText, Text: CutShort}, true)
		for _, r := range results {
			if r.ToolCallID == c.ToolCallID {
				p = r
			}
		}
		parts = append(parts, p)
	}
	return parts
}

package agent

import (
	"encoding/json"
	"fmt"

	"shiro/agent/tool"
	"shiro/memory/transcript"
)

// Kind of an item.
type Kind string

// Kinds.
const (
	UserItem      Kind = "user"
	TextItem      Kind = "text"
	ReasoningItem Kind = "reasoning"
	ToolItem      Kind = "tool"
	NoticeItem    Kind = "notice" // what a command answers; in no transcript
)

// An Item is one thing the user sees in a conversation. Its id is its place,
// message and part of the transcript, as far as that was known when it was
// first shown.
type Item struct {
	ID     string
	Turn   string
	Kind   Kind
	Status Status
	Text   string // user, text, reasoning, notice

	CallID string // tool items from here on
	Tool   string
	Input  json.RawMessage
	Shown  tool.Subject
	Class  string // kind of tool: read, edit, search, execute, think, other
	Output string
	Error  string

	// Withdrawn marks text of an attempt that failed and was made again.
	Withdrawn bool
}

// A place is where a part stands in the transcript: the index of its message
// and its own, which requests for approval do not count for, since they are put
// between parts that have been shown.
type place struct{ message, part int }

func (p place) id() string { return fmt.Sprintf("itm_%d_%d", p.message, p.part) }

// newItemIDLocked is the id of an item that is shown as a part of the next
// message. What was shown there before, and has no place after all, keeps its
// own.
func (s *Session) newItemIDLocked(part int) string {
	p := place{len(s.rec.Messages), part}
	id := p.id()
	for n := 1; s.shown[id]; n++ {
		id = fmt.Sprintf("%sr%d", p.id(), n)
	}
	s.shown[id] = true
	return id
}

// placeLocked says under which id the part of the next message was shown.
func (s *Session) placeLocked(part int, id string) {
	if p := (place{len(s.rec.Messages), part}); id != "" && id != p.id() {
		s.names[p] = id
	}
}

func (s *Session) itemIDLocked(p place) string {
	if id := s.names[p]; id != "" {
		return id
	}
	return p.id()
}

func turnID(n int) string { return fmt.Sprintf("trn_%d", n) }

// toolItem returns the item of a call that has not run.
func (s *Session) toolItem(id, turn string, call transcript.Part) Item {
	it := Item{ID: id, Turn: turn, Kind: ToolItem, Status: Pending, CallID: call.ToolCallID, Tool: call.ToolName, Input: call.Input, Class: "other"}
	it.Shown.Title = call.ToolName
	if t := s.tool(call.ToolName); t != nil {
		it.Class = t.Kind
		it.Shown = t.Describe(call.Input)
	}
	return it
}

// finish sets what came of the call.
func (it *Item) finish(out transcript.Output) {
	it.Output = out.String()
	switch out.Type {
	case transcript.OutputDenied:
		it.Status = Declined
	case transcript.OutputErrorText, "error-json":
		it.Status, it.Error = Failed, it.Output
	default:
		it.Status = Completed
	}
}

// itemsLocked returns the items of the transcript.
func (s *Session) itemsLocked() []Item {
	var items []Item
	turn, turns := "", s.turnIDs
	byCall := make(map[string]int) // call id -> index in items
	for i, m := range s.rec.Messages {
		if m.Role == transcript.RoleUser {
			turn, turns = turns[0], turns[1:]
			items = append(items, Item{ID: s.itemIDLocked(place{i, 0}), Turn: turn, Kind: UserItem, Status: Completed, Text: plainText(m)})
			continue
		}
		if m.Role == transcript.RoleAssistant && m.Text != "" {
			items = append(items, Item{ID: s.itemIDLocked(place{i, 0}), Turn: turn, Kind: TextItem, Status: Completed, Text: m.Text})
		}
		k := -1
		for _, p := range m.Parts {
			if p.Type == transcript.TypeApprovalRequest {
				continue
			}
			k++
			it := Item{ID: s.itemIDLocked(place{i, k}), Turn: turn, Status: Completed, Text: p.Text}
			switch p.Type {
			case transcript.TypeText:
				it.Kind = TextItem
			case transcript.TypeReasoning:
				it.Kind = ReasoningItem
				if p.Text == "" {
					continue
				}
			case transcript.TypeToolCall:
				byCall[p.ToolCallID] = len(items)
				it = s.toolItem(it.ID, it.Turn, p)
			case transcript.TypeToolResult:
				if n, ok := byCall[p.ToolCallID]; ok {
					items[n].finish(p.Output)
				}
				continue
			default:
				continue
			}
			items = append(items, it)
		}
	}
	return items
}

// plainText is the text of a message whatever the form of its content.
func plainText(m *transcript.Message) string {
	text := m.Text
	for _, p := range m.Parts {
		if p.Type == transcript.TypeText {
			text += p.Text
		}
	}
	return text
}

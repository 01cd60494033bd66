package agent

import (
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A view is what a client knows: a snapshot, and what the events after it said.
type view struct {
	items  []Item
	text   map[string]string // item and channel -> what has streamed, from its beginning
	asked  map[string]bool
	state  State
	todo   Todo
	queue  []Queued
	faults []string
}

func newView(a Attachment) *view {
	v := &view{text: make(map[string]string), asked: make(map[string]bool)}
	if s := a.Snapshot; s != nil {
		v.items, v.state, v.todo, v.queue = slices.Clone(s.Items), s.Info.State, s.Todo, s.Queue
		for _, it := range s.Items {
			if it.Status == InProgress && (it.Kind == TextItem || it.Kind == ReasoningItem) {
				v.text[it.ID+" "+string(it.Kind)] = ""
			}
		}
		for _, l := range s.Live {
			if len(l.Text) == l.To {
				v.text[l.Item+" "+l.Channel] = l.Text
			}
		}
		for _, p := range s.Approvals {
			v.asked[p.ID] = true
		}
	}
	return v
}

func (v *view) take(e Event) {
	switch d := e.Data.(type) {
	case SessionUpdated:
		v.state = d.Info.State
	case TodoUpdated:
		v.todo = d.Todo
	case QueueUpdated:
		v.queue = d.Queue
	case ItemStarted:
		v.items = append(v.items, d.Item)
	case ItemUpdated:
		v.put(d.Item)
	case ItemCompleted:
		v.put(d.Item)
		v.check(d.Item)
	case ItemDelta:
		if key := d.Item + " " + d.Channel; len(v.text[key]) == d.From {
			v.text[key] += d.Text
		}
	case ApprovalRequested:
		v.asked[d.Approval.ID] = true
	case ApprovalResolved:
		delete(v.asked, d.Approval.ID)
	}
}

func (v *view) put(it Item) {
	i := slices.IndexFunc(v.items, func(x Item) bool { return x.ID == it.ID })
	if i < 0 {
		v.faults = append(v.faults, "an item the client does not know: "+it.ID)
		return
	}
	v.items[i] = it
}

// check holds the whole text of an item against what has streamed of it.
func (v *view) check(it Item) {
	if it.Withdrawn || it.Kind != TextItem && it.Kind != ReasoningItem {
		return
	}
	if streamed, ok := v.text[it.ID+" "+string(it.Kind)]; ok && streamed != it.Text {
		v.faults = append(v.faults, fmt.Sprintf("%s streamed %q and is %q", it.ID, streamed, it.Text))
	}
}

// viewFaults says in what a client that attached with a and saw the events
// differs from the conversation, which does nothing at the moment.
func viewFaults(a Attachment, events []Event, s *Session) []string {
	v := newView(a)
	for _, e := range events {
		v.take(e)
	}
	faults := v.faults
	history, _, err := s.History("", 1<<30)
	if err != nil {
		return append(faults, err.Error())
	}
	// What has no place in the transcript stays with those who saw it: attempts
	// that were withdrawn, half a thought, half a call.
	seen := slices.DeleteFunc(slices.Clone(v.items), func(it Item) bool {
		known := slices.ContainsFunc(history, func(x Item) bool { return x.ID == it.ID })
		return it.Withdrawn || !known && it.Status == Cancelled && (it.Kind != TextItem || it.Text == "")
	})
	// That a turn was interrupted is an event; the record does not know it.
	for i, it := range seen {
		if k := slices.IndexFunc(history, func(x Item) bool { return x.ID == it.ID }); k >= 0 && it.Status == Cancelled {
			seen[i].Status = history[k].Status
		}
	}
	if diff := cmp.Diff(history, seen, cmpopts.EquateEmpty()); diff != "" {
		faults = append(faults, "the history differs from what the events said (-history +events):\n"+diff)
	}
	if now := s.Info().State; now != v.state {
		faults = append(faults, fmt.Sprintf("the state is %s, the events say %s", now, v.state))
	}
	if diff := cmp.Diff(s.Todo(), v.todo, cmpopts.EquateEmpty()); diff != "" {
		faults = append(faults, "the task list differs:\n"+diff)
	}
	if diff := cmp.Diff(s.Queue(), v.queue, cmpopts.EquateEmpty()); diff != "" {
		faults = append(faults, "the queue differs:\n"+diff)
	}
	if len(s.Approvals()) != len(v.asked) {
		faults = append(faults, fmt.Sprintf("%d approvals are open, the events say %d", len(s.Approvals()), len(v.asked)))
	}
	return faults
}

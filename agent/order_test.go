package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// orderFaults holds the events of one attachment against the protocol's rules
// of order.
func orderFaults(a Attachment, events []Event) []string {
	o := &order{seq: a.Seq, open: make(map[string]bool), seen: make(map[string]bool), asked: make(map[string]string), offset: make(map[string]int)}
	if a.Snapshot != nil {
		o.begin(a.Snapshot)
	}
	for i, e := range events {
		o.now = fmt.Sprintf("event %d, %T", e.Seq, e.Data)
		o.take(e, i, events)
	}
	return o.faults
}

// An order follows what is open.
type order struct {
	now    string
	faults []string

	seq    uint64
	turn   string            // the running one
	after  bool              // a turn has ended and no other begun
	open   map[string]bool   // items
	seen   map[string]bool   // items that ever were
	asked  map[string]string // item -> its open approval
	offset map[string]int    // item and channel -> bytes so far
}

func (o *order) begin(s *Snapshot) {
	if s.Active != nil {
		o.turn = s.Active.ID
	}
	for _, it := range s.Items {
		o.seen[it.ID] = true
		if it.Status == Pending || it.Status == InProgress {
			o.open[it.ID] = true
		}
	}
	for _, a := range s.Approvals {
		o.asked[a.Item] = a.ID
	}
	for _, l := range s.Live {
		o.offset[l.Item+" "+l.Channel] = l.To
	}
}

func (o *order) fault(format string, a ...any) {
	o.faults = append(o.faults, o.now+": "+fmt.Sprintf(format, a...))
}

func (o *order) take(e Event, i int, events []Event) {
	_, ephemeral := e.Data.(ItemDelta)
	switch {
	case ephemeral && e.Seq != 0:
		o.fault("a delta is numbered")
	case !ephemeral && o.seq != 0 && e.Seq != o.seq+1:
		o.fault("follows %d", o.seq)
	}
	if !ephemeral {
		o.seq = e.Seq
	}
	switch e.Data.(type) {
	case SessionUpdated, QueueUpdated:
		return
	case Notice:
		if e.Turn == "" {
			return // of the store, which knows no turn
		}
	case TurnStarted:
		if o.turn != "" {
			o.fault("turn %s begins while %s runs", e.Turn, o.turn)
		}
		o.turn, o.after = e.Turn, false
		return
	}
	if e.Turn != o.turn || o.turn == "" {
		o.fault("of turn %q while %q runs", e.Turn, o.turn)
	}
	if o.after {
		o.fault("after the end of the turn")
	}
	switch d := e.Data.(type) {
	case ItemStarted:
		if o.seen[d.Item.ID] {
			o.fault("%s was there before", d.Item.ID)
		}
		o.seen[d.Item.ID], o.open[d.Item.ID] = true, true
	case ItemUpdated:
		o.item(d.Item.ID)
	case ItemDelta:
		o.delta(d)
	case ItemCompleted:
		o.item(d.Item.ID)
		if d.Item.Status == Pending || d.Item.Status == InProgress {
			o.fault("%s is closed as %s", d.Item.ID, d.Item.Status)
		}
		delete(o.open, d.Item.ID)
	case ApprovalRequested:
		if !o.open[d.Approval.Item] {
			o.fault("about %s, which is not open", d.Approval.Item)
		}
		if o.asked[d.Approval.Item] != "" {
			o.fault("%s is asked about twice at once", d.Approval.Item)
		}
		o.asked[d.Approval.Item] = d.Approval.ID
	case ApprovalResolved:
		if o.asked[d.Approval.Item] != d.Approval.ID {
			o.fault("%s was not open", d.Approval.ID)
		}
		delete(o.asked, d.Approval.Item)
	case TurnCompleted:
		o.end(i, events)
	}
}

// item is told of each further event about an item.
func (o *order) item(id string) {
	if !o.open[id] {
		o.fault("%s is not open", id)
	}
	if a := o.asked[id]; a != "" {
		o.fault("%s goes on while %s is open", id, a)
	}
}

func (o *order) delta(d ItemDelta) {
	o.item(d.Item)
	key := d.Item + " " + d.Channel
	if d.From != o.offset[key] {
		o.fault("%s: bytes from %d on, after %d", key, d.From, o.offset[key])
	}
	if d.Text == "" {
		o.fault("%s: no text", key)
	}
	o.offset[key] = d.From + len(d.Text)
}

func (o *order) end(i int, events []Event) {
	for id := range o.open {
		o.fault("%s is still open", id)
	}
	for _, a := range o.asked {
		o.fault("%s is still open", a)
	}
	if i > 0 {
		if _, ok := events[i-1].Data.(ContextUpdated); !ok {
			o.fault("after a %T, not the context", events[i-1].Data)
		}
	}
	o.turn, o.after = "", true
}

// The checker of the other tests finds what it should find.
func TestOrderCheckerSeesFaults(t *testing.T) {
	it := func(status Status) Item { return Item{ID: "i", Status: status} }
	a := &Approval{ID: "a", Item: "i"}
	good := []any{
		TurnStarted{},
		ItemStarted{it(Pending)},
		ItemDelta{"i", "text", 0, "ab"},
		ItemDelta{"i", "text", 2, "c"},
		ApprovalRequested{a},
		ApprovalResolved{Approval: a},
		ItemUpdated{it(InProgress)},
		ItemCompleted{it(Completed)},
		ContextUpdated{},
		TurnCompleted{},
		SessionUpdated{},
		QueueUpdated{},
	}
	number := func(list []any) []Event {
		var events []Event
		seq := uint64(0)
		for _, d := range list {
			e := Event{Turn: "t", Data: d}
			if _, ephemeral := d.(ItemDelta); !ephemeral {
				seq++
				e.Seq = seq
			}
			events = append(events, e)
		}
		return events
	}
	if faults := orderFaults(Attachment{}, number(good)); len(faults) > 0 {
		t.Errorf("good events: %q", faults)
	}
	without := func(i int) []any { return slices.Delete(slices.Clone(good), i, i+1) }
	swapped := func(i int) []any {
		list := slices.Clone(good)
		list[i], list[i+1] = list[i+1], list[i]
		return list
	}
	for name, c := range map[string]struct {
		events []any
		want   string
	}{
		"no start of the turn":      {without(0), `of turn "t" while "" runs`},
		"item before turn":          {swapped(0), `of turn "t" while "" runs`},
		"no start of the item":      {without(1), "i is not open"},
		"a delta is missing":        {without(2), "bytes from 2 on, after 0"},
		"deltas out of order":       {swapped(2), "bytes from 2 on, after 0"},
		"approval before its item":  {[]any{good[0], good[4]}, "about i, which is not open"},
		"nobody asked":              {without(4), "a was not open"},
		"goes on unanswered":        {without(5), "i goes on while a is open"},
		"item still open":           {without(7), "i is still open"},
		"no context":                {without(8), "not the context"},
		"late item":                 {append(slices.Clone(good), ItemStarted{Item{ID: "k"}}), `of turn "t" while "" runs`},
		"two turns at once":         {[]any{good[0], good[0]}, "begins while t runs"},
		"an id is used again":       {append(slices.Clone(good), good[0], good[1]), "i was there before"},
		"closed but not finished":   {[]any{good[0], good[1], ItemCompleted{it(InProgress)}}, "closed as in_progress"},
		"the end of a turn is told": {slices.Concat(good[:10], []any{TurnCompleted{}}), `of turn "t" while "" runs`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(orderFaults(Attachment{}, number(c.events)), "\n"); !strings.Contains(got, c.want) {
				t.Errorf("faults %q, want one with %q", got, c.want)
			}
		})
	}
	gap := number(good)
	gap[4].Seq++
	if len(orderFaults(Attachment{}, gap)) == 0 || len(orderFaults(Attachment{Seq: 3}, number(good))) == 0 {
		t.Error("a gap in the numbers is not seen")
	}
}

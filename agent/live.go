package agent

import (
	"shiro/agent/provider"
	"shiro/memory/transcript"
)

// keptOutput bounds what is kept of a running command's output for a client
// that attaches meanwhile; the result has its own cap.
const keptOutput = 64 << 10

// A liveItem is an item of the step that is not in the transcript yet.
type liveItem struct {
	item     Item
	part     int // of the response
	channels []channel
}

type channel struct {
	name string
	text []byte // the newest part
	to   int    // bytes so far
}

func (l *liveItem) texts() []LiveText {
	if l.item.Status != InProgress && l.item.Status != Pending {
		return nil
	}
	var out []LiveText
	for _, c := range l.channels {
		out = append(out, LiveText{l.item.ID, c.name, string(c.text), c.to})
	}
	return out
}

// add appends to a channel and returns the offset of text in it.
func (l *liveItem) add(name, text string, keep int) (from int) {
	var c *channel
	for i := range l.channels {
		if l.channels[i].name == name {
			c = &l.channels[i]
		}
	}
	if c == nil {
		l.channels = append(l.channels, channel{name: name})
		c = &l.channels[len(l.channels)-1]
	}
	from = c.to
	c.to += len(text)
	c.text = append(c.text, text...)
	if keep > 0 && len(c.text) > 2*keep {
		cut := len(c.text) - keep
		for cut < len(c.text) && c.text[cut]&0xC0 == 0x80 { // not inside a character
			cut++
		}
		c.text = append(c.text[:0], c.text[cut:]...)
	}
	return from
}

func (l *liveItem) text(name string) string {
	for _, c := range l.channels {
		if c.name == name {
			return string(c.text)
		}
	}
	return ""
}

// delta takes a piece of the streaming response.
func (s *Session) delta(t *turn, d provider.Delta) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.liveLocked(d.Part)
	if l == nil {
		l = s.addLiveLocked(d.Part, Item{Turn: t.id, Status: InProgress})
		switch d.Channel {
		case provider.Text:
			l.item.Kind = TextItem
		case provider.Reasoning:
			l.item.Kind = ReasoningItem
		case provider.Args:
			l.item = s.toolItem(l.item.ID, t.id, transcript.Part{ToolCallID: d.CallID, ToolName: d.Tool})
			l.item.Shown.Title = d.Tool // what it is about is not known yet
		}
		s.publishLocked(t.id, ItemStarted{l.item})
	}
	if d.Text == "" {
		return
	}
	from := l.add(string(d.Channel), d.Text, 0)
	s.publishLocked(t.id, ItemDelta{l.item.ID, string(d.Channel), from, d.Text})
}

func (s *Session) liveLocked(part int) *liveItem {
	for i := len(s.live) - 1; i >= 0; i-- {
		if l := s.live[i]; l.part == part && !l.item.Withdrawn {
			return l
		}
	}
	return nil
}

// addLiveLocked opens an item for a part of the response.
func (s *Session) addLiveLocked(part int, it Item) *liveItem {
	it.ID = s.newItemIDLocked(part)
	l := &liveItem{item: it, part: part}
	s.live = append(s.live, l)
	return l
}

// withdraw closes what a failed attempt has shown.
func (s *Session) withdraw(t *turn, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.live {
		if l.item.Withdrawn {
			continue
		}
		s.withdrawLocked(t, l, cause.Error())
	}
}

func (s *Session) withdrawLocked(t *turn, l *liveItem, why string) {
	l.item.Status, l.item.Withdrawn, l.item.Error = Cancelled, true, why
	s.publishLocked(t.id, ItemCompleted{l.item})
}

// keepPartial closes the items of an interrupted response. The text so far
// stays in the transcript; half a call or half a thought is of no use to a
// later request.
func (s *Session) keepPartial(t *turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var parts []transcript.Part
	for _, l := range s.live {
		if l.item.Withdrawn {
			continue
		}
		l.item.Status = Cancelled
		l.item.Text = l.text(string(l.item.Kind))
		if l.item.Kind == TextItem && l.item.Text != "" {
			s.placeLocked(len(parts), l.item.ID)
			parts = append(parts, transcript.Text(l.item.Text))
		}
		s.publishLocked(t.id, ItemCompleted{l.item})
	}
	s.live = nil
	if len(parts) > 0 {
		s.appendLocked(true, transcript.Assistant(parts...))
	}
}

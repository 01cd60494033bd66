package agent

import (
	"context"
	"io"
	"sync"
)

// A Feed receives the events of one conversation, in order. Nothing is
// dropped: a slow reader costs memory in proportion to what was written
// meanwhile, since deltas of one channel join.
type Feed struct {
	mu     sync.Mutex
	queue  []Event
	last   *joined // the delta at the end of the queue, while it can grow
	closed bool
	ready  chan struct{} // holds a token while there may be something to read
}

// joined is a delta in a queue that still grows.
type joined struct {
	item, channel string
	from          int
	text          []byte
}

func newFeed() *Feed { return &Feed{ready: make(chan struct{}, 1)} }

func (f *Feed) push(e Event) {
	f.mu.Lock()
	f.add(e)
	f.mu.Unlock()
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

func (f *Feed) add(e Event) {
	d, ok := e.Data.(ItemDelta)
	if !ok {
		f.last = nil
		f.queue = append(f.queue, e)
		return
	}
	if j := f.last; j != nil && j.item == d.Item && j.channel == d.Channel {
		j.text = append(j.text, d.Text...)
		return
	}
	f.last = &joined{d.Item, d.Channel, d.From, []byte(d.Text)}
	e.Data = f.last
	f.queue = append(f.queue, e)
}

// Next returns the next event, waiting for it. It fails with io.EOF once the
// conversation is closed and all is read, or with ctx's error.
func (f *Feed) Next(ctx context.Context) (Event, error) {
	for {
		if e, ok, closed := f.pop(); ok {
			return e, nil
		} else if closed {
			return Event{}, io.EOF
		}
		select {
		case <-f.ready:
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}

func (f *Feed) pop() (e Event, ok, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		return e, false, f.closed
	}
	e = f.queue[0]
	f.queue[0] = Event{}
	f.queue = f.queue[1:]
	if j, isDelta := e.Data.(*joined); isDelta {
		if f.last == j {
			f.last = nil
		}
		e.Data = ItemDelta{j.item, j.channel, j.from, string(j.text)}
	}
	return e, true, false
}

func (f *Feed) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	select {
	case f.ready <- struct{}{}:
	default:
	}
}

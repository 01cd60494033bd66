package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"go.lsp.dev/jsonrpc2"
)

// running knows the messages being handled: requests by their id, and how many
// there are with notifications.
type running struct {
	mu     sync.Mutex
	open   map[jsonrpc2.ID]context.CancelFunc
	n      int
	closed bool
	idle   chan struct{} // closed when n falls to 0 after close
}

// add registers a message; only requests have an id. remove and end undo it.
func (t *running) add(id jsonrpc2.ID, cancel context.CancelFunc) *Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return &Error{CodeInvalidRequest, "connection closed", detail{Kind: "shutting_down"}}
	}
	if id.IsValid() {
		if t.open[id] != nil {
			return invalidRequest(fmt.Sprintf("a request with id %.100q is still running", id))
		}
		if len(t.open) >= maxRequests {
			return overloaded(fmt.Sprintf("%d requests are running", maxRequests))
		}
		if t.open == nil {
			t.open = make(map[jsonrpc2.ID]context.CancelFunc)
		}
		t.open[id] = cancel
	}
	t.n++
	return nil
}

// remove makes an id free again, which has to happen before its answer is sent.
func (t *running) remove(id jsonrpc2.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, id)
}

func (t *running) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n == 0 && t.idle != nil {
		close(t.idle)
	}
}

// cancel obeys the params of a cancellation, of either protocol. One that names no
// running request is ignored.
func (t *running) cancel(params []byte) {
	var p struct {
		ID        json.RawMessage `json:"id"`
		RequestID json.RawMessage `json:"requestId"`
	}
	if decode(params, &p) != nil {
		return
	}
	if p.ID == nil {
		p.ID = p.RequestID
	}
	id, ok := parseID(p.ID)
	t.mu.Lock()
	defer t.mu.Unlock()
	if cancel := t.open[id]; ok && cancel != nil {
		cancel()
	}
}

// close lets nothing more in and returns when all is done.
func (t *running) close(ctx context.Context) error {
	t.mu.Lock()
	t.closed = true
	if t.idle == nil {
		t.idle = make(chan struct{})
		if t.n == 0 {
			close(t.idle)
		}
	}
	idle := t.idle
	t.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

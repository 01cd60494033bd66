package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"go.lsp.dev/jsonrpc2"
)

// calls are our own requests that wait for an answer.
type calls struct {
	mu   sync.Mutex
	last int64
	open map[int64]chan<- answer
}

type answer struct {
	result json.RawMessage
	err    *Error
}

// Call sends a request and waits for its answer, which is decoded into result, a
// pointer (nil discards it; a null answer leaves it as it is). An error answer is
// an [*Error]. When ctx ends first, the peer is told to give up and ctx's error is
// returned; give every call a deadline, since a peer may never answer.
//
// A handler must have called [Async] before it uses Call with its context, else
// Call fails at once: the answer could not be read.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	if r, ok := ctx.Value(requestKey{}).(*request); ok && r.onReadLoop() {
		return fmt.Errorf("rpc: %s called by a handler that holds up the read loop", method)
	}
	raw, err := encode(params)
	if err != nil {
		return fmt.Errorf("encoding the params of %s: %w", method, err)
	}
	id, answered := c.calls.add()
	defer c.calls.take(id)
	err = c.out.put(highWater, func(b []byte) []byte {
		return jsonrpc2.AppendCall(b, jsonrpc2.NewNumberID(id), method, jsonrpc2.RawMessage(raw))
	})
	if err != nil {
		return err
	}
	select {
	case a := <-answered:
		if a.err != nil {
			return a.err
		}
		if result == nil {
			return nil
		}
		if err := decode(a.result, result); err != nil {
			return fmt.Errorf("decoding the result of %s: %w", method, err)
		}
		return nil
	case <-ctx.Done():
		cancel, member := c.framing.cancel()
		if err := c.Notify(cancel, map[string]int64{member: id}); err != nil {
			c.log.Debug("cancellation not sent", "method", method, "err", err)
		}
		return ctx.Err()
	case <-c.done:
		return ErrClosed
	}
}

// answered hands a response to the call that waits for it.
func (c *Conn) answered(m *message) {
	id, err := strconv.ParseInt(string(m.id), 10, 64)
	result, failure := m.result, m.err
	// Peers of the old school send both members, one of them null.
	if string(failure) == "null" && result != nil {
		failure = nil
	} else if string(result) == "null" && failure != nil {
		result = nil
	}
	switch {
	case (result == nil) == (failure == nil):
		c.log.Warn("ignored a response with neither or both of result and error", "id", string(m.id))
		return
	case err != nil:
		c.log.Warn("ignored a response without usable id", "id", string(m.id), "error", string(failure))
		return
	}
	wait := c.calls.take(id)
	switch {
	case wait == nil:
		c.log.Info("ignored a response to no open request", "id", id)
	case failure != nil:
		wait <- answer{err: peerError(failure)}
	default:
		wait <- answer{result: json.RawMessage(append([]byte(nil), result...))}
	}
}

func (t *calls) add() (int64, <-chan answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = make(map[int64]chan<- answer)
	}
	t.last++
	ch := make(chan answer, 1)
	t.open[t.last] = ch
	return t.last, ch
}

// take removes a call. Only who gets it may answer it, so it is answered once.
func (t *calls) take(id int64) chan<- answer {
	t.mu.Lock()
	defer t.mu.Unlock()
	ch := t.open[id]
	delete(t.open, id)
	return ch
}

package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	"go.lsp.dev/jsonrpc2"
)

// request is one message being handled. Its handler's context carries it.
type request struct {
	mu     sync.Mutex
	inline context.Context // jsonrpc2's own, while the handler is on the read loop
	over   bool            // the handler has returned
	after  []func()
}

type requestKey struct{}

// Async lets later messages be handled before this handler returns. ctx is the
// handler's. A second call, or one outside a handler, does nothing.
func Async(ctx context.Context) {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.inline != nil {
			jsonrpc2.Async(r.inline)
			r.inline = nil
		}
	}
}

// AfterReply has f run as soon as the answer to the request that ctx belongs to has
// been handed in, so that what f sends comes after it. f runs on the goroutine of
// the handler and should be quick. Once the handler has returned, or outside one,
// AfterReply does nothing.
func AfterReply(ctx context.Context, f func()) {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.over {
			r.after = append(r.after, f)
		}
	}
}

func (r *request) onReadLoop() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inline != nil
}

// finish lets go of jsonrpc2's context, which is recycled, and returns the hooks.
func (r *request) finish() []func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inline, r.over = nil, true
	return r.after
}

// handle runs one message through the gate and its method and queues the answer.
//
// The context jsonrpc2 passes is recycled with the request, and v1.0.1 brings the
// process down when one derived from it outlives that, so handlers get one made
// from its parent. The answer is queued here rather than returned, so that it goes
// out even after input has ended, and AfterReply knows when.
func (c *Conn) handle(own context.Context, req *jsonrpc2.Request) (any, error) {
	name, id, call := req.Method(), req.ID(), req.IsCall()
	if !call && (name == "$/cancelRequest" || name == "$/cancel_request") {
		c.running.cancel(req.Params())
		return nil, nil
	}
	r := &request{inline: own}
	ctx, cancel := context.WithCancel(context.WithValue(jsonrpc2.DetachContext(own), requestKey{}, r))
	defer cancel()
	// Registered before it runs: a cancellation right behind it must find it.
	if bad := c.admit(id, cancel); bad != nil {
		if call {
			c.reply(id, nil, bad)
		}
		return nil, nil
	}
	defer c.running.end()

	result, err := c.invoke(ctx, name, call, json.RawMessage(req.Params()))
	after := r.finish()
	c.running.remove(id)
	switch {
	case call && err != nil:
		c.reply(id, nil, wireError(ctx, err))
	case call:
		c.reply(id, result, nil)
	case err != nil:
		c.log.Warn("notification failed", "method", name, "err", err)
	}
	for _, f := range after {
		c.protect(name, func() error { f(); return nil })
	}
	return nil, nil
}

func (c *Conn) admit(id jsonrpc2.ID, cancel context.CancelFunc) *Error {
	if id.IsValid() && c.out.full() {
		return overloaded("too much output is waiting to be read")
	}
	return c.running.add(id, cancel)
}

// invoke runs the method of a message. Panics become errors.
func (c *Conn) invoke(ctx context.Context, name string, call bool, params json.RawMessage) (result json.RawMessage, err error) {
	err = c.protect(name, func() (err error) {
		if c.gate != nil {
			if err := c.gate(name, call); err != nil {
				return err
			}
		}
		m, ok := c.methods[name]
		switch {
		case ok:
			result, err = m(ctx, params)
		case call:
			err = &Error{CodeMethodNotFound, fmt.Sprintf("unknown method %.100q", name), detail{Kind: "method_not_found"}}
		default:
			c.log.Debug("ignored an unknown notification", "method", name)
		}
		return err
	})
	return result, err
}

// protect runs f and makes its panic an error.
func (c *Conn) protect(name string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			c.log.Error("handler panicked", "method", name, "panic", v, "stack", string(debug.Stack()))
			err = &Error{CodeInternal, "internal error in " + name, detail{Kind: "internal_error"}}
		}
	}()
	return f()
}

// wire is e as jsonrpc2 encodes it, which copies the message as it is. Data that
// cannot be encoded is left out.
func (c *Conn) wire(e *Error) *jsonrpc2.Error {
	w := jsonrpc2.NewError(jsonrpc2.Code(e.Code), strings.ToValidUTF8(e.Message, "\uFFFD"))
	err := c.protect("error data", func() error {
		data, err := encode(e.Data)
		w.Data = jsonrpc2.RawMessage(data)
		return err
	})
	if err != nil {
		c.log.Error("error data not sent", "code", e.Code, "err", err)
	}
	return w
}

// reply queues a response. A peer so far behind that answers no longer fit counts
// as gone: they are all that grows the queue then.
func (c *Conn) reply(id jsonrpc2.ID, result json.RawMessage, failure *Error) {
	var wire error
	if failure != nil {
		wire = c.wire(failure)
	}
	err := c.out.put(2*highWater, func(b []byte) []byte {
		return jsonrpc2.AppendResponse(b, id, jsonrpc2.RawMessage(result), wire)
	})
	if errors.Is(err, ErrBacklog) {
		c.end(err)
	}
}

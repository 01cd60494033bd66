// Package lsptest is an editor without a screen: it speaks LSP and the shiro/*
// requests to a server over a pair of pipes, keeps buffers, applies the edits
// it is asked to, and records the events it is sent. Tests and the demo drive
// the server with it. It shares no code with the server's side of the
// connection, so that a mistake there is not repeated here.
package lsptest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"strings"
	"sync"

	wire "shiro/lsp/protocol"
)

// An Editor is one connected client.
type Editor struct {
	// OnApply, if set before Initialize, decides about each edit the server
	// asks for; a reason refuses it.
	OnApply func(label string) (refuse string)
	// OnEvent, if set before Initialize, sees every event as it arrives.
	OnEvent func(wire.Event)

	out  io.WriteCloser
	done chan struct{} // closed when the server's output has ended

	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever something below changes
	buffers map[string]*Buffer
	events  []wire.Event
	answers map[int]chan answer
	next    int
	err     error
	stray   []string // what the server sent besides messages
}

type answer struct {
	result json.RawMessage
	err    *Error
}

// An Error is the error of a response.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *Error) Error() string { return fmt.Sprintf("%d: %s", e.Code, e.Message) }

// Kind returns data.kind, empty when there is none.
func (e *Error) Kind() wire.ErrorKind {
	var d wire.ErrorData
	if json.Unmarshal(e.Data, &d) != nil {
		return ""
	}
	return d.Kind
}

// Connect returns an editor that writes to the server's input and reads its
// output until that ends.
func Connect(in io.WriteCloser, out io.Reader) *Editor {
	e := &Editor{
		out: in, done: make(chan struct{}), changed: make(chan struct{}),
		buffers: make(map[string]*Buffer), answers: make(map[int]chan answer),
	}
	go e.read(bufio.NewReaderSize(out, 64<<10))
	return e
}

// Initialize introduces the editor to the server. Capabilities may be nil; then
// it takes versioned edits and counts in UTF-16.
func (e *Editor) Initialize(ctx context.Context, root string, capabilities map[string]any) (json.RawMessage, error) {
	if capabilities == nil {
		capabilities = map[string]any{
			"workspace":    map[string]any{"applyEdit": true, "workspaceEdit": map[string]any{"documentChanges": true}},
			"experimental": map[string]any{"shiro": map[string]any{"protocolVersions": []int{wire.Version}, "clientId": "lsptest"}},
		}
	}
	var res json.RawMessage
	err := e.Call(ctx, "initialize", map[string]any{
		"processId": nil, "rootUri": URI(root), "capabilities": capabilities,
	}, &res)
	if err != nil {
		return nil, err
	}
	return res, e.Notify("initialized", struct{}{})
}

// Call sends a request and waits for its answer; the error is an *Error when
// the server refused it.
func (e *Editor) Call(ctx context.Context, method string, params, result any) error {
	id, ch, err := e.Go(method, params)
	if err != nil {
		return err
	}
	select {
	case a := <-ch:
		if a.err != nil {
			return a.err
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(a.result, result)
	case <-e.done:
		return fmt.Errorf("%s (id %d): %w", method, id, e.Err())
	case <-ctx.Done():
		return fmt.Errorf("%s (id %d): %w", method, id, ctx.Err())
	}
}

// Go sends a request without waiting and returns its id.
func (e *Editor) Go(method string, params any) (int, <-chan answer, error) {
	e.mu.Lock()
	e.next++
	id, ch := e.next, make(chan answer, 1)
	e.answers[id] = ch
	e.mu.Unlock()
	return id, ch, e.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

// Notify sends a notification.
func (e *Editor) Notify(method string, params any) error {
	return e.send(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

func (e *Editor) send(m any) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return e.Write(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(b), b))
}

// Write sends bytes as they are.
func (e *Editor) Write(s string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err := io.WriteString(e.out, s)
	return err
}

// Close closes the server's input, as an editor that goes away does.
func (e *Editor) Close() error { return e.out.Close() }

// Done is closed when the server's output has ended.
func (e *Editor) Done() <-chan struct{} { return e.done }

// Err says why the server's output ended.
func (e *Editor) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// Stray returns what the server wrote that is no message.
func (e *Editor) Stray() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stray
}

// Events returns the events so far.
func (e *Editor) Events() []wire.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.events[:len(e.events):len(e.events)]
}

// WaitEvent returns the first event from index from on that match accepts, and
// the index after it, waiting for it.
func (e *Editor) WaitEvent(ctx context.Context, from int, match func(wire.Event) bool) (wire.Event, int, error) {
	for {
		e.mu.Lock()
		events, changed := e.events, e.changed
		e.mu.Unlock()
		for ; from < len(events); from++ {
			if match(events[from]) {
				return events[from], from + 1, nil
			}
		}
		if err := wait(ctx, changed, e.done); err != nil {
			return wire.Event{}, from, fmt.Errorf("waiting for an event after %d others: %w", len(events), err)
		}
	}
}

func wait(ctx context.Context, changed, done <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-done:
		select {
		case <-changed:
			return nil
		default:
			return errors.New("the server is gone")
		}
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *Editor) wakeLocked() {
	close(e.changed)
	e.changed = make(chan struct{})
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
}

func (e *Editor) read(r *bufio.Reader) {
	defer close(e.done)
	for {
		body, err := e.frame(r)
		if err != nil {
			e.mu.Lock()
			e.err = fmt.Errorf("the server's output ended: %w", err)
			e.mu.Unlock()
			return
		}
		var m message
		if err := json.Unmarshal(body, &m); err != nil {
			e.note("not JSON: " + string(body))
			continue
		}
		e.take(m)
	}
}

// frame reads one message. A server writes exactly one header.
func (e *Editor) frame(r *bufio.Reader) ([]byte, error) {
	h, err := textproto.NewReader(r).ReadMIMEHeader()
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(h.Get("Content-Length"))
	if err != nil || len(h) != 1 {
		e.note(fmt.Sprint("header ", h))
	}
	body := make([]byte, max(n, 0))
	_, err = io.ReadFull(r, body)
	return body, err
}

func (e *Editor) note(s string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stray = append(e.stray, s)
}

func (e *Editor) take(m message) {
	switch {
	case m.Method == wire.MethodEvent:
		var ev wire.Event
		if err := json.Unmarshal(m.Params, &ev); err != nil {
			e.note(err.Error())
			return
		}
		e.mu.Lock()
		e.events = append(e.events, ev)
		e.wakeLocked()
		e.mu.Unlock()
		if e.OnEvent != nil {
			e.OnEvent(ev)
		}
	case m.Method == "workspace/applyEdit":
		e.applyEdit(m)
	case m.Method != "" && len(m.ID) > 0:
		e.reply(m.ID, nil, &Error{Code: -32601, Message: "no such method: " + m.Method})
	case m.Method == "":
		id, err := strconv.Atoi(strings.TrimSpace(string(m.ID)))
		e.mu.Lock()
		ch := e.answers[id]
		delete(e.answers, id)
		e.mu.Unlock()
		if err != nil || ch == nil {
			e.note("a response to nothing: " + string(m.ID) + " " + string(m.Result))
			if m.Error != nil {
				e.note(m.Error.Error())
			}
			return
		}
		ch <- answer{m.Result, m.Error}
	}
}

func (e *Editor) reply(id json.RawMessage, result any, err *Error) {
	m := map[string]any{"jsonrpc": "2.0", "id": id, "result": result}
	if err != nil {
		m = map[string]any{"jsonrpc": "2.0", "id": id, "error": err}
	}
	if err := e.send(m); err != nil {
		e.note(err.Error())
	}
}

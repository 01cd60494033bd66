package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.lsp.dev/protocol"
)

// blocker is a method that goes async, reports, and waits to be cancelled or let go.
type blocker struct {
	started chan struct{}
	free    chan struct{}
}

func newBlocker() *blocker {
	return &blocker{started: make(chan struct{}, 20000), free: make(chan struct{})}
}

func (b *blocker) method() Method {
	return Call(func(ctx context.Context, _ *struct{}) (string, error) {
		Async(ctx)
		b.started <- struct{}{}
		select {
		case <-b.free:
			return "free", nil
		case <-ctx.Done():
			return "", fmt.Errorf("waiting: %w", ctx.Err())
		}
	})
}

func with(m Methods, name string, method Method) Methods {
	m[name] = method
	return m
}

func blocking(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"block"}`
}

func cancelOf(f Framing, id string) string {
	method, member := f.cancel()
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{%q:%s}}`, method, member, id)
}

func both(t *testing.T, f func(t *testing.T, f Framing)) {
	t.Run("headers", func(t *testing.T) { f(t, Headers) })
	t.Run("lines", func(t *testing.T) { f(t, Lines) })
}

func TestJ4NumberAndStringOfOneDigitTogether(t *testing.T) {
	both(t, func(t *testing.T, f Framing) {
		b := newBlocker()
		p := dial(t, f, Options{Methods: with(basics(), "block", b.method())})
		p.send(blocking("1"), blocking(`"1"`))
		wait(t, "first", b.started)
		wait(t, "second", b.started)
		p.send(cancelOf(f, `"1"`))
		p.expect(`"1" ! -32800 cancelled`)
		close(b.free)
		p.expect(`1 = "free"`)
	})
}

func TestJ5DuplicateIDWhileRunning(t *testing.T) {
	both(t, func(t *testing.T, f Framing) {
		b := newBlocker()
		p := dial(t, f, Options{Methods: with(basics(), "block", b.method())})
		p.send(blocking("7"))
		wait(t, "start", b.started)
		p.send(blocking("7"), `{"jsonrpc":"2.0","id":7,"method":"ping"}`)
		p.expect("7 ! -32600 invalid_request", "7 ! -32600 invalid_request")
		close(b.free)
		p.expect(`7 = "free"`)
		p.send(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)
		p.expect(`7 = "pong"`)
	})
}

// TestIDIsFreeOnceAnswered: who has seen an answer may use its id again, though the
// handler has not quite ended.
func TestIDIsFreeOnceAnswered(t *testing.T) {
	seen := make(chan struct{})
	p := dial(t, Headers, Options{Methods: with(basics(), "linger", Call(func(ctx context.Context, _ *struct{}) (int, error) {
		Async(ctx)
		AfterReply(ctx, func() { <-seen })
		return 1, nil
	}))})
	p.send(`{"jsonrpc":"2.0","id":1,"method":"linger"}`)
	p.expect("1 = 1")
	p.send(ping1)
	p.expect(pong1)
	close(seen)
}

func TestC1CancelFinishedRequest(t *testing.T) {
	both(t, func(t *testing.T, f Framing) {
		p := dial(t, f, Options{})
		p.send(ping1, cancelOf(f, "1"), ping1)
		p.expect(pong1, pong1)
	})
}

func TestC1NumberIsNotString(t *testing.T) {
	b := newBlocker()
	p := dial(t, Headers, Options{Methods: with(basics(), "block", b.method())})
	p.send(blocking("1"), cancelOf(Headers, `"1"`))
	p.alive()
	close(b.free)
	p.expect(`1 = "free"`)
}

func TestC2ExactlyOneResponse(t *testing.T) {
	both(t, func(t *testing.T, f Framing) {
		b := newBlocker()
		p := dial(t, f, Options{Methods: with(basics(), "block", b.method())})
		p.send(cancelOf(f, "1"), blocking("1"))
		wait(t, "start", b.started)
		p.alive() // the early cancellation did nothing
		p.send(cancelOf(f, "1"), cancelOf(f, "1"))
		p.expect("1 ! -32800 cancelled")
		p.alive()
	})
}

// TestC2CancelRacesTheAnswer frees and cancels at once; there is one answer to each.
func TestC2CancelRacesTheAnswer(t *testing.T) {
	const n = 200
	free := make(chan struct{}, n)
	p := dial(t, Headers, Options{Methods: with(basics(), "race", Call(func(ctx context.Context, _ *struct{}) (int, error) {
		Async(ctx)
		select {
		case <-free:
			return 1, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}))})
	for i := range n {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"race"}`, i))
		go func() { free <- struct{}{} }()
		p.send(cancelOf(Headers, fmt.Sprint(i)))
		got := p.recv()
		if got != fmt.Sprintf("%d = 1", i) && got != fmt.Sprintf("%d ! -32800 cancelled", i) {
			t.Fatalf("answer %d is %s", i, got)
		}
	}
	p.alive()
}

// TestTrapCancelRace: a request is registered before its handler can go async, so a
// cancellation sent right behind it is never lost.
func TestTrapCancelRace(t *testing.T) {
	b := newBlocker()
	p := dial(t, Headers, Options{Methods: with(basics(), "block", b.method())})
	for i := range 300 {
		id := fmt.Sprint(i)
		p.send(blocking(id), cancelOf(Headers, id))
		p.expect(id + " ! -32800 cancelled")
	}
}

// TestTrapContextOutlivesHandler: contexts derived from a handler's may outlive it.
// With jsonrpc2's own context the process dies within some tens of calls.
func TestTrapContextOutlivesHandler(t *testing.T) {
	var ended atomic.Int32
	p := dial(t, Headers, Options{Methods: Methods{"derive": Call(func(ctx context.Context, _ *struct{}) (int, error) {
		child, cancel := context.WithCancel(ctx)
		_ = cancel
		context.AfterFunc(child, func() { ended.Add(1) })
		return 1, nil
	}), "count": Call(func(context.Context, *struct{}) (int32, error) { return ended.Load(), nil })}})
	const n = 2000
	for i := range n {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"derive"}`, i))
		p.expect(fmt.Sprintf("%d = 1", i))
	}
	for ended.Load() != n {
		p.send(`{"jsonrpc":"2.0","id":1,"method":"count"}`)
		p.recv()
	}
}

// TestTrapBorrowedParams: what a handler decoded stays its own when the read loop
// has long gone on. Run it with -tags jsonrpc2poison too.
func TestTrapBorrowedParams(t *testing.T) {
	type keep struct {
		raw  json.RawMessage
		any  protocol.LSPAny
		text string
	}
	var kept []keep
	rest := make(chan json.RawMessage, 1)
	p := dial(t, Lines, Options{Methods: Methods{
		"raw": Notification(func(_ context.Context, r *json.RawMessage) error {
			kept = append(kept, keep{raw: *r})
			return nil
		}),
		"cmd": Notification(func(_ context.Context, r *protocol.ExecuteCommandParams) error {
			kept = append(kept, keep{any: r.Arguments[0], text: r.Command})
			return nil
		}),
		"slow": func(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
			owned := append(json.RawMessage(nil), raw...)
			Async(ctx)
			rest <- owned
			return owned, nil
		},
		"check": Call(func(context.Context, *struct{}) (string, error) {
			for i, k := range kept {
				want := fmt.Sprintf(`{"n":%d}`, i)
				if k.raw != nil && string(k.raw) != want || k.raw == nil && (string(k.any) != want || k.text != fmt.Sprint("c", i)) {
					return fmt.Sprintf("%d: %s %s %s", i, k.raw, k.any, k.text), nil
				}
			}
			return fmt.Sprint(len(kept)), nil
		}),
	}})
	for i := 0; i < 1000; i += 2 {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"raw","params":{"n":%d}}`, i),
			fmt.Sprintf(`{"jsonrpc":"2.0","method":"cmd","params":{"command":"c%d","arguments":[{"n":%d}]}}`, i+1, i+1))
	}
	p.send(`{"jsonrpc":"2.0","id":1,"method":"check"}`)
	p.expect(`1 = "1000"`)
	p.send(`{"jsonrpc":"2.0","id":2,"method":"slow","params":{"a":[1]}}`)
	if got := wait(t, "raw params", rest); string(got) != `{"a":[1]}` {
		t.Errorf("raw params are %s", got)
	}
	p.expect(`2 = {"a":[1]}`)
}

// TestP1OrderWhileACallBlocks: 20 000 changes arrive in order while a call waits,
// and the call can be cancelled afterwards.
func TestP1OrderWhileACallBlocks(t *testing.T) {
	const n = 20000
	b := newBlocker()
	next, inversions := int32(0), 0
	p := dial(t, Headers, Options{Methods: Methods{
		"block": b.method(),
		"textDocument/didChange": Notification(func(_ context.Context, c *protocol.DidChangeTextDocumentParams) error {
			if c.TextDocument.Version != next {
				inversions++
			}
			next++
			return nil
		}),
		"seen": Call(func(context.Context, *struct{}) ([2]int, error) { return [2]int{int(next), inversions}, nil }),
	}})
	p.send(blocking("1"))
	wait(t, "call", b.started)
	var all strings.Builder
	for i := range n {
		all.WriteString(frame(Headers, fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///a","version":%d},"contentChanges":[{"text":"x"}]}}`, i)))
	}
	if _, err := p.in.WriteString(all.String()); err != nil {
		t.Fatal(err)
	}
	p.send(`{"jsonrpc":"2.0","id":2,"method":"seen"}`)
	p.expect(fmt.Sprintf("2 = [%d,0]", n))
	p.send(cancelOf(Headers, "1"))
	p.expect("1 ! -32800 cancelled")
}

// TestP2TooManyRequests: of 10 000 at once, 256 run and each of the rest is refused.
func TestP2TooManyRequests(t *testing.T) {
	both(t, func(t *testing.T, f Framing) {
		const n = 10000
		b := newBlocker()
		p := dial(t, f, Options{Methods: with(basics(), "block", b.method())})
		go func() {
			for i := range n {
				p.in.WriteString(frame(f, blocking(fmt.Sprint(i))))
			}
		}()
		for i := maxRequests; i < n; i++ {
			p.expect(fmt.Sprintf("%d ! -31017 overloaded", i))
		}
		close(b.free)
		got := map[string]bool{}
		for range maxRequests {
			got[p.recv()] = true
		}
		for i := range maxRequests {
			if !got[fmt.Sprintf(`%d = "free"`, i)] {
				t.Errorf("no answer to %d", i)
			}
		}
		p.alive()
	})
}

func TestOverloadedSaysWhenToRetry(t *testing.T) {
	b := newBlocker()
	p := dial(t, Headers, Options{Methods: with(basics(), "block", b.method())})
	for i := range maxRequests + 1 {
		p.send(blocking(fmt.Sprint(i)))
	}
	want := `{"jsonrpc":"2.0","id":256,"error":{"code":-31017,"message":"256 requests are running","data":{"kind":"overloaded","retryable":true,"retryAfterMs":250}}}`
	if got := p.body(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	close(b.free)
}

// mad panics when it is encoded.
type mad struct{}

func (mad) MarshalJSON() ([]byte, error) { panic("mad") }

func TestHandlerErrors(t *testing.T) {
	fails := func(err error) Method {
		return Call(func(context.Context, *struct{}) (any, error) { return nil, err })
	}
	coded := &Error{Code: -31005, Message: "busy", Data: map[string]any{"kind": "turn_busy", "html": "<&>"}}
	p := dial(t, Headers, Options{Methods: Methods{
		"plain":     fails(errors.New("disk \"full\" \xff")),
		"coded":     fails(coded),
		"wrapped":   fails(fmt.Errorf("starting: %w", coded)),
		"cancelled": fails(fmt.Errorf("model: %w", context.Canceled)),
		"deadline":  fails(context.DeadlineExceeded),
		"bad data":  fails(&Error{Code: 5, Message: "x", Data: func() {}}),
		"mad data":  fails(&Error{Code: 5, Message: "x", Data: mad{}}),
		"bad value": Call(func(context.Context, *struct{}) (any, error) { return func() {}, nil }),
		"panic":     Call(func(context.Context, *struct{}) (any, error) { panic("a fault") }),
		"nil":       Call(func(context.Context, *struct{}) (*int, error) { return nil, nil }),
	}})
	for name, want := range map[string]string{
		"plain":     `"error":{"code":-32803,"message":"disk \"full\" ` + "\uFFFD" + `"}`,
		"coded":     `"error":{"code":-31005,"message":"busy","data":{"html":"<&>","kind":"turn_busy"}}`,
		"wrapped":   `"error":{"code":-31005,"message":"starting: busy","data":{"html":"<&>","kind":"turn_busy"}}`,
		"cancelled": `"error":{"code":-32800,"message":"cancelled","data":{"kind":"cancelled","retryable":false}}`,
		"deadline":  `"error":{"code":-32803,"message":"context deadline exceeded"}`,
		"bad data":  `"error":{"code":5,"message":"x"}`,
		"mad data":  `"error":{"code":5,"message":"x"}`,
		"bad value": `"error":{"code":-32803,"message":"json: unsupported type: func()"}`,
		"panic":     `"error":{"code":-32603,"message":"internal error in panic","data":{"kind":"internal_error","retryable":false}}`,
		"nil":       `"result":null`,
	} {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q}`, name))
		if diff := cmp.Diff(`{"jsonrpc":"2.0","id":1,`+want+`}`, p.body()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	log := p.log.String()
	if !strings.Contains(log, "a fault") || !strings.Contains(log, "handler_test.go") {
		t.Errorf("panic is not in the log with its stack:\n%s", log)
	}
}

// TestPanicAfterAsync: the read loop has gone on, the connection must live.
func TestPanicAfterAsync(t *testing.T) {
	p := dial(t, Headers, Options{Methods: with(basics(), "late", Call(func(ctx context.Context, _ *struct{}) (int, error) {
		Async(ctx)
		Async(ctx)
		panic("late")
	}))})
	p.send(`{"jsonrpc":"2.0","id":1,"method":"late"}`)
	p.expect("1 ! -32603 internal_error")
	p.alive()
}

func TestAsyncOutsideAHandler(t *testing.T) {
	Async(context.Background())
	AfterReply(context.Background(), func() { t.Error("ran") })
	var kept context.Context
	p := dial(t, Headers, Options{Methods: with(basics(), "keep", Call(func(ctx context.Context, _ *struct{}) (int, error) {
		kept = ctx
		return 1, nil
	}))})
	p.send(`{"jsonrpc":"2.0","id":1,"method":"keep"}`)
	p.expect("1 = 1")
	Async(kept) // the request is over and recycled
	AfterReply(kept, func() { t.Error("ran") })
	for range 100 {
		p.alive()
	}
}

// TestAfterReply: events of an attach follow its answer, inline and async.
func TestAfterReply(t *testing.T) {
	var conn *Conn
	attach := func(async bool) Method {
		return Call(func(ctx context.Context, _ *struct{}) (string, error) {
			if async {
				Async(ctx)
			}
			AfterReply(ctx, func() { conn.Notify("event", 2) })
			AfterReply(ctx, func() { panic("hook") })
			AfterReply(ctx, func() { conn.Notify("event", 3) })
			conn.Notify("event", 1)
			return "attached", nil
		})
	}
	p := dial(t, Headers, Options{Methods: with(with(basics(), "inline", attach(false)), "async", attach(true))})
	conn = p.conn
	for i := range 100 {
		id := fmt.Sprint(i)
		p.send(`{"jsonrpc":"2.0","id":`+id+`,"method":"inline"}`, `{"jsonrpc":"2.0","id":`+id+`,"method":"async"}`)
		for range 2 {
			p.expect("event 1", id+` = "attached"`, "event 2", "event 3")
		}
	}
}

// TestGate runs the life cycle of LSP (cases L1, L2) over a small gate.
func TestGate(t *testing.T) {
	type state int
	const (
		fresh state = iota
		serving
		down
	)
	now := fresh
	var notes atomic.Int32
	p := dial(t, Headers, Options{
		Gate: func(method string, call bool) error {
			switch {
			case method == "exit":
				return nil
			case now == fresh && method != "initialize":
				return &Error{Code: -32002, Message: "not initialized", Data: detail{Kind: "not_initialized"}}
			case now == serving && method == "initialize", now == down:
				return invalidRequest("out of order")
			case method == "gate/panic":
				panic("gate")
			}
			return nil
		},
		Methods: with(with(with(basics(),
			"initialize", Call(func(context.Context, *struct{}) (int, error) { now = serving; return 1, nil })),
			"shutdown", Call(func(context.Context, *struct{}) (any, error) { now = down; return nil, nil })),
			"textDocument/didOpen", Notification(func(context.Context, *struct{}) error { notes.Add(1); return nil })),
	})
	note := `{"jsonrpc":"2.0","method":"textDocument/didOpen"}`
	call := func(id, method string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q}`, id, method)
	}
	p.send(note, ping1, call("2", "unknown"))
	p.expect("1 ! -32002 not_initialized", "2 ! -32002 not_initialized")
	p.send(call("3", "initialize"), ping1, note, call("4", "initialize"), call("5", "gate/panic"))
	p.expect("3 = 1", pong1, "4 ! -32600 invalid_request", "5 ! -32603 internal_error")
	p.send(call("6", "shutdown"), note, ping1, call("7", "shutdown"))
	p.expect("6 = null", "1 ! -32600 invalid_request", "7 ! -32600 invalid_request")
	if n := notes.Load(); n != 1 {
		t.Errorf("%d notifications passed the gate, want 1", n)
	}
}

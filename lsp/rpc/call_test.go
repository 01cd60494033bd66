package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ask starts a call on the connection and returns its outcome.
func ask(p *peer, ctx context.Context, result any) <-chan error {
	done := make(chan error, 1)
	go func() { done <- p.conn.Call(ctx, "ask", map[string]int{"n": 1}, result) }()
	return done
}

func TestCall(t *testing.T) {
	for name, c := range map[string]struct {
		reply  string // of the peer; %d is the id
		result string
		err    string
	}{
		"result":           {reply: `{"jsonrpc":"2.0","id":%d,"result":{"a":1}}`, result: `{"a":1}`},
		"null":             {reply: `{"jsonrpc":"2.0","id":%d,"result":null}`},
		"null error":       {reply: `{"jsonrpc":"2.0","id":%d,"result":2,"error":null}`, result: "2"},
		"without version":  {reply: `{"id":%d,"result":3}`, result: "3"},
		"error":            {reply: `{"jsonrpc":"2.0","id":%d,"error":{"code":-5,"message":"no","data":[1]}}`, err: `-5 no [1]`},
		"null result":      {reply: `{"jsonrpc":"2.0","id":%d,"result":null,"error":{"code":-5,"message":"no"}}`, err: `-5 no null`},
		"error as string":  {reply: `{"jsonrpc":"2.0","id":%d,"error":"no"}`, err: `-32603 malformed error object: json: cannot unmarshal string into Go value of type struct { Code int "json:\"code\""; Message string "json:\"message\""; Data json.RawMessage "json:\"data\"" } "no"`},
		"result that errs": {reply: `{"jsonrpc":"2.0","id":%d,"result":"x","error":null}`, result: `"x"`},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, f Framing) {
				p := dial(t, f, Options{})
				var result json.RawMessage
				done := ask(p, context.Background(), &result)
				p.expect(`1 ask {"n":1}`)
				p.send(fmt.Sprintf(c.reply, 1))
				err := wait(t, "answer", done)
				got := ""
				if e, ok := errors.AsType[*Error](err); ok {
					data, _ := json.Marshal(e.Data)
					got = fmt.Sprintf("%d %s %s", e.Code, e.Message, data)
				} else if err != nil {
					t.Fatal(err)
				}
				if got != c.err || string(result) != c.result {
					t.Errorf("got %s, %q; want %s, %q", result, got, c.result, c.err)
				}
			})
		})
	}
}

func TestCallDecodesItsResult(t *testing.T) {
	p := dial(t, Headers, Options{})
	var n int
	done := ask(p, context.Background(), &n)
	p.expect(`1 ask {"n":1}`)
	p.send(`{"jsonrpc":"2.0","id":1,"result":"x"}`)
	if err := wait(t, "answer", done); err == nil || !strings.HasPrefix(err.Error(), "decoding the result of ask: ") {
		t.Errorf("got %v", err)
	}
	done = ask(p, context.Background(), nil)
	p.expect(`2 ask {"n":1}`)
	p.send(`{"jsonrpc":"2.0","id":2,"result":"x"}`)
	if err := wait(t, "answer", done); err != nil {
		t.Errorf("got %v", err)
	}
}

// TestJ9LateResponse: after a deadline the peer is told, and its late answer is
// ignored.
func TestJ9LateResponse(t *testing.T) {
	both(t, func(t *testing.T, f Framing) {
		p := dial(t, f, Options{})
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if err := wait(t, "deadline", ask(p, ctx, nil)); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		p.expect(`1 ask {"n":1}`)
		if diff := cmp.Diff(cancelOf(f, "1"), p.body()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		p.send(`{"jsonrpc":"2.0","id":1,"result":1}`, `{"jsonrpc":"2.0","id":1,"result":1}`)
		p.alive()
		if log := p.log.String(); strings.Count(log, "ignored a response to no open request") != 2 {
			t.Errorf("late answers not logged:\n%s", log)
		}
		if n := len(p.conn.calls.open); n != 0 {
			t.Errorf("%d calls leaked", n)
		}
	})
}

// TestC3CancelWhileWaitingForTheClient: the cancellation of a request reaches the
// request it made in turn.
func TestC3CancelWhileWaitingForTheClient(t *testing.T) {
	both(t, func(t *testing.T, f Framing) {
		var conn *Conn
		p := dial(t, f, Options{Methods: with(basics(), "outer", Call(func(ctx context.Context, _ *struct{}) (int, error) {
			Async(ctx)
			var n int
			err := conn.Call(ctx, "ask", nil, &n)
			return n, err
		}))})
		conn = p.conn
		p.send(`{"jsonrpc":"2.0","id":"o","method":"outer"}`)
		p.expect("1 ask ")
		p.send(cancelOf(f, `"o"`))
		if diff := cmp.Diff(cancelOf(f, "1"), p.body()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		p.expect(`"o" ! -32800 cancelled`)

		p.send(`{"jsonrpc":"2.0","id":"o","method":"outer"}`)
		p.expect("2 ask ")
		p.send(`{"jsonrpc":"2.0","id":2,"result":5}`)
		p.expect(`"o" = 5`)
	})
}

// TestP5NotificationHandlerNeedsTheClient: called on the read loop, Call fails at
// once instead of for ever; the way is to enqueue.
func TestP5NotificationHandlerNeedsTheClient(t *testing.T) {
	both(t, func(t *testing.T, f Framing) {
		var conn *Conn
		work := make(chan struct{}, 1)
		inline, queued := make(chan error, 1), make(chan error, 1)
		p := dial(t, f, Options{Methods: with(with(basics(),
			"inline", Notification(func(ctx context.Context, _ *struct{}) error {
				inline <- conn.Call(ctx, "ask", nil, nil)
				return nil
			})),
			"queued", Notification(func(context.Context, *struct{}) error {
				work <- struct{}{}
				return nil
			}))})
		conn = p.conn
		go func() {
			<-work
			queued <- conn.Call(context.Background(), "ask", nil, nil)
		}()
		p.send(`{"jsonrpc":"2.0","method":"inline"}`)
		if err := wait(t, "inline", inline); err == nil {
			t.Error("a call on the read loop did not fail")
		}
		p.send(`{"jsonrpc":"2.0","method":"queued"}`)
		p.expect("1 ask ")
		p.send(`{"jsonrpc":"2.0","id":1,"result":1}`)
		if err := wait(t, "queued", queued); err != nil {
			t.Error(err)
		}
	})
}

// TestP4ClientNeverAnswers: the end of the connection ends the call.
func TestP4ClientNeverAnswers(t *testing.T) {
	p := dial(t, Headers, Options{})
	done := ask(p, context.Background(), nil)
	p.expect(`1 ask {"n":1}`)
	p.in.Close()
	if err := wait(t, "end", done); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

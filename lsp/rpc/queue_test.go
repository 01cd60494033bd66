package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// gatedWriter lets one Write through per token.
type gatedWriter struct {
	gate chan struct{}
	mu   sync.Mutex
	got  [][]byte
}

func (w *gatedWriter) Write(b []byte) (int, error) {
	<-w.gate
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got = append(w.got, bytes.Clone(b))
	return len(b), nil
}

func (w *gatedWriter) all() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Join(w.got, nil)
}

// quiet is input that never comes.
type quiet struct{}

func (quiet) Read([]byte) (int, error) { select {} }

func TestWritesAreWholeMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &gatedWriter{gate: make(chan struct{})}
		c := New(Options{In: quiet{}, Out: w})
		c.Notify("a", 1)
		synctest.Wait() // the writer holds the first message
		c.Notify("a", 2)
		c.Notify("a", 3)
		w.gate <- struct{}{}
		w.gate <- struct{}{}
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(w.got) != 2 {
			t.Errorf("%d writes, want the first message and a join of two", len(w.got))
		}
		for i, want := range []string{"a 1", "a 2 a 3"} {
			if got := strings.Join(briefs(unframeAll(t, Headers, w.got[i])), " "); got != want {
				t.Errorf("write %d holds %s, want %s", i, got, want)
			}
		}
	})
}

func TestFlushWaitsForWhatWasHandedIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &gatedWriter{gate: make(chan struct{})}
		c := New(Options{In: quiet{}, Out: w})
		if err := c.Flush(t.Context()); err != nil {
			t.Errorf("flush of nothing: %v", err)
		}
		c.Notify("a", 1)
		flushed := false
		go func() {
			c.Flush(t.Context())
			flushed = true
		}()
		synctest.Wait()
		if flushed {
			t.Error("flushed before it was written")
		}
		w.gate <- struct{}{}
		synctest.Wait()
		if !flushed {
			t.Error("not flushed after it was written")
		}
		c.Notify("a", 2)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Flush(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if err := c.Close(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		close(w.gate)
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := c.Notify("a", 3); !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	})
}

// TestP3SlowReader streams to a peer that does not read: the queue stays small, the
// stream waits, and every event arrives once it reads again.
func TestP3SlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &gatedWriter{gate: make(chan struct{})}
		c := New(Options{In: quiet{}, Out: w})
		const n = 1000
		text := strings.Repeat("x", 4<<10)
		sent := 0
		go func() {
			for i := range n {
				if err := c.NotifyWait(t.Context(), "event", fmt.Sprint(i, text)); err != nil {
					t.Error(err)
				}
				sent++
			}
		}()
		synctest.Wait()
		if queued := c.out.in - c.out.out; sent == n || queued > lowWater+8<<10 {
			t.Errorf("%d of %d events sent, %d bytes queued", sent, n, queued)
		}
		if err := c.Notify("small", nil); err != nil {
			t.Errorf("others must still get in: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.NotifyWait(ctx, "event", 1); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		close(w.gate)
		synctest.Wait()
		if sent != n {
			t.Errorf("%d of %d events sent", sent, n)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		events := 0
		for _, body := range unframeAll(t, Headers, w.all()) {
			if strings.Contains(body, `"method":"event"`) {
				if !strings.Contains(body, fmt.Sprintf(`"params":"%dxxx`, events)) {
					t.Fatalf("event %d is %.80s", events, body)
				}
				events++
			}
		}
		if events != n {
			t.Errorf("%d events written, want %d", events, n)
		}
	})
}

func TestNotifyWaitEndsWithTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &gatedWriter{gate: make(chan struct{})}
		c := New(Options{In: quiet{}, Out: w})
		c.Notify("big", strings.Repeat("x", 2*lowWater))
		var err error
		go func() { err = c.NotifyWait(t.Context(), "event", 1) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c.Close(ctx)
		synctest.Wait()
		if !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
		close(w.gate)
		c.Close(t.Context())
	})
}

// TestRP12StoppedReader: a peer that stops reading but goes on sending still has its
// cancellation obeyed, and requests are refused once 32 MiB wait for it.
func TestRP12StoppedReader(t *testing.T) {
	ended := make(chan struct{})
	p := dial(t, Headers, Options{Methods: Methods{"turn": Call(func(ctx context.Context, _ *struct{}) (int, error) {
		Async(ctx)
		<-ctx.Done()
		close(ended)
		return 0, ctx.Err()
	})}})
	p.send(`{"jsonrpc":"2.0","id":1,"method":"turn"}`)
	mega := strings.Repeat("x", 1<<20)
	events := 0
	for ; p.conn.Notify("event", mega) == nil; events++ {
	}
	if err := p.conn.Notify("event", mega); !errors.Is(err, ErrBacklog) {
		t.Errorf("got %v, want ErrBacklog", err)
	}
	if events < 32 || events > 33 {
		t.Errorf("%d MiB were queued", events)
	}
	p.send(`{"jsonrpc":"2.0","id":2,"method":"turn"}`, cancelOf(Headers, "1"))
	wait(t, "cancellation", ended)
	for range events {
		p.body()
	}
	p.expect("2 ! -31017 overloaded", "1 ! -32800 cancelled")
}

// TestNobodyReadsAnswers: answers are never refused, so a peer that takes none of
// them ends as if it had gone.
func TestNobodyReadsAnswers(t *testing.T) {
	answer := json.RawMessage(`"` + strings.Repeat("x", 4<<20) + `"`)
	started, free := make(chan struct{}), make(chan struct{})
	p := dial(t, Headers, Options{Methods: Methods{"huge": Call(func(ctx context.Context, _ *struct{}) (json.RawMessage, error) {
		Async(ctx)
		started <- struct{}{}
		<-free
		return answer, nil
	})}})
	for i := range 20 {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"huge"}`, i))
		wait(t, "start", started)
	}
	close(free)
	if err := wait(t, "end", p.ran); !errors.Is(err, ErrBacklog) {
		t.Errorf("got %v, want ErrBacklog", err)
	}
}

// brokenPipe fails after n writes.
type brokenPipe struct{ n int }

func (b *brokenPipe) Write(p []byte) (int, error) {
	if b.n--; b.n < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

// TestD2BrokenOutput ends the connection like end of input.
func TestD2BrokenOutput(t *testing.T) {
	b := newBlocker()
	p := dial(t, Headers, Options{Methods: with(basics(), "block", b.method())})
	p.send(blocking("1"))
	wait(t, "start", b.started)
	p.out.Close()
	p.send(ping2)
	if err := wait(t, "end", p.ran); err == nil || !strings.HasPrefix(err.Error(), "writing to the peer: ") {
		t.Errorf("Run returned %v", err)
	}
	<-p.conn.Done()
	if err := p.conn.running.close(t.Context()); err != nil {
		t.Errorf("handler not cancelled: %v", err)
	}

	c := New(Options{In: quiet{}, Out: &brokenPipe{n: 1}})
	if err := errors.Join(c.Notify("a", 1), c.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	c.Notify("a", 2)
	if err := c.Flush(t.Context()); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Flush: got %v", err)
	}
	if err := c.Notify("a", 3); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Notify: got %v", err)
	}
	if err := c.NotifyWait(t.Context(), "a", 3); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("NotifyWait: got %v", err)
	}
	if err := c.Close(t.Context()); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Close: got %v", err)
	}
}

// TestLargeBuffersAreNotKept covers both directions.
func TestLargeBuffersAreNotKept(t *testing.T) {
	both(t, func(t *testing.T, f Framing) {
		p := dial(t, f, Options{})
		big := echo("1", `"`+strings.Repeat("x", 4<<20)+`"`)
		go p.in.WriteString(frame(f, big))
		p.body()
		if err := p.conn.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.alive()
		p.conn.out.mu.Lock()
		defer p.conn.out.mu.Unlock()
		if q := p.conn.out; cap(q.buf) > keepBuffer || cap(q.spare) > keepBuffer || cap(q.body) > keepBuffer {
			t.Errorf("kept %d, %d, %d bytes of output buffer", cap(q.buf), cap(q.spare), cap(q.body))
		}
	})
}

package rpc

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestD1EndOfInput: idle, inside a frame and during a call, the connection ends at
// once and running handlers are cancelled.
func TestD1EndOfInput(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want error
	}{
		"idle":        {frame(Headers, ping1), nil},
		"in a header": {"Content-Len", io.ErrUnexpectedEOF},
		"in a body":   {"Content-Length: 40\r\n\r\n{", io.ErrUnexpectedEOF},
		"in noise":    {"Content-Length: x\r\n\r\nnoise", nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBlocker()
			p := dial(t, Headers, Options{Methods: with(basics(), "block", b.method())})
			p.send(blocking("9"))
			wait(t, "start", b.started)
			p.in.WriteString(c.in)
			p.in.Close()
			if err := wait(t, "end", p.ran); !errors.Is(err, c.want) {
				t.Errorf("Run returned %v, want %v", err, c.want)
			}
			wait(t, "Done", p.conn.Done())
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := p.conn.Close(ctx); err != nil {
				t.Errorf("Close: %v", err)
			}
			for got := ""; got != "9 ! -32800 cancelled"; {
				got = p.recv() // the answer of the cancelled handler is still written
			}
		})
	}
}

// TestRunReturnsWhileReading: the read under way holds up nothing, and what arrives
// later is not dispatched.
func TestRunReturnsWhileReading(t *testing.T) {
	inR, inW, _ := os.Pipe()
	defer inR.Close()
	b := newBlocker()
	ran := 0
	c := New(Options{In: inR, Out: io.Discard, Methods: Methods{
		"block": b.method(),
		"count": Notification(func(context.Context, *struct{}) error { ran++; return nil }),
	}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	inW.WriteString(frames(Headers, `{"jsonrpc":"2.0","method":"count"}`, blocking("1")))
	wait(t, "start", b.started)
	cancel()
	if err := wait(t, "Run", done); !errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Errorf("Close: %v", err)
	}
	inW.WriteString(frame(Headers, `{"jsonrpc":"2.0","method":"count"}`))
	inW.Close()
	if ran != 1 {
		t.Errorf("%d notifications ran, want 1", ran)
	}
}

// TestExitFromAHandler: the exit notification ends Run, and nothing behind it runs.
func TestExitFromAHandler(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	late := false
	in := frames(Headers, `{"jsonrpc":"2.0","method":"exit"}`, `{"jsonrpc":"2.0","method":"late"}`)
	var out strings.Builder
	c := New(Options{In: strings.NewReader(in), Out: &out, Methods: Methods{
		"exit": Notification(func(context.Context, *struct{}) error { stop(); return nil }),
		"late": Notification(func(context.Context, *struct{}) error { late = true; return nil }),
	}})
	c.Run(ctx)
	for range 5000 {
		if err := c.Notify("event", 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if late {
		t.Error("a message after exit was handled")
	}
	if n := len(unframeAll(t, Headers, []byte(out.String()))); n != 5000 {
		t.Errorf("%d events written before exit, want 5000", n)
	}
}

func TestCloseEndsRun(t *testing.T) {
	p := dial(t, Headers, Options{})
	p.alive()
	if err := p.conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := wait(t, "Run", p.ran); !errors.Is(err, ErrClosed) {
		t.Errorf("Run returned %v", err)
	}
}

func TestCloseIsBounded(t *testing.T) {
	free := make(chan struct{})
	started := make(chan struct{})
	p := dial(t, Headers, Options{Methods: Methods{"deaf": Call(func(ctx context.Context, _ *struct{}) (int, error) {
		Async(ctx)
		close(started)
		<-free
		return 1, nil
	})}})
	p.send(`{"jsonrpc":"2.0","id":1,"method":"deaf"}`)
	wait(t, "start", started)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := p.conn.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	close(free)
}

// TestF8AnnouncedLengthAllocatesNothing: memory follows the bytes that arrive.
func TestF8AnnouncedLengthAllocatesNothing(t *testing.T) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.TotalAlloc
	}
	for _, n := range []string{"31457280", "2147483648"} {
		before := heap()
		in := "Content-Length: " + n + "\r\n\r\n{}"
		transcript(t, Options{In: strings.NewReader(in)})
		if grown := heap() - before; grown > 1<<20 {
			t.Errorf("length %s: allocated %d bytes", n, grown)
		}
	}
	for _, f := range []Framing{Headers, Lines} {
		before := heap()
		flood := strings.Repeat("x", 100<<10)
		in := []io.Reader{strings.NewReader("Content-Length: 2147483648\r\n\r\n")}
		if f == Lines {
			in = nil
		}
		for range 1 << 10 {
			in = append(in, strings.NewReader(flood))
		}
		transcript(t, Options{In: io.MultiReader(in...), Framing: f})
		// A line has no announced length, so it is kept up to the limit, in a
		// buffer that grows by copying.
		if grown := heap() - before; f == Headers && grown > 1<<20 || grown > 6*maxFrame {
			t.Errorf("framing %d: allocated %d bytes over 100 MiB", f, grown)
		}
	}
}

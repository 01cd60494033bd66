package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds waits for what must happen; no test relies on it running out.
const patience = 20 * time.Second

// frame writes one message the way a correct peer does.
func frame(f Framing, body string) string {
	if f == Lines {
		return body + "\n"
	}
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

func frames(f Framing, bodies ...string) string {
	var b strings.Builder
	for _, body := range bodies {
		b.WriteString(frame(f, body))
	}
	return b.String()
}

// unframe takes the first message off out, as strictly as the strictest editor.
func unframe(f Framing, out []byte) (body string, rest []byte, err error) {
	if f == Lines {
		line, rest, ok := bytes.Cut(out, []byte("\n"))
		if !ok || bytes.ContainsAny(line, "\r") {
			return "", nil, fmt.Errorf("not a line: %.100q", out)
		}
		return string(line), rest, nil
	}
	after, ok := bytes.CutPrefix(out, []byte("Content-Length: "))
	digits, rest, ok2 := bytes.Cut(after, []byte("\r\n\r\n"))
	n, err := strconv.Atoi(string(digits))
	if !ok || !ok2 || err != nil || strconv.Itoa(n) != string(digits) || n > len(rest) {
		return "", nil, fmt.Errorf("not a frame: %.100q", out)
	}
	return string(rest[:n]), rest[n:], nil
}

func unframeAll(t testing.TB, f Framing, out []byte) (bodies []string) {
	t.Helper()
	for len(out) > 0 {
		body, rest, err := unframe(f, out)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid([]byte(body)) {
			t.Fatalf("invalid JSON on the wire: %.200q", body)
		}
		bodies, out = append(bodies, body), rest
	}
	return bodies
}

// brief shortens a message to what the tables state: `1 = result`, `null ! code
// kind` or `method params`.
func brief(body string) string {
	var m struct {
		Version string `json:"jsonrpc"`
		ID      json.RawMessage
		Method  string
		Params  json.RawMessage
		Result  json.RawMessage
		Error   *struct {
			Code int
			Data struct{ Kind string }
		}
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil || m.Version != "2.0" {
		return "malformed: " + body
	}
	id := string(m.ID)
	if len(id) > 40 {
		id = fmt.Sprintf("%s…%d", id[:3], len(id))
	}
	switch {
	case m.Error != nil:
		return strings.TrimSpace(fmt.Sprintf("%s ! %d %s", id, m.Error.Code, m.Error.Data.Kind))
	case m.Method != "" && m.ID != nil:
		return fmt.Sprintf("%s %s %s", id, m.Method, m.Params)
	case m.Method != "":
		return fmt.Sprintf("%s %s", m.Method, m.Params)
	default:
		return fmt.Sprintf("%s = %s", id, m.Result)
	}
}

func briefs(bodies []string) []string {
	out := []string{}
	for _, b := range bodies {
		out = append(out, brief(b))
	}
	return out
}

// logbook collects log lines.
type logbook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logbook) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type position struct {
	Line      uint32 `json:"line"`
	Character uint32 `json:"character"`
}

type posParams struct {
	Position position `json:"position"`
}

// basics are methods that tables use.
func basics() Methods {
	return Methods{
		"ping": Call(func(context.Context, *struct{}) (string, error) { return "pong", nil }),
		"echo": Call(func(_ context.Context, p *json.RawMessage) (json.RawMessage, error) { return *p, nil }),
		"size": Call(func(_ context.Context, p *struct{ Text string }) (int, error) { return len(p.Text), nil }),
		"pos":  Call(func(_ context.Context, p *posParams) (position, error) { return p.Position, nil }),
		"fail": Call(func(context.Context, *struct{}) (int, error) { return 0, errors.New("disk full") }),
		"boom": Call(func(context.Context, *struct{}) (int, error) { panic("boom") }),
		"note": Notification(func(context.Context, *posParams) error { return nil }),
		"sour": Notification(func(context.Context, *struct{}) error { return errors.New("disk full") }),
		"bang": Notification(func(context.Context, *struct{}) error { panic("bang") }),
	}
}

// transcript runs a connection over a whole input and returns all it wrote.
func transcript(t testing.TB, o Options) []byte {
	t.Helper()
	var out bytes.Buffer
	o.Out = &out
	if o.Methods == nil {
		o.Methods = basics()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := New(o)
	if err := c.Run(ctx); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("Run: %v", err)
	}
	if err := c.Close(ctx); err != nil {
		t.Fatalf("Close: %v", err)
	}
	return out.Bytes()
}

// peer is the other end of a live connection over OS pipes.
type peer struct {
	t       testing.TB
	framing Framing
	conn    *Conn
	log     *logbook
	in      *os.File // what the connection reads
	out     *os.File // what it writes
	ran     chan error
	unread  []byte
}

// dial starts a connection; the test's end closes the pipes and waits for it.
func dial(t testing.TB, f Framing, o Options) *peer {
	t.Helper()
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, framing: f, log: new(logbook), in: inW, out: outR, ran: make(chan error, 1)}
	o.In, o.Out, o.Framing, o.Log = inR, outW, f, p.log.logger()
	if o.Methods == nil {
		o.Methods = basics()
	}
	p.conn = New(o)
	go func() { p.ran <- p.conn.Run(context.Background()) }()
	t.Cleanup(func() {
		p.hangUp()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := p.conn.running.close(ctx); err != nil {
			t.Errorf("handlers still running: %v", err)
		}
		p.conn.Close(ctx)
		inR.Close()
		outW.Close()
	})
	return p
}

func (p *peer) hangUp() {
	p.in.Close()
	p.out.Close()
}

func (p *peer) send(bodies ...string) {
	p.t.Helper()
	if _, err := p.in.WriteString(frames(p.framing, bodies...)); err != nil {
		p.t.Fatal(err)
	}
}

// body returns the next whole message.
func (p *peer) body() string {
	p.t.Helper()
	p.out.SetReadDeadline(time.Now().Add(patience))
	buf := make([]byte, 64<<10)
	for {
		if body, rest, err := unframe(p.framing, p.unread); err == nil {
			p.unread = rest
			return body
		}
		n, err := p.out.Read(buf)
		if err != nil {
			p.t.Fatalf("waiting for a message: %v; have %.200q", err, p.unread)
		}
		p.unread = append(p.unread, buf[:n]...)
	}
}

// recv returns the next message in brief.
func (p *peer) recv() string {
	p.t.Helper()
	return brief(p.body())
}

func (p *peer) expect(want ...string) {
	p.t.Helper()
	for _, w := range want {
		if got := p.recv(); got != w {
			p.t.Fatalf("got %s, want %s", got, w)
		}
	}
}

// alive checks that the connection still serves.
func (p *peer) alive() {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":"alive","method":"ping"}`)
	p.expect(`"alive" = "pong"`)
}

func wait[T any](t testing.TB, what string, ch <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(patience):
		t.Fatalf("gave up waiting for %s", what)
	}
	return v
}

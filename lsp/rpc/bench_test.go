package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"go.lsp.dev/protocol"
)

// drain reads frames the cheap way.
func drain(b *testing.B, r *bufio.Reader, n int) {
	b.Helper()
	if _, err := r.Discard(n); err != nil {
		b.Fatal(err)
	}
}

func benchRoundTrip(b *testing.B, size int) {
	p := dial(b, Headers, Options{Methods: Methods{
		"echo": Call(func(_ context.Context, r *json.RawMessage) (json.RawMessage, error) { return *r, nil }),
	}})
	params := `"` + strings.Repeat("x", size) + `"`
	in := []byte(frame(Headers, echo("1", params)))
	out := len(frame(Headers, `{"jsonrpc":"2.0","id":1,"result":`+params+`}`))
	r := bufio.NewReaderSize(p.out, 64<<10)
	b.SetBytes(int64(len(in) + out))
	b.ReportAllocs()
	for b.Loop() {
		if size > 32<<10 {
			go p.in.Write(in)
		} else if _, err := p.in.Write(in); err != nil {
			b.Fatal(err)
		}
		drain(b, r, out)
	}
}

func BenchmarkRoundTrip64B(b *testing.B)  { benchRoundTrip(b, 64) }
func BenchmarkRoundTrip64kB(b *testing.B) { benchRoundTrip(b, 64<<10) }
func BenchmarkRoundTrip1MB(b *testing.B)  { benchRoundTrip(b, 1<<20) }

// BenchmarkDidChange is incoming notifications, decoded.
func BenchmarkDidChange(b *testing.B) {
	const batch = 1000
	one := frame(Headers, `{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///home/u/main.go","version":7},"contentChanges":[{"range":{"start":{"line":1,"character":2},"end":{"line":1,"character":3}},"text":"x"}]}}`)
	in := []byte(strings.Repeat(one, batch) + frame(Headers, ping1))
	p := dial(b, Headers, Options{Methods: with(basics(), "textDocument/didChange",
		Notification(func(context.Context, *protocol.DidChangeTextDocumentParams) error { return nil }))})
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if n++; n%batch == 0 {
			p.in.Write(in)
			p.expect(pong1)
		}
	}
}

// BenchmarkNotify is outgoing events.
func BenchmarkNotify(b *testing.B) {
	c := New(Options{In: quiet{}, Out: io.Discard})
	event := ours{Name: "item.delta", N: 7}
	b.ReportAllocs()
	for b.Loop() {
		if err := c.NotifyWait(b.Context(), "shiro/event", event); err != nil {
			b.Fatal(err)
		}
	}
	if err := c.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
}

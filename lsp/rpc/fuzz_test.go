package rpc

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"

	"go.lsp.dev/jsonrpc2"
)

// sameWhole checks that how input is cut into reads changes nothing, and that a
// good message behind it, after a line end, is still answered.
func sameWhole(t *testing.T, f Framing, in []byte) {
	t.Helper()
	if f == Lines {
		in = append(in, '\n')
	}
	in = append(in, frame(f, ping2)...)
	whole := transcript(t, Options{In: bytes.NewReader(in), Framing: f})
	unframeAll(t, f, whole)
	for _, r := range []io.Reader{
		iotest.OneByteReader(bytes.NewReader(in)),
		iotest.HalfReader(bytes.NewReader(in)),
		iotest.DataErrReader(bytes.NewReader(in)),
	} {
		if got := transcript(t, Options{In: r, Framing: f}); !bytes.Equal(got, whole) {
			t.Errorf("in pieces:\n%s\nwhole:\n%s", got, whole)
		}
	}
}

func seed(f *testing.F, cases []wireCase) {
	for _, c := range cases {
		if len(c.in) < 64<<10 {
			f.Add([]byte(c.in))
		}
	}
}

func FuzzHeader(f *testing.F) {
	seed(f, headerCases())
	f.Fuzz(func(t *testing.T, in []byte) { sameWhole(t, Headers, in) })
}

func FuzzLine(f *testing.F) {
	seed(f, lineCases())
	seed(f, messageCases())
	f.Fuzz(func(t *testing.T, in []byte) {
		sameWhole(t, Lines, in)
		out := transcript(t, Options{In: bytes.NewReader(append(in, "\n"+ping2...)), Framing: Lines})
		if !bytes.HasSuffix(out, []byte(`{"jsonrpc":"2.0","id":2,"result":"pong"}`+"\n")) {
			t.Errorf("the next line was not answered: %q", out)
		}
	})
}

// FuzzMessage checks one message in a good frame: at most one answer, the next
// request served, and that what is passed on is what jsonrpc2 itself reads there.
func FuzzMessage(f *testing.F) {
	seed(f, messageCases())
	f.Fuzz(func(t *testing.T, in []byte) {
		out := unframeAll(t, Headers, transcript(t, Options{In: bytes.NewReader([]byte(frames(Headers, string(in), ping2)))}))
		if len(out) == 0 || len(out) > 2 || brief(out[len(out)-1]) != pong2 {
			t.Fatalf("answers: %q", out)
		}
		m, bad := scan(in)
		if bad != nil || m.isResponse() {
			return
		}
		got, id, bad := m.request(Headers)
		if bad != nil {
			return
		}
		theirs, err := jsonrpc2.DecodeMessage(bytes.TrimPrefix(in, []byte("\uFEFF")))
		if n, ok := theirs.(*jsonrpc2.Call); ok && err == nil {
			mine, ok := got.(*jsonrpc2.Call)
			if !ok || string(mine.Params()) != string(n.Params()) || mine.ID() != id {
				t.Errorf("got %+v, jsonrpc2 reads %+v", got, n)
			}
		}
	})
}

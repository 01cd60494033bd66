package provider

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"shiro/agent/provider/providertest"
	"shiro/memory/transcript"
)

const benchDeltas = 5000

// BenchmarkStream is the cost of one delta from the bytes of the mock's stream to
// the caller, without the cost of the mock and the socket.
func BenchmarkStream(b *testing.B) {
	for _, api := range []string{Responses, Chat} {
		b.Run(api, func(b *testing.B) {
			mock := startMock(b, providertest.Options{Fallback: providertest.Say(strings.Repeat("0123456789abcdef", benchDeltas))})
			c := newClient(b, mock, Options{API: api})
			if _, err := c.Stream(b.Context(), ask("x"), nil); err != nil {
				b.Fatal(err)
			}
			canned := cannedClient(api, captured(b, mock, api))
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				if _, err := canned.Stream(b.Context(), ask("x"), func(Delta) { n++ }); err != nil {
					b.Fatal(err)
				}
			}
			if n != b.N*benchDeltas {
				b.Fatalf("%d deltas", n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/delta")
		})
	}
}

// captured is the stream that the mock sends, without the client.
func captured(b *testing.B, s *providertest.Server, api string) string {
	b.Helper()
	path := map[string]string{Responses: "/responses", Chat: "/chat/completions"}[api]
	res, err := http.Post(s.URL()+path, "application/json", strings.NewReader(string(s.Requests()[0].Body)))
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

// BenchmarkEncode is the cost of a body late in a long conversation, with and
// without the cache.
func BenchmarkEncode(b *testing.B) {
	var ms []*transcript.Message
	for n := range 300 {
		call := transcript.Part{Type: transcript.TypeToolCall, ToolCallID: fmt.Sprint("call_", n), ToolName: "read_file", Input: []byte(`{"path":"a.go"}`)}
		ms = append(ms, transcript.Assistant(transcript.Text("Reading."), call),
			transcript.Tool(transcript.Result(call, transcript.Output{Type: transcript.OutputText, Text: strings.Repeat("line of a file\n", 130)}, true)))
	}
	for _, api := range []string{Responses, Chat} {
		c := New(Options{API: api, BaseURL: "http://model.test/v1"})
		for name, cache := range map[string]*Cache{"cold": nil, "warm": {}} {
			b.Run(api+"/"+name, func(b *testing.B) {
				r := ask("x")
				r.Messages, r.Cache = ms, cache
				b.ReportAllocs()
				for b.Loop() {
					body, err := c.encode(r, 0)
					if err != nil {
						b.Fatal(err)
					}
					b.SetBytes(int64(len(body.json)))
				}
			})
		}
	}
}

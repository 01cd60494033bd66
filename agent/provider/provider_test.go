package provider

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"shiro/agent/provider/providertest"
	"shiro/memory/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// apis runs f once for each wire.
func apis(t *testing.T, f func(t *testing.T, api string)) {
	for _, api := range []string{Responses, Chat} {
		t.Run(api, func(t *testing.T) { f(t, api) })
	}
}

func startMock(t testing.TB, o providertest.Options) *providertest.Server {
	t.Helper()
	s, err := providertest.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func script(t testing.TB, steps ...providertest.Step) *providertest.Server {
	t.Helper()
	return startMock(t, providertest.Options{Script: steps})
}

func newClient(t testing.TB, s *providertest.Server, o Options) *Client {
	t.Helper()
	o.BaseURL = s.URL()
	c := New(o)
	t.Cleanup(c.Close)
	return c
}

func noViolations(t testing.TB, s *providertest.Server) {
	t.Helper()
	for _, v := range s.Violations() {
		t.Errorf("%v", v)
	}
}

var tools = []Tool{
	{Name: "read_file", Description: "Read a file.", Schema: json.RawMessage(`{ "type": "object", "properties": {"path": {"type": "string"}} }`)},
	{Name: "list", Description: "List files."},
}

func ask(text string) *Request {
	return &Request{Model: "gpt-5", Effort: "medium", System: "You help.", Tools: tools, Messages: []*transcript.Message{transcript.User(text)}}
}

// say is what a stream showed, joined by part.
func say(deltas []Delta) []Delta {
	var joined []Delta
	for _, d := range deltas {
		if n := len(joined); n > 0 && joined[n-1].Part == d.Part && joined[n-1].Channel == d.Channel {
			joined[n-1].Text += d.Text
			continue
		}
		joined = append(joined, d)
	}
	return joined
}

func stream(t testing.TB, c *Client, r *Request) (*Response, []Delta) {
	t.Helper()
	var deltas []Delta
	res, err := c.Stream(t.Context(), r, func(d Delta) { deltas = append(deltas, d) })
	if err != nil {
		t.Fatalf("stream: %v", err)
	}
	return res, say(deltas)
}

func refused(t testing.TB, c *Client, r *Request) *Error {
	t.Helper()
	res, err := c.Stream(t.Context(), r, nil)
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %+v and error %v, want an *Error", res, err)
	}
	if res != nil {
		t.Errorf("a response beside the error: %+v", res)
	}
	return e
}

// brief is a response without ids and options, for comparing what was said.
func brief(r *Response) []string {
	var out []string
	for _, p := range r.Parts {
		switch p.Type {
		case transcript.TypeToolCall:
			out = append(out, "call "+p.ToolName+" "+string(p.Input))
		default:
			out = append(out, p.Type+" "+p.Text)
		}
	}
	return out
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// canned answers every request with body, without a network.
type canned struct {
	status int
	header http.Header
	body   func(ctx context.Context) io.ReadCloser
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	h := c.header
	if h == nil {
		h = http.Header{}
	}
	return &http.Response{StatusCode: c.status, Header: h, Body: c.body(r.Context()), Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

// cannedClient is a client whose server answers with these bytes.
func cannedClient(api, body string) *Client {
	return New(Options{API: api, BaseURL: "http://model.test/v1", APIKey: "key-0123456789", HTTP: &http.Client{Transport: canned{
		status: http.StatusOK,
		body:   func(context.Context) io.ReadCloser { return io.NopCloser(strings.NewReader(body)) },
	}}})
}

func within(t testing.TB, limit time.Duration, what string, f func()) {
	t.Helper()
	begin := time.Now()
	f()
	if d := time.Since(begin); d > limit {
		t.Errorf("%s took %v, want at most %v", what, d, limit)
	}
}

func TestAnAnswerOfEveryKindOfPart(t *testing.T) {
	apis(t, func(t *testing.T, api string) {
		for name, shape := range map[string]func(providertest.Step) providertest.Step{
			"at once":   func(s providertest.Step) providertest.Step { return s },
			"bytewise":  providertest.Step.Bytewise,
			"one byte":  func(s providertest.Step) providertest.Step { return s.Chunk(1) },
			"one delta": func(s providertest.Step) providertest.Step { return s.Chunk(1 << 20) },
		} {
			t.Run(name, func(t *testing.T) {
				s := script(t, shape(providertest.Reply(
					providertest.Reasoning("weighing 渐😀é"),
					providertest.Text("Reading \"渐😀é\"\n"),
					providertest.Call("read_file", map[string]string{"path": "渐😀é.txt"}).ID("call_1"),
					providertest.Call("list", nil).ID("call_2"),
				).Usage(providertest.Usage{Input: 100, Cached: 60, Output: 40, Reasoning: 10})))
				res, deltas := stream(t, newClient(t, s, Options{API: api}), ask("hi"))
				same(t, "parts", brief(res), []string{
					"reasoning weighing 渐😀é", "text Reading \"渐😀é\"\n", `call read_file {"path":"渐😀é.txt"}`, "call list {}",
				})
				same(t, "usage", res.Usage, Usage{Input: 100, Cached: 60, Output: 40, Reasoning: 10, Known: true})
				same(t, "stop", res.Stop, StopEnd)
				same(t, "deltas", deltas, []Delta{
					{Channel: Reasoning, Part: 0, Text: "weighing 渐😀é"},
					{Channel: Text, Part: 1, Text: "Reading \"渐😀é\"\n"},
					{Channel: Args, Part: 2, CallID: "call_1", Tool: "read_file", Text: `{"path":"渐😀é.txt"}`},
					{Channel: Args, Part: 3, CallID: "call_2", Tool: "list", Text: "{}"},
				})
				noViolations(t, s)
			})
		}
	})
}

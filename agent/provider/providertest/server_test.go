package providertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

const askChat = `{"model":"m","stream":true,"tools":[{"type":"function","function":{"name":"list","parameters":{"type":"object"}}}],"messages":[{"role":"user","content":"q"}]}`

func askResponses() string { return with(responses(user), `"model"`, `"stream":true,"model"`) }

func TestStepsAnswerInOrder(t *testing.T) {
	s := start(t, Options{
		Script: []Step{Say("one"), Func(func(r Request) Step { return Say("asked " + strings.Join(r.Users(), "|")) })},
		Side:   Say("side"), Fallback: Say("fallback"),
	})
	s.Script(Say("three"))
	noTools := `{"model":"m","stream":true,"messages":[{"role":"user","content":"q"}]}`
	for i, want := range []string{"one", "asked q", "side", "three", "fallback", "fallback"} {
		body := askChat
		if want == "side" {
			body = noTools
		}
		_, got := post(t, s, "/chat/completions", body)
		if !strings.Contains(got, `"content":"`+want+`"`) {
			t.Errorf("answer %d lacks %q: %s", i, want, got)
		}
	}
	var steps []int
	for _, r := range s.Requests() {
		steps = append(steps, r.Step)
	}
	if want := []int{0, 1, -1, 2, -1, -1}; !slices.Equal(steps, want) {
		t.Errorf("steps %v, want %v", steps, want)
	}
	if r := s.Requests()[2]; r.Kind != Side || r.API != Chat || r.Path != "/v1/chat/completions" {
		t.Errorf("recorded %+v", r)
	}
	if n := s.Requests()[1].Prefix; n != len(askChat) {
		t.Errorf("prefix %d, want %d", n, len(askChat))
	}
}

func TestDeltasAreCutBetweenCharacters(t *testing.T) {
	for size, want := range map[int][]string{1: {"a", "渐", "é"}, 2: {"a渐", "é"}, 4: {"a渐", "é"}, 0: {"a渐é"}} {
		if got := (Step{chunk: size}).deltas("a渐é"); !slices.Equal(got, want) {
			t.Errorf("chunks of %d: %q, want %q", size, got, want)
		}
	}
}

// How an answer travels does not change its bytes.
func TestShapesSendTheSameBytes(t *testing.T) {
	reply := Reply(Reasoning("hm"), Text("Hello 渐"), Call("list", map[string]int{"a": 1}).ID("c")).Chunk(2)
	for path, body := range map[string]string{"/chat/completions": askChat, "/responses": askResponses()} {
		var first string
		for name, step := range map[string]Step{"plain": reply, "bytewise": reply.Bytewise(), "paced": reply.Rate(1e6), "delayed": reply.Delay(time.Millisecond)} {
			s := start(t, Options{Tag: "x", Script: []Step{step}})
			_, got := post(t, s, path, body)
			if first == "" {
				first = got
			}
			if got != first {
				t.Errorf("%s %s sends other bytes:\n%s\n%s", path, name, got, first)
			}
		}
	}
}

func TestWholeDocuments(t *testing.T) {
	reply := Reply(Reasoning("hm"), Text("Hi"), Call("list", `{"a":1}`).ID("c"))
	s := start(t, Options{Script: []Step{reply, reply}})
	for path, c := range map[string]struct {
		body  string
		wants []string
	}{
		"/chat/completions": {with(askChat, `"stream":true,`, ``), []string{`"object":"chat.completion"`, `"content":"Hi"`, `"reasoning_content":"hm"`, `"arguments":"{\"a\":1}"`, `"finish_reason":"tool_calls"`, `"prompt_tokens"`}},
		"/responses":        {responses(user), []string{`"object":"response"`, `"status":"completed"`, `"text":"Hi"`, `"call_id":"c"`, `"input_tokens"`}},
	} {
		status, got := post(t, s, path, c.body)
		for _, want := range c.wants {
			if status != http.StatusOK || !strings.Contains(got, want) {
				t.Errorf("%s: %d without %s: %s", path, status, want, got)
			}
		}
	}
}

func TestFailuresAndRawAnswers(t *testing.T) {
	s := start(t, Options{Script: []Step{
		Fail(429, `{"error":{"message":"slow"}}`, "Retry-After", "3"),
		Raw("<html>").Header("Content-Type", "text/html"),
		Say("x").Failed("server_error", "worker full"), Say("x").Failed("server_error", "worker full"),
		Say("x").Finish("length"), Say("x").Finish("length"), Say("x").NoUsage(), Say("x").Usage(Usage{Input: 77}),
	}})
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/chat/completions", askChat, 429, `"slow"`},
		{"/chat/completions", askChat, 200, "<html>"},
		{"/chat/completions", askChat, 200, `data: {"error":{"code":"server_error","message":"worker full"}}`},
		{"/responses", askResponses(), 200, `"type":"response.failed"`},
		{"/chat/completions", askChat, 200, `"finish_reason":"length"`},
		{"/responses", askResponses(), 200, `"incomplete_details":{"reason":"max_output_tokens"}`},
		{"/responses", askResponses(), 200, `"usage":null`},
		{"/chat/completions", askChat, 200, `"prompt_tokens":77`},
	} {
		status, got := post(t, s, c.path, c.body)
		if status != c.status || !strings.Contains(got, c.want) {
			t.Errorf("%d %s, want %d and %s", status, got, c.status, c.want)
		}
	}
}

// open begins a request and returns the answer without reading it.
func open(t *testing.T, ctx context.Context, s *Server) *http.Response {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/chat/completions", strings.NewReader(askChat))
	if err != nil {
		t.Fatal(err)
	}
	res, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func TestEarlyEnds(t *testing.T) {
	say := Say("aabbcc").Chunk(2)
	s := start(t, Options{Script: []Step{say.Cut(1), say.Reset(2), say.Silence(2)}})
	cut, err := io.ReadAll(open(t, t.Context(), s).Body)
	if err != nil || !bytes.Contains(cut, []byte(`"aa"`)) || bytes.Contains(cut, []byte(`"bb"`)) || bytes.Contains(cut, []byte("DONE")) {
		t.Errorf("cut: %v, %s", err, cut)
	}
	reset, err := io.ReadAll(open(t, t.Context(), s).Body)
	if err == nil || !bytes.Contains(reset, []byte(`"bb"`)) || bytes.Contains(reset, []byte(`"cc"`)) {
		t.Errorf("reset: %v, %s", err, reset)
	}
	ctx, cancel := context.WithCancel(t.Context())
	silent := open(t, ctx, s)
	seen := make([]byte, 0, 4096)
	for !bytes.Contains(seen, []byte(`"bb"`)) {
		n, err := silent.Body.Read(seen[len(seen):cap(seen)])
		if err != nil {
			t.Fatal(err)
		}
		seen = seen[:len(seen)+n]
	}
	cancel()
	if _, err := silent.Body.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("silence: %v", err)
	}
	if err := s.Quiet(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, false, true} {
		if got := s.Requests()[i].Gone; got != want {
			t.Errorf("request %d: gone %v, want %v", i, got, want)
		}
	}
}

func TestCloseEndsWhatIsSilent(t *testing.T) {
	s, err := Start(Options{Script: []Step{Say("x").Silence(0)}})
	if err != nil {
		t.Fatal(err)
	}
	open(t, t.Context(), s)
	s.Close()
	s.Close()
}

func TestWaitingForRequests(t *testing.T) {
	s := start(t, Options{Script: []Step{Say("x").Silence(0)}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.Wait(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting in vain: %v", err)
	}
	open(t, t.Context(), s)
	if rs, err := s.Wait(t.Context(), 1); err != nil || len(rs) != 1 {
		t.Errorf("%d requests, %v", len(rs), err)
	}
}

func TestKeyAndAddresses(t *testing.T) {
	s := start(t, Options{Key: "good"})
	for _, c := range []struct {
		path, key string
		status    int
	}{
		{"/chat/completions", "good", 200}, {"/chat/completions", "bad", 401}, {"/messages", "good", 404},
	} {
		if status, got := post(t, s, c.path, askChat, "Authorization", "Bearer "+c.key); status != c.status || status == 401 && !strings.Contains(got, "bad") {
			t.Errorf("%s with %s: %d %s", c.path, c.key, status, got)
		}
	}
	if v := s.Violations(); len(v) != 0 {
		t.Errorf("violations: %v", v)
	}
}

func TestReadingRequests(t *testing.T) {
	s := start(t, Options{ForeignBlobs: true})
	post(t, s, "/responses", responses(user, thought, said, call, output, with(user, `"q"`, `"trailer"`)))
	post(t, s, "/chat/completions", chat(cUser, with(cCall, `"content":null`, `"content":"a","reasoning_content":"r"`), cOutput, with(cUser, `"q"`, `"trailer"`)))
	want := [][]Item{
		{
			{Kind: "message", Role: "user", Text: "q"},
			{Kind: "reasoning", ID: "rs_1", Blob: "x"},
			{Kind: "message", Role: "assistant", Text: "a"},
			{Kind: "call", CallID: "c", Name: "list", Text: "{}"},
			{Kind: "result", CallID: "c", Text: "ok"},
			{Kind: "message", Role: "user", Text: "trailer"},
		},
		{
			{Kind: "message", Role: "user", Text: "q"},
			{Kind: "reasoning", Text: "r"},
			{Kind: "message", Role: "assistant", Text: "a"},
			{Kind: "call", CallID: "c", Name: "list", Text: "{}"},
			{Kind: "result", CallID: "c", Text: "ok"},
			{Kind: "message", Role: "user", Text: "trailer"},
		},
	}
	for i, r := range s.Requests() {
		if got := r.Items(); !slices.Equal(got, want[i]) {
			t.Errorf("items %+v\nwant %+v", got, want[i])
		}
		if got := r.Users(); !slices.Equal(got, []string{"q", "trailer"}) {
			t.Errorf("users %q", got)
		}
		if got := r.Results(); len(got) != 1 || got[0].Text != "ok" {
			t.Errorf("results %+v", got)
		}
		if got := r.Tools(); !slices.Equal(got, []string{"list"}) {
			t.Errorf("tools %q", got)
		}
	}
	for _, v := range s.Violations() {
		t.Error(v)
	}
}

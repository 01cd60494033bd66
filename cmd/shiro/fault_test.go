package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	mock "shiro/agent/provider/providertest"
	wire "shiro/lsp/protocol"
)

// Faults of the model server: each ends in a clear message or passes by itself,
// and the next prompt of the session works.
func TestModelServerFaults(t *testing.T) {
	const busy = `{"error":{"message":"slow down","type":"rate_limit","code":"rate_limit_exceeded"}}`
	half := `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"write_file","arguments":"{\"path\":\"a.txt\",\"content\":\"hal"}}]}}]}` + "\n\n"
	long := strings.Repeat("x", 5<<20)
	for _, c := range []struct {
		name   string
		api    string
		config string
		script []mock.Step
		asks   int // model requests of the faulty turn
		status wire.TurnStatus
		says   string // in the error or the answer
		kind   wire.ErrorKind
	}{
		{
			name: "401", script: []mock.Step{mock.Fail(401, `{"error":{"message":"Incorrect API key provided: test-key-0123456789","code":"invalid_api_key"}}`)},
			asks: 1, status: wire.TurnFailed, says: "key", kind: wire.KindAuthRequired,
		},
		{
			name: "429 with Retry-After", script: []mock.Step{mock.Fail(429, busy, "Retry-After", "1"), mock.Say("after the wait")},
			asks: 2, status: wire.TurnDone, says: "after the wait",
		},
		{
			name: "429 for an hour", script: []mock.Step{mock.Fail(429, busy, "Retry-After", "3600")},
			asks: 1, status: wire.TurnFailed, says: "slow down", kind: wire.KindRateLimited,
		},
		{
			name: "500 then success", script: []mock.Step{mock.Fail(500, "<html>oops</html>"), mock.Say("second try")},
			asks: 2, status: wire.TurnDone, says: "second try",
		},
		{
			name: "reset mid-stream", script: []mock.Step{mock.Say("this will be cut off").Chunk(4).Reset(2), mock.Say("whole again")},
			asks: 2, status: wire.TurnDone, says: "whole again",
		},
		{
			name: "half a tool call", api: "chat", config: "max_retries = 0\n", script: []mock.Step{mock.Raw(half)},
			asks: 1, status: wire.TurnFailed, says: "before the answer was complete", kind: wire.KindProviderError,
		},
		{
			name: "malformed arguments", script: []mock.Step{mock.Call("read_file", `{"path": "a.t`), mock.Say("I will be careful")},
			asks: 2, status: wire.TurnDone, says: "I will be careful",
		},
		{
			name: "unknown tool", script: []mock.Step{mock.Call("read_files", args{"path": "a.txt"}), mock.Say("wrong name")},
			asks: 2, status: wire.TurnDone, says: "wrong name",
		},
		{
			name: "tool with bad characters", script: []mock.Step{mock.Call("fs.read file! "+strings.Repeat("y", 80), args{}), mock.Say("odd name")},
			asks: 2, status: wire.TurnDone, says: "odd name",
		},
		{
			name: "5 MB line", api: "chat", script: []mock.Step{mock.Say(long).Chunk(5 << 20)},
			asks: 1, status: wire.TurnDone, says: long,
		},
		{
			name: "CRLF and comments", api: "chat", script: []mock.Step{mock.Raw(
				": wait\r\n\r\n", "retry: 3000\r\n\r\n", "event: ping\r\n\r\n", ":\r\n",
				"data:{\"choices\":[{\"delta\":{\"content\":\"plain \"}}]}\r\n\r\n",
				"id: 7\r\ndata: {\"choices\":[{\"delta\":\r\ndata: {\"content\":\"text\"}}]}\r\n\r\n",
				"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\r\n\r\n")},
			asks: 1, status: wire.TurnDone, says: "plain text",
		},
		{
			name: "silence", config: "idle_timeout = \"300ms\"\nmax_retries = 0\n", script: []mock.Step{mock.Say("and then nothing").Chunk(4).Silence(2)},
			asks: 1, status: wire.TurnFailed, says: "300ms", kind: wire.KindProviderError,
		},
		{
			name: "error inside a good stream", api: "chat", config: "max_retries = 0\n", script: []mock.Step{mock.Raw(
				"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n", "data: {\"error\":{\"code\":502,\"message\":\"worker full\"}}\n\n")},
			asks: 1, status: wire.TurnFailed, says: "worker full", kind: wire.KindProviderError,
		},
		{
			name: "login page", config: "max_retries = 0\n", script: []mock.Step{mock.Raw("<html>please log in</html>").Header("Content-Type", "text/html")},
			asks: 1, status: wire.TurnFailed, says: "please log in", kind: wire.KindProviderError,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			api := c.api
			if api == "" {
				api = "responses"
			}
			w := newWorld(t, mock.Options{Script: c.script})
			w.config(fmt.Sprintf("[provider]\napi = %q\n%s", api, c.config))
			w.write("a.txt", "text\n")
			s := w.start()
			session := s.create()
			s.prompt(session, "go")
			end := s.ended()
			if end.Status != c.status {
				t.Fatalf("turn %+v\n%s", end, s.log)
			}
			if n := len(w.model.Requests()); n != c.asks {
				t.Errorf("%d model requests, want %d", n, c.asks)
			}
			if c.status == wire.TurnDone {
				if got := lastText(s, session); got != c.says {
					t.Errorf("answer %.100q, want %.100q", got, c.says)
				}
			} else {
				if end.Error == nil || !strings.Contains(end.Error.Message, c.says) || end.Error.Data.Kind != c.kind {
					t.Errorf("error %+v, want %q of kind %s", end.Error, c.says, c.kind)
				}
				if end.Error != nil && strings.Contains(end.Error.Message, "test-key") {
					t.Errorf("the key is in %q", end.Error.Message)
				}
			}
			aliveAfter(t, s, session)
			w.strict()
			if strings.Contains(s.log.String(), "test-key") {
				t.Errorf("the key is in the log:\n%s", s.log)
			}
			if got := w.read("a.txt"); got != "text\n" {
				t.Errorf("a.txt became %q", got)
			}
			s.quit()
		})
	}
}

// aliveAfter sends one more ordinary prompt.
func aliveAfter(t *testing.T, s *server, session string) {
	t.Helper()
	s.w.model.Script(mock.Say("still here"))
	s.prompt(session, "are you there?")
	if end := s.ended(); end.Status != wire.TurnDone {
		t.Fatalf("the next turn: %+v %+v", end, end.Error)
	}
	if got := lastText(s, session); got != "still here" {
		t.Errorf("the next answer is %q", got)
	}
}

func lastText(s *server, session string) string {
	s.w.t.Helper()
	h := call[wire.SessionHistoryResult](s, wire.MethodSessionHistory, wire.SessionHistoryParams{SessionID: session, View: wire.HistoryFull})
	for i := len(h.Items) - 1; i >= 0; i-- {
		if h.Items[i].Kind == wire.ItemText {
			return h.Items[i].Text
		}
	}
	return ""
}

// What a failed attempt had shown is withdrawn, and said once in the record.
func TestRetryAfterPartialOutput(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{mock.Say("partial words").Chunk(4).Reset(2), mock.Say("the whole answer")}}).speaks("responses")
	s := w.start()
	session := s.create()
	s.prompt(session, "go")
	retry := next[wire.ProviderRetrying](s, wire.EventProviderRetrying)
	if retry.Attempt != 1 || retry.Reason == "" {
		t.Errorf("retrying %+v", retry)
	}
	s.ended()
	withdrawn := 0
	for _, e := range s.Events() {
		if d, ok := e.Data.(wire.ItemEvent); ok && e.Type == wire.EventItemCompleted && d.Item.Withdrawn {
			withdrawn++
		}
	}
	if withdrawn != 1 {
		t.Errorf("%d items withdrawn, want 1\n%s", withdrawn, s.told())
	}
	s.quit()
	if m := w.record(session)["messages"].([]any); len(m) != 2 {
		t.Errorf("record %v", m)
	}
}

// The turn waits as long as the server asked, and an interrupt ends the wait.
func TestRetryAfterIsHonoured(t *testing.T) {
	limit := mock.Fail(429, `{"error":{"message":"slow down"}}`, "Retry-After", "2")
	w := newWorld(t, mock.Options{Script: []mock.Step{limit, mock.Say("ok"), limit}}).speaks("responses")
	s := w.start()
	session := s.create()
	s.prompt(session, "go")
	if end := s.ended(); end.Status != wire.TurnDone {
		t.Fatalf("turn %+v", end)
	}
	r := w.model.Requests()
	if waited := r[1].At.Sub(r[0].At); waited < 2*time.Second {
		t.Errorf("waited %v, want 2 s", waited)
	}
	turn := s.prompt(session, "again")
	next[wire.ProviderRetrying](s, wire.EventProviderRetrying)
	call[wire.TurnInterruptResult](s, wire.MethodTurnInterrupt, wire.TurnInterruptParams{SessionID: session, TurnID: turn})
	if end := s.ended(); end.Status != wire.TurnInterrupted {
		t.Errorf("turn %+v", end)
	}
	if n := len(w.model.Requests()); n != 3 {
		t.Errorf("%d requests, want 3: none after the interrupt", n)
	}
	s.quit()
}

// Without a key, and with nothing on loopback, the error says where it looked.
// The session cannot be made, the connection lives, and a key that comes later
// is found.
func TestNoKey(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{mock.Say("now it works")}})
	env := w.env
	w.env = nil
	for _, v := range env {
		if !strings.HasPrefix(v, "SHIRO_") || strings.HasPrefix(v, "SHIRO_HOME") {
			w.env = append(w.env, v)
		}
	}
	w.env = append(w.env, "SHIRO_PROVIDER=openai")
	s := w.start()
	e := s.refused(wire.KindAuthRequired, wire.MethodSessionCreate, wire.SessionCreateParams{Cwd: w.dir})
	for _, want := range []string{"OPENAI_API_KEY", "SHIRO_API_KEY", "config.toml"} {
		if !strings.Contains(e.Message, want) {
			t.Errorf("%q does not name %s", e.Message, want)
		}
	}
	w.config("[provider]\nbase_url = \"" + w.model.URL() + "\"\napi_key = \"late-key-123\"\nmodel = \"mock\"\n")
	session := s.create()
	s.prompt(session, "go")
	if end := s.ended(); end.Status != wire.TurnDone {
		t.Errorf("turn %+v", end)
	}
	s.quit()
}

// A broken configuration starts no turn, and says what to mend.
func TestBrokenConfig(t *testing.T) {
	w := newWorld(t, mock.Options{})
	w.config("[provider]\nmodle = \"gpt-5\"\n")
	s := w.start()
	e := s.refused(wire.KindInvalidParams, wire.MethodSessionCreate, wire.SessionCreateParams{Cwd: w.dir})
	for _, want := range []string{filepath.Join(".shiro-neko", "config.toml") + ":2", "modle", "model"} {
		if !strings.Contains(e.Message, want) {
			t.Errorf("%q lacks %q", e.Message, want)
		}
	}
	w.config("")
	s.create()
	s.quit()
}

// An empty answer is told and not kept: replayed, it would be refused.
func TestEmptyAnswer(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{mock.Say("")}}).speaks("chat")
	s := w.start()
	session := s.create()
	s.prompt(session, "go")
	n := next[wire.Notice](s, wire.EventNotice)
	if !strings.Contains(n.Title, "empty") {
		t.Errorf("notice %+v", n)
	}
	s.ended()
	aliveAfter(t, s, session)
	w.strict()
	s.quit()
}

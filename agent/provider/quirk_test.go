package provider

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"shiro/agent/provider/providertest"
	"shiro/memory/transcript"
)

// member is a member of a recorded body, as JSON; "" when it is absent.
func member(t *testing.T, r providertest.Request, name string) string {
	t.Helper()
	var o map[string]json.RawMessage
	if err := json.Unmarshal(r.Body, &o); err != nil {
		t.Fatal(err)
	}
	return string(o[name])
}

func wantMember(t *testing.T, r providertest.Request, name, want string) {
	t.Helper()
	if got := member(t, r, name); got != want {
		t.Errorf("%s is %s, want %s", name, got, want)
	}
}

// A parameter that a server does not know is left out after one refusal, and
// from then on.
func TestRefusedParametersAreLeftOut(t *testing.T) {
	for _, c := range []struct {
		api, refuses string
		gone         string // the member that must be absent afterwards
	}{
		{Chat, "stream_options", "stream_options"},
		{Chat, "reasoning_effort", "reasoning_effort"},
		{Chat, "max_completion_tokens", "max_completion_tokens"},
		{Responses, "store", "store"},
		{Responses, "include", "include"},
		{Responses, "reasoning", "reasoning"},
		{Responses, "reasoning.summary", ""},
		{Responses, "max_output_tokens", "max_output_tokens"},
		{Responses, "developer", ""},
		{Responses, "tools.strict", ""},
		{Chat, "system", ""},
	} {
		t.Run(c.api+" "+c.refuses, func(t *testing.T) {
			s := startMock(t, providertest.Options{Flavour: providertest.Flavour{Refuses: []string{c.refuses}}})
			client := newClient(t, s, Options{API: c.api})
			r := ask("x")
			r.MaxOutput = 1000
			stream(t, client, r)
			same(t, "requests of the first turn", len(s.Requests()), 2)
			stream(t, client, r)
			same(t, "requests of both turns", len(s.Requests()), 3)
			same(t, "refusals", len(s.Violations()), 1)
			if c.gone != "" {
				wantMember(t, s.Requests()[2], c.gone, "")
			}
		})
	}
}

// The words in which servers refuse, with a parameter named in each.
func TestRefusalsInOtherWords(t *testing.T) {
	for body, want := range map[string]quirk{
		`{"error":{"message":"Unrecognized request argument supplied: stream_options"}}`:                                                               noStreamOptions,
		`{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`:                               noStreamOptions,
		`{"error":{"message":"'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens"}}`:             otherOutputCap,
		`{"error":{"message":"json: unknown field \"store\""}}`:                                                                                        noStore,
		`{"error":{"message":"Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model.","code":"unsupported_value"}}`:           noExtremes,
		`{"error":{"message":"reasoning_effort is not supported by this model"}}`:                                                                      noReasoning,
		`{"error":{"message":"Your organization must be verified to generate reasoning summaries.","param":"reasoning.summary"}}`:                      noSummary,
		`{"error":{"message":"Encrypted content is not supported with this model.","param":"include"}}`:                                                noInclude,
		`{"error":{"message":"Invalid value: 'developer'. Supported values are: 'system', 'assistant', 'user'.","param":"input[0].role"}}`:             otherRole,
		`{"error":{"message":"Unknown parameter: 'prompt_cache_key'."}}`:                                                                               noCacheKey,
		`{"error":{"message":"Unknown parameter: 'tools[0].strict'.","param":"tools[0].strict"}}`:                                                      noStrict,
		`{"error":{"message":"Unknown parameter: 'input[3].phase'.","param":"input[3].phase"}}`:                                                        noPhase,
		`{"error":{"message":"The encrypted content gAAA... could not be verified.","code":"invalid_encrypted_content"}}`:                              onlyOwnBlobs,
		`{"error":{"message":"Unexpected role 'user' after role 'tool'","code":"3230"}}`:                                                               strictTurns,
		`{"error":{"message":"Missing reasoning_content field in the assistant message at index 2"}}`:                                                  otherEcho,
		`{"error":{"message":"Please include a user message, the store is closed."}}`:                                                                  0,
		`{"error":{"message":"The developer of this model is unknown"}}`:                                                                               0,
		`{"error":{"message":"Invalid schema for function 'store_file'"}}`:                                                                             0,
		`{"error":{"message":"Invalid 'messages[3].content'"}}`:                                                                                        0,
		`{"error":{"message":"maximum context length is 4096 tokens, include fewer; store is not supported, reduce the length of max_tokens please"}}`: 0,
	} {
		e := errorFromBody([]byte(body))
		e.Status = 400
		e.classify()
		all := endOfQuirks - 1
		if got := learn(e, all); got != want {
			t.Errorf("%s\nteaches %b, want %b", body, got, want)
		}
		e.Status = 500
		if got := learn(e, all); got != want&strictTurns {
			t.Errorf("a 500 teaches %b", got)
		}
	}
}

func TestAnUnknownRefusalIsNotRepeated(t *testing.T) {
	s := script(t, providertest.Fail(400, `{"error":{"message":"Unknown parameter: 'store'."}}`), providertest.Fail(400, `{"error":{"message":"Unknown parameter: 'store'."}}`))
	e := refused(t, newClient(t, s, Options{API: Responses}), ask("x"))
	same(t, "kind", e.Kind, KindBad)
	same(t, "requests", len(s.Requests()), 2)
}

func TestEffort(t *testing.T) {
	for _, c := range []struct{ api, model, effort, name, want string }{
		{Responses, "gpt-5", "none", "reasoning", `{"effort":"none"}`},
		{Responses, "gpt-5", "low", "reasoning", `{"effort":"low","summary":"detailed"}`},
		{Responses, "openai/gpt-5-mini", "xhigh", "reasoning", `{"effort":"xhigh","summary":"detailed"}`},
		{Responses, "o3", "medium", "reasoning", `{"effort":"medium","summary":"detailed"}`},
		{Responses, "codex-mini-latest", "high", "reasoning", `{"effort":"high","summary":"detailed"}`},
		{Responses, "gpt-5", "", "reasoning", ``},
		{Responses, "gpt-4o", "high", "reasoning", ``},
		{Responses, "gpt-4o", "high", "include", ``},
		{Responses, "gpt-5-chat-latest", "high", "reasoning", ``},
		{Responses, "llama", "high", "reasoning", `{"effort":"high"}`},
		{Responses, "llama", "", "reasoning", ``},
		{Responses, "llama", "", "include", `["reasoning.encrypted_content"]`},
		{Chat, "gpt-5", "none", "reasoning_effort", `"none"`},
		{Chat, "gpt-5", "xhigh", "reasoning_effort", `"xhigh"`},
		{Chat, "gpt-4o", "high", "reasoning_effort", ``},
		{Chat, "llama", "high", "reasoning_effort", `"high"`},
		{Chat, "llama", "", "reasoning_effort", ``},
	} {
		r := ask("x")
		r.Model, r.Effort = c.model, c.effort
		b, err := New(Options{API: c.api, BaseURL: "http://model.test/v1"}).encode(r, 0)
		if err != nil {
			t.Fatal(err)
		}
		wantMember(t, providertest.Request{Body: b.json}, c.name, c.want)
	}
}

// An effort a model lacks becomes its neighbour, not the default.
func TestEffortThatAModelLacks(t *testing.T) {
	for effort, want := range map[string]string{"xhigh": `"high"`, "none": `"low"`} {
		s := script(t, providertest.Fail(400, `{"error":{"message":"Unsupported value: '`+effort+`' is not supported with the 'o3' model.","param":"reasoning_effort","code":"unsupported_value"}}`))
		r := ask("x")
		r.Effort = effort
		stream(t, newClient(t, s, Options{API: Chat}), r)
		wantMember(t, s.Requests()[1], "reasoning_effort", want)
	}
}

func TestOutputCapByServer(t *testing.T) {
	for _, c := range []struct{ url, api, model, name string }{
		{"https://api.openai.com/v1", Chat, "gpt-4o", "max_completion_tokens"},
		{"http://model.test/v1", Chat, "gpt-5", "max_completion_tokens"},
		{"http://model.test/v1", Chat, "llama", "max_tokens"},
		{"http://model.test/v1", Responses, "llama", "max_output_tokens"},
	} {
		r := ask("x")
		r.Model, r.MaxOutput = c.model, 77
		b, err := New(Options{API: c.api, BaseURL: c.url}).encode(r, 0)
		if err != nil {
			t.Fatal(err)
		}
		wantMember(t, providertest.Request{Body: b.json}, c.name, "77")
	}
	// Each name refused in turn: then none.
	s := startMock(t, providertest.Options{Flavour: providertest.Flavour{Refuses: []string{"max_tokens", "max_completion_tokens"}}})
	r := ask("x")
	r.MaxOutput = 77
	stream(t, newClient(t, s, Options{API: Chat}), r)
	same(t, "requests", len(s.Requests()), 3)
}

func TestCacheKeyGoesToOpenAIOnly(t *testing.T) {
	for url, want := range map[string]string{"https://api.openai.com/v1": `"session"`, "https://api.openai.com.evil.test/v1": "", "http://model.test/v1": ""} {
		for _, api := range []string{Chat, Responses} {
			r := ask("x")
			r.CacheKey = "session"
			b, err := New(Options{API: api, BaseURL: url}).encode(r, 0)
			if err != nil {
				t.Fatal(err)
			}
			wantMember(t, providertest.Request{Body: b.json}, "prompt_cache_key", want)
		}
	}
}

// The members come in an order that keeps the beginning of the body equal
// between requests; what holds the history is the last one.
func TestMemberOrder(t *testing.T) {
	r := &Request{
		Model: "gpt-5", Effort: "high", System: "S", Tools: tools[:1], CacheKey: "k", MaxOutput: 5, Trailer: "T",
		Messages: []*transcript.Message{transcript.User("q")},
	}
	for api, want := range map[string]string{
		Responses: `{"model":"gpt-5","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"high","summary":"detailed"},` +
			`"max_output_tokens":5,"prompt_cache_key":"k","tools":[{"type":"function","name":"read_file","description":"Read a file.",` +
			`"parameters":{"type":"object","properties":{"path":{"type":"string"}}},"strict":false}],` +
			`"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"S"}]},` +
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]},` +
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"T"}]}]}`,
		Chat: `{"model":"gpt-5","stream":true,"stream_options":{"include_usage":true},"reasoning_effort":"high","max_completion_tokens":5,"prompt_cache_key":"k",` +
			`"tools":[{"type":"function","function":{"name":"read_file","description":"Read a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}],` +
			`"messages":[{"role":"system","content":"S"},{"role":"user","content":"q"},{"role":"user","content":"T"}]}`,
	} {
		b, err := New(Options{API: api, BaseURL: "https://api.openai.com/v1"}).encode(r, 0)
		if err != nil {
			t.Fatal(err)
		}
		same(t, api, string(b.json), want)
	}
}

func TestRequestsThatCannotBeEncoded(t *testing.T) {
	c := New(Options{API: Chat, BaseURL: "http://model.test/v1"})
	if _, err := c.Stream(t.Context(), &Request{Model: "m"}, nil); err == nil {
		t.Error("an empty history is sent")
	}
	r := ask("x")
	r.Tools = []Tool{{Name: "bad", Schema: json.RawMessage(`{"type"`)}}
	if _, err := c.Stream(t.Context(), r, nil); err == nil || !strings.Contains(err.Error(), "bad") {
		t.Errorf("a broken schema: %v", err)
	}
}

// Reasoning goes back as reasoning_content only where the server wants it, and
// only its own (PS-27).
func TestReasoningContentByFlavour(t *testing.T) {
	work := providertest.Reply(providertest.Reasoning("thought D"), providertest.Call("list", nil))
	d := startMock(t, providertest.Options{Script: []providertest.Step{work, work, providertest.Say("done")}, Flavour: providertest.Flavour{EchoesReasoning: true}})
	o := startMock(t, providertest.Options{
		Script:  []providertest.Step{providertest.Reply(providertest.Reasoning("thought O"), providertest.Call("list", nil)), providertest.Say("done")},
		Flavour: providertest.Flavour{Refuses: []string{"reasoning_content"}},
	})
	onD, onO := newClient(t, d, Options{API: Chat}), newClient(t, o, Options{API: Chat})
	k := newTalk(t, "work")
	for k.step(onD) {
	}
	same(t, "requests to D", len(d.Requests()), 4) // one refusal taught it
	same(t, "refusals by D", len(d.Violations()), 1)
	wantReasoning(t, d.Requests()[3], "thought D", "thought D")

	k.say("now on O")
	for k.step(onO) {
	}
	same(t, "requests to O", len(o.Requests()), 2)
	noViolations(t, o)
	wantReasoning(t, o.Requests()[1])

	k.say("back on D")
	k.step(onD)
	same(t, "refusals by D", len(d.Violations()), 1)
	back := d.Requests()[4]
	wantReasoning(t, back, "thought D", "thought D")
	if n := strings.Count(string(back.Body), `"reasoning_content":""`); n != 1 {
		t.Errorf("O's turn has %d empty reasoning_content, want 1", n)
	}
}

func wantReasoning(t *testing.T, r providertest.Request, want ...string) {
	t.Helper()
	var got []string
	for _, it := range r.Items() {
		if it.Kind == "reasoning" {
			got = append(got, it.Text)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("reasoning sent: %q, want %q", got, want)
	}
}

func TestReasoningContentByAddress(t *testing.T) {
	ms := parse(t, `{"role":"user","content":"q"}`, assistantRaw(`{"type":"reasoning","text":"hm"}`, `{"type":"text","text":"Hi"}`, callItem), result,
		assistantRaw(`{"type":"reasoning","text":"hm"}`, `{"type":"text","text":"Done"}`))
	for host, want := range map[string]int{"api.deepseek.com": 1, "api.moonshot.ai": 1, "api.kimi.com": 1, "model.test": 0, "api.openai.com": 0} {
		b, err := New(Options{API: Chat, BaseURL: "https://" + host + "/v1"}).encode(&Request{Model: "m", Messages: ms}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(string(b.json), `"reasoning_content":"hm"`); got != want {
			t.Errorf("%s gets it %d times, want %d: %s", host, got, want, b.json)
		}
	}
	same(t, "another server's", strings.Contains(sentTo(t, "https://api.deepseek.com/v1", parse(t, assistantRaw(reasoningPart("hm", foreignBlob), callItem), result)), "hm"), false)
}

func sentTo(t *testing.T, url string, ms []*transcript.Message) string {
	t.Helper()
	b, err := New(Options{API: Chat, BaseURL: url}).encode(&Request{Model: "m", Messages: ms}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return string(b.json)
}

// What one model's refusal taught does not change what another one gets.
func TestQuirksAreLearntByModel(t *testing.T) {
	s := script(t, providertest.Fail(400, `{"error":{"message":"Unknown parameter: 'reasoning_effort'.","param":"reasoning_effort"}}`))
	c := newClient(t, s, Options{API: Chat})
	for i, model := range []string{"a", "b", "a"} {
		r := ask("x")
		r.Model = model
		stream(t, c, r)
		got := member(t, s.Requests()[len(s.Requests())-1], "reasoning_effort")
		if want := map[string]string{"a": "", "b": `"medium"`}[model]; got != want {
			t.Errorf("turn %d: reasoning_effort %s, want %s", i, got, want)
		}
	}
	same(t, "requests", fmt.Sprint(len(s.Requests())), "4")
}

// A server whose model knows only turns gets the trailer and neighbouring user
// messages as one, and everything still arrives.
func TestStrictTurns(t *testing.T) {
	s := startMock(t, providertest.Options{
		Flavour: providertest.Flavour{StrictTurns: true},
		Script:  []providertest.Step{providertest.Call("list", nil), providertest.Say("done"), providertest.Say("again")},
	})
	c := newClient(t, s, Options{API: Chat})
	k := newTalk(t, "first")
	k.say("second")
	k.r.Trailer = "STATE"
	for k.step(c) {
	}
	k.say("third")
	k.step(c)
	same(t, "refusals", len(s.Violations()), 1)
	requests := s.Requests()
	same(t, "requests", len(requests), 4)
	for i, want := range map[int][]string{
		1: {"user first\n\nsecond\n\nSTATE"},
		2: {"user first\n\nsecond", "call", "result output of list{}\n\nSTATE"},
		3: {"user first\n\nsecond", "call", "result output of list{}", "assistant done", "user third\n\nSTATE"},
	} {
		var got []string
		for _, it := range requests[i].Items() {
			switch {
			case it.Role == "system":
			case it.Kind == "call":
				got = append(got, it.Kind)
			case it.Kind == "message":
				got = append(got, it.Role+" "+it.Text)
			default:
				got = append(got, it.Kind+" "+it.Text)
			}
		}
		same(t, fmt.Sprintf("request %d", i), got, want)
	}
}

// An error inside the stream does not begin the answer again once some of it
// has been shown.
func TestNoSecondRequestBehindShownText(t *testing.T) {
	s := script(t, providertest.Raw(chatDeltas(`{"content":"x"}`)+event(`{"error":{"code":400,"message":"Unknown parameter: 'stream_options'."}}`)))
	e := refused(t, newClient(t, s, Options{API: Chat}), ask("x"))
	same(t, "status", e.Status, 400)
	same(t, "requests", len(s.Requests()), 1)
}

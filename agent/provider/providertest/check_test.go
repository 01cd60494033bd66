package providertest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// post sends a body and returns the status and the answer.
func post(t *testing.T, s *Server, path, body string, headers ...string) (int, string) {
	t.Helper()
	tr := &http.Transport{DisableKeepAlives: true}
	defer tr.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%v after %q", err, b)
	}
	return res.StatusCode, string(b)
}

const tool = `"tools":[{"type":"function","name":"list","parameters":{"type":"object"}}],`

func responses(input ...string) string {
	return `{"model":"m",` + tool + `"input":[` + strings.Join(input, ",") + `]}`
}

func chat(messages ...string) string {
	return `{"model":"m","tools":[{"type":"function","function":{"name":"list","parameters":{"type":"object"}}}],"messages":[` + strings.Join(messages, ",") + `]}`
}

const (
	user    = `{"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]}`
	said    = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}`
	call    = `{"type":"function_call","call_id":"c","name":"list","arguments":"{}"}`
	output  = `{"type":"function_call_output","call_id":"c","output":"ok"}`
	thought = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}`

	cUser   = `{"role":"user","content":"q"}`
	cSaid   = `{"role":"assistant","content":"a"}`
	cCall   = `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"list","arguments":"{}"}}]}`
	cOutput = `{"role":"tool","tool_call_id":"c","content":"ok"}`
)

func with(s, old, new string) string {
	if !strings.Contains(s, old) {
		panic("no " + old + " in " + s)
	}
	return strings.Replace(s, old, new, 1)
}

// Each rule refuses a body that breaks it and lets a good one pass.
func TestRules(t *testing.T) {
	free := Options{ForeignBlobs: true}
	for _, c := range []struct {
		rule string // "" is a good body
		name string
		opts Options
		api  string
		body string
	}{
		{"", "a conversation", free, Responses, responses(user, thought, with(said, `"role"`, `"id":"msg_1","role"`), with(call, `"call_id"`, `"id":"fc_1","call_id"`), output, user, said, user)},
		{"", "parallel calls", free, Responses, responses(user, call, with(call, `"c"`, `"d"`), with(output, `"c"`, `"d"`), output, said)},
		{"", "parallel calls with reasoning between", free, Responses, responses(user, thought, call, with(thought, "rs_1", "rs_2"), with(call, `"c"`, `"d"`), output, with(output, `"c"`, `"d"`))},
		{"", "string content", Options{}, Responses, responses(`{"role":"developer","content":"s"}`, `{"role":"user","content":"q"}`, `{"role":"assistant","content":"a"}`)},
		{"", "a conversation", Options{}, Chat, chat(`{"role":"system","content":"s"}`, cUser, cCall, cOutput, cUser, cSaid, cUser)},
		{"", "parallel calls", Options{}, Chat, chat(cUser, with(cCall, `}}]`, `}},{"id":"d","type":"function","function":{"name":"list","arguments":"{}"}}]`), with(cOutput, `"c"`, `"d"`), cOutput, cSaid)},

		{"V1", "output without call", Options{}, Responses, responses(user, output)},
		{"V1", "output before call", Options{}, Responses, responses(user, output, call)},
		{"V1", "two outputs", Options{}, Responses, responses(user, call, output, output)},
		{"V1", "two calls of one id", Options{}, Responses, responses(user, call, output, call, output)},
		{"V1", "no output at the end", Options{}, Responses, responses(user, call)},
		{"V1", "no output before a user message", Options{}, Responses, responses(user, call, user, output)},
		{"V1", "no output before an answer", Options{}, Responses, responses(user, call, said, output)},
		{"V1", "no output before the next call", Options{}, Responses, responses(user, call, with(call, `"c"`, `"d"`), output, with(call, `"c"`, `"e"`))},
		{"V1", "a call without id", Options{}, Responses, responses(user, with(call, `"call_id":"c",`, ``))},
		{"V1", "output without call", Options{}, Chat, chat(cUser, cOutput)},
		{"V1", "two outputs", Options{}, Chat, chat(cUser, cCall, cOutput, cOutput)},
		{"V1", "no output at the end", Options{}, Chat, chat(cUser, cCall)},
		{"V1", "no output before a user message", Options{}, Chat, chat(cUser, cCall, cUser, cOutput)},
		{"V1", "no output before an answer", Options{}, Chat, chat(cUser, cCall, cSaid, cOutput)},

		{"V2", "reference", Options{}, Responses, responses(user, `{"type":"item_reference","id":"msg_1"}`)},
		{"V2", "unknown reference", Options{StoresItems: true}, Responses, responses(user, `{"type":"item_reference","id":"msg_1"}`)},
		{"V2", "reasoning that only a store could complete", Options{}, Responses, responses(user, with(thought, `,"encrypted_content":"x"`, ``), said)},
		{"blob", "another server's reasoning", Options{}, Responses, responses(user, thought, said)},

		{"V3", "message id without reasoning", free, Responses, responses(user, with(said, `"role"`, `"id":"msg_1","role"`))},
		{"V3", "call id without reasoning", free, Responses, responses(user, with(call, `"call_id"`, `"id":"fc_1","call_id"`), output)},
		{"V3", "reasoning of an earlier answer", free, Responses, responses(user, thought, call, output, with(said, `"role"`, `"id":"msg_1","role"`))},
		{"V3", "reasoning before a user message", free, Responses, responses(user, thought, user)},
		{"V3", "reasoning at the end", free, Responses, responses(user, thought)},
		{"V3", "no summary", free, Responses, responses(user, with(thought, `"summary":[],`, ``), said)},
		{"V3", "null summary", free, Responses, responses(user, with(thought, `[]`, `null`), said)},

		{"V4", "empty list", Options{}, Responses, responses()},
		{"V4", "empty answer", Options{}, Responses, responses(user, with(said, `"a"`, `""`))},
		{"V4", "blank answer", Options{}, Responses, responses(user, with(said, `"a"`, `" "`))},
		{"V4", "answer of no parts", Options{}, Responses, responses(user, `{"role":"assistant","content":[]}`)},
		{"V4", "empty tools", Options{}, Responses, with(responses(user), tool, `"tools":[],`)},
		{"V4", "empty list", Options{}, Chat, chat()},
		{"V4", "empty answer", Options{}, Chat, chat(cUser, with(cSaid, `"a"`, `""`))},
		{"V4", "null answer", Options{}, Chat, chat(cUser, with(cSaid, `"a"`, `null`))},
		{"V4", "no content", Options{}, Chat, chat(cUser, `{"role":"assistant"}`)},
		{"V4", "blank answer", Options{}, Chat, chat(cUser, with(cSaid, `"a"`, `" \n"`))},
		{"V4", "empty calls", Options{}, Chat, chat(cUser, `{"role":"assistant","content":"a","tool_calls":[]}`)},

		{"V5", "half arguments", Options{}, Responses, responses(user, with(call, `"{}"`, `"{\"a\":"`), output)},
		{"V5", "empty arguments", Options{}, Responses, responses(user, with(call, `"{}"`, `""`), output)},
		{"V5", "no arguments", Options{}, Responses, responses(user, with(call, `,"arguments":"{}"`, ``), output)},
		{"V5", "arguments as an object", Options{}, Chat, chat(cUser, with(cCall, `"{}"`, `{}`), cOutput)},
		{"V5", "half arguments", Options{}, Chat, chat(cUser, with(cCall, `"{}"`, `"{"`), cOutput)},

		{"V6", "name of a call", Options{}, Responses, responses(user, with(call, "list", "fs.read"), output)},
		{"V6", "long name of a call", Options{}, Chat, chat(cUser, with(cCall, "list", strings.Repeat("x", 65)), cOutput)},
		{"V6", "empty name of a call", Options{}, Chat, chat(cUser, with(cCall, "list", ""), cOutput)},
		{"V6", "name of a tool", Options{}, Responses, with(responses(user), `"list"`, `"a b"`)},
		{"V6", "a tool twice", Options{}, Responses, with(responses(user), tool, `"tools":[{"type":"function","name":"a","parameters":{"type":"object"}},{"type":"function","name":"a","parameters":{"type":"object"}}],`)},

		{"V7", "no UTF-8", Options{}, Chat, chat(with(cUser, "q", "\xff"))},
		{"V7", "a replacement mark", Options{}, Chat, chat(with(cUser, "q", "\uFFFD"))},
		{"V7", "an escaped one", Options{}, Chat, chat(with(cUser, "q", `\uFFFD`))},
		{"", "one that was there before", Options{Replacement: true}, Chat, chat(with(cUser, "q", "\uFFFD"))},

		{"V8", "bytes", Options{MaxBytes: 100}, Chat, chat(with(cUser, "q", strings.Repeat("q", 100)))},
		{"V8", "tokens", Options{MaxTokens: 100}, Chat, chat(with(cUser, "q", strings.Repeat("q", 400)))},
		{"", "below both", Options{MaxBytes: 400, MaxTokens: 100}, Chat, chat(cUser)},

		{"V9", "unknown parameter", Options{}, Responses, with(responses(user), `"model"`, `"messages":[],"model"`)},
		{"V9", "unknown parameter", Options{}, Chat, with(chat(cUser), `"model"`, `"input":[],"model"`)},
		{"V9", "refused parameter", Options{Flavour: Flavour{Refuses: []string{"store"}}}, Responses, with(responses(user), `"model"`, `"store":false,"model"`)},
		{"V9", "refused part of one", Options{Flavour: Flavour{Refuses: []string{"reasoning.summary"}}}, Responses, with(responses(user), `"model"`, `"reasoning":{"summary":"auto"},"model"`)},
		{"V9", "refused role", Options{Flavour: Flavour{Refuses: []string{"developer"}}}, Responses, responses(with(user, "user", "developer"), user)},
		{"V9", "refused member of tools", Options{Flavour: Flavour{Refuses: []string{"tools.strict"}}}, Responses, with(responses(user), `"name":"list"`, `"name":"list","strict":false`)},
		{"V9", "reasoning_content refused", Options{Flavour: Flavour{Refuses: []string{"reasoning_content"}}}, Chat, chat(cUser, with(cCall, `"content"`, `"reasoning_content":"r","content"`), cOutput)},
		{"V9", "reasoning_content demanded", Options{Flavour: Flavour{EchoesReasoning: true}}, Chat, chat(cUser, cCall, cOutput)},
		{"V9", "two user messages", Options{Flavour: Flavour{StrictTurns: true}}, Chat, chat(cUser, cUser)},
		{"V9", "a user message behind a result", Options{Flavour: Flavour{StrictTurns: true}}, Chat, chat(cUser, cCall, cOutput, cUser)},
		{"", "turns", Options{Flavour: Flavour{StrictTurns: true}}, Chat, chat(cUser, cCall, cOutput, cSaid, cUser)},
		{"", "reasoning_content given", Options{Flavour: Flavour{EchoesReasoning: true}}, Chat, chat(cUser, with(cCall, `"content"`, `"reasoning_content":"","content"`), cOutput)},

		{"shape", "no JSON", Options{}, Chat, `{"model"`},
		{"shape", "no model", Options{}, Chat, with(chat(cUser), `"model":"m",`, ``)},
		{"shape", "input is no list", Options{}, Responses, with(responses(user), "["+user+"]", `{}`)},
		{"shape", "unknown item", Options{}, Responses, responses(user, `{"type":"tool-result"}`)},
		{"shape", "unknown role", Options{}, Chat, chat(cUser, `{"role":"function","content":"x"}`)},
		{"shape", "wrong part", Options{}, Responses, responses(with(user, "input_text", "text"))},
		{"shape", "id of another kind", free, Responses, responses(user, thought, with(said, `"role"`, `"id":"fc_1","role"`))},
		{"shape", "an id twice", free, Responses, responses(user, thought, thought, said)},
		{"shape", "schema of no object", Options{}, Responses, with(responses(user), `{"type":"object"}`, `{}`)},
	} {
		t.Run(c.api+" "+c.rule+" "+c.name, func(t *testing.T) {
			s := start(t, c.opts)
			path := map[string]string{Responses: "/responses", Chat: "/chat/completions"}[c.api]
			status, answer := post(t, s, path, c.body)
			got, broken := "", s.Requests()[0].Broken
			if v := s.Violations(); len(v) == 1 {
				got = v[0].Rule
			}
			if got != c.rule || broken != c.rule || (status == http.StatusOK) != (c.rule == "") {
				t.Fatalf("rule %q (recorded %q), want %q; %d %s", got, broken, c.rule, status, answer)
			}
			if c.rule == "" {
				return
			}
			var e struct {
				Error struct{ Message, Type string }
			}
			if err := json.Unmarshal([]byte(answer), &e); err != nil || e.Error.Message == "" || e.Error.Type == "" {
				t.Errorf("not an error in OpenAI's shape: %s", answer)
			}
		})
	}
}

// What a server made itself it takes back whole, and not in part.
func TestOwnItems(t *testing.T) {
	for _, stores := range []bool{false, true} {
		s := start(t, Options{StoresItems: stores, Script: []Step{Reply(Reasoning("r"), Text("t"), Call("list", nil).ID("c"))}})
		ask := with(responses(user), `"model"`, `"stream":false,"include":["reasoning.encrypted_content"],"model"`)
		_, answer := post(t, s, "/responses", ask)
		var doc struct {
			Output []json.RawMessage
		}
		if err := json.Unmarshal([]byte(answer), &doc); err != nil || len(doc.Output) != 3 {
			t.Fatalf("%v in %s", err, answer)
		}
		var items, refs []string
		for _, raw := range doc.Output {
			var it struct{ ID string }
			if err := json.Unmarshal(raw, &it); err != nil {
				t.Fatal(err)
			}
			items = append(items, string(raw))
			refs = append(refs, `{"type":"item_reference","id":"`+it.ID+`"}`)
		}
		want := func(what, rule string, input ...string) {
			t.Helper()
			before := len(s.Violations())
			post(t, s, "/responses", responses(input...))
			got := ""
			if v := s.Violations(); len(v) > before {
				got = v[before].Rule
			}
			if got != rule {
				t.Errorf("stores %v: %s breaks %q, want %q", stores, what, got, rule)
			}
		}
		refRule := "V2"
		if stores {
			refRule = ""
		}
		want("whole", "", user, items[0], items[1], items[2], output)
		want("without reasoning", "V3", user, items[1], items[2], output)
		want("references", refRule, user, refs[0], refs[1], refs[2], output)
		if stores {
			want("references without reasoning", "V3", user, refs[1], refs[2], output)
			want("a reference twice", "shape", user, refs[0], refs[1], refs[1], refs[2], output)
			want("a referenced call without output", "V1", user, refs[0], refs[1], refs[2])
		}
	}
}

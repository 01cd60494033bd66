package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shiro/agent/provider/providertest"
	"shiro/memory/transcript"
)

func parse(t *testing.T, raw ...string) []*transcript.Message {
	t.Helper()
	var ms []*transcript.Message
	for _, r := range raw {
		m, err := transcript.Parse([]byte(r))
		if err != nil {
			t.Fatalf("%s: %v", r, err)
		}
		ms = append(ms, m)
	}
	return ms
}

// sent is what a server gets for a history: the messages, one per line.
func sent(t *testing.T, o Options, ms []*transcript.Message) string {
	t.Helper()
	o.BaseURL = "http://model.test/v1"
	b, err := New(o).encode(&Request{Model: "m", Messages: ms}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return elements(t, b.json)
}

func elements(t *testing.T, body []byte) string {
	t.Helper()
	var w struct{ Input, Messages []json.RawMessage }
	if err := json.Unmarshal(body, &w); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	var lines []string
	for _, e := range append(w.Input, w.Messages...) {
		lines = append(lines, string(e))
	}
	return strings.Join(lines, "\n")
}

const (
	ownBlob     = `"providerOptions":{"openai":{"itemId":"rs_1","reasoningEncryptedContent":"BLOB"},"shiro":{"origin":"model.test/v1"}}`
	unknownBlob = `"providerOptions":{"openai":{"itemId":"rs_1","reasoningEncryptedContent":"BLOB"}}`
	foreignBlob = `"providerOptions":{"openai":{"itemId":"rs_1","reasoningEncryptedContent":"BLOB"},"shiro":{"origin":"other.test/v1"}}`
	noBlob      = `"providerOptions":{"openai":{"itemId":"rs_1","reasoningEncryptedContent":null}}`
	noID        = `"providerOptions":{"openai":{"reasoningEncryptedContent":"BLOB"}}`
	signature   = `"providerOptions":{"anthropic":{"signature":"SIG"}}`

	textItem = `{"type":"text","text":"Hi","providerOptions":{"openai":{"itemId":"msg_1","phase":"commentary"}}}`
	callItem = `{"type":"tool-call","toolCallId":"c1","toolName":"list","input":{"a":"<&>"},"providerOptions":{"openai":{"itemId":"fc_1"}}}`
	result   = `{"role":"tool","content":[{"type":"tool-result","toolCallId":"c1","toolName":"list","output":{"type":"text","value":"ok"},"providerOptions":{"openai":{"itemId":"fc_1"}}}]}`
)

func reasoningPart(text, options string) string {
	return `{"type":"reasoning","text":"` + text + `",` + options + `}`
}

func assistantRaw(parts ...string) string {
	return `{"role":"assistant","content":[` + strings.Join(parts, ",") + `]}`
}

func TestAssistantMessagesOnResponses(t *testing.T) {
	const (
		whole = `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"BLOB"}` + "\n" +
			`{"type":"message","role":"assistant","id":"msg_1","phase":"commentary","content":[{"type":"output_text","text":"Hi"}]}` + "\n" +
			`{"type":"function_call","id":"fc_1","call_id":"c1","name":"list","arguments":"{\"a\":\"<&>\"}"}`
		plain = `{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"Hi"}]}` + "\n" +
			`{"type":"function_call","call_id":"c1","name":"list","arguments":"{\"a\":\"<&>\"}"}`
	)
	for name, c := range map[string]struct {
		parts []string
		want  string
	}{
		"own reasoning":             {[]string{reasoningPart("hm", ownBlob), textItem, callItem}, whole},
		"of unknown origin":         {[]string{reasoningPart("hm", unknownBlob), textItem, callItem}, whole},
		"another server's":          {[]string{reasoningPart("hm", foreignBlob), textItem, callItem}, plain},
		"not encrypted":             {[]string{reasoningPart("hm", noBlob), textItem, callItem}, plain},
		"without id":                {[]string{reasoningPart("hm", noID), textItem, callItem}, plain},
		"Anthropic's":               {[]string{reasoningPart("hm", signature), textItem, callItem}, plain},
		"pruned":                    {[]string{textItem, callItem}, plain},
		"one of two not encrypted":  {[]string{reasoningPart("hm", ownBlob), strings.ReplaceAll(reasoningPart("hm", noBlob), "rs_1", "rs_2"), textItem, callItem}, plain},
		"empty summary":             {[]string{reasoningPart("", ownBlob), textItem, callItem}, strings.Replace(whole, `{"type":"summary_text","text":"hm"}`, "", 1)},
		"two summaries of one item": {[]string{reasoningPart("h", noBlob), reasoningPart("m", ownBlob), textItem, callItem}, strings.Replace(whole, `{"type":"summary_text","text":"hm"}`, `{"type":"summary_text","text":"h"},{"type":"summary_text","text":"m"}`, 1)},
		"reasoning at the end":      {[]string{reasoningPart("hm", ownBlob), textItem, callItem, strings.ReplaceAll(reasoningPart("more", ownBlob), "rs_1", "rs_2")}, whole},
		"text behind the call":      {[]string{reasoningPart("hm", ownBlob), callItem, textItem}, plain},
		"blank text":                {[]string{reasoningPart("hm", ownBlob), `{"type":"text","text":" \n"}`, textItem, callItem}, whole},
		"other parts":               {[]string{reasoningPart("hm", ownBlob), textItem, callItem, `{"type":"tool-approval-request","approvalId":"x","toolCallId":"c1"}`, `{"type":"custom","kind":"x.y"}`}, whole},
	} {
		t.Run(name, func(t *testing.T) {
			got := sent(t, Options{API: Responses}, parse(t, assistantRaw(c.parts...), result))
			same(t, "input", got, c.want+"\n"+`{"type":"function_call_output","call_id":"c1","output":"ok"}`)
		})
	}
	for name, raw := range map[string]string{
		"no parts": `{"role":"assistant","content":[]}`, "empty text": `{"role":"assistant","content":""}`,
		"blank text": assistantRaw(`{"type":"text","text":" \n"}`), "reasoning only": assistantRaw(reasoningPart("hm", ownBlob)),
		"unknown parts": assistantRaw(`{"type":"custom","kind":"x.y"}`), "a server's own call": assistantRaw(`{"type":"tool-call","toolCallId":"w","toolName":"web_search","input":{},"providerExecuted":true}`),
	} {
		apis(t, func(t *testing.T, api string) {
			got := sent(t, Options{API: api}, parse(t, `{"role":"user","content":"q"}`, raw))
			if strings.Contains(got, "\n") {
				t.Errorf("%s is sent: %s", name, got)
			}
		})
	}
}

func TestMessagesOnChat(t *testing.T) {
	got := sent(t, Options{API: Chat}, parse(t, `{"role":"user","content":"q"}`,
		assistantRaw(reasoningPart("hm", ownBlob), textItem, `{"type":"text","text":"more"}`, callItem), result,
		assistantRaw(callItem), result, `{"role":"assistant","content":"plain"}`))
	same(t, "messages", got, strings.Join([]string{
		`{"role":"user","content":"q"}`,
		`{"role":"assistant","content":"Hi\n\nmore","tool_calls":[{"id":"c1","type":"function","function":{"name":"list","arguments":"{\"a\":\"<&>\"}"}}]}`,
		`{"role":"tool","tool_call_id":"c1","content":"ok"}`,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"list","arguments":"{\"a\":\"<&>\"}"}}]}`,
		`{"role":"tool","tool_call_id":"c1","content":"ok"}`,
		`{"role":"assistant","content":"plain"}`,
	}, "\n"))
}

func TestUserContent(t *testing.T) {
	for name, c := range map[string]struct{ content, responses, chat string }{
		"text": {`"a \"b\" 😀 <c>"`, `[{"type":"input_text","text":"a \"b\" 😀 <c>"}]`, `"a \"b\" 😀 <c>"`},
		"list": {`[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, `[{"type":"input_text","text":"a\nb"}]`, `"a\nb"`},
		"image": {
			`[{"type":"text","text":"a"},{"type":"image","image":"aGk=","mediaType":"image/png"},{"type":"file","data":"https://x/y.png","mediaType":"image/png"}]`,
			`[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:image/png;base64,aGk="},{"type":"input_image","image_url":"https://x/y.png"}]`,
			`[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}},{"type":"image_url","image_url":{"url":"https://x/y.png"}}]`,
		},
		"image of no type": {`[{"type":"image","image":"aGk="}]`, `[{"type":"input_text","text":"[attachment not sent: of unknown type]"}]`, `"[attachment not sent: of unknown type]"`},
		"file": {
			`[{"type":"text","text":"a"},{"type":"file","data":"aGk=","mediaType":"application/pdf","filename":"x.pdf"}]`,
			`[{"type":"input_text","text":"a\n[attachment not sent: x.pdf application/pdf]"}]`, `"a\n[attachment not sent: x.pdf application/pdf]"`,
		},
	} {
		ms := parse(t, `{"role":"user","content":`+c.content+`}`)
		same(t, name, sent(t, Options{API: Responses}, ms), `{"type":"message","role":"user","content":`+c.responses+`}`)
		same(t, name, sent(t, Options{API: Chat}, ms), `{"role":"user","content":`+c.chat+`}`)
	}
}

func TestToolOutputs(t *testing.T) {
	for output, want := range map[string]string{
		`{"type":"text","value":"ok"}`:                                                             "ok",
		`{"type":"text","value":""}`:                                                               "(no output)",
		`{"type":"error-text","value":"Error: no such file"}`:                                      "Error: no such file",
		`{"type":"execution-denied","reason":"use tabs"}`:                                          "use tabs",
		`{"type":"execution-denied"}`:                                                              "Tool execution denied.",
		`{"type":"json","value":{"a":[1]}}`:                                                        `{"a":[1]}`,
		`{"type":"error-json","value":"x"}`:                                                        `"x"`,
		`{"type":"content","value":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`:       "a\nb",
		`{"type":"content","value":[{"type":"media","data":"aGk=","mediaType":"image/png"}]}`:      "[attachment not sent: image/png]",
		`{"type":"content","value":[]}`:                                                            "(no output)",
		`{"type":"text","value":"tab\tquote\" back\\slash \u0001 \u2028 \ud83d\ude00 é <b>&</b>"}`: "tab\tquote\" back\\slash \x01 \u2028 😀 é <b>&</b>",
	} {
		ms := parse(t, assistantRaw(callItem), `{"role":"tool","content":[{"type":"tool-approval-response","approvalId":"x","approved":true},{"type":"tool-result","toolCallId":"c1","toolName":"list","output":`+output+`}]}`)
		for _, api := range []string{Responses, Chat} {
			lines := strings.Split(sent(t, Options{API: api}, ms), "\n")
			var w struct{ Output, Content string }
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &w); err != nil {
				t.Fatal(err)
			}
			same(t, api+" "+output, w.Output+w.Content, want)
		}
	}
}

// Empty members that a server requires are there.
func TestEmptyMembersStay(t *testing.T) {
	got := sent(t, Options{API: Responses}, parse(t, assistantRaw(reasoningPart("", ownBlob), `{"type":"tool-call","toolCallId":"c1","toolName":"list","input":{}}`), result))
	for _, member := range []string{`"summary":[]`, `"arguments":"{}"`} {
		if !strings.Contains(got, member) {
			t.Errorf("no %s in %s", member, got)
		}
	}
}

func TestNamesAndIDsThatServersRefuse(t *testing.T) {
	long := strings.Repeat("x", 90)
	seen := map[string]string{}
	for _, name := range []string{"fs.read file!", "fs.read_file!", long, long + "y", "", "é", "ok", "mcp__a__b-c"} {
		got := cleanName(name)
		if got != cleanName(name) || !strings.ContainsAny(got, "abcdefghijklmnopqrstuvwxyz0123456789") || len(got) > 64 || strings.Trim(got, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("%q becomes %q", name, got)
		}
		if seen[got] != "" {
			t.Errorf("%q and %q become %q", name, seen[got], got)
		}
		seen[got] = name + "."
	}
	same(t, "a good name", cleanName("mcp__a__b-c"), "mcp__a__b-c")

	apis(t, func(t *testing.T, api string) {
		bad := "fs.read file!" + long
		s := script(t, providertest.Call(bad, nil).ID(strings.Repeat("i", 100)))
		c := newClient(t, s, Options{API: api})
		r := ask("x")
		res, _ := stream(t, c, r)
		same(t, "stored name", res.Parts[0].ToolName, bad)
		r.Messages = append(r.Messages, transcript.Assistant(res.Parts...),
			transcript.Tool(transcript.Result(res.Parts[0], transcript.Output{Type: transcript.OutputErrorText, Text: "no such tool"}, true)))
		stream(t, c, r)
		noViolations(t, s)
		items := s.Requests()[1].Items()
		call, output := items[len(items)-2], items[len(items)-1]
		if call.Kind != "call" || output.Kind != "result" || call.CallID != output.CallID {
			t.Errorf("call %+v, output %+v", call, output)
		}
	})
}

// Histories written by the terminal tool are accepted by strict servers of
// either kind, followed by a new prompt.
func TestTerminalToolHistoriesAreAccepted(t *testing.T) {
	files, err := filepath.Glob("../../memory/transcript/testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var ms []*transcript.Message
		if err := json.Unmarshal(data, &ms); err != nil {
			t.Fatal(err)
		}
		ms = append(ms, transcript.User("MARKER"))
		apis(t, func(t *testing.T, api string) {
			for _, flavour := range []providertest.Flavour{{}, {EchoesReasoning: true}, {Refuses: []string{"reasoning_content"}}} {
				s := startMock(t, providertest.Options{Flavour: flavour})
				r := ask("")
				r.Messages = ms
				r.Trailer = "state"
				stream(t, newClient(t, s, Options{API: api}), r)
				if flavour.EchoesReasoning && api == Chat {
					continue // learnt by one refusal
				}
				noViolations(t, s)
				if !bytes.Contains(s.Requests()[0].Body, []byte("MARKER")) {
					t.Errorf("%s: the prompt is not there", file)
				}
			}
		})
	}
}

func TestQuotingIsJSON(t *testing.T) {
	for _, s := range []string{"", "plain", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "é渐😀\u2028\u2029", "<b>&amp;</b>", "cut \xe6\xb8", "\xff\xfe", "\xed\xa0\x80", strings.Repeat("a\n", 100)} {
		std, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var got, want string
		if err := errors.Join(json.Unmarshal(appendQuoted(nil, s), &got), json.Unmarshal(std, &want)); err != nil {
			t.Errorf("%q: %v", s, err)
		}
		same(t, "round trip", got, want)
		same(t, "bytes", string(appendQuoted(nil, []byte(s))), string(appendQuoted(nil, s)))
	}
}

func FuzzQuoting(f *testing.F) {
	f.Add("a\"\\\n\x00é\xff")
	f.Fuzz(func(t *testing.T, s string) {
		var want, got string
		std, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(std, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(appendQuoted(nil, s), &got); err != nil || got != want {
			t.Errorf("%q: %q, %v", s, got, err)
		}
		var half rune
		if text := flushHalf(appendUnquoted(nil, std, &half), &half); string(text) != want {
			t.Errorf("%q: unquoted to %q", s, text)
		}
	})
}

package provider

import (
	"strings"
	"testing"

	"shiro/agent/provider/providertest"
	"shiro/memory/transcript"
)

func itemDone(index, item string) string {
	return event(`{"type":"response.output_item.done","output_index":` + index + `,"item":` + item + `}`)
}

func completed(output string) string {
	return event(`{"type":"response.completed","response":{"status":"completed","output":` + output + `}}`)
}

// What is stored must be what the terminal tool's SDK stores, since it reads it.
func TestStoredOptionsOfResponses(t *testing.T) {
	body := event(`{"type":"response.created","response":{"id":"resp_1","error":null}}`) +
		itemDone("0", `{"type":"reasoning","id":"rs_1","encrypted_content":"BLOB","summary":[{"type":"summary_text","text":"one"},{"type":"summary_text","text":"two"}]}`) +
		itemDone("1", `{"type":"message","id":"msg_1","phase":"commentary","role":"assistant","content":[{"type":"output_text","text":"Hi"},{"type":"output_text","text":" you"}]}`) +
		itemDone("2", `{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":null}`) +
		itemDone("3", `{"type":"web_search_call","id":"ws_1"}`) +
		itemDone("4", `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"list","arguments":"{\"a\": 1}"}`) +
		itemDone("5", `{"type":"message","id":"msg_2","content":[]}`) +
		completed(`[]`)
	res, _ := stream(t, cannedClient(Responses, body), ask("x"))
	same(t, "message", string(encodedAnswer(t, res)), `{"role":"assistant","content":[`+
		`{"type":"reasoning","text":"one","providerOptions":{"openai":{"itemId":"rs_1","reasoningEncryptedContent":null}}},`+
		`{"type":"reasoning","text":"two","providerOptions":{"openai":{"itemId":"rs_1","reasoningEncryptedContent":"BLOB"},"shiro":{"origin":"model.test/v1"}}},`+
		`{"type":"text","text":"Hi you","providerOptions":{"openai":{"itemId":"msg_1","phase":"commentary"}}},`+
		`{"type":"reasoning","text":"","providerOptions":{"openai":{"itemId":"rs_2","reasoningEncryptedContent":null}}},`+
		`{"type":"tool-call","toolCallId":"call_1","toolName":"list","input":{"a":1},"providerOptions":{"openai":{"itemId":"fc_1"}}}]}`)
}

func TestStoredOptionsOfChat(t *testing.T) {
	body := chatDeltas(`{"reasoning_content":"hm"}`, `{"content":"Hi"}`, callDelta(`"index":0,"id":"a","function":{"name":"list","arguments":"{}"}`)) + event(chatStop)
	res, _ := stream(t, cannedClient(Chat, body), ask("x"))
	same(t, "message", string(encodedAnswer(t, res)), `{"role":"assistant","content":[`+
		`{"type":"reasoning","text":"hm","providerOptions":{"shiro":{"origin":"model.test/v1"}}},`+
		`{"type":"text","text":"Hi"},{"type":"tool-call","toolCallId":"a","toolName":"list","input":{}}]}`)
}

func encodedAnswer(t *testing.T, r *Response) []byte {
	t.Helper()
	b, err := transcript.Assistant(r.Parts...).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestResponsesStreamsInEveryShape(t *testing.T) {
	delta := func(fields string) string {
		return event(`{"type":"response.output_text.delta",` + fields + `}`)
	}
	message := `{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"Hello"}]}`
	call := `{"type":"function_call","id":"fc_1","call_id":"a","name":"list","arguments":"{}"}`
	for name, c := range map[string]struct {
		body string
		want []string
		stop Stop
	}{
		"deltas only": {
			body: delta(`"item_id":"msg_1","output_index":0,"delta":"Hel"`) + delta(`"item_id":"msg_1","output_index":0,"delta":"lo"`) + completed(`[]`),
			want: []string{"text Hello"},
		},
		"no ids, no indexes": {
			body: event(`{"type":"response.output_item.added","item":{"type":"message"}}`) + delta(`"delta":"Hel"`) + delta(`"delta":"lo"`) + completed(`[]`),
			want: []string{"text Hello"},
		},
		"the last event only": {body: completed(`[` + message + `,` + call + `]`), want: []string{"text Hello", "call list {}"}},
		"everything twice":    {body: itemDone("0", message) + itemDone("1", call) + completed(`[`+message+`,`+call+`]`), want: []string{"text Hello", "call list {}"}},
		"done out of order":   {body: itemDone("1", call) + itemDone("0", message) + completed(`[]`), want: []string{"text Hello", "call list {}"}},
		"other ids every time": {
			body: event(`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_x"}}`) + delta(`"item_id":"msg_y","output_index":0,"delta":"Hel"`) +
				itemDone("0", strings.Replace(message, "msg_1", "msg_z", 1)) + itemDone("1", call) + completed(`[`+message+`]`),
			want: []string{"text Hello", "call list {}"},
		},
		"always index 0": {body: itemDone("0", message) + itemDone("0", call) + completed(`[`+message+`,`+call+`]`), want: []string{"text Hello", "call list {}"}},
		"deltas that were wrong": {
			body: delta(`"item_id":"msg_1","output_index":0,"delta":"Hxl"`) + itemDone("0", message) + completed(`[]`), want: []string{"text Hello"},
		},
		"arguments before the head": {
			body: event(`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":"{}"}`) + itemDone("0", call) + completed(`[]`),
			want: []string{"call list {}"},
		},
		"an object for a delta": {body: delta(`"item_id":"msg_1","output_index":0,"delta":{"x":1}`) + itemDone("0", message) + completed(`[]`), want: []string{"text Hello"}},
		"reasoning shown itself": {
			body: event(`{"type":"response.reasoning_text.delta","item_id":"rs_1","output_index":0,"content_index":0,"delta":"hm"}`) +
				itemDone("0", `{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}`) + itemDone("1", message) + completed(`[]`),
			want: []string{"reasoning hm", "text Hello"},
		},
		"refusal": {
			body: event(`{"type":"response.mood","mood":1}`) + event(`{"type":"response.refusal.delta","item_id":"msg_1","output_index":0,"delta":"no"}`) +
				itemDone("0", `{"type":"message","id":"msg_1","content":[{"type":"refusal","refusal":"no"}]}`) + completed(`[]`),
			want: []string{"text no"}, stop: StopRefusal,
		},
		"cut by the limit": {
			body: itemDone("0", message) + event(`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}}`),
			want: []string{"text Hello"}, stop: StopLength,
		},
		"cut by the filter": {
			body: itemDone("0", message) + event(`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}`),
			want: []string{"text Hello"}, stop: StopFilter,
		},
		"cut inside a call": {
			body: itemDone("0", `{"type":"function_call","id":"fc_1","call_id":"a","status":"incomplete","name":"list","arguments":"{}"}`) +
				event(`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}`),
			want: []string{"call list {}"}, stop: StopLength,
		},
		"cut before the end of a call": {
			body: event(`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"a","name":"list","arguments":""}}`) +
				event(`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}`),
			want: []string{"call list {}"}, stop: StopLength,
		},
	} {
		t.Run(name, func(t *testing.T) {
			res, _ := stream(t, cannedClient(Responses, c.body), ask("x"))
			same(t, "parts", brief(res), c.want)
			if c.stop == "" {
				c.stop = StopEnd
			}
			same(t, "stop", res.Stop, c.stop)
			inCall := strings.HasPrefix(name, "cut ") && strings.Contains(name, "call")
			if inCall != (res.Malformed["a"] != "") {
				t.Errorf("malformed: %v", res.Malformed)
			}
		})
	}
}

func TestDeltasOfSeveralSummaries(t *testing.T) {
	summary := func(n, text string) string {
		return event(`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":` + n + `,"delta":"` + text + `"}`)
	}
	body := summary("0", "on") + summary("0", "e") + summary("1", "two") + completed(`[]`)
	res, deltas := stream(t, cannedClient(Responses, body), ask("x"))
	same(t, "deltas", deltas, []Delta{{Channel: Reasoning, Part: 0, Text: "one"}, {Channel: Reasoning, Part: 1, Text: "two"}})
	same(t, "parts", brief(res), []string{"reasoning one", "reasoning two"})
}

func TestLengthStopInBothAPIs(t *testing.T) {
	apis(t, func(t *testing.T, api string) {
		s := script(t,
			providertest.Say(strings.Repeat("word ", 30)).Finish("length").Usage(providertest.Usage{Input: 9, Output: 30}),
			providertest.Call("list", `{"a":`).ID("a").Finish("length"))
		c := newClient(t, s, Options{API: api})
		res, _ := stream(t, c, ask("x"))
		same(t, "text", brief(res), []string{"text " + strings.Repeat("word ", 30)})
		same(t, "stop", res.Stop, StopLength)
		same(t, "usage", res.Usage, Usage{Input: 9, Output: 30, Known: true})
		res, _ = stream(t, c, ask("x"))
		same(t, "call", brief(res), []string{"call list {}"})
		if !strings.Contains(res.Malformed["a"], "cut off") {
			t.Errorf("malformed: %v", res.Malformed)
		}
	})
}

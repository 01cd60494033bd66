package provider

import (
	"strings"
	"testing"

	"shiro/memory/transcript"
)

func chatDeltas(deltas ...string) string {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(event(`{"choices":[{"index":0,"delta":` + d + `}]}`))
	}
	return b.String()
}

func callDelta(fields string) string { return `{"tool_calls":[{` + fields + `}]}` }

func TestChatCallsInEveryShape(t *testing.T) {
	const (
		a, b  = `call read_file {"path":"a.txt"}`, `call list {"dir":"b"}`
		argsA = `"function":{"arguments":"{\"path\":"}`
		restA = `"function":{"arguments":"\"a.txt\"}"}`
	)
	for name, c := range map[string]struct {
		deltas []string
		want   []string
		ids    []string // "" accepts any
	}{
		"as OpenAI sends them": {[]string{
			callDelta(`"index":0,"id":"a","type":"function","function":{"name":"read_file","arguments":""}`),
			callDelta(`"index":0,` + argsA), callDelta(`"index":0,` + restA),
			callDelta(`"index":1,"id":"b","type":"function","function":{"name":"list","arguments":""}`),
			callDelta(`"index":1,"function":{"arguments":"{\"dir\":\"b\"}"}`),
		}, []string{a, b}, []string{"a", "b"}},
		"interleaved": {[]string{
			callDelta(`"index":0,"id":"a","function":{"name":"read_file"}`),
			callDelta(`"index":1,"id":"b","function":{"name":"list"}`),
			callDelta(`"index":0,` + argsA), callDelta(`"index":1,"function":{"arguments":"{\"dir\":"}`),
			callDelta(`"index":0,` + restA), callDelta(`"index":1,"function":{"arguments":"\"b\"}"}`),
		}, []string{a, b}, []string{"a", "b"}},
		"two in one chunk": {[]string{
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read_file","arguments":"{\"path\":\"a.txt\"}"}},{"index":1,"id":"b","function":{"name":"list","arguments":"{\"dir\":\"b\"}"}}]}`,
		}, []string{a, b}, []string{"a", "b"}},
		"no index": {[]string{
			callDelta(`"id":"a","function":{"name":"read_file","arguments":""}`), callDelta(argsA), callDelta(restA),
			callDelta(`"id":"b","function":{"name":"list","arguments":""}`), callDelta(`"function":{"arguments":"{\"dir\":"}`), callDelta(`"function":{"arguments":"\"b\"}"}`),
		}, []string{a, b}, []string{"a", "b"}},
		"no index, id with every delta": {[]string{
			callDelta(`"id":"a","function":{"name":"read_file"}`), callDelta(`"id":"b","function":{"name":"list"}`),
			callDelta(`"id":"a",` + argsA), callDelta(`"id":"b","function":{"arguments":"{\"dir\":\"b\"}"}`), callDelta(`"id":"a",` + restA),
		}, []string{a, b}, []string{"a", "b"}},
		"null index": {[]string{
			callDelta(`"index":null,"id":"a","function":{"name":"read_file","arguments":"{\"path\":\"a.txt\"}"}`),
			callDelta(`"index":null,"id":"b","function":{"name":"list","arguments":"{\"dir\":\"b\"}"}`),
		}, []string{a, b}, []string{"a", "b"}},
		"always index 0, whole calls": {[]string{
			callDelta(`"index":0,"id":"a","function":{"name":"read_file","arguments":"{\"path\":\"a.txt\"}"}`),
			callDelta(`"index":0,"id":"b","function":{"name":"list","arguments":"{\"dir\":\"b\"}"}`),
		}, []string{a, b}, []string{"a", "b"}},
		"empty ids after the first": {[]string{
			callDelta(`"index":0,"id":"a","function":{"name":"read_file","arguments":""}`),
			callDelta(`"index":0,"id":"",` + argsA), callDelta(`"index":0,"id":"",` + restA),
		}, []string{a}, []string{"a"}},
		"everything repeated": {[]string{
			callDelta(`"index":0,"id":"a","type":"function","function":{"name":"read_file","arguments":""}`),
			callDelta(`"index":0,"id":"a","type":"function","function":{"name":"read_file","arguments":"{\"path\":"}`),
			callDelta(`"index":0,"id":"a","type":"function","function":{"name":"read_file","arguments":"\"a.txt\"}"}`),
		}, []string{a}, []string{"a"}},
		"everything repeated, no index": {[]string{
			callDelta(`"id":"a","function":{"name":"read_file","arguments":"{\"path\":"}`),
			callDelta(`"id":"a","function":{"name":"read_file","arguments":"\"a.txt\"}"}`),
		}, []string{a}, []string{"a"}},
		"name repeated, neither id nor index": {[]string{
			callDelta(`"function":{"name":"read_file","arguments":"{\"path\":"}`),
			callDelta(`"function":{"name":"read_file","arguments":"\"a.txt\"}"}`),
		}, []string{a}, []string{""}},
		"a new id with every delta": {[]string{
			callDelta(`"index":0,"id":"a","function":{"name":"read_file","arguments":""}`),
			callDelta(`"index":0,"id":"a2",` + argsA), callDelta(`"index":0,"id":"a3",` + restA),
		}, []string{a}, []string{"a"}},
		"name after the arguments": {[]string{
			callDelta(`"index":0,` + argsA), callDelta(`"index":0,` + restA), callDelta(`"index":0,"id":"a","function":{"name":"read_file"}`),
		}, []string{a}, []string{"a"}},
		"name after the arguments, no index": {[]string{
			callDelta(argsA), callDelta(restA), callDelta(`"id":"a","function":{"name":"read_file"}`),
		}, []string{a}, []string{"a"}},
		"name in pieces": {[]string{
			callDelta(`"index":0,"id":"a","function":{"name":"read"}`), callDelta(`"index":0,"function":{"name":"_file"}`),
			callDelta(`"index":0,` + argsA), callDelta(`"index":0,` + restA),
		}, []string{a}, []string{"a"}},
		"no ids at all": {[]string{
			callDelta(`"function":{"name":"read_file","arguments":"{\"path\":\"a.txt\"}"}`),
			callDelta(`"function":{"name":"list","arguments":"{\"dir\":\"b\"}"}`),
		}, []string{a, b}, []string{"", ""}},
		"the same call twice, no ids": {[]string{
			callDelta(`"function":{"name":"list","arguments":"{\"dir\":\"b\"}"}`), callDelta(`"function":{"name":"list","arguments":"{\"dir\":\"b\"}"}`),
		}, []string{b, b}, []string{"", ""}},
		"one id for two calls": {[]string{
			callDelta(`"index":0,"id":"a","function":{"name":"read_file","arguments":"{\"path\":\"a.txt\"}"}`),
			callDelta(`"index":1,"id":"a","function":{"name":"list","arguments":"{\"dir\":\"b\"}"}`),
		}, []string{a, b}, []string{"a", "a_2"}},
		"an id that the history has": {[]string{
			callDelta(`"index":0,"id":"old","function":{"name":"read_file","arguments":"{\"path\":\"a.txt\"}"}`),
		}, []string{a}, []string{"old_2"}},
		"arguments as an object": {[]string{
			callDelta(`"index":0,"id":"a","function":{"name":"read_file","arguments":{"path": "a.txt"}}`),
		}, []string{a}, []string{"a"}},
		"index as text": {[]string{
			callDelta(`"index":"0","id":"a","function":{"name":"read_file","arguments":""}`), callDelta(`"index":"0",` + argsA), callDelta(`"index":"0",` + restA),
		}, []string{a}, []string{"a"}},
		"an empty delta": {[]string{
			callDelta(`"index":0,"id":"a","function":{"name":"read_file","arguments":"{\"path\":\"a.txt\"}"}`), callDelta(`"index":1,"function":{"arguments":""}`), callDelta(``),
		}, []string{a}, []string{"a"}},
		"no name": {[]string{
			callDelta(`"index":0,"id":"a","function":{"name":"","arguments":"{}"}`),
		}, []string{"call  {}"}, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := ask("x")
			r.Messages = append(r.Messages,
				transcript.Assistant(transcript.Part{Type: transcript.TypeToolCall, ToolCallID: "old", ToolName: "list", Input: []byte("{}")}),
				transcript.Tool(transcript.Part{Type: transcript.TypeToolResult, ToolCallID: "old", ToolName: "list", Output: transcript.Output{Type: transcript.OutputText, Text: "x"}}))
			res, deltas := stream(t, cannedClient(Chat, chatDeltas(c.deltas...)+event(chatStop)), r)
			same(t, "parts", brief(res), c.want)
			seen := map[string]bool{}
			shown := map[string]string{}
			for _, d := range deltas {
				shown[d.CallID] += d.Text
			}
			for i, p := range res.Parts {
				if p.ToolCallID == "" || seen[p.ToolCallID] || c.ids[i] != "" && c.ids[i] != p.ToolCallID {
					t.Errorf("call %d has id %q, want %q and no other call's", i, p.ToolCallID, c.ids[i])
				}
				seen[p.ToolCallID] = true
				if args, _ := arguments([]byte(shown[p.ToolCallID])); p.ToolName != "" && string(args) != string(p.Input) {
					t.Errorf("call %d: shown %q, got %s", i, shown[p.ToolCallID], p.Input)
				}
			}
		})
	}
}

func TestArguments(t *testing.T) {
	for _, c := range []struct{ sent, input, why string }{
		{`""`, `{}`, ""},
		{`" "`, `{}`, ""},
		{`"null"`, `{}`, ""},
		{`null`, `{}`, ""},
		{`"{ \"a\" : 1 }"`, `{"a":1}`, ""},
		{`"[]"`, `{}`, "a JSON array"},
		{`"\"x\""`, `{}`, "a JSON string"},
		{`"7"`, `{}`, "a number"},
		{`"true"`, `{}`, "a boolean"},
		{`"{\"a\":"`, `{}`, "not valid JSON"},
		{`"{} {}"`, `{}`, "not valid JSON"},
	} {
		item := `{"type":"function_call","id":"fc_1","call_id":"a","name":"list","arguments":` + c.sent + `}`
		for api, body := range map[string]string{
			Chat:      chatDeltas(callDelta(`"index":0,"id":"a","function":{"name":"list","arguments":`+c.sent+`}`)) + event(chatStop),
			Responses: event(`{"type":"response.output_item.done","output_index":0,"item":`+item+`}`) + event(responsesStop),
		} {
			res, _ := stream(t, cannedClient(api, body), ask("x"))
			same(t, api+" "+c.sent, brief(res), []string{"call list " + c.input})
			why := res.Malformed["a"]
			if c.why == "" && why != "" || !strings.Contains(why, c.why) {
				t.Errorf("%s %s: malformed %q, want %q", api, c.sent, why, c.why)
			}
		}
	}
	absent := chatDeltas(callDelta(`"index":0,"id":"a","function":{"name":"list"}`)) + event(chatStop)
	res, _ := stream(t, cannedClient(Chat, absent), ask("x"))
	same(t, "absent", brief(res), []string{"call list {}"})
}

func TestFinishReasonsAndOddChunks(t *testing.T) {
	call := callDelta(`"index":0,"id":"a","function":{"name":"list","arguments":"{}"}`)
	finish := func(reason string) string {
		return event(`{"choices":[{"index":0,"delta":{},"finish_reason":` + reason + `}]}`)
	}
	for name, c := range map[string]struct {
		body string
		want []string
		stop Stop
		used Usage
	}{
		"calls with stop":        {body: chatDeltas(call) + finish(`"stop"`), want: []string{"call list {}"}, stop: StopEnd},
		"tool_calls without any": {body: chatDeltas(`{"content":"x"}`) + finish(`"tool_calls"`), want: []string{"text x"}, stop: StopEnd},
		"function_call":          {body: chatDeltas(call) + finish(`"function_call"`), want: []string{"call list {}"}, stop: StopEnd},
		"eos":                    {body: chatDeltas(`{"content":"x"}`) + finish(`"eos"`), want: []string{"text x"}, stop: StopEnd},
		"null and done":          {body: chatDeltas(call) + finish(`null`) + event("[DONE]"), want: []string{"call list {}"}, stop: StopEnd},
		"empty and done":         {body: chatDeltas(call) + finish(`""`) + event("[DONE]"), want: []string{"call list {}"}, stop: StopEnd},
		"length":                 {body: chatDeltas(`{"content":"x"}`) + finish(`"length"`), want: []string{"text x"}, stop: StopLength},
		"filter":                 {body: chatDeltas(`{"content":"x"}`) + finish(`"content_filter"`), want: []string{"text x"}, stop: StopFilter},
		"refusal":                {body: chatDeltas(`{"refusal":"no"}`) + finish(`"stop"`), want: []string{"text no"}, stop: StopRefusal},
		"nothing":                {body: finish(`"stop"`), stop: StopEnd},
		"empty choices":          {body: event(`{"choices":[]}`) + chatDeltas(`{"content":"x"}`) + event(`{"choices":[]}`) + event(`{}`) + event(`{"choices":null}`) + event(chatStop), want: []string{"text x"}, stop: StopEnd},
		"null delta":             {body: event(`{"choices":[{"delta":null}]}`) + event(`{"choices":[null]}`) + chatDeltas(`{"content":null}`, `{"content":"x"}`) + event(chatStop), want: []string{"text x"}, stop: StopEnd},
		"a second choice":        {body: event(`{"choices":[{"index":1,"delta":{"content":"y"}}]}`) + chatDeltas(`{"content":"x"}`) + event(chatStop), want: []string{"text x"}, stop: StopEnd},
		"content list":           {body: chatDeltas(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`, `{"content":[{"type":"text","text":"x"}]}`) + event(chatStop), want: []string{"reasoning hm", "text x"}, stop: StopEnd},
		"reasoning twice":        {body: chatDeltas(`{"reasoning":"hm","reasoning_content":"hm"}`, `{"reasoning":"m","content":"x"}`) + event(chatStop), want: []string{"reasoning hmm", "text x"}, stop: StopEnd},
		"usage behind the end": {
			body: chatDeltas(`{"content":"x"}`) + event(chatStop) + event(`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":null}}`) + event("[DONE]"),
			want: []string{"text x"}, stop: StopEnd, used: Usage{Input: 9, Output: 2, Known: true},
		},
		"usage grows": {
			body: event(`{"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`) + event(`{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":5,"prompt_cache_hit_tokens":4,"completion_tokens_details":{"reasoning_tokens":3}}}`),
			want: []string{"text x"}, stop: StopEnd, used: Usage{Input: 9, Cached: 4, Output: 5, Reasoning: 3, Known: true},
		},
		"usage of zeros": {
			body: chatDeltas(`{"content":"x"}`) + event(`{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":0,"completion_tokens":0}}`),
			want: []string{"text x"}, stop: StopEnd,
		},
		"length inside a call": {
			body: chatDeltas(callDelta(`"index":0,"id":"a","function":{"name":"list","arguments":"{\"x\":"}`)) + finish(`"length"`),
			want: []string{"call list {}"}, stop: StopLength,
		},
	} {
		t.Run(name, func(t *testing.T) {
			res, _ := stream(t, cannedClient(Chat, c.body), ask("x"))
			same(t, "parts", brief(res), c.want)
			same(t, "stop", res.Stop, c.stop)
			same(t, "usage", res.Usage, c.used)
			if cut := strings.HasPrefix(name, "length inside"); cut != strings.Contains(res.Malformed["a"], "cut off") {
				t.Errorf("malformed: %v", res.Malformed)
			}
		})
	}
}

func TestThinkingInsideTheText(t *testing.T) {
	for name, c := range map[string]struct {
		deltas []string
		want   []string
	}{
		"whole":                   {[]string{"<think>a</think>b"}, []string{"reasoning a", "text b"}},
		"split tags":              {[]string{"<thi", "nk>a</th", "ink>b"}, []string{"reasoning a", "text b"}},
		"by characters":           {strings.Split("<think>a b</think>\n\nc <d", ""), []string{"reasoning a b", "text c <d"}},
		"space around":            {[]string{"\n <think>\na\n</think>\n\nb"}, []string{"reasoning \na\n", "text b"}},
		"lone closer":             {[]string{"a</think>b"}, []string{"reasoning a", "text b"}},
		"lone closer, split":      {[]string{"a\n</", "think", ">\nb"}, []string{"reasoning a\n", "text b"}},
		"never closed":            {[]string{"<think>a", " b"}, []string{"text a b"}},
		"empty":                   {[]string{"<think></think>b"}, []string{"text b"}},
		"half a tag at the end":   {[]string{"x <th", "i"}, []string{"text x <thi"}},
		"half an opener only":     {[]string{"<thi"}, []string{"text <thi"}},
		"half a closer, no more":  {[]string{"a</thi"}, []string{"text a</thi"}},
		"not at the beginning":    {[]string{"Use <think>a</think> b"}, []string{"text Use <think>a</think> b"}},
		"in a code block":         {[]string{"See:\n```\n<think>a</think>\n```\n"}, []string{"text See:\n```\n<think>a</think>\n```\n"}},
		"closer in a code block":  {[]string{"See:\n```\na\n</think>\n```"}, []string{"text See:\n```\na\n</think>\n```"}},
		"closer in code":          {[]string{"The `a</think>` tag"}, []string{"text The `a</think>` tag"}},
		"closer in a sentence":    {[]string{"Write </think> to close."}, []string{"text Write </think> to close."}},
		"tags behind the answer":  {[]string{"<think>a</think>b <think>c</think>"}, []string{"reasoning a", "text b <think>c</think>"}},
		"a second closer":         {[]string{"<think>a</think>b</think>"}, []string{"reasoning a", "text b</think>"}},
		"other tags":              {[]string{"<thinker>a</thinker>"}, []string{"text <thinker>a</thinker>"}},
		"comparison at the start": {[]string{"<", " 5"}, []string{"text < 5"}},
		"spaces only":             {[]string{" ", "\n"}, []string{"text  \n"}},
	} {
		t.Run(name, func(t *testing.T) {
			var deltas []string
			for _, d := range c.deltas {
				deltas = append(deltas, `{"content":`+string(appendQuoted(nil, d))+`}`)
			}
			res, _ := stream(t, cannedClient(Chat, chatDeltas(deltas...)+event(chatStop)), ask("x"))
			same(t, "parts", brief(res), c.want)
		})
	}
	t.Run("reasoning by its own channel", func(t *testing.T) {
		body := chatDeltas(`{"reasoning_content":"r"}`, `{"content":"a</think>b"}`) + event(chatStop)
		res, _ := stream(t, cannedClient(Chat, body), ask("x"))
		same(t, "parts", brief(res), []string{"reasoning r", "text a</think>b"})
	})
	t.Run("never closed because of the limit", func(t *testing.T) {
		body := chatDeltas(`{"content":"<think>a"}`) + event(`{"choices":[{"delta":{},"finish_reason":"length"}]}`)
		res, _ := stream(t, cannedClient(Chat, body), ask("x"))
		same(t, "parts", brief(res), []string{"reasoning a"})
	})
	t.Run("in the arguments of a call", func(t *testing.T) {
		body := chatDeltas(callDelta(`"index":0,"id":"a","function":{"name":"list","arguments":"{\"x\":\"<think>a</think>b\"}"}`)) + event(chatStop)
		res, _ := stream(t, cannedClient(Chat, body), ask("x"))
		same(t, "parts", brief(res), []string{`call list {"x":"<think>a</think>b"}`})
	})
	t.Run("deltas", func(t *testing.T) {
		body := chatDeltas(`{"content":"<think>a</th"}`, `{"content":"ink>b"}`) + event(chatStop)
		_, deltas := stream(t, cannedClient(Chat, body), ask("x"))
		same(t, "deltas", deltas, []Delta{{Channel: Reasoning, Part: 0, Text: "a"}, {Channel: Text, Part: 1, Text: "b"}})
	})
}

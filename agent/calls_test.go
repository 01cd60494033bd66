package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	mock "shiro/agent/provider/providertest"
	"shiro/agent/tool"
	"shiro/memory/transcript"
)

// chatChunks is a chat answer of these deltas, with a finish reason.
func chatChunks(finish string, deltas ...string) mock.Step {
	var chunks []string
	for _, d := range deltas {
		chunks = append(chunks, `data: {"id":"c","object":"chat.completion.chunk","model":"mock","choices":[{"index":0,"delta":`+d+`,"finish_reason":null}]}`+"\n\n")
	}
	end := "null"
	if finish != "null" {
		end = `"` + finish + `"`
	}
	chunks = append(chunks, `data: {"id":"c","object":"chat.completion.chunk","model":"mock","choices":[{"index":0,"delta":{},"finish_reason":`+end+`}]}`+"\n\n", "data: [DONE]\n\n")
	return mock.Raw(chunks...)
}

func toolDelta(fields string) string { return `{"tool_calls":[{` + fields + `}]}` }

func function(name, arguments string) string {
	b, err := json.Marshal(map[string]string{"name": name, "arguments": arguments})
	if err != nil {
		panic(err)
	}
	return `"function":` + string(b)
}

// Servers number calls as they like: not at all, all alike, anew in every
// response. Each call runs once with its own arguments, has an id of its own,
// and its result stands under it.
func TestCallIds(t *testing.T) {
	t.Parallel()
	one := func(fields string) mock.Step { return chatChunks("tool_calls", toolDelta(fields)) }
	write := func(name string) string { return function("bash", `{"command":"echo ran >>`+name+`"}`) }
	for name, script := range map[string][]mock.Step{
		"none":                       {one(`"index":0,` + write("a")), one(`"index":0,` + write("b"))},
		"the same in two responses":  {one(`"index":0,"id":"call_0",` + write("a")), one(`"index":0,"id":"call_0",` + write("b"))},
		"the same in one response":   {chatChunks("tool_calls", toolDelta(`"index":0,"id":"x",`+write("a")), toolDelta(`"index":1,"id":"x",`+write("b")))},
		"without an index":           {chatChunks("tool_calls", toolDelta(`"id":"a",`+write("a")), toolDelta(`"id":"b",`+write("b")))},
		"with an index of 0":         {chatChunks("tool_calls", toolDelta(`"index":0,"id":"a",`+write("a")), toolDelta(`"index":0,"id":"b",`+write("b")))},
		"odd characters":             {one(`"index":0,"id":"functions.bash:0",` + write("a")), one(`"index":0,"id":"functions.bash:0",` + write("b"))},
		"in pieces, by id":           {chatChunks("tool_calls", toolDelta(`"id":"a",`+function("bash", `{"comm`)), toolDelta(function("", `and":"echo ran >>a; echo ran >>b"}`)))},
		"finish says stop":           {chatChunks("stop", toolDelta(`"index":0,"id":"a",`+write("a"))), chatChunks("stop", toolDelta(`"index":0,"id":"b",`+write("b")))},
		"finish says nothing at all": {chatChunks("null", toolDelta(`"index":0,"id":"a",`+write("a"))), chatChunks("", toolDelta(`"index":0,"id":"b",`+write("b")))},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldOn(t, mock.Chat, mock.Options{Script: script})
			w.rules(allow("bash", "*"), allow("bash", ">*"))
			c := w.create()
			must(t, c.say("go"), Completed, EndTurn)
			for _, file := range []string{"a", "b"} {
				if got := w.read(file); got != "ran\n" {
					t.Errorf("%s ran as %q", file, got)
				}
			}
			if n := len(w.model.Requests()); n != len(script)+1 {
				t.Errorf("%d requests", n)
			}
			c.aliveAfter()
		})
	}
}

// A finish reason that promises calls where there are none ends the turn.
func TestFinishWithoutCalls(t *testing.T) {
	t.Parallel()
	for _, finish := range []string{"tool_calls", "function_call", "eos", "null", "", "stop"} {
		w := newWorldOn(t, mock.Chat, mock.Options{Script: []mock.Step{chatChunks(finish, `{"content":"just text"}`)}})
		c := w.create()
		must(t, c.say("go"), Completed, EndTurn)
		if n := len(w.model.Requests()); n != 1 {
			t.Errorf("%q: %d requests", finish, n)
		}
	}
}

// Why an answer ended is told: cut off, refused, filtered.
func TestStops(t *testing.T) {
	t.Parallel()
	for _, api := range []string{mock.Responses, mock.Chat} {
		for name, c := range map[string]struct {
			step   mock.Step
			status Status
			stop   Stop
		}{
			"length":  {mock.Say("half a").Finish("length"), Completed, MaxTokens},
			"filter":  {mock.Say("some").Finish("content_filter"), Refused, Refusal},
			"refusal": {mock.Refusal("I will not"), Refused, Refusal},
		} {
			w := newWorldOn(t, api, mock.Options{Script: []mock.Step{c.step}})
			talk := w.create()
			end := talk.say("go")
			if end.Status != c.status || end.Stop != c.stop {
				t.Errorf("%s %s: ended %s (%s)", api, name, end.Status, end.Stop)
			}
			talk.aliveAfter()
		}
	}
}

// Arguments that are nothing mean none; what is no object, or no JSON, is told
// to the model and never run; what is sent back is valid.
func TestArguments(t *testing.T) {
	t.Parallel()
	for _, api := range []string{mock.Responses, mock.Chat} {
		for text, ok := range map[string]bool{
			"": true, " ": true, "null": true, "{}": true, `{"path":"."}`: true, "[]": false, `"x"`: false, "7": false, `{"path":`: false, "{} {}": false,
		} {
			w := newWorldOn(t, api, mock.Options{Script: []mock.Step{ask("list_dir", "A", text)}})
			w.write("marker", "")
			c := w.create()
			must(t, c.say("go"), Completed, EndTurn)
			results := w.requests(2)[1].Results()
			if len(results) != 1 || strings.Contains(results[0].Text, "marker") != ok {
				t.Errorf("%s %q: results %+v", api, text, results)
			}
			c.aliveAfter()
		}
	}
}

// A call cut off by the output limit does not run with what there is of it.
func TestCallCutByLength(t *testing.T) {
	t.Parallel()
	for _, api := range []string{mock.Responses, mock.Chat} {
		w := newWorldOn(t, api, mock.Options{Script: []mock.Step{ask("write_file", "A", `{"path":"a.txt","content":"hal`).Finish("length")}})
		w.rules(allow("write_file", "*"))
		c := w.create()
		must(t, c.say("go"), Completed, EndTurn)
		results := w.requests(2)[1].Results()
		if w.exists("a.txt") || len(results) != 1 || !strings.Contains(results[0].Text, "cut off") {
			t.Errorf("%s: results %+v", api, results)
		}
	}
}

// A tool that does not exist is an error that names those that are near, under
// a name that can go back.
func TestUnknownTools(t *testing.T) {
	t.Parallel()
	for _, api := range []string{mock.Responses, mock.Chat} {
		for name, near := range map[string]string{
			"read_files": "read_file", "Read-File": "read_file", "mcp_x_x_read": "", "grep_search": "grep",
			"fs.read file!": "", strings.Repeat("long", 23): "",
		} {
			w := newWorldOn(t, api, mock.Options{Script: []mock.Step{ask(name, "A", args{"path": "a.txt"})}})
			c := w.create()
			must(t, c.say("go"), Completed, EndTurn)
			results := w.requests(2)[1].Results()
			if len(results) != 1 || results[0].CallID != "A" || !strings.Contains(results[0].Text, "The tools are: "+near) {
				t.Errorf("%s %q: results %+v", api, name, results)
			}
			c.aliveAfter()
		}
	}
}

// A call without a name, which only chat can send.
func TestCallWithoutName(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t, mock.Chat, mock.Options{Script: []mock.Step{chatChunks("tool_calls", toolDelta(`"index":0,"id":"a",`+function("", `{"path":"x"}`)))}})
	c := w.create()
	must(t, c.say("go"), Completed, EndTurn)
	if n := len(w.model.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
	c.aliveAfter()
}

// An answer that says nothing is told to the user and does not go back.
func TestEmptyAnswers(t *testing.T) {
	t.Parallel()
	for _, api := range []string{mock.Responses, mock.Chat} {
		for name, step := range map[string]mock.Step{
			"nothing": mock.Reply(), "an empty text": mock.Text(""), "white space": mock.Text(" \n\t "), "only a thought": mock.Reasoning("hm"),
		} {
			t.Run(api+"/"+name, func(t *testing.T) {
				w := newWorldOn(t, api, mock.Options{Script: []mock.Step{step.NoUsage()}, Fallback: mock.Say("fine")})
				c := w.create()
				must(t, c.say("go"), Completed, EndTurn)
				told := 0
				for _, e := range c.all() {
					if n, ok := e.Data.(Notice); ok && n.Key == "empty_answer" {
						told++
					}
				}
				if told != 1 {
					t.Errorf("the user is told %d times", told)
				}
				if n := len(w.model.Requests()); n != 1 {
					t.Errorf("%d requests", n)
				}
				c.aliveAfter()
			})
		}
	}
}

// Small models write a call as text. It runs under the usual rules, or the model
// or the user is told; as an example inside an explanation it does nothing.
func TestCallsWrittenAsText(t *testing.T) {
	t.Parallel()
	for text, meant := range map[string]bool{
		`{"name":"read_file","arguments":{"path":"a.txt"}}`:                                                   true,
		"<tool_call>\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"a.txt\"}}\n</tool_call>":              true,
		"To read a file, send `{\"name\":\"read_file\",\"arguments\":{\"path\":\"a.txt\"}}` as in this line.": false,
	} {
		w := newWorldOn(t, mock.Chat, mock.Options{Script: []mock.Step{mock.Say(text)}})
		w.write("a.txt", "marker")
		c := w.create()
		must(t, c.say("go"), Completed, EndTurn)
		ran := strings.Contains(shape(w.store.record(c.ID).Messages), "call(")
		if reacted := ran || len(w.model.Requests()) > 1 || count[Notice](c.all()) > 0; reacted != meant {
			t.Errorf("%s: reacted is %v", text, reacted)
		}
	}
}

// The same call with the same arguments again and again is stopped long before
// the limit of the turn, and the user is told why. Polling something that
// changes goes on.
func TestRepeatedCallIsStopped(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]func(n int) mock.Step{
		"the same": func(int) mock.Step { return mock.Call("read_file", args{"path": "a.txt", "limit": 5}) },
		"keys reversed": func(n int) mock.Step {
			return mock.Call("read_file", []string{`{"path":"a.txt","limit":5}`, `{"limit":5,"path":"a.txt"}`}[n%2])
		},
	} {
		n := 0
		w := newWorldOn(t, mock.Responses, mock.Options{Fallback: mock.Func(func(mock.Request) mock.Step { n++; return step(n) })})
		w.setup.MaxSteps = 30
		w.write("a.txt", "text\n")
		c := w.create()
		c.say("go")
		if n := len(w.model.Requests()); n > 8 {
			t.Errorf("%s: %d requests", name, n)
		}
	}
	n := 0
	w := newWorldOn(t, mock.Responses, mock.Options{Fallback: mock.Func(func(mock.Request) mock.Step {
		if n++; n > 20 {
			return mock.Say("done")
		}
		return mock.Call("bash", args{"command": "echo x >>log; wc -l log"})
	})})
	w.rules(allow("bash", "*"), allow("bash", ">*"))
	must(t, w.create().say("go"), Completed, EndTurn)
	if n := len(w.model.Requests()); n != 21 {
		t.Errorf("polling: %d requests", n)
	}
}

// The limit of requests ends the turn after whole steps, says so, and the next
// prompt goes on.
func TestStepLimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 2, 5} {
		n := 0
		w := newWorldOn(t, mock.Responses, mock.Options{Fallback: mock.Func(func(r mock.Request) mock.Step {
			if p := prompts(r); p[len(p)-1] == "carry on" {
				return mock.Say("fine")
			}
			n++
			return mock.Call("list_dir", args{"path": fmt.Sprint("d", n)})
		})})
		w.setup.MaxSteps = limit
		c := w.create()
		must(t, c.say("go"), Completed, MaxSteps)
		if got := len(w.model.Requests()); got != limit {
			t.Errorf("%d requests, the limit is %d", got, limit)
		}
		if m := w.store.record(c.ID).Messages; len(m) != 1+2*limit || m[len(m)-1].Role != transcript.RoleTool {
			t.Errorf("record\n%s", shape(m))
		}
		if !slices.ContainsFunc(c.all(), func(e Event) bool { n, ok := e.Data.(Notice); return ok && n.Key == "max_steps" }) {
			t.Error("the user is not told")
		}
		c.aliveAfter()
	}
}

// A tool that panics is an error of the call and nothing else.
func TestToolPanics(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Reply(ask("bad", "A", nil), ask("list_dir", "B", nil), ask("worse", "C", nil), ask("edit", "D", nil), ask("asked", "E", nil)))
	bad := newGate().tool("bad", false)
	bad.Run = nil // calling it panics
	worse := newGate().tool("worse", true)
	worse.Run = nil
	edit := newGate().tool("edit", true)
	edit.Propose = func(context.Context, tool.Call) (*tool.Edit, error) { panic("no edit") }
	asked := newGate().tool("asked", true)
	asked.Propose = edit.Propose
	w.with(bad, worse, edit, asked)
	w.rules(allow("bad", "*"), allow("worse", "*"), allow("edit", "*"))
	c := w.create()
	must(t, c.say("go"), Completed, EndTurn)
	if got := shape(w.store.record(c.ID).Messages[2:3]); got != "tool error-text(A) text(B) error-text(C) error-text(D) error-text(E)\n" {
		t.Errorf("record\n%s", got)
	}
	c.aliveAfter()
}

// Calls that only read run together; calls that change something run one after
// the other, in order.
func TestTogetherOrInOrder(t *testing.T) {
	t.Parallel()
	for _, mutates := range []bool{false, true} {
		const n = 4
		var steps []mock.Step
		for i := range n {
			steps = append(steps, ask("hold", fmt.Sprint("C", i), args{"name": fmt.Sprint(i)}))
		}
		w := newWorld(t, mock.Reply(steps...))
		g := newGate()
		w.with(g.tool("hold", mutates))
		w.rules(allow("hold", "*"))
		c := w.create()
		c.start(Prompt{Text: "go"})
		if !mutates {
			for range n {
				g.wait(t) // all of them wait at once
			}
			close(g.release)
		} else {
			for i := range n {
				if got := g.wait(t); got != fmt.Sprintf(`{"name":"%d"}`, i) {
					t.Errorf("call %d is %s", i, got)
				}
				if len(g.began) > 0 {
					t.Error("another one runs beside it")
				}
				g.release <- struct{}{}
			}
		}
		must(t, c.ended(), Completed, EndTurn)
	}
}

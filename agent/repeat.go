package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"shiro/agent/provider"
	"shiro/memory/transcript"
)

// A model can get stuck: the same call with the same result again and again,
// until the limit of the turn. It is told once it has made a call that often,
// and the turn ends when it was told that often.
const (
	sameCalls    = 3
	sameWarnings = 3
)

// A repetition is a call of a turn and what it came to each time.
type repetition struct {
	times  int // in a row with that result
	result string
}

// callKey is equal for calls that say the same, in whatever order.
func callKey(p transcript.Part) string {
	var v any
	if json.Unmarshal(p.Input, &v) != nil {
		return p.ToolName
	}
	b, err := json.Marshal(v) // with the keys sorted
	if err != nil {
		return p.ToolName
	}
	return p.ToolName + string(b)
}

// repeats reports whether c was made too often already; then it is done.
func (s *Session) repeats(t *turn, c *call) bool {
	r := t.made[callKey(c.part)]
	if r.times < sameCalls {
		return false
	}
	t.warned++
	c.again = true
	s.finish(t, c, failure(fmt.Sprintf("not run again: this call was made %d times in this turn with the same result each time. Do something else, or say what is in the way.", r.times)))
	return true
}

// madeLocked counts what a call came to. Polling something that changes is no
// repetition.
func (t *turn) madeLocked(c *call, out transcript.Output) {
	if c.again {
		return
	}
	if t.made == nil {
		t.made = make(map[string]repetition)
	}
	key := callKey(c.part)
	r := t.made[key]
	if r.result != out.String() {
		r = repetition{result: out.String()}
	}
	r.times++
	t.made[key] = r
}

// writtenCall reports whether an answer is nothing but a tool call written as
// text, as small models do it. An example inside an explanation is none.
func (s *Session) writtenCall(res *provider.Response) bool {
	var text string
	for _, p := range res.Parts {
		if p.Type == transcript.TypeText {
			text += p.Text
		}
	}
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "<tool_call>"); ok {
		text = strings.TrimSpace(strings.TrimSuffix(inner, "</tool_call>"))
	}
	var call struct {
		Name      string         `json:"name"`
		Arguments map[string]any `json:"arguments"`
	}
	return json.Unmarshal([]byte(text), &call) == nil && call.Arguments != nil && s.tool(call.Name) != nil
}

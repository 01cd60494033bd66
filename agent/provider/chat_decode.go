package provider

import (
	"encoding/json"
	"strings"
)

// A chatChunk is the part of a chat completion chunk that we read.
type chatChunk struct {
	Choices []struct {
		Index        int       `json:"index"`
		Delta        chatDelta `json:"delta"`
		FinishReason string    `json:"finish_reason"`
	} `json:"choices"`
	Usage *chatUsage `json:"usage"`
	Groq  struct {
		Usage *chatUsage `json:"usage"`
	} `json:"x_groq"`
	Error json.RawMessage `json:"error"`
}

type chatDelta struct {
	Content          json.RawMessage `json:"content"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	Refusal          json.RawMessage `json:"refusal"`
	ToolCalls        []chatCallDelta `json:"tool_calls"`
}

type chatUsage struct {
	Prompt        int64 `json:"prompt_tokens"`
	Completion    int64 `json:"completion_tokens"`
	CacheHit      int64 `json:"prompt_cache_hit_tokens"` // DeepSeek's place for Cached
	PromptDetails struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// chatReader assembles the answer of a chat completion.
type chatReader struct {
	answer
	calls    []*chatCall
	text     *piece
	reason   *piece
	thinker  thinker
	half     rune   // a surrogate half at the end of the content so far
	scratch  []byte // content of one chunk
	finished bool   // a finish_reason came
	origin   json.RawMessage
}

func (c *chatReader) read(data []byte) (last bool, err error) {
	var chunk chatChunk
	if !decodes(data, &chunk) {
		return false, notJSON(data)
	}
	if isSet(chunk.Error) {
		return false, streamError(data)
	}
	for _, u := range [...]*chatUsage{chunk.Groq.Usage, chunk.Usage} {
		if u != nil && u.Prompt+u.Completion > 0 {
			c.usage = u.usage()
		}
	}
	for i := range chunk.Choices {
		choice := &chunk.Choices[i]
		if choice.Index != 0 {
			continue
		}
		c.delta(&choice.Delta)
		if choice.FinishReason != "" {
			c.finish(choice.FinishReason)
		}
	}
	return false, nil
}

func (u *chatUsage) usage() Usage {
	return Usage{
		Input: u.Prompt, Cached: max(u.PromptDetails.Cached, u.CacheHit),
		Output: u.Completion, Reasoning: u.CompletionDetails.Reasoning, Known: true,
	}
}

func (c *chatReader) delta(d *chatDelta) {
	reasoning := d.ReasoningContent
	if !isText(reasoning) {
		reasoning = d.Reasoning // the same in other servers' words, sometimes beside the first
	}
	if isText(reasoning) {
		c.thinker.off = true
		c.growQuoted(c.reasoning(), reasoning)
	}
	if isText(d.Content) {
		c.scratch = appendUnquoted(c.scratch[:0], d.Content, &c.half)
		c.thinker.feed(c.scratch, c)
	} else if len(d.Content) > 0 && d.Content[0] == '[' {
		c.contentList(d.Content)
	}
	if isText(d.Refusal) {
		c.stop = StopRefusal
		c.growQuoted(c.textPiece(), d.Refusal)
	}
	for i := range d.ToolCalls {
		c.callDelta(&d.ToolCalls[i])
	}
}

// contentList reads content that is a list of parts, as Mistral's thinking
// models send it.
func (c *chatReader) contentList(raw json.RawMessage) {
	var list []struct {
		Type     string          `json:"type"`
		Text     json.RawMessage `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	decodes(raw, &list)
	for _, v := range list {
		if isText(v.Text) {
			c.scratch = appendUnquoted(c.scratch[:0], v.Text, &c.half)
			c.thinker.feed(c.scratch, c)
			continue
		}
		var inner []struct {
			Text json.RawMessage `json:"text"`
		}
		decodes(v.Thinking, &inner)
		for _, t := range inner {
			if isText(t.Text) {
				c.thinker.off = true
				c.growQuoted(c.reasoning(), t.Text)
			}
		}
	}
}

// isText reports whether raw is a JSON string with something in it.
func isText(raw json.RawMessage) bool { return len(raw) > 2 && raw[0] == '"' }

func (c *chatReader) reasoning() *piece {
	if c.reason == nil {
		c.reason = c.add(Reasoning)
		c.reason.options = c.origin
	}
	return c.reason
}

func (c *chatReader) textPiece() *piece {
	if c.text == nil {
		c.text = c.add(Text)
	}
	return c.text
}

func (c *chatReader) think(b []byte) {
	if len(b) > 0 {
		c.grow(c.reasoning(), b)
	}
}

func (c *chatReader) say(b []byte) {
	if len(b) > 0 {
		c.grow(c.textPiece(), b)
	}
}

func (c *chatReader) said() []byte {
	if c.text == nil {
		return nil
	}
	return c.text.text
}

func (c *chatReader) retract() {
	if c.text != nil {
		c.reason, c.text = c.text, nil
		c.reason.channel, c.reason.options = Reasoning, c.origin
	}
}

// finish reads a finish_reason. Whether there are calls is seen from the
// calls, not from here: servers say "stop" with calls and "tool_calls" without.
func (c *chatReader) finish(reason string) {
	c.finished = true
	switch strings.ToLower(reason) {
	case "length", "max_tokens", "max_output_tokens", "model_length":
		c.stop = StopLength
	case "content_filter", "content-filter", "safety":
		c.stop = StopFilter
	case "refusal":
		c.stop = StopRefusal
	}
}

// ended reports whether the answer is whole although the stream may go on.
func (c *chatReader) ended(done bool) bool { return c.finished || done }

func (c *chatReader) result() *Response {
	if c.half != 0 {
		c.scratch = flushHalf(c.scratch[:0], &c.half)
		c.thinker.feed(c.scratch, c)
	}
	c.thinker.end(c)
	if c.stop == "" {
		c.stop = StopEnd
	}
	if c.thinker.state == thinking && c.stop == StopEnd && c.text == nil && len(c.calls) == 0 && c.reason != nil {
		c.reason.channel, c.reason.options = Text, nil // never closed: better shown than lost
	}
	c.closeCalls()
	return c.response()
}

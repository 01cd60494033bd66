package provider

import (
	"encoding/json"
	"strings"
)

// A chatDelta is the part of a chunk's delta that we read. It points into the
// chunk's bytes.
type chatDelta struct {
	content, reasoningContent, reasoning, refusal, toolCalls []byte
}

func (d *chatDelta) member(name, value []byte) {
	switch string(name) {
	case "content":
		d.content = value
	case "reasoning_content":
		d.reasoningContent = value
	case "reasoning":
		d.reasoning = value
	case "refusal":
		d.refusal = value
	case "tool_calls":
		d.toolCalls = value
	}
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
	var choices, failed []byte
	ok := eachMember(data, func(name, value []byte) {
		switch string(name) {
		case "choices":
			choices = value
		case "usage":
			c.count(value)
		case "x_groq":
			eachMember(value, func(name, value []byte) {
				if string(name) == "usage" {
					c.count(value)
				}
			})
		case "error":
			failed = value
		}
	})
	switch {
	case !ok:
		return false, notJSON(data)
	case isSet(failed):
		return false, streamError(data)
	}
	eachElement(choices, c.choice)
	return false, nil
}

// choice reads one choice of a chunk; only the first is ours.
func (c *chatReader) choice(raw []byte) {
	var d chatDelta
	var reason []byte
	index := 0
	eachMember(raw, func(name, value []byte) {
		switch string(name) {
		case "index":
			index = number(value, 0)
		case "delta":
			eachMember(value, d.member)
		case "finish_reason":
			reason = value
		}
	})
	if index != 0 {
		return
	}
	c.delta(&d)
	if isText(reason) {
		c.finish(text(reason))
	}
}

// count takes the usage reported last: some servers count up with every chunk.
func (c *chatReader) count(raw []byte) {
	var u chatUsage
	if isSet(raw) && decodes(raw, &u) && u.Prompt+u.Completion > 0 {
		c.usage = u.usage()
	}
}

func (u *chatUsage) usage() Usage {
	return Usage{
		Input: u.Prompt, Cached: max(u.PromptDetails.Cached, u.CacheHit),
		Output: u.Completion, Reasoning: u.CompletionDetails.Reasoning, Known: true,
	}
}

func (c *chatReader) delta(d *chatDelta) {
	reasoning := d.reasoningContent
	if !isText(reasoning) {
		reasoning = d.reasoning // the same in other servers' words, sometimes beside the first
	}
	c.reasoned(reasoning)
	c.content(d.content)
	eachElement(d.content, c.contentPart)
	if isText(d.refusal) {
		c.stop = StopRefusal
		c.growQuoted(c.textPiece(), d.refusal)
	}
	if isSet(d.toolCalls) {
		var calls []chatCallDelta
		decodes(d.toolCalls, &calls)
		for i := range calls {
			c.callDelta(&calls[i])
		}
	}
}

func (c *chatReader) reasoned(quoted []byte) {
	if isText(quoted) {
		c.thinker.off = true
		c.growQuoted(c.reasoning(), quoted)
	}
}

func (c *chatReader) content(quoted []byte) {
	if isText(quoted) {
		c.scratch = appendUnquoted(c.scratch[:0], quoted, &c.half)
		c.thinker.feed(c.scratch, c)
	}
}

// contentPart reads an element of content that is a list of parts, as Mistral's
// thinking models send it.
func (c *chatReader) contentPart(raw []byte) {
	eachMember(raw, func(name, value []byte) {
		switch string(name) {
		case "text":
			c.content(value)
		case "thinking":
			eachElement(value, func(part []byte) {
				eachMember(part, func(name, value []byte) {
					if string(name) == "text" {
						c.reasoned(value)
					}
				})
			})
		}
	})
}

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

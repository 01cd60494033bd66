package provider

import (
	"crypto/rand"
	"encoding/json"
	"strconv"

	"shiro/memory/transcript"
)

// An answer collects the parts of a response as they arrive and reports the
// deltas.
type answer struct {
	on     func(Delta)
	pieces []*piece
	ids    callIDs
	stop   Stop
	usage  Usage
}

// A piece is one part in the making.
type piece struct {
	channel Channel
	part    int // its place in pieces
	text    []byte
	half    rune // a surrogate half that waits for the next delta

	callID, tool string
	broken       bool // the server says that it did not finish the call

	options json.RawMessage
}

func (a *answer) add(c Channel) *piece {
	p := &piece{channel: c, part: len(a.pieces)}
	a.pieces = append(a.pieces, p)
	return p
}

// grow adds text to p and reports it.
func (a *answer) grow(p *piece, text []byte) {
	p.text = append(p.text, text...)
	a.report(p, text)
}

// growQuoted adds the text of a JSON string.
func (a *answer) growQuoted(p *piece, quoted []byte) {
	n := len(p.text)
	p.text = appendUnquoted(p.text, quoted, &p.half)
	if len(p.text) > n {
		a.report(p, p.text[n:])
	}
}

func (a *answer) report(p *piece, text []byte) {
	a.on(Delta{Channel: p.channel, Part: p.part, CallID: p.callID, Tool: p.tool, Text: string(text)})
}

// response is what the answer came to. Texts that stayed empty are left out.
func (a *answer) response() *Response {
	r := &Response{Stop: a.stop, Usage: a.usage}
	for _, p := range a.pieces {
		p.text = flushHalf(p.text, &p.half)
		part := transcript.Part{Text: string(p.text), ProviderOptions: p.options}
		switch p.channel {
		case Reasoning:
			if len(p.text) == 0 && len(p.options) == 0 {
				continue
			}
			part.Type = transcript.TypeReasoning
		case Text:
			if len(p.text) == 0 {
				continue
			}
			part.Type = transcript.TypeText
		case Args:
			input, why := arguments(p.text)
			if p.broken || a.stop == StopLength && (why != "" || len(p.text) == 0) {
				input, why = emptyObject(), "the answer was cut off before the arguments were complete"
			}
			if why != "" {
				if r.Malformed == nil {
					r.Malformed = make(map[string]string)
				}
				r.Malformed[p.callID] = why
			}
			part = transcript.Part{
				Type: transcript.TypeToolCall, ToolCallID: p.callID, ToolName: p.tool, Input: input, ProviderOptions: p.options,
			}
		}
		r.Parts = append(r.Parts, part)
	}
	return r
}

func emptyObject() json.RawMessage { return json.RawMessage("{}") }

// callIDs gives every call of a conversation an id of its own: some servers
// send none, some begin anew with each response.
type callIDs struct {
	history []*transcript.Message
	taken   map[string]bool // nil until the first call
}

func (c *callIDs) unique(id string) string {
	if c.taken == nil {
		c.taken = make(map[string]bool)
		for _, m := range c.history {
			for i := range m.Parts {
				if m.Parts[i].Type == transcript.TypeToolCall {
					c.taken[m.Parts[i].ToolCallID] = true
				}
			}
		}
	}
	free := id
	for n := 2; free != "" && c.taken[free]; n++ {
		free = id + "_" + strconv.Itoa(n)
	}
	if free == "" {
		free = "call_" + rand.Text()
	}
	c.taken[free] = true
	return free
}

// Package provider talks to model servers: OpenAI's Responses API and the chat
// completions that most other servers imitate. It turns a transcript into a
// request body, streams the answer, and returns it as transcript parts.
//
// It knows no session, no tool and no retry policy: an Error says whether a
// retry makes sense, the caller decides. The one thing it repeats by itself is
// a request whose 400 names a parameter it can do without.
package provider

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"shiro/memory/transcript"
)

// The wires a Client speaks, for Options.API.
const (
	Responses = "responses"
	Chat      = "chat"
)

// Options configure a Client.
type Options struct {
	API     string // Responses or Chat
	BaseURL string // up to and without "/responses", "/chat/completions"
	APIKey  string // sent as a bearer token; empty sends none

	// HTTP carries the requests. Nil makes a client with keep-alive that
	// honours the proxy variables of the environment. A Timeout in it would
	// cut long answers.
	HTTP *http.Client

	// Store says that the server keeps items, so that history may be sent as
	// references to them. By default everything is sent inline.
	Store bool

	IdleTimeout      time.Duration // silence inside an answer; 0 means 120 s
	FirstByteTimeout time.Duration // silence before its first delta; 0 means 300 s

	Log *slog.Logger // nil discards
}

// A Tool is offered to the model.
type Tool struct {
	Name        string // ^[A-Za-z0-9_-]{1,64}$
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments, an object; empty means no arguments
}

// A Request is one step's question to the model. Stream does not keep it.
type Request struct {
	Model  string
	Effort string // "none", "low", "medium", "high", "xhigh"; "" leaves it to the server
	System string // "" sends none
	Tools  []Tool

	// Messages is the history: valid (every call answered, no answer without
	// its call) and not empty.
	Messages []*transcript.Message

	// Trailer is sent as a user message after the last one, outside the part
	// of the body that stays equal between steps. "" sends none.
	Trailer string

	CacheKey  string // names the conversation to the server's prompt cache; sent to OpenAI only
	MaxOutput int    // tokens; 0 leaves it to the server

	// Cache keeps encoded messages from one request of a conversation to the
	// next. Nil encodes everything anew.
	Cache *Cache
}

// A Channel is what a delta adds to.
type Channel string

const (
	Text      Channel = "text"
	Reasoning Channel = "reasoning"
	Args      Channel = "args" // the arguments of a tool call, as JSON text
)

// A Delta is a piece of an answer as it arrives. It is for showing only: what
// counts is the Response, which may correct it. The first delta of a call may
// have no text.
type Delta struct {
	Channel Channel
	Part    int    // ordinal of the part it belongs to, in order of appearance
	CallID  string // Args only
	Tool    string // Args only
	Text    string
}

// Usage counts the tokens of one request. Cached is part of Input, Reasoning of
// Output.
type Usage struct {
	Input, Cached, Output, Reasoning int64

	Known bool // false when the server reported nothing, or zeros
}

// A Stop is why an answer ended.
type Stop string

const (
	StopEnd     Stop = "end"
	StopLength  Stop = "length"  // cut by an output limit
	StopRefusal Stop = "refusal" // the model declined; the text says so
	StopFilter  Stop = "filter"  // cut by the server's content filter
)

// A Response is one finished answer.
type Response struct {
	// Parts are the reasoning, text and tool-call parts in order, with the
	// ProviderOptions that the terminal tool's SDK stores. None is possible.
	Parts []transcript.Part

	// Malformed says, by call id, why a call's arguments are unusable. The
	// Input of such a part is {}.
	Malformed map[string]string

	Stop  Stop
	Usage Usage
}

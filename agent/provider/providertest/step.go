package providertest

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// A Step is how the server answers one request. Steps are values: every method
// returns a changed copy. The zero Step answers with an empty text.
type Step struct {
	pieces []piece

	chunk    int
	rate     float64
	bytewise bool
	delay    time.Duration
	usage    *Usage
	noUsage  bool
	finish   string
	failCode string
	failText string
	fails    bool

	after int    // deltas before end happens
	end   ending // how the stream ends early

	status int
	body   string
	raw    []string
	header http.Header

	dynamic func(Request) Step
}

// A piece is one item of the answer.
type piece struct {
	kind  pieceKind
	text  string // call: the arguments, as sent
	name  string
	id    string // call: its call id; "" makes one
	phase string
}

type pieceKind int

const (
	textPiece pieceKind = iota
	reasoningPiece
	callPiece
	refusalPiece
)

type ending int

const (
	endWhole ending = iota
	endReset
	endCut
	endSilent
)

// Usage is what the server says the request cost, in tokens.
type Usage struct {
	Input, Cached, Output, Reasoning int64
}

// Say answers with text. It is Text under a name that reads well alone.
func Say(text string) Step { return Text(text) }

// Text is a text item.
func Text(text string) Step { return Step{pieces: []piece{{kind: textPiece, text: text}}} }

// Reasoning is a reasoning item: a summary with Responses, reasoning_content
// with chat. "" makes a Responses item without a summary.
func Reasoning(text string) Step { return Step{pieces: []piece{{kind: reasoningPiece, text: text}}} }

// Refusal is a text by which the model declines.
func Refusal(text string) Step { return Step{pieces: []piece{{kind: refusalPiece, text: text}}} }

// Call is a tool call. A string is sent as the arguments as it is, anything
// else as JSON; nil is {}.
func Call(name string, args any) Step {
	p := piece{kind: callPiece, name: name}
	switch v := args.(type) {
	case nil:
		p.text = "{}"
	case string:
		p.text = v
	default:
		b, err := json.Marshal(v)
		if err != nil {
			panic("providertest: arguments of " + name + ": " + err.Error())
		}
		p.text = string(b)
	}
	return Step{pieces: []piece{p}}
}

// Reply answers with several items. Settings are taken from the first part.
func Reply(parts ...Step) Step {
	var s Step
	for i, p := range parts {
		if i == 0 {
			s = p
			s.pieces = nil
		}
		s.pieces = append(s.pieces, p.pieces...)
	}
	return s
}

// Fail answers with a status and a body in place of a stream. Headers are
// name, value pairs. A body that begins with "{" is sent as JSON.
func Fail(status int, body string, headers ...string) Step {
	s := Step{status: status, body: body}
	for i := 0; i+1 < len(headers); i += 2 {
		s = s.Header(headers[i], headers[i+1])
	}
	return s
}

// Raw answers with these bytes and nothing else, each flushed by itself, as an
// event stream unless Header says otherwise.
func Raw(chunks ...string) Step { return Step{raw: chunks, status: http.StatusOK} }

// Func answers with what f makes of the request.
func Func(f func(Request) Step) Step { return Step{dynamic: f} }

// Chunk sets the bytes per delta; a character is never split. The default is 16.
func (s Step) Chunk(n int) Step { s.chunk = n; return s }

// Rate sets the deltas per second; the default is as fast as possible, in one
// write.
func (s Step) Rate(perSecond float64) Step { s.rate = perSecond; return s }

// Bytewise flushes every byte of the answer by itself.
func (s Step) Bytewise() Step { s.bytewise = true; return s }

// Delay waits before the first byte of the answer, headers included.
func (s Step) Delay(d time.Duration) Step { s.delay = d; return s }

// Reset breaks the connection after n deltas.
func (s Step) Reset(n int) Step { s.after, s.end = n, endReset; return s }

// Cut ends the body after n deltas as if it were whole.
func (s Step) Cut(n int) Step { s.after, s.end = n, endCut; return s }

// Silence sends nothing after n deltas, until the client leaves or Close.
func (s Step) Silence(n int) Step { s.after, s.end = n, endSilent; return s }

// Usage sets the usage reported. The default is a quarter of the bytes, with
// the prefix shared with the last main request as cached.
func (s Step) Usage(u Usage) Step { s.usage = &u; return s }

// NoUsage reports none.
func (s Step) NoUsage() Step { s.noUsage = true; return s }

// Finish sets the reason in chat's words: "length" and "content_filter" make a
// Responses answer incomplete, any other one leaves it completed.
func (s Step) Finish(reason string) Step { s.finish = reason; return s }

// Failed ends the stream by an error inside it.
func (s Step) Failed(code, message string) Step {
	s.fails, s.failCode, s.failText = true, code, message
	return s
}

// Header adds a header to the answer.
func (s Step) Header(name, value string) Step {
	s.header = s.header.Clone()
	if s.header == nil {
		s.header = make(http.Header)
	}
	s.header.Add(name, value)
	return s
}

// ID sets the call id of the last call.
func (s Step) ID(id string) Step { return s.changeLast(func(p *piece) { p.id = id }) }

// Phase sets the phase of the last item; Responses only.
func (s Step) Phase(phase string) Step { return s.changeLast(func(p *piece) { p.phase = phase }) }

func (s Step) changeLast(f func(*piece)) Step {
	s.pieces = slices.Clone(s.pieces)
	if n := len(s.pieces); n > 0 {
		f(&s.pieces[n-1])
	}
	return s
}

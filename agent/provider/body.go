package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"shiro/memory/transcript"
)

// A body is an encoded request and the quirks that would change it.
type body struct {
	json []byte
	open quirk
}

// encode writes r for a server with quirks q. The member order is fixed: what
// is the same for the whole conversation, then the messages, then what changes
// with every request, so that the next body begins with the bytes of this one.
func (c *Client) encode(r *Request, q quirk) (*body, error) {
	h := &head{client: c, request: r, quirks: q}
	f := form{api: c.api, origin: c.origin}
	var system, trailer []byte
	role := "system"
	if c.api == Responses {
		f.refs = c.store && q&noReferences == 0
		f.noPhase = q&noPhase != 0
		h.open |= noPhase | onlyOwnBlobs | noBlobs
		switch {
		case q&noBlobs != 0:
			f.trust = trustNone
		case q&onlyOwnBlobs != 0:
			f.trust = trustOwn
		}
		if f.refs {
			h.open |= noReferences
		}
		if q&otherRole == 0 {
			role = "developer"
		}
		h.responses(f.refs)
	} else {
		f.echo = c.echo != (q&otherEcho != 0)
		h.open |= otherEcho | strictTurns
		if q&otherRole != 0 {
			role = "developer"
		}
		h.chat()
	}
	if r.System != "" {
		h.open |= otherRole
		system = h.message(role, r.System)
	}
	messages := r.Messages
	if q&strictTurns != 0 {
		messages = alternating(messages, r.Trailer)
	} else if r.Trailer != "" {
		trailer = h.message(transcript.RoleUser, r.Trailer)
	}
	if h.err != nil {
		return nil, h.err
	}
	cache := r.Cache
	if cache == nil {
		cache = new(Cache)
	}
	list, size := cache.encode(f, messages)
	if len(list) == 0 && len(trailer) == 0 {
		return nil, &Error{Kind: KindBad, Message: "there is no message to send"}
	}
	return &body{join(h.b, system, list, size, trailer), h.open &^ q}, nil
}

// A head writes the members of a body before its messages.
type head struct {
	client  *Client
	request *Request
	quirks  quirk
	open    quirk
	b       []byte
	err     error
}

// has reports whether a member that q would remove is to be written.
func (h *head) has(q quirk) bool {
	h.open |= q
	return h.quirks&q == 0
}

func (h *head) raw(s string)             { h.b = append(h.b, s...) }
func (h *head) text(member, text string) { h.b = appendQuoted(append(h.b, member...), text) }

func (h *head) responses(refs bool) {
	r, known := h.request, reasons(h.request.Model)
	h.text(`{"model":`, r.Model)
	h.raw(`,"stream":true`)
	if !refs {
		if h.has(noStore) {
			h.raw(`,"store":false`)
		}
		if known != never && h.has(noInclude) {
			h.raw(`,"include":["reasoning.encrypted_content"]`)
		}
	}
	if r.Effort != "" && known != never && h.has(noReasoning) {
		h.text(`,"reasoning":{"effort":`, h.effort())
		if known == always && r.Effort != "none" && h.has(noSummary) {
			h.raw(`,"summary":"detailed"`)
		}
		h.raw(`}`)
	}
	if r.MaxOutput > 0 && h.has(noOutputCap) {
		h.raw(`,"max_output_tokens":` + strconv.Itoa(r.MaxOutput))
	}
	h.cacheKey()
	h.tools(`{"type":"function",`, `}`)
	h.raw(`,"input":[`)
}

func (h *head) chat() {
	r, known := h.request, reasons(h.request.Model)
	h.text(`{"model":`, r.Model)
	h.raw(`,"stream":true`)
	if h.has(noStreamOptions) {
		h.raw(`,"stream_options":{"include_usage":true}`)
	}
	if r.Effort != "" && known != never && h.has(noReasoning) {
		h.text(`,"reasoning_effort":`, h.effort())
	}
	if r.MaxOutput > 0 && h.has(noOutputCap) {
		newer := (h.client.official || known == always) == h.has(otherOutputCap)
		member := `,"max_tokens":`
		if newer {
			member = `,"max_completion_tokens":`
		}
		h.raw(member + strconv.Itoa(r.MaxOutput))
	}
	h.cacheKey()
	h.tools(`{"type":"function","function":{`, `}}`)
	h.raw(`,"messages":[`)
}

func (h *head) effort() string {
	switch e := h.request.Effort; {
	case e == "none" && !h.has(noExtremes):
		return "low"
	case e == "xhigh" && !h.has(noExtremes):
		return "high"
	default:
		return e
	}
}

func (h *head) cacheKey() {
	if h.request.CacheKey != "" && h.client.official && h.has(noCacheKey) {
		h.text(`,"prompt_cache_key":`, h.request.CacheKey)
	}
}

func (h *head) tools(open, end string) {
	for i, t := range h.request.Tools {
		if i == 0 {
			h.raw(`,"tools":[`)
		} else {
			h.raw(`,`)
		}
		h.raw(open)
		h.text(`"name":`, t.Name)
		h.text(`,"description":`, t.Description)
		h.raw(`,"parameters":`)
		h.schema(t)
		// Left out, Responses would rewrite the schema to make every member required.
		if h.client.api == Responses && h.has(noStrict) {
			h.raw(`,"strict":false`)
		}
		h.raw(end)
	}
	if len(h.request.Tools) > 0 {
		h.raw(`]`)
	}
}

func (h *head) schema(t Tool) {
	if len(t.Schema) == 0 {
		h.raw(`{"type":"object","properties":{}}`)
		return
	}
	b := bytes.NewBuffer(h.b)
	if err := json.Compact(b, t.Schema); err != nil {
		h.err = fmt.Errorf("the schema of tool %s: %w", t.Name, err)
	}
	h.b = b.Bytes()
}

// message is a message of text only, in the client's dialect.
func (h *head) message(role, text string) []byte {
	if h.client.api == Chat {
		b := appendQuoted([]byte(`{"role":`), role)
		b = appendQuoted(append(b, `,"content":`...), text)
		return append(b, '}')
	}
	b := appendQuoted([]byte(`{"type":"message","role":`), role)
	b = appendQuoted(append(b, `,"content":[{"type":"input_text","text":`...), text)
	return append(b, `}]}`...)
}

// Whether a model reasons, as far as its name tells.
type reasoner int

const (
	unknown reasoner = iota
	always
	never
)

func reasons(model string) reasoner {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, p := range [...]string{"gpt-5-chat", "gpt-4", "gpt-3", "chatgpt"} {
		if strings.HasPrefix(name, p) {
			return never
		}
	}
	for _, p := range [...]string{"gpt-5", "gpt-6", "o1", "o3", "o4", "codex"} {
		if strings.HasPrefix(name, p) {
			return always
		}
	}
	return unknown
}

package providertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Flavour is in what a server differs from OpenAI's own.
type Flavour struct {
	// Refuses lists what it does not know: top-level parameters,
	// "reasoning.summary", "tools.strict", "developer" for the role,
	// "reasoning_content" for the member of an assistant message.
	Refuses []string

	// EchoesReasoning demands reasoning_content on assistant messages that
	// have tool calls, as DeepSeek and Kimi do.
	EchoesReasoning bool

	// StrictTurns refuses, for chat, user messages that follow each other or
	// a tool result, as the templates of many local models do.
	StrictTurns bool
}

// A refusal is an answer by which the server declines a request.
type refusal struct {
	rule    string // "" when no rule is broken
	status  int
	code    string
	param   string
	message string
}

func (r *refusal) body() any {
	kind := "invalid_request_error"
	if r.status == http.StatusUnauthorized {
		kind = "authentication_error"
	}
	e := map[string]any{"message": r.message, "type": kind, "param": nil, "code": nil}
	if r.param != "" {
		e["param"] = r.param
	}
	if r.code != "" {
		e["code"] = r.code
	}
	return map[string]any{"error": e}
}

func breaks(rule, param, format string, args ...any) *refusal {
	return &refusal{rule: rule, status: http.StatusBadRequest, param: param, message: fmt.Sprintf(format, args...)}
}

// object is a JSON object, member by member.
type object map[string]json.RawMessage

// text is a member that must be a string; "" when it is absent or something else.
func (o object) text(name string) string {
	var s string
	json.Unmarshal(o[name], &s)
	return s
}

func (o object) has(name string) bool {
	v, ok := o[name]
	return ok && string(v) != "null"
}

// check returns why the request must be refused, or nil. It is called with the
// server's mutex held.
func (s *Server) check(req *Request) *refusal {
	if no := s.checkBytes(req.Body); no != nil {
		return no
	}
	var o object
	if json.Unmarshal(req.Body, &o) != nil {
		return breaks("shape", "", "We could not parse the JSON body of your request.")
	}
	known, list := chatParams[:], "messages"
	if req.API == Responses {
		known, list = responsesParams[:], "input"
	}
	if no := s.checkParams(o, known); no != nil {
		return no
	}
	if !o.has("model") {
		return breaks("shape", "model", "you must provide a model parameter")
	}
	if no := s.checkTools(o["tools"]); no != nil {
		return no
	}
	var elements []object
	if json.Unmarshal(o[list], &elements) != nil {
		return breaks("shape", list, "Invalid type for '%s': expected an array of objects.", list)
	}
	if len(elements) == 0 {
		return breaks("V4", list, "Invalid '%s': empty array. Expected an array with minimum length 1.", list)
	}
	if req.API == Responses {
		return s.checkItems(elements)
	}
	return s.checkMessages(elements)
}

// checkBytes covers V7 and V8.
func (s *Server) checkBytes(body []byte) *refusal {
	if !utf8.Valid(body) {
		return breaks("V7", "", "The body is not valid UTF-8.")
	}
	if !s.opts.Replacement && (bytes.ContainsRune(body, utf8.RuneError) || bytes.Contains(bytes.ToLower(body), []byte(`\ufffd`))) {
		return breaks("V7", "", "The body contains U+FFFD: something was decoded wrongly.")
	}
	if limit := s.opts.MaxBytes; limit > 0 && len(body) > limit {
		return &refusal{
			rule: "V8", status: http.StatusRequestEntityTooLarge, message: fmt.Sprintf("The body has %d bytes, the limit is %d.", len(body), limit),
		}
	}
	if n, limit := (len(body)+3)/4, s.opts.MaxTokens; limit > 0 && n > limit {
		no := breaks("V8", "input", "This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.", limit, n)
		no.code = "context_length_exceeded"
		return no
	}
	return nil
}

var responsesParams = [...]string{
	"model", "input", "instructions", "stream", "stream_options", "store", "include", "reasoning", "max_output_tokens",
	"max_tool_calls", "prompt_cache_key", "prompt_cache_retention", "tools", "tool_choice", "parallel_tool_calls",
	"temperature", "top_p", "metadata", "user", "safety_identifier", "text", "truncation", "previous_response_id",
	"conversation", "service_tier", "background", "top_logprobs", "prompt", "context_management",
}

var chatParams = [...]string{
	"model", "messages", "stream", "stream_options", "reasoning_effort", "max_tokens", "max_completion_tokens",
	"prompt_cache_key", "prompt_cache_retention", "tools", "tool_choice", "parallel_tool_calls", "temperature", "top_p",
	"n", "stop", "seed", "user", "safety_identifier", "metadata", "store", "response_format", "frequency_penalty",
	"presence_penalty", "logprobs", "top_logprobs", "logit_bias", "service_tier", "verbosity", "prediction",
}

// checkParams covers V9 for the members of the body.
func (s *Server) checkParams(o object, known []string) *refusal {
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !slices.Contains(known, name) || s.refuses(name) {
			return unknownParam(name)
		}
	}
	var reasoning object
	json.Unmarshal(o["reasoning"], &reasoning)
	if reasoning.has("summary") && s.refuses("reasoning.summary") {
		return unknownParam("reasoning.summary")
	}
	return nil
}

func (s *Server) refuses(what string) bool { return slices.Contains(s.opts.Flavour.Refuses, what) }

func unknownParam(name string) *refusal {
	no := breaks("V9", name, "Unknown parameter: '%s'.", name)
	no.code = "unknown_parameter"
	return no
}

// checkTools covers V6 for the tools offered, in either API's shape.
func (s *Server) checkTools(raw json.RawMessage) *refusal {
	if raw == nil {
		return nil
	}
	var tools []object
	if json.Unmarshal(raw, &tools) != nil {
		return breaks("shape", "tools", "Invalid type for 'tools': expected an array of objects.")
	}
	if len(tools) == 0 {
		return breaks("V4", "tools", "Invalid 'tools': empty array. Expected an array with minimum length 1.")
	}
	seen := make(map[string]bool)
	for i, t := range tools {
		if t.text("type") != "function" {
			continue
		}
		f := t
		if t.has("function") {
			f = nil
			json.Unmarshal(t["function"], &f)
		}
		if f.has("strict") && s.refuses("tools.strict") {
			return unknownParam(fmt.Sprintf("tools[%d].strict", i))
		}
		name := f.text("name")
		if !goodName(name) {
			return breaks("V6", fmt.Sprintf("tools[%d].name", i), "Invalid tool name %q: it does not match ^[A-Za-z0-9_-]{1,64}$.", name)
		}
		if seen[name] {
			return breaks("V6", fmt.Sprintf("tools[%d].name", i), "Tool names must be unique: %q is there twice.", name)
		}
		seen[name] = true
		var schema object
		if json.Unmarshal(f["parameters"], &schema) != nil || schema.text("type") != "object" {
			return breaks("shape", fmt.Sprintf("tools[%d].parameters", i), "Invalid schema for function %q: it must have type \"object\".", name)
		}
	}
	return nil
}

func goodName(name string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	return name != "" && len(name) <= 64 && strings.Trim(name, letters) == ""
}

// checkArguments covers V5.
func checkArguments(raw json.RawMessage, param string) *refusal {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return breaks("V5", param, "Missing required parameter: '%s', a string.", param)
	}
	if !json.Valid([]byte(text)) {
		return breaks("V5", param, "Invalid '%s': not valid JSON.", param)
	}
	return nil
}

// A pairing follows calls and their outputs for V1.
type pairing struct {
	open     map[string]bool // calls without output
	answered map[string]bool
}

func newPairing() *pairing {
	return &pairing{open: make(map[string]bool), answered: make(map[string]bool)}
}

func (p *pairing) call(id, param string) *refusal {
	switch {
	case id == "":
		return breaks("V1", param, "Missing required parameter: '%s'.", param)
	case p.open[id] || p.answered[id]:
		return breaks("V1", param, "Duplicate call id %s.", id)
	}
	p.open[id] = true
	return nil
}

func (p *pairing) output(id, param string) *refusal {
	switch {
	case p.answered[id]:
		return breaks("V1", param, "There is a second output for call %s.", id)
	case !p.open[id]:
		return breaks("V1", param, "No tool call found for function call output with call_id %s.", id)
	}
	delete(p.open, id)
	p.answered[id] = true
	return nil
}

// settled refuses what comes before every call has its output.
func (p *pairing) settled(where string) *refusal {
	for id := range p.open {
		return breaks("V1", where, "No tool output found for function call %s.", id)
	}
	return nil
}

// checkContent refuses content that is neither text nor a list of parts of the
// types allowed. said reports whether there is more than white space in it.
func checkContent(raw json.RawMessage, param string, types ...string) (said bool, no *refusal) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return strings.TrimSpace(text) != "", nil
	}
	var parts []object
	if json.Unmarshal(raw, &parts) != nil {
		return false, breaks("shape", param, "Invalid type for '%s': expected a string or an array of objects.", param)
	}
	for i, p := range parts {
		if !slices.Contains(types, p.text("type")) {
			return false, breaks("shape", param, "Invalid value for '%s[%d].type': %q.", param, i, p.text("type"))
		}
		for _, member := range [...]string{"text", "refusal", "image_url", "file_data"} {
			said = said || p.has(member) && strings.TrimSpace(strings.Trim(string(p[member]), `"`)) != ""
		}
	}
	return said, nil
}

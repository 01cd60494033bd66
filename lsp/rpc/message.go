package rpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
)

// message holds the raw members of one JSON-RPC object, nil where absent. They
// alias the frame.
type message struct {
	version, id, method, params, result, err []byte
}

// wireOptions are the tolerance peers need: the last of two equal names counts, and
// bytes that are not UTF-8 are replaced when they are decoded.
func wireOptions() []jsontext.Options {
	return []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
}

// scan checks that a frame is one JSON object and finds its members.
func scan(frame []byte) (m message, bad *Error) {
	frame = bytes.TrimPrefix(frame, []byte("\uFEFF"))
	if tooDeep(frame) {
		return m, parseError(fmt.Sprintf("message is nested deeper than %d levels", maxDepth))
	}
	if v := jsontext.Value(frame); v.Kind() != '{' {
		if v.IsValid(wireOptions()...) {
			return m, invalidRequest("a message is one JSON object; batches are not supported")
		}
		return m, parseError("invalid JSON")
	}
	if err := m.members(frame); err != nil {
		return message{}, parseError("invalid JSON: " + err.Error())
	}
	return m, nil
}

func (m *message) members(frame []byte) (err error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(frame), wireOptions()...)
	// Spans are taken from the frame: what the decoder returns is only good until
	// its next call.
	value := func() (span []byte) {
		if err == nil {
			span, err = dec.ReadValue()
		}
		end := dec.InputOffset()
		return frame[end-int64(len(span)) : end]
	}
	_, err = dec.ReadToken()
	for err == nil && dec.PeekKind() == '"' {
		switch name, v := value(), value(); string(name) {
		case `"jsonrpc"`:
			m.version = v
		case `"id"`:
			m.id = v
		case `"method"`:
			m.method = v
		case `"params"`:
			m.params = v
		case `"result"`:
			m.result = v
		case `"error"`:
			m.err = v
		}
	}
	if err == nil {
		_, err = dec.ReadToken()
	}
	if err != nil {
		return err
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return errors.New("text behind the message")
	}
	return nil
}

// tooDeep counts brackets, all of them first, because most messages have few.
func tooDeep(frame []byte) bool {
	if bytes.Count(frame, []byte("{"))+bytes.Count(frame, []byte("[")) <= maxDepth {
		return false
	}
	depth, quoted := 0, false
	for i := 0; i < len(frame); i++ {
		switch c := frame[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// isResponse tells answers, also broken ones, from requests. A peer must not be
// answered an answer, so an object with an id and nothing else counts as one.
func (m *message) isResponse() bool {
	return m.method == nil &&
		(m.result != nil || m.err != nil || m.id != nil && m.params == nil)
}

// request turns m into what jsonrpc2 dispatches. An error goes out under id.
func (m *message) request(f Framing) (msg jsonrpc2.Message, id jsonrpc2.ID, bad *Error) {
	id, ok := parseID(m.id)
	switch {
	case !ok:
		bad = invalidRequest("id must be an integer or a string")
	case m.method == nil:
		bad = invalidRequest("method is missing")
	case m.method[0] != '"':
		bad = invalidRequest("method must be a string")
	case m.result != nil || m.err != nil:
		bad = invalidRequest("a request has neither result nor error")
	case string(m.version) != `"2.0"` && (m.version != nil || f == Headers):
		bad = invalidRequest(`jsonrpc must be "2.0"`)
	}
	if bad != nil {
		return nil, id, bad
	}
	params := m.params
	if string(params) == "null" {
		params = nil
	}
	if m.id == nil {
		return jsonrpc2.NewNotification(unquote(m.method), params), id, nil
	}
	return jsonrpc2.NewCall(id, unquote(m.method), params), id, nil
}

// parseID reads an id that is absent, a string or an integer in any notation
// (1e3 is 1000). The rest, null included, is not ok.
func parseID(raw []byte) (id jsonrpc2.ID, ok bool) {
	if raw == nil {
		return jsonrpc2.ID{}, true
	}
	if raw[0] == '"' {
		return jsonrpc2.NewStringID(unquote(raw)), true
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return jsonrpc2.NewNumberID(n), true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return jsonrpc2.ID{}, false
	}
	return jsonrpc2.NewNumberID(int64(f)), true
}

// unquote decodes a valid JSON string; bad UTF-8 in it becomes U+FFFD.
func unquote(raw []byte) string {
	s, _ := jsontext.AppendUnquote(nil, raw)
	return string(s)
}

package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Kind says what an Error means for the caller.
type Kind string

const (
	KindAuth      Kind = "auth"      // the key is missing, wrong or not allowed to do this
	KindRate      Kind = "rate"      // too many requests; RetryAfter may say when to come back
	KindQuota     Kind = "quota"     // the account is exhausted
	KindOverflow  Kind = "overflow"  // the request is longer than the model or the server takes
	KindBad       Kind = "bad"       // the server refuses the request as it is
	KindNotFound  Kind = "notfound"  // no such model or address
	KindServer    Kind = "server"    // the server's own trouble
	KindNetwork   Kind = "network"   // the server could not be reached
	KindIdle      Kind = "idle"      // the server went silent
	KindCut       Kind = "cut"       // the answer ended before it was complete
	KindBadStream Kind = "badstream" // the answer is not an event stream
)

// Codes of network errors that waiting does not cure.
const (
	codeCertificate = "certificate"
	codeProxy       = "proxy"
)

// An Error is a failed request, whatever shape the server or the network gave
// it. It never contains the API key. When the caller's context ended, Stream
// returns the context's error instead.
type Error struct {
	Status     int    // HTTP status, or one named inside the stream; 0 when there was none
	Code       string // the server's code or type
	Param      string // the parameter a refusal names
	Message    string
	RetryAfter time.Duration // the server's wish; 0 when it has none
	Kind       Kind
}

func (e *Error) Error() string {
	head := e.Code
	if e.Status != 0 {
		head = strings.TrimSpace(strconv.Itoa(e.Status) + " " + e.Code)
	}
	if head == "" {
		return e.Message
	}
	return head + ": " + e.Message
}

// Retryable reports whether the same request may succeed later.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case KindRate, KindServer, KindIdle, KindCut:
		return true
	case KindNetwork:
		return e.Code != codeCertificate && e.Code != codeProxy
	}
	return false
}

// errorFromBody reads what servers send in place of an answer. It finds no
// message in a body that has none of the known shapes.
func errorFromBody(b []byte) *Error {
	var shape struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		errorFields
	}
	var list []json.RawMessage
	if json.Unmarshal(b, &list) == nil && len(list) > 0 {
		b = list[0]
	}
	if !decodes(b, &shape) {
		return &Error{}
	}
	in := errorFields{Code: shape.Code, Type: shape.Type, Param: shape.Param}
	message := shape.Message
	if len(message) == 0 {
		message = shape.Detail
	}
	if isSet(shape.Error) {
		message = shape.Error
		var inner struct {
			Message json.RawMessage `json:"message"`
			errorFields
		}
		if shape.Error[0] == '{' && decodes(shape.Error, &inner) {
			message, in = inner.Message, inner.errorFields
		}
	}
	e := &Error{Code: plain(in.Code), Param: plain(in.Param), Message: plain(message)}
	if n, err := strconv.Atoi(e.Code); err == nil {
		e.Code = ""
		if n >= 400 && n < 600 {
			e.Status = n
		}
	}
	if e.Code == "" {
		e.Code = plain(in.Type)
	}
	if raw := plain(in.Metadata.Raw); raw != "" && !strings.Contains(e.Message, raw) {
		e.Message = strings.TrimSpace(e.Message + " " + raw) // a router's quote of the server behind it
	}
	return e
}

type errorFields struct {
	Code     json.RawMessage `json:"code"`
	Type     json.RawMessage `json:"type"`
	Param    json.RawMessage `json:"param"`
	Metadata struct {
		Raw json.RawMessage `json:"raw"`
	} `json:"metadata"`
}

// plain is a JSON value as text: strings unquoted, null empty, a list of
// validation errors as "place: message" each.
func plain(raw json.RawMessage) string {
	if !isSet(raw) {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var list []struct {
		Loc []any  `json:"loc"`
		Msg string `json:"msg"`
	}
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 && list[0].Msg != "" {
		var b strings.Builder
		for i, v := range list {
			if i > 0 {
				b.WriteString("; ")
			}
			for j, l := range v.Loc {
				if j > 0 {
					b.WriteByte('.')
				}
				fmt.Fprint(&b, l)
			}
			b.WriteString(": " + v.Msg)
		}
		return b.String()
	}
	return string(raw)
}

// statusError is the error of an answer with a status other than success.
func statusError(res *http.Response, body []byte, now time.Time) *Error {
	e := errorFromBody(body)
	e.Status = res.StatusCode
	if e.Message == "" {
		e.Message = excerpt(string(body))
	}
	if e.Message == "" {
		e.Message = http.StatusText(res.StatusCode)
	}
	e.RetryAfter = retryAfter(res.Header, now)
	e.classify()
	return e
}

// decodes reads the fields of v that have the expected kind and leaves the
// others: servers disagree about numbers, nulls and strings. It reports whether
// data was JSON at all.
func decodes(data []byte, v any) bool {
	err := json.Unmarshal(data, v)
	if err == nil {
		return true
	}
	var kind *json.UnmarshalTypeError
	return errors.As(err, &kind)
}

// streamError is the error that a server reports inside an answer that began
// with success.
func streamError(data []byte) *Error {
	e := errorFromBody(data)
	if e.Message == "" {
		e.Message = excerpt(string(data))
	}
	if e.Code == "error" {
		e.Code = "" // the type of the event that brought it
	}
	e.classify()
	return e
}

// reportsError reports whether data is an object with an error in it. Some
// servers put a null there with every event.
func reportsError(data []byte) bool {
	var w struct {
		Error json.RawMessage `json:"error"`
	}
	return decodes(data, &w) && isSet(w.Error)
}

func notJSON(data []byte) *Error {
	return &Error{Kind: KindCut, Message: "the stream is damaged: an event is not JSON: " + excerpt(string(data))}
}

// excerpt is the beginning of s on one line.
func excerpt(s string) string {
	const limit = 200
	if len(s) > 8*limit {
		s = s[:8*limit]
	}
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "")
	for i := range s {
		if i >= limit {
			return s[:i] + "…"
		}
	}
	return s
}

// told completes an error for whoever reads it: what to look at, and nothing of
// the key.
func (c *Client) told(err error, model string) error {
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	for _, s := range [...]*string{&e.Message, &e.Code, &e.Param} {
		*s = mask(*s, c.key)
	}
	if len(e.Message) > 2000 {
		e.Message = strings.ToValidUTF8(e.Message[:2000], "") + "…"
	}
	switch {
	case e.Code == codeProxy:
	case e.Kind == KindAuth && c.key == "":
		e.Message += " (no API key is set for " + c.origin + ")"
	case e.Kind == KindAuth:
		e.Message += " (check the API key for " + c.origin + ")"
	case e.Kind == KindNotFound && model != "":
		e.Message += fmt.Sprintf(" (check the model %q and the base URL, %s)", model, c.origin)
	case e.Kind == KindNotFound, e.Kind == KindBadStream:
		e.Message += " (check the base URL, " + c.origin + ")"
	}
	return e
}

// mask hides the key where a server or a proxy echoes it.
func mask(s, key string) string {
	if len(key) < 4 {
		return s // no secret, and all over the place
	}
	return strings.ReplaceAll(s, key, "***")
}

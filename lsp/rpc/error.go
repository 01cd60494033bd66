package rpc

import (
	"context"
	"encoding/json"
	"errors"
)

// Codes of the errors this package sends.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeCancelled      = -32800 // the peer cancelled the request
	CodeFailed         = -32803 // any error of a handler that is no *Error
	CodeOverloaded     = -31017 // too many requests at once
)

// Error is a JSON-RPC error object: what a handler returns to choose code and
// data, and what [Conn.Call] returns when the peer answered with one (Data is then
// a json.RawMessage, or nil).
type Error struct {
	Code    int
	Message string
	Data    any // left out of the message when nil
}

func (e *Error) Error() string { return e.Message }

// detail is the data of the errors made here; clients switch on kind.
type detail struct {
	Kind         string `json:"kind"`
	Retryable    bool   `json:"retryable"`
	RetryAfterMs int    `json:"retryAfterMs,omitempty"`
	Limit        int64  `json:"limit,omitempty"`
	Size         int64  `json:"size,omitempty"`
}

func parseError(message string) *Error {
	return &Error{CodeParse, message, detail{Kind: "parse_error"}}
}

func invalidRequest(message string) *Error {
	return &Error{CodeInvalidRequest, message, detail{Kind: "invalid_request"}}
}

// tooLarge describes a message refused for its size; 0 means not known.
func tooLarge(size int64) *Error {
	return &Error{
		CodeInvalidRequest, "message exceeds 32 MiB",
		detail{Kind: "too_large", Limit: maxFrame, Size: size},
	}
}

func overloaded(message string) *Error {
	return &Error{CodeOverloaded, message, detail{Kind: "overloaded", Retryable: true, RetryAfterMs: 250}}
}

// wireError gives a handler's error its code. ctx is the request's own: once it is
// cancelled, whatever the handler stumbled over is the cancellation.
func wireError(ctx context.Context, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return &Error{e.Code, err.Error(), e.Data}
	}
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return &Error{CodeCancelled, "cancelled", detail{Kind: "cancelled"}}
	}
	return &Error{Code: CodeFailed, Message: err.Error()}
}

// peerError reads the error member of a response. One that is not as the
// specification says still fails the call.
func peerError(raw []byte) *Error {
	var e struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return &Error{CodeInternal, "malformed error object: " + err.Error(), json.RawMessage(raw)}
	}
	if e.Data == nil {
		return &Error{Code: e.Code, Message: e.Message}
	}
	return &Error{e.Code, e.Message, e.Data}
}

package rpc

import (
	"context"
	"encoding/json"
)

// Methods are the methods a connection serves, by name. A request for any other
// is answered with -32601, a notification of any other is ignored.
type Methods map[string]Method

// Method handles raw params (nil when absent or null, valid until it returns or
// calls [Async]) and returns the raw result. Its context ends when it has returned,
// when the peer cancels the request, and with the connection.
//
// An [*Error] is answered as it is, also when wrapped; any other error with -32800
// if the request was cancelled and -32803 if not, a panic with -32603.
type Method func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)

// Call makes a method of a typed handler. Absent and null params are the zero P,
// unknown fields are ignored, and params that do not fit are answered with -32602
// before f runs. Types of go.lsp.dev/protocol, and slices and maps of them, go
// through its codec, all others through encoding/json; a json.RawMessage result is
// sent as it is.
func Call[P, R any](f func(context.Context, *P) (R, error)) Method {
	return func(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
		p, err := decodeParams[P](raw)
		if err != nil {
			return nil, err
		}
		result, err := f(ctx, p)
		if err != nil {
			return nil, err
		}
		return encode(result)
	}
}

// Notification makes a method of a typed handler that answers nothing; its error is
// logged. Sent as a request, it is answered with null. Params are read as by [Call].
func Notification[P any](f func(context.Context, *P) error) Method {
	return func(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
		p, err := decodeParams[P](raw)
		if err != nil {
			return nil, err
		}
		return nil, f(ctx, p)
	}
}

func decodeParams[P any](raw json.RawMessage) (*P, error) {
	p := new(P)
	if _, none := any(p).(*struct{}); none {
		return p, nil
	}
	if err := decode(raw, p); err != nil {
		return nil, paramsError(raw, err)
	}
	return p, nil
}

package lsp

import (
	"errors"
	"fmt"

	"shiro/agent"
	wire "shiro/lsp/protocol"
	"shiro/lsp/rpc"
)

// fail returns the error of a request.
func fail(kind wire.ErrorKind, format string, args ...any) *rpc.Error {
	return &rpc.Error{Code: kind.Code(), Message: fmt.Sprintf(format, args...), Data: wire.ErrorData{Kind: kind}}
}

// sessionError says what is wrong with a session that was asked for.
func sessionError(id string, err error) error {
	if errors.Is(err, agent.ErrNotFound) {
		e := fail(wire.KindSessionNotFound, "no session has the id %q, or begins with it alone", id)
		e.Data = wire.ErrorData{Kind: wire.KindSessionNotFound, SessionID: id}
		return e
	}
	if errors.Is(err, agent.ErrLocked) {
		e := fail(wire.KindSessionLocked, "session %s: %v", id, err)
		data := wire.ErrorData{Kind: wire.KindSessionLocked, SessionID: id, Retryable: true}
		var owner interface{ Owner() int }
		if errors.As(err, &owner) {
			data.OwnerPID = owner.Owner()
		}
		e.Data = data
		return e
	}
	return setupError(err)
}

// setupError is the error of a folder that cannot be worked in yet.
func setupError(err error) error {
	var known interface{ ErrorKind() string }
	if errors.As(err, &known) {
		return fail(wire.ErrorKind(known.ErrorKind()), "%v", err)
	}
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		return e
	}
	return fail(wire.KindInternalError, "%v", err)
}

// turnError is why a turn failed, for its event.
func turnError(f *agent.Failure) *wire.Error {
	data := wire.ErrorData{Retryable: f.Retryable, RetryAfterMs: f.RetryAfter.Milliseconds(), HTTPStatus: f.Status}
	switch f.Kind {
	case "auth":
		data.Kind = wire.KindAuthRequired
	case "rate":
		data.Kind = wire.KindRateLimited
	case "overflow":
		data.Kind = wire.KindContextExhausted
	case "server":
		data.Kind = wire.KindProviderError
	default:
		data.Kind = wire.KindInternalError
	}
	return &wire.Error{Code: data.Kind.Code(), Message: f.Text, Data: data}
}

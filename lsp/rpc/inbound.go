package rpc

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"go.lsp.dev/jsonrpc2"
)

// inbound is the stream under jsonrpc2, which gets well-formed requests and
// notifications from it and nothing else: v1.0.1 ends the connection over anything
// less. Answers to our own requests are taken out on the way.
type inbound struct {
	c *Conn
	r reader
}

func newInbound(c *Conn) *inbound {
	s := &inbound{c: c}
	s.r = reader{
		in:      bufio.NewReaderSize(c.in, maxHeader),
		framing: c.framing,
		refuse:  func(e *Error) { c.reply(jsonrpc2.ID{}, nil, e) },
		log:     c.log,
	}
	return s
}

// Read returns the next request or notification. It borrows the read buffer.
func (s *inbound) Read(ctx context.Context) (jsonrpc2.Message, int64, error) {
	for {
		frame, err := s.r.next()
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		if err != nil {
			s.end(err)
			return nil, 0, err
		}
		if m := s.accept(frame); m != nil {
			return m, int64(len(frame)), nil
		}
	}
}

// end reports the end of input at once, so that running handlers are cancelled.
func (s *inbound) end(err error) {
	if err == io.EOF {
		s.c.end(nil)
		return
	}
	s.c.end(fmt.Errorf("reading from the peer: %w", err))
}

// accept returns what jsonrpc2 is to dispatch, and deals with all other frames.
func (s *inbound) accept(frame []byte) jsonrpc2.Message {
	m, bad := scan(frame)
	if bad != nil {
		s.r.lost = true
		s.r.refuse(bad)
		return nil
	}
	if m.isResponse() {
		s.c.answered(&m)
		return nil
	}
	request, id, bad := m.request(s.r.framing)
	if bad != nil {
		s.c.reply(id, nil, bad)
		return nil
	}
	if m.version == nil {
		s.c.log.Debug("message without jsonrpc member")
	}
	return request
}

// Write discards: the handler has queued its answer itself, see [Conn.handle].
func (s *inbound) Write(context.Context, jsonrpc2.Message) (int64, error) { return 0, nil }

// Close does nothing: the pipes belong to whoever made them.
func (s *inbound) Close() error { return nil }

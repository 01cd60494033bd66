package rpc

import (
	"bytes"
	"strconv"
)

// Framing is how messages are told apart on the wire.
type Framing int

const (
	// Headers is LSP's: a Content-Length header block before each message.
	Headers Framing = iota
	// Lines is ACP's: one message per line. The jsonrpc member may be missing.
	Lines
)

// append frames one encoded message. It may change body.
func (f Framing) append(dst, body []byte) []byte {
	if f == Headers {
		dst = append(dst, "Content-Length: "...)
		dst = strconv.AppendInt(dst, int64(len(body)), 10)
		dst = append(dst, "\r\n\r\n"...)
		return append(dst, body...)
	}
	// A raw result may be indented. Strings hold no bare line ends, so these are
	// only white space.
	if bytes.IndexByte(body, '\n') >= 0 || bytes.IndexByte(body, '\r') >= 0 {
		for i, c := range body {
			if c == '\n' || c == '\r' {
				body[i] = ' '
			}
		}
	}
	return append(append(dst, body...), '\n')
}

// cancel is the notification that withdraws a request: its method, and the member
// of its params that holds the id.
func (f Framing) cancel() (method, member string) {
	if f == Headers {
		return "$/cancelRequest", "id"
	}
	return "$/cancel_request", "requestId"
}

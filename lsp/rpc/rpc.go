// Package rpc is the JSON-RPC 2.0 connection both doors share: LSP's
// Content-Length frames or ACP's lines of JSON, over a pair of pipes.
//
// It is lenient in what it reads and strict in what it writes. Nothing a peer
// sends, and nothing a handler returns or panics with, ends the connection: a
// broken frame is answered under a null id and skipped, a failed notification is
// logged. Only the end of input, a failed write and the caller's context end it.
//
// Messages are handled in wire order on one goroutine, the read loop, until a
// handler calls [Async]. Hence the rule for handlers: do the ordered part first
// (take a snapshot, enqueue the work), then call Async, then wait. A handler that
// is still on the read loop, as notification handlers normally are, must not wait
// for the peer: the answer could not be read.
//
// Everything written goes through one queue in the order it was handed in, so an
// answer never overtakes an event that came before it. Handing in never waits for
// the peer, except in [Conn.NotifyWait].
//
// Batches are not supported (LSP and ACP both forbid them): each is answered with
// one -32600 under a null id. The package knows no method but the two
// cancellations; lifecycle rules come in through [Options.Gate].
//
// The main function of a door calls [ClaimStdout] first, then New, [Conn.Run] and
// [Conn.Close] with a deadline, and then exits: a read of standard input cannot be
// taken back.
package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"go.lsp.dev/jsonrpc2"
)

// Limits of one connection, in bytes unless said otherwise.
const (
	maxHeader   = 8 << 10   // a header block
	maxFrame    = 32 << 20  // an incoming message
	maxDepth    = 512       // nesting of an incoming message, in levels
	maxRequests = 256       // incoming requests being handled, in number
	keepBuffer  = 1 << 20   // a buffer kept between messages
	lowWater    = 256 << 10 // queued output above which NotifyWait waits
	highWater   = 32 << 20  // queued output above which the peer counts as not reading
)

var (
	// ErrClosed is returned for anything handed in after the connection ended.
	ErrClosed = errors.New("rpc: connection closed")
	// ErrBacklog is returned for a message refused because the peer has left more
	// than 32 MiB unread. The message was not queued.
	ErrBacklog = errors.New("rpc: peer does not read")
)

// Options say what a connection runs on.
type Options struct {
	In      io.Reader
	Out     io.Writer // written by one goroutine; a Write holds one message or several joined
	Framing Framing
	Methods Methods

	// Gate, if set, is asked on the read loop, in wire order, before a message is
	// dispatched; call tells a request from a notification. An error answers the
	// request, or drops the notification. Cancellations do not pass the gate.
	Gate func(method string, call bool) error

	Log *slog.Logger // nil means slog.Default()
}

// Conn is one connection. Its methods may be called from any goroutine.
type Conn struct {
	in      io.Reader
	framing Framing
	methods Methods
	gate    func(method string, call bool) error
	log     *slog.Logger

	out     *queue
	running running
	calls   calls

	ending sync.Once
	done   chan struct{}
	err    error // why the connection ended; read after done
}

// New makes a connection and starts its writer, which Close ends.
func New(o Options) *Conn {
	c := &Conn{
		in:      o.In,
		framing: o.Framing,
		methods: o.Methods,
		gate:    o.Gate,
		log:     o.Log,
		done:    make(chan struct{}),
	}
	if c.log == nil {
		c.log = slog.Default()
	}
	c.out = newQueue(o.Out, o.Framing, func(err error) {
		c.end(fmt.Errorf("writing to the peer: %w", err))
	})
	return c
}

// Run reads and dispatches until input ends (nil), reading or writing fails, the
// peer leaves more than 64 MiB unread ([ErrBacklog]), ctx ends (its error) or Close
// is called ([ErrClosed]). By then the contexts of running handlers are cancelled.
// It does not wait for the handlers; Close does. Call it once.
//
// A read that is under way cannot be interrupted, so the reading goroutine may
// stay in it after Run returned, until the peer closes or the process exits. It
// dispatches nothing any more.
func (c *Conn) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	jsonrpc2.NewConn(newInbound(c)).Go(ctx, c.handle)
	select {
	case <-ctx.Done():
		c.end(ctx.Err())
	case <-c.done:
	}
	return c.err
}

// Done is closed when the connection has ended, for whatever reason.
func (c *Conn) Done() <-chan struct{} { return c.done }

func (c *Conn) end(err error) {
	c.ending.Do(func() {
		c.err = err
		close(c.done)
	})
}

// Flush returns when everything handed in before it has been written.
func (c *Conn) Flush(ctx context.Context) error { return c.out.flush(ctx) }

// Close ends the connection, waits for running handlers, writes out what is queued
// and stops the writer. When ctx ends first, its error is returned and the rest is
// left to the exit of the process.
func (c *Conn) Close(ctx context.Context) error {
	c.end(ErrClosed)
	return errors.Join(c.running.close(ctx), c.out.close(ctx))
}

// Notify hands in a notification and does not wait. It fails with [ErrBacklog]
// when the peer does not read.
func (c *Conn) Notify(method string, params any) error {
	n, err := notification(method, params)
	if err != nil {
		return err
	}
	return c.out.put(highWater, n)
}

// NotifyWait is Notify for event streams: while more than 256 KiB is queued it
// waits, so that its caller can go on joining what comes next. Nothing is lost
// unless an error is returned. It is not for handlers on the read loop.
func (c *Conn) NotifyWait(ctx context.Context, method string, params any) error {
	n, err := notification(method, params)
	if err != nil {
		return err
	}
	return c.out.putWait(ctx, lowWater, n)
}

func notification(method string, params any) (func([]byte) []byte, error) {
	raw, err := encode(params)
	if err != nil {
		return nil, fmt.Errorf("encoding the params of %s: %w", method, err)
	}
	return func(b []byte) []byte { return jsonrpc2.AppendNotification(b, method, jsonrpc2.RawMessage(raw)) }, nil
}

package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// errSilent is the cause with which patience ends a call.
var errSilent = errors.New("the server is silent")

// patience ends a call when the server stays silent. It runs only between arm
// and disarm, that is while we wait for the server and never while the caller
// is busy with what came.
type patience struct {
	limit time.Duration
	timer *time.Timer
}

func newPatience(limit time.Duration, end context.CancelCauseFunc) *patience {
	p := &patience{limit: limit, timer: time.AfterFunc(time.Hour, func() { end(errSilent) })}
	p.timer.Stop()
	return p
}

func (p *patience) arm()    { p.timer.Reset(p.limit) }
func (p *patience) disarm() { p.timer.Stop() }

// A call is one HTTP exchange. It is the openai.HTTPDoer of one request: it
// sends our body in place of go-openai's, turns every failure into an *Error,
// and passes on an event stream that go-openai can read.
type call struct {
	http *http.Client
	body []byte // nil sends none and leaves the answer as it is
	wait *patience

	secret string // the key, which no error may show

	answer io.ReadCloser // the server's bytes
	events *events       // the same, re-framed
}

func (c *call) Do(r *http.Request) (*http.Response, error) {
	if c.body != nil {
		r.ContentLength = int64(len(c.body))
		r.Body, _ = c.newBody()
		r.GetBody = c.newBody
		// Not sent, but lets net/http repeat the request when a kept-alive
		// connection turns out to be dead before any answer.
		r.Header["X-Idempotency-Key"] = nil
	}
	r.Header.Set("User-Agent", "shiro")
	c.wait.arm()
	res, err := c.http.Do(r)
	c.wait.disarm()
	if err != nil {
		return nil, networkError(r, err)
	}
	if res.StatusCode/100 != 2 {
		defer res.Body.Close()
		c.wait.arm()
		b, _ := io.ReadAll(io.LimitReader(res.Body, maxStray)) // what came of it is all there is
		c.wait.disarm()
		return nil, statusError(res, []byte(mask(string(b), c.secret)), time.Now())
	}
	if c.body != nil {
		c.answer = res.Body
		c.events = newEvents(c, c.secret)
		res.Body = struct {
			io.Reader
			io.Closer
		}{c.events, c.answer}
	}
	return res, nil
}

func (c *call) newBody() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(c.body)), nil
}

// Read reads the answer as it comes, with bounded patience.
func (c *call) Read(p []byte) (int, error) {
	c.wait.arm()
	defer c.wait.disarm()
	return c.answer.Read(p)
}

// drain reads what is left behind a finished answer, usually nothing but the
// end mark, without which the connection could not be used again.
func (c *call) drain() {
	c.wait.limit = 50 * time.Millisecond
	io.CopyN(io.Discard, c, 64<<10) // an error only costs the connection
}

// settle chooses the error of a call: the caller's own end first, then silence,
// then whatever happened.
func (c *call) settle(parent, ctx context.Context, err error) error {
	var known *Error
	switch {
	case parent.Err() != nil:
		return parent.Err()
	case errors.Is(context.Cause(ctx), errSilent):
		return &Error{Kind: KindIdle, Message: fmt.Sprintf("the server sent nothing for %v", c.wait.limit)}
	case errors.As(err, &known):
		return known
	}
	return cutError(err)
}

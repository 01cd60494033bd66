package provider

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// A Client asks one model server. It is safe for concurrent use.
type Client struct {
	api, base, key string
	origin         string // the server's name in stored parts
	official       bool   // it is OpenAI's own
	echo           bool   // its kind wants reasoning back with tool calls
	store          bool
	http           *http.Client
	ownHTTP        bool
	idle, first    time.Duration
	log            *slog.Logger
	unusable       *Error // why no request can be sent

	mu     sync.Mutex
	quirks map[string]quirk // by model
}

// New returns a client. It sends nothing; options that cannot be used show at
// the first request.
func New(o Options) *Client {
	c := &Client{
		api:   o.API,
		base:  strings.TrimRight(strings.TrimSpace(o.BaseURL), "/"),
		key:   strings.TrimSpace(o.APIKey),
		store: o.Store,
		http:  o.HTTP,
		idle:  cmp.Or(o.IdleTimeout, 120*time.Second),
		first: cmp.Or(o.FirstByteTimeout, 300*time.Second),
		log:   o.Log,
	}
	for _, end := range [...]string{"/chat/completions", "/responses"} {
		c.base = strings.TrimSuffix(c.base, end)
	}
	if c.http == nil {
		c.http, c.ownHTTP = newHTTPClient(), true
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.quirks = make(map[string]quirk)
	u, err := url.Parse(c.base)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		c.unusable = &Error{Kind: KindBad, Code: "base_url", Message: "the base URL is not an http or https address"}
		return c
	}
	if c.api != Responses && c.api != Chat {
		c.unusable = &Error{Kind: KindBad, Code: "api", Message: fmt.Sprintf("the API is %q, neither %q nor %q", c.api, Responses, Chat)}
	}
	if strings.ContainsFunc(c.key, func(r rune) bool { return r <= ' ' || r == 0x7F }) {
		c.unusable = &Error{Kind: KindAuth, Code: "api_key", Message: "the API key contains a space or a control character"}
	}
	c.origin = originOf(u)
	c.official = u.Hostname() == "api.openai.com"
	for _, kind := range [...]string{"deepseek", "moonshot", "kimi"} {
		c.echo = c.echo || strings.Contains(c.origin, kind)
	}
	return c
}

// Close drops idle connections. A request that runs is not touched.
func (c *Client) Close() {
	if c.ownHTTP {
		c.http.CloseIdleConnections()
	}
}

// Stream asks for one answer and reports it to on as it arrives, on the calling
// goroutine. Nil takes no deltas. The error is an *Error, the context's own
// error, or says what in r cannot be encoded; with an error there is no
// Response, whatever was reported.
func (c *Client) Stream(ctx context.Context, r *Request, on func(Delta)) (*Response, error) {
	if c.unusable != nil {
		return nil, c.unusable
	}
	if on == nil {
		on = func(Delta) {}
	}
	shown := false
	report := func(d Delta) {
		shown = true
		on(d)
	}
	known := c.known(r.Model, 0)
	for {
		b, err := c.encode(r, known)
		if err != nil {
			return nil, err
		}
		c.log.Debug("model request", "api", c.api, "model", r.Model, "messages", len(r.Messages), "bytes", len(b.json))
		res, err := c.exchange(ctx, r, b.json, report)
		if err == nil {
			return res, nil
		}
		e, ok := err.(*Error)
		if !ok {
			return nil, err
		}
		if q := learn(e, b.open); q != 0 && !shown {
			known = c.known(r.Model, q)
			c.log.Info("the model server refused a part of the request; asking without it", "model", r.Model, "refusal", mask(e.Message, c.key))
			continue
		}
		return nil, c.told(e, r.Model)
	}
}

// known returns the quirks learnt for a model, after adding q.
func (c *Client) known(model string, q quirk) quirk {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q != 0 {
		c.quirks[model] |= q
	}
	return c.quirks[model]
}

// A reader assembles an answer from the events of a stream.
type reader interface {
	read(event []byte) (last bool, err error)
	ended(done bool) bool // the answer is whole; done: the server said [DONE]
	result() *Response
}

// exchange sends one body and reads the answer to it.
func (c *Client) exchange(parent context.Context, r *Request, body []byte, on func(Delta)) (*Response, error) {
	ctx, end := context.WithCancelCause(parent)
	defer end(nil)
	t := &call{http: c.http, body: body, secret: c.key, wait: newPatience(c.first, end)}
	defer t.wait.disarm()
	raw, err := c.open(ctx, t)
	if err != nil {
		return nil, t.settle(parent, ctx, err)
	}
	defer raw.Close()
	begun := func(d Delta) {
		t.wait.limit = c.idle
		on(d)
	}
	in := c.reader(r, begun)
	for {
		event, err := raw.RecvRaw()
		last := false
		if err == nil {
			last, err = in.read(event)
		}
		if last || err != nil && in.ended(t.events.done) && parent.Err() == nil {
			break
		}
		if err != nil {
			return nil, t.settle(parent, ctx, err)
		}
		if in.ended(false) { // only the usage is still to come
			t.wait.limit = min(t.wait.limit, 5*time.Second)
		}
	}
	t.drain()
	return in.result(), nil
}

type rawStream interface {
	RecvRaw() ([]byte, error)
	io.Closer
}

// open sends the request through go-openai. What it is told of the request is
// only enough to choose the address: t sends our body.
func (c *Client) open(ctx context.Context, t *call) (rawStream, error) {
	conf := openai.DefaultConfig(c.key)
	conf.BaseURL = c.base
	conf.HTTPClient = t
	api := openai.NewClientWithConfig(conf)
	if c.api == Chat {
		s, err := api.CreateChatCompletionStream(ctx, openai.ChatCompletionRequest{})
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	s, err := api.CreateResponseStream(ctx, openai.CreateResponseRequest{})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (c *Client) reader(r *Request, on func(Delta)) reader {
	a := answer{on: on, ids: callIDs{history: r.Messages}}
	if c.api == Chat {
		return &chatReader{answer: a, origin: originOptions(c.origin)}
	}
	return &responsesReader{answer: a, origin: c.origin}
}

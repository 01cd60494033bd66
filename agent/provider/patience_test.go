package provider

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shiro/agent/provider/providertest"
)

func debugLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A pause is a piece of an answer and the silence before it.
type pause struct {
	wait time.Duration
	text string
}

func timedClient(t *testing.T, o Options, headers time.Duration, pieces ...pause) *Client {
	o.BaseURL = "http://model.test/v1"
	o.HTTP = &http.Client{Transport: timed{t, headers, pieces}}
	return New(o)
}

type timed struct {
	t       *testing.T
	headers time.Duration
	pieces  []pause
}

func (s timed) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if err := sleep(ctx, s.headers); err != nil {
		return nil, err
	}
	in, out := io.Pipe()
	go func() {
		for _, p := range s.pieces {
			if err := sleep(ctx, p.wait); err != nil {
				out.CloseWithError(err)
				return
			}
			io.WriteString(out, p.text)
		}
		<-ctx.Done() // the connection stays open
		out.CloseWithError(ctx.Err())
	}()
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: in, Request: r}, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestSilence(t *testing.T) {
	delta, stop := chatDeltas(`{"content":"x"}`), event(chatStop)
	o := Options{API: Chat, IdleTimeout: 3 * time.Second, FirstByteTimeout: 10 * time.Second}
	for name, c := range map[string]struct {
		headers time.Duration
		pieces  []pause
		slow    time.Duration // what the caller takes for a delta
		after   time.Duration // when Stream returns
		kind    Kind          // "" for success
	}{
		"no headers":              {headers: time.Hour, after: 10 * time.Second, kind: KindIdle},
		"headers, no byte":        {after: 10 * time.Second, kind: KindIdle},
		"one delta":               {pieces: []pause{{time.Second, delta}}, after: 4 * time.Second, kind: KindIdle},
		"half an event":           {pieces: []pause{{time.Second, delta + "data: {"}}, after: 4 * time.Second, kind: KindIdle},
		"long thinking":           {pieces: []pause{{9 * time.Second, event(`{"choices":[]}`)}, {9 * time.Second, delta}, {time.Second, stop + event("[DONE]")}}, after: 19*time.Second + 50*time.Millisecond},
		"comments count as life":  {pieces: []pause{{time.Second, delta}, {2 * time.Second, ": wait\n\n"}, {2 * time.Second, stop + event("[DONE]")}}, after: 5*time.Second + 50*time.Millisecond},
		"the caller's own time":   {pieces: []pause{{0, delta + delta + delta}, {0, stop + event("[DONE]")}}, slow: 5 * time.Second, after: 15*time.Second + 50*time.Millisecond},
		"finished, no end":        {pieces: []pause{{0, delta + stop}}, after: 3*time.Second + 50*time.Millisecond},
		"finished, no end, usage": {pieces: []pause{{0, delta + stop}, {2 * time.Second, event(`{"usage":{"prompt_tokens":1,"completion_tokens":1}}`) + event("[DONE]")}}, after: 2*time.Second + 50*time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				_, err := timedClient(t, o, c.headers, c.pieces...).Stream(t.Context(), ask("x"), func(Delta) { time.Sleep(c.slow) })
				var e *Error
				if errors.As(err, &e); c.kind == "" && err != nil || c.kind != "" && (e == nil || e.Kind != c.kind || !e.Retryable()) {
					t.Errorf("error %v, want kind %q", err, c.kind)
				}
				if d := time.Since(begin); d < c.after-60*time.Millisecond || d > c.after {
					t.Errorf("came back after %v, want %v", d, c.after)
				}
			})
		})
	}
}

func TestCancelAnswersAtOnce(t *testing.T) {
	apis(t, func(t *testing.T, api string) {
		for name, step := range map[string]providertest.Step{
			"before the headers": providertest.Say("x").Delay(time.Hour),
			"inside the answer":  providertest.Say(strings.Repeat("word ", 100)).Silence(3),
			"in a fast stream":   providertest.Say(strings.Repeat("word ", 10000)).Rate(2000),
		} {
			t.Run(name, func(t *testing.T) {
				s := script(t, step, providertest.Say("again"))
				c := newClient(t, s, Options{API: api})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if name == "before the headers" {
					go func() {
						s.Wait(ctx, 1)
						cancel()
					}()
				}
				var cancelled time.Time
				_, err := c.Stream(ctx, ask("x"), func(d Delta) {
					if cancelled.IsZero() && strings.Contains(d.Text, "word") {
						cancelled = time.Now()
						cancel()
					}
				})
				if !errors.Is(err, context.Canceled) {
					t.Errorf("error %v, want the context's", err)
				}
				if !cancelled.IsZero() {
					if d := time.Since(cancelled); d > 100*time.Millisecond {
						t.Errorf("answered %v after the cancel", d)
					}
				}
				within(t, time.Second, "closing the connection", func() {
					if err := s.Quiet(t.Context()); err != nil {
						t.Fatal(err)
					}
				})
				if !s.Requests()[0].Gone {
					t.Error("the server did not see the client leave")
				}
				res, _ := stream(t, c, ask("x"))
				same(t, "next answer", brief(res), []string{"text again"})
			})
		}
	})
}

func TestADeadlineIsTheCallersToo(t *testing.T) {
	s := script(t, providertest.Say("x").Silence(0))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := newClient(t, s, Options{API: Chat}).Stream(ctx, ask("x"), nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// A kept-alive connection is used again after a whole answer, and its death
// between two requests costs nothing.
func TestConnectionsAreReused(t *testing.T) {
	apis(t, func(t *testing.T, api string) {
		s := script(t)
		c := newClient(t, s, Options{API: api})
		for range 3 {
			stream(t, c, ask("x"))
		}
		seen := map[string]bool{}
		for _, r := range s.Requests() {
			seen[r.From] = true
		}
		if len(seen) != 1 {
			t.Errorf("%d connections for 3 requests", len(seen))
		}
	})
}

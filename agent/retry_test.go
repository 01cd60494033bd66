package agent

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shiro/agent/provider"
	mock "shiro/agent/provider/providertest"
)

// gaps are the waits between requests.
func gaps(all []mock.Request) []time.Duration {
	var list []time.Duration
	for i := 1; i < len(all); i++ {
		list = append(list, all[i].At.Sub(all[i-1].At))
	}
	return list
}

// fast makes a failure that asks to be repeated soon.
func fast(status int) mock.Step { return mock.Fail(status, "trouble", "retry-after-ms", "5") }

// The server's wish is honoured in each form; without one, waits double.
func TestRetryWaits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails []mock.Step
		waits []time.Duration
	}{
		"milliseconds":      {[]mock.Step{mock.Fail(429, "slow down", "retry-after-ms", "150")}, []time.Duration{150 * time.Millisecond}},
		"seconds":           {[]mock.Step{mock.Fail(503, "busy", "Retry-After", "1")}, []time.Duration{time.Second}},
		"none, and doubled": {[]mock.Step{mock.Fail(500, "oops"), mock.Fail(502, "oops")}, []time.Duration{firstDelay, 2 * firstDelay}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, append(c.fails, mock.Say("at last"))...)
			talk := w.create()
			talk.start(Prompt{Text: "go"})
			for i, want := range c.waits {
				r := next[Retrying](talk)
				if r.Attempt != i+1 || r.Delay != want || r.Reason == "" {
					t.Errorf("announced %+v, want %v", r, want)
				}
			}
			must(t, talk.ended(), Completed, EndTurn)
			for i, got := range gaps(w.requests(len(c.fails) + 1)) {
				if got < c.waits[i] || got > c.waits[i]+2*time.Second {
					t.Errorf("wait %d took %v, want %v", i, got, c.waits[i])
				}
			}
		})
	}
}

// What waiting does not cure is told at once, after one request, and the
// conversation goes on.
func TestNoRetry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fail mock.Step
		want Failure
	}{
		"400":                    {mock.Fail(400, `{"error":{"message":"no such thing","code":"bad"}}`), Failure{Kind: "server", Status: 400}},
		"401":                    {mock.Fail(401, `{"error":{"message":"bad key"}}`), Failure{Kind: "auth", Status: 401}},
		"403":                    {mock.Fail(403, `{"error":{"message":"forbidden"}}`), Failure{Kind: "auth", Status: 403}},
		"404":                    {mock.Fail(404, `{"error":{"message":"no such model"}}`), Failure{Kind: "server", Status: 404}},
		"an exhausted account":   {mock.Fail(429, `{"error":{"message":"quota","code":"insufficient_quota"}}`), Failure{Kind: "rate", Status: 429}},
		"a wait of an hour":      {mock.Fail(429, "later", "Retry-After", "3600"), Failure{Kind: "rate", Status: 429, Retryable: true, RetryAfter: time.Hour}},
		"a request too long":     {mock.Fail(400, `{"error":{"message":"maximum context length","code":"context_length_exceeded"}}`), Failure{Kind: "overflow", Status: 400}},
		"an error in the stream": {mock.Text("some").Failed("invalid_prompt", "refused"), Failure{Kind: "server"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.fail)
			talk := w.create()
			end := talk.say("go")
			must(t, end, Failed, Erred)
			got := *end.Failure
			got.Text = ""
			if got != c.want || end.Failure.Text == "" {
				t.Errorf("failure %+v, want %+v", *end.Failure, c.want)
			}
			if n := len(w.model.Requests()); n != 1 || count[Retrying](talk.all()) != 0 {
				t.Errorf("%d requests", n)
			}
			if got := shape(w.store.record(talk.ID).Messages); got != "user \"go\"\n" {
				t.Errorf("record\n%s", got)
			}
			talk.aliveAfter()
		})
	}
}

// Attempts are bounded, and each is announced.
func TestRetriesEnd(t *testing.T) {
	t.Parallel()
	for _, retries := range []int{0, 1, 3} {
		w := newWorldOn(t, mock.Chat, mock.Options{Script: slices.Repeat([]mock.Step{fast(503)}, retries+1)})
		w.setup.MaxRetries = retries
		c := w.create()
		must(t, c.say("go"), Failed, Erred)
		if n := len(w.model.Requests()); n != retries+1 || count[Retrying](c.all()) != retries {
			t.Errorf("%d retries: %d requests, %d announced", retries, n, count[Retrying](c.all()))
		}
		c.aliveAfter()
	}
}

// The retries of one step are not taken from those of the next.
func TestRetriesOfEachStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fast(503), fast(503), mock.Call("list_dir", nil), fast(503), fast(503), mock.Say("done"))
	w.setup.MaxRetries = 2
	must(t, w.create().say("go"), Completed, EndTurn)
}

// An answer breaks off twice and comes again. What was shown is withdrawn; the
// whole answer is in the record and in the next request once, and its call runs
// once.
func TestRetryAfterPartialAnswer(t *testing.T) {
	t.Parallel()
	const marker = "forty characters of text that come twice"
	breaks := map[string]func(mock.Step) mock.Step{
		"reset in the thought":   func(s mock.Step) mock.Step { return s.Reset(1) },
		"reset in the text":      func(s mock.Step) mock.Step { return s.Reset(4) },
		"reset in the arguments": func(s mock.Step) mock.Step { return s.Reset(8) },
		"cut in the arguments":   func(s mock.Step) mock.Step { return s.Cut(8) },
		"cut before all":         func(s mock.Step) mock.Step { return s.Cut(0) },
		"an error in the stream": func(s mock.Step) mock.Step { return s.Failed("server_error", "overloaded") },
	}
	for _, api := range []string{mock.Responses, mock.Chat} {
		var mu sync.Mutex
		tries := make(map[string]int)
		w := newWorldOn(t, api, mock.Options{Fallback: mock.Func(func(r mock.Request) mock.Step {
			if items := r.Items(); items[len(items)-1].Kind == "result" {
				return mock.Say("done")
			}
			name := prompts(r)[0]
			whole := mock.Reply(mock.Reasoning("thinking").Chunk(8), mock.Text(marker), ask("bash", "A", args{"command": "echo ran >>'" + name + "'"}))
			mu.Lock()
			defer mu.Unlock()
			if tries[name]++; tries[name] <= 2 {
				return breaks[name](whole)
			}
			return whole
		})})
		w.rules(allow("bash", "*"))
		talks := make(map[string]*talk)
		for name := range breaks { // all at once, since they wait most of the time
			talks[name] = w.create()
			talks[name].start(Prompt{Text: name})
		}
		for name, c := range talks {
			must(t, c.ended(), Completed, EndTurn)
			if got := shape(w.store.record(c.ID).Messages); !strings.Contains(got, "call(A)") || strings.Count(got, marker) != 1 {
				t.Errorf("%s %s: record\n%s", api, name, got)
			}
			if got := w.read(name); got != "ran\n" {
				t.Errorf("%s %s: the call ran as %q", api, name, got)
			}
			standing := make(map[string]bool)
			for _, e := range c.all() {
				switch d := e.Data.(type) {
				case ItemStarted:
					standing[d.Item.ID] = true
				case ItemCompleted:
					if d.Item.Withdrawn {
						delete(standing, d.Item.ID)
					}
				}
			}
			if len(standing) != 5 { // prompt, thought, text, call, done
				t.Errorf("%s %s: %d items stand", api, name, len(standing))
			}
			if count[Retrying](c.all()) != 2 {
				t.Errorf("%s %s: the attempts are not announced", api, name)
			}
		}
		for _, r := range w.model.Requests() {
			if items := r.Items(); items[len(items)-1].Kind == "result" && strings.Count(string(r.Body), marker) != 1 {
				t.Errorf("%s: the text goes back %d times", api, strings.Count(string(r.Body), marker))
			}
		}
	}
}

// A server that goes silent does not hold the conversation: after the idle limit
// the answer is asked again, and when that does not help the turn fails with
// what may pass.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	for _, api := range []string{mock.Responses, mock.Chat} {
		for after, retries := range map[int]int{0: 0, 2: 0, 1: 1} {
			silent := mock.Text("some text").Chunk(4).Silence(after)
			w := newWorldOn(t, api, mock.Options{Script: slices.Repeat([]mock.Step{silent}, retries+1)})
			client := provider.New(provider.Options{API: api, BaseURL: w.model.URL(), IdleTimeout: 200 * time.Millisecond, FirstByteTimeout: 200 * time.Millisecond})
			t.Cleanup(client.Close)
			w.setup.Model, w.setup.MaxRetries = client, retries
			c := w.create()
			end := c.say("go")
			must(t, end, Failed, Erred)
			if !end.Failure.Retryable || count[Retrying](c.all()) != retries {
				t.Errorf("%s, after %d deltas: %+v", api, after, end.Failure)
			}
			if got := shape(w.store.record(c.ID).Messages); got != "user \"go\"\n" {
				t.Errorf("%s, after %d deltas: record\n%s", api, after, got)
			}
			c.aliveAfter()
		}
	}
}

// An answer that ends without its end is never taken for a whole one, even when
// there is no other attempt: nothing of it runs and nothing is stored.
func TestHalfACallNeverRuns(t *testing.T) {
	t.Parallel()
	for _, api := range []string{mock.Responses, mock.Chat} {
		w := newWorldOn(t, api, mock.Options{Script: []mock.Step{
			mock.Call("write_file", args{"path": "a.txt", "content": "half of the text"}).Chunk(4).Cut(6),
		}})
		w.rules(allow("write_file", "*"))
		w.setup.MaxRetries = 0
		c := w.create()
		must(t, c.say("go"), Failed, Erred)
		if w.exists("a.txt") || shape(w.store.record(c.ID).Messages) != "user \"go\"\n" {
			t.Errorf("%s: something of it is left", api)
		}
		c.aliveAfter()
	}
}

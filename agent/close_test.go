package agent

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	mock "shiro/agent/provider/providertest"
)

// Whenever the agent is closed, nothing of it goes on: no goroutine, no event,
// no save; and the conversation can be gone on with.
func TestCloseAtRandomMoments(t *testing.T) {
	before := goleak.IgnoreCurrent()
	for seed := range uint64(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 6))
			answers := rand.New(rand.NewPCG(seed, 7))
			lock := make(chan struct{}, 1)
			w := newWorldOn(t, mock.Responses, mock.Options{Fallback: mock.Func(func(mock.Request) mock.Step {
				lock <- struct{}{}
				defer func() { <-lock }()
				return randomAnswer(answers)
			})})
			w.rules(allow("bash", "echo *"), deny("write_file", "*.env"))
			w.setup.MaxSteps = 4
			w.write("a.txt", lines(9))
			var talks []*talk
			for range 3 {
				c := w.create()
				c.start(Prompt{Text: "go"})
				c.start(Prompt{Text: "and on", Queue: true})
				talks = append(talks, c)
			}
			time.Sleep(time.Duration(r.IntN(25_000)) * time.Microsecond)
			begun := time.Now()
			w.reopen()
			if d := time.Since(begun); d > 3*time.Second {
				t.Errorf("closing took %v", d)
			}
			for _, c := range talks {
				if _, _, err := c.Start(Prompt{Text: "late"}); !errors.Is(err, ErrClosed) {
					t.Errorf("a prompt after the end: %v", err)
				}
				s, err := w.agent.Open(t.Context(), c.ID)
				if err != nil {
					t.Error(err)
					continue
				}
				s.Interrupt("")
			}
		})
	}
	goleak.VerifyNone(t, before)
}

// A closed agent takes nothing new, and closing again is no error.
func TestClosedAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create()
	must(t, c.say("go"), Completed, EndTurn)
	if got := w.agent.Sessions(); len(got) != 1 || got[0] != c.Session {
		t.Errorf("%d sessions", len(got))
	}
	w.close()
	if _, err := w.agent.Create(t.Context(), w.dir, ""); err == nil {
		t.Error("a conversation begins")
	}
	if _, err := w.agent.Open(t.Context(), c.ID); err == nil {
		t.Error("a conversation is opened")
	}
	if err := w.agent.Release(c.ID); err != nil {
		t.Errorf("releasing: %v", err)
	}
	if err := w.agent.Close(); err != nil {
		t.Errorf("again: %v", err)
	}
	if a, detach := c.Attach("", 0, 10); a.Snapshot == nil {
		t.Error("no snapshot")
	} else if detach(); w.store.closed != 1 {
		t.Errorf("%d writers were closed", w.store.closed)
	}
	w.agent = w.newAgent()
}

// Releasing ends one conversation and leaves the others.
func TestRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Step{}.Delay(minute), mock.Say("fine"))
	c, other := w.create(), w.create()
	c.start(Prompt{Text: "go"})
	w.requests(1)
	if err := w.agent.Release(c.ID); err != nil {
		t.Fatal(err)
	}
	c.drained()
	must(t, other.say("hello"), Completed, EndTurn)
	if w.agent.Session(c.ID) != nil || w.agent.Session(other.ID) == nil {
		t.Error("the wrong one is open")
	}
	again := w.open(c.ID)
	again.aliveAfter()
}

// A conversation that is being closed can be opened at the same time: whoever
// does gets one that works, with all that was said.
func TestOpenWhileReleasing(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t, mock.Responses, mock.Options{Fallback: mock.Func(func(r mock.Request) mock.Step {
		if p := prompts(r); len(p) == 1 {
			return mock.Text("partial text").Chunk(4).Silence(2)
		}
		return mock.Say("fine")
	})})
	for range 30 {
		c := w.create()
		c.start(Prompt{Text: "go"})
		next[ItemDelta](c)
		done := make(chan error, 1)
		go func() { done <- w.agent.Release(c.ID) }()
		for w.agent.Session(c.ID) == c.Session {
			runtime.Gosched()
		}
		s, err := w.agent.Open(t.Context(), c.ID)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err != nil {
			t.Fatalf("opening: %v", err)
		}
		w.listen(s).aliveAfter()
		if got := shape(w.store.record(c.ID).Messages); !strings.Contains(got, "part") {
			t.Fatalf("record\n%s", got)
		}
	}
}

// What a conversation cannot begin with.
func TestCreateFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.agent.Create(t.Context(), filepath.Join(w.dir, "missing"), ""); err == nil {
		t.Error("in a folder that is not there")
	}
	c := w.create()
	if rec := c.Info().Record; rec.CWD != w.dir || rec.Model != "mock" || c.Info().Count != 0 {
		t.Errorf("record %+v", rec)
	}
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if len(w.store.files) != 0 {
		t.Error("a conversation without a prompt is stored")
	}
}

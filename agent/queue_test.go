package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mock "shiro/agent/provider/providertest"
)

// prompts returns what the user asked in a request, without what shiro adds.
func prompts(r mock.Request) []string {
	return slices.DeleteFunc(r.Users(), func(s string) bool { return strings.HasPrefix(s, "<session_state>") })
}

// slow answers after a while, so that a prompt can be given meanwhile.
func slow(text string, d time.Duration) mock.Step { return mock.Say(text).Delay(d) }

func TestQueuedPromptsRunInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slow("a", 20*time.Millisecond), mock.Say("b"), mock.Say("c"))
	c := w.create()
	first, queueID := c.start(Prompt{Text: "A"})
	if first != "trn_1" || queueID != "" {
		t.Errorf("started as %q %q", first, queueID)
	}
	if running, _, err := c.Start(Prompt{Text: "not now"}); !errors.Is(err, ErrBusy) || running != first {
		t.Errorf("a second prompt: %q, %v", running, err)
	}
	second, b := c.start(Prompt{Text: "B", Queue: true})
	third, d := c.start(Prompt{Text: "C", Queue: true})
	if got, want := c.Queue(), []Queued{{b, "B"}, {d, "C"}}; !slices.Equal(got, want) || b == "" || b == d {
		t.Errorf("queue %v, want %v", got, want)
	}
	for i, turn := range []string{first, second, third} {
		started := c.find("start", func(e Event) bool { _, ok := e.Data.(TurnStarted); return ok })
		trigger := started.Data.(TurnStarted).Trigger
		if started.Turn != turn || (trigger == ByQueue) != (i > 0) {
			t.Errorf("turn %d is %s by %s", i, started.Turn, trigger)
		}
		must(t, c.ended(), Completed, EndTurn)
	}
	for i, want := range [][]string{{"A"}, {"A", "B"}, {"A", "B", "C"}} {
		if got := prompts(w.requests(3)[i]); !slices.Equal(got, want) {
			t.Errorf("request %d asks %q, want %q", i, got, want)
		}
	}
}

// Whoever saw a turn end can begin the next one: the conversation is not busy
// any more, however many look at it.
func TestNotBusyAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				c.Info()
				runtime.Gosched()
			}
		})
	}
	defer wg.Wait()
	defer cancel()
	for i := range 30 {
		if _, _, err := c.Start(Prompt{Text: fmt.Sprint(i)}); err != nil {
			t.Fatalf("prompt %d right after the end of a turn: %v", i, err)
		}
		c.ended()
	}
}

func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Step{}.Delay(time.Minute))
	c := w.create()
	c.start(Prompt{Text: "A"})
	w.requests(1)
	var want []string
	for i := range maxQueued {
		text := fmt.Sprint("Q", i)
		c.start(Prompt{Text: text, Queue: true})
		want = append(want, text)
	}
	if _, _, err := c.Start(Prompt{Text: "too many", Queue: true}); !errors.Is(err, ErrQueueFull) {
		t.Errorf("prompt %d: %v", maxQueued+1, err)
	}
	discarded, running := c.Interrupt("")
	if !slices.Equal(discarded, want) || running != "trn_1" {
		t.Errorf("handed back %q of %q", discarded, running)
	}
	must(t, c.ended(), Interrupted, Stopped)
	c.start(Prompt{Text: "after", Queue: true}) // nothing runs, so it does not wait
	must(t, c.ended(), Completed, EndTurn)
	if got := prompts(w.requests(2)[1]); !slices.Equal(got, []string{"A", "after"}) {
		t.Errorf("the model is asked %q", got)
	}
}

// Interrupting the running turn by its own id, by another's, and when nothing
// runs.
func TestInterruptNamesATurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Step{}.Delay(time.Minute))
	c := w.create()
	if discarded, running := c.Interrupt(""); discarded != nil || running != "" {
		t.Errorf("of nothing: %q, %q", discarded, running)
	}
	turn, _ := c.start(Prompt{Text: "A"})
	queued, _ := c.start(Prompt{Text: "B", Queue: true})
	for _, other := range []string{queued, "trn_99"} {
		if discarded, running := c.Interrupt(other); discarded != nil || running != turn {
			t.Errorf("of %s: %q, %q", other, discarded, running)
		}
	}
	if len(c.Queue()) != 1 {
		t.Error("the queue is gone")
	}
	if discarded, running := c.Interrupt(turn); !slices.Equal(discarded, []string{"B"}) || running != turn {
		t.Errorf("of itself: %q, %q", discarded, running)
	}
	must(t, c.ended(), Interrupted, Stopped)
}

// The same request given again starts nothing; another prompt under its id is
// an error.
func TestRepeatedRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, slow("a", 20*time.Millisecond))
	c := w.create()
	p := Prompt{Text: "A", Request: "r1"}
	turn, _ := c.start(p)
	q := Prompt{Text: "B", Request: "r2", Queue: true}
	queued, id := c.start(q)
	for range 3 {
		if again, _ := c.start(p); again != turn {
			t.Errorf("A again is %s, was %s", again, turn)
		}
		if again, againID := c.start(q); again != queued || againID != id {
			t.Errorf("B again is %s %s, was %s %s", again, againID, queued, id)
		}
	}
	if _, _, err := c.Start(Prompt{Text: "other", Request: "r1"}); !errors.Is(err, ErrRepeated) {
		t.Errorf("another prompt: %v", err)
	}
	c.ended()
	c.ended()
	if again, _ := c.start(p); again != turn {
		t.Errorf("after its end: %s", again)
	}
	if n := len(w.requests(2)); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// Many prompts at once: one runs, the others are refused or queued, and each
// that was taken runs exactly once.
func TestPromptsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create()
	var mu sync.Mutex
	taken := make(map[string]string) // text -> turn
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			p := Prompt{Text: fmt.Sprint("P", i), Queue: i%2 == 0}
			turn, _, err := c.Start(p)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				taken[p.Text] = turn
			case errors.Is(err, ErrBusy) && !p.Queue, errors.Is(err, ErrQueueFull):
			default:
				t.Errorf("%+v: %v", p, err)
			}
		})
	}
	wg.Wait()
	ran := make(map[string]string)
	for range taken {
		e := c.find("start", func(e Event) bool { _, ok := e.Data.(TurnStarted); return ok })
		ran[e.Data.(TurnStarted).Input] = e.Turn
		must(t, c.ended(), Completed, EndTurn)
	}
	if len(ran) != len(taken) {
		t.Errorf("%d of %d prompts ran", len(ran), len(taken))
	}
	for text, turn := range taken {
		if ran[text] != turn {
			t.Errorf("%s ran as %q, was promised as %q", text, ran[text], turn)
		}
	}
}

// A is interrupted around its end, while B waits: B runs exactly once or never,
// and the answer and the events say which.
func TestInterruptAtTheHandOver(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t, mock.Responses, mock.Options{Fallback: mock.Func(func(r mock.Request) mock.Step {
		if p := prompts(r); strings.HasPrefix(p[len(p)-1], "A") {
			return slow("a", 10*time.Millisecond)
		}
		return mock.Say("b")
	})})
	const runs, lanes = 300, 10
	outcomes := make(map[string]int)
	of := make(map[string]string) // session -> outcome
	var mu sync.Mutex
	var wg sync.WaitGroup
	for lane := range lanes {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(lane), 3))
			begun := time.Now()
			w.create().say("A alone")
			length := int(time.Since(begun))
			for range runs / lanes {
				id, got := handOver(t, w, time.Duration(r.IntN(2*length)), r.IntN(2) == 0)
				mu.Lock()
				of[id] = got
				outcomes[got]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	asked := make(map[string]int) // session -> requests that end in B
	for _, r := range w.model.Requests() {
		p := prompts(r)
		if id, ok := strings.CutPrefix(p[len(p)-1], "B "); ok {
			asked[id]++
		}
	}
	for id, outcome := range of {
		n := asked[id]
		if n > 1 || outcome == "B ran" && n == 0 || strings.Contains(outcome, "handed back") && n > 0 {
			t.Errorf("%s: the model was asked B %d times", outcome, n)
		}
	}
	if outcomes["A was stopped, B handed back"] == 0 || outcomes["B ran"] == 0 {
		t.Errorf("the interrupts do not fall around the end: %v", outcomes)
	}
}

// handOver is one such run; named interrupts A by its id.
func handOver(t *testing.T, w *world, after time.Duration, named bool) (id, outcome string) {
	c := w.create()
	a, _ := c.start(Prompt{Text: "A " + c.ID})
	b, _ := c.start(Prompt{Text: "B " + c.ID, Queue: true})
	time.Sleep(after)
	name := ""
	if named {
		name = a
	}
	discarded, running := c.Interrupt(name)
	handedBack := slices.Equal(discarded, []string{"B " + c.ID})
	if len(discarded) > 0 && !handedBack {
		t.Errorf("handed back %q", discarded)
	}
	first := c.ended()
	if !handedBack {
		second := c.ended()
		switch {
		case running == b && !named:
			outcome = "B was stopped"
			if second.Status != Interrupted {
				outcome = "B was stopped after its end"
			}
		default:
			outcome = "B ran"
			must(t, second, Completed, EndTurn)
		}
	} else if outcome = "A was stopped, B handed back"; first.Status != Interrupted {
		outcome = "A had ended, B handed back"
	}
	must(t, c.say("C "+c.ID), Completed, EndTurn)
	started := make(map[string]int)
	for _, e := range c.all() {
		if d, ok := e.Data.(TurnStarted); ok {
			started[d.Input[:1]]++
		}
	}
	ran := 1
	if handedBack {
		ran = 0
	}
	if started["A"] != 1 || started["B"] != ran || started["C"] != 1 {
		t.Errorf("%s: turns begun %v", outcome, started)
	}
	stored := 0
	for _, m := range w.store.record(c.ID).Messages {
		if m.Text == "B "+c.ID {
			stored++
		}
	}
	if stored != ran {
		t.Errorf("%s: B is %d times in the record", outcome, stored)
	}
	return c.ID, outcome
}

// Prompts that wait are never stored: a conversation that is closed loses them.
func TestQueueIsNotStored(t *testing.T) {
	t.Parallel()
	const many = 8
	w := newWorld(t, slices.Repeat([]mock.Step{mock.Step{}.Delay(time.Minute)}, many)...)
	var talks []*talk
	for i := range many {
		c := w.create()
		c.start(Prompt{Text: "A"})
		c.start(Prompt{Text: "B", Queue: true})
		w.requests(i + 1)
		talks = append(talks, c)
	}
	w.reopen()
	for _, c := range talks {
		if got := shape(w.store.record(c.ID).Messages); got != "user \"A\"\n" {
			t.Errorf("record %q", got)
		}
		if _, _, err := c.Start(Prompt{Text: "late"}); !errors.Is(err, ErrClosed) {
			t.Errorf("a prompt after the end: %v", err)
		}
	}
	w.open(talks[0].ID).aliveAfter()
}

// Two conversations of one agent do not wait for each other, and an interrupt
// of one leaves the other alone.
func TestConversationsAreIndependent(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t, mock.Chat, mock.Options{Fallback: mock.Func(func(r mock.Request) mock.Step {
		if prompts(r)[0] == "stuck" {
			return mock.Text("thinking").Chunk(4).Silence(1)
		}
		return mock.Say("fine")
	})})
	stuck, free := w.create(), w.create()
	stuck.start(Prompt{Text: "stuck"})
	next[ItemDelta](stuck)
	for range 3 {
		must(t, free.say("hello"), Completed, EndTurn)
	}
	if _, running := free.Interrupt(""); running != "" {
		t.Errorf("%s runs", running)
	}
	if stuck.Info().State != Running {
		t.Errorf("the other one is %s", stuck.Info().State)
	}
	stuck.Interrupt("")
	must(t, stuck.ended(), Interrupted, Stopped)
}

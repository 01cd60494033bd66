package agent

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	mock "shiro/agent/provider/providertest"
)

// randomAnswer is what a model may say, from a few words to a step of many
// calls, and sometimes a failure.
func randomAnswer(r *rand.Rand) mock.Step {
	if r.IntN(12) == 0 {
		return fast(503)
	}
	parts := []mock.Step{mock.Reasoning(strings.Repeat("hm 渐 ", r.IntN(6))).Chunk(1 + r.IntN(8)).Rate(float64(500 + r.IntN(20_000)))}
	for range r.IntN(3) {
		parts = append(parts, mock.Text(strings.Repeat("text 🙂 ", 1+r.IntN(10))))
	}
	for range max(r.IntN(6)-1, 0) {
		parts = append(parts, []mock.Step{
			mock.Call("list_dir", nil), mock.Call("read_file", args{"path": "a.txt"}), mock.Call("bash", args{"command": "echo some output"}),
			mock.Call("bash", args{"command": "mkdir -p x"}), mock.Call("bash", args{"command": "mkdir -p y"}),
			mock.Call("edit_file", args{"path": "a.txt", "oldString": "line 2", "newString": "line two"}), mock.Call("write_file", args{"path": ".env", "content": "x"}),
			mock.Call("nothing", nil), mock.Call("read_file", `{"path`),
			mock.Call("todo_write", args{"todos": []any{args{"content": "task", "status": "in_progress"}}}),
		}[r.IntN(10)])
	}
	step := mock.Reply(parts...)
	switch r.IntN(24) {
	case 0:
		return step.Silence(r.IntN(10))
	case 1:
		return step.Cut(r.IntN(10))
	}
	return step
}

// Whenever a client attaches, in the middle of whatever happens, its snapshot
// and the events after it make the same as the history in the end, and as what
// the others saw. See talk.look, which judges every listener.
func TestAttachAtRandomMoments(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for seed := range uint64(24) {
		wg.Go(func() { randomConversation(t, seed) })
	}
	wg.Wait()
}

func randomConversation(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 4))
	var mu sync.Mutex // guards answers, which draw on their own numbers
	answers := rand.New(rand.NewPCG(seed, 5))
	api := []string{mock.Responses, mock.Chat}[seed%2]
	w := newWorldOn(t, api, mock.Options{Fallback: mock.Func(func(mock.Request) mock.Step {
		mu.Lock()
		defer mu.Unlock()
		return randomAnswer(answers)
	})})
	w.rules(allow("bash", "echo *"), deny("write_file", "*.env"))
	w.setup.MaxSteps = 4
	w.setup.MaxRetries = 2
	w.write("a.txt", lines(9))
	c := w.create()
	turns := 0
	for range 40 {
		pause(r)
		switch r.IntN(8) {
		case 0, 1:
			if _, _, err := c.Start(Prompt{Text: fmt.Sprint("prompt ", turns), Queue: true}); err == nil {
				turns++
			}
		case 2, 3:
			w.listen(c.Session)
		case 4, 5, 6:
			if open := c.Approvals(); len(open) > 0 {
				a := open[r.IntN(len(open))]
				c.Respond(a.ID, Answer{Option: a.Options[r.IntN(len(a.Options))].ID}) // may come too late
			}
		case 7:
			if r.IntN(3) == 0 {
				discarded, _ := c.Interrupt("")
				turns -= len(discarded)
			}
		}
	}
	c.Interrupt("")
	deadline := time.Now().Add(patience)
	for c.Info().State != Idle {
		if time.Now().After(deadline) {
			t.Errorf("seed %d: the conversation stays %s:\n%s", seed, c.Info().State, describe(c.all()))
			return
		}
		c.Interrupt("")
		time.Sleep(time.Millisecond)
	}
	// Those who listened to the end know what is true now.
	w.mu.Lock()
	talks := slices.Clone(w.talks)
	w.mu.Unlock()
	for _, talk := range talks {
		talk.detach()
		talk.drained()
	}
}

func pause(r *rand.Rand) {
	if r.IntN(2) == 0 {
		yield(r.IntN(100))
		return
	}
	time.Sleep(time.Duration(r.IntN(4000)) * time.Microsecond)
}

// With the epoch and the number of the last event, a client gets what came
// after; else a snapshot, and is told why.
func TestReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Call("list_dir", nil), mock.Say("one"))
	c := w.create()
	c.say("go")
	next(c, func(d SessionUpdated) bool { return d.Info.State == Idle })
	durable := slices.DeleteFunc(c.all(), func(e Event) bool { return e.Seq == 0 })
	epoch, newest := c.first.Epoch, uint64(len(durable))
	for after := range newest + 1 {
		a, detach := c.Attach(epoch, after, 10)
		detach()
		if diff := cmp.Diff(describe(durable[after:]), describe(a.Replay)); diff != "" || a.Snapshot != nil || a.Reason != "" || a.Seq != newest || a.Epoch != epoch {
			t.Errorf("after %d: %q, %d:\n%s", after, a.Reason, a.Seq, diff)
		}
	}
	for name, c2 := range map[string]struct {
		epoch  string
		after  uint64
		reason string
	}{"no epoch": {"", 3, "fresh"}, "another process": {"other", 3, "epoch"}, "a number to come": {epoch, newest + 1, "epoch"}} {
		a, detach := c.Attach(c2.epoch, c2.after, 10)
		detach()
		if a.Reason != c2.reason || a.Snapshot == nil || a.Replay != nil {
			t.Errorf("%s: %+v", name, a)
		}
	}
	for range keptEvents {
		c.publish("", Notice{})
	}
	for _, after := range []uint64{0, newest, newest + 1} {
		if a, detach := c.Attach(epoch, after, 10); a.Reason != "cursor_expired" && after < newest {
			t.Errorf("after %d of long ago: %q", after, a.Reason)
		} else {
			detach()
		}
	}
	a, detach := c.Attach(epoch, newest+keptEvents/2+1, 10)
	detach()
	if a.Reason != "" || len(a.Replay) != keptEvents/2-1 || a.Replay[0].Seq != newest+keptEvents/2+2 {
		t.Errorf("of late: %q, %d events", a.Reason, len(a.Replay))
	}
}

// A client that attaches while a command prints gets the newest of the output,
// whole characters, and then what follows without a gap.
func TestAttachToLongOutput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ask("bash", "A", args{"command": "for i in $(seq 12000); do echo 渐渐渐渐; done; echo last; while [ ! -e go ]; do sleep 0.01; done; echo more"}))
	w.rules(allow("bash", "*"))
	c := w.create()
	c.start(Prompt{Text: "go"})
	printed := ""
	next(c, func(d ItemDelta) bool { printed += d.Text; return strings.HasSuffix(printed, "last\n") })
	late := w.listen(c.Session)
	live := late.first.Snapshot.Live
	i := slices.IndexFunc(live, func(l LiveText) bool { return l.Channel == "stdout" })
	if i < 0 {
		t.Fatalf("live texts %d", len(live))
	}
	if l := live[i]; len(l.Text) >= l.To || len(l.Text) < keptOutput || len(l.Text) > 2*keptOutput || !utf8.ValidString(l.Text) || !strings.HasSuffix(l.Text, "last\n") {
		t.Errorf("%d bytes of %d, valid is %v", len(l.Text), l.To, utf8.ValidString(l.Text))
	}
	if _, texts, ok := c.Item(live[i].Item); !ok || len(texts) != 2 || texts[1].To != live[i].To {
		t.Errorf("the item has %d texts", len(texts))
	}
	w.write("go", "")
	if d := next(late, func(d ItemDelta) bool { return d.Channel == "stdout" }); d.From != live[i].To || !strings.HasPrefix("more\n", d.Text) {
		t.Errorf("goes on at %d after %d: %q", d.From, live[i].To, d.Text)
	}
	must(t, late.ended(), Completed, EndTurn)
}

// The history comes in pages of any size, newest first, and each item by itself.
func TestHistoryPages(t *testing.T) {
	t.Parallel()
	w := mixedWorld(t, mock.Responses)
	c := w.create()
	for _, kinds := range []string{"FQD", "QX", "TFT"} {
		c.start(Prompt{Text: kinds})
		if strings.Contains(kinds, "Q") {
			c.answer(c.asked(), "once")
		}
		must(t, c.ended(), Completed, EndTurn)
	}
	all, older, err := c.History("", 1000)
	if err != nil || older || len(all) != 14 {
		t.Fatalf("%d items, %v, %v", len(all), older, err)
	}
	for limit := 1; limit <= len(all)+1; limit++ {
		var got []Item
		before := ""
		for pages := 0; ; pages++ {
			page, older, err := c.History(before, limit)
			if err != nil || len(page) > limit || pages > len(all) {
				t.Fatalf("page of %d: %d items, %v", limit, len(page), err)
			}
			got = append(slices.Clone(page), got...)
			if !older {
				break
			}
			before = page[0].ID
		}
		if diff := cmp.Diff(all, got); diff != "" {
			t.Errorf("pages of %d (-all +pages):\n%s", limit, diff)
		}
	}
	for _, it := range all {
		if got, live, ok := c.Item(it.ID); !ok || live != nil || cmp.Diff(it, got) != "" {
			t.Errorf("item %s is %+v", it.ID, got)
		}
	}
	if _, _, err := c.History("itm_99_0", 5); err == nil {
		t.Error("an unknown item has a history")
	}
	if _, _, ok := c.Item("itm_99_0"); ok {
		t.Error("an unknown item is there")
	}
	w.reopen()
	again := w.open(c.ID)
	after, _, err := again.History("", 1000)
	if diff := cmp.Diff(all, after); diff != "" || err != nil {
		t.Errorf("after the restart the history differs (-before +after), %v:\n%s", err, diff)
	}
}

// A conversation's own notices come once, to the first who attaches.
func TestGreeting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.setup.Notices = []Notice{{Level: "warning", Title: "one", Key: "1"}, {Level: "info", Title: "two", Key: "2"}}
	s, err := w.agent.Create(t.Context(), w.dir, "")
	if err != nil {
		t.Fatal(err)
	}
	first, second := w.listen(s), w.listen(s)
	for _, want := range w.setup.Notices {
		if got := next[Notice](first); got != want {
			t.Errorf("notice %+v", got)
		}
	}
	must(t, second.say("go"), Completed, EndTurn)
	if n := count[Notice](second.all()); n != 0 {
		t.Errorf("the second one got %d", n)
	}
}

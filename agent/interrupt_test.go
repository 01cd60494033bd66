package agent

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	mock "shiro/agent/provider/providertest"
	"shiro/agent/tool"
	"shiro/memory/transcript"
)

const minute = time.Minute // much longer than any test

// A phase is a moment of a turn: a script and rules that lead to it, and what
// to wait for until it has come.
type phase struct {
	name   string
	script []mock.Step
	set    func(t *testing.T, w *world) (reached func(*talk))
	kept   string // the end of the record afterwards, see shape
	wire   string // what the next request tells the model about it
}

// ask is a call of the model.
func ask(name, id string, in any) mock.Step { return mock.Call(name, in).ID(id) }

func atRequest(n int) func(*testing.T, *world) func(*talk) {
	return func(_ *testing.T, w *world) func(*talk) {
		return func(*talk) { w.requests(n) }
	}
}

// atDelta waits until something of a channel has streamed.
func atDelta(channel string) func(*testing.T, *world) func(*talk) {
	return func(*testing.T, *world) func(*talk) {
		return func(c *talk) { next(c, func(d ItemDelta) bool { return d.Channel == channel }) }
	}
}

// atGates offers the tools "hold", which only waits, and "change", which waits
// and is said to change something, and waits until n of them wait.
func atGates(n int) func(*testing.T, *world) func(*talk) {
	return func(t *testing.T, w *world) func(*talk) {
		g := newGate()
		w.with(g.tool("hold", false), g.tool("change", true))
		w.rules(allow("hold", "*"), allow("change", "*"))
		return func(*talk) {
			for range n {
				g.wait(t)
			}
		}
	}
}

func atApprovals(n int) func(*testing.T, *world) func(*talk) {
	return func(*testing.T, *world) func(*talk) {
		return func(c *talk) {
			for range n {
				c.asked()
			}
		}
	}
}

func phases() []phase {
	return []phase{
		{name: "before the first byte", script: []mock.Step{mock.Say("late").Delay(minute)}, set: atRequest(1), kept: "user \"go\"\n"},
		{name: "before the first delta", script: []mock.Step{mock.Say("late").Silence(0)}, set: atRequest(1), kept: "user \"go\"\n"},
		{
			name: "in the text", script: []mock.Step{mock.Text("the beginning of it").Chunk(4).Silence(3)}, set: atDelta("text"),
			kept: "assistant \"the beginnin\"\n", wire: "the beginnin",
		},
		{name: "in a thought", script: []mock.Step{mock.Reply(mock.Reasoning("let me think").Chunk(4).Silence(2))}, set: atDelta("reasoning"), kept: "user \"go\"\n"},
		{
			name: "in the text after a thought", script: []mock.Step{mock.Reply(mock.Reasoning("hm").Chunk(4).Silence(3), mock.Text("text so far"))},
			set: atDelta("text"), kept: "assistant \"text so \"\n", wire: "text so ",
		},
		{
			name: "in arguments", script: []mock.Step{ask("bash", "A", args{"command": "touch never"}).Chunk(4).Silence(2)},
			set: atDelta("args"), kept: "user \"go\"\n",
		},
		{
			name: "in arguments after text", script: []mock.Step{mock.Reply(mock.Text("Now.").Chunk(4).Silence(3), ask("bash", "A", args{"command": "touch never"}))},
			set: atDelta("args"), kept: "assistant \"Now.\"\n", wire: "Now.",
		},
		{
			name: "between two steps", script: []mock.Step{ask("list_dir", "A", nil), mock.Say("late").Delay(minute)}, set: atRequest(2),
			kept: "assistant call(A)\ntool text(A)\n",
		},
		{
			name: "while tools run together", script: []mock.Step{mock.Reply(ask("hold", "A", nil), ask("list_dir", "B", nil), ask("hold", "C", nil))},
			set: atGates(2), kept: "assistant call(A) call(B) call(C)\ntool error-text(A) text(B) error-text(C)\n", wire: "interrupted",
		},
		{
			name: "while the first of two changes runs", script: []mock.Step{mock.Reply(ask("change", "A", nil), ask("change", "B", nil))},
			set: atGates(1), kept: "assistant call(A) call(B)\ntool error-text(A) error-text(B)\n", wire: "before this call ran",
		},
		{
			name: "while a command runs", script: []mock.Step{ask("bash", "A", args{"command": "echo begun; sleep 60"})},
			set: func(_ *testing.T, w *world) func(*talk) {
				w.rules(allow("bash", "*"))
				return func(c *talk) { next(c, func(d ItemDelta) bool { return d.Channel == "stdout" }) }
			},
			kept: "assistant call(A)\ntool error-text(A)\n", wire: "begun",
		},
		{
			name: "while two are asked", script: []mock.Step{mock.Reply(ask("bash", "A", args{"command": "touch never"}), ask("bash", "B", args{"command": "touch never"}))},
			set:  atApprovals(2),
			kept: "assistant call(A) ask(A) call(B) ask(B)\ntool no(A) no(B)\ntool execution-denied(A) execution-denied(B)\n", wire: "did not run",
		},
		{
			name: "while one is asked before a change", script: []mock.Step{mock.Reply(ask("bash", "A", args{"command": "touch never"}), ask("list_dir", "B", nil), ask("change", "C", nil))},
			set: func(t *testing.T, w *world) func(*talk) {
				atGates(0)(t, w)
				return func(c *talk) { c.asked() }
			},
			kept: "assistant call(A) ask(A) call(B) call(C) ask(C)\ntool text(B)\ntool no(A) no(C)\ntool execution-denied(A) execution-denied(C)\n", wire: "did not run",
		},
		{
			name: "while an allowed one runs and another is asked", script: []mock.Step{mock.Reply(ask("change", "A", nil), ask("bash", "B", args{"command": "touch never"}))},
			set: func(t *testing.T, w *world) func(*talk) {
				reached := atGates(1)(t, w)
				w.rules()
				return func(c *talk) {
					c.answer(c.asked(), "once")
					reached(c)
				}
			},
			kept: "assistant call(A) ask(A) call(B) ask(B)\ntool yes(A) no(B)\ntool error-text(A) execution-denied(B)\n", wire: "effects are unknown",
		},
		{
			name: "in the wait for another attempt", script: []mock.Step{mock.Fail(429, "slow down", "Retry-After", "30")},
			set: func(*testing.T, *world) func(*talk) {
				return func(c *talk) { next[Retrying](c) }
			},
			kept: "user \"go\"\n",
		},
		{
			name: "in the wait after half an answer", script: []mock.Step{mock.Text("half an answer").Chunk(4).Reset(2)},
			set: func(*testing.T, *world) func(*talk) {
				return func(c *talk) { next[Retrying](c) }
			},
			kept: "user \"go\"\n",
		},
	}
}

// Whenever the user interrupts, the turn ends within a second and says so, what
// was said so far is kept, nothing comes after the end, and the conversation
// goes on with the next prompt.
func TestInterruptInEveryPhase(t *testing.T) {
	t.Parallel()
	for _, api := range []string{mock.Responses, mock.Chat} {
		for _, p := range phases() {
			t.Run(api+"/"+p.name, func(t *testing.T) {
				t.Parallel()
				w := newWorldOn(t, api, mock.Options{Script: p.script})
				reached := p.set(t, w)
				c := w.create()
				turn, _ := c.start(Prompt{Text: "go"})
				reached(c)
				begun := time.Now()
				if _, running := c.Interrupt(turn); running != turn {
					t.Fatalf("interrupted %q", running)
				}
				c.Interrupt("") // twice is once
				must(t, c.ended(), Interrupted, Stopped)
				if d := time.Since(begun); d > time.Second {
					t.Errorf("it took %v", d)
				}
				if _, running := c.Interrupt(turn); running != "" {
					t.Errorf("after the end %q runs", running)
				}
				got := shape(w.store.record(c.ID).Messages)
				if want := strings.TrimPrefix("user \"go\"\n"+p.kept, "user \"go\"\nuser"); got != want && got != "user"+want {
					t.Errorf("record\n%swant\n%s", got, want)
				}
				c.aliveAfter()
				all := w.requests(2)
				if body := string(all[len(all)-1].Body); !strings.Contains(body, p.wire) {
					t.Errorf("the model is not told %q: %s", p.wire, body)
				}
				if w.exists("never") {
					t.Error("a call ran that was not allowed")
				}
			})
		}
	}
}

// An edit is interrupted in the middle of its commit: if it was made, the model
// is told so, if not, that it is not known.
func TestInterruptDuringCommit(t *testing.T) {
	t.Parallel()
	for name, asked := range map[string]bool{"asked": true, "allowed by a rule": false} {
		for _, finishes := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", made", false: ", given up"}[finishes], func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, ask("edit_file", "A", args{"path": "a.txt", "oldString": "old", "newString": "new"}))
				w.write("a.txt", "old\n")
				if !asked {
					w.rules(allow("edit_file", "*"))
				}
				began, release := make(chan struct{}), make(chan struct{})
				commit := w.setup.Commit
				w.setup.Commit = func(ctx context.Context, e *tool.Edit) error {
					close(began)
					<-release
					if !finishes {
						return ctx.Err()
					}
					return commit(context.WithoutCancel(ctx), e)
				}
				c := w.create()
				c.start(Prompt{Text: "go"})
				if asked {
					c.answer(c.asked(), "once")
				}
				<-began
				c.Interrupt("")
				close(release)
				end := c.ended()
				must(t, end, Interrupted, Stopped)
				want, out, changed := "old\n", transcript.OutputErrorText, 0
				if finishes {
					want, out, changed = "new\n", transcript.OutputText, 1
				}
				if got := w.read("a.txt"); got != want {
					t.Errorf("file %q, want %q", got, want)
				}
				messages := w.store.record(c.ID).Messages
				last := messages[len(messages)-1].Parts
				if r := last[len(last)-1]; r.Output.Type != out {
					t.Errorf("result %+v", r.Output)
				}
				if len(end.Changed) != changed {
					t.Errorf("changed files %v", end.Changed)
				}
				c.aliveAfter()
			})
		}
	}
}

// An answer and an interrupt meet: either the call ran and its result says so,
// or it did not; never both.
func TestInterruptMeetsAnswer(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t, mock.Responses, mock.Options{Fallback: mock.Func(func(r mock.Request) mock.Step {
		items := r.Items()
		if items[len(items)-1].Text == "carry on" || items[len(items)-1].Kind == "result" {
			return mock.Say("done")
		}
		return ask("note", "A", nil)
	})})
	ran := make(chan struct{}, 1)
	w.with(tool.Tool{
		Name: "note", Description: "Notes.", Schema: []byte(`{"type":"object"}`), Mutates: true, Describe: newGate().tool("note", true).Describe,
		Run: func(context.Context, tool.Call) (string, error) {
			ran <- struct{}{}
			return "noted", nil
		},
	})
	outcomes := make(map[string]int)
	for n := range 75 {
		c := w.create()
		c.start(Prompt{Text: "go"})
		a := c.asked()
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.Respond(a.ID, Answer{Option: "once"}) // may come too late
		}()
		yield(n % 15)
		c.Interrupt("")
		<-done
		end := c.ended()
		did := len(ran) > 0
		if end.Status != Interrupted && !did {
			t.Errorf("the turn ended %s, and nothing ran", end.Status)
		}
		if did {
			<-ran
		}
		got := shape(w.store.record(c.ID).Messages)
		_, got, _ = strings.Cut(got, "ask(A)\n")
		got = strings.TrimSuffix(got, "assistant \"done\"\n")
		outcomes[got]++
		switch {
		case did && got != "tool yes(A)\ntool text(A)\n",
			!did && !slices.Contains([]string{"tool no(A)\ntool execution-denied(A)\n", "tool yes(A)\ntool error-text(A)\n"}, got):
			t.Errorf("ran is %v, record\n%s", did, got)
		}
		c.aliveAfter()
	}
	t.Logf("outcomes: %v", outcomes)
}

// Nothing is said about a turn after its end, and after the end of the
// conversation nothing at all; see the checks of every world. Here a command
// goes on printing while it is killed.
func TestNoOutputAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ask("bash", "A", args{"command": "trap '' TERM INT; while :; do echo line; done"}))
	w.rules(allow("bash", "*"))
	c := w.create()
	c.start(Prompt{Text: "go"})
	next(c, func(d ItemDelta) bool { return d.Channel == "stdout" })
	c.Interrupt("")
	must(t, c.ended(), Interrupted, Stopped)
	c.aliveAfter()
}

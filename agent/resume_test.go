package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mock "shiro/agent/provider/providertest"
)

const storedSession = "01a22c70-28ed-719f-8f8d-f108fbe0c45e"

// approvals waits until n approvals are open, and returns them in order.
func (c *talk) approvals(n int) []*Approval {
	c.w.t.Helper()
	for len(c.Approvals()) < n {
		c.asked()
	}
	return c.Approvals()
}

// A conversation that the terminal tool left while it asked is opened: the open
// calls, and only they, are asked again, and whatever the answer, the record
// and the next request are whole.
func TestResumeOfEachCut(t *testing.T) {
	t.Parallel()
	raw, _ := fixture(t, "mixed-approvals.json")
	const head = "user \"go\"\nassistant call(A) ask(A) call(B) call(C) ask(C) call(D)\n"
	for cut, c := range map[int]struct {
		asked  int
		before string // the record up to the answers
	}{
		1: {0, "user \"go\"\n"},
		3: {2, head + "tool text(B) error-text(D)\n"},
		4: {0, head + "tool text(B) error-text(D)\ntool yes(A) no(C)\ntool error-text(A) execution-denied(C)\n"},
		5: {0, head + "tool text(B) error-text(D)\ntool yes(A) no(C)\ntool text(A) execution-denied(C)\n"},
		6: {0, head + "tool text(B) error-text(D)\ntool yes(A) no(C)\ntool text(A) execution-denied(C)\nassistant \"ok\"\n"},
	} {
		for action, answers := range map[string]string{
			"allow": "tool yes(A) yes(C)\ntool text(A) text(C)\n", "deny": "tool no(A) no(C)\ntool execution-denied(A) execution-denied(C)\n",
			"interrupt": "tool no(A) no(C)\ntool execution-denied(A) execution-denied(C)\n",
		} {
			t.Run(fmt.Sprintf("%d %s", cut, action), func(t *testing.T) {
				w := newWorld(t)
				w.store.put(storedSession, w.dir, raw[:cut]...)
				talk := w.open(storedSession)
				want := c.before
				if c.asked > 0 {
					open := talk.approvals(c.asked)
					if len(w.model.Requests()) > 0 {
						t.Error("the model was asked before the user")
					}
					for _, a := range open {
						switch action {
						case "allow":
							talk.answer(a, "once")
						case "deny":
							talk.answer(a, "no")
						}
					}
					want += answers
					if action == "interrupt" {
						talk.Interrupt("")
						must(t, talk.ended(), Interrupted, Stopped)
					} else {
						must(t, talk.ended(), Completed, EndTurn)
						want += "assistant \"done\"\n"
					}
				}
				talk.aliveAfter()
				want += "user \"carry on\"\nassistant \"done\"\n"
				if got := shape(w.store.record(storedSession).Messages); got != want {
					t.Errorf("record\n%swant\n%s", got, want)
				}
			})
		}
	}
}

// A record may end in a response of which more than the asked calls have no
// result: a kill left it so. After the answers every call has one.
func TestResumeAnswersEveryCall(t *testing.T) {
	t.Parallel()
	raw, _ := fixture(t, "mixed-approvals.json")
	for _, option := range []string{"once", "no"} {
		w := newWorld(t)
		w.store.put(storedSession, w.dir, raw[:2]...)
		c := w.open(storedSession)
		for _, a := range c.approvals(2) {
			c.answer(a, option)
		}
		must(t, c.ended(), Completed, EndTurn)
		c.aliveAfter()
	}
}

// The stored bytes of what others wrote stay as they are, and the approval
// keeps its id.
func TestResumeKeepsIds(t *testing.T) {
	t.Parallel()
	raw, _ := fixture(t, "mixed-approvals.json")
	w := newWorld(t)
	w.store.put(storedSession, w.dir, raw[:3]...)
	c := w.open(storedSession)
	open := c.approvals(2)
	if open[0].ID != "apr_WMz7I9TVjdOLBGgmtIwFk1Sa" || open[1].ID != "apr_zEwrwQYvrF9q1VchmkyglWcT" {
		t.Errorf("approvals %s, %s", open[0].ID, open[1].ID)
	}
	if open[0].Command != "one" || open[1].Command != "two" || open[0].Kind != "command" {
		t.Errorf("asked about %q, %q", open[0].Command, open[1].Command)
	}
	for _, a := range open {
		c.answer(a, "no")
	}
	c.ended()
	for i, m := range w.store.record(storedSession).Messages[:3] {
		var want, got any
		if err := errors.Join(json.Unmarshal(raw[i], &want), json.Unmarshal(first(m.MarshalJSON()), &got)); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(want) != fmt.Sprint(got) {
			t.Errorf("message %d is now %v", i, got)
		}
	}
	m := w.store.record(storedSession).Messages[3]
	if p := m.Parts[0]; p.ApprovalID != "aitxt-WMz7I9TVjdOLBGgmtIwFk1Sa" || p.Approved || p.Reason != deniedByUser {
		t.Errorf("response %+v", p)
	}
}

func first[T any](v T, _ error) T { return v }

// A prompt that comes while old approvals wait is refused or queued, and runs
// after them.
func TestPromptWhileOldApprovalsWait(t *testing.T) {
	t.Parallel()
	raw, _ := fixture(t, "mixed-approvals.json")
	w := newWorld(t)
	w.store.put(storedSession, w.dir, raw[:3]...)
	c := w.open(storedSession)
	open := c.approvals(2)
	if _, _, err := c.Start(Prompt{Text: "now"}); !errors.Is(err, ErrBusy) {
		t.Errorf("a prompt: %v", err)
	}
	c.start(Prompt{Text: "next", Queue: true})
	if s := c.Info().State; s != Waiting {
		t.Errorf("the conversation is %s", s)
	}
	for _, a := range open {
		c.answer(a, "once")
	}
	must(t, c.ended(), Completed, EndTurn)
	must(t, c.ended(), Completed, EndTurn)
	all := w.requests(2)
	if got := prompts(all[1]); len(all) != 2 || !slices.Equal(got, []string{"go", "next"}) {
		t.Errorf("%d requests, the last asks %q", len(all), got)
	}
}

// Calls that were open and may run by today's rules are asked all the same;
// what today's rules deny is refused; a tool that is gone is an error.
func TestResumeUnderOtherRules(t *testing.T) {
	t.Parallel()
	raw, _ := fixture(t, "mixed-approvals.json")
	t.Run("allowed", func(t *testing.T) {
		w := newWorld(t)
		w.rules(allow("bash", "*"))
		w.store.put(storedSession, w.dir, raw[:3]...)
		c := w.open(storedSession)
		for _, a := range c.approvals(2) {
			c.answer(a, "no")
		}
		must(t, c.ended(), Completed, EndTurn)
	})
	t.Run("denied", func(t *testing.T) {
		w := newWorld(t)
		w.rules(deny("bash", "one"), allow("bash", "two"))
		w.store.put(storedSession, w.dir, raw[:3]...)
		c := w.open(storedSession)
		c.answer(c.approvals(1)[0], "once")
		w.requests(1)
		c.aliveWhenIdle()
		if got := shape(w.store.record(storedSession).Messages[3:5]); got != "tool no() yes()\ntool execution-denied(A) text(C)\n" {
			t.Errorf("record\n%s", got)
		}
	})
	t.Run("no such tool", func(t *testing.T) {
		w := newWorld(t)
		real := w.setup.Tools
		w.setup.Tools = without(real, "bash")
		w.store.put(storedSession, w.dir, raw[:3]...)
		c := w.open(storedSession)
		w.requests(1)
		c.aliveWhenIdle()
	})
}

// The editor closes while it asks. Silence is neither yes nor no: the record
// holds no answer that nobody gave, and whoever opens the conversation next is
// asked the same.
func TestClosingIsNoAnswer(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*world, *talk){
		"the editor goes":            func(w *world, _ *talk) { w.reopen() },
		"the conversation is closed": func(w *world, c *talk) { w.agent.Release(c.ID) },
	} {
		for _, option := range []string{"once", "no"} {
			t.Run(name+" "+option, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, mock.Reply(ask("list_dir", "F", nil), ask("bash", "A", args{"command": "touch a"}), ask("bash", "B", args{"command": "touch b"})))
				c := w.create()
				c.start(Prompt{Text: "go"})
				before := []*Approval{c.asked(), c.asked()}
				end(w, c)
				const open = "user \"go\"\nassistant call(F) call(A) ask(A) call(B) ask(B)\ntool text(F)\n"
				if got := shape(w.store.record(c.ID).Messages); got != open {
					t.Fatalf("record\n%swant\n%s", got, open)
				}
				c = w.open(c.ID)
				after := c.approvals(2)
				for i, a := range after {
					if a.ID != before[i].ID || a.Command != before[i].Command {
						t.Errorf("asked %s %q, before %s %q", a.ID, a.Command, before[i].ID, before[i].Command)
					}
					c.answer(a, option)
				}
				must(t, c.ended(), Completed, EndTurn)
				if ran := option == "once"; w.exists("a") != ran || w.exists("b") != ran {
					t.Errorf("ran: %v, %v", w.exists("a"), w.exists("b"))
				}
				c.aliveAfter()
			})
		}
	}
}

// Of two calls one is answered and has run when the editor closes: its result
// stays, and only the other one is asked again.
func TestClosingBetweenTwoAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Reply(ask("bash", "A", args{"command": "echo ran >>a"}), ask("bash", "B", args{"command": "touch b"})))
	c := w.create()
	c.start(Prompt{Text: "go"})
	a := c.asked()
	c.asked()
	c.answer(a, "once")
	next(c, func(d ItemCompleted) bool { return d.Item.CallID == "A" })
	w.reopen()
	c = w.open(c.ID)
	open := c.approvals(1)
	if len(open) != 1 || open[0].Command != "touch b" {
		t.Errorf("%d are asked, first %q", len(open), open[0].Command)
	}
	c.answer(open[0], "once")
	must(t, c.ended(), Completed, EndTurn)
	if got := w.read("a"); got != "ran\n" {
		t.Errorf("the answered call ran as %q", got)
	}
	c.aliveAfter()
}

// The terminal tool stores a prompt behind a call that was never answered, and
// then fails on every further one. We go on, and leave a record with which it
// can go on too.
func TestBrokenRecordIsMended(t *testing.T) {
	t.Parallel()
	raw, _ := fixture(t, "mixed-approvals.json")
	user := json.RawMessage(`{"role":"user","content":"again"}`)
	answer := json.RawMessage(`{"role":"assistant","content":[{"type":"text","text":"hm"}]}`)
	other := json.RawMessage(strings.NewReplacer(`"A"`, `"A2"`, `"B"`, `"B2"`, `"C"`, `"C2"`, `"D"`, `"D2"`).Replace(string(raw[1])))
	for name, messages := range map[string][]json.RawMessage{
		"a prompt behind open calls":         {raw[0], raw[1], raw[2], user},
		"a prompt behind unanswered calls":   {raw[0], raw[1], user},
		"two prompts behind them":            {raw[0], raw[1], raw[2], user, user},
		"an answer behind them":              {raw[0], raw[1], raw[2], user, answer},
		"open calls twice":                   {raw[0], raw[1], raw[2], user, other},
		"an answered call without a result":  raw[:4],
		"unanswered, and nothing was asked ": {raw[0], json.RawMessage(`{"role":"assistant","content":[{"type":"tool-call","toolCallId":"A","toolName":"list_dir","input":{}}]}`)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.store.put(storedSession, w.dir, messages...)
			c := w.open(storedSession)
			c.Interrupt("") // of approvals, where the tail is open
			c.aliveWhenIdle()
			rec := w.store.record(storedSession)
			if faults := recordFaults(rec.Messages); len(faults) > 0 {
				t.Errorf("record %q\n%s", faults, shape(rec.Messages))
			}
			w.reopen()
			w.open(storedSession).aliveAfter()
		})
	}
}

// Some servers number the calls of each response anew, and the terminal tool
// stores that. A server that wants an id once takes the conversation all the
// same, each result under its own call.
func TestStoredCallIdsThatRepeat(t *testing.T) {
	t.Parallel()
	for _, api := range []string{mock.Responses, mock.Chat} {
		w := newWorldOn(t, api, mock.Options{})
		w.broken = true // what is stored stays so; only what is sent is mended
		var messages []json.RawMessage
		for _, name := range []string{"one", "two"} {
			messages = append(messages, json.RawMessage(`{"role":"user","content":"`+name+`"}`),
				json.RawMessage(`{"role":"assistant","content":[{"type":"tool-call","toolCallId":"call_0","toolName":"read_file","input":{"path":"`+name+`"}}]}`),
				json.RawMessage(`{"role":"tool","content":[{"type":"tool-result","toolCallId":"call_0","toolName":"read_file","output":{"type":"text","value":"text of `+name+`"}}]}`),
				json.RawMessage(`{"role":"assistant","content":[{"type":"text","text":"ok"}]}`))
		}
		w.store.put(storedSession, w.dir, messages...)
		c := w.open(storedSession)
		end := c.say("carry on")
		w.store.mu.Lock()
		clear(w.store.saves)
		clear(w.store.logs)
		w.store.mu.Unlock()
		if end.Status != Completed {
			t.Errorf("%s: the turn ended %s: %v", api, end.Status, end.Failure)
			continue
		}
		got := slices.DeleteFunc(w.requests(1)[0].Items(), func(it mock.Item) bool { return it.Kind != "result" })
		if len(got) != 2 || got[0].Text != "text of one" || got[1].Text != "text of two" || got[0].CallID == got[1].CallID {
			t.Errorf("%s: results %+v", api, got)
		}
	}
}

// aliveWhenIdle waits for the end of a turn that may run, then proves that the
// conversation can go on.
func (c *talk) aliveWhenIdle() {
	c.w.t.Helper()
	deadline := time.Now().Add(patience)
	for c.Info().State != Idle {
		if time.Now().After(deadline) {
			c.w.t.Fatalf("the conversation stays %s:\n%s", c.Info().State, describe(c.all()))
		}
		time.Sleep(time.Millisecond)
	}
	c.Session.mu.Lock()
	newest := c.seq
	c.Session.mu.Unlock()
	if newest > c.first.Seq {
		c.listener.mu.Lock()
		c.at = 0
		c.listener.mu.Unlock()
		c.find("newest event", func(e Event) bool { return e.Seq == newest })
	}
	c.aliveAfter()
}

// Several clients open a suspended conversation at once and begin to type: one
// turn runs at a time.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	raw, _ := fixture(t, "mixed-approvals.json")
	for range 60 {
		w := newWorld(t)
		w.store.put(storedSession, w.dir, raw[:3]...)
		var wg sync.WaitGroup
		var mu sync.Mutex
		sessions := make(map[*Session]bool)
		for i := range 6 {
			wg.Go(func() {
				s := w.agent.Session(storedSession)
				for n := 0; s == nil && i > 0 && n < 1e6; n++ {
					s = w.agent.Session(storedSession)
				}
				if s == nil {
					var err error
					if s, err = w.agent.Open(context.Background(), storedSession); err != nil {
						t.Error(err)
						return
					}
				}
				_, _, err := s.Start(Prompt{Text: fmt.Sprint("P", i), Queue: i%2 == 0})
				if err != nil && !errors.Is(err, ErrBusy) {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				sessions[s] = true
			})
		}
		wg.Wait()
		if len(sessions) != 1 {
			t.Fatalf("%d sessions", len(sessions))
		}
		for s := range sessions {
			s.Interrupt("")
			a, detach := s.Attach(s.epoch, 0, 0)
			stored := &Snapshot{Items: []Item{{ID: "itm_1_0", Status: Pending}, {ID: "itm_1_2", Status: Pending}}}
			for _, fault := range orderFaults(Attachment{Snapshot: stored}, a.Replay) {
				t.Error(fault)
			}
			detach()
		}
	}
}

// A record that holds nothing to resume, or is odd, opens all the same.
func TestOddRecords(t *testing.T) {
	t.Parallel()
	for name, messages := range map[string][]json.RawMessage{
		"nothing":              {},
		"an answer first":      {json.RawMessage(`{"role":"assistant","content":"hello"}`)},
		"a tool message first": {json.RawMessage(`{"role":"tool","content":[]}`)},
		"a result of no call": {
			json.RawMessage(`{"role":"user","content":"q"}`), json.RawMessage(`{"role":"assistant","content":"hm"}`),
			json.RawMessage(`{"role":"tool","content":[{"type":"tool-result","toolCallId":"gone","toolName":"bash","output":{"type":"text","value":"x"}}]}`),
		},
		"an unknown part": {
			json.RawMessage(`{"role":"user","content":"q"}`),
			json.RawMessage(`{"role":"assistant","content":[{"type":"custom","kind":"x"},{"type":"text","text":"a"}]}`),
		},
		"an image": {json.RawMessage(`{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","image":"iVBORw0KGgo=","mediaType":"image/png"}]}`)},
		"a request without its call": {
			json.RawMessage(`{"role":"user","content":"q"}`),
			json.RawMessage(`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool-approval-request","approvalId":"x","toolCallId":"gone"}]}`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.store.put(storedSession, w.dir, messages...)
			s, err := w.agent.Open(context.Background(), storedSession)
			if err != nil {
				t.Fatal(err)
			}
			a, detach := s.Attach("", 0, 100)
			defer detach()
			if s.Info().State == Running {
				t.Error("something runs")
			}
			if _, _, err := s.Start(Prompt{Text: "carry on", Queue: true}); err != nil {
				t.Fatal(err)
			}
			for {
				e, err := a.Feed.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if end, ok := e.Data.(TurnCompleted); ok {
					must(t, end, Completed, EndTurn)
					break
				}
			}
			w.store.mu.Lock()
			clear(w.store.saves) // oddities of others stay
			clear(w.store.logs)
			w.store.mu.Unlock()
		})
	}
}

// By an id, by a beginning of it, and when there is none.
func TestOpenFinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.store.put(storedSession, w.dir, json.RawMessage(`{"role":"user","content":"q"}`))
	for _, id := range []string{storedSession, storedSession[:8]} {
		if s, err := w.agent.Open(t.Context(), id); err != nil || s.ID != storedSession {
			t.Errorf("%s: %v", id, err)
		}
	}
	if _, err := w.agent.Open(t.Context(), "ffff"); !errors.Is(err, ErrNotFound) {
		t.Errorf("none: %v", err)
	}
	if s, err := w.agent.Open(t.Context(), storedSession); err != nil || s != w.agent.Session(storedSession) {
		t.Errorf("twice: %v", err)
	}
	rec := w.agent.Session(storedSession).Info().Record
	if rec.InputTokens != 100 || rec.Model != "mock" || rec.Messages != nil {
		t.Errorf("record %+v", rec)
	}
}

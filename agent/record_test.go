package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	mock "shiro/agent/provider/providertest"
	"shiro/memory/transcript"
)

// mixedCall is one call of a step in which every kind of call occurs; its
// letter is its call id.
func mixedCall(kind rune) mock.Step {
	var s mock.Step
	switch kind {
	case 'F': // free: it only reads
		s = mock.Call("read_file", args{"path": "a.txt"})
	case 'W': // free, but it changes something
		s = mock.Call("bash", args{"command": "touch w"})
	case 'Q', 'R': // asked
		s = mock.Call("bash", args{"command": "mkdir " + strings.ToLower(string(kind))})
	case 'D': // denied by a rule
		s = mock.Call("write_file", args{"path": ".env", "content": "K=1"})
	case 'G': // denied by the guard
		s = mock.Call("bash", args{"command": "rm -rf build"})
	case 'X': // no such tool
		s = mock.Call("read_files", args{"path": "a.txt"})
	case 'M': // arguments that are no JSON
		s = mock.Call("read_file", `{"path":"a.t`)
	case 'V': // arguments that the tool does not take
		s = mock.Call("read_file", args{"nope": 1})
	case 'E': // an edit that cannot be made, so that nobody is asked
		s = mock.Call("edit_file", args{"path": "a.txt", "oldString": "absent", "newString": "x"})
	case 'T':
		return mock.Text("text between")
	}
	return s.ID(string(kind))
}

// mixedWorld has a model that answers the prompt "FQD" with those calls.
func mixedWorld(t *testing.T, api string) *world {
	w := newWorldOn(t, api, mock.Options{Fallback: mock.Func(func(r mock.Request) mock.Step {
		if items := r.Items(); items[len(items)-1].Kind == "result" {
			return mock.Say("done")
		}
		users := r.Users()
		var parts []mock.Step
		for _, kind := range users[len(users)-1] {
			parts = append(parts, mixedCall(kind))
		}
		return mock.Reply(parts...)
	})})
	w.rules(deny("write_file", "*.env"), allow("bash", "touch *"))
	w.write("a.txt", "text\n")
	return w
}

func permutations(s string) []string {
	if len(s) <= 1 {
		return []string{s}
	}
	var all []string
	for i := range s {
		for _, rest := range permutations(s[:i] + s[i+1:]) {
			all = append(all, s[i:i+1]+rest)
		}
	}
	return all
}

// mixedShape is the record of such a turn as the terminal tool would write it.
func mixedShape(kinds string, allowed bool) string {
	call, same, answers, late := "assistant", "tool", "tool", "tool"
	for _, k := range kinds {
		call += fmt.Sprintf(" call(%c)", k)
		switch k {
		case 'F':
			same += " text(F)"
		case 'D', 'G':
			call += fmt.Sprintf(" auto(%c)", k)
			same += fmt.Sprintf(" no(%c) execution-denied(%c)", k, k)
		case 'Q', 'R':
			call += fmt.Sprintf(" ask(%c)", k)
			if allowed {
				answers, late = answers+fmt.Sprintf(" yes(%c)", k), late+fmt.Sprintf(" text(%c)", k)
			} else {
				answers, late = answers+fmt.Sprintf(" no(%c)", k), late+fmt.Sprintf(" execution-denied(%c)", k)
			}
		default:
			same += fmt.Sprintf(" error-text(%c)", k)
		}
	}
	lines := []string{"user " + fmt.Sprintf("%q", kinds), call}
	for _, l := range []string{same, answers, late} {
		if l != "tool" {
			lines = append(lines, l)
		}
	}
	return strings.Join(append(lines, `assistant "done"`), "\n") + "\n"
}

// One response holds a call of each kind, in every order. The record has the
// shape that the terminal tool gives it, and each item its own end.
func TestMixedStepInEveryOrder(t *testing.T) {
	t.Parallel()
	w := mixedWorld(t, mock.Responses)
	want := map[rune]Status{'F': Completed, 'D': Declined, 'X': Failed, 'M': Failed, 'Q': Completed}
	for n, kinds := range permutations("FDXMQ") {
		c := w.create()
		allowed := n%2 == 0
		want['Q'] = Declined
		if allowed {
			want['Q'] = Completed
		}
		c.start(Prompt{Text: kinds})
		c.answer(c.asked(), map[bool]string{true: "once", false: "no"}[allowed])
		must(t, c.ended(), Completed, EndTurn)
		if got, want := shape(w.store.record(c.ID).Messages), mixedShape(kinds, allowed); got != want {
			t.Errorf("record\n%swant\n%s", got, want)
		}
		ends := make(map[string]Status)
		for _, e := range c.all() {
			if d, ok := e.Data.(ItemCompleted); ok && d.Item.Kind == ToolItem {
				ends[d.Item.CallID] = d.Item.Status
			}
		}
		for k, s := range want {
			if ends[string(k)] != s {
				t.Errorf("%s: item of %c ended %q, want %q", kinds, k, ends[string(k)], s)
			}
		}
		if err := w.agent.Release(c.ID); err != nil {
			t.Error(err)
		}
	}
}

// Further mixtures, on both wires.
func TestMixedStepShapes(t *testing.T) {
	t.Parallel()
	for _, api := range []string{mock.Responses, mock.Chat} {
		w := mixedWorld(t, api)
		for _, kinds := range []string{"Q", "QR", "F", "D", "G", "X", "M", "V", "E", "DG", "QG", "RQDF", "FVQXR", "EQF", "QE"} {
			c := w.create()
			c.start(Prompt{Text: kinds})
			asked := strings.Count(kinds, "Q") + strings.Count(kinds, "R")
			var open []*Approval
			for range asked {
				open = append(open, c.asked())
			}
			slices.Reverse(open) // the order of the answers is not that of the record
			for _, a := range open {
				c.answer(a, "once")
			}
			must(t, c.ended(), Completed, EndTurn)
			if got, want := shape(w.store.record(c.ID).Messages), mixedShape(kinds, true); got != want {
				t.Errorf("%s: record\n%swant\n%s", api, got, want)
			}
		}
	}
}

// A call that may run but changes something waits for the one before it that is
// asked. While it waits the record is whole, so that whoever opens it next can
// go on; a refusal before it keeps it from running.
func TestFreeCallWaitsForAnAskedOne(t *testing.T) {
	t.Parallel()
	for kinds, ran := range map[string]bool{"WQ": true, "QW": false, "QFWX": false, "EW": true, "EWQ": true} {
		t.Run(kinds, func(t *testing.T) {
			w := mixedWorld(t, mock.Responses)
			c := w.create()
			c.start(Prompt{Text: kinds})
			if strings.Contains(kinds, "Q") {
				a := c.asked()
				if w.exists("w") && !ran {
					t.Error("it ran before the answer")
				}
				c.answer(a, "no")
			}
			must(t, c.ended(), Completed, EndTurn)
			if w.exists("w") != ran || w.exists("q") {
				t.Errorf("w exists: %v, q exists: %v", w.exists("w"), w.exists("q"))
			}
			all := w.requests(2)
			if n := len(all[1].Results()); n != len(kinds) {
				t.Errorf("%d results for %d calls", n, len(kinds))
			}
			c.aliveAfter()
		})
	}
}

// What the provider said about a part stays with it; a result has it only when
// its call ran in the same step.
func TestProviderOptionsOfResults(t *testing.T) {
	t.Parallel()
	w := mixedWorld(t, mock.Responses)
	c := w.create()
	c.start(Prompt{Text: "FQD"})
	c.answer(c.asked(), "once")
	c.ended()
	options := make(map[string]string)
	for _, m := range w.store.record(c.ID).Messages {
		for _, p := range m.Parts {
			if p.Type == transcript.TypeToolCall || p.Type == transcript.TypeToolResult {
				options[p.Type+" "+p.ToolCallID] = string(p.ProviderOptions)
			}
		}
	}
	for _, id := range []string{"F", "D"} {
		if call := options["tool-call "+id]; call == "" || options["tool-result "+id] != call {
			t.Errorf("%s: call %s, result %s", id, call, options["tool-result "+id])
		}
	}
	if options["tool-call Q"] == "" || options["tool-result Q"] != "" {
		t.Errorf("Q: call %s, result %s", options["tool-call Q"], options["tool-result Q"])
	}
}

// Text, thought and calls of one response keep their order and their items.
func TestItemsOfAStep(t *testing.T) {
	t.Parallel()
	for _, api := range []string{mock.Responses, mock.Chat} {
		w := newWorldOn(t, api, mock.Options{Script: []mock.Step{
			mock.Reply(mock.Reasoning("hm"), mock.Text("Looking."), mixedCall('Q'), mixedCall('F')),
			mock.Reply(mock.Reasoning(""), mock.Text("Done.")),
		}})
		w.write("a.txt", "text\n")
		c := w.create()
		c.start(Prompt{Text: "go"})
		c.answer(c.asked(), "once")
		must(t, c.ended(), Completed, EndTurn)
		items, _, err := c.History("", 100)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, it := range items {
			got = append(got, fmt.Sprintf("%s %s%s %s", it.Kind, it.Text, it.CallID, it.Status))
		}
		want := []string{"user go completed", "reasoning hm completed", "text Looking. completed", "tool Q completed", "tool F completed", "text Done. completed"}
		if !slices.Equal(got, want) {
			t.Errorf("%s: items %q, want %q", api, got, want)
		}
	}
}

package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mock "shiro/agent/provider/providertest"
	"shiro/memory/transcript"
)

func shell(id, text string) mock.Step { return ask("bash", id, args{"command": text}) }

// Three calls are answered in every order, the second with no and a reason.
// Each result stands under its own call, in the order of the calls.
func TestAnswersInEveryOrder(t *testing.T) {
	t.Parallel()
	for _, order := range permutations("012") {
		w := newWorld(t, mock.Reply(shell("A", "echo one"), shell("B", "touch never"), shell("C", "echo three")))
		c := w.create()
		c.start(Prompt{Text: "go"})
		asked := []*Approval{c.asked(), c.asked(), c.asked()}
		for _, digit := range order {
			i := int(digit - '0')
			ans := Answer{Option: "once"}
			if i == 1 {
				ans = Answer{Option: "no", Feedback: "use tabs"}
			}
			if _, err := c.Respond(asked[i].ID, ans); err != nil {
				t.Fatal(err)
			}
		}
		must(t, c.ended(), Completed, EndTurn)
		got := shape(w.store.record(c.ID).Messages)
		// After a refusal the next call, asked and allowed by itself, runs: the user said so.
		want := "user \"go\"\nassistant call(A) ask(A) call(B) ask(B) call(C) ask(C)\ntool yes(A) no(B) yes(C)\ntool text(A) execution-denied(B) text(C)\nassistant \"done\"\n"
		if got != want {
			t.Errorf("%s: record\n%swant\n%s", order, got, want)
		}
		results := w.requests(2)[1].Results()
		for i, part := range []string{"one", "use tabs", "three"} {
			if results[i].CallID != string("ABC"[i]) || !strings.Contains(results[i].Text, part) {
				t.Errorf("%s: result %d is %+v", order, i, results[i])
			}
		}
		response := w.store.record(c.ID).Messages[2].Parts[1]
		if !strings.HasPrefix(response.Reason, deniedByUser) || !strings.Contains(response.Reason, "use tabs") {
			t.Errorf("%s: the reason is %q", order, response.Reason)
		}
		if w.exists("never") {
			t.Error("a refused call ran")
		}
	}
}

// The first valid answer counts. The same answer again has the same result,
// another one learns that it came late; what does not fit settles nothing.
func TestRespond(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Reply(shell("A", "echo one"), shell("B", "echo two")))
	c := w.create()
	c.start(Prompt{Text: "go"})
	a, b := c.asked(), c.asked()
	if _, err := c.Respond("apr_none", Answer{Option: "once"}); !errors.Is(err, ErrNoApproval) {
		t.Errorf("an unknown approval: %v", err)
	}
	for _, bad := range []Answer{
		{},
		{Option: "maybe"},
		{Option: "once", Hunks: map[string]bool{"hnk_1": true}},
		{Option: "once", HunkFeedback: map[string]string{"hnk_1": "x"}},
		{Option: "once", Edited: map[string]string{"/a": "x"}},
	} {
		if _, err := c.Respond(a.ID, bad); !errors.Is(err, ErrBadAnswer) {
			t.Errorf("answer %+v: %v", bad, err)
		}
	}
	if got := c.Approvals(); len(got) != 2 {
		t.Fatalf("%d approvals are open", len(got))
	}
	answer := Answer{Option: "no", Request: "r1", By: "one"}
	for i, want := range []Resolution{{false, Rejected, "one"}, {false, Rejected, "one"}} {
		if got, err := c.Respond(a.ID, answer); err != nil || got != want {
			t.Errorf("time %d: %+v, %v", i, got, err)
		}
	}
	for _, late := range []Answer{{Option: "once", Request: "r2", By: "two"}, {Option: "once", By: "two"}, {Option: "no", By: "one"}} {
		if got, err := c.Respond(a.ID, late); err != nil || got != (Resolution{true, Rejected, "one"}) {
			t.Errorf("a late answer: %+v, %v", got, err)
		}
	}
	var wg sync.WaitGroup
	wins := make(chan string, 20)
	for i := range 20 {
		wg.Go(func() {
			got, err := c.Respond(b.ID, Answer{Option: []string{"once", "no"}[i%2], By: fmt.Sprint(i)})
			if err != nil {
				t.Error(err)
			} else if !got.Already {
				wins <- got.By
			}
		})
	}
	wg.Wait()
	if len(wins) != 1 {
		t.Errorf("%d answers won", len(wins))
	}
	must(t, c.ended(), Completed, EndTurn)
	if n := count[ApprovalResolved](c.all()); n != 2 {
		t.Errorf("%d approvals were resolved", n)
	}
	if got, err := c.Respond(b.ID, Answer{Option: "once"}); err != nil || !got.Already {
		t.Errorf("after the turn: %+v, %v", got, err)
	}
}

// What an option grants is granted as long as it says: for the turn, the
// conversation, or the folder.
func TestGrantsLast(t *testing.T) {
	t.Parallel()
	for option, asks := range map[string][3]bool{ // later in the turn, in the next turn, in another conversation
		"once": {true, true, true}, "turn": {false, true, true}, "session": {false, false, true}, "always": {false, false, false},
	} {
		t.Run(option, func(t *testing.T) {
			w := newWorld(t, shell("A", "mkdir -p a"), shell("B", "mkdir -p b"), mock.Say("1"), shell("C", "mkdir -p c"), mock.Say("2"), shell("D", "mkdir -p d"))
			c, other := w.create(), w.create()
			c.start(Prompt{Text: "go"})
			c.answer(c.asked(), option)
			if asks[0] {
				c.answer(c.asked(), "once")
			}
			must(t, c.ended(), Completed, EndTurn)
			for i, talk := range []*talk{c, other} {
				talk.start(Prompt{Text: "again"})
				if asks[i+1] {
					talk.answer(talk.asked(), "no")
				}
				must(t, talk.ended(), Completed, EndTurn)
			}
			for i, name := range []string{"c", "d"} {
				if w.exists(name) == asks[i+1] {
					t.Errorf("%s exists: %v", name, w.exists(name))
				}
			}
		})
	}
}

// One answer for a step: what a grant covers among the other open approvals is
// answered with it.
func TestGrantAnswersTheOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Reply(shell("A", "mkdir a"), shell("B", "mkdir b"), shell("C", "touch c")))
	c := w.create()
	c.start(Prompt{Text: "go"})
	a, _, other := c.asked(), c.asked(), c.asked()
	c.answer(a, "turn")
	if open := c.Approvals(); len(open) != 1 || open[0] != other {
		t.Errorf("%d approvals are open", len(open))
	}
	c.answer(other, "no")
	must(t, c.ended(), Completed, EndTurn)
	if !w.exists("a") || !w.exists("b") || w.exists("c") {
		t.Error("the wrong calls ran")
	}
}

func editScript(content string) []mock.Step {
	return []mock.Step{ask("read_file", "R", args{"path": "a.txt"}), ask("write_file", "A", args{"path": "a.txt", "content": content})}
}

func lines(n int, changed ...int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		if slices.Contains(changed, i) {
			fmt.Fprintf(&b, "LINE %d\n", i)
		} else {
			fmt.Fprintf(&b, "line %d\n", i)
		}
	}
	return b.String()
}

// Of an edit's hunks those are applied that are accepted by name, or all when
// the answer names none.
func TestHunks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hunks map[int]bool
		want  []int // changed lines
	}{
		"no list":          {nil, []int{5, 30, 55}},
		"an empty list":    {map[int]bool{}, nil},
		"one refused":      {map[int]bool{1: false}, nil},
		"one accepted":     {map[int]bool{0: true}, []int{5}},
		"two of them":      {map[int]bool{0: true, 1: true}, []int{5, 30}},
		"all refused":      {map[int]bool{0: false, 1: false, 2: false}, nil},
		"all, one refused": {map[int]bool{0: true, 1: true, 2: false}, []int{5, 30}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, editScript(lines(60, 5, 30, 55))...)
			w.write("a.txt", lines(60))
			talk := w.create()
			talk.start(Prompt{Text: "go"})
			a := talk.asked()
			ans := Answer{Option: "once"}
			if c.hunks != nil {
				ans.Hunks = make(map[string]bool)
			}
			for i, ok := range c.hunks {
				ans.Hunks[a.Edit.Files[0].Hunks[i].ID] = ok
			}
			if _, err := talk.Respond(a.ID, ans); err != nil {
				t.Fatal(err)
			}
			end := talk.ended()
			must(t, end, Completed, EndTurn)
			if got := w.read("a.txt"); got != lines(60, c.want...) {
				t.Errorf("file\n%s", got)
			}
			if changed := len(c.want); changed == 0 && end.Changed != nil || changed > 0 && (end.Changed[0].Added != changed || end.Changed[0].Removed != changed) {
				t.Errorf("changed files %v", end.Changed)
			}
			talk.aliveAfter()
		})
	}
}

// The file changes between the question and the answer. The user's line
// survives: the edit is asked again as it is now, as often as that happens, or
// made as it was shown where it still does the same.
func TestFileChangesWhileAsked(t *testing.T) {
	t.Parallel()
	edit := func() mock.Step {
		return ask("edit_file", "A", args{"path": "a.txt", "oldString": "old", "newString": "new"})
	}
	t.Run("near the edit", func(t *testing.T) {
		w := newWorld(t, edit())
		w.write("a.txt", "old\n")
		c := w.create()
		c.start(Prompt{Text: "go"})
		a := c.asked()
		for i := range 3 {
			w.write("a.txt", fmt.Sprintf("mine %d\nold\n", i))
			if r := c.answer(a, "once"); r.Outcome != Stale {
				t.Errorf("the answer came to %s", r.Outcome)
			}
			again := c.asked()
			if again.ID == a.ID || !strings.Contains(again.Edit.Files[0].Hunks[0].Text, fmt.Sprintf("mine %d", i)) {
				t.Errorf("asked again as %s: %s", again.ID, again.Edit.Files[0].Hunks[0].Text)
			}
			a = again
		}
		c.answer(a, "once")
		must(t, c.ended(), Completed, EndTurn)
		if got := w.read("a.txt"); got != "mine 2\nnew\n" {
			t.Errorf("file %q", got)
		}
		c.aliveAfter()
	})
	t.Run("after the answer, before its turn comes", func(t *testing.T) {
		w := newWorld(t, mock.Reply(shell("B", "touch b"), edit()))
		w.write("a.txt", "old\n")
		c := w.create()
		c.start(Prompt{Text: "go"})
		b, a := c.asked(), c.asked()
		if r := c.answer(a, "once"); r.Outcome != Allowed {
			t.Errorf("the answer came to %s", r.Outcome)
		}
		w.write("a.txt", "mine\nold\n")
		c.answer(b, "once")
		again := c.asked()
		if !strings.Contains(again.Edit.Files[0].Hunks[0].Text, "mine") || w.read("a.txt") != "mine\nold\n" {
			t.Errorf("asked again: %s", again.Edit.Files[0].Hunks[0].Text)
		}
		c.answer(again, "no")
		must(t, c.ended(), Completed, EndTurn)
		c.aliveAfter()
	})
	t.Run("far away", func(t *testing.T) {
		w := newWorld(t, edit())
		w.write("a.txt", "old\n"+lines(40))
		c := w.create()
		c.start(Prompt{Text: "go"})
		a := c.asked()
		w.write("a.txt", "old\n"+lines(40, 30))
		c.answer(a, "once")
		must(t, c.ended(), Completed, EndTurn)
		if got := w.read("a.txt"); got != "new\n"+lines(40, 30) {
			t.Errorf("file %q", got)
		}
	})
	t.Run("so that it cannot be made", func(t *testing.T) {
		w := newWorld(t, mock.Reply(edit(), shell("B", "touch b")))
		w.write("a.txt", "old\n")
		c := w.create()
		c.start(Prompt{Text: "go"})
		a, b := c.asked(), c.asked()
		w.write("a.txt", "else\n")
		c.answer(a, "once")
		c.answer(b, "no")
		must(t, c.ended(), Completed, EndTurn)
		if got := w.read("a.txt"); got != "else\n" {
			t.Errorf("file %q", got)
		}
		if got := w.requests(2)[1].Results()[0].Text; strings.Contains(got, "denied") {
			t.Errorf("the model is told %q", got)
		}
		c.aliveAfter()
	})
	t.Run("and is refused", func(t *testing.T) {
		w := newWorld(t, edit())
		w.write("a.txt", "old\n")
		c := w.create()
		c.start(Prompt{Text: "go"})
		a := c.asked()
		w.write("a.txt", "mine\nold\n")
		if r := c.answer(a, "no"); r.Outcome != Rejected {
			t.Errorf("the answer came to %s", r.Outcome)
		}
		must(t, c.ended(), Completed, EndTurn)
	})
}

// The user is shown all that would happen: the whole command to its last word,
// its hidden characters escaped, and every line of an edit.
func TestApprovalShowsEverything(t *testing.T) {
	t.Parallel()
	long := "echo " + strings.Repeat("x", 3000) + "; touch pwned"
	hidden := "echo safe\u202e; touch \u200bx"
	w := newWorld(t, mock.Reply(shell("A", long), shell("B", hidden), ask("write_file", "C", args{"path": "new.txt", "content": lines(400)})))
	c := w.create()
	c.start(Prompt{Text: "go"})
	a, b, e := c.asked(), c.asked(), c.asked()
	if a.Command != long || !strings.HasSuffix(a.Shown, "touch pwned") || !slices.Contains(a.Commands, "touch pwned") || len([]rune(a.Title)) > 60 {
		t.Errorf("the command is shown as %q, %q", a.Title, a.Commands)
	}
	if b.Command != hidden || strings.ContainsAny(b.Shown, "\u202e\u200b") || strings.ContainsAny(b.Title, "\u202e\u200b") {
		t.Errorf("the hidden characters are shown as %q, %q", b.Title, b.Shown)
	}
	if e.Kind != "edit" || e.Edit.Files[0].Hunks[0].NewLines != 400 || !strings.HasSuffix(e.Edit.Files[0].Hunks[0].Text, "+line 400\n") {
		t.Errorf("the edit is %+v", e)
	}
	for _, x := range []*Approval{a, b, e} {
		if x.Why == "" || x.Risk == "" || x.CWD != w.dir || x.Options[len(x.Options)-1].Kind != "reject" {
			t.Errorf("approval %+v", x)
		}
		for _, o := range x.Options {
			if n := len([]rune(o.Label)); n > 60 {
				t.Errorf("a label of %d characters: %q", n, o.Label)
			}
		}
		c.answer(x, "no")
	}
	must(t, c.ended(), Completed, EndTurn)
}

// Waiting for the user is not working.
func TestWaitingIsNotCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shell("A", "echo one"))
	c := w.create()
	c.start(Prompt{Text: "go"})
	a := c.asked()
	next(c, func(d SessionUpdated) bool { return d.Info.State == Waiting })
	const waited = 300 * time.Millisecond
	time.Sleep(waited)
	c.answer(a, "no")
	if d := c.ended().Duration; d < 0 || d > waited {
		t.Errorf("the turn lasted %v", d)
	}
	if got := w.store.record(c.ID).Messages[3].Parts[0].Output.Type; got != transcript.OutputDenied {
		t.Errorf("result %s", got)
	}
}

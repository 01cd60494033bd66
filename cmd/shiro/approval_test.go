package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	mock "shiro/agent/provider/providertest"
	wire "shiro/lsp/protocol"
)

func bash(command string) mock.Step { return mock.Call("bash", args{"command": command}) }

// Three parallel calls answered in every order: each result stands under its
// own call, with the reason of the one that was refused.
func TestParallelApprovalsInEveryOrder(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, mock.Options{Script: []mock.Step{
				mock.Reply(bash("echo one >1"), bash("echo two >2"), bash("echo three >3")), mock.Say("done"),
			}}).speaks("responses")
			s := w.start()
			s.prompt(s.create(), "go")
			asked := []wire.Approval{s.asked(), s.asked(), s.asked()}
			for _, i := range order {
				p := wire.ApprovalRespondParams{ApprovalID: asked[i].ApprovalID, OptionID: "once"}
				if i == 1 {
					p.OptionID, p.Feedback = "no", "use tabs"
				}
				call[wire.ApprovalRespondResult](s, wire.MethodApprovalRespond, p)
			}
			s.ended()
			w.strict()
			results := w.model.Requests()[1].Results()
			if len(results) != 3 {
				t.Fatalf("results %+v", results)
			}
			for i, want := range []string{"exit: 0", "use tabs", "exit: 0"} {
				if !strings.Contains(results[i].Text, want) {
					t.Errorf("result %d is %q, want %q", i, results[i].Text, want)
				}
			}
			if w.read("1") != "one\n" || w.read("3") != "three\n" {
				t.Error("an allowed command did not run")
			}
			if got := files(w); slices.Contains(got, "2") {
				t.Errorf("the refused command ran: %v", got)
			}
			s.quit()
		})
	}
}

func files(w *world) []string {
	names, err := filepath.Glob(filepath.Join(w.dir, "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	return names
}

func numbered(n int, changed ...int) string {
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

func editScript() []mock.Step {
	return []mock.Step{
		mock.Call("read_file", args{"path": "f.txt"}),
		mock.Call("write_file", args{"path": "f.txt", "content": numbered(60, 5, 30, 55)}),
		mock.Say("done"),
	}
}

// Two of three hunks are accepted: only they reach the file, and the model is
// told which one was refused and why.
func TestHunks(t *testing.T) {
	for _, open := range []bool{false, true} {
		t.Run(fmt.Sprintf("open=%v", open), func(t *testing.T) {
			w := newWorld(t, mock.Options{Script: editScript()}).speaks("responses")
			w.write("f.txt", numbered(60))
			s := w.start()
			path := filepath.Join(w.dir, "f.txt")
			if open {
				if err := s.Open(path, numbered(60)); err != nil {
					t.Fatal(err)
				}
			}
			s.prompt(s.create(), "go")
			a := s.asked()
			h := a.Subject.Edit.Files[0].Hunks
			if len(h) != 3 {
				t.Fatalf("%d hunks, want 3", len(h))
			}
			s.refused(wire.KindInvalidParams, wire.MethodApprovalRespond, wire.ApprovalRespondParams{
				ApprovalID: a.ApprovalID, OptionID: "once", Hunks: map[string]wire.HunkDecision{"hnk_other_1": wire.HunkAccept},
			})
			call[wire.ApprovalRespondResult](s, wire.MethodApprovalRespond, wire.ApprovalRespondParams{
				ApprovalID: a.ApprovalID, OptionID: "once",
				Hunks:        map[string]wire.HunkDecision{h[0].HunkID: wire.HunkAccept, h[1].HunkID: wire.HunkReject, h[2].HunkID: wire.HunkAccept},
				HunkFeedback: map[string]string{h[1].HunkID: "keep thirty"},
			})
			s.ended()
			want := numbered(60, 5, 55)
			if got := w.read("f.txt"); !open && got != want {
				t.Errorf("file\n%s", got)
			}
			if b, _ := s.Buffer(path); open && b.Text != want {
				t.Errorf("buffer\n%s", b.Text)
			}
			result := w.model.Requests()[2].Results()[0].Text
			for _, want := range []string{"2 of 3", "keep thirty", "-line 30", "+LINE 30"} {
				if !strings.Contains(result, want) {
					t.Errorf("result %q lacks %q", result, want)
				}
			}
			w.strict()
			s.quit()
		})
	}
}

// The user's own text is applied in place of the proposal, and the model sees
// the difference.
func TestEditedProposal(t *testing.T) {
	w := newWorld(t, mock.Options{Script: editScript()}).speaks("responses")
	w.write("f.txt", numbered(60))
	s := w.start()
	s.prompt(s.create(), "go")
	a := s.asked()
	mine := strings.Replace(numbered(60, 5, 30, 55), "LINE 30", "line thirty", 1)
	call[wire.ApprovalRespondResult](s, wire.MethodApprovalRespond, wire.ApprovalRespondParams{
		ApprovalID: a.ApprovalID, OptionID: "once", Edited: []wire.EditedFile{{URI: a.Subject.Edit.Files[0].URI, NewText: mine}},
	})
	s.ended()
	if got := w.read("f.txt"); got != mine {
		t.Errorf("file\n%s", got)
	}
	if result := w.model.Requests()[2].Results()[0].Text; !strings.Contains(result, "+line thirty") {
		t.Errorf("result %q", result)
	}
	s.quit()
}

// The file changes while the edit is before the user: the answer is stale, the
// edit is asked again on the new text, and no change is lost.
func TestStaleEdit(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{
		mock.Call("read_file", args{"path": "f.txt"}),
		mock.Call("edit_file", args{"path": "f.txt", "oldString": "line 2\n", "newString": "two\n"}),
		mock.Say("done"),
	}}).speaks("responses")
	w.write("f.txt", numbered(3))
	s := w.start()
	s.prompt(s.create(), "go")
	first := s.asked()
	w.write("f.txt", "new first\nline 1\nline 2\nline three\n") // beside the edited line: the hunk shows other lines now
	if r := s.answer(first, "once"); r.Outcome != wire.OutcomeStale || r.Status != wire.RespondStale {
		t.Errorf("answer %+v", r)
	}
	second := s.asked()
	if second.ApprovalID == first.ApprovalID || !strings.Contains(second.Subject.Edit.Files[0].Hunks[0].Text, " line three\n") {
		t.Errorf("asked again as %+v", second)
	}
	s.answer(second, "once")
	s.ended()
	if got, want := w.read("f.txt"), "new first\nline 1\ntwo\nline three\n"; got != want {
		t.Errorf("file %q, want %q", got, want)
	}
	w.strict()
	s.quit()
}

// An interrupt settles what is open: nothing runs, the turn ends within a
// second, every call has its result, and the next prompt works.
func TestInterruptWhileAsking(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{mock.Reply(
		mock.Call("edit_file", args{"path": "a.txt", "oldString": "text", "newString": "TEXT"}), bash("touch ran"),
	)}}).speaks("responses")
	w.write("a.txt", "text\n")
	w.config("[provider]\napi = \"responses\"\n[permission.bash]\n\"touch *\" = \"allow\"\n")
	s := w.start()
	session := s.create()
	turn := s.prompt(session, "go")
	a := s.asked()
	begun := time.Now()
	call[wire.TurnInterruptResult](s, wire.MethodTurnInterrupt, wire.TurnInterruptParams{SessionID: session, TurnID: turn})
	end := s.ended()
	if took := time.Since(begun); end.Status != wire.TurnInterrupted || end.StopReason != wire.StopCancelled || took > time.Second {
		t.Errorf("turn %+v after %v", end, took)
	}
	if r := s.answer(a, "once"); r.Status != wire.RespondAlreadyResolved || r.Outcome != wire.OutcomeCancelled {
		t.Errorf("a late answer: %+v", r)
	}
	aliveAfter(t, s, session)
	w.strict()
	if got := files(w); !slices.Equal(got, []string{"a.txt"}) || w.read("a.txt") != "text\n" {
		t.Errorf("files %v, a.txt %q", got, w.read("a.txt"))
	}
	s.quit()
}

// A refused call takes the later calls of its step with it, unless a person
// allowed them.
func TestRefusalStopsTheStep(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{mock.Reply(bash("echo a >a"), bash("touch b")), mock.Say("done")}})
	w.config("[provider]\napi = \"responses\"\n[permission.bash]\n\"touch *\" = \"allow\"\n")
	s := w.start()
	s.prompt(s.create(), "go")
	s.answer(s.asked(), "no")
	s.ended()
	w.strict()
	if got := files(w); len(got) != 0 {
		t.Errorf("files %v", got)
	}
	if r := w.model.Requests()[1].Results(); len(r) != 2 || !strings.Contains(r[1].Text, "not run") {
		t.Errorf("results %+v", r)
	}
	s.quit()
}

// A grant covers what it showed, in its scope, and no chained command.
func TestGrants(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{
		bash("git status"), bash("git status --short"), bash("git status && touch pwned"), bash("git status > pwned"), mock.Say("done"),
	}}).speaks("responses")
	s := w.start()
	s.prompt(s.create(), "go")
	a := s.asked()
	i := slices.IndexFunc(a.Options, func(o wire.ApprovalOption) bool { return o.Kind == wire.AllowSession })
	if i < 0 || len(a.Options[i].Rules) != 1 || a.Options[i].Rules[0].Pattern != "git status *" {
		t.Fatalf("options %+v", a.Options)
	}
	s.answer(a, a.Options[i].ID)
	for _, want := range []string{"git status && touch pwned", "git status > pwned"} {
		a := s.asked()
		if a.Subject.Command.Command != want {
			t.Fatalf("asked about %q, want %q", a.Subject.Command.Command, want)
		}
		s.answer(a, "no")
	}
	s.ended()
	if got := files(w); len(got) != 0 {
		t.Errorf("files %v", got)
	}
	s.quit()
}

// What a rule or the guard refuses is told to the model and never shown as a
// question; the record holds it as the terminal tool writes it.
func TestRefusedByRule(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{
		mock.Reply(mock.Call("write_file", args{"path": ".env", "content": "K=1"}), bash("rm -rf build"), bash("echo K=1 > .env"), mock.Call("read_file", args{"path": ".env"})),
		mock.Say("I may not"),
	}})
	w.config("[provider]\napi = \"responses\"\n[permission.write_file]\n\"*\" = \"ask\"\n\"*.env\" = \"deny\"\n")
	w.write("build/x", "kept")
	s := w.start()
	session := s.create()
	s.prompt(session, "go")
	s.ended()
	for _, e := range s.Events() {
		if e.Type == wire.EventApprovalRequested {
			t.Errorf("asked: %+v", e.Data)
		}
	}
	results := w.model.Requests()[1].Results()
	if len(results) != 4 || !strings.Contains(results[0].Text, "*.env") || !strings.Contains(results[1].Text, "guard") || !strings.Contains(results[2].Text, "*.env") {
		t.Errorf("results %+v", results)
	}
	w.strict()
	s.quit()
	if got := files(w); !slices.Equal(got, []string{"build"}) {
		t.Errorf("files %v", got)
	}
	m := w.record(session)["messages"].([]any)
	asked := m[1].(map[string]any)["content"].([]any)[1].(map[string]any)
	response := m[2].(map[string]any)["content"].([]any)[0].(map[string]any)
	if asked["isAutomatic"] != true || response["approvalId"] != asked["approvalId"] || response["approved"] != false || response["reason"] == "" {
		t.Errorf("request %v, response %v", asked, response)
	}
}

// The process dies while it asks. Whoever opens the session next is asked the
// same; nothing ran before, and the answer continues the turn.
func TestApprovalSurvivesTheProcess(t *testing.T) {
	for _, option := range []string{"once", "no"} {
		t.Run(option, func(t *testing.T) {
			w := newWorld(t, mock.Options{Script: []mock.Step{
				mock.Reply(mock.Call("read_file", args{"path": "a.txt"}), mock.Call("edit_file", args{"path": "a.txt", "oldString": "text", "newString": "TEXT"})),
				mock.Say("settled"),
			}}).speaks("responses")
			w.write("a.txt", "text\n")
			s := w.start()
			session := s.create()
			s.prompt(session, "go")
			before := s.asked()
			w.waitRecord(session, "tool-approval-request")
			s.kill()

			s = w.start()
			at := call[wire.SessionAttachResult](s, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: session})
			a := before
			if p := at.State.PendingApprovals; len(p) == 1 {
				a = p[0]
			} else {
				a = s.asked()
			}
			if a.Title != before.Title || a.Subject.Edit.Files[0].Hunks[0].Text != before.Subject.Edit.Files[0].Hunks[0].Text {
				t.Errorf("asked %+v, before %+v", a, before)
			}
			if w.read("a.txt") != "text\n" || len(w.model.Requests()) != 1 {
				t.Error("something happened before the answer")
			}
			s.answer(a, option)
			if end := s.ended(); end.Status != wire.TurnDone {
				t.Fatalf("turn %+v\n%s", end, s.log)
			}
			want := map[string]string{"once": "TEXT\n", "no": "text\n"}[option]
			if got := w.read("a.txt"); got != want {
				t.Errorf("file %q, want %q", got, want)
			}
			w.strict()
			aliveAfter(t, s, session)
			s.quit()
		})
	}
}

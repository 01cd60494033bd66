package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	mock "shiro/agent/provider/providertest"
	wire "shiro/lsp/protocol"
)

type args map[string]any

// A whole turn of a reasoning model: plan, read and failing test at once, an
// edit in the open buffer after approval, the test again, the answer.
func turnScript() []mock.Step {
	return []mock.Step{
		mock.Reply(mock.Reasoning("planning"), mock.Call("todo_write", args{"todos": []args{
			{"content": "run the check", "status": "in_progress"}, {"content": "fix it", "status": "pending"},
		}})),
		mock.Reply(mock.Reasoning("look first"), mock.Call("read_file", args{"path": "greet.sh"}), mock.Call("bash", args{"command": "sh check.sh"})),
		mock.Reply(mock.Reasoning("the word is wrong"), mock.Text("One word is wrong."),
			mock.Call("edit_file", args{"path": "greet.sh", "oldString": "goodbye", "newString": "hello"})),
		mock.Call("bash", args{"command": "sh check.sh"}),
		mock.Reply(mock.Reasoning("done"), mock.Say("The check passes now.")),
	}
}

func project(w *world) {
	w.write("greet.sh", "#!/bin/sh\n# says hello\necho goodbye\n")
	w.write("check.sh", "out=$(sh greet.sh)\n[ \"$out\" = hello ] || { echo \"got $out, want hello\" >&2; exit 1; }\necho ok\n")
}

func TestPromptToDiskAndBack(t *testing.T) {
	for _, api := range []string{"responses", "chat"} {
		t.Run(api, func(t *testing.T) {
			w := newWorld(t, mock.Options{Script: turnScript()}).speaks(api)
			project(w)
			s := w.start()
			greet := filepath.Join(w.dir, "greet.sh")
			if err := s.Open(greet, w.read("greet.sh")); err != nil {
				t.Fatal(err)
			}
			session := s.create()
			s.prompt(session, "make the check pass")
			runTurn(t, s)

			b, _ := s.Buffer(greet)
			if want := "#!/bin/sh\n# says hello\necho hello\n"; b.Text != want {
				t.Errorf("buffer %q, want %q", b.Text, want)
			}
			if len(b.Undo) != 1 {
				t.Errorf("%d undo steps, want 1", len(b.Undo))
			}
			w.strict()
			checkPrefixes(t, w.model.Requests())
			checkTaskList(t, w.model.Requests())
			if code := s.quit(); code != 0 {
				t.Errorf("exit code %d after shutdown", code)
			}
			checkRecord(t, w, session)
			resume(t, w, session)
		})
	}
}

// runTurn answers the approvals as a user would and looks at what is shown.
func runTurn(t *testing.T, s *server) {
	t.Helper()
	todo := next[wire.Todo](s, wire.EventTodoUpdated)
	if len(todo.Entries) != 2 || todo.Entries[0].Status != wire.TodoInProgress {
		t.Errorf("task list %+v", todo)
	}
	run := s.asked()
	if run.Kind != wire.ApprovalCommand || run.Subject.Command.Command != "sh check.sh" {
		t.Errorf("first approval %+v", run)
	}
	s.answer(run, "once")
	edit := s.asked()
	if f := edit.Subject.Edit; f == nil || len(f.Files) != 1 || len(f.Files[0].Hunks) != 1 ||
		!strings.Contains(f.Files[0].Hunks[0].Text, "-echo goodbye\n+echo hello\n") || f.Files[0].BaseVersion == nil {
		t.Fatalf("edit approval %+v", edit)
	}
	greet := filepath.Join(s.w.dir, "greet.sh")
	if b, _ := s.Buffer(greet); strings.Contains(b.Text, "echo hello") {
		t.Error("the buffer changed before the approval")
	}
	s.answer(edit, "once")
	again := s.asked()
	b, _ := s.Buffer(greet)
	s.w.write("greet.sh", b.Text) // the user saves
	s.answer(again, "once")
	end := s.ended()
	if end.Status != wire.TurnDone || end.StopReason != wire.StopEndTurn {
		t.Fatalf("turn %+v\n%s", end, s.log)
	}
	if len(end.ChangedFiles) != 1 || end.ChangedFiles[0].Added != 1 || end.ChangedFiles[0].Removed != 1 {
		t.Errorf("changed files %+v", end.ChangedFiles)
	}
}

// Each request begins with the bytes of the one before it, up to the end of
// its messages: all but the trailing block and what closes the body.
func checkPrefixes(t *testing.T, requests []mock.Request) {
	t.Helper()
	for i := 1; i < len(requests); i++ {
		before := requests[i-1].Body
		stable := len(before)
		if k := strings.LastIndex(string(before), "<session_state>"); k >= 0 {
			stable = strings.LastIndex(string(before[:k]), `,{`)
		} else {
			stable -= len("]}")
		}
		if requests[i].Prefix < stable {
			t.Errorf("request %d repeats %d bytes of the one before it, want %d of %d", i, requests[i].Prefix, stable, len(before))
		}
	}
}

func checkTaskList(t *testing.T, requests []mock.Request) {
	t.Helper()
	for i, r := range requests[1:] {
		if !strings.Contains(string(r.Body), "Task list: 0/2 done") || !strings.Contains(string(r.Body), "[~] run the check") {
			t.Errorf("request %d does not show the task list", i+1)
		}
	}
}

// The record holds the turn as the terminal tool would have written it.
func checkRecord(t *testing.T, w *world, session string) {
	t.Helper()
	rec := w.record(session)
	var shape []string
	for _, m := range rec["messages"].([]any) {
		m := m.(map[string]any)
		line := m["role"].(string)
		if parts, ok := m["content"].([]any); ok {
			for _, p := range parts {
				line += " " + p.(map[string]any)["type"].(string)
			}
		}
		shape = append(shape, line)
	}
	want := []string{
		"user",
		"assistant reasoning tool-call", "tool tool-result",
		"assistant reasoning tool-call tool-call tool-approval-request", "tool tool-result", "tool tool-approval-response", "tool tool-result",
		"assistant reasoning text tool-call tool-approval-request", "tool tool-approval-response", "tool tool-result",
		"assistant tool-call tool-approval-request", "tool tool-approval-response", "tool tool-result",
		"assistant reasoning text",
	}
	if !slices.Equal(shape, want) {
		t.Errorf("record\n%s\nwant\n%s", strings.Join(shape, "\n"), strings.Join(want, "\n"))
	}
	if rec["title"] != "make the check pass" || rec["cwd"] != w.dir || rec["provider"] != "openai" {
		t.Errorf("record %v %v %v", rec["title"], rec["cwd"], rec["provider"])
	}
	todos, _ := json.Marshal(rec["notebook"])
	if want := `{"todos":[{"content":"run the check","status":"in_progress"},{"content":"fix it","status":"pending"}]}`; string(todos) != want {
		t.Errorf("notebook %s", todos)
	}
}

// resume opens the conversation in a new process and goes on.
func resume(t *testing.T, w *world, session string) {
	t.Helper()
	w.model.Script(mock.Say("You are welcome."))
	s := w.start()
	list := call[wire.SessionListResult](s, wire.MethodSessionList, wire.SessionListParams{Cwd: w.dir})
	if len(list.Sessions) != 1 || list.Sessions[0].ID != session {
		t.Fatalf("list %+v", list)
	}
	at := call[wire.SessionAttachResult](s, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: session[:13]})
	if at.Mode != wire.AttachSnapshot || at.State == nil || len(at.State.Todo.Entries) != 2 {
		t.Fatalf("attach %+v", at)
	}
	var kinds []string
	for _, it := range at.State.Items {
		kinds = append(kinds, string(it.Kind)+":"+string(it.Status))
		if it.Kind == wire.ItemTool && it.Output == "" {
			t.Errorf("%s has no output", it.Title)
		}
	}
	if n := len(at.State.Items); n != 12 || at.State.Items[n-1].Text != "The check passes now." {
		t.Errorf("items %v", kinds)
	}
	before := len(w.model.Requests())
	s.prompt(session, "thank you")
	if end := s.ended(); end.Status != wire.TurnDone {
		t.Fatalf("turn %+v", end)
	}
	body := string(w.model.Requests()[before].Body)
	for _, marker := range []string{"make the check pass", "got goodbye, want hello", "The check passes now.", "Task list: 0/2 done"} {
		if !strings.Contains(body, marker) {
			t.Errorf("the request after the restart lacks %q", marker)
		}
	}
	w.strict()
	s.quit()
}

// A turn of ten steps: every request begins with the whole of the one before.
func TestPrefixOfATenStepTurn(t *testing.T) {
	var script []mock.Step
	for i := range 9 {
		script = append(script, mock.Reply(mock.Reasoning(fmt.Sprint("step ", i)), mock.Call("read_file", args{"path": "a.txt", "offset": i + 1})))
	}
	w := newWorld(t, mock.Options{Script: append(script, mock.Say("read"))}).speaks("responses")
	w.write("a.txt", strings.Repeat("line\n", 20))
	s := w.start()
	s.prompt(s.create(), "read it")
	s.ended()
	requests := w.model.Requests()
	if len(requests) != 10 {
		t.Fatalf("%d requests, want 10", len(requests))
	}
	checkPrefixes(t, requests)
	w.strict()
	if size := len(requests[0].Body); size > 16_000 {
		t.Errorf("the first request is %d bytes", size)
	}
	t.Logf("first request: %d bytes", len(requests[0].Body))
	s.quit()
}

// A history made by the terminal tool's SDK loads, goes on and is written back
// with nothing lost.
func TestTerminalHistoryGoesOn(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "memory", "transcript", "testdata", "openai-responses-turns.json"))
	if err != nil {
		t.Fatal(err)
	}
	var messages []any
	if err := json.Unmarshal(raw, &messages); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, mock.Options{Script: []mock.Step{mock.Say("Going on.")}}).speaks("responses")
	const id = "01a22c70-28ed-719f-8f8d-f108fbe0c45e"
	rec := map[string]any{
		"id": id, "createdAt": "2026-08-11T09:10:00.000Z", "updatedAt": "2026-08-11T09:14:31.482Z", "cwd": w.dir,
		"provider": "openai", "model": "gpt-5", "title": "run the tests", "inputTokens": 48210, "outputTokens": 3105,
		"messages": messages, "notebook": map[string]any{"todos": []any{}}, "costUsd": 0.0913125, "future": "kept",
	}
	data, _ := json.MarshalIndent(rec, "", "  ")
	w.write(filepath.Join(w.home, ".shiro-neko", "sessions", id+".json"), string(data))

	s := w.start()
	call[wire.SessionAttachResult](s, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: id})
	s.prompt(id, "and now?")
	if end := s.ended(); end.Status != wire.TurnDone {
		t.Fatalf("turn %+v", end)
	}
	w.strict()
	s.quit()

	got := w.record(id)
	stored := got["messages"].([]any)
	if len(stored) != len(messages)+2 {
		t.Fatalf("%d messages, want %d", len(stored), len(messages)+2)
	}
	before, _ := json.Marshal(messages)
	after, _ := json.Marshal(stored[:len(messages)])
	if string(before) != string(after) {
		t.Errorf("history changed\n%s\n%s", before, after)
	}
	if got["future"] != "kept" || got["createdAt"] != rec["createdAt"] {
		t.Errorf("record %v %v", got["future"], got["createdAt"])
	}
	if n := got["inputTokens"].(float64); n <= 48210 {
		t.Errorf("totals do not continue: %v", n)
	}
}

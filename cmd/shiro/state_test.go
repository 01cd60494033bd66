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

func (s *server) list(p wire.SessionListParams) []wire.SessionInfo {
	s.w.t.Helper()
	return call[wire.SessionListResult](s, wire.MethodSessionList, p).Sessions
}

func (s *server) attach(session string) wire.SessionAttachResult {
	s.w.t.Helper()
	return call[wire.SessionAttachResult](s, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: session})
}

// said runs a turn and waits for its end.
func (s *server) said(session, text string) wire.TurnCompleted {
	s.w.t.Helper()
	s.prompt(session, text)
	return s.ended()
}

// wired is all that the model was sent.
func (w *world) wired() string {
	var b strings.Builder
	for _, r := range w.model.Requests() {
		b.Write(r.Body)
		b.WriteByte('\n')
	}
	return b.String()
}

func (w *world) state(path ...string) string {
	return filepath.Join(append([]string{w.home, ".shiro-neko"}, path...)...)
}

// Prompts are kept for the input box as the terminal tool keeps them: those of
// turns, those a client adds, no commands, and no text of documents.
func TestPromptHistory(t *testing.T) {
	w := newWorld(t, mock.Options{Fallback: mock.Say("ok")}).speaks("responses")
	s := w.start()
	prompts := func(cwd string) []string {
		return call[wire.HistoryListResult](s, wire.MethodHistoryList, wire.HistoryListParams{Cwd: cwd}).Prompts
	}
	if got := prompts(w.dir); len(got) != 0 {
		t.Errorf("at first %q", got)
	}
	session := s.create()
	s.said(session, "  first \n")
	s.said(session, "/todos")
	call[wire.TurnStartResult](s, wire.MethodTurnStart, wire.TurnStartParams{SessionID: session, Input: []wire.Content{
		{Type: wire.ContentText, Text: "look at"},
		{Type: wire.ContentResource, Resource: &wire.Resource{URI: "file:///a.txt", Text: "the whole document"}},
	}})
	s.ended()
	for _, p := range []string{"added", "added", " "} {
		call[wire.Empty](s, wire.MethodHistoryAppend, wire.HistoryAppendParams{Cwd: w.dir, Prompt: p})
	}
	want := "first|look at\n@/a.txt|added"
	if got := strings.Join(prompts(w.dir), "|"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := prompts(w.home); len(got) != 0 {
		t.Errorf("another folder has %q", got)
	}
	s.refused(wire.KindInvalidParams, wire.MethodHistoryList, wire.HistoryListParams{Cwd: "here"})
	s.refused(wire.KindInvalidParams, wire.MethodHistoryAppend, wire.HistoryAppendParams{Prompt: "x"})
	s.quit()
	s = w.start()
	if got := strings.Join(prompts(w.dir), "|"); got != want {
		t.Errorf("after a restart %q", got)
	}
	s.quit()
}

// A name is the session's title everywhere, open or not, and survives a kill.
func TestRename(t *testing.T) {
	w := newWorld(t, mock.Options{Fallback: mock.Say("ok")}).speaks("responses")
	s := w.start()
	session := s.create()
	rename := func(name string) {
		call[wire.Empty](s, wire.MethodSessionRename, wire.SessionRenameParams{SessionID: session, Name: name})
	}
	title := func() string { return s.list(wire.SessionListParams{})[0].Title }
	rename("before the first prompt")
	s.said(session, "fix the parser")
	w.waitRecord(session, `"name": "before the first prompt"`)
	rename(" The\n parser\x1b ")
	if got := title(); got != "The parser" {
		t.Errorf("open: %q", got)
	}
	s.kill()
	s = w.start()
	if got := s.attach(session).State.Session.Title; got != "The parser" {
		t.Errorf("after a kill: %q", got)
	}
	call[wire.Empty](s, wire.MethodSessionClose, wire.SessionCloseParams{SessionID: session})
	rename("closed")
	if got := w.record(session); got["name"] != "closed" || got["title"] != "fix the parser" || title() != "closed" {
		t.Errorf("closed: %v, %v, listed as %q", got["name"], got["title"], title())
	}
	if got := s.list(wire.SessionListParams{Query: "CLOSED"}); len(got) != 1 {
		t.Errorf("by name: %v", got)
	}
	rename("")
	if _, named := w.record(session)["name"]; named || title() != "fix the parser" {
		t.Errorf("without a name: %q", title())
	}
	s.refused(wire.KindSessionNotFound, wire.MethodSessionRename, wire.SessionRenameParams{SessionID: "../x", Name: "y"})
	s.quit()
}

// An archived session is out of the lists, and is back when it is asked for.
func TestArchive(t *testing.T) {
	w := newWorld(t, mock.Options{Fallback: mock.Say("ok")}).speaks("responses")
	s := w.start()
	open, closed := s.create(), s.create()
	for _, id := range []string{open, closed} {
		s.said(id, "hello")
		w.waitRecord(id, "ok")
	}
	call[wire.Empty](s, wire.MethodSessionClose, wire.SessionCloseParams{SessionID: closed})
	for _, id := range []string{open, closed} {
		call[wire.Empty](s, wire.MethodSessionArchive, wire.SessionArchiveParams{SessionID: id})
	}
	if got := s.list(wire.SessionListParams{}); len(got) != 0 {
		t.Errorf("listed: %v", got)
	}
	got := s.list(wire.SessionListParams{Archived: true})
	if len(got) != 2 || !got[0].Archived || !got[1].Archived {
		t.Errorf("asked for: %v", got)
	}
	s.quit()
	s = w.start()
	if got := s.list(wire.SessionListParams{}); len(got) != 0 {
		t.Errorf("after a restart: %v", got)
	}
	s.attach(open)
	back := false
	for _, id := range []string{open, closed} {
		call[wire.Empty](s, wire.MethodSessionArchive, wire.SessionArchiveParams{SessionID: id, Archived: &back})
	}
	s.quit()
	s = w.start()
	if got := s.list(wire.SessionListParams{}); len(got) != 2 || got[0].Archived {
		t.Errorf("back: %v", got)
	}
	s.quit()
}

// Nothing of a deleted session stays, and its id is unknown.
func TestDelete(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{mock.Say("one"), mock.Say("two"), bash("true")}}).speaks("responses")
	s := w.start()
	open, closed, fresh := s.create(), s.create(), s.create()
	s.said(open, "hello")
	s.said(closed, "hello")
	call[wire.Empty](s, wire.MethodSessionClose, wire.SessionCloseParams{SessionID: closed})
	s.prompt(open, "go")
	s.asked()
	w.write(w.state("sessions", closed+".journal.5"), "set aside")
	for _, id := range []string{open, closed, fresh} {
		call[wire.Empty](s, wire.MethodSessionDelete, wire.SessionDeleteParams{SessionID: id})
		s.refused(wire.KindSessionNotFound, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: id})
		s.refused(wire.KindSessionNotFound, wire.MethodSessionDelete, wire.SessionDeleteParams{SessionID: id})
	}
	damaged := "01a22c70-28ed-719f-8f8d-f108fbe0c45e"
	w.write(w.state("sessions", damaged+".json"), "{")
	call[wire.Empty](s, wire.MethodSessionDelete, wire.SessionDeleteParams{SessionID: damaged[:10]})
	s.quit()
	left, err := os.ReadDir(w.state("sessions"))
	if err != nil || len(left) != 1 || left[0].Name() != ".lock" {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A session is written out to read, or line by line for programs.
func TestExport(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{
		mock.Reply(mock.Text("I look."), mock.Call("list_dir", nil)),
		mock.Call("todo_write", args{"todos": []args{{"content": "read", "status": "done"}}}),
		mock.Say("Here:\n```\ncode\n```"),
	}}).speaks("responses")
	w.write("a ```` b.txt", "")
	s := w.start()
	session := s.create()
	export := func(format wire.ExportFormat, path string) string {
		res := call[wire.SessionExportResult](s, wire.MethodSessionExport, wire.SessionExportParams{SessionID: session, Format: format, Path: path})
		text, err := os.ReadFile(res.Path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	s.said(session, "what is here?")
	page := export("", "")
	for _, want := range []string{
		"# what is here?\n", "\n## User\n\nwhat is here?\n", "\n## Assistant\n\nI look.\n", "<summary>list_dir</summary>",
		"\n`````\na ```` b.txt  0B\n`````\n", "\nHere:\n```\ncode\n```\n", "\n## Tasks\n\n- [x] read\n", session,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Count(page, "## Assistant") != 1 {
		t.Errorf("the answer is torn apart:\n%s", page)
	}
	path := filepath.Join(w.dir, "out.jsonl")
	lines := strings.Split(strings.TrimSuffix(export(wire.ExportJSONL, path), "\n"), "\n")
	s.quit()
	messages := w.record(session)["messages"].([]any)
	if len(lines) != len(messages)+1 || !strings.Contains(lines[0], `"id":"`+session+`"`) {
		t.Fatalf("%d lines for %d messages: %s", len(lines), len(messages), lines[0])
	}
	for i, m := range messages {
		want, _ := json.Marshal(m)
		var v any
		if err := json.Unmarshal([]byte(lines[i+1]), &v); err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(v); string(got) != string(want) {
			t.Errorf("line %d: %s, want %s", i+2, got, want)
		}
	}
	s = w.start()
	if again := export(wire.ExportMarkdown, filepath.Join(w.dir, "out.md")); !strings.Contains(again, "Here:") {
		t.Errorf("closed: %s", again)
	}
	s.refused(wire.KindInvalidParams, wire.MethodSessionExport, wire.SessionExportParams{SessionID: session, Format: "pdf"})
	s.refused(wire.KindInvalidParams, wire.MethodSessionExport, wire.SessionExportParams{SessionID: session, Path: "out.md"})
	s.refused(wire.KindSessionNotFound, wire.MethodSessionExport, wire.SessionExportParams{SessionID: "ff"})
	s.quit()
}

// A fork is a session of its own that begins with another's past.
func TestFork(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{
		mock.Call("todo_write", args{"todos": []args{{"content": "step", "status": "pending"}}}), mock.Say("first answer"),
		mock.Say("second answer"), mock.Say("third answer"), bash("touch ran"), mock.Say("after the fork"),
	}}).speaks("responses")
	s := w.start()
	session := s.create()
	first := s.prompt(session, "one")
	s.ended()
	s.said(session, "two")
	fork := func(id, turn string) wire.SessionInfo {
		return call[wire.SessionForkResult](s, wire.MethodSessionFork, wire.SessionForkParams{SessionID: id, AtTurnID: turn}).Session
	}
	early := fork(session, first)
	if early.ParentID != session || early.ID == session || early.Cwd != w.dir || early.Turns != 1 || early.Tokens.Input != 0 {
		t.Errorf("forked %+v", early)
	}
	at := s.attach(early.ID)
	if items := at.State.Items; items[len(items)-1].Text != "first answer" || len(at.State.Todo.Entries) != 1 {
		t.Errorf("state %+v", at.State)
	}
	s.said(early.ID, "another way")
	if sent := w.model.Requests()[3].Users(); slices.Contains(sent, "two") || !slices.Contains(sent, "one") {
		t.Errorf("sent %q", sent)
	}

	s.prompt(session, "three")
	asked := s.asked()
	late := fork(session, "") // while the other waits for an answer
	if late.State != wire.SessionIdle {
		t.Errorf("the fork is %s", late.State)
	}
	s.answer(asked, "no")
	s.ended()
	s.refused(wire.KindInvalidParams, wire.MethodSessionFork, wire.SessionForkParams{SessionID: session, AtTurnID: "trn_99"})
	s.refused(wire.KindInvalidParams, wire.MethodSessionFork, wire.SessionForkParams{SessionID: s.create()})
	s.refused(wire.KindSessionNotFound, wire.MethodSessionFork, wire.SessionForkParams{SessionID: "ff"})
	s.quit()

	s = w.start()
	stored := fork(early.ID, "trn_1")
	s.quit()
	w.strict()
	for id, want := range map[string]string{early.ID: "third answer", stored.ID: "first answer", late.ID: "touch ran"} {
		rec := w.record(id)
		if text := fmt.Sprint(rec["messages"]); !strings.Contains(text, want) {
			t.Errorf("%s lacks %q: %s", id, want, text)
		}
		if rec["parentId"] == "" || rec["parentId"] == id {
			t.Errorf("parent %v", rec["parentId"])
		}
	}
}

// The second process to want a session is told who writes it, and goes on with
// a copy. It can do nothing to the session itself.
func TestTwoProcesses(t *testing.T) {
	w := newWorld(t, mock.Options{Fallback: mock.Say("ok")}).speaks("responses")
	a, b := w.start(), w.start()
	session := a.create()
	a.said(session, "mine")
	w.waitRecord(session, "ok")
	for method, params := range map[string]any{
		wire.MethodSessionAttach:  wire.SessionAttachParams{SessionID: session},
		wire.MethodSessionHistory: wire.SessionHistoryParams{SessionID: session},
		wire.MethodSessionRename:  wire.SessionRenameParams{SessionID: session, Name: "stolen"},
		wire.MethodSessionArchive: wire.SessionArchiveParams{SessionID: session},
		wire.MethodSessionDelete:  wire.SessionDeleteParams{SessionID: session},
	} {
		e := b.refused(wire.KindSessionLocked, method, params)
		var data wire.ErrorData
		if err := json.Unmarshal(e.Data, &data); err != nil || data.OwnerPID != a.cmd.Process.Pid || data.SessionID != session {
			t.Errorf("%s: data %s", method, e.Data)
		}
	}
	fork := call[wire.SessionForkResult](b, wire.MethodSessionFork, wire.SessionForkParams{SessionID: session}).Session
	b.attach(fork.ID)
	b.said(fork.ID, "mine now")
	call[wire.SessionExportResult](b, wire.MethodSessionExport, wire.SessionExportParams{SessionID: session})
	a.said(session, "still mine")
	a.kill()
	call[wire.Empty](b, wire.MethodSessionRename, wire.SessionRenameParams{SessionID: session, Name: "inherited"})
	b.quit()
	if rec := w.record(session); rec["name"] != "inherited" || !strings.Contains(fmt.Sprint(rec["messages"]), "still mine") {
		t.Errorf("%v", rec)
	}
	if rec := fmt.Sprint(w.record(fork.ID)["messages"]); !strings.Contains(rec, "mine now") || strings.Contains(rec, "still mine") {
		t.Errorf("%v", rec)
	}
}

// A list says which sessions wait for an answer, and finds the words of
// prompts.
func TestListOfStoredSessions(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{bash("true"), mock.Say("done")}}).speaks("responses")
	s := w.start()
	waiting, done := s.create(), s.create()
	s.prompt(waiting, "run it")
	s.asked()
	s.said(done, "hello\n"+strings.Repeat("long ", 2000)+"Needle in a prompt")
	w.waitRecord(waiting, "tool-approval-request")
	s.kill()
	s = w.start()
	for _, i := range s.list(wire.SessionListParams{}) {
		want := map[string]wire.SessionState{waiting: wire.SessionWaiting, done: wire.SessionIdle}[i.ID]
		if i.State != want {
			t.Errorf("%s is %s, want %s", i.Title, i.State, want)
		}
	}
	if got := s.list(wire.SessionListParams{Query: "needle IN"}); len(got) != 1 || got[0].ID != done {
		t.Errorf("found %v", got)
	}
	if got := s.list(wire.SessionListParams{Query: "needle out"}); len(got) != 0 {
		t.Errorf("found %v", got)
	}
	s.attach(waiting)
	s.answer(s.asked(), "no")
	s.ended()
	s.quit()
	s = w.start()
	if got := s.list(wire.SessionListParams{Query: "run it"}); len(got) != 1 || got[0].State != wire.SessionIdle {
		t.Errorf("answered: %v", got)
	}
	s.quit()
}

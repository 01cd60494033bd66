package main

import (
	"fmt"
	"strings"
	"testing"

	mock "shiro/agent/provider/providertest"
	wire "shiro/lsp/protocol"
)

// command runs a turn that is a command and returns what it answered.
func (s *server) command(session, text string) wire.Item {
	s.w.t.Helper()
	turn := s.prompt(session, text)
	it := next[wire.ItemEvent](s, wire.EventItemCompleted).Item
	end := s.ended()
	if it.Kind != wire.ItemNotice || it.TurnID != turn {
		s.w.t.Errorf("%s: item %+v", text, it)
	}
	if it.Status == wire.ItemCompleted && (end.Status != wire.TurnDone || end.StopReason != wire.StopEndTurn) {
		s.w.t.Errorf("%s: %+v", text, end)
	}
	return it
}

// A prompt that begins with a slash is answered here. The model never sees it,
// nor does the record or the prompt history.
func TestCommands(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{
		mock.Call("todo_write", args{"todos": []args{{"content": "first task", "status": "in_progress"}}}), mock.Say("hello"), mock.Say("bye"),
	}}).speaks("responses")
	w.write("AGENTS.md", "be kind")
	s := w.start()
	session := s.create()
	if it := s.command(session, "/todos"); it.Text != "The task list is empty." {
		t.Errorf("before: %q", it.Text)
	}
	s.said(session, "hello")
	for text, want := range map[string]string{
		"/help":              "/rename [NAME]",
		"  /todos\n":         "[~] first task",
		"/context":           "AGENTS.md",
		"/cost":              "mock: ",
		"/rename Two\nwords": "Two words",
	} {
		if it := s.command(session, text); it.Status != wire.ItemCompleted || !strings.Contains(it.Text, want) {
			t.Errorf("%s: %+v", text, it)
		}
	}
	w.waitRecord(session, "Two words")
	if got := s.list(wire.SessionListParams{Query: "two words"}); len(got) != 1 || got[0].ID != session {
		t.Errorf("renamed: %v", got)
	}
	fork := s.command(session, "/fork").Text
	found := false
	for _, i := range s.list(wire.SessionListParams{}) {
		found = found || i.ParentID == session && strings.Contains(fork, i.ID)
	}
	if !found {
		t.Errorf("%q names no fork", fork)
	}
	if it := s.command(session, "/fork trn_99"); it.Status != wire.ItemFailed || !strings.Contains(it.Error, "trn_99") {
		t.Errorf("a fork at no turn: %+v", it)
	}
	s.said(session, "bye")
	w.strict()
	sent := w.wired()
	s.quit()
	if n := len(w.model.Requests()); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
	for _, text := range []string{"/help", "/todos", "/rename", "/cost", "/fork"} {
		if strings.Contains(sent, text) {
			t.Errorf("%s reached the model", text)
		}
		if strings.Contains(fmt.Sprint(w.record(session)["messages"]), text) {
			t.Errorf("%s is in the record", text)
		}
	}
}

func TestUnknownCommands(t *testing.T) {
	w := newWorld(t, mock.Options{}).speaks("responses")
	s := w.start()
	session := s.create()
	for text, near := range map[string]string{
		"/todo":          "there are /todos",
		"/frok":          "/fork",
		"/":              "/help",
		"/usr/bin is ok": "/help",
		"/Help":          "there are /help",
	} {
		e := s.refused(wire.KindInvalidParams, wire.MethodTurnStart, wire.TurnStartParams{
			SessionID: session, Input: []wire.Content{{Type: wire.ContentText, Text: text}},
		})
		if !strings.Contains(e.Message, near) {
			t.Errorf("%s: %q lacks %q", text, e.Message, near)
		}
	}
	s.quit()
	if n := len(w.model.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// A command waits for the running turn, as any prompt does.
func TestCommandInTheQueue(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{bash("true"), mock.Say("done")}}).speaks("responses")
	s := w.start()
	session := s.create()
	s.prompt(session, "go")
	a := s.asked()
	res := call[wire.TurnStartResult](s, wire.MethodTurnStart, wire.TurnStartParams{
		SessionID: session, Input: []wire.Content{{Type: wire.ContentText, Text: "/todos"}},
	})
	if res.Disposition != wire.DispositionQueued {
		t.Errorf("%+v", res)
	}
	s.answer(a, "once")
	s.ended()
	if it := next[wire.ItemEvent](s, wire.EventItemCompleted).Item; it.Kind != wire.ItemNotice || it.TurnID != res.TurnID {
		t.Errorf("%+v", it)
	}
	s.ended()
	s.quit()
}

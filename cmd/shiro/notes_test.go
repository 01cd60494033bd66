package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	mock "shiro/agent/provider/providertest"
	wire "shiro/lsp/protocol"
)

func (s *server) notes() wire.MemoryListResult {
	s.w.t.Helper()
	return call[wire.MemoryListResult](s, wire.MethodMemoryList, wire.MemoryListParams{Cwd: s.w.dir})
}

func (s *server) note(kind wire.NoteKind, text string) wire.MemoryWriteResult {
	s.w.t.Helper()
	return call[wire.MemoryWriteResult](s, wire.MethodMemoryWrite, wire.MemoryWriteParams{Cwd: s.w.dir, Kind: kind, Text: text})
}

// notesFile is the file of the workspace's notes, the only one.
func (w *world) notesFile() string {
	w.t.Helper()
	files, err := filepath.Glob(w.state("memory", "*.json"))
	if err != nil || len(files) != 1 {
		w.t.Fatalf("notes files %v, %v", files, err)
	}
	return files[0]
}

// inTurn answers the requests without tools, one after the other.
func inTurn(answers ...string) mock.Step {
	var mu sync.Mutex
	return mock.Func(func(mock.Request) mock.Step {
		mu.Lock()
		defer mu.Unlock()
		if len(answers) == 0 {
			return mock.Fail(500, "no answer is left")
		}
		next := answers[0]
		answers = answers[1:]
		return mock.Say(next)
	})
}

// Notes are listed, added, changed and removed by hand, each time only if the
// list is the one that was seen.
func TestNotesOverTheWire(t *testing.T) {
	w := newWorld(t, mock.Options{}).speaks("responses")
	s := w.start()
	if l := s.notes(); len(l.Notes) != 0 || l.Hash == "" {
		t.Errorf("at first %+v", l)
	}
	first := s.note(wire.NoteFact, " one\nline ")
	if n := first.Note; n.Text != "one line" || n.Kind != wire.NoteFact || n.ID == "" || n.Hits != 0 {
		t.Errorf("added %+v", n)
	}
	second := s.note(wire.NoteGotcha, "another")
	stale := wire.MemoryWriteParams{Cwd: w.dir, ID: first.Note.ID, Kind: wire.NoteDecision, Text: "changed", IfHash: first.Hash}
	e := s.refused(wire.KindConflict, wire.MethodMemoryWrite, stale)
	var data wire.ErrorData
	if err := json.Unmarshal(e.Data, &data); err != nil || data.ExpectedHash != first.Hash || data.ActualHash != second.Hash {
		t.Errorf("data %s", e.Data)
	}
	stale.IfHash = second.Hash
	changed := call[wire.MemoryWriteResult](s, wire.MethodMemoryWrite, stale)
	s.refused(wire.KindConflict, wire.MethodMemoryDelete, wire.MemoryDeleteParams{Cwd: w.dir, IDs: []string{second.Note.ID}, IfHash: second.Hash})
	s.refused(wire.KindConflict, wire.MethodMemoryCompact, wire.MemoryCompactParams{Cwd: w.dir, IfHash: second.Hash})
	deleted := call[wire.MemoryDeleteResult](s, wire.MethodMemoryDelete, wire.MemoryDeleteParams{
		Cwd: w.dir, IDs: []string{second.Note.ID, "no such"}, IfHash: changed.Hash,
	})
	if l := s.notes(); deleted.Deleted != 1 || len(l.Notes) != 1 || l.Notes[0] != changed.Note || l.Notes[0].Text != "changed" || l.Hash != deleted.Hash {
		t.Errorf("deleted %+v, left %+v", deleted, l)
	}
	for _, p := range []wire.MemoryWriteParams{
		{Cwd: "relative", Kind: wire.NoteFact, Text: "x"},
		{Cwd: w.dir, Kind: "idea", Text: "x"},
		{Cwd: w.dir, Kind: wire.NoteFact, Text: " "},
		{Cwd: w.dir, Kind: wire.NoteFact, Text: "see https://you:hunter2secret@example.com"},
		{Cwd: w.dir, Kind: wire.NoteFact, Text: "x", ID: "no such"},
	} {
		s.refused(wire.KindInvalidParams, wire.MethodMemoryWrite, p)
	}
	s.refused(wire.KindInvalidParams, wire.MethodMemoryCompact, wire.MemoryCompactParams{Cwd: w.dir, Accept: []wire.NoteText{{Kind: wire.NoteFact, Text: "x"}}})
	s.quit()
	s = w.start("--no-memory")
	e = s.refused(wire.KindFeatureNotNegotiated, wire.MethodMemoryList, wire.MemoryListParams{Cwd: w.dir})
	if !strings.Contains(string(e.Data), `"memory"`) {
		t.Errorf("data %s", e.Data)
	}
	s.refused(wire.KindFeatureNotNegotiated, wire.MethodMemoryCompact, wire.MemoryCompactParams{Cwd: w.dir})
	s.quit()
}

// Whoever has a session open hears within three seconds that the notes of its
// folder were changed: here, by another process, or by hand.
func TestNotesChanged(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{
		mock.Call("remember", args{"kind": "fact", "text": "by the model"}), mock.Say("noted"),
	}}).speaks("responses")
	s, other := w.start(), w.start()
	session := s.create()
	heard := func(by string, count int, hash string) {
		t.Helper()
		c := next[wire.MemoryChanged](s, wire.EventMemoryChanged)
		if c.Cwd != w.dir || c.Count != count || hash != "" && c.Hash != hash || c.Hash != s.notes().Hash {
			t.Errorf("%s: %+v", by, c)
		}
	}
	heard("this process", 1, s.note(wire.NoteFact, "by this process").Hash)
	heard("another process", 2, other.note(wire.NoteFact, "by another process").Hash)
	path := w.notesFile()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w.write(path, strings.Replace(string(text), "by this process", "by hand", 1))
	heard("by hand", 2, "")
	s.prompt(session, "note it")
	heard("a tool", 3, "")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	heard("removed", 0, "")
	other.quit()
	s.quit()
}

// Notes are merged by the model. An answer that would lose much is shown first,
// and what was there is kept.
func TestCompactNotes(t *testing.T) {
	w := newWorld(t, mock.Options{Side: inTurn(
		"[fact] a\n[gotcha] b\n[fact] c", // of six
		"[fact] a",                       // of three
		"nothing to say",
	)}).speaks("responses")
	s := w.start()
	compact := func(p wire.MemoryCompactParams) wire.MemoryCompactResult {
		t.Helper()
		p.Cwd = w.dir
		return call[wire.MemoryCompactResult](s, wire.MethodMemoryCompact, p)
	}
	if r := compact(wire.MemoryCompactParams{}); r.Status != wire.CompactUnchanged || len(w.model.Requests()) != 0 {
		t.Errorf("no notes: %+v", r)
	}
	for i := range 6 {
		s.note([]wire.NoteKind{wire.NoteFact, wire.NoteGotcha}[i%2], fmt.Sprint("note ", i))
	}
	old := s.notes()
	before, _ := os.ReadFile(w.notesFile())
	r := compact(wire.MemoryCompactParams{IfHash: old.Hash})
	if r.Status != wire.CompactDone || r.Before != 6 || r.After != 3 || r.Hash != s.notes().Hash || r.Hash == old.Hash {
		t.Errorf("merged: %+v", r)
	}
	kept, err := filepath.Glob(w.notesFile() + ".before-*")
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept %v, %v", kept, err)
	}
	if text, _ := os.ReadFile(kept[0]); string(text) != string(before) {
		t.Errorf("kept %s", text)
	}
	sent := string(w.model.Requests()[0].Body)
	if !strings.Contains(sent, `[fact] note 0\n[gotcha] note 1`) || strings.Contains(sent, `"tools"`) {
		t.Errorf("sent %s", sent)
	}
	r = compact(wire.MemoryCompactParams{})
	if r.Status != wire.CompactUnconfirmed || r.Before != 3 || r.After != 3 || len(r.Proposed) != 1 || !strings.Contains(r.Reason, "gotcha") {
		t.Errorf("doubtful: %+v", r)
	}
	if l := s.notes(); len(l.Notes) != 3 || l.Hash != r.Hash {
		t.Errorf("the doubtful answer changed the notes: %+v", l)
	}
	done := compact(wire.MemoryCompactParams{IfHash: r.Hash, Accept: r.Proposed})
	if done.Status != wire.CompactDone || done.After != 1 || len(s.notes().Notes) != 1 {
		t.Errorf("accepted: %+v", done)
	}
	s.refused(wire.KindConflict, wire.MethodMemoryCompact, wire.MemoryCompactParams{Cwd: w.dir, IfHash: r.Hash, Accept: r.Proposed})
	s.note(wire.NoteFact, "one more")
	if err := s.Call(s.ctx(), wire.MethodMemoryCompact, wire.MemoryCompactParams{Cwd: w.dir}, nil); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("useless answer: %v", err)
	}
	if len(s.notes().Notes) != 2 {
		t.Error("a useless answer changed the notes")
	}
	w.strict()
	s.quit()
}

// The same by commands.
func TestNotesCommands(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{
		mock.Call("recall", args{"query": "first"}), mock.Say("recalled"),
	}, Side: inTurn("[fact] all in one", "[fact] x\n[fact] y")}).speaks("responses")
	s := w.start()
	session := s.create()
	if it := s.command(session, "/notes"); !strings.Contains(it.Text, "Nothing is noted") {
		t.Errorf("%+v", it)
	}
	for _, text := range []string{"first", "second", "third", "fourth", "fifth"} {
		s.note(wire.NoteFact, text)
	}
	s.said(session, "recall it")
	if it := s.command(session, "/notes"); it.Text != "(fact) fifth\n(fact) fourth\n(fact) third\n(fact) second\n(fact) first  [recalled 1x]" {
		t.Errorf("%q", it.Text)
	}
	if it := s.command(session, "/memory accept"); it.Status != wire.ItemFailed {
		t.Errorf("nothing to accept: %+v", it)
	}
	if it := s.command(session, "/memory"); !strings.Contains(it.Text, "4 notes would become 1") || !strings.Contains(it.Text, "(fact) all in one") || len(s.notes().Notes) != 5 {
		t.Errorf("doubtful: %+v", it)
	}
	if it := s.command(session, "/memory accept"); it.Text != "5 notes became 2." {
		t.Errorf("accepted: %+v", it)
	}
	s.note(wire.NoteFact, "sixth")
	if it := s.command(session, "/memory"); it.Text != "There are 3 notes, as before." {
		t.Errorf("two into two: %+v", it)
	}
	w.strict()
	s.quit()
	if got := fmt.Sprint(w.record(session)["messages"]); strings.Contains(got, "all in one") || strings.Contains(got, "/memory") {
		t.Errorf("record %s", got)
	}
}

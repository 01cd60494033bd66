package memory

import (
	"errors"
	"os"
	"strings"
	"testing"

	"shiro/memory/transcript"
)

func TestEdit(t *testing.T) {
	s := newStore(t)
	write(t, s.recordPath("01ab"), `{"x":{"y":1},"id":"01ab","createdAt":"2026-01-01T00:00:00.000Z","updatedAt":"2026-01-01T00:00:00.000Z","cwd":"/p",`+
		`"provider":"openai","model":"m","title":"t","messages":[{"role":"user","content":"a\ud83d","z":1}],"archived":"theirs"}`)
	rename := func(rec *transcript.Session) { rec.Name = "mine" }
	if err := s.Edit("01a", rename); err != nil {
		t.Fatal(err)
	}
	got := content(t, s.recordPath("01ab"))
	for _, want := range []string{`"name": "mine"`, `"content": "a\ud83d"`, `"z": 1`, `"y": 1`, `"archived": "theirs"`, `"updatedAt": "` + timestamp(clock)} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if i := list(t, s, ListOptions{}).Sessions[0]; i.Name != "mine" || i.Archived {
		t.Errorf("listed %+v", i)
	}
	if err := s.Edit("nobody", rename); !errors.Is(err, ErrNotFound) {
		t.Errorf("error %v", err)
	}

	session, stamp, err := s.Load("01ab")
	if err != nil {
		t.Fatal(err)
	}
	w := openWriter(t, s, WriterOptions{Stamp: stamp})
	other := Open(Options{Dir: s.dir})
	for _, do := range []func() error{
		func() error { return other.Edit("01ab", rename) },
		func() error { return other.Delete("01ab") },
	} {
		locked, ok := errors.AsType[*LockedError](do())
		if !ok || locked.PID != os.Getpid() {
			t.Errorf("of an open session: %v", locked)
		}
	}
	add := transcript.Entry{Kind: transcript.EntryMessage, At: 1, After: transcript.Mark(session.Messages), Message: transcript.User("logged only")}
	if err := w.Log(false, add); err != nil {
		t.Fatal(err)
	}
	kill(w)
	if err := s.Edit("01ab", func(rec *transcript.Session) { rec.Archived = true }); err != nil {
		t.Fatal(err)
	}
	if got := content(t, s.recordPath("01ab")); !strings.Contains(got, "logged only") {
		t.Errorf("what the journal held is gone: %s", got)
	}
	if got := names(t, s.recordDir()); len(got) != 1 {
		t.Errorf("left %v", got)
	}
	if err := s.Delete("01ab"); err != nil {
		t.Fatal(err)
	}
	if got := names(t, s.recordDir()); len(got) != 0 {
		t.Errorf("left %v", got)
	}
}

// kill lets go of a session as the end of the process does.
func kill(w *Writer) {
	w.stop()
	<-w.done
	w.journal.file.Close()
	w.journal.lock.Unlock()
}

func TestListLeavesOutTheArchived(t *testing.T) {
	s := newStore(t)
	long := strings.Repeat("x", 2*headSize)
	at(t, s, "01aa", "/p", "2026-01-01T00:00:00.000Z", long)
	at(t, s, "01ab", "/p", "2026-01-02T00:00:00.000Z", long)
	if err := s.Edit("01ab", func(rec *transcript.Session) { rec.Archived = true }); err != nil {
		t.Fatal(err)
	}
	// Another program may have moved our members behind the messages.
	text := content(t, s.recordPath("01ab"))
	text = strings.Replace(text, "  \"archived\": true,\n", "", 1)
	behind := strings.TrimSuffix(text, "\n}") + ",\n  \"archived\": true\n}"
	for name, text := range map[string]string{"before the messages": content(t, s.recordPath("01ab")), "behind them": behind} {
		t.Run(name, func(t *testing.T) {
			write(t, s.recordPath("01ab"), text)
			s := Open(Options{Dir: s.dir, Now: s.now})
			if got := ids(list(t, s, ListOptions{Limit: 1})); got != "01aa" {
				t.Errorf("listed %s", got)
			}
			if got := ids(list(t, s, ListOptions{Archived: true})); got != "01ab 01aa" {
				t.Errorf("all: %s", got)
			}
			if id, err := s.Latest("/p"); id != "01aa" || err != nil {
				t.Errorf("latest %s, %v", id, err)
			}
		})
	}
}

func TestListFindsPromptsAndWhoWaits(t *testing.T) {
	s := newStore(t)
	call := transcript.Part{Type: transcript.TypeToolCall, ToolCallID: "c", ToolName: "bash", Input: []byte(`{"command":"say Needle"}`)}
	asked := transcript.Assistant(transcript.Text("a needle of the model"), call, transcript.Part{Type: transcript.TypeApprovalRequest, ApprovalID: "q", ToolCallID: "c"})
	yes := transcript.Tool(transcript.Part{Type: transcript.TypeApprovalResponse, ApprovalID: "q", Approved: true})
	result := transcript.Tool(transcript.Result(call, transcript.Output{Type: transcript.OutputText, Text: "needle"}, false))
	for id, after := range map[string][]*transcript.Message{
		"waits":    {asked},
		"answered": {asked, yes},
		"done":     {asked, yes, result},
		"dropped":  {asked, transcript.User("something else")},
		"plain":    nil,
	} {
		session := newSession(id, "/p", "run it", strings.Repeat("long ", promptsSize), "a NEEDLE at "+id)
		session.Messages = append(session.Messages, after...)
		save(t, s, session, Stamp{})
	}
	for _, i := range list(t, s, ListOptions{}).Sessions {
		if i.Waiting != (i.ID == "waits") {
			t.Errorf("%s waits: %v", i.ID, i.Waiting)
		}
	}
	for query, want := range map[string]int{"needle at": 5, "Needle At DONE": 1, "say needle": 0, "of the model": 3 /* the preview */, "long long": 5} {
		if got := list(t, s, ListOptions{Query: query}).Sessions; len(got) != want {
			t.Errorf("%q is in %d sessions, want %d", query, len(got), want)
		}
	}
}

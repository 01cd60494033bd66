package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	mock "shiro/agent/provider/providertest"
	wire "shiro/lsp/protocol"
)

func TestLifecycle(t *testing.T) {
	w := newWorld(t, mock.Options{})
	s := w.launch()
	s.refused(wire.KindNotInitialized, wire.MethodSessionList, wire.SessionListParams{})
	e := s.refused(wire.KindVersionUnsupported, "initialize", map[string]any{
		"capabilities": map[string]any{"experimental": map[string]any{"shiro": map[string]any{"protocolVersions": []int{99}}}},
	})
	if !strings.Contains(string(e.Data), `"supported":[1]`) {
		t.Errorf("data %s", e.Data)
	}
	res, err := s.Initialize(s.ctx(), w.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Capabilities struct {
			PositionEncoding string
			TextDocumentSync struct {
				OpenClose bool
				Change    int
			}
			Experimental struct{ Shiro wire.ServerCapabilities }
		}
	}
	if err := json.Unmarshal(res, &got); err != nil {
		t.Fatal(err)
	}
	c := got.Capabilities
	if c.PositionEncoding != "utf-16" || !c.TextDocumentSync.OpenClose || c.TextDocumentSync.Change != 2 {
		t.Errorf("capabilities %s", res)
	}
	if o := c.Experimental.Shiro; o.ProtocolVersion != 1 || o.SchemaSHA256 != wire.SchemaSHA256() || len(o.Methods) != len(wire.Methods()) {
		t.Errorf("shiro capabilities %+v", o)
	}
	s.refused(wire.KindInvalidRequest, "initialize", map[string]any{"capabilities": map[string]any{}})
	s.refused(wire.KindMethodNotFound, "shiro/no/such", nil)
	s.refused(wire.KindInvalidParams, wire.MethodSessionCreate, map[string]any{"cwd": 5})
	s.refused(wire.KindInvalidParams, wire.MethodSessionCreate, wire.SessionCreateParams{Cwd: "relative"})
	if schema := call[json.RawMessage](s, wire.MethodSchema, nil); string(schema) == "" || !strings.Contains(string(schema), wire.MethodTurnStart) {
		t.Error("no schema")
	}
	call[json.RawMessage](s, "shutdown", nil)
	s.refused(wire.KindInvalidRequest, wire.MethodSessionList, wire.SessionListParams{})
	s.refused(wire.KindInvalidRequest, "shutdown", nil)
	s.Notify("exit", nil)
	if code := s.exitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestUnknownSessions(t *testing.T) {
	w := newWorld(t, mock.Options{})
	s := w.start()
	for _, id := range []string{"", "01a22c70", "../../etc/passwd", "*", "01a22c70-28ed-719f-8f8d-f108fbe0c45e"} {
		s.refused(wire.KindSessionNotFound, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: id})
	}
	s.refused(wire.KindSessionNotFound, wire.MethodTurnStart, wire.TurnStartParams{SessionID: "x"})
	s.refused(wire.KindSessionNotFound, wire.MethodSessionClose, wire.SessionCloseParams{SessionID: "x"})
	s.refused(wire.KindApprovalNotFound, wire.MethodApprovalRespond, wire.ApprovalRespondParams{ApprovalID: "apr_x", OptionID: "once"})
	session := s.create()
	s.refused(wire.KindInvalidParams, wire.MethodTurnStart, wire.TurnStartParams{SessionID: session})
	s.refused(wire.KindInvalidParams, wire.MethodTurnStart, map[string]any{"sessionId": session, "input": []any{map[string]any{"type": "image", "data": "aGk="}}})
	s.refused(wire.KindInvalidParams, wire.MethodItemGet, wire.ItemGetParams{SessionID: session, ItemID: "itm_9_9"})
	s.refused(wire.KindInvalidParams, wire.MethodSessionHistory, wire.SessionHistoryParams{SessionID: session, Before: "itm_9_9"})
	s.quit()
}

// Prompts sent while a turn runs wait, run in order, and are handed back by an
// interrupt.
func TestQueue(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{bash("true"), mock.Say("one"), mock.Say("two"), bash("true")}}).speaks("responses")
	s := w.start()
	session := s.create()
	start := func(text string, when wire.WhenBusy, id string) wire.TurnStartParams {
		return wire.TurnStartParams{SessionID: session, Input: []wire.Content{{Type: wire.ContentText, Text: text}}, WhenBusy: when, ClientRequestID: id}
	}
	first := call[wire.TurnStartResult](s, wire.MethodTurnStart, start("first", "", "a"))
	a := s.asked()
	if again := call[wire.TurnStartResult](s, wire.MethodTurnStart, start("first", "", "a")); again != first {
		t.Errorf("a repeat started %+v, want %+v", again, first)
	}
	s.refused(wire.KindDuplicateRequest, wire.MethodTurnStart, start("other", "", "a"))
	e := s.refused(wire.KindTurnBusy, wire.MethodTurnStart, start("impatient", wire.WhenBusyError, ""))
	if !strings.Contains(string(e.Data), first.TurnID) {
		t.Errorf("data %s", e.Data)
	}
	queued := call[wire.TurnStartResult](s, wire.MethodTurnStart, start("second", wire.WhenBusyQueue, ""))
	if queued.Disposition != wire.DispositionQueued || !strings.HasPrefix(queued.QueueID, wire.PrefixQueue) {
		t.Errorf("queued as %+v", queued)
	}
	if q := next[wire.Queue](s, wire.EventQueueUpdated); len(q.Entries) != 1 || q.Entries[0].Text != "second" {
		t.Errorf("queue %+v", q)
	}
	s.answer(a, "once")
	s.ended()
	if st := next[wire.TurnStarted](s, wire.EventTurnStarted); st.Trigger != wire.TriggerQueue || st.Input[0].Text != "second" {
		t.Errorf("started %+v", st)
	}
	s.ended()

	turn := s.prompt(session, "third")
	s.asked()
	for _, text := range []string{"fourth", "fifth"} {
		call[wire.TurnStartResult](s, wire.MethodTurnStart, start(text, "", ""))
	}
	s.refused(wire.KindTurnMismatch, wire.MethodTurnInterrupt, wire.TurnInterruptParams{SessionID: session, TurnID: queued.TurnID})
	back := call[wire.TurnInterruptResult](s, wire.MethodTurnInterrupt, wire.TurnInterruptParams{SessionID: session, TurnID: turn})
	if strings.Join(back.Discarded, ",") != "fourth,fifth" {
		t.Errorf("handed back %v", back.Discarded)
	}
	s.ended()
	w.strict()
	users := w.model.Requests()
	s.quit()
	if n := len(users); n != 4 {
		t.Errorf("%d requests, want 4", n)
	}
	if rec := fmt.Sprint(w.record(session)["messages"]); strings.Contains(rec, "fourth") || !strings.Contains(rec, "second") {
		t.Errorf("record %s", rec)
	}
}

// A client that was away is told what it missed: by the events after its
// cursor, or by the state when they are of another life of the server.
func TestAttach(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{mock.Say("first answer"), mock.Say("second answer")}}).speaks("responses")
	s := w.start()
	session := s.create()
	s.prompt(session, "one")
	s.ended()
	next[wire.SessionInfo](s, wire.EventSessionUpdated)
	attach := func(after int64, epoch string) wire.SessionAttachResult {
		return call[wire.SessionAttachResult](s, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: session, After: &after, Epoch: epoch})
	}
	fresh := call[wire.SessionAttachResult](s, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: session})
	if fresh.Mode != wire.AttachSnapshot || fresh.Reason != wire.AttachFresh || len(fresh.State.Items) != 2 {
		t.Fatalf("fresh %+v", fresh)
	}
	seen := s.Events()
	all := attach(0, fresh.Epoch)
	if all.Mode != wire.AttachReplay || all.More || all.Seq != fresh.Seq {
		t.Fatalf("from the start %+v", all)
	}
	var durable []wire.Event
	for _, e := range seen {
		if e.Seq > 0 {
			durable = append(durable, e)
		}
	}
	got, _ := json.Marshal(all.Events)
	want, _ := json.Marshal(durable)
	if string(got) != string(want) {
		t.Errorf("replayed\n%s\nsent\n%s", got, want)
	}
	for i, e := range all.Events {
		if e.Seq != int64(i+1) {
			t.Errorf("event %d has number %d", i, e.Seq)
		}
	}
	if r := attach(fresh.Seq, fresh.Epoch); r.Mode != wire.AttachReplay || len(r.Events) != 0 {
		t.Errorf("at the end %+v", r)
	}
	for _, r := range []wire.SessionAttachResult{attach(fresh.Seq+5, fresh.Epoch), attach(1, "another epoch")} {
		if r.Mode != wire.AttachSnapshot || r.Reason != wire.AttachEpoch {
			t.Errorf("a cursor that does not fit: %+v", r)
		}
	}
	from := len(s.Events())
	s.prompt(session, "two")
	s.at = from
	s.ended()
	last := fresh.Seq
	for _, e := range s.Events()[from:] {
		if e.Seq > 0 && e.Seq != last+1 {
			t.Errorf("event %d after %d", e.Seq, last)
		} else if e.Seq > 0 {
			last = e.Seq
		}
	}
	call[wire.Empty](s, wire.MethodSessionDetach, wire.SessionDetachParams{SessionID: session})
	call[wire.Empty](s, wire.MethodSessionClose, wire.SessionCloseParams{SessionID: session})
	again := attach(last, fresh.Epoch)
	if again.Mode != wire.AttachSnapshot || len(again.State.Items) != 4 {
		t.Errorf("after close %+v", again)
	}
	s.quit()
}

// History comes in pages; long output is fetched in parts that never cut a
// character.
func TestHistoryAndLongOutput(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{mock.Call("read_file", args{"path": "big.txt"}), mock.Say("read")}}).speaks("responses")
	w.write("big.txt", strings.Repeat(strings.Repeat("漢字😀", 20)+"\n", 2000))
	s := w.start()
	session := s.create()
	s.prompt(session, "go")
	s.ended()
	page := func(before string, limit int) wire.SessionHistoryResult {
		return call[wire.SessionHistoryResult](s, wire.MethodSessionHistory, wire.SessionHistoryParams{SessionID: session, Before: before, Limit: limit, View: wire.HistoryFull})
	}
	newest := page("", 1)
	if len(newest.Items) != 1 || newest.Items[0].Text != "read" || !newest.HasOlder {
		t.Fatalf("newest %+v", newest)
	}
	older := page(newest.Items[0].ID, 10)
	if len(older.Items) != 2 || older.HasOlder {
		t.Fatalf("older %+v", older)
	}
	it := older.Items[1]
	if it.OutputRef == nil || int64(len(it.Output)) >= it.OutputRef.Size {
		t.Fatalf("a long result: ref %+v, %d bytes inline", it.OutputRef, len(it.Output))
	}
	whole := ""
	for {
		part := call[wire.ItemGetResult](s, wire.MethodItemGet, wire.ItemGetParams{
			SessionID: session, ItemID: it.ID, Channel: wire.ChannelOutput, Offset: int64(len(whole)), Limit: 1001,
		})
		if part.From != int64(len(whole)) || len(part.Text) == 0 {
			t.Fatalf("part %d-%d after %d bytes", part.From, part.To, len(whole))
		}
		whole += part.Text
		if !part.More {
			break
		}
	}
	if int64(len(whole)) != it.OutputRef.Size || !strings.HasPrefix(whole, it.Output) || strings.Contains(whole, "\uFFFD") {
		t.Errorf("%d bytes of %d", len(whole), it.OutputRef.Size)
	}
	s.quit()
}

// The editor refuses an edit, or says it applied one that it did not: the
// model is told, and nothing is written behind the editor.
func TestEditorRefusesEdit(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{
		mock.Call("edit_file", args{"path": "a.txt", "oldString": "text", "newString": "TEXT"}), mock.Say("noted"),
	}}).speaks("responses")
	w.write("a.txt", "text\n")
	s := w.launch()
	s.OnApply = func(string) string { return "the document is read-only" }
	if _, err := s.Initialize(s.ctx(), w.dir, nil); err != nil {
		t.Fatal(err)
	}
	s.Open(filepath.Join(w.dir, "a.txt"), "text\n")
	s.prompt(s.create(), "go")
	s.answer(s.asked(), "once")
	s.ended()
	if r := w.model.Requests()[1].Results()[0].Text; !strings.Contains(r, "the document is read-only") {
		t.Errorf("result %q", r)
	}
	if w.read("a.txt") != "text\n" {
		t.Error("the file was written behind the editor")
	}
	s.quit()
}

// What the editor shows comes with each step and is never stored.
func TestEditorContext(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{mock.Call("list_dir", nil), mock.Say("seen")}}).speaks("responses")
	s := w.start()
	session := s.create()
	uri := "file://" + filepath.Join(w.dir, "main.go")
	call[wire.TurnStartResult](s, wire.MethodTurnStart, wire.TurnStartParams{
		SessionID: session,
		Input:     []wire.Content{{Type: wire.ContentText, Text: "fix this"}, {Type: wire.ContentResourceLink, URI: uri}},
		EditorContext: &wire.EditorContext{
			ActiveURI: uri, Selection: &wire.Range{Start: wire.Position{Line: 4}, End: wire.Position{Line: 9}},
			Diagnostics: []wire.EditorDiagnostic{{URI: uri, Range: wire.Range{Start: wire.Position{Line: 6}}, Severity: 1, Message: "undefined: x"}},
		},
	})
	s.ended()
	for i, r := range w.model.Requests() {
		body := string(r.Body)
		if !strings.Contains(body, "lines 5-10 selected") || !strings.Contains(body, "main.go:7: error: undefined: x") {
			t.Errorf("request %d lacks the editor's state", i)
		}
	}
	s.quit()
	if rec := fmt.Sprint(w.record(session)["messages"]); strings.Contains(rec, "selected") || !strings.Contains(rec, "@"+filepath.Join(w.dir, "main.go")) {
		t.Errorf("record %s", rec)
	}
}

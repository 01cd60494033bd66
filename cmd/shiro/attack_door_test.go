//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	mock "shiro/agent/provider/providertest"
	"shiro/lsp/lsptest"
	wire "shiro/lsp/protocol"
)

// Rounds of the tests that try at random; more of them find more.
const (
	orderRounds  = 2
	killRounds   = 8
	mirrorEdits  = 400
	busyRounds   = 300
	closeRounds  = 5
	detachRounds = 30

	randomRequests = 400
)

// A rawEditor is a client below lsptest's: it sends any bytes, keeps every
// message in the order in which it came, and answers the server as a test
// wants it to.
type rawEditor struct {
	t   testing.TB
	w   *world
	cmd *exec.Cmd
	in  io.WriteCloser
	out *os.File
	log *logBuffer
	// onMessage sees every message on the reading goroutine. Requests of the
	// server are answered there or not at all.
	onMessage func(rawMessage)

	writing sync.Mutex
	mu      sync.Mutex
	changed chan struct{} // closed and replaced with each message
	got     []rawMessage
	last    int           // request id
	done    chan struct{} // closed when the server's output has ended
}

// A rawMessage is one message of the server.
type rawMessage struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *wire.Error
	size   int // of the body, in bytes
}

// connect starts the program. Change may be nil.
func (w *world) connect(change func(*exec.Cmd)) *rawEditor {
	w.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	out, pw, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	e := &rawEditor{t: w.t, w: w, cmd: exec.Command(exe), out: out, log: &logBuffer{}, changed: make(chan struct{}), done: make(chan struct{})}
	e.cmd.Env, e.cmd.Dir, e.cmd.Stdout, e.cmd.Stderr = append(w.env, asProgram+"=1"), w.dir, pw, e.log
	if change != nil {
		change(e.cmd)
	}
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	if err := e.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	pw.Close()
	go e.read()
	w.t.Cleanup(func() {
		e.cmd.Process.Kill()
		<-e.done
		e.cmd.Wait()
		e.out.Close()
		if log := e.log.String(); strings.Contains(log, "DATA RACE") {
			w.t.Errorf("%.2000s", log)
		}
	})
	return e
}

func (e *rawEditor) read() {
	defer close(e.done)
	r := bufio.NewReaderSize(e.out, 64<<10)
	for {
		h, err := textproto.NewReader(r).ReadMIMEHeader()
		if err != nil {
			return
		}
		n, err := strconv.Atoi(h.Get("Content-Length"))
		if err != nil {
			e.t.Errorf("header %v", h)
			return
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		m := rawMessage{size: n}
		if err := json.Unmarshal(body, &m); err != nil {
			e.t.Errorf("%v in %.200q", err, body)
			return
		}
		e.mu.Lock()
		e.got = append(e.got, m)
		close(e.changed)
		e.changed = make(chan struct{})
		e.mu.Unlock()
		if e.onMessage != nil {
			e.onMessage(m)
		}
	}
}

// write sends bytes as they are. A server that is gone is noticed by what does
// not come back.
func (e *rawEditor) write(s string) {
	e.writing.Lock()
	defer e.writing.Unlock()
	io.WriteString(e.in, s)
}

// framed is a message with its header; a string is a body as it is.
func framed(m any) string {
	body, ok := m.(string)
	if !ok {
		b, err := json.Marshal(m)
		if err != nil {
			panic(err)
		}
		body = string(b)
	}
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

func (e *rawEditor) notify(method string, params any) {
	e.write(framed(args{"jsonrpc": "2.0", "method": method, "params": params}))
}

func (e *rawEditor) reply(m rawMessage, result any) {
	e.write(framed(args{"jsonrpc": "2.0", "id": m.ID, "result": result}))
}

// request returns a request and its id, to be written with others.
func (e *rawEditor) request(method string, params any) (id, text string) {
	e.mu.Lock()
	e.last++
	n := e.last
	e.mu.Unlock()
	return strconv.Itoa(n), framed(args{"jsonrpc": "2.0", "id": n, "method": method, "params": params})
}

// ask sends a request and returns its id.
func (e *rawEditor) ask(method string, params any) string {
	id, text := e.request(method, params)
	e.write(text)
	return id
}

func (e *rawEditor) messages() []rawMessage {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.got[:len(e.got):len(e.got)]
}

// await returns the first message from index from on that fits, and the index
// after it.
func (e *rawEditor) await(from int, fits func(rawMessage) bool) (rawMessage, int) {
	e.t.Helper()
	for deadline := time.After(patience); ; {
		e.mu.Lock()
		got, changed := e.got, e.changed
		e.mu.Unlock()
		for ; from < len(got); from++ {
			if fits(got[from]) {
				return got[from], from + 1
			}
		}
		select {
		case <-changed:
		case <-e.done:
			if len(e.messages()) == len(got) {
				e.t.Fatalf("the server is gone after %d messages\n%s", len(got), e.log)
			}
		case <-deadline:
			e.t.Fatalf("still waiting after %d messages\n%s", len(got), e.log)
		}
	}
}

// response waits for the answer to a request.
func (e *rawEditor) response(id string) rawMessage {
	e.t.Helper()
	m, _ := e.await(0, func(m rawMessage) bool { return m.Method == "" && string(m.ID) == id })
	return m
}

// rawCall makes a request that must succeed.
func rawCall[R any](e *rawEditor, method string, params any) (r R) {
	e.t.Helper()
	m := e.response(e.ask(method, params))
	if m.Error != nil {
		e.t.Fatalf("%s: %+v\n%s", method, m.Error, e.log)
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		e.t.Fatalf("%s: %v", method, err)
	}
	return r
}

func (m rawMessage) event() (e wire.Event, ok bool) {
	return e, m.Method == wire.MethodEvent && json.Unmarshal(m.Params, &e) == nil
}

// rawNext waits for an event from index from on.
func rawNext[D any](e *rawEditor, from int, typ wire.EventType) (d D, at int) {
	e.t.Helper()
	_, at = e.await(from, func(m rawMessage) bool {
		ev, ok := m.event()
		if ok = ok && ev.Type == typ; ok {
			d = ev.Data.(D)
		}
		return ok
	})
	return d, at
}

// hello introduces the editor. Capabilities nil: it takes versioned edits.
func (e *rawEditor) hello(capabilities args) {
	e.t.Helper()
	if capabilities == nil {
		capabilities = args{"workspace": args{"applyEdit": true, "workspaceEdit": args{"documentChanges": true}}}
	}
	rawCall[json.RawMessage](e, "initialize", args{"processId": nil, "rootUri": nil, "capabilities": capabilities})
	e.notify("initialized", args{})
}

func (e *rawEditor) create() string {
	e.t.Helper()
	return rawCall[wire.SessionCreateResult](e, wire.MethodSessionCreate, wire.SessionCreateParams{Cwd: e.w.dir}).Session.ID
}

func promptParams(session, text string) wire.TurnStartParams {
	return wire.TurnStartParams{SessionID: session, Input: []wire.Content{{Type: wire.ContentText, Text: text}}}
}

func (e *rawEditor) prompt(session, text string) string {
	e.t.Helper()
	return rawCall[wire.TurnStartResult](e, wire.MethodTurnStart, promptParams(session, text)).TurnID
}

// allow waits for an approval and answers it.
func (e *rawEditor) allow() (at int) {
	e.t.Helper()
	a, at := rawNext[wire.Approval](e, 0, wire.EventApprovalRequested)
	rawCall[json.RawMessage](e, wire.MethodApprovalRespond, wire.ApprovalRespondParams{ApprovalID: a.ApprovalID, OptionID: "once"})
	return at
}

func (e *rawEditor) open(path, text string) {
	e.notify("textDocument/didOpen", args{"textDocument": args{"uri": lsptest.URI(path), "languageId": "x", "version": 1, "text": text}})
}

// change tells of a change; without a range it is the whole text.
func (e *rawEditor) change(path string, version int, change args) {
	e.notify("textDocument/didChange", args{"textDocument": args{"uri": lsptest.URI(path), "version": version}, "contentChanges": []args{change}})
}

func (e *rawEditor) exitCode() int {
	e.t.Helper()
	select {
	case <-e.done:
	case <-time.After(patience):
		e.t.Fatalf("the server did not end\n%s", e.log)
	}
	e.cmd.Wait()
	return e.cmd.ProcessState.ExitCode()
}

// stored writes the record of a conversation.
func (w *world) stored(id, messages string) {
	w.t.Helper()
	w.write(filepath.Join(w.home, ".shiro-neko", "sessions", id+".json"), fmt.Sprintf(
		`{"id":%q,"createdAt":"2026-08-11T09:10:00.000Z","updatedAt":"2026-08-11T09:14:31.482Z","cwd":%q,"provider":"openai","model":"m","title":"x","inputTokens":1,"outputTokens":1,"messages":[%s]}`,
		id, w.dir, messages))
}

const storedID1 = "01a22c70-28ed-719f-8f8d-f108fbe0c45e"

// records counts the stored conversations.
func (w *world) records() int {
	names, err := filepath.Glob(filepath.Join(w.home, ".shiro-neko", "sessions", "*.json"))
	if err != nil {
		w.t.Fatal(err)
	}
	return len(names)
}

// An editor names its documents by the path the user opened, which may lead
// through a link; the model is given the same documents, and edits them there.
func TestOpenDocumentIsFoundThroughALink(t *testing.T) {
	for _, name := range []string{"workspace", "folder in it", "file not saved yet"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, mock.Options{Script: []mock.Step{
				mock.Call("read_file", args{"path": "sub/a.txt"}),
				mock.Call("edit_file", args{"path": "sub/a.txt", "oldString": "unsaved", "newString": "edited"}), mock.Say("done"),
			}})
			w.config("[provider]\napi = \"responses\"\n[permission]\nedit_file = \"allow\"\n")
			w.write("sub/b.txt", "beside it\n")
			if name != "file not saved yet" {
				w.write("sub/a.txt", "on disk\n")
			}
			cwd, target, link := w.dir, "sub", filepath.Join(w.dir, "link")
			if name != "folder in it" {
				target, link = w.dir, filepath.Join(t.TempDir(), "link")
				cwd = link
			}
			if err := os.Symlink(target, link); err != nil {
				t.Fatal(err)
			}
			document := filepath.Join(link, "a.txt")
			if name != "folder in it" {
				document = filepath.Join(link, "sub", "a.txt")
			}
			s := w.start()
			s.Open(document, "unsaved\n")
			id := call[wire.SessionCreateResult](s, wire.MethodSessionCreate, wire.SessionCreateParams{Cwd: cwd}).Session.ID
			s.prompt(id, "go")
			s.ended()
			if r := w.model.Requests()[1].Results()[0].Text; !strings.Contains(r, "unsaved") {
				t.Errorf("the model read %q", r)
			}
			if b, _ := s.Buffer(document); b.Text != "edited\n" {
				t.Errorf("buffer %q", b.Text)
			}
			if got, _ := os.ReadFile(filepath.Join(w.dir, "sub", "a.txt")); string(got) != "on disk\n" && len(got) > 0 {
				t.Errorf("behind the editor's back the file became %q", got)
			}
			s.quit()
		})
	}
}

// The editor is closed while a question is open. That is no answer: it is asked
// again, and nothing ran before.
func TestOpenApprovalSurvivesAnOrderlyEnd(t *testing.T) {
	for name, leave := range map[string]func(s *server, session string){
		"end of input": func(s *server, _ string) { s.Close(); s.exitCode() },
		"SIGTERM":      func(s *server, _ string) { s.cmd.Process.Signal(syscall.SIGTERM); s.exitCode() },
		"shutdown":     func(s *server, _ string) { s.quit() },
		"session/close": func(s *server, id string) {
			call[wire.Empty](s, wire.MethodSessionClose, wire.SessionCloseParams{SessionID: id})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, mock.Options{Script: []mock.Step{bash("touch ran"), mock.Say("done")}}).speaks("responses")
			s := w.start()
			session := s.create()
			s.prompt(session, "go")
			before := s.asked()
			if leave(s, session); name != "session/close" {
				s = w.start()
			}
			s.at = len(s.Events())
			at := call[wire.SessionAttachResult](s, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: session})
			if at.State.ActiveTurn == nil {
				last := at.State.Items[len(at.State.Items)-1]
				t.Fatalf("the question is gone; the call is %s: %q", last.Status, last.Output)
			}
			var a wire.Approval
			if p := at.State.PendingApprovals; len(p) == 1 {
				a = p[0]
			} else {
				a = s.asked()
			}
			if a.Subject.Command == nil || a.Subject.Command.Command != before.Subject.Command.Command || len(files(w)) != 0 {
				t.Errorf("asked %+v, files %v", a, files(w))
			}
			s.answer(a, "once")
			if end := s.ended(); end.Status != wire.TurnDone || !slices.Equal(files(w), []string{"ran"}) {
				t.Errorf("turn %+v, files %v", end, files(w))
			}
			w.strict()
			s.quit()
		})
	}
}

// The terminal goes away: the end is as orderly as any other.
func TestHangup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Options{Script: []mock.Step{bash(sleepers), mock.Say("back")}}).speaks("responses")
	s := w.start()
	session, _ := busy(t, w, s)
	s.cmd.Process.Signal(syscall.SIGHUP)
	if code := s.exitCode(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	gone(t, pids(t, w)) // first, since it ends what is left
	if rec, _ := json.Marshal(w.record(session)); !strings.Contains(string(rec), "tool-result") {
		t.Error("the interrupted call is not in the record")
	}
}

// A record that is odd in its last message, or says something twice, neither
// ends the server nor wedges its session.
func TestOddRecordsGoOn(t *testing.T) {
	const asked = `{"type":"tool-call","toolCallId":"c1","toolName":"bash","input":{"command":"touch ran"}},{"type":"tool-approval-request","approvalId":"aitxt-012345678901234567890123","toolCallId":"c1"}`
	for name, tail := range map[string]string{
		"results of nothing":  `{"role":"assistant","content":[{"type":"text","text":"yo"}]},{"role":"tool","content":[]}`,
		"a text as results":   `{"role":"assistant","content":[{"type":"text","text":"yo"}]},{"role":"tool","content":"text"}`,
		"results first":       `{"role":"tool","content":[]}`,
		"an answer of none":   `{"role":"assistant","content":[{"type":"text","text":"yo"}]},{"role":"tool","content":[{"type":"tool-approval-response","approvalId":"x","approved":true}]}`,
		"a call of nothing":   `{"role":"assistant","content":[{"type":"tool-call"},{"type":"tool-approval-request"}]}`,
		"parts of nothing":    `{"role":"assistant","content":[{"type":"text"},{"type":"reasoning"},{"type":"later"}]}`,
		"one question, twice": `{"role":"assistant","content":[` + asked + `,` + asked + `]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, mock.Options{}).speaks("chat")
			w.stored(storedID1, `{"role":"user","content":"hi"},`+tail)
			s := w.start()
			at := call[wire.SessionAttachResult](s, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: storedID1})
			if at.State.ActiveTurn != nil {
				if _, _, err := s.WaitEvent(s.ctx(), 0, func(e wire.Event) bool {
					i, ok := e.Data.(wire.SessionInfo)
					return ok && i.State != wire.SessionRunning
				}); err != nil && len(at.State.PendingApprovals) == 0 {
					t.Fatal(err)
				}
				open := call[wire.ApprovalListResult](s, wire.MethodApprovalList, wire.ApprovalListParams{})
				for _, a := range open.Approvals {
					s.answer(a, "no")
				}
				if open = call[wire.ApprovalListResult](s, wire.MethodApprovalList, wire.ApprovalListParams{}); len(open.Approvals) > 0 {
					t.Fatalf("cannot be answered: %+v", open.Approvals)
				}
			}
			s.prompt(storedID1, "are you there?")
			if _, _, err := s.WaitEvent(s.ctx(), 0, func(e wire.Event) bool { return e.Type == wire.EventTurnCompleted }); err != nil {
				log := s.log.String()
				t.Fatalf("%v\n%.600s", err, log[max(strings.Index(log, "panic:"), 0):])
			}
			if len(files(w)) != 0 {
				t.Errorf("files %v", files(w))
			}
		})
	}
}

// Without a home the server does not start: it would lose conversations, or keep
// them in the user's project, whose own files are not the user's configuration.
func TestNoHome(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Options{})
	env := slices.DeleteFunc(w.env, func(v string) bool { return strings.HasPrefix(v, "HOME=") || strings.HasPrefix(v, "SHIRO_HOME=") })
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "lsp")
	cmd.Dir, cmd.Env = w.dir, append(env, asProgram+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "SHIRO_HOME") {
		t.Errorf("%v: %s", err, out)
	}
	if entries, _ := os.ReadDir(w.dir); len(entries) != 0 {
		t.Errorf("%v in the project", entries)
	}
}

// Requests about one session are carried out in the order they were sent,
// without waiting for their answers.
func TestSessionRequestsKeepTheirOrder(t *testing.T) {
	t.Run("close, attach", func(t *testing.T) {
		t.Parallel()
		for range closeRounds {
			w := newWorld(t, mock.Options{}).speaks("responses")
			e := w.connect(nil)
			e.hello(nil)
			session := e.create()
			e.prompt(session, "one")
			_, at := rawNext[wire.TurnCompleted](e, 0, wire.EventTurnCompleted)
			_, leave := e.request(wire.MethodSessionClose, wire.SessionCloseParams{SessionID: session})
			id, come := e.request(wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: session})
			e.write(leave + come)
			m := e.response(id)
			if m.Error != nil {
				t.Fatalf("attach: %v", m.Error.Message)
			}
			var res wire.SessionAttachResult
			if err := json.Unmarshal(m.Result, &res); err != nil || len(res.State.Items) != 2 {
				t.Fatalf("%v, items %+v", err, res.State.Items)
			}
			if m := e.response(e.ask(wire.MethodTurnStart, promptParams(session, "two"))); m.Error != nil {
				t.Fatalf("turn/start: %v", m.Error.Message)
			}
			rawNext[wire.TurnCompleted](e, at, wire.EventTurnCompleted)
			rawCall[json.RawMessage](e, "shutdown", nil)
			if n := w.records(); n != 1 {
				t.Fatalf("%d records of one conversation", n)
			}
		}
	})
	t.Run("attach, turn/start", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, mock.Options{}).speaks("responses")
		w.stored(storedID1, `{"role":"user","content":"hi"}`)
		e := w.connect(nil)
		e.hello(nil)
		_, attach := e.request(wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: storedID1})
		id, start := e.request(wire.MethodTurnStart, promptParams(storedID1, "go"))
		e.write(attach + start)
		if m := e.response(id); m.Error != nil {
			t.Error(m.Error.Message)
		}
	})
	t.Run("attach, detach", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, mock.Options{}).speaks("responses")
		e := w.connect(nil)
		e.hello(nil)
		session := e.create()
		for n := range detachRounds {
			came, attach := e.request(wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: session})
			gone, detach := e.request(wire.MethodSessionDetach, wire.SessionDetachParams{SessionID: session})
			e.write(attach + detach)
			e.response(came)
			e.response(gone)
			at := len(e.messages())
			e.prompt(session, "go")
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			if _, err := w.model.Wait(ctx, n+1); err != nil {
				t.Fatal(err)
			}
			cancel()
			e.response(e.ask(wire.MethodApprovalList, nil))
			if i := slices.IndexFunc(e.messages()[at:], func(m rawMessage) bool { return m.Method != "" }); i >= 0 {
				t.Fatalf("detached, but told %s", e.messages()[at+i].Params)
			}
		}
	})
}

// An item is known by one id for good: in events, snapshots and history; and no
// other item ever has it.
func TestItemsKeepTheirIDs(t *testing.T) {
	partial := mock.Reply(mock.Reasoning("thinking it over"), mock.Text("partial words")).Chunk(4)
	for name, c := range map[string]struct {
		script []mock.Step
		drive  func(s *server, session string)
	}{
		"parallel questions": {
			[]mock.Step{mock.Reply(mock.Reasoning("hm"), bash("echo 1"), bash("echo 2"), bash("echo 3")), mock.Say("done")},
			func(s *server, session string) {
				s.prompt(session, "go")
				asked := []wire.Approval{s.asked(), s.asked(), s.asked()}
				at := call[wire.SessionAttachResult](s, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: session})
				var shown, want []string
				for _, it := range at.State.Items {
					if it.Kind == wire.ItemTool {
						shown = append(shown, it.ID+" "+it.Title)
					}
				}
				for _, a := range asked {
					want = append(want, a.ItemID+" "+a.Title)
				}
				if !slices.Equal(shown, want) {
					s.w.t.Errorf("the snapshot shows %q, asked was about %q", shown, want)
				}
				for _, a := range asked {
					s.answer(a, "once")
				}
				s.ended()
			},
		},
		"an attempt made again": {
			[]mock.Step{partial.Reset(5), mock.Reply(mock.Reasoning("thinking"), mock.Text("whole"))},
			func(s *server, session string) { s.prompt(session, "go"); s.ended() },
		},
		"interrupted": {
			[]mock.Step{partial.Silence(6)},
			func(s *server, session string) {
				turn := s.prompt(session, "go")
				for d := next[wire.ItemDelta](s, wire.EventItemDelta); d.Channel != wire.ChannelText; {
					d = next[wire.ItemDelta](s, wire.EventItemDelta)
				}
				call[json.RawMessage](s, wire.MethodTurnInterrupt, wire.TurnInterruptParams{SessionID: session, TurnID: turn})
				s.ended()
			},
		},
		"a prompt after a failure": {
			[]mock.Step{partial.Failed("invalid_request_error", "no"), mock.Say("fine")},
			func(s *server, session string) {
				for range 2 {
					s.prompt(session, "go")
					s.ended()
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, mock.Options{Script: c.script})
			w.config("[provider]\napi = \"responses\"\nmax_retries = 1\n")
			s := w.start()
			session := s.create()
			c.drive(s, session)
			begun, told := make(map[string]bool), make(map[string]wire.Item)
			for _, e := range s.Events() {
				if d, ok := e.Data.(wire.ItemEvent); ok {
					if e.Type == wire.EventItemStarted && begun[d.Item.ID] {
						t.Errorf("%s is begun twice", d.Item.ID)
					}
					begun[d.Item.ID], told[d.Item.ID] = true, d.Item
				}
			}
			h := call[wire.SessionHistoryResult](s, wire.MethodSessionHistory, wire.SessionHistoryParams{SessionID: session})
			for _, it := range h.Items {
				if was := told[it.ID]; was.Kind != it.Kind || was.Title != it.Title || was.Text != it.Text || was.Withdrawn {
					t.Errorf("history %s %s %q %q, told %s %q %q withdrawn %v", it.ID, it.Kind, it.Title, it.Text, was.Kind, was.Title, was.Text, was.Withdrawn)
				}
			}
			s.quit()
		})
	}
}

// A conversation whose folder was renamed or removed can still be read.
func TestConversationOutlivesItsFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Options{}).speaks("responses")
	w.stored(storedID1, `{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"text","text":"yo"}]}`)
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	w.dir = t.TempDir() // where the next server is started
	s := w.start()
	var at wire.SessionAttachResult
	if err := s.Call(s.ctx(), wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: storedID1}, &at); err != nil || len(at.State.Items) != 2 {
		t.Errorf("attach: %v", err)
	}
	var h wire.SessionHistoryResult
	if err := s.Call(s.ctx(), wire.MethodSessionHistory, wire.SessionHistoryParams{SessionID: storedID1}, &h); err != nil || len(h.Items) != 2 {
		t.Errorf("history: %v", err)
	}
	s.quit()
}

// What comes of an edit of an open document, by how the editor behaves.
func TestEditorAndEdits(t *testing.T) {
	rest := numbered(9) // so that what is typed below is not beside the edit
	for name, c := range map[string]struct {
		capabilities args
		react        func(e *rawEditor, path string, m rawMessage)
		interrupt    bool
		asked        int    // times that the editor is asked to apply
		says         string // the result, for the model
	}{
		"the user types on": {asked: 1, says: "Edited a.txt", react: func(e *rawEditor, path string, m rawMessage) {
			e.change(path, 2, args{"text": "TEXT\n" + rest})
			e.change(path, 3, args{"text": "TEXT\n" + rest + "mine\n"})
			e.reply(m, args{"applied": true})
		}},
		"the user typed first": {asked: 2, says: "Edited a.txt", react: func() func(*rawEditor, string, rawMessage) {
			n := 0
			return func(e *rawEditor, path string, m rawMessage) {
				if n++; n == 1 {
					e.change(path, 2, args{"text": "text\n" + rest + "mine\n"})
					e.reply(m, args{"applied": false, "failureReason": "the version is 2"})
					return
				}
				e.change(path, 3, args{"text": "TEXT\n" + rest + "mine\n"})
				e.reply(m, args{"applied": true})
			}
		}()},
		"interrupted before it answers": {asked: 1, says: "read", interrupt: true, react: func(*rawEditor, string, rawMessage) {}},
		"it cannot apply edits": {capabilities: args{"workspace": args{}}, asked: 0, says: "a.txt", react: func(e *rawEditor, _ string, m rawMessage) {
			e.reply(m, args{"applied": false})
		}},
		"it fails": {asked: 1, says: "read-only", react: func(e *rawEditor, _ string, m rawMessage) {
			e.write(framed(args{"jsonrpc": "2.0", "id": m.ID, "error": args{"code": -32603, "message": "read-only"}}))
		}},
		"it answers nonsense": {asked: 1, says: "did not apply", react: func(e *rawEditor, _ string, m rawMessage) { e.reply(m, "yes") }},
		"it answers null":     {asked: 1, says: "refused", react: func(e *rawEditor, _ string, m rawMessage) { e.reply(m, nil) }},
		"it tells the change late": {asked: 1, says: "Edited a.txt", react: func(e *rawEditor, path string, m rawMessage) {
			e.reply(m, args{"applied": true})
			e.change(path, 2, args{"text": "TEXT\n" + rest})
		}},
		"it closes the document": {asked: 1, says: "was closed", react: func(e *rawEditor, path string, m rawMessage) {
			e.notify("textDocument/didClose", args{"textDocument": args{"uri": lsptest.URI(path)}})
			e.reply(m, args{"applied": true})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, mock.Options{Script: []mock.Step{
				mock.Call("edit_file", args{"path": "a.txt", "oldString": "text", "newString": "TEXT"}),
			}}).speaks("responses")
			w.write("a.txt", "text\n"+rest)
			path := filepath.Join(w.dir, "a.txt")
			e := w.connect(nil)
			requests := make(chan rawMessage, 8)
			e.onMessage = func(m rawMessage) {
				if m.Method == "workspace/applyEdit" {
					c.react(e, path, m)
					requests <- m
				}
			}
			e.hello(c.capabilities)
			e.open(path, "text\n"+rest)
			session := e.create()
			turn := e.prompt(session, "go")
			at := e.allow()
			if c.interrupt {
				<-requests
				requests <- rawMessage{}
				rawCall[json.RawMessage](e, wire.MethodTurnInterrupt, wire.TurnInterruptParams{SessionID: session, TurnID: turn})
			}
			begun := time.Now()
			_, at = rawNext[wire.TurnCompleted](e, at, wire.EventTurnCompleted)
			if took := time.Since(begun); took > 2*time.Second {
				t.Errorf("the turn took %v more", took)
			}
			e.prompt(session, "and?")
			rawNext[wire.TurnCompleted](e, at, wire.EventTurnCompleted)
			if n := len(requests); n != c.asked {
				t.Errorf("asked the editor %d times, want %d", n, c.asked)
			}
			items := w.model.Requests()[1].Items()
			i := slices.IndexFunc(items, func(it mock.Item) bool { return it.Kind == "result" })
			if i < 0 || !strings.Contains(items[i].Text, c.says) {
				t.Errorf("the model is told %+v, want %q", items[max(i, 0)].Text, c.says)
			}
			if got := w.read("a.txt"); got != "text\n"+rest {
				t.Errorf("behind the editor's back the file became %q", got)
			}
			w.strict()
		})
	}
}

// What could not be saved is saved as soon as it can be, though nothing else
// happens.
func TestSavingGoesOnByItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Options{}).speaks("responses")
	dir := filepath.Join(w.home, ".shiro-neko", "sessions")
	w.write(dir, "a file in the way")
	s := w.start()
	session := s.create()
	s.prompt(session, "go")
	for next[wire.Notice](s, wire.EventNotice).DismissKey != "unsaved" {
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(8 * time.Second); w.records() == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not saved though it could be")
		}
	}
	s.kill()
	w.record(session)
}

// An editor that does not read the log is served all the same.
func TestLogThatNobodyReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Options{})
	r, pw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	e := w.connect(func(c *exec.Cmd) { c.Stderr = pw })
	pw.Close()
	e.hello(nil)
	id, list := e.request(wire.MethodApprovalList, nil)
	bad := framed(args{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": args{
		"textDocument": args{"uri": "file:///nowhere", "version": 1}, "contentChanges": []args{{"text": "x"}},
	}})
	go e.write(strings.Repeat(bad, 2000) + list) // the cleanup ends the server, and with it this
	for deadline := time.Now().Add(8 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if slices.ContainsFunc(e.messages(), func(m rawMessage) bool { return string(m.ID) == id }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the server waits for a reader of its log")
		}
	}
}

// While there is more to replay nothing else is sent, also to a client that was
// attached before.
func TestNothingLiveBetweenPages(t *testing.T) {
	t.Parallel()
	var reads []mock.Step
	for range 180 {
		reads = append(reads, mock.Call("read_file", args{"path": "a.txt"}))
	}
	w := newWorld(t, mock.Options{Script: []mock.Step{mock.Reply(reads...), mock.Say("read"), mock.Say("the next answer")}}).speaks("responses")
	w.write("a.txt", "x\n")
	e := w.connect(nil)
	e.hello(nil)
	session := e.create()
	e.prompt(session, "go")
	rawNext[wire.TurnCompleted](e, 0, wire.EventTurnCompleted)
	fresh := rawCall[wire.SessionAttachResult](e, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: session})
	start := int64(0)
	page := rawCall[wire.SessionAttachResult](e, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: session, After: &start, Epoch: fresh.Epoch})
	if !page.More {
		t.Fatalf("%d events and no more", len(page.Events))
	}
	at := len(e.messages())
	e.prompt(session, "and now?")
	w.waitRecord(session, "the next answer")
	e.response(e.ask(wire.MethodApprovalList, nil))
	for _, m := range e.messages()[at:] {
		if ev, ok := m.event(); ok {
			t.Fatalf("event %d, %s, between the pages that end at %d", ev.Seq, ev.Type, page.NextAfter)
		}
	}
	last := rawCall[wire.SessionAttachResult](e, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: session, After: &page.NextAfter, Epoch: fresh.Epoch})
	if last.Mode != wire.AttachReplay || last.Events[0].Seq != page.NextAfter+1 {
		t.Errorf("the next page: %+v", last)
	}
}

// Whoever has seen the end of a turn can begin the next.
func TestEndOfATurnIsTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Options{}).speaks("responses")
	e := w.connect(nil)
	var session string
	sent, over := 0, make(chan struct{})
	begin := func() {
		p := promptParams(session, fmt.Sprint("prompt ", sent))
		p.WhenBusy = wire.WhenBusyError
		sent++
		e.ask(wire.MethodTurnStart, p)
	}
	e.onMessage = func(m rawMessage) {
		switch {
		case m.Error != nil:
			t.Errorf("prompt %d: %s", sent, m.Error.Message)
			close(over)
		case !strings.Contains(string(m.Params), `"type":"turn.completed"`):
		case sent == busyRounds:
			close(over)
		default:
			begin()
		}
	}
	e.hello(nil)
	session = e.create()
	begin()
	<-over
}

// A list says when a conversation last changed, also of one that is open.
func TestListSaysWhenItChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Options{}).speaks("responses")
	s := w.start()
	session := s.create()
	s.prompt(session, "go")
	s.ended()
	w.waitRecord(session, "assistant")
	l := call[wire.SessionListResult](s, wire.MethodSessionList, wire.SessionListParams{})
	if got, want := l.Sessions[0].UpdatedAt, w.record(session)["updatedAt"]; string(got) != want {
		t.Errorf("updated at %s, the record says %s", got, want)
	}
	s.quit()
}

// However small the pages, each gets further.
func TestSmallPagesGetOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Options{Script: []mock.Step{mock.Say("漢a😀")}}).speaks("responses")
	s := w.start()
	session := s.create()
	s.prompt(session, "go")
	s.ended()
	for limit := 1; limit <= 4; limit++ {
		text := ""
		for range 5 {
			p := call[wire.ItemGetResult](s, wire.MethodItemGet, wire.ItemGetParams{SessionID: session, ItemID: "itm_1_0", Channel: wire.ChannelText, Offset: int64(len(text)), Limit: limit})
			if text += p.Text; !p.More {
				break
			}
		}
		if text != "漢a😀" {
			t.Errorf("pages of %d bytes hold %q", limit, text)
		}
	}
	s.quit()
}

// Every refusal says its kind, which is what clients decide by.
func TestRefusalsHaveAKind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Options{})
	w.write("file", "no folder\n")
	w.stored(storedID1, "")
	w.stored(storedID1[:35]+"f", "")
	w.write(filepath.Join(w.home, ".shiro-neko", "sessions", "damaged.json"), "{")
	s := w.start()
	for name, c := range map[string]struct {
		method string
		params args
	}{
		"no such cursor":   {wire.MethodSessionList, args{"cursor": "x"}},
		"no such folder":   {wire.MethodSessionCreate, args{"cwd": filepath.Join(w.dir, "gone")}},
		"a file as folder": {wire.MethodSessionCreate, args{"cwd": filepath.Join(w.dir, "file")}},
		"ambiguous id":     {wire.MethodSessionAttach, args{"sessionId": storedID1[:8]}},
		"damaged record":   {wire.MethodSessionAttach, args{"sessionId": "damaged"}},
	} {
		err := s.Call(s.ctx(), c.method, c.params, nil)
		if e, ok := err.(*lsptest.Error); !ok || e.Kind() == "" || e.Code != e.Kind().Code() {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.quit()
}

// A second exit is no fault of the server.
func TestExitTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Options{})
	e := w.connect(nil)
	e.hello(nil)
	rawCall[json.RawMessage](e, "shutdown", nil)
	exit := framed(args{"jsonrpc": "2.0", "method": "exit"})
	e.write(exit + exit)
	if code := e.exitCode(); code != 0 || strings.Contains(e.log.String(), "panic") {
		t.Errorf("code %d\n%.200s", code, e.log)
	}
}

// An eventOrder follows the events of one session and notes what breaks the
// order that the protocol promises.
type eventOrder struct {
	broken []string
	seq    int64
	turn   string // that runs
	ended  bool   // a turn has ended and no other begun
	last   wire.EventType
	items  map[string]*orderedItem
	asked  map[string]string // open approval: its item
}

type orderedItem struct {
	open  bool
	texts map[wire.Channel]string
}

// newEventOrder begins behind a snapshot, or with a new session.
func newEventOrder(at *wire.SessionAttachResult) *eventOrder {
	o := &eventOrder{items: make(map[string]*orderedItem), asked: make(map[string]string)}
	if at == nil {
		return o
	}
	o.seq = at.Seq
	for _, it := range at.State.Items {
		o.begin(it.ID).open = it.Status == wire.ItemPending || it.Status == wire.ItemInProgress
	}
	for _, l := range at.State.LiveItems {
		o.items[l.ItemID].texts[l.Channel] = l.Text
	}
	for _, a := range at.State.PendingApprovals {
		o.asked[a.ApprovalID] = a.ItemID
	}
	if t := at.State.ActiveTurn; t != nil {
		o.turn = t.TurnID
	}
	return o
}

func (o *eventOrder) begin(id string) *orderedItem {
	o.items[id] = &orderedItem{open: true, texts: make(map[wire.Channel]string)}
	return o.items[id]
}

func (o *eventOrder) check(ok bool, e wire.Event, format string, args ...any) {
	if !ok {
		o.broken = append(o.broken, fmt.Sprintf("%d %s: %s", e.Seq, e.Type, fmt.Sprintf(format, args...)))
	}
}

func (o *eventOrder) take(e wire.Event) {
	if d, ok := e.Data.(wire.ItemDelta); ok {
		o.check(e.Seq == 0, e, "has a number")
		o.delta(e, d)
		return
	}
	o.check(e.Seq == o.seq+1, e, "comes after %d", o.seq)
	o.seq = e.Seq
	switch d := e.Data.(type) {
	case wire.TurnStarted:
		o.check(o.turn == "", e, "while %s runs", o.turn)
		o.turn, o.ended = e.TurnID, false
	case wire.TurnCompleted:
		o.check(o.turn == e.TurnID, e, "of %s while %q runs", e.TurnID, o.turn)
		o.check(o.last == wire.EventContextUpdated, e, "right after %s", o.last)
		for id, it := range o.items {
			o.check(!it.open, e, "%s is open", id)
		}
		o.check(len(o.asked) == 0, e, "%v are open", o.asked)
		o.turn, o.ended = "", true
	case wire.ItemEvent:
		o.item(e, d.Item)
	case wire.Approval:
		o.check(o.items[d.ItemID] != nil && o.items[d.ItemID].open, e, "about %s, which is not open", d.ItemID)
		o.asked[d.ApprovalID] = d.ItemID
	case wire.ApprovalResolved:
		o.check(o.asked[d.ApprovalID] == d.ItemID, e, "%s is not open", d.ApprovalID)
		delete(o.asked, d.ApprovalID)
	case wire.SessionInfo, wire.Queue:
	default:
		o.check(!o.ended || e.TurnID == "", e, "of %s after its end", e.TurnID)
	}
	o.last = e.Type
}

func (o *eventOrder) item(e wire.Event, item wire.Item) {
	o.check(e.TurnID == o.turn, e, "%s of %s while %q runs", item.ID, e.TurnID, o.turn)
	it := o.items[item.ID]
	if e.Type == wire.EventItemStarted {
		o.check(it == nil, e, "%s a second time", item.ID)
		o.begin(item.ID)
		return
	}
	if it == nil || !it.open {
		o.check(false, e, "%s is not open", item.ID)
		return
	}
	for id, about := range o.asked {
		o.check(about != item.ID, e, "%s while %s is open", item.ID, id)
	}
	it.open = item.Status == wire.ItemPending || item.Status == wire.ItemInProgress
	o.check(it.open == (e.Type == wire.EventItemUpdated), e, "%s is %s", item.ID, item.Status)
	if streamed := it.texts[wire.Channel(item.Kind)]; !it.open && !item.Withdrawn && streamed != "" {
		o.check(item.Text == streamed, e, "%s is %.60q, streamed was %.60q", item.ID, item.Text, streamed)
	}
}

func (o *eventOrder) delta(e wire.Event, d wire.ItemDelta) {
	it := o.items[d.ItemID]
	if it == nil || !it.open {
		o.check(false, e, "of %s, which is not open", d.ItemID)
		return
	}
	at := int64(len(it.texts[d.Channel]))
	fits := d.From == at && d.To == at+int64(len(d.Text)) && d.Text != "" && utf8.ValidString(d.Text)
	o.check(fits, e, "%s %s %d-%d, %d bytes, after %d", d.ItemID, d.Channel, d.From, d.To, len(d.Text), at)
	it.texts[d.Channel] += d.Text
}

// randomAnswer is anything a model or its server may come up with.
func randomAnswer(rng *rand.Rand) mock.Step {
	text := strings.Repeat([]string{"plain words ", "漢字😀 ", "line\n"}[rng.IntN(3)], rng.IntN(30)+1)
	calls := []mock.Step{
		mock.Call("read_file", args{"path": "a.txt"}), mock.Call("list_dir", nil),
		mock.Call("nosuch", args{"a": 1}), mock.Call("read_file", `{"path": "a.t`), mock.Call("read_file", `"text"`),
		bash(`echo out; echo err >&2; printf '\303'; sleep 0.01; printf '\251\n'`), bash("rm -rf /"), bash("sleep 0.03; seq 1 2000"),
		mock.Call("edit_file", args{"path": "a.txt", "oldString": "text", "newString": "text\ntext"}),
		mock.Call("write_file", args{"path": fmt.Sprint("new", rng.IntN(100)), "content": text}),
		mock.Call("todo_write", args{"todos": []args{{"content": "x", "status": "in_progress"}}}),
	}
	var parts []mock.Step
	if rng.IntN(3) == 0 {
		parts = append(parts, mock.Reasoning(text))
	}
	if rng.IntN(2) == 0 {
		parts = append(parts, mock.Text(text))
	}
	for range rng.IntN(5) {
		parts = append(parts, calls[rng.IntN(len(calls))])
	}
	if len(parts) == 0 {
		parts = append(parts, mock.Say([]string{"", " ", "\n", "x"}[rng.IntN(4)]))
	}
	s := mock.Reply(parts...).Chunk(rng.IntN(40) + 1)
	switch rng.IntN(12) {
	case 0:
		return s.Rate(500)
	case 1:
		return s.Reset(rng.IntN(6))
	case 2:
		return s.Cut(rng.IntN(6))
	case 3:
		return mock.Fail(400, `{"error":{"message":"no"}}`)
	case 4:
		return s.Finish("length")
	case 5:
		return s.Failed("server_error", "broken")
	}
	return s
}

const randomConfig = `[provider]
api = %q
max_retries = 1
[permission]
write_file = "allow"
[permission.bash]
"sleep *" = "allow"
"seq *" = "allow"
`

// randomTurn prompts, answers what is asked, and interrupts after some events or
// never. It returns false when stop, counted in events, came first.
func randomTurn(s *server, rng *rand.Rand, session, text string, stop int) bool {
	s.w.t.Helper()
	turn := s.prompt(session, text)
	interrupt := -1
	if rng.IntN(2) == 0 {
		interrupt = rng.IntN(30)
	}
	for seen := 0; seen != stop; seen++ {
		e, at, err := s.WaitEvent(s.ctx(), s.at, func(wire.Event) bool { return true })
		if err != nil {
			s.w.t.Fatalf("%v\n%s\n%s", err, s.told(), s.log)
		}
		s.at = at
		if seen == interrupt { // too late, it is refused
			s.Call(s.ctx(), wire.MethodTurnInterrupt, wire.TurnInterruptParams{SessionID: session, TurnID: turn}, nil)
		}
		if a, ok := e.Data.(wire.Approval); ok {
			s.answer(a, a.Options[rng.IntN(len(a.Options))].ID)
		}
		if e.Type == wire.EventTurnCompleted && e.TurnID == turn {
			return true
		}
	}
	return false
}

// strictBut is strict, but for text of commands that an interrupt cut inside a
// character.
func (w *world) strictBut(rule string) {
	w.t.Helper()
	for _, v := range w.model.Violations() {
		if v.Rule != rule {
			w.t.Errorf("the model server refused %v", v)
		}
	}
}

// Whatever happens in a turn, its events keep the promised order, the model
// server accepts every request, and history says what the events said.
func TestEventsAreInOrder(t *testing.T) {
	for seed := range uint64(orderRounds) {
		for _, api := range []string{"responses", "chat"} {
			t.Run(fmt.Sprint(api, seed), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(seed, 7))
				w := newWorld(t, mock.Options{})
				for range 30 {
					w.model.Script(randomAnswer(rng))
				}
				w.config(fmt.Sprintf(randomConfig, api))
				w.write("a.txt", "text\n")
				s := w.start()
				session := s.create()
				for n := range 6 {
					randomTurn(s, rng, session, fmt.Sprint("prompt ", n), -1)
				}
				o := newEventOrder(nil)
				told := make(map[string]int)
				brief := func(it wire.Item) string {
					return fmt.Sprintf("%s %s %.50q %.50q", it.TurnID, it.Kind, it.Text, it.Output)
				}
				for _, e := range s.Events() {
					if o.take(e); e.Type == wire.EventItemCompleted {
						told[brief(e.Data.(wire.ItemEvent).Item)]++
					}
				}
				if len(o.broken) > 0 {
					t.Error(strings.Join(o.broken, "\n"))
				}
				h := call[wire.SessionHistoryResult](s, wire.MethodSessionHistory, wire.SessionHistoryParams{SessionID: session, Limit: 200, View: wire.HistoryFull})
				for _, it := range h.Items {
					if told[brief(it)]--; told[brief(it)] < 0 {
						t.Errorf("history has %s, which no event told", brief(it))
					}
				}
				w.strictBut("V7")
				s.quit()
			})
		}
	}
}

// The server is killed at any moment: the record can always be read, whoever
// attaches next sees a sound conversation with everything that was told, and the
// next prompt is accepted.
func TestKilledAtAnyMoment(t *testing.T) {
	for _, api := range []string{"responses", "chat"} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(1, uint64(len(api))))
			w := newWorld(t, mock.Options{})
			w.config(fmt.Sprintf(randomConfig, api))
			w.write("a.txt", "text\n")
			w.stored(storedID1, `{"role":"user","content":"hi"}`)
			all, told := 1_000_000, make(map[string]int)
			brief := func(it wire.Item) string { return fmt.Sprintf("%s %s %s %s", it.Kind, it.Title, it.Text, it.Output) }
			for round := range killRounds {
				s := w.start()
				at := call[wire.SessionAttachResult](s, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: storedID1, TailItems: &all})
				for _, it := range at.State.Items {
					told[brief(it)]--
				}
				for what, n := range told {
					if n > 0 {
						t.Errorf("round %d: lost %.200q", round, what)
					}
				}
				clear(told)
				for _, it := range at.State.Items {
					if it.Status == wire.ItemCompleted {
						told[brief(it)]++
					}
				}
				o := newEventOrder(&at)
				if len(o.items) != len(at.State.Items) {
					t.Errorf("round %d: an item is shown twice", round)
				}
				for _, a := range at.State.PendingApprovals {
					s.answer(a, "once")
				}
				for range 4 {
					w.model.Script(randomAnswer(rng))
				}
				for stop := rng.IntN(60); stop > 0 && randomTurn(s, rng, storedID1, fmt.Sprint("prompt ", round), stop); {
					stop = rng.IntN(10)
				}
				s.kill()
				for _, e := range s.Events() {
					if o.take(e); e.Type == wire.EventItemCompleted {
						if it := e.Data.(wire.ItemEvent).Item; it.Status == wire.ItemCompleted {
							told[brief(it)]++
						}
					}
				}
				if len(o.broken) > 0 {
					t.Errorf("round %d: %s", round, strings.Join(o.broken, "\n"))
				}
				w.record(storedID1)
			}
			if n := w.records(); n != 1 {
				t.Errorf("%d records", n)
			}
			w.strictBut("V7")
		})
	}
}

// The server is killed in the middle of a step, and the next one before it has
// written the record: both lives are in it in the end.
func TestKilledTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Options{Script: []mock.Step{mock.Say("first answer"), bash("sleep 50"), mock.Say("third answer")}})
	w.config("[provider]\napi = \"responses\"\n[permission.bash]\n\"sleep *\" = \"allow\"\n")
	s := w.start()
	session := s.create()
	s.prompt(session, "one")
	s.ended()
	w.waitRecord(session, "first answer")
	s.prompt(session, "two")
	for d := next[wire.ItemEvent](s, wire.EventItemUpdated); d.Item.Status != wire.ItemInProgress; {
		d = next[wire.ItemEvent](s, wire.EventItemUpdated)
	}
	s.kill()
	s = w.start()
	call[json.RawMessage](s, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: session})
	s.prompt(session, "three")
	s.ended()
	s.kill() // well within the 400 ms that a record may wait to be written
	s = w.start()
	at := call[wire.SessionAttachResult](s, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: session})
	var kinds []string
	for _, it := range at.State.Items {
		kinds = append(kinds, string(it.Kind)+" "+it.Text+it.Title)
	}
	if want := []string{"user one", "text first answer", "user two", "tool Run sleep 50", "user three", "text third answer"}; !slices.Equal(kinds, want) {
		t.Errorf("left is %q, want %q\n%s", kinds, want, s.log)
	}
	s.quit()
}

// One damaged line of a journal costs what stands behind it at most.
func TestJournalWithADamagedLine(t *testing.T) {
	for _, written := range []bool{false, true} { // the record
		t.Run(fmt.Sprint("record ", written), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, mock.Options{}).speaks("responses")
			s := w.start()
			session := s.create()
			if written {
				s.prompt(session, "prompt 0")
				s.ended()
				w.waitRecord(session, "assistant")
			}
			for n := 1; n <= 3; n++ {
				s.prompt(session, fmt.Sprint("prompt ", n))
				s.ended()
			}
			s.kill()
			path := filepath.Join(w.home, ".shiro-neko", "sessions", session+".journal")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			before, behind, found := strings.Cut(string(data), "prompt 3")
			if !found {
				t.Fatalf("journal %s", data)
			}
			w.write(path, before+"prompt 3\x00\"}"+behind)
			s = w.start()
			var at wire.SessionAttachResult
			if err := s.Call(s.ctx(), wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: session}, &at); err != nil {
				t.Fatal(err)
			}
			texts := ""
			for _, it := range at.State.Items {
				texts += it.Text + "\n"
			}
			if !strings.Contains(texts, "prompt 1") || !strings.Contains(texts, "prompt 2") {
				t.Errorf("left is %q\n%s", texts, s.log)
			}
			s.quit()
		})
	}
}

// Another program, perhaps stopped in the middle, holds the lock of the prompt
// history: turns end and requests are answered all the same.
func TestLockOfTheHistoryHoldsNothingUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Options{}).speaks("responses")
	path := filepath.Join(w.home, ".shiro-neko", "history", ".lock")
	w.write(path, "")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	e := w.connect(nil)
	e.hello(nil)
	session := e.create()
	begun := time.Now()
	e.prompt(session, "go")
	rawNext[wire.TurnCompleted](e, 0, wire.EventTurnCompleted)
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("the turn took %v", took)
	}
	begun = time.Now()
	e.ask(wire.MethodHistoryAppend, args{"cwd": w.dir, "prompt": "go"})
	e.response(e.ask(wire.MethodApprovalList, nil))
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("the next request was answered after %v", took)
	}
}

// Everything that can be done to sessions, at once and in any order: each
// request has one answer with its kind, and what is left on disk is sound.
func TestSessionRequestsAtRandom(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 77))
	w := newWorld(t, mock.Options{}).speaks("responses")
	e := w.connect(nil)
	e.hello(nil)
	methods := []string{
		wire.MethodSessionAttach, wire.MethodSessionAttach, wire.MethodSessionDetach, wire.MethodSessionClose, wire.MethodSessionRename,
		wire.MethodSessionArchive, wire.MethodSessionDelete, wire.MethodSessionFork, wire.MethodSessionHistory, wire.MethodSessionList,
		wire.MethodTurnStart, wire.MethodTurnStart, wire.MethodTurnInterrupt, wire.MethodSessionCreate,
	}
	sessions := []string{e.create(), e.create(), e.create()}
	var asked []string
	for range randomRequests {
		method, session := methods[rng.IntN(len(methods))], sessions[rng.IntN(len(sessions))]
		id := e.ask(method, args{
			"sessionId": session, "cwd": w.dir, "name": fmt.Sprint("name ", rng.IntN(9)), "archived": rng.IntN(2) == 0,
			"input": []args{{"type": "text", "text": fmt.Sprint("prompt ", rng.IntN(99))}},
		})
		asked = append(asked, id)
		if method == wire.MethodSessionCreate || method == wire.MethodSessionFork {
			var made wire.SessionCreateResult
			if m := e.response(id); m.Error == nil && json.Unmarshal(m.Result, &made) == nil {
				sessions = append(sessions[1:], made.Session.ID)
			}
		}
	}
	for _, id := range asked {
		if m := e.response(id); m.Error != nil && m.Error.Data.Kind == "" {
			t.Errorf("refused without a kind: %s", m.Error.Message)
		}
	}
	rawCall[json.RawMessage](e, "shutdown", nil)
	e.notify("exit", nil)
	if code := e.exitCode(); code != 0 || strings.Contains(e.log.String(), "panic") {
		t.Errorf("code %d\n%s", code, e.log)
	}
	entries, err := os.ReadDir(filepath.Join(w.home, ".shiro-neko", "sessions"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		switch id, isRecord := strings.CutSuffix(entry.Name(), ".json"); {
		case isRecord:
			w.record(id)
		case entry.Name() != ".lock":
			t.Errorf("%s is left", entry.Name())
		}
	}
	w.strict()
}

// A client attaches and detaches, also twice at once, while an answer streams:
// what it then knows joins without a gap.
func TestAttachWhileAnAnswerStreams(t *testing.T) {
	t.Parallel()
	var answer strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&answer, "%d漢 ", i)
	}
	w := newWorld(t, mock.Options{Script: []mock.Step{mock.Say(answer.String()).Chunk(20).Rate(2000)}}).speaks("responses")
	e := w.connect(nil)
	var over atomic.Bool
	e.hello(nil)
	session := e.create()
	e.prompt(session, "go")
	attached := make(map[string]bool)
	attach := func() (id, text string) {
		id, text = e.request(wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: session})
		attached[id] = true
		return id, text
	}
	go func() {
		defer over.Store(true)
		w.waitRecord(session, "assistant")
	}()
	for n := 0; !over.Load(); n++ {
		id, first := attach()
		switch n % 3 {
		case 0:
			e.write(first)
		case 1:
			e.ask(wire.MethodSessionDetach, wire.SessionDetachParams{SessionID: session})
			e.write(first)
		case 2:
			also, second := attach()
			e.write(first + second)
			e.response(also)
		}
		e.response(id)
	}
	last := rawCall[wire.SessionAttachResult](e, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: session})
	if it := last.State.Items[len(last.State.Items)-1]; it.Text != answer.String() || len(last.State.LiveItems) > 0 {
		t.Errorf("in the end %d bytes of %d", len(it.Text), answer.Len())
	}
	var seq int64
	texts := make(map[string]string)
	for _, m := range e.messages() {
		if attached[string(m.ID)] {
			var r wire.SessionAttachResult
			if err := json.Unmarshal(m.Result, &r); err != nil {
				t.Fatal(err)
			}
			seq = r.Seq
			for _, l := range r.State.LiveItems {
				texts[l.ItemID] = l.Text
			}
			continue
		}
		ev, ok := m.event()
		if !ok || ev.Seq > 0 && ev.Seq <= seq { // seen before
			continue
		}
		if ev.Seq > 0 {
			if ev.Seq != seq+1 {
				t.Fatalf("event %d after %d", ev.Seq, seq)
			}
			seq = ev.Seq
		}
		switch d := ev.Data.(type) {
		case wire.ItemDelta:
			if n := int64(len(texts[d.ItemID])); d.From > n {
				t.Fatalf("text %d-%d after %d", d.From, d.To, n)
			} else if d.To > n {
				texts[d.ItemID] += d.Text[n-d.From:]
			}
		case wire.ItemEvent:
			if ev.Type == wire.EventItemCompleted && d.Item.Kind == wire.ItemText && (d.Item.Text != answer.String() || d.Item.Text != texts[d.Item.ID]) {
				t.Errorf("%d bytes streamed, %d in the end, %d sent", len(texts[d.Item.ID]), len(d.Item.Text), answer.Len())
			}
		}
	}
}

// Bytes that are no message, and messages that are no request, between good
// ones: each is refused as the protocol says, and the next request is answered.
func TestBrokenMessagesBetweenGoodOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Options{})
	e := w.connect(nil)
	e.hello(nil)
	f := func(s string) string { return framed(s) }
	long := strings.Repeat("i", 1<<20)
	for name, c := range map[string]struct{ in, want string }{
		"F3 negative length":   {"Content-Length: -1\r\n\r\n", "null -32600"},
		"F6 noise":             {"npm WARN something\n", ""},
		"F7 short length":      {"Content-Length: 10\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}", "null -32700"},
		"F8 2 GiB announced":   {"Content-Length: 2147483648\r\n\r\n", "null -32600"},
		"F8 33 MiB":            {"Content-Length: 34603008\r\n\r\n" + strings.Repeat("x", 33<<20), "null -32600"},
		"F10 mark":             {f("\uFEFF" + `{"jsonrpc":"2.0","id":1043,"method":"nope"}`), "1043 -32601"},
		"F10 NUL":              {f("{\"jsonrpc\":\"2.0\",\"id\":1042,\"method\":\"a\x00b\"}"), "null -32700"},
		"F10 invalid UTF-8":    {f("{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"nope\"}"), "\"\uFFFD\" -32601"},
		"F10 lone surrogate":   {f(`{"jsonrpc":"2.0","id":"\ud83d","method":"nope\ud83d"}`), "\"\uFFFD\" -32601"},
		"F10 1 MB of brackets": {f(`{"jsonrpc":"2.0","id":1040,"method":"shiro/schema","params":` + strings.Repeat("[", 500_000) + strings.Repeat("]", 500_000) + `}`), "null -32700"},
		"F10 1 MB of objects":  {f(`{"jsonrpc":"2.0","id":1041,"method":"shiro/schema","params":` + strings.Repeat(`{"a":`, 200_000) + "1" + strings.Repeat("}", 200_000) + `}`), "null -32700"},
		"F10 equal names":      {f(`{"jsonrpc":"2.0","id":1044,"id":1045,"method":"nope"}`), "1045 -32601"},
		"J1 batch":             {f(`[{"jsonrpc":"2.0","id":1001,"method":"shiro/schema"}]`), "null -32600"},
		"J1 empty batch":       {f(`[]`), "null -32600"},
		"J2 no JSON":           {f(`{oops`), "null -32700"},
		"J2 number":            {f(`5`), "null -32600"},
		"J2 null":              {f(`null`), "null -32600"},
		"J3 no version":        {f(`{"id":1002,"method":"shiro/todo/get"}`), "1002 -32600"},
		"J3 old version":       {f(`{"jsonrpc":"1.0","id":1003,"method":"shiro/todo/get"}`), "1003 -32600"},
		"J4 -1":                {f(`{"jsonrpc":"2.0","id":-1,"method":"nope"}`), "-1 -32601"},
		"J4 0":                 {f(`{"jsonrpc":"2.0","id":0,"method":"nope"}`), "0 -32601"},
		"J4 empty text":        {f(`{"jsonrpc":"2.0","id":"","method":"nope"}`), `"" -32601`},
		"J4 1.5":               {f(`{"jsonrpc":"2.0","id":1.5,"method":"nope"}`), "null -32600"},
		"J4 object":            {f(`{"jsonrpc":"2.0","id":{},"method":"nope"}`), "null -32600"},
		"J4 null":              {f(`{"jsonrpc":"2.0","id":null,"method":"nope"}`), "null -32600"},
		"J4 over 2^53":         {f(`{"jsonrpc":"2.0","id":9007199254740993,"method":"nope"}`), "9007199254740993 -32601"},
		"J4 1 MiB":             {f(`{"jsonrpc":"2.0","id":"` + long + `","method":"nope"}`), `"` + long + `" -32601`},
		"J6 unknown":           {f(`{"jsonrpc":"2.0","method":"$/x"}`) + f(`{"jsonrpc":"2.0","method":"z"}`) + f(`{"jsonrpc":"2.0","id":1020,"method":"$/x"}`), "1020 -32601"},
		"J7 list":              {f(`{"jsonrpc":"2.0","id":1010,"method":"shiro/session/create","params":[1]}`), "1010 -32602"},
		"J7 text":              {f(`{"jsonrpc":"2.0","id":1011,"method":"shiro/session/create","params":"x"}`), "1011 -32602"},
		"J7 none":              {f(`{"jsonrpc":"2.0","id":1012,"method":"shiro/session/create"}`), "1012 -32602"},
		"J8 answers":           {f(`{"jsonrpc":"2.0","id":77777,"result":1}`) + f(`{"jsonrpc":"2.0","id":null,"result":1}`) + f(`{"jsonrpc":"2.0","id":1,"result":1,"error":{}}`) + f(`{"jsonrpc":"2.0","id":1}`), ""},
		"C1 cancellations":     {f(`{"jsonrpc":"2.0","method":"$/cancelRequest"}`) + f(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":{}}}`) + f(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":[]}`) + f(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":99999}}`), ""},
		"L1 second initialize": {f(`{"jsonrpc":"2.0","id":1046,"method":"initialize","params":{"capabilities":{}}}`), "1046 -32600"},
	} {
		from := len(e.messages())
		e.write(c.in)
		id := e.ask(wire.MethodApprovalList, nil)
		_, at := e.await(from, func(m rawMessage) bool { return string(m.ID) == id && m.Error == nil })
		var got []string
		for _, m := range e.messages()[from : at-1] {
			if m.Error == nil {
				m.Error = &wire.Error{}
			}
			got = append(got, fmt.Sprintf("%s %d", m.ID, m.Error.Code))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %.200s, want %.200s", name, s, c.want)
		}
	}
}

// Many requests at once, some withdrawn at once: each is answered once.
func TestFloodOfRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Options{}).speaks("responses")
	w.stored(storedID1, `{"role":"user","content":"hi"}`)
	e := w.connect(nil)
	e.hello(nil)
	methods := []string{wire.MethodSessionList, wire.MethodSessionCreate, wire.MethodSessionAttach, wire.MethodSessionHistory, wire.MethodTodoGet, "shiro/no/such", wire.MethodSessionDetach}
	ids := make(map[string]int)
	var all strings.Builder
	for i := range 2100 {
		id, text := e.request(methods[i%len(methods)], args{"cwd": w.dir, "sessionId": storedID1})
		cancel := framed(args{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": args{"id": json.RawMessage(id)}})
		ids[id] = 0
		all.WriteString([]string{text, text + cancel, cancel + text, text + cancel + cancel}[i%4])
	}
	e.write(all.String())
	for id := range ids {
		e.response(id)
	}
	rawCall[json.RawMessage](e, "shutdown", nil)
	for _, m := range e.messages() {
		if _, ok := ids[string(m.ID)]; ok && m.Method == "" {
			ids[string(m.ID)]++
		}
	}
	for id, n := range ids {
		if n != 1 {
			t.Errorf("request %s was answered %d times", id, n)
		}
	}
}

// Input ends while a hundred requests are being handled: the server ends at
// once, without a panic.
func TestInputEndsDuringRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Options{}).speaks("responses")
	e := w.connect(nil)
	e.hello(nil)
	session := e.create()
	var all strings.Builder
	for i := range 100 {
		text := framed(args{"jsonrpc": "2.0", "id": 1000 + i, "method": wire.MethodTurnStart, "params": promptParams(session, "go")})
		if m := []string{wire.MethodSessionList, wire.MethodSessionCreate, wire.MethodSessionAttach, wire.MethodSessionDetach, ""}[i%5]; m != "" {
			text = framed(args{"jsonrpc": "2.0", "id": 1000 + i, "method": m, "params": args{"cwd": w.dir, "sessionId": session}})
		}
		all.WriteString(text)
	}
	e.write(all.String())
	e.in.Close()
	begun := time.Now()
	if code := e.exitCode(); code != 1 || time.Since(begun) > 2*time.Second || strings.Contains(e.log.String(), "panic") {
		t.Errorf("code %d after %v\n%s", code, time.Since(begun), e.log)
	}
	if n := w.records(); n > 1 {
		t.Errorf("%d records of one conversation", n)
	}
}

// An interrupt works in every phase of a turn, at once and also when repeated,
// and leaves the session ready.
func TestInterruptInEveryPhase(t *testing.T) {
	slow := mock.Fail(429, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`, "Retry-After", "50")
	for name, c := range map[string]struct {
		step  mock.Step
		until func(wire.Event) bool // nil: until the request is there
	}{
		"before the first byte": {mock.Say("late").Delay(50 * time.Second), nil},
		"in the stream":         {mock.Say("half an answer").Chunk(4).Silence(2), func(e wire.Event) bool { return e.Type == wire.EventItemDelta }},
		"in a wait":             {slow, func(e wire.Event) bool { return e.Type == wire.EventProviderRetrying }},
		"in a command": {bash("sleep 50"), func(e wire.Event) bool {
			return e.Type == wire.EventItemUpdated && e.Data.(wire.ItemEvent).Item.Status == wire.ItemInProgress
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, mock.Options{Script: []mock.Step{c.step}})
			w.config("[provider]\napi = \"responses\"\n[permission.bash]\n\"sleep *\" = \"allow\"\n")
			s := w.start()
			session := s.create()
			turn := s.prompt(session, "go")
			if _, err := w.model.Wait(s.ctx(), 1); c.until == nil && err != nil {
				t.Fatal(err)
			}
			if c.until != nil {
				if _, _, err := s.WaitEvent(s.ctx(), 0, c.until); err != nil {
					t.Fatal(err)
				}
			}
			begun := time.Now()
			for range 2 { // the second may be too late
				s.Call(s.ctx(), wire.MethodTurnInterrupt, wire.TurnInterruptParams{SessionID: session, TurnID: turn}, nil)
			}
			if end := s.ended(); end.Status != wire.TurnInterrupted || time.Since(begun) > time.Second {
				t.Errorf("turn %+v after %v", end, time.Since(begun))
			}
			aliveAfter(t, s, session)
			o := newEventOrder(nil)
			for _, e := range s.Events() {
				o.take(e)
			}
			if len(o.broken) > 0 {
				t.Error(strings.Join(o.broken, "\n"))
			}
			w.strict()
			s.quit()
		})
	}
}

// A client that has stopped reading can still interrupt.
func TestInterruptBySomeoneWhoDoesNotRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Options{Script: []mock.Step{mock.Say(strings.Repeat("0123456789abcde\n", 60_000)).Chunk(200).Rate(4000)}}).speaks("responses")
	hold, held := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s := w.launch()
	s.OnEvent = func(e wire.Event) {
		if e.Type == wire.EventItemDelta {
			once.Do(func() { close(held); <-hold })
		}
	}
	if _, err := s.Initialize(s.ctx(), w.dir, nil); err != nil {
		t.Fatal(err)
	}
	session := s.create()
	s.Go(wire.MethodTurnStart, promptParams(session, "go"))
	<-held
	s.Go(wire.MethodTurnInterrupt, wire.TurnInterruptParams{SessionID: session})
	if err := w.model.Quiet(s.ctx()); err != nil || !w.model.Requests()[0].Gone {
		t.Errorf("%v: the answer streams on", err)
	}
	close(hold)
	s.ended()
	s.quit()
}

// refOffset is where a position lies, by the letter of the protocol; it panics
// when there is no such position.
func refOffset(text string, p lspPosition, units bool) int {
	lines := strings.SplitAfter(text, "\n")
	at := len(strings.Join(lines[:p.Line], ""))
	line := strings.TrimSuffix(strings.TrimSuffix(lines[p.Line], "\n"), "\r")
	if !units {
		return at + len(line[:p.Character])
	}
	return at + len(string(utf16.Decode(utf16.Encode([]rune(line))[:p.Character])))
}

func refPosition(text string, at int, units bool) lspPosition {
	start := strings.LastIndexByte(text[:at], '\n') + 1
	n := at - start
	if units {
		n = len(utf16.Encode([]rune(text[start:at])))
	}
	return lspPosition{strings.Count(text[:at], "\n"), n}
}

type lspPosition struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type lspEdit struct {
	Range   struct{ Start, End lspPosition } `json:"range"`
	NewText string                           `json:"newText"`
}

// The user types while the agent edits the same document: both always speak of
// the same text, in either encoding and with either line end.
func TestTypingWhileTheAgentEdits(t *testing.T) {
	for _, eol := range []string{"\n", "\r\n"} {
		for _, encoding := range []string{"utf-16", "utf-8"} {
			t.Run(fmt.Sprintf("%q %s", eol, encoding), func(t *testing.T) {
				t.Parallel()
				m := &mirrored{rng: rand.New(rand.NewPCG(3, uint64(len(eol+encoding)))), eol: eol, units: encoding == "utf-16", version: 1}
				const edits = 8
				var script []mock.Step
				for i := range edits {
					m.text += fmt.Sprintf("漢 line 😀 [M%d] tail%s", i, strings.Repeat(eol, 1+i%3))
					script = append(script,
						mock.Call("edit_file", args{"path": "a.txt", "oldString": fmt.Sprintf("[M%d]", i), "newString": fmt.Sprintf("<m%d é😀\nnew>", i)}),
						mock.Call("read_file", args{"path": "a.txt"}))
				}
				w := newWorld(t, mock.Options{Script: append(script, mock.Say("done"), mock.Call("read_file", args{"path": "a.txt"}), mock.Say("read"))})
				w.config("[provider]\napi = \"responses\"\n[permission]\nedit_file = \"allow\"\n")
				w.write("a.txt", "on disk\n")
				m.e, m.path = w.connect(nil), filepath.Join(w.dir, "a.txt")
				m.e.onMessage = m.take
				m.e.hello(args{
					"workspace": args{"applyEdit": true, "workspaceEdit": args{"documentChanges": true}},
					"general":   args{"positionEncodings": []string{encoding, "utf-32"}},
				})
				m.e.open(m.path, m.text)
				session := m.e.create()
				m.e.prompt(session, "go")
				_, at := rawNext[wire.TurnCompleted](m.e, 0, wire.EventTurnCompleted)
				m.quiet.Store(true)
				m.e.prompt(session, "read")
				rawNext[wire.TurnCompleted](m.e, at, wire.EventTurnCompleted)
				requests := w.model.Requests()
				got := requests[len(requests)-1].Results()[0].Text
				for i, line := range strings.Split(strings.TrimSuffix(strings.ReplaceAll(m.text, "\r\n", "\n"), "\n"), "\n") {
					if want := fmt.Sprintf("%d: %s", i+1, line); !strings.Contains(got, want) {
						t.Fatalf("the server's text lacks %q:\n%s", want, got)
					}
				}
				if m.applied == 0 || m.typed < mirrorEdits/2 {
					t.Errorf("%d edits of the agent, %d of the user", m.applied, m.typed)
				}
				if got := w.read("a.txt"); got != "on disk\n" {
					t.Errorf("behind the editor's back the file became %q", got)
				}
				w.strict()
			})
		}
	}
}

// mirrored is a document in an editor whose user types at random. Its methods
// run on the editor's reading goroutine.
type mirrored struct {
	e              *rawEditor
	rng            *rand.Rand
	path, eol      string
	units          bool
	text           string
	version        int
	applied, typed int
	quiet          atomic.Bool
}

func (m *mirrored) take(msg rawMessage) {
	if msg.Method == "workspace/applyEdit" {
		m.apply(msg)
		return
	}
	// The user types while the model thinks.
	ev, ok := msg.event()
	if !ok || m.quiet.Load() || ev.Type != wire.EventItemCompleted || ev.Data.(wire.ItemEvent).Item.ToolName != "read_file" {
		return
	}
	for range mirrorEdits / 8 {
		m.typeSomething()
	}
}

func (m *mirrored) apply(msg rawMessage) {
	var p struct {
		Edit struct {
			DocumentChanges []struct {
				TextDocument struct{ Version int }
				Edits        []lspEdit
			}
		}
	}
	if err := json.Unmarshal(msg.Params, &p); err != nil {
		m.e.t.Error(err)
	}
	c := p.Edit.DocumentChanges[0]
	if c.TextDocument.Version != m.version {
		m.e.reply(msg, args{"applied": false, "failureReason": "version"})
		return
	}
	m.applied++
	for _, ed := range slices.Backward(c.Edits) {
		m.replace(refOffset(m.text, ed.Range.Start, m.units), refOffset(m.text, ed.Range.End, m.units), ed.NewText)
	}
	m.e.reply(msg, args{"applied": true})
}

func (m *mirrored) replace(from, to int, text string) {
	m.version++
	change := args{"text": text, "range": args{"start": refPosition(m.text, from, m.units), "end": refPosition(m.text, to, m.units)}}
	m.text = m.text[:from] + text + m.text[to:]
	m.e.change(m.path, m.version, change)
}

// typeSomething changes a place between two characters, away from the marks
// that the agent looks for.
func (m *mirrored) typeSomething() {
	places := []int{len(m.text)}
	for i := range m.text {
		if i == 0 || m.text[i] != '\n' || m.text[i-1] != '\r' {
			places = append(places, i)
		}
	}
	slices.Sort(places)
	n := m.rng.IntN(len(places))
	from, to := places[n], places[min(n+m.rng.IntN(3), len(places)-1)]
	if strings.Contains(m.text[max(from-6, 0):min(to+6, len(m.text))], "[M") {
		return
	}
	m.typed++
	m.replace(from, to, []string{"x", "é", "漢", "😀", m.eol, "", "two" + m.eol + "lines"}[m.rng.IntN(7)])
}

// Files in the sessions folder that are no records are counted, refused by name
// and left as they are; a pipe among them stops nothing.
func TestDamagedRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Options{}).speaks("responses")
	w.stored(storedID1, `{"role":"user","content":"hi"}`)
	dir := filepath.Join(w.home, ".shiro-neko", "sessions")
	good, err := os.ReadFile(filepath.Join(dir, storedID1+".json"))
	if err != nil {
		t.Fatal(err)
	}
	damaged := map[string]string{
		"half": string(good[:len(good)/2]), "nothing": "", "null": "null", "list": "[]", "zeros": strings.Repeat("\x00", 200),
		"five": strings.Replace(string(good), `[{"role":"user","content":"hi"}]`, "5", 1), "twice": string(good) + string(good), "deep": strings.Repeat(`{"messages":[`, 50_000),
	}
	for name, text := range damaged {
		w.write(filepath.Join(dir, name+".json"), text)
	}
	w.write(filepath.Join(dir, "mark.json"), "\uFEFF"+string(good))
	w.write(filepath.Join(dir, "future.json"), strings.Replace(string(good), `"messages"`, `"version":99,"messages"`, 1))
	if err := os.Mkdir(filepath.Join(dir, "folder.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := w.start()
	l := call[wire.SessionListResult](s, wire.MethodSessionList, wire.SessionListParams{})
	if len(l.Sessions) != 3 || l.Skipped != len(damaged) {
		t.Errorf("%d sessions, %d skipped", len(l.Sessions), l.Skipped)
	}
	for name := range damaged {
		if err := s.Call(s.ctx(), wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: name}, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := os.ReadFile(filepath.Join(dir, name+".json")); string(got) != damaged[name] {
			t.Errorf("%s was changed", name)
		}
	}
	for _, name := range []string{"folder", "pipe"} {
		if err := s.Call(s.ctx(), wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: name}, nil); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
	for _, name := range []string{"mark", "future", storedID1} {
		call[json.RawMessage](s, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: name})
		aliveAfter(t, s, name)
	}
	w.strict()
	s.quit()
}

// Two servers have one conversation open: the second is refused, or nothing
// that was said in either is lost.
func TestTwoServersOfOneConversation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Options{}).speaks("responses")
	w.stored(storedID1, `{"role":"user","content":"hi"}`)
	a, b := w.start(), w.start()
	call[json.RawMessage](a, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: storedID1})
	err := b.Call(b.ctx(), wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: storedID1}, nil)
	if e, ok := err.(*lsptest.Error); ok && e.Kind() == wire.KindSessionLocked {
		a.quit()
		b.quit()
		return
	} else if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		for name, s := range map[string]*server{"a": a, "b": b} {
			s.prompt(storedID1, fmt.Sprintf("prompt %d of %s", n, name))
			s.ended()
		}
	}
	a.quit()
	b.quit()
	names, _ := filepath.Glob(filepath.Join(w.home, ".shiro-neko", "sessions", "*.json"))
	all := ""
	for _, name := range names {
		data, _ := os.ReadFile(name)
		if !json.Valid(data) {
			t.Errorf("%s is damaged", name)
		}
		all += string(data)
	}
	for n := range 3 {
		for _, name := range []string{"a", "b"} {
			if said := fmt.Sprintf("prompt %d of %s", n, name); !strings.Contains(all, said) {
				t.Errorf("%q is in none of %d records", said, len(names))
			}
		}
	}
}

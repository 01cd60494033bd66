package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"shiro/agent/provider/providertest"
	"shiro/lsp/lsptest"
	wire "shiro/lsp/protocol"
)

// The test binary is also the program: a child process with this variable runs
// main, so that what is tested crosses real pipes.
const asProgram = "SHIRO_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// patience bounds every wait of a test; nothing is expected to take that long.
const patience = 30 * time.Second

// A world is a user's machine: a home, a workspace and a model server.
type world struct {
	t     testing.TB
	home  string // parent of .shiro-neko
	dir   string // the workspace
	model *providertest.Server
	env   []string
}

func newWorld(t testing.TB, o providertest.Options) *world {
	t.Helper()
	model, err := providertest.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: t.TempDir(), dir: dir, model: model}
	w.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "SHIRO_HOME=" + w.home, "TMPDIR=" + t.TempDir(),
		"SHIRO_PROVIDER=openai", "SHIRO_MODEL=mock", "SHIRO_BASE_URL=" + model.URL(), "SHIRO_API_KEY=test-key-0123456789",
	}
	return w
}

// speaks chooses the wire of the model server.
func (w *world) speaks(api string) *world {
	w.config("[provider]\napi = \"" + api + "\"\n")
	return w
}

func (w *world) config(toml string) {
	w.write(filepath.Join(w.home, ".shiro-neko", "config.toml"), toml)
}

func (w *world) write(path, text string) {
	w.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.dir, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(path string) string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, path))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// A server is a running process with an editor connected to it.
type server struct {
	*lsptest.Editor
	w   *world
	cmd *exec.Cmd
	log *logBuffer
	at  int // events before this one have been looked at
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs the program and introduces the editor.
func (w *world) start(args ...string) *server {
	w.t.Helper()
	s := w.launch(args...)
	if _, err := s.Initialize(s.ctx(), w.dir, nil); err != nil {
		w.t.Fatalf("initialize: %v\n%s", err, s.log)
	}
	return s
}

func (w *world) launch(args ...string) *server {
	w.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	s := &server{w: w, log: &logBuffer{}, cmd: exec.Command(exe, args...)}
	s.cmd.Env = append(w.env, asProgram+"=1")
	s.cmd.Dir = w.dir
	s.cmd.Stderr = s.log
	in, err := s.cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, pw, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	s.cmd.Stdout = pw
	if err := s.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	pw.Close()
	s.Editor = lsptest.Connect(in, out)
	w.t.Cleanup(func() {
		s.cmd.Process.Kill()
		s.cmd.Wait()
		<-s.Done()
		out.Close()
		if log := s.log.String(); strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic") {
			w.t.Errorf("the server's log:\n%s", log)
		}
		if stray := s.Stray(); len(stray) > 0 {
			w.t.Errorf("stray output of the server: %q", stray)
		}
	})
	return s
}

// ctx bounds one wait.
func (s *server) ctx() context.Context {
	ctx, cancel := context.WithTimeout(s.w.t.Context(), patience)
	s.w.t.Cleanup(cancel)
	return ctx
}

// call makes a request that must succeed.
func call[R any](s *server, method string, params any) R {
	s.w.t.Helper()
	var res R
	if err := s.Call(s.ctx(), method, params, &res); err != nil {
		s.w.t.Fatalf("%s: %v\n%s", method, err, s.log)
	}
	return res
}

// refused makes a request that must fail with the kind.
func (s *server) refused(kind wire.ErrorKind, method string, params any) *lsptest.Error {
	s.w.t.Helper()
	err := s.Call(s.ctx(), method, params, nil)
	e, ok := err.(*lsptest.Error)
	if !ok || e.Kind() != kind || e.Code != kind.Code() {
		s.w.t.Fatalf("%s: %v, want %s", method, err, kind)
	}
	return e
}

func (s *server) create() string {
	s.w.t.Helper()
	return call[wire.SessionCreateResult](s, wire.MethodSessionCreate, wire.SessionCreateParams{Cwd: s.w.dir}).Session.ID
}

// prompt starts a turn and returns its id.
func (s *server) prompt(session, text string) string {
	s.w.t.Helper()
	return call[wire.TurnStartResult](s, wire.MethodTurnStart, wire.TurnStartParams{
		SessionID: session, Input: []wire.Content{{Type: wire.ContentText, Text: text}},
	}).TurnID
}

// next waits for the next event of that type.
func next[D any](s *server, typ wire.EventType) D {
	s.w.t.Helper()
	e, at, err := s.WaitEvent(s.ctx(), s.at, func(e wire.Event) bool { return e.Type == typ })
	if err != nil {
		s.w.t.Fatalf("%s: %v\n%s\n%s", typ, err, s.told(), s.log)
	}
	s.at = at
	return e.Data.(D)
}

// ended waits for the end of the turn.
func (s *server) ended() wire.TurnCompleted {
	s.w.t.Helper()
	return next[wire.TurnCompleted](s, wire.EventTurnCompleted)
}

// asked waits for an approval.
func (s *server) asked() wire.Approval {
	s.w.t.Helper()
	return next[wire.Approval](s, wire.EventApprovalRequested)
}

// answer settles an approval.
func (s *server) answer(a wire.Approval, option string) wire.ApprovalRespondResult {
	s.w.t.Helper()
	return call[wire.ApprovalRespondResult](s, wire.MethodApprovalRespond, wire.ApprovalRespondParams{
		SessionID: a.SessionID, ApprovalID: a.ApprovalID, OptionID: option, ClientRequestID: option + a.ApprovalID,
	})
}

// told lists the events for a failure's message.
func (s *server) told() string {
	var b strings.Builder
	for _, e := range s.Events() {
		data, _ := json.Marshal(e.Data)
		b.WriteString(string(e.Type) + " " + string(data[:min(len(data), 200)]) + "\n")
	}
	return b.String()
}

// quit shuts down in order and returns the exit code.
func (s *server) quit() int {
	s.w.t.Helper()
	call[json.RawMessage](s, "shutdown", nil)
	if err := s.Notify("exit", nil); err != nil {
		s.w.t.Fatal(err)
	}
	code := s.exitCode()
	if code != 0 {
		s.w.t.Errorf("exit code %d after shutdown\n%s", code, s.log)
	}
	return code
}

// kill ends the process as a power cut would.
func (s *server) kill() {
	s.w.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		s.w.t.Fatal(err)
	}
	s.exitCode()
}

func (s *server) exitCode() int {
	s.w.t.Helper()
	select {
	case <-s.Done():
	case <-time.After(patience):
		s.w.t.Fatalf("the server did not end\n%s", s.log)
	}
	s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

// record reads the stored conversation.
func (w *world) record(session string) map[string]any {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.home, ".shiro-neko", "sessions", session+".json"))
	if err != nil {
		w.t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		w.t.Fatalf("%v in %s", err, data)
	}
	return v
}

// strict fails the test for every request that a real server would refuse.
func (w *world) strict() {
	w.t.Helper()
	for _, v := range w.model.Violations() {
		w.t.Errorf("the model server refused %v", v)
	}
}

// waitRecord waits until the stored conversation holds the text.
func (w *world) waitRecord(session, text string) {
	w.t.Helper()
	path := filepath.Join(w.home, ".shiro-neko", "sessions", session+".json")
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), text) {
			return
		}
	}
	w.t.Fatalf("%s never held %q", path, text)
}

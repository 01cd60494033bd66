package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shiro/agent/permission"
	"shiro/agent/provider"
	mock "shiro/agent/provider/providertest"
	"shiro/agent/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of a test; nothing is expected to take that long.
const patience = 20 * time.Second

type args = map[string]any

// A world is a folder, a strict model server, a store and an agent. When the
// test ends, whatever happened in it is held against the rules: the order of
// events, the shape of records, what the model server refused, and that events
// and history tell the same.
type world struct {
	t     testing.TB
	dir   string
	api   string
	model *mock.Server
	store *memStore
	setup Setup // of conversations made from now on
	agent *Agent

	broken bool // requests that the server refuses are expected

	mu    sync.Mutex
	talks []*talk
}

// newWorld makes a world whose model server plays the script.
func newWorld(t testing.TB, script ...mock.Step) *world {
	t.Helper()
	return newWorldOn(t, mock.Responses, mock.Options{Script: script})
}

func newWorldOn(t testing.TB, api string, o mock.Options) *world {
	t.Helper()
	model, err := mock.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws, err := tool.NewWorkspace(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := provider.New(provider.Options{API: api, BaseURL: model.URL()})
	w := &world{t: t, dir: dir, api: api, model: model, store: newMemStore(t)}
	w.setup = Setup{
		Model: client, ModelName: "mock", Provider: "openai", Commit: ws.Commit,
		Tools:     func(l tool.TodoList) []tool.Tool { return tool.New(tool.Options{Workspace: ws, Todos: l}) },
		Threshold: 120_000, MaxSteps: 50, MaxRetries: 3,
	}
	w.rules()
	w.agent = w.newAgent()
	t.Cleanup(func() {
		w.close()
		model.Close()
		client.Close()
		if v := model.Violations(); len(v) > 0 && !w.broken {
			t.Errorf("the model server refused: %v", v)
		}
	})
	return w
}

func (w *world) newAgent() *Agent {
	return New(context.Background(), Options{Store: w.store, Setup: func(context.Context, string) (*Setup, error) {
		s := w.setup
		return &s, nil
	}})
}

// rules sets the user's rules over the builtin ones, under which editing and
// commands are asked.
func (w *world) rules(rules ...permission.Rule) {
	w.setup.Policy = permission.New(permission.Options{Rules: rules})
}

func allow(tool, pattern string) permission.Rule {
	return permission.Rule{Tool: tool, Pattern: pattern, Decision: permission.Allow}
}

func deny(tool, pattern string) permission.Rule {
	return permission.Rule{Tool: tool, Pattern: pattern, Decision: permission.Deny}
}

// with adds tools to the real ones.
func (w *world) with(more ...tool.Tool) {
	real := w.setup.Tools
	w.setup.Tools = func(l tool.TodoList) []tool.Tool { return append(real(l), more...) }
}

// close ends the agent and looks everything over.
func (w *world) close() {
	if err := w.agent.Close(); err != nil {
		w.t.Errorf("closing: %v", err)
	}
	w.mu.Lock()
	talks := w.talks
	w.talks = nil
	w.mu.Unlock()
	for _, c := range talks {
		c.look()
	}
	w.store.look(w.api)
}

// reopen ends the agent as an editor that closes does, and begins a new one.
func (w *world) reopen() {
	w.close()
	w.agent = w.newAgent()
}

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// read returns a file's text, "" when there is no such file.
func (w *world) read(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return string(b)
}

// requests returns what the model was asked, once n requests have come.
func (w *world) requests(n int) []mock.Request {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	all, err := w.model.Wait(ctx, n)
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// A talk is a conversation somebody listens to from its beginning.
type talk struct {
	*Session
	*listener
	w *world
}

// create begins a conversation.
func (w *world) create() *talk {
	w.t.Helper()
	s, err := w.agent.Create(context.Background(), w.dir, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return w.listen(s)
}

// open goes on with a stored conversation.
func (w *world) open(id string) *talk {
	w.t.Helper()
	s, err := w.agent.Open(context.Background(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.listen(s)
}

// listen attaches to a conversation.
func (w *world) listen(s *Session) *talk {
	c := &talk{Session: s, listener: attach(w.t, s), w: w}
	w.mu.Lock()
	w.talks = append(w.talks, c)
	w.mu.Unlock()
	return c
}

// look waits for the end of the events and judges them.
func (c *talk) look() {
	c.w.t.Helper()
	c.drained()
	events := c.all()
	faults := append(orderFaults(c.first, events), viewFaults(c.first, events, c.Session)...)
	if len(faults) > 0 {
		c.w.t.Errorf("session %s: %s\n%s", c.ID, strings.Join(faults, "\n"), describe(events))
	}
}

// A listener keeps the events of one attachment.
type listener struct {
	t      testing.TB
	first  Attachment
	detach func()
	done   chan struct{} // closed when the feed has ended

	mu     sync.Mutex
	events []Event
	grown  chan struct{} // closed and replaced with every event
	at     int           // next looks from here on
}

func attach(t testing.TB, s *Session) *listener {
	a, detach := s.Attach("", 0, 1<<30)
	l := &listener{t: t, first: a, detach: detach, done: make(chan struct{}), grown: make(chan struct{})}
	go func() {
		defer close(l.done)
		for {
			e, err := a.Feed.Next(context.Background())
			if err != nil {
				return // the conversation is closed
			}
			l.mu.Lock()
			l.events = append(l.events, e)
			close(l.grown)
			l.grown = make(chan struct{})
			l.mu.Unlock()
		}
	}()
	return l
}

// drained waits for the end of the feed.
func (l *listener) drained() {
	l.t.Helper()
	select {
	case <-l.done:
	case <-time.After(patience):
		l.t.Fatal("the feed of a closed conversation does not end")
	}
}

func (l *listener) all() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}

// find waits for the next event that ok likes and goes on behind it.
func (l *listener) find(what string, ok func(Event) bool) Event {
	l.t.Helper()
	timeout := time.After(patience)
	for {
		l.mu.Lock()
		for l.at < len(l.events) {
			e := l.events[l.at]
			l.at++
			if ok(e) {
				l.mu.Unlock()
				return e
			}
		}
		grown := l.grown
		l.mu.Unlock()
		select {
		case <-grown:
		case <-l.done:
			l.t.Fatalf("the conversation ended before %s:\n%s", what, describe(l.all()))
		case <-timeout:
			l.t.Fatalf("no %s:\n%s", what, describe(l.all()))
		}
	}
}

// next waits for the next event of a type, and of those for one that is ok.
func next[T any](l *talk, ok ...func(T) bool) T {
	l.w.t.Helper()
	var zero T
	e := l.find(fmt.Sprintf("%T", zero), func(e Event) bool {
		d, is := e.Data.(T)
		return is && (len(ok) == 0 || ok[0](d))
	})
	return e.Data.(T)
}

// count counts the events of a type so far.
func count[T any](events []Event) (n int) {
	for _, e := range events {
		if _, is := e.Data.(T); is {
			n++
		}
	}
	return n
}

// start begins or queues a turn.
func (c *talk) start(p Prompt) (turn, queueID string) {
	c.w.t.Helper()
	turn, queueID, err := c.Start(p)
	if err != nil {
		c.w.t.Fatalf("prompt %q: %v", p.Text, err)
	}
	return turn, queueID
}

// say begins a turn and waits until it ends.
func (c *talk) say(text string) TurnCompleted {
	c.w.t.Helper()
	c.start(Prompt{Text: text})
	return c.ended()
}

func (c *talk) ended() TurnCompleted {
	c.w.t.Helper()
	return next[TurnCompleted](c)
}

func (c *talk) asked() *Approval {
	c.w.t.Helper()
	return next[ApprovalRequested](c).Approval
}

func (c *talk) answer(a *Approval, option string) Resolution {
	c.w.t.Helper()
	r, err := c.Respond(a.ID, Answer{Option: option})
	if err != nil {
		c.w.t.Fatalf("answering %q: %v", option, err)
	}
	return r
}

// must holds a turn's end against what is expected.
func must(t testing.TB, end TurnCompleted, status Status, stop Stop) {
	t.Helper()
	if end.Status != status || end.Stop != stop {
		t.Errorf("the turn ended %s (%s), want %s (%s): %+v", end.Status, end.Stop, status, stop, end.Failure)
	}
}

// aliveAfter proves that the conversation can go on: one more prompt reaches
// the model, which answers it.
func (c *talk) aliveAfter() {
	c.w.t.Helper()
	before := len(c.w.model.Requests())
	must(c.w.t, c.say("carry on"), Completed, EndTurn)
	asked := slices.ContainsFunc(c.w.model.Requests()[before:], func(r mock.Request) bool { return slices.Contains(r.Users(), "carry on") })
	if !asked {
		c.w.t.Error("the model was not asked")
	}
}

// A gate is a tool that waits: it tells that it began and ends when it is
// released, or with its context.
type gate struct {
	began   chan string // the call's "name" argument
	release chan struct{}
}

func newGate() *gate { return &gate{began: make(chan string, 100), release: make(chan struct{})} }

func (g *gate) tool(name string, mutates bool) tool.Tool {
	return tool.Tool{
		Name: name, Description: "Waits.", Schema: []byte(`{"type":"object","properties":{"name":{"type":"string"}}}`),
		Kind: "other", Mutates: mutates,
		Describe: func(json.RawMessage) tool.Subject { return tool.Subject{Title: name} },
		Run: func(ctx context.Context, c tool.Call) (string, error) {
			g.began <- string(c.Input)
			if c.Output != nil {
				c.Output("stdout", "begun\n")
			}
			select {
			case <-g.release:
				return "released", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		},
	}
}

func (g *gate) wait(t testing.TB) string {
	t.Helper()
	select {
	case name := <-g.began:
		return name
	case <-time.After(patience):
		t.Fatal("the tool does not begin")
		return ""
	}
}

// describe lists events, one a line.
func describe(events []Event) string {
	var b strings.Builder
	for _, e := range events {
		text := fmt.Sprintf("%+v", e.Data)
		switch d := e.Data.(type) {
		case ApprovalRequested:
			text = fmt.Sprintf("%s for %s: %s", d.Approval.ID, d.Approval.Item, d.Approval.Title)
		case ApprovalResolved:
			text = fmt.Sprintf("%s for %s: %s", d.Approval.ID, d.Approval.Item, d.Outcome)
		case ItemStarted:
			text = brief(d.Item)
		case ItemUpdated:
			text = brief(d.Item)
		case ItemCompleted:
			text = brief(d.Item)
		case SessionUpdated:
			text = string(d.Info.State)
		case ContextUpdated:
			text = ""
		}
		fmt.Fprintf(&b, "%4d %-6s %T %.200s\n", e.Seq, e.Turn, e.Data, strings.ReplaceAll(text, "\n", " "))
	}
	return b.String()
}

func brief(it Item) string {
	text := it.ID + " " + string(it.Kind) + " " + string(it.Status)
	for _, more := range []string{it.CallID, it.Tool, it.Text, it.Output} {
		if more != "" {
			text += " " + more
		}
	}
	if it.Withdrawn {
		text += " withdrawn"
	}
	return text
}

// yield lets other goroutines run for n turns of the scheduler.
func yield(n int) {
	for range n {
		runtime.Gosched()
	}
}

func (w *world) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(w.dir, name))
	return err == nil
}

// without leaves a tool out.
func without(tools func(tool.TodoList) []tool.Tool, name string) func(tool.TodoList) []tool.Tool {
	return func(l tool.TodoList) []tool.Tool {
		return slices.DeleteFunc(tools(l), func(t tool.Tool) bool { return t.Name == name })
	}
}

// Package agent holds conversations: it sends them to a model, carries out the
// tool calls that come back, asks the user where a rule says so, and tells
// whoever listens. It knows no editor and no disk layout; cmd/shiro hands it
// both.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"shiro/agent/permission"
	"shiro/agent/provider"
	"shiro/agent/tool"
	"shiro/memory/transcript"
)

// A Model answers one request at a time per caller, streaming deltas to on.
// After an error nothing of the response may be used.
type Model interface {
	Stream(ctx context.Context, r *provider.Request, on func(provider.Delta)) (*provider.Response, error)
}

// A Store keeps the records of conversations.
type Store interface {
	// Load returns the record with that id, or whose id is the only one that
	// begins with it, and what tells this state of it from a later one. The
	// error is ErrNotFound when there is none.
	Load(idOrPrefix string) (rec *transcript.Session, version any, err error)
	// Open returns the writer of one record: of a new one when version is nil,
	// else of the one that was loaded at that version. What goes wrong later,
	// and what the user should know, is told to notice. It fails with an error
	// that wraps ErrLocked when another process writes the session.
	Open(id string, version any, notice func(Notice)) (Writer, error)
}

// A Writer writes one session. Save takes the whole state and returns at once.
// Log keeps what has happened since before it returns, so that the end of the
// process loses nothing of it; with sync, not the end of the machine either.
// Close writes what is left.
type Writer interface {
	Save(*transcript.Session)
	Log(sync bool, entries ...transcript.Entry) error
	Close() error
}

// Errors of a Store.
var (
	ErrNotFound = errors.New("no such session")
	ErrLocked   = errors.New("another process writes this session")
)

// A Setup is what the conversations of one folder run with.
type Setup struct {
	Model        Model
	ModelName    string
	Provider     string // as records name it: "anthropic" or "openai"
	Effort       string // thinking effort; empty leaves it to the model
	Tools        func(tool.TodoList) []tool.Tool
	Commit       func(context.Context, *tool.Edit) error // writes an edit of one of Tools
	Policy       *permission.Policy
	Instructions []Instruction
	Notes        func() string // the notes block of the system prompt; may be nil
	Memory       Memory        // the same notes for commands; nil when there are none
	History      func(string)  // keeps a prompt for the folder's prompt history; may be nil
	Appendix     string        // what else the system prompt says
	Threshold    int           // estimated tokens above which history is compacted
	Window       int           // the model's context window in tokens; 0 when not known
	MaxSteps     int           // model requests in one turn
	MaxRetries   int           // per model request
	Notices      []Notice      // told to each new conversation once
	// Cost returns the price in USD of that many tokens, nil when unknown.
	Cost func(model string, input, output int64) *float64
}

// Options make an Agent.
type Options struct {
	Store Store
	// Setup prepares a folder. It is called for every conversation opened, and
	// may fail with a text that tells the user what to configure.
	Setup func(ctx context.Context, cwd string) (*Setup, error)
	Log   *slog.Logger
}

// An Agent holds the open conversations of a process.
type Agent struct {
	opts   Options
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	open   map[string]*Session
	leaves map[string]chan struct{}     // by id, of those that are being released: closed in the end
	always map[string][]permission.Rule // granted in a folder, by its path
	closed bool
}

// New returns an agent whose conversations end with ctx.
func New(ctx context.Context, o Options) *Agent {
	a := &Agent{opts: o, open: make(map[string]*Session), leaves: make(map[string]chan struct{}), always: make(map[string][]permission.Rule)}
	a.ctx, a.cancel = context.WithCancel(ctx)
	return a
}

// Create begins a conversation in the folder cwd, with the configured model
// when model is empty. Nothing is stored before the first prompt.
func (a *Agent) Create(ctx context.Context, cwd, model string) (*Session, error) {
	cwd, err := filepath.EvalSymlinks(cwd) // records name folders as the system does
	if err != nil {
		return nil, fmt.Errorf("the folder to work in: %w", err)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("making a session id: %w", err)
	}
	rec := &transcript.Session{ID: id.String(), CreatedAt: timestamp(time.Now()), CWD: cwd, Model: model}
	rec.UpdatedAt = rec.CreatedAt
	return a.start(ctx, rec, nil)
}

// Open returns the conversation with that id, or with the only id that begins
// with it, from among the open ones or the store.
func (a *Agent) Open(ctx context.Context, idOrPrefix string) (*Session, error) {
	if s := a.Session(idOrPrefix); s != nil {
		return s, nil
	}
	a.left(ctx, idOrPrefix)
	rec, version, err := a.opts.Store.Load(idOrPrefix)
	if err == nil && a.left(ctx, rec.ID) {
		rec, version, err = a.opts.Store.Load(rec.ID)
	}
	if err != nil {
		return nil, err
	}
	if s := a.Session(rec.ID); s != nil {
		return s, nil
	}
	return a.start(ctx, rec, version)
}

// Session returns an open conversation, or nil.
func (a *Agent) Session(id string) *Session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open[id]
}

// Sessions returns the open conversations in no order.
func (a *Agent) Sessions() []*Session {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]*Session, 0, len(a.open))
	for _, s := range a.open {
		all = append(all, s)
	}
	return all
}

func (a *Agent) start(ctx context.Context, rec *transcript.Session, version any) (*Session, error) {
	setup, err := a.opts.Setup(ctx, rec.CWD)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, errors.New("the server is shutting down")
	}
	if s := a.open[rec.ID]; s != nil { // opened meanwhile
		return s, nil
	}
	s, err := newSession(a, rec, setup, version)
	if err != nil {
		return nil, err
	}
	s.resumeSuspended() // before anybody else can begin a turn
	a.open[rec.ID] = s
	return s, nil
}

// Release ends one conversation: its turn is interrupted and what is unsaved
// is written. It stays in the store.
func (a *Agent) Release(id string) error {
	a.mu.Lock()
	s := a.open[id]
	if s == nil {
		a.mu.Unlock()
		return nil
	}
	left := make(chan struct{})
	delete(a.open, id)
	a.leaves[id] = left
	a.mu.Unlock()
	err := s.close()
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.leaves, id)
	close(left)
	return err
}

// left waits for the end of a conversation that is being released, and reports
// whether it was: until then the store does not hold all of it.
func (a *Agent) left(ctx context.Context, id string) bool {
	a.mu.Lock()
	left := a.leaves[id]
	a.mu.Unlock()
	if left == nil {
		return false
	}
	select {
	case <-left:
	case <-ctx.Done():
	}
	return true
}

// Close ends all conversations and waits for them.
func (a *Agent) Close() error {
	a.mu.Lock()
	a.closed = true
	open, leaves := a.open, maps.Clone(a.leaves)
	a.open = nil
	a.mu.Unlock()
	a.cancel()
	var errs []error
	for _, s := range open {
		errs = append(errs, s.close())
	}
	for _, left := range leaves {
		<-left
	}
	return errors.Join(errs...)
}

// grant allows what rules cover in every conversation of the folder.
func (a *Agent) grant(cwd string, rules []permission.Rule) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.always[cwd] = slices.Concat(a.always[cwd], rules)
}

func (a *Agent) granted(cwd string) []permission.Rule {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.always[cwd]
}

func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

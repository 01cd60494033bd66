package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"shiro/agent/permission"
	"shiro/agent/provider"
	"shiro/agent/tool"
	"shiro/memory/transcript"
)

// keptEvents bounds the durable events a conversation can replay.
const keptEvents = 2048

// A Session is one conversation. It owns its transcript, queue, running turn,
// open approvals and feeds, under one mutex.
type Session struct {
	ID  string
	CWD string

	agent  *Agent
	setup  *Setup
	log    logger
	tools  []tool.Tool
	specs  []provider.Tool
	system string
	writer Writer
	cache  provider.Cache // used by the running turn only
	ctx    context.Context
	stop   context.CancelFunc
	turns  sync.WaitGroup

	mu        sync.Mutex
	rec       transcript.Session // what is stored
	todo      Todo
	state     State
	last      provider.Usage // of the newest model request
	turnIDs   []string       // of the user messages, in order
	started   int            // turns begun or queued
	requests  []request      // the newest answers of Start, by the client's id
	queue     []*turn
	running   *turn
	live      []*liveItem      // of the step that is not in the transcript yet
	shown     map[string]bool  // ids of items that were live
	names     map[place]string // ids of those that stand elsewhere than they say
	approvals []*Approval      // open, in order
	answered  map[string]*Approval
	grants    []permission.Rule // for the conversation
	epoch     string
	seq       uint64
	events    []Event // the newest durable ones
	feeds     map[*Feed]struct{}
	greeted   bool   // the setup's notices have been told
	unlogged  bool   // the journal could not be written the last time
	doubt     *Doubt // what /memory proposed last, while it can be accepted
	mended    bool   // the stored record lacks messages that we put between others
	closed    bool
}

func newSession(a *Agent, rec *transcript.Session, setup *Setup, version any) (*Session, error) {
	s := &Session{
		ID: rec.ID, CWD: rec.CWD, agent: a, setup: setup, log: newLogger(a.opts.Log, rec.ID),
		rec: *rec, state: Idle, epoch: uuid.NewString(),
		answered: make(map[string]*Approval), feeds: make(map[*Feed]struct{}), shown: make(map[string]bool), names: make(map[place]string),
	}
	s.rec.Messages = mend(rec.Messages)
	s.mended = len(s.rec.Messages) > len(rec.Messages)
	s.ctx, s.stop = context.WithCancel(a.ctx)
	if s.rec.Model == "" || version != nil { // resumed: the model of today's configuration
		s.rec.Model = setup.ModelName
	}
	s.rec.Provider = setup.Provider
	s.todo.Entries = transcript.Todos(rec.Notebook)
	if len(rec.Notebook) == 0 {
		s.rec.Notebook = transcript.Notebook(nil)
	}
	s.tools = setup.Tools(todoList{s})
	for _, t := range s.tools {
		s.specs = append(s.specs, provider.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	s.system = systemPrompt(s.CWD, s.tools, setup)
	for _, m := range s.rec.Messages {
		if m.Role == transcript.RoleUser {
			s.turnIDs = append(s.turnIDs, turnID(len(s.turnIDs)+1))
		}
	}
	s.started = len(s.turnIDs)
	w, err := a.opts.Store.Open(rec.ID, version, func(n Notice) { s.publish("", n) })
	if err != nil {
		s.stop()
		return nil, err
	}
	s.writer = w
	if s.seq = rec.Seq; s.seq > 0 { // the journal knew more than the record
		s.saveLocked()
	}
	if setup.Memory != nil {
		stamp := setup.Memory.Stamp()
		s.turns.Go(func() { s.watchNotes(stamp) })
	}
	return s, nil
}

// An Attachment is a consistent view of a conversation and the events after
// it, with no gap and no overlap.
type Attachment struct {
	Feed  *Feed
	Epoch string
	Seq   uint64 // of the newest durable event

	// Replay holds the durable events after the cursor, when it could be
	// honoured; otherwise Snapshot is set.
	Replay   []Event
	Snapshot *Snapshot
	Reason   string // why a snapshot: "fresh", "epoch", "cursor_expired"
}

// A Snapshot is the state of a conversation.
type Snapshot struct {
	Info      Info
	Items     []Item // newest last
	HasOlder  bool
	Todo      Todo
	Context   Context
	Queue     []Queued
	Approvals []*Approval
	Active    *Active // nil when no turn runs
	Live      []LiveText
}

// An Active is the running turn.
type Active struct {
	ID      string
	Trigger Trigger
	Begun   time.Time
}

// LiveText is the text so far of an open item. Text ends at byte To of the
// channel; it may lack the beginning of a long one.
type LiveText struct {
	Item, Channel, Text string
	To                  int
}

// Info describes an open conversation.
type Info struct {
	Record  *transcript.Session // without messages
	State   State
	Turns   int
	Count   int // messages
	Preview string
}

// Attach subscribes to the conversation. With the epoch of an earlier
// attachment, the events after seq are replayed if they are still known;
// otherwise the snapshot holds the newest tail items. detach ends the feed.
func (s *Session) Attach(epoch string, after uint64, tail int) (a Attachment, detach func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := newFeed()
	if s.closed {
		f.close()
	}
	s.feeds[f] = struct{}{}
	a = Attachment{Feed: f, Epoch: s.epoch, Seq: s.seq}
	switch oldest := s.seq - uint64(len(s.events)); {
	case epoch == "":
		a.Reason = "fresh"
	case epoch != s.epoch || after > s.seq:
		a.Reason = "epoch"
	case after < oldest:
		a.Reason = "cursor_expired"
	default:
		a.Replay = slices.Clone(s.events[after-oldest:])
	}
	if a.Reason != "" {
		a.Snapshot = s.snapshotLocked(tail)
	}
	if !s.greeted {
		s.greeted = true
		for _, n := range s.setup.Notices {
			s.publishLocked("", n)
		}
	}
	return a, func() {
		s.mu.Lock()
		delete(s.feeds, f)
		s.mu.Unlock()
		f.close()
	}
}

func (s *Session) snapshotLocked(tail int) *Snapshot {
	items := s.allItemsLocked()
	older := max(len(items)-tail, 0)
	snap := &Snapshot{
		Info: s.infoLocked(), Items: items[older:], HasOlder: older > 0,
		Todo: s.todo, Context: s.contextLocked(), Queue: s.queuedLocked(), Approvals: slices.Clone(s.approvals),
	}
	if s.running != nil {
		snap.Active = &Active{s.running.id, s.running.trigger, s.running.begun}
	}
	for _, l := range s.live {
		snap.Live = append(snap.Live, l.texts()...)
	}
	return snap
}

// allItemsLocked returns every item, those of the running step last.
func (s *Session) allItemsLocked() []Item {
	items := s.itemsLocked()
	for _, l := range s.live {
		switch i := slices.IndexFunc(items, func(it Item) bool { return it.ID == l.item.ID }); {
		case i >= 0: // in the transcript, and waiting for an answer
			items[i] = l.item
		case !l.item.Withdrawn:
			items = append(items, l.item)
		}
	}
	return items
}

// History returns up to limit items before the item with that id, or the
// newest ones when before is empty, oldest first, and whether there are older.
func (s *Session) History(before string, limit int) (items []Item, older bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.allItemsLocked()
	end := len(all)
	if before != "" {
		end = slices.IndexFunc(all, func(it Item) bool { return it.ID == before })
		if end < 0 {
			return nil, false, fmt.Errorf("no item %s in session %s", before, s.ID)
		}
	}
	from := max(end-limit, 0)
	return all[from:end], from > 0, nil
}

// Item returns one item and what is streaming in it.
func (s *Session) Item(id string) (Item, []LiveText, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.live {
		if l.item.ID == id {
			return l.item, l.texts(), true
		}
	}
	for _, it := range s.itemsLocked() {
		if it.ID == id {
			return it, nil, true
		}
	}
	return Item{}, nil, false
}

// Info describes the conversation now.
func (s *Session) Info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.infoLocked()
}

func (s *Session) infoLocked() Info {
	rec := s.rec
	rec.Messages = nil
	rec.Title = transcript.MakeTitle(s.rec.Messages)
	i := Info{Record: &rec, State: s.state, Turns: len(s.turnIDs), Count: len(s.rec.Messages)}
	if n := len(s.rec.Messages); n > 0 {
		i.Preview = transcript.Cut(plainText(s.rec.Messages[n-1]), 120)
	}
	return i
}

// Todo returns the task list.
func (s *Session) Todo() Todo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.todo
}

// todoList lets the todo_write tool replace the list.
type todoList struct{ s *Session }

func (l todoList) Replace(todos []transcript.Todo) {
	s := l.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.todo = Todo{Rev: s.todo.Rev + 1, Entries: todos}
	s.rec.Notebook = transcript.Notebook(todos)
	s.logLocked(false, transcript.Entry{Kind: transcript.EntryNotebook, Notebook: s.rec.Notebook})
	s.publishLocked(s.activeLocked(), TodoUpdated{s.todo})
}

func (s *Session) activeLocked() string {
	if s.running == nil {
		return ""
	}
	return s.running.id
}

func (s *Session) tool(name string) *tool.Tool {
	for i := range s.tools {
		if s.tools[i].Name == name {
			return &s.tools[i]
		}
	}
	return nil
}

func (s *Session) publish(turn string, data any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.publishLocked(turn, data)
}

func (s *Session) publishLocked(turn string, data any) {
	e := Event{Turn: turn, Time: time.Now(), Data: data}
	if _, ephemeral := data.(ItemDelta); !ephemeral {
		s.seq++
		e.Seq = s.seq
		if len(s.events) == keptEvents {
			s.events = slices.Delete(s.events, 0, keptEvents/2)
		}
		s.events = append(s.events, e)
	}
	for f := range s.feeds {
		f.push(e)
	}
}

func (s *Session) setStateLocked(st State) {
	if s.state != st {
		s.state = st
		s.publishLocked(s.activeLocked(), SessionUpdated{s.infoLocked()})
	}
}

// appendLocked adds whole messages to the transcript: into the journal at once,
// into the record soon.
func (s *Session) appendLocked(sync bool, messages ...*transcript.Message) {
	if len(messages) == 0 {
		return
	}
	first := len(s.rec.Messages) == 0 || s.mended
	s.mended = false
	entries := make([]transcript.Entry, len(messages))
	for i, m := range messages {
		entries[i] = s.entryLocked(transcript.EntryMessage, m)
		s.rec.Messages = append(s.rec.Messages, m)
	}
	if first { // a record must be there before the journal that continues it
		s.saveLocked()
	}
	s.logLocked(sync, entries...)
	if !first {
		s.saveLocked()
	}
}

// entryLocked is the journal's entry of a message that comes next.
func (s *Session) entryLocked(kind string, m *transcript.Message) transcript.Entry {
	return transcript.Entry{Kind: kind, At: len(s.rec.Messages), After: transcript.Mark(s.rec.Messages), Message: m}
}

// logLocked appends to the journal. A failure is told once; the record is
// written all the same.
func (s *Session) logLocked(sync bool, entries ...transcript.Entry) {
	for i := range entries {
		entries[i].Seq = s.seq
	}
	err := s.writer.Log(sync, entries...)
	if err != nil && !s.unlogged {
		s.log.Error("journal", "err", err)
		s.publishLocked(s.activeLocked(), Notice{
			Level: "warning", Title: "The session's journal cannot be written",
			Detail: "What happens in the seconds before a crash may be lost: " + err.Error(), Key: "journal",
		})
	}
	s.unlogged = err != nil
}

// saveLocked hands the record to the store. Messages go behind those that the
// writer sees, so it can read them unlocked.
func (s *Session) saveLocked() {
	rec := s.rec
	s.writer.Save(&rec)
}

func (s *Session) close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.turns.Wait()
	err := s.writer.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for f := range s.feeds {
		f.close()
	}
	return err
}

// object is raw, or {} when it is not a JSON object.
func object(raw json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return json.RawMessage(`{}`)
	}
	return raw
}

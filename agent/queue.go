package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"shiro/agent/permission"
)

// maxQueued bounds the prompts that may wait in one conversation.
const maxQueued = 20

// Errors of Start.
var (
	ErrBusy      = errors.New("a turn is running")
	ErrQueueFull = fmt.Errorf("%d prompts are waiting already", maxQueued)
	ErrClosed    = errors.New("the session is closed")
	ErrRepeated  = errors.New("another prompt was given under this request id")
)

// keptRequests bounds the prompts whose repetition is recognised.
const keptRequests = 64

// A request is a prompt that was taken and what Start answered.
type request struct {
	prompt        Prompt
	turn, queueID string
}

// A Prompt is what the user asks for.
type Prompt struct {
	Text   string
	Model  string // for this and later turns; empty keeps the current one
	Effort string // thinking effort for this turn; empty means the configured one
	Editor string // what the editor shows, as text; sent with each step, not stored
	Queue  bool   // wait for the running turn instead of failing with ErrBusy

	// Typed is the part of Text that the user wrote, without what documents
	// say: it can be a command, and is what the prompt history keeps. All of
	// Text when empty.
	Typed string

	// Request is the client's id of the prompt: the same prompt given again
	// under it starts nothing. May be empty.
	Request string
}

// words are what the user wrote.
func (p Prompt) words() string {
	if p.Typed != "" {
		return p.Typed
	}
	return p.Text
}

// A turn is one prompt and all that follows from it.
type turn struct {
	Prompt
	id      string
	queueID string
	trigger Trigger
	ctx     context.Context
	cancel  context.CancelFunc
	begun   time.Time
	waited  time.Duration     // for the user
	grants  []permission.Rule // for this turn only
	changed []ChangedFile
	made    map[string]repetition // calls, by callKey
	warned  int                   // repetitions that were not carried out
}

// Start begins a turn, or queues it behind the running one; then queueID is
// set. With ErrBusy, turn is the one that runs.
func (s *Session) Start(p Prompt) (turn, queueID string, err error) {
	if err := checkCommand(p.words()); err != nil {
		return "", "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Request != "" {
		if i := slices.IndexFunc(s.requests, func(r request) bool { return r.prompt.Request == p.Request }); i >= 0 {
			if r := s.requests[i]; r.prompt == p {
				return r.turn, r.queueID, nil
			}
			return "", "", ErrRepeated
		}
		defer func() {
			if err == nil {
				s.requests = append(s.requests[max(len(s.requests)-keptRequests+1, 0):], request{p, turn, queueID})
			}
		}()
	}
	switch {
	case s.ctx.Err() != nil:
		return "", "", ErrClosed
	case s.running != nil && !p.Queue:
		return s.running.id, "", ErrBusy
	case len(s.queue) >= maxQueued:
		return "", "", ErrQueueFull
	}
	s.started++
	t := s.newTurn(p, turnID(s.started), ByUser)
	if s.running == nil {
		s.beginLocked(t)
		return t.id, "", nil
	}
	t.trigger, t.queueID = ByQueue, fmt.Sprintf("que_%d", s.started)
	s.queue = append(s.queue, t)
	s.publishLocked("", QueueUpdated{s.queuedLocked()})
	return t.id, t.queueID, nil
}

func (s *Session) newTurn(p Prompt, id string, trigger Trigger) *turn {
	t := &turn{Prompt: p, id: id, trigger: trigger}
	t.ctx, t.cancel = context.WithCancel(s.ctx)
	return t
}

func (s *Session) queuedLocked() []Queued {
	q := make([]Queued, len(s.queue))
	for i, t := range s.queue {
		q[i] = Queued{t.queueID, t.Text}
	}
	return q
}

// Queue returns the prompts that wait.
func (s *Session) Queue() []Queued {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queuedLocked()
}

// Interrupt stops the running turn, whose id it returns, and clears the queue,
// whose texts it hands back. When turn is another's id, nothing is stopped. The
// turn ends with a TurnCompleted event.
func (s *Session) Interrupt(turn string) (discarded []string, running string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		return nil, ""
	}
	if running = s.running.id; turn != "" && turn != running {
		return nil, running
	}
	for _, t := range s.queue {
		discarded = append(discarded, t.Text)
		t.cancel()
	}
	if s.queue != nil {
		s.queue = nil
		s.publishLocked("", QueueUpdated{})
	}
	s.running.cancel()
	return discarded, running
}

// beginLocked runs t on a goroutine, which begins the next turn at its end.
func (s *Session) beginLocked(t *turn) {
	s.running, t.begun = t, time.Now()
	if t.Model != "" {
		s.rec.Model = t.Model
	}
	s.setStateLocked(Running)
	s.publishLocked(t.id, TurnStarted{t.trigger, t.Text})
	s.turns.Go(func() {
		s.run(t)
		t.cancel()
	})
}

// nextLocked begins the turn that waits longest, after one has ended.
func (s *Session) nextLocked() {
	s.running = nil
	if len(s.queue) > 0 && s.ctx.Err() == nil {
		next := s.queue[0]
		s.queue = slices.Delete(s.queue, 0, 1)
		s.publishLocked("", QueueUpdated{s.queuedLocked()})
		s.beginLocked(next)
		return
	}
	s.setStateLocked(Idle)
}

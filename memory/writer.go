package memory

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"shiro/memory/transcript"
)

const (
	saveDelay = 400 * time.Millisecond // of quiet before a record is written
	saveAge   = 2 * time.Second        // the longest that a change waits for quiet
)

// WriterOptions make a Writer. The functions are called from the writer's
// goroutine or from inside Flush and Close, which they must not call.
type WriterOptions struct {
	// Stamp is what Load returned with the record; the zero Stamp for a new one.
	Stamp Stamp
	// Failed is told that the record could not be written: once per kind of
	// failure, until it can be written again. May be nil.
	Failed func(error)
	// Forked is told that somebody else changed the record, so that this one
	// goes on under a new id and theirs stays. May be nil.
	Forked func(newID string)
}

// A Writer writes the record of one open session, some time after it was told
// to. It must be closed.
type Writer struct {
	store *Store
	opts  WriterOptions
	kick  chan struct{} // due was set
	stop  func()
	quit  chan struct{}
	done  chan struct{}

	mu     sync.Mutex
	unsent *transcript.Session // the newest state not yet written; nil when there is none
	since  time.Time           // when the first change not yet written was made; zero when none waits
	due    time.Time           // when to write

	writing sync.Mutex // held while the file is written, and guards what follows
	id      string     // under which we write; empty before the first time
	stamp   Stamp
	updated string // the last updatedAt
	failure string // the kind of failure last reported; empty when the last write went well
}

// Writer returns a writer for one session. Nothing is written before a Save.
func (s *Store) Writer(o WriterOptions) *Writer {
	w := &Writer{
		store: s, opts: o, stamp: o.Stamp,
		kick: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	w.stop = sync.OnceFunc(func() { close(w.quit) })
	go w.run()
	return w
}

// Save asks for session to be written as it is now, and returns at once. It is
// written after 400 ms without another Save, and 2 s after the first change at
// the latest. A session without a message is not written.
func (w *Writer) Save(session *transcript.Session) {
	if len(session.Messages) == 0 {
		return
	}
	s := *session // the caller goes on changing its own
	s.Messages = slices.Clone(s.Messages)
	if s.CostUSD != nil {
		cost := *s.CostUSD
		s.CostUSD = &cost
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.unsent = &s
	if w.since.IsZero() {
		w.since = now
	}
	w.due = now.Add(saveDelay)
	if latest := w.since.Add(saveAge); w.due.After(latest) {
		w.due = latest
	}
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

func (w *Writer) run() {
	defer close(w.done)
	timer := time.NewTimer(saveAge)
	defer timer.Stop()
	for {
		select {
		case <-w.kick:
			w.mu.Lock()
			timer.Reset(time.Until(w.due))
			w.mu.Unlock()
		case <-timer.C:
			w.Flush() // a failure is reported there, and the next Save tries again
		case <-w.quit:
			return
		}
	}
}

// Flush writes what is not yet written, and returns when it is on disk.
func (w *Writer) Flush() error {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.mu.Lock()
	s := w.unsent
	w.unsent, w.since = nil, time.Time{}
	w.mu.Unlock()
	if s == nil {
		return nil
	}
	if w.id == "" {
		w.id, w.updated = s.ID, s.UpdatedAt
	}
	was := w.id
	if err := w.write(s); err != nil {
		w.mu.Lock()
		if w.unsent == nil {
			w.unsent = s
		}
		w.mu.Unlock()
		return w.failed(err)
	}
	w.failure = ""
	if w.id != was {
		w.store.log.Warn("session changed by someone else", "session", was, "fork", w.id)
		if w.opts.Forked != nil {
			w.opts.Forked(w.id)
		}
	}
	return nil
}

func (w *Writer) failed(err error) error {
	err = fmt.Errorf("saving session %s: %w", w.id, err)
	if kind := rootText(err); kind != w.failure {
		w.failure = kind
		w.store.log.Warn("session not saved", "session", w.id, "error", err)
		if w.opts.Failed != nil {
			w.opts.Failed(err)
		}
	}
	return err
}

// Close flushes and ends the writer. Nothing may be saved after it.
func (w *Writer) Close() error {
	w.stop()
	<-w.done
	return w.Flush()
}

// write puts s in its file, or in a new one when that is no longer as we left
// it.
func (w *Writer) write(s *transcript.Session) error {
	if !validID(w.id) {
		return fmt.Errorf("%q is not a session id", w.id)
	}
	unlock, err := lockDir(w.store.recordDir())
	if err != nil {
		return err
	}
	defer unlock()
	current, err := w.stamp.current(w.store.recordPath(w.id))
	if err != nil {
		return err
	}
	s.ID = w.id
	if !current {
		s.ID = NewID()
	}
	s.UpdatedAt = nextStamp(w.store.now(), w.updated, s.CreatedAt)
	s.Title = transcript.MakeTitle(s.Messages)
	data, err := s.MarshalJSON()
	if err != nil {
		return err
	}
	if data, err = pretty(data); err != nil {
		return err
	}
	info, err := replaceFile(w.store.recordPath(s.ID), data)
	if err != nil {
		return err
	}
	w.id, w.updated, w.stamp = s.ID, s.UpdatedAt, Stamp{info, sha256.Sum256(data)}
	return nil
}

// nextStamp is the updatedAt of a record written now: not before it was last
// written, unless that was done under a clock a day or more ahead of this one,
// and never before the record was made.
func nextStamp(now time.Time, updatedAt, createdAt string) string {
	last, err := time.Parse(time.RFC3339, updatedAt)
	if err == nil && last.After(now) && last.Sub(now) <= futureSlack {
		now = last
	}
	if made, err := time.Parse(time.RFC3339, createdAt); err == nil && made.After(now) {
		now = made
	}
	return timestamp(now)
}

// rootText is what went wrong without where: the text of the innermost error.
func rootText(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

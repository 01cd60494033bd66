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
	saveDelay  = 400 * time.Millisecond // of quiet before a record is written
	saveAge    = 2 * time.Second        // the longest that a change waits for quiet
	retryDelay = 2 * time.Second        // after a failure
)

// WriterOptions make a Writer. The functions are called from the writer's
// goroutine or from inside Flush and Close, which they must not call.
type WriterOptions struct {
	// Stamp is what Load returned with the record; the zero Stamp for a new one.
	Stamp Stamp
	// Session is the id of a new session; of one that was loaded, Stamp knows it.
	Session string
	// Failed is told that the record could not be written, once per kind of
	// failure, and nil when it could be written again. May be nil.
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
	logged int64               // length of the journal when unsent was saved
	bare   *transcript.Session // the first state of a new session, for its journal
	since  time.Time           // when the first change not yet written was made; zero when none waits
	due    time.Time           // when to write

	writing sync.Mutex // held while the file is written, and guards what follows
	id      string     // under which we write; empty before the first time
	stamp   Stamp
	updated string // the last updatedAt
	swept   bool   // leftovers of others were looked for
	failure string // the kind of failure last reported; empty when the last write went well

	logging sync.Mutex
	journal *journal // nil until the first entry, of a new session
}

// Writer returns a writer for one session. Nothing is written before a Save or
// a Log. The error is a *LockedError when another process writes the session.
func (s *Store) Writer(o WriterOptions) (*Writer, error) {
	w := &Writer{
		store: s, opts: o, stamp: o.Stamp, id: o.Stamp.id,
		kick: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	if w.id == "" {
		w.id = o.Session
	} else if err := w.claim(); err != nil {
		return nil, err
	}
	w.stop = sync.OnceFunc(func() { close(w.quit) })
	go w.run()
	return w, nil
}

// claim opens the journal of a stored session, so that no other process writes
// it. A journal of another state of the record is kept under another name.
func (w *Writer) claim() error {
	path := w.store.journalPath(w.id)
	j, err := openJournal(path, nil)
	if err != nil {
		return err
	}
	if w.stamp.stray {
		aside := fmt.Sprintf("%s.%d", path, time.Now().UnixMilli())
		if err := errors.Join(copyFile(aside, path), j.empty()); err != nil {
			j.close(false)
			return fmt.Errorf("setting a journal aside: %w", err)
		}
		w.store.log.Warn("a journal that does not continue the record was set aside", "session", w.id, "file", aside)
	}
	w.journal = j
	return nil
}

// Log appends entries to the journal before it returns: the end of the process
// loses none of them, and with sync neither does the end of the machine. The
// first Log of a new session comes after its first Save.
func (w *Writer) Log(sync bool, entries ...transcript.Entry) error {
	w.logging.Lock()
	defer w.logging.Unlock()
	w.mu.Lock()
	id, bare := w.id, w.bare
	w.mu.Unlock()
	if w.journal == nil {
		j, err := openJournal(w.store.journalPath(id), bare)
		if err != nil {
			return fmt.Errorf("opening the journal of session %s: %w", id, err)
		}
		w.journal = j
	}
	if err := w.journal.add(sync, entries...); err != nil {
		return fmt.Errorf("writing the journal of session %s: %w", id, err)
	}
	return nil
}

func (w *Writer) journalSize() int64 {
	w.logging.Lock()
	defer w.logging.Unlock()
	if w.journal == nil {
		return 0
	}
	return w.journal.size
}

// settle drops what was logged before the state that has just been written,
// unless more came since. After a fork the journal begins anew.
func (w *Writer) settle(logged int64, forked bool) error {
	w.logging.Lock()
	defer w.logging.Unlock()
	switch j := w.journal; {
	case j == nil:
		return nil
	case forked:
		w.journal = nil
		return j.close(true)
	case j.size == logged:
		return j.empty()
	}
	return nil
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
	logged := w.journalSize()
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.unsent, w.logged = &s, logged
	if w.bare == nil {
		bare := s // s gets its title and times when it is written
		bare.Messages = nil
		w.bare = &bare
	}
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
			if w.Flush() != nil { // it is reported there
				timer.Reset(retryDelay)
			}
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
	s, logged := w.unsent, w.logged
	w.unsent, w.since = nil, time.Time{}
	w.mu.Unlock()
	if s == nil {
		return nil
	}
	if w.id == "" {
		w.id = s.ID
	}
	if w.updated == "" {
		w.updated = s.UpdatedAt
	}
	was := w.id
	if err := w.write(s); err != nil {
		w.mu.Lock()
		if w.unsent == nil {
			w.unsent, w.logged = s, logged
		}
		w.mu.Unlock()
		return w.failed(err)
	}
	if w.failure != "" && w.opts.Failed != nil {
		w.opts.Failed(nil)
	}
	w.failure = ""
	if err := w.settle(logged, w.id != was); err != nil {
		w.store.log.Warn("journal not shortened", "session", was, "error", err)
	}
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

// Close flushes, ends the writer and lets go of the session. Nothing may be
// saved or logged after it.
func (w *Writer) Close() error {
	w.stop()
	<-w.done
	err := w.Flush()
	w.logging.Lock()
	defer w.logging.Unlock()
	if w.journal != nil {
		err = errors.Join(err, w.journal.close(err == nil))
	}
	return err
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
	if !w.swept {
		w.swept = true
		w.store.sweepLocked(w.store.recordDir())
	}
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
	w.mu.Lock()
	defer w.mu.Unlock()
	w.id, w.updated, w.stamp = s.ID, s.UpdatedAt, Stamp{id: s.ID, info: info, sum: sha256.Sum256(data)}
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

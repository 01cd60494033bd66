package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"shiro/memory/transcript"
)

// Errors of Fork.
var (
	ErrNoTurn = errors.New("no such turn")
	ErrEmpty  = errors.New("the session has no messages yet")
)

// Record returns all of a conversation as it is now, open here, written by
// another process, or neither.
func (a *Agent) Record(idOrPrefix string) (*transcript.Session, error) {
	if s := a.Session(idOrPrefix); s != nil {
		return s.record(), nil
	}
	rec, _, err := a.opts.Store.Load(idOrPrefix)
	if err != nil {
		return nil, err
	}
	if s := a.Session(rec.ID); s != nil {
		return s.record(), nil
	}
	return rec, nil
}

// Fork begins a conversation with what another one was at the end of a turn, or
// is now when turn is empty. The other one goes on, wherever it does.
func (a *Agent) Fork(ctx context.Context, idOrPrefix, turn string) (*Session, error) {
	parent, err := a.Record(idOrPrefix)
	if err != nil {
		return nil, err
	}
	rec := *parent
	if rec.Messages, err = a.upTo(parent, turn); err != nil {
		return nil, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("making a session id: %w", err)
	}
	rec.ID, rec.ParentID, rec.Archived = id.String(), parent.ID, false
	rec.CreatedAt = timestamp(time.Now())
	rec.UpdatedAt = rec.CreatedAt
	rec.InputTokens, rec.OutputTokens, rec.CostUSD = 0, 0, nil // the parent's
	if rec.Name != "" {
		rec.Name = transcript.CleanName(rec.Name + " (fork)")
	}
	w, err := a.opts.Store.Open(rec.ID, nil, func(Notice) {}) // Close fails when there is something to tell
	if err != nil {
		return nil, err
	}
	w.Save(&rec)
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("saving the fork: %w", err)
	}
	return a.Open(ctx, rec.ID)
}

// upTo returns the messages up to the end of a turn. Calls that are open there
// are closed: their answers belong to the parent.
func (a *Agent) upTo(rec *transcript.Session, turn string) ([]*transcript.Message, error) {
	ids := a.turnsOf(rec)
	end, n := len(rec.Messages), 0
	if turn != "" {
		last := slices.Index(ids, turn)
		if last < 0 {
			return nil, fmt.Errorf("%w: session %s has no turn %s", ErrNoTurn, rec.ID, turn)
		}
		for i, m := range rec.Messages {
			if m.Role != transcript.RoleUser {
				continue
			}
			if n++; n == last+2 {
				end = i
				break
			}
		}
	}
	if end == 0 {
		return nil, ErrEmpty
	}
	messages := rec.Messages[:end:end]
	if missing := unanswered(messages); len(missing) > 0 {
		messages = append(messages, transcript.Tool(missing...))
	}
	return messages, nil
}

// turnsOf returns the ids of the turns of rec that have a prompt.
func (a *Agent) turnsOf(rec *transcript.Session) []string {
	if s := a.Session(rec.ID); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.Clone(s.turnIDs)
	}
	var ids []string
	for _, m := range rec.Messages {
		if m.Role == transcript.RoleUser {
			ids = append(ids, turnID(len(ids)+1))
		}
	}
	return ids
}

func (s *Session) record() *transcript.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := s.rec
	rec.Title = transcript.MakeTitle(rec.Messages)
	rec.Messages = rec.Messages[:len(rec.Messages):len(rec.Messages)]
	return &rec
}

// Rename gives the conversation a name instead of its title; an empty one takes
// the name away.
func (s *Session) Rename(name string) {
	s.label(func(rec *transcript.Session) { rec.Name = transcript.CleanName(name) })
}

// Archive puts the conversation away from lists, or back.
func (s *Session) Archive(away bool) {
	s.label(func(rec *transcript.Session) { rec.Archived = away })
}

func (s *Session) label(change func(*transcript.Session)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.rec)
	if len(s.rec.Messages) > 0 { // else the first save says it
		s.logLocked(true, transcript.Entry{Kind: transcript.EntryLabel, Name: s.rec.Name, Archived: s.rec.Archived})
		s.saveLocked()
	}
	s.publishLocked(s.activeLocked(), SessionUpdated{s.infoLocked()})
}

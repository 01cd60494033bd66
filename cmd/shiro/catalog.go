package main

import (
	"errors"

	"shiro/agent"
	wire "shiro/lsp/protocol"
	"shiro/memory"
	"shiro/memory/transcript"
)

// catalog lets the editor work with what is stored.
type catalog struct{ store *memory.Store }

func (c catalog) Sessions(q wire.SessionListParams) (wire.SessionListResult, error) {
	l, err := c.store.List(memory.ListOptions{CWD: q.Cwd, Query: q.Query, Archived: q.Archived, Limit: q.Limit, Cursor: q.Cursor})
	if err != nil {
		return wire.SessionListResult{}, agentError(err)
	}
	res := wire.SessionListResult{NextCursor: l.Next, Skipped: l.Skipped}
	for _, i := range l.Sessions {
		info := wire.SessionInfo{
			ID: i.ID, Title: i.Title, Cwd: i.CWD, CreatedAt: wire.TimestampOf(i.CreatedAt), UpdatedAt: wire.TimestampOf(i.UpdatedAt),
			State: wire.SessionIdle, Turns: i.Turns, Messages: i.Messages, Model: i.Model,
			Tokens: wire.SessionTokens{Input: i.InputTokens, Output: i.OutputTokens}, CostUSD: i.CostUSD, Preview: i.Preview,
			ParentID: i.ParentID, Archived: i.Archived,
		}
		if i.Name != "" {
			info.Title = i.Name
		}
		if i.Waiting {
			info.State = wire.SessionWaiting
		}
		res.Sessions = append(res.Sessions, info)
	}
	return res, nil
}

func (c catalog) Resolve(idOrPrefix string) (string, error) {
	id, err := c.store.Resolve(idOrPrefix)
	return id, agentError(err)
}

func (c catalog) Edit(id string, change func(*transcript.Session)) error {
	return agentError(c.store.Edit(id, change))
}

func (c catalog) Delete(id string) error { return agentError(c.store.Delete(id)) }

func (c catalog) Export(rec *transcript.Session, format wire.ExportFormat, path string) (string, error) {
	return c.store.Export(rec, string(format), path)
}

func (c catalog) Prompts(cwd string) ([]string, error) { return c.store.History(cwd).All() }

func (c catalog) AddPrompt(cwd, prompt string) error { return c.store.History(cwd).Add(prompt) }

// agentError puts the store's errors in the agent's words.
func agentError(err error) error {
	if locked, ok := errors.AsType[*memory.LockedError](err); ok {
		return &lockedError{locked}
	}
	switch {
	case errors.Is(err, memory.ErrNotFound):
		return agent.ErrNotFound
	case errors.Is(err, memory.ErrAmbiguous):
		return kindError{err, "session_not_found"}
	case errors.Is(err, memory.ErrCursor):
		return kindError{err, "invalid_params"}
	}
	return err
}

// A kindError tells the editor what kind of error it is.
type kindError struct {
	error
	kind string
}

func (e kindError) ErrorKind() string { return e.kind }
func (e kindError) Unwrap() error     { return e.error }

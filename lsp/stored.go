package lsp

import (
	"context"
	"errors"
	"path/filepath"

	"shiro/agent"
	wire "shiro/lsp/protocol"
	"shiro/lsp/rpc"
	"shiro/memory/transcript"
)

// find returns the full id of a session and, when it is open here, the session.
func (s *Server) find(idOrPrefix string) (string, *agent.Session, error) {
	if sess := s.agent.Session(idOrPrefix); sess != nil {
		return sess.ID, sess, nil
	}
	id, err := s.opts.Catalog.Resolve(idOrPrefix)
	if err != nil {
		return "", nil, sessionError(idOrPrefix, err)
	}
	return id, s.agent.Session(id), nil
}

func (s *Server) sessionRename(ctx context.Context, p *wire.SessionRenameParams) (*wire.Empty, error) {
	rpc.Async(ctx)
	return s.label(p.SessionID,
		func(sess *agent.Session) { sess.Rename(p.Name) },
		func(rec *transcript.Session) { rec.Name = transcript.CleanName(p.Name) })
}

func (s *Server) sessionArchive(ctx context.Context, p *wire.SessionArchiveParams) (*wire.Empty, error) {
	rpc.Async(ctx)
	away := p.Archived == nil || *p.Archived
	return s.label(p.SessionID,
		func(sess *agent.Session) { sess.Archive(away) },
		func(rec *transcript.Session) { rec.Archived = away })
}

// label changes what is said of a session, through the open conversation if
// there is one.
func (s *Server) label(id string, open func(*agent.Session), stored func(*transcript.Session)) (*wire.Empty, error) {
	id, sess, err := s.find(id)
	if err != nil {
		return nil, err
	}
	if sess != nil {
		open(sess)
		return &wire.Empty{}, nil
	}
	if err := s.opts.Catalog.Edit(id, stored); err != nil {
		return nil, sessionError(id, err)
	}
	return &wire.Empty{}, nil
}

func (s *Server) sessionDelete(ctx context.Context, p *wire.SessionDeleteParams) (*wire.Empty, error) {
	rpc.Async(ctx)
	id, sess, err := s.find(p.SessionID)
	if err != nil {
		return nil, err
	}
	if sess != nil {
		s.unfollow(id)
		if err := s.agent.Release(id); err != nil {
			s.log.Warn("closing a session that is deleted", "session", id, "err", err)
		}
	}
	err = s.opts.Catalog.Delete(id)
	if err != nil && (sess == nil || !errors.Is(err, agent.ErrNotFound)) { // a new one may have no record
		return nil, sessionError(id, err)
	}
	return &wire.Empty{}, nil
}

func (s *Server) sessionExport(ctx context.Context, p *wire.SessionExportParams) (*wire.SessionExportResult, error) {
	format := p.Format
	switch format {
	case "":
		format = wire.ExportMarkdown
	case wire.ExportMarkdown, wire.ExportJSONL:
	default:
		return nil, fail(wire.KindInvalidParams, "params.format: %q is neither md nor jsonl", p.Format)
	}
	if p.Path != "" && !filepath.IsAbs(p.Path) {
		return nil, fail(wire.KindInvalidParams, "params.path: %q is not an absolute path", p.Path)
	}
	rpc.Async(ctx)
	rec, err := s.agent.Record(p.SessionID)
	if err != nil {
		return nil, sessionError(p.SessionID, err)
	}
	path, err := s.opts.Catalog.Export(rec, format, p.Path)
	if err != nil {
		return nil, err
	}
	return &wire.SessionExportResult{Path: path}, nil
}

func (s *Server) sessionFork(ctx context.Context, p *wire.SessionForkParams) (*wire.SessionForkResult, error) {
	rpc.Async(ctx)
	fork, err := s.agent.Fork(ctx, p.SessionID, p.AtTurnID)
	switch {
	case errors.Is(err, agent.ErrNoTurn):
		return nil, fail(wire.KindInvalidParams, "params.atTurnId: %v", err)
	case errors.Is(err, agent.ErrEmpty):
		return nil, fail(wire.KindInvalidParams, "params.sessionId: %v", err)
	case err != nil:
		return nil, sessionError(p.SessionID, err)
	}
	return &wire.SessionForkResult{Session: sessionInfo(fork.Info())}, nil
}

func (s *Server) historyList(ctx context.Context, p *wire.HistoryListParams) (*wire.HistoryListResult, error) {
	if err := folder(p.Cwd); err != nil {
		return nil, err
	}
	rpc.Async(ctx)
	prompts, err := s.opts.Catalog.Prompts(p.Cwd)
	if err != nil {
		return nil, err
	}
	return &wire.HistoryListResult{Prompts: orEmpty(prompts)}, nil
}

// historyAppend keeps the order of the wire among its like: another program may
// hold the file for a while.
func (s *Server) historyAppend(ctx context.Context, p *wire.HistoryAppendParams) (*wire.Empty, error) {
	if err := folder(p.Cwd); err != nil {
		return nil, err
	}
	defer s.inLine(ctx, wire.MethodHistoryAppend)()
	return &wire.Empty{}, s.opts.Catalog.AddPrompt(p.Cwd, p.Prompt)
}

// folder checks a params.cwd.
func folder(cwd string) error {
	if !filepath.IsAbs(cwd) {
		return fail(wire.KindInvalidParams, "params.cwd: %q is not an absolute path", cwd)
	}
	return nil
}

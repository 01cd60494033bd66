package lsp

import (
	"context"
	"os"
	"path/filepath"

	"shiro/agent"
	wire "shiro/lsp/protocol"
	"shiro/lsp/rpc"
)

func (s *Server) sessionCreate(ctx context.Context, p *wire.SessionCreateParams) (*wire.SessionCreateResult, error) {
	if !filepath.IsAbs(p.Cwd) {
		return nil, fail(wire.KindInvalidParams, "params.cwd: %q is not an absolute path", p.Cwd)
	}
	rpc.Async(ctx)
	if info, err := os.Stat(p.Cwd); err != nil {
		return nil, fail(wire.KindInvalidParams, "params.cwd: the folder to work in: %v", err)
	} else if !info.IsDir() {
		return nil, fail(wire.KindInvalidParams, "params.cwd: %s is not a folder", p.Cwd)
	}
	sess, err := s.agent.Create(ctx, p.Cwd, p.Model)
	if err != nil {
		return nil, setupError(err)
	}
	at, detach := sess.Attach("", 0, 0)
	s.follow(ctx, sess, at, detach, nil)
	return &wire.SessionCreateResult{Session: sessionInfo(sess.Info())}, nil
}

func (s *Server) sessionAttach(ctx context.Context, p *wire.SessionAttachParams) (*wire.SessionAttachResult, error) {
	defer s.inLine(ctx, p.SessionID)()
	sess, err := s.agent.Open(ctx, p.SessionID)
	if err != nil {
		return nil, sessionError(p.SessionID, err)
	}
	tail := wire.TailItems
	if p.TailItems != nil {
		tail = max(*p.TailItems, 0)
	}
	epoch, after := "", uint64(0)
	if p.After != nil && *p.After >= 0 {
		epoch, after = p.Epoch, uint64(*p.After)
	}
	at, detach := sess.Attach(epoch, after, tail)
	res := &wire.SessionAttachResult{Mode: wire.AttachReplay, Seq: int64(at.Seq), Epoch: at.Epoch}
	if at.Snapshot != nil {
		res.Mode, res.Reason = wire.AttachSnapshot, wire.AttachReason(at.Reason)
		res.State = s.snapshot(sess, at.Snapshot)
	} else if res.Events = s.replayPage(sess.ID, at.Replay); len(res.Events) < len(at.Replay) {
		res.More = true
		res.Seq = int64(after)
		if n := len(res.Events); n > 0 {
			res.Seq = res.Events[n-1].Seq
		}
		res.NextAfter = res.Seq
		detach() // live events follow the last page
		s.unfollow(sess.ID)
		return res, nil
	}
	s.follow(ctx, sess, at, detach, p.Exclude)
	return res, nil
}

func (s *Server) sessionDetach(ctx context.Context, p *wire.SessionDetachParams) (*wire.Empty, error) {
	defer s.inLine(ctx, p.SessionID)()
	s.unfollow(p.SessionID)
	return &wire.Empty{}, nil
}

func (s *Server) sessionList(ctx context.Context, p *wire.SessionListParams) (*wire.SessionListResult, error) {
	rpc.Async(ctx)
	q := *p
	if q.Limit <= 0 {
		q.Limit = wire.ListSessions
	}
	q.Limit = min(q.Limit, wire.MaxListSessions)
	res, err := s.opts.Catalog.Sessions(q)
	if err != nil {
		return nil, setupError(err)
	}
	sessions := make([]wire.SessionInfo, 0, len(res.Sessions))
	for _, info := range res.Sessions {
		if sess := s.agent.Session(info.ID); sess != nil { // knows more than the record
			saved := info.UpdatedAt
			info = sessionInfo(sess.Info())
			info.UpdatedAt = max(info.UpdatedAt, saved)
		}
		if !info.Archived || p.Archived {
			sessions = append(sessions, info)
		}
	}
	res.Sessions = sessions
	return &res, nil
}

func (s *Server) sessionHistory(ctx context.Context, p *wire.SessionHistoryParams) (*wire.SessionHistoryResult, error) {
	rpc.Async(ctx)
	sess, err := s.agent.Open(ctx, p.SessionID)
	if err != nil {
		return nil, sessionError(p.SessionID, err)
	}
	limit := p.Limit
	if limit <= 0 {
		limit = wire.HistoryItems
	}
	items, older, err := sess.History(p.Before, min(limit, wire.MaxHistoryItems))
	if err != nil {
		return nil, fail(wire.KindInvalidParams, "params.before: %v", err)
	}
	res := &wire.SessionHistoryResult{Items: wireItems(items), HasOlder: older}
	if p.View != wire.HistoryFull {
		for i := range res.Items {
			res.Items[i].Input, res.Items[i].Output, res.Items[i].OutputRef = nil, "", nil
		}
	}
	return res, nil
}

func (s *Server) sessionClose(ctx context.Context, p *wire.SessionCloseParams) (*wire.Empty, error) {
	defer s.inLine(ctx, p.SessionID)()
	if s.agent.Session(p.SessionID) == nil {
		return nil, sessionError(p.SessionID, agent.ErrNotFound)
	}
	s.unfollow(p.SessionID)
	return &wire.Empty{}, s.agent.Release(p.SessionID)
}

// inLine lets the next messages in and waits for the requests about the session,
// or whatever id names, that came before; they are carried out in the order of the wire. The function
// it returns gives the turn on.
func (s *Server) inLine(ctx context.Context, id string) func() {
	mine := make(chan struct{})
	s.mu.Lock()
	before := s.queue[id]
	s.queue[id] = mine
	s.mu.Unlock()
	rpc.Async(ctx)
	if before != nil {
		<-before
	}
	return func() {
		s.mu.Lock()
		if s.queue[id] == mine {
			delete(s.queue, id)
		}
		s.mu.Unlock()
		close(mine)
	}
}

// afterOthers is inLine for what takes no time of its own: it stays on the read
// loop while nobody is in line.
func (s *Server) afterOthers(ctx context.Context, id string) func() {
	s.mu.Lock()
	alone := s.queue[id] == nil
	s.mu.Unlock()
	if alone {
		return func() {}
	}
	return s.inLine(ctx, id)
}

// live returns an open conversation: one that the editor created or attached.
func (s *Server) live(id string) (*agent.Session, error) {
	if sess := s.agent.Session(id); sess != nil {
		return sess, nil
	}
	return nil, fail(wire.KindSessionNotFound, "session %q is not open; attach to it first", id)
}

func (s *Server) todoGet(_ context.Context, p *wire.TodoGetParams) (*wire.Todo, error) {
	sess, err := s.live(p.SessionID)
	if err != nil {
		return nil, err
	}
	todo := wireTodo(sess.Todo())
	return &todo, nil
}

func (s *Server) contextGet(_ context.Context, p *wire.ContextGetParams) (*wire.Context, error) {
	sess, err := s.live(p.SessionID)
	if err != nil {
		return nil, err
	}
	c := wireContext(sess.Context())
	return &c, nil
}

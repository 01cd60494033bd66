package lsp

import (
	"context"

	"shiro/agent"
	wire "shiro/lsp/protocol"
	"shiro/lsp/rpc"
)

// Notes are what is noted about projects, by folder. Its errors are answered as
// they are.
type Notes interface {
	List(cwd string) (*wire.MemoryListResult, error)
	Write(*wire.MemoryWriteParams) (*wire.MemoryWriteResult, error)
	Delete(*wire.MemoryDeleteParams) (*wire.MemoryDeleteResult, error)
}

func (s *Server) memoryList(ctx context.Context, p *wire.MemoryListParams) (*wire.MemoryListResult, error) {
	if err := s.notesOf(p.Cwd); err != nil {
		return nil, err
	}
	defer s.inLine(ctx, "notes of "+p.Cwd)()
	return s.opts.Notes.List(p.Cwd)
}

// memoryWrite and memoryDelete keep the order of the wire, and memoryList sees
// what they did.
func (s *Server) memoryWrite(ctx context.Context, p *wire.MemoryWriteParams) (*wire.MemoryWriteResult, error) {
	if err := s.notesOf(p.Cwd); err != nil {
		return nil, err
	}
	defer s.inLine(ctx, "notes of "+p.Cwd)()
	return s.opts.Notes.Write(p)
}

func (s *Server) memoryDelete(ctx context.Context, p *wire.MemoryDeleteParams) (*wire.MemoryDeleteResult, error) {
	if err := s.notesOf(p.Cwd); err != nil {
		return nil, err
	}
	defer s.inLine(ctx, "notes of "+p.Cwd)()
	return s.opts.Notes.Delete(p)
}

func (s *Server) memoryCompact(ctx context.Context, p *wire.MemoryCompactParams) (*wire.MemoryCompactResult, error) {
	if err := s.notesOf(p.Cwd); err != nil {
		return nil, err
	}
	if len(p.Accept) > 0 && p.IfHash == "" {
		return nil, fail(wire.KindInvalidParams, "params.ifHash: accept needs the hash of the answer that is accepted")
	}
	var accept []agent.Note
	for _, n := range p.Accept {
		accept = append(accept, agent.Note{Kind: string(n.Kind), Text: n.Text})
	}
	rpc.Async(ctx)
	before, after, doubt, err := s.agent.MergeNotes(ctx, p.Cwd, p.IfHash, accept)
	if err != nil {
		return nil, setupError(err)
	}
	now, err := s.opts.Notes.List(p.Cwd)
	if err != nil {
		return nil, err
	}
	res := &wire.MemoryCompactResult{Status: wire.CompactDone, Before: before, After: after, Hash: now.Hash}
	switch {
	case doubt != nil:
		res.Status, res.Reason, res.Hash = wire.CompactUnconfirmed, doubt.Why, doubt.Hash
		for _, n := range doubt.Notes {
			res.Proposed = append(res.Proposed, wire.NoteText{Kind: wire.NoteKind(n.Kind), Text: n.Text})
		}
	case before == after && len(accept) == 0:
		res.Status = wire.CompactUnchanged
	}
	return res, nil
}

// notesOf checks that there are notes, and the folder they are asked for by.
func (s *Server) notesOf(cwd string) error {
	if s.opts.Notes == nil {
		e := fail(wire.KindFeatureNotNegotiated, "%v", agent.ErrNoMemory)
		e.Data = wire.ErrorData{Kind: wire.KindFeatureNotNegotiated, Feature: "memory"}
		return e
	}
	return folder(cwd)
}

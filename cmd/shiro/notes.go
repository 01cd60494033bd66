package main

import (
	"errors"

	"shiro/agent"
	wire "shiro/lsp/protocol"
	"shiro/lsp/rpc"
	"shiro/memory"
)

// folderNotes lets the editor read and change notes.
type folderNotes struct{ store *memory.Store }

func (f folderNotes) List(cwd string) (*wire.MemoryListResult, error) {
	notes, err := f.store.Notes(cwd).All()
	if err != nil {
		return nil, err
	}
	res := &wire.MemoryListResult{Notes: make([]wire.Note, len(notes)), Hash: memory.Hash(notes)}
	for i, n := range notes {
		res.Notes[i] = wireNote(n)
	}
	return res, nil
}

func (f folderNotes) Write(p *wire.MemoryWriteParams) (*wire.MemoryWriteResult, error) {
	note, err := f.store.Notes(p.Cwd).Put(p.IfHash, p.ID, string(p.Kind), p.Text)
	if err != nil {
		return nil, noteError(err)
	}
	now, err := f.List(p.Cwd)
	if err != nil {
		return nil, err
	}
	return &wire.MemoryWriteResult{Note: wireNote(note), Hash: now.Hash}, nil
}

func (f folderNotes) Delete(p *wire.MemoryDeleteParams) (*wire.MemoryDeleteResult, error) {
	n, err := f.store.Notes(p.Cwd).Remove(p.IfHash, p.IDs...)
	if err != nil {
		return nil, noteError(err)
	}
	now, err := f.List(p.Cwd)
	if err != nil {
		return nil, err
	}
	return &wire.MemoryDeleteResult{Deleted: n, Hash: now.Hash}, nil
}

func wireNote(n memory.Note) wire.Note {
	return wire.Note{ID: n.ID, Kind: wire.NoteKind(n.Kind), Text: n.Text, CreatedAt: n.CreatedAt, Hits: int(n.Hits)}
}

// noteError is the answer to a change of notes that was not made.
func noteError(err error) error {
	data := wire.ErrorData{}
	if conflict, ok := errors.AsType[*memory.ConflictError](err); ok {
		data = wire.ErrorData{Kind: wire.KindConflict, ExpectedHash: conflict.Seen, ActualHash: conflict.Is}
	} else if errors.Is(err, memory.ErrNoNote) || errors.Is(err, memory.ErrBadNote) {
		data.Kind = wire.KindInvalidParams
	} else {
		return err
	}
	return &rpc.Error{Code: data.Kind.Code(), Message: err.Error(), Data: data}
}

// agentNotes let conversations show and merge the notes of their folder.
type agentNotes struct{ *memory.Notes }

func (n agentNotes) List() ([]agent.Note, string, error) {
	notes, err := n.All()
	return plainNotes(notes), memory.Hash(notes), err
}

func (n agentNotes) Merge(ifHash string, ask func(system, text string) (string, error)) (before, after int, doubt *agent.Doubt, err error) {
	before, after, err = n.Notes.Merge(ifHash, func(notes string) (string, error) { return ask(memory.MergePrompt, notes) })
	if d, ok := errors.AsType[*memory.DoubtfulError](err); ok {
		return before, after, &agent.Doubt{Why: d.Why, Notes: plainNotes(d.Notes), Hash: d.Hash}, nil
	}
	return before, after, nil, noteError(err)
}

func (n agentNotes) Accept(hash string, notes []agent.Note) (before, after int, err error) {
	accepted := make([]memory.Note, len(notes))
	for i, o := range notes {
		accepted[i] = memory.Note{Kind: o.Kind, Text: o.Text}
	}
	before, after, err = n.Notes.Accept(hash, accepted)
	return before, after, noteError(err)
}

func plainNotes(notes []memory.Note) []agent.Note {
	all := make([]agent.Note, len(notes))
	for i, o := range notes {
		all[i] = agent.Note{Kind: o.Kind, Text: o.Text, Hits: int(o.Hits)}
	}
	return all
}

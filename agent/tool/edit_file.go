package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

type editFileInput struct {
	path, oldString, newString string
	replaceAll                 bool
}

func (in *editFileInput) fields() inputs {
	return inputs{
		{name: "path", into: &in.path, required: true},
		{name: "oldString", into: &in.oldString, required: true},
		{name: "newString", into: &in.newString, required: true},
		{name: "replaceAll", into: &in.replaceAll},
	}
}

func (s *set) editFile() Tool {
	return Tool{
		Name: "edit_file", Set: "core", Kind: "edit", Mutates: true,
		input:    blank[editFileInput],
		Describe: func(input json.RawMessage) Subject { return s.pathSubject("Edit", input) },
		Propose:  s.proposeEdit,
	}
}

// proposeEdit replaces text that is still there, whatever else in the file has
// changed since the model read it.
func (s *set) proposeEdit(_ context.Context, c Call) (*Edit, error) {
	var in editFileInput
	if err := in.fields().decode(c.Input); err != nil {
		return nil, err
	}
	f, err := s.Workspace.Read(in.path)
	if err != nil {
		return nil, err
	}
	sealed := s.denied(f.at)
	edits, err := replace(f.Text, in.oldString, in.newString, in.replaceAll)
	switch no, ok := errors.AsType[mismatch](err); {
	case ok && sealed:
		return nil, fmt.Errorf("%s: oldString is not there, or not only once; you may not read this file, so no more is told", f.Rel)
	case ok:
		return nil, fmt.Errorf("%s: %w%s", f.Rel, err, s.advice(f, in.oldString, no))
	case err != nil:
		return nil, fmt.Errorf("%s: %w", f.Rel, err)
	case !f.utf8 && !ascii(in.newString):
		return nil, notUTF8(f.Rel)
	}
	e, err := s.Workspace.propose(f, apply(f.Text, edits), fmt.Sprintf("Edited %s: %s", f.Rel, count(len(edits), "replacement")))
	if err != nil {
		return nil, err
	}
	e.seen, e.Files[0].sealed = &s.seen, sealed
	return e, nil
}

// advice is what helps a model whose text has no single place in f.
func (s *set) advice(f *File, old string, no mismatch) string {
	text := ""
	if no == 0 {
		text = hint(f.Text, old, s.mask)
		if !f.utf8 {
			text += "; a byte shown as \\xNN cannot be matched"
		}
	}
	if last := s.seen.last(f.at.key()); last != "" && last != f.Hash {
		text += "; the file changed since read"
	}
	return text
}

package tool

import (
	"context"
	"encoding/json"
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
		Schema:   new(editFileInput).fields().schema(),
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
	edits, err := replace(f.Text, in.oldString, in.newString, in.replaceAll)
	if err != nil {
		if last := s.seen.last(f.at.key()); last != "" && last != f.Hash {
			return nil, fmt.Errorf("%s: %w; the file changed since read", f.Rel, err)
		}
		return nil, fmt.Errorf("%s: %w", f.Rel, err)
	}
	if !f.utf8 && !ascii(in.newString) {
		return nil, notUTF8(f)
	}
	e, err := s.Workspace.propose(f, apply(f.Text, edits), fmt.Sprintf("Edited %s: %s", f.Rel, count(len(edits), "replacement")))
	if err != nil {
		return nil, err
	}
	e.seen = &s.seen
	return e, nil
}

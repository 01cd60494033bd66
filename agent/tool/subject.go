package tool

import (
	"encoding/json"
	"path/filepath"
)

// pathSubject describes a call that is about the file in the member "path".
// Rules see where it is in the workspace and, when it goes through links, where
// they lead too; a path that leads nowhere is seen as it was given.
func (s *set) pathSubject(verb string, input json.RawMessage) Subject {
	path := member[string](input, "path")
	if path == "" {
		return Subject{Title: title(verb, "?")}
	}
	sub := Subject{Title: pathTitle(verb, path), Paths: []string{filepath.ToSlash(path)}}
	p, err := s.Workspace.resolve(path)
	if err != nil {
		return sub
	}
	sub.Paths[0] = p.rel
	if target := s.Workspace.inside(p); target != p.rel {
		sub.Paths = append(sub.Paths, target)
	}
	line := member[float64](input, "offset")
	sub.Locations = []Location{{Path: p.path, Line: int(max(0, min(line, 1<<30)))}}
	return sub
}

// about describes a call by the text in one member, which is what rules see.
func about(verb, name string) func(json.RawMessage) Subject {
	return func(input json.RawMessage) Subject {
		text := member[string](input, name)
		return Subject{Title: title(verb, text), Subjects: []string{text}}
	}
}

// only describes a call that rules know by its tool's name alone.
func only(verb, name string) func(json.RawMessage) Subject {
	return func(input json.RawMessage) Subject {
		return Subject{Title: title(verb, member[string](input, name))}
	}
}

// member is the value of a member of input, zero when it is of another kind.
func member[T any](input json.RawMessage, name string) T {
	var all map[string]json.RawMessage
	var v T
	if json.Unmarshal(input, &all) != nil || json.Unmarshal(all[name], &v) != nil {
		return *new(T)
	}
	return v
}

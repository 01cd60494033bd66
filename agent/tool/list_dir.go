package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
)

// maxEntries is how many entries list_dir shows.
const maxEntries = 300

type listDirInput struct {
	path           string
	depth          int
	includeIgnored bool
}

func (in *listDirInput) fields() inputs {
	in.path, in.depth = ".", 2
	return inputs{
		{name: "path", into: &in.path},
		{name: "depth", into: &in.depth, min: 1, max: 6},
		{name: "includeIgnored", into: &in.includeIgnored},
	}
}

func (s *set) listDir() Tool {
	return Tool{
		Name: "list_dir", Set: "edit-plus", Kind: "read",
		input: blank[listDirInput],
		Describe: func(input json.RawMessage) Subject {
			if member[string](input, "path") == "" {
				input = json.RawMessage(`{"path":"."}`)
			}
			return s.pathSubject("List", input)
		},
		Run: s.runListDir,
	}
}

func (s *set) runListDir(ctx context.Context, c Call) (string, error) {
	var in listDirInput
	if err := in.fields().decode(c.Input); err != nil {
		return "", err
	}
	dir, err := s.folder(in.path)
	if err != nil {
		return "", err
	}
	shown, more := []entry{}, false
	for e := range s.Workspace.walk(dir, in.depth, in.includeIgnored) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if more = len(shown) == maxEntries; more {
			break
		}
		shown = append(shown, e)
	}
	var r report
	for i, e := range tree(shown) {
		if i > 0 {
			r.add("\n")
		}
		r.add(strings.Repeat("  ", e.depth-1) + e.line())
	}
	switch {
	case len(shown) == 0:
		r.add("The directory is empty, or all in it is ignored.")
	case more:
		r.note(fmt.Sprintf("the first %d entries: list a folder of it, or with less depth", maxEntries))
	}
	return r.String(), nil
}

// folder is the slash path from the root, without links, of the folder at name.
func (s *set) folder(name string) (string, error) {
	p, err := s.Workspace.resolve(name)
	switch {
	case err != nil:
		return "", err
	case p.info == nil:
		return "", missing{name, similar(p, resembles)}
	case !p.info.IsDir():
		return "", fmt.Errorf("%s is not a directory: use read_file", name)
	}
	return s.Workspace.inside(p), nil
}

// tree is entries, found breadth first, in the order of a tree.
func tree(entries []entry) []entry {
	slices.SortFunc(entries, func(a, b entry) int {
		return slices.Compare(strings.Split(a.rel, "/"), strings.Split(b.rel, "/"))
	})
	return entries
}

func (e entry) line() string {
	name := plain(path.Base(e.rel))
	if strings.ContainsAny(name, "\r\n") {
		name = fmt.Sprintf("%q", name)
	}
	if e.IsDir() {
		return name + "/"
	}
	info, err := e.Info()
	if err != nil || !info.Mode().IsRegular() {
		return name
	}
	return name + "  " + size(info.Size())
}

// size is a number of bytes as people read it.
func size(n int64) string {
	switch k := float64(n) / 1024; {
	case n < 1024:
		return fmt.Sprintf("%dB", n)
	case math.Round(k) < 1024:
		return fmt.Sprintf("%.0fK", k)
	default:
		return fmt.Sprintf("%.1fM", k/1024)
	}
}

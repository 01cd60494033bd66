package tool

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

type globInput struct {
	pattern        string
	limit          int
	includeIgnored bool
}

func (in *globInput) fields() inputs {
	in.limit = 200
	return inputs{
		{name: "pattern", into: &in.pattern, required: true},
		{name: "limit", into: &in.limit, min: 1},
		{name: "includeIgnored", into: &in.includeIgnored},
	}
}

func (s *set) glob() Tool {
	return Tool{
		Name: "glob", Set: "core", Kind: "search",
		input:    blank[globInput],
		Describe: about("Find", "pattern"),
		Run:      s.runGlob,
	}
}

func (s *set) runGlob(ctx context.Context, c Call) (string, error) {
	var in globInput
	if err := in.fields().decode(c.Input); err != nil {
		return "", err
	}
	pattern, err := s.Workspace.pattern(in.pattern)
	if err != nil {
		return "", fmt.Errorf("pattern: %w", err)
	}
	var r report
	found := 0
	for e := range s.Workspace.matching(pattern, in.includeIgnored) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if found == in.limit {
			r.note(fmt.Sprintf("the first %d: narrow the pattern or raise limit", in.limit))
			break
		}
		if found > 0 {
			r.add("\n")
		}
		r.add(e.rel)
		found++
	}
	if found == 0 {
		return "No files matched.", nil
	}
	return r.String(), nil
}

// pattern is p as a pattern of slash paths from the root.
func (w *Workspace) pattern(p string) (string, error) {
	given := p
	if p == "" {
		return "", errors.New("is empty")
	}
	if filepath.IsAbs(p) {
		rest, ok := strings.CutPrefix(p, w.Root+string(filepath.Separator))
		if !ok {
			base, pattern := doublestar.SplitPattern(filepath.ToSlash(p))
			rest = filepath.ToSlash(w.relative(filepath.Clean(base))) + "/" + pattern
		}
		p = rest
	}
	p = strings.TrimPrefix(filepath.ToSlash(p), "./")
	if !doublestar.ValidatePattern(p) {
		return "", fmt.Errorf("%s is not a valid pattern: there are *, **, ?, [a-z] and {a,b}", p)
	}
	if base, _ := doublestar.SplitPattern(p); !filepath.IsLocal(base) {
		return "", fmt.Errorf("%s %w", given, ErrEscapes)
	}
	return p, nil
}

// matching yields the files that pattern matches, in the order of a walk.
func (w *Workspace) matching(pattern string, all bool) func(yield func(entry) bool) {
	base, rest := doublestar.SplitPattern(pattern)
	return func(yield func(entry) bool) {
		p, err := w.resolve(base)
		if err != nil || p.info == nil {
			return
		}
		depth := 0
		if !strings.Contains(rest, "**") && !strings.Contains(rest, "{") {
			depth = strings.Count(rest, "/") + 1
		}
		dir := w.inside(p)
		for e := range w.walk(dir, depth, all) {
			if e.IsDir() {
				continue
			}
			within := strings.TrimPrefix(e.rel, dir+"/")
			if !doublestar.MatchUnvalidated(rest, within) {
				continue
			}
			if e.rel = path.Join(base, within); !yield(e) {
				return
			}
		}
	}
}

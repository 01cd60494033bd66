package tool

import (
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
)

// An entry is what a walk comes to.
type entry struct {
	rel   string // slash path from the root
	real  string // absolute; a link is not followed
	depth int    // 1 in the folder where the walk began
	fs.DirEntry
}

// skipped are the folders and files that no walk enters or shows.
func skipped(name string) bool { return name == ".git" || name == "node_modules" }

// walk yields what is in the folder dir, breadth first, in the order of names,
// down to depth (0 is no limit), without what ignore files leave out unless all
// is set. Linked folders are neither entered nor yielded, and a folder that
// cannot be read is passed over.
func (w *Workspace) walk(dir string, depth int, all bool) iter.Seq[entry] {
	type folder struct {
		rel   string
		depth int
		rules rules
	}
	return func(yield func(entry) bool) {
		start := folder{rel: dir}
		if !all {
			var ok bool
			if start.rules, ok = w.rulesAbove(dir); !ok {
				return
			}
		}
		for queue := []folder{start}; len(queue) > 0; queue = queue[1:] {
			f := queue[0]
			at := filepath.Join(w.real, f.rel)
			children, err := os.ReadDir(at)
			if err != nil {
				continue
			}
			if !all {
				f.rules = f.rules.in(slashDir(f.rel), at)
			}
			for _, c := range children {
				e := entry{path.Join(f.rel, c.Name()), filepath.Join(at, c.Name()), f.depth + 1, c}
				if skipped(c.Name()) || linkedFolder(e) || f.rules.ignored(e.rel, c.IsDir()) {
					continue
				}
				if !yield(e) {
					return
				}
				if c.IsDir() && (depth == 0 || e.depth < depth) {
					queue = append(queue, folder{e.rel, e.depth, f.rules})
				}
			}
		}
	}
}

// rulesAbove are the rules of the folders that dir is in; ok is false when they
// leave out dir itself, or one of those.
func (w *Workspace) rulesAbove(dir string) (rs rules, ok bool) {
	if dir == "." {
		return nil, true
	}
	up := path.Dir(dir)
	if rs, ok = w.rulesAbove(up); !ok || skipped(path.Base(dir)) {
		return nil, false
	}
	rs = rs.in(slashDir(up), filepath.Join(w.real, up))
	return rs, !rs.ignored(dir, true)
}

// inside is the slash path of p from the root, without links.
func (w *Workspace) inside(p place) string {
	rel, err := filepath.Rel(w.real, p.real)
	if err != nil {
		return p.rel // both are absolute: only a drive of its own comes here
	}
	return filepath.ToSlash(rel)
}

// denied reports whether the model may not read what is at p, by the name it
// was asked for or by the one that leads to.
func (s *set) denied(p place) bool {
	return s.Denied != nil && (s.Denied(p.rel) || s.Denied(s.Workspace.inside(p)))
}

// slashDir is the folder as rules have it: "" for the root.
func slashDir(dir string) string {
	if dir == "." {
		return ""
	}
	return dir
}

func linkedFolder(e entry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return false
	}
	info, err := os.Stat(e.real)
	return err == nil && info.IsDir()
}

package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// ErrEscapes is wrapped by errors about paths that lead out of the workspace.
var ErrEscapes = errors.New("escapes workspace")

// Buffers are the documents open in an editor.
type Buffers interface {
	// Buffer returns the text and the version of the document open under an
	// absolute path. Open is false when there is none, and should be when the
	// editor's copy is known to be older than the file.
	Buffer(path string) (text string, version int32, open bool)

	// Apply changes open documents, all or none. It fails with an error that
	// wraps ErrStale when a document is no longer at the version given.
	Apply(ctx context.Context, changes []BufferChange) error
}

// A BufferChange is one open document's part of an Edit.
type BufferChange struct {
	Path    string
	Version int32
	Edits   []TextEdit // in order, not overlapping; what to change in the text
	Text    string     // the whole text afterwards, for doors that send nothing less
}

// A TextEdit replaces the bytes [Start, End) of a text, as it was before any of
// the edits beside it, with New.
type TextEdit struct {
	Start, End int
	New        string
}

// A Workspace is a folder with the editor's open documents over it. One is
// shared by all sessions of the folder: it is what makes their edits of the
// same file follow one another.
type Workspace struct {
	Root string // absolute, as the user named it; links in it are kept

	real    string // Root with its links resolved
	buffers Buffers

	mu    sync.Mutex
	locks map[string]chan struct{} // by identity; held while a file is changed
}

// NewWorkspace returns the workspace of the folder root. While that is missing,
// every tool fails; the conversations of it can still be read.
// A nil b means that no document is ever open.
func NewWorkspace(root string, b Buffers) (*Workspace, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("workspace root: %w", err)
	}
	real, err := filepath.EvalSymlinks(root)
	if errors.Is(err, fs.ErrNotExist) {
		real, err = root, nil
	}
	if err != nil {
		return nil, fmt.Errorf("workspace root: %w", err)
	}
	return &Workspace{Root: root, real: real, buffers: b, locks: map[string]chan struct{}{}}, nil
}

// A place is where a path leads.
type place struct {
	rel  string      // slash-separated, from the root, with its links kept; "." is the root
	path string      // absolute, with its links kept: how the editor may know it
	real string      // absolute, no links: what is read and written
	info fs.FileInfo // of real; nil when nothing is there
}

// key is the identity of a place: equal for equal files, whatever the path.
func (p place) key() string {
	if caseBlind {
		return strings.ToLower(p.real)
	}
	return p.real
}

// On these systems "A.txt" and "a.TXT" usually are one file.
const caseBlind = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

// resolve finds the place of name, which is relative to the root or absolute.
// Links are followed; where they lead must be inside the root too.
func (w *Workspace) resolve(name string) (place, error) {
	if name == "" {
		return place{}, errors.New("path is empty")
	}
	rel := filepath.Clean(name)
	if filepath.IsAbs(name) {
		rel = w.relative(rel)
	}
	if !filepath.IsLocal(rel) {
		return place{}, fmt.Errorf("%s %w", name, ErrEscapes)
	}
	p := place{rel: filepath.ToSlash(rel), path: filepath.Join(w.Root, rel)}
	var err error
	if p.real, p.info, err = follow(w.real, rel); err != nil {
		return p, fmt.Errorf("%s: %w", name, reason(err))
	}
	if !within(w.real, p.real) {
		return p, fmt.Errorf("%s %w: it leads to %s", name, ErrEscapes, p.real)
	}
	return p, nil
}

// relative is the path from the root of an absolute path that leads into it, by
// whatever links; those below the root are kept. Others are returned as they are.
func (w *Workspace) relative(name string) string {
	for _, root := range []string{w.Root, w.real} {
		if rel, err := filepath.Rel(root, name); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	names := elements(name)
	for i := range names {
		top, _, err := follow(filepath.VolumeName(name)+string(filepath.Separator), filepath.Join(names[:i+1]...))
		if err != nil {
			break
		}
		if rel, err := filepath.Rel(w.real, top); err == nil && filepath.IsLocal(rel) {
			return filepath.Join(rel, filepath.Join(names[i+1:]...))
		}
	}
	return name
}

func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}

const maxLinks = 40

// follow walks from the real folder base along rel. It returns the path without
// links and what is there; nil when some part of the path does not exist yet.
func follow(base, rel string) (string, fs.FileInfo, error) {
	at, todo := base, elements(rel)
	var info fs.FileInfo
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if name == ".." { // only a link's target brings these
			at, info = filepath.Dir(at), nil
			continue
		}
		next := filepath.Join(at, name)
		var err error
		info, err = os.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			return filepath.Join(append([]string{next}, todo...)...), nil, nil
		}
		if err != nil {
			return "", nil, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", nil, errors.New("too many links")
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", nil, err
		}
		if filepath.IsAbs(target) {
			at = filepath.VolumeName(target) + string(filepath.Separator)
		}
		todo = append(elements(target), todo...)
	}
	if info == nil {
		var err error
		if info, err = os.Lstat(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", nil, err
		}
	}
	return at, info, nil
}

// elements are the names in a path, without the empty ones and ".".
func elements(path string) []string {
	var names []string
	for name := range strings.SplitSeq(filepath.ToSlash(path[len(filepath.VolumeName(path)):]), "/") {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	return names
}

// reason is err without the operation and the path that package os puts in
// front, which the message around it names already.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// lock takes the locks of keys, which must be sorted and distinct.
func (w *Workspace) lock(ctx context.Context, keys []string) (unlock func(), err error) {
	var held []chan struct{}
	unlock = func() {
		for _, c := range held {
			<-c
		}
	}
	for _, key := range keys {
		w.mu.Lock()
		c := w.locks[key]
		if c == nil {
			c = make(chan struct{}, 1)
			w.locks[key] = c
		}
		w.mu.Unlock()
		select {
		case c <- struct{}{}:
			held = append(held, c)
		case <-ctx.Done():
			unlock()
			return nil, ctx.Err()
		}
	}
	return unlock, nil
}

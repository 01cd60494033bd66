package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// ErrStale is wrapped by the error of a commit whose file changed after the
// edit was proposed. Nothing was written; propose again.
var ErrStale = errors.New("changed since the edit was proposed")

// Commit makes the changes in e. Each file must still have the text the edit
// was proposed on, else nothing is written and the error wraps ErrStale. Open
// documents are changed first, through the editor; files by an atomic
// replacement that keeps mode, owner and byte order mark, and links to them.
//
// A file with more than one hard link, or in a folder where no file can be
// made, is written in place: all its names keep showing the same text, but a
// crash in the middle can leave it cut short.
func (w *Workspace) Commit(ctx context.Context, e *Edit) error {
	if e.fault != nil {
		return e.fault
	}
	unlock, err := w.lock(ctx, lockKeys(e.Files))
	if err != nil {
		return err
	}
	defer unlock()
	current := make([]*File, len(e.Files))
	for i := range e.Files {
		if current[i], err = w.unchanged(&e.Files[i]); err != nil {
			return err
		}
	}
	if err := w.applyOpen(ctx, e.Files, current); err != nil {
		return err
	}
	for i := range e.Files {
		f, now := &e.Files[i], current[i]
		if now.Version < 0 {
			if err := f.write(now); err != nil {
				return err
			}
		} else if unsaved(&File{Text: f.Proposed, at: now.at}) {
			e.unsaved = append(e.unsaved, f.Rel)
		}
		e.noteSeen(f)
	}
	return nil
}

// lockKeys are the locks to hold for files, in the order to take them. The
// names of a hard-linked file share one.
func lockKeys(files []FileEdit) []string {
	keys := make([]string, len(files))
	for i, f := range files {
		keys[i] = f.at.key()
		if f.at.info != nil && linked(f.at.info) {
			keys[i] = inode(f.at.info)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// unchanged returns the file that f was proposed for, as it is now.
func (w *Workspace) unchanged(f *FileEdit) (*File, error) {
	now, err := w.load(f.Rel)
	if err != nil {
		return nil, err
	}
	if now.at.real != f.at.real || now.found != (f.Op != Create) || now.Hash != f.BaseHash {
		return nil, fmt.Errorf("%s %w", f.Rel, ErrStale)
	}
	return now, nil
}

func (w *Workspace) applyOpen(ctx context.Context, files []FileEdit, current []*File) error {
	var changes []BufferChange
	for i, now := range current {
		f := &files[i]
		if now.Version < 0 || len(f.Hunks) == 0 {
			continue
		}
		if f.Op == Delete {
			return fmt.Errorf("%s is open in the editor: close it before it is deleted", f.Rel)
		}
		changes = append(changes, f.bufferChange(now))
	}
	if len(changes) == 0 {
		return nil
	}
	if err := w.buffers.Apply(ctx, changes); err != nil {
		return fmt.Errorf("changing open documents: %w", err)
	}
	return nil
}

// bufferChange is f as edits of an open document, whose text may begin with a
// byte order mark that f knows nothing of.
func (f *FileEdit) bufferChange(now *File) BufferChange {
	mark := ""
	if now.mark {
		mark = bom
	}
	c := BufferChange{Path: now.Path, Version: now.Version, Text: mark + string(f.Proposed)}
	for _, h := range f.Hunks {
		for _, e := range h.edits {
			e.Start += len(mark)
			e.End += len(mark)
			c.Edits = append(c.Edits, e)
		}
	}
	return c
}

// write makes f's change on disk.
func (f *FileEdit) write(now *File) error {
	path := now.at.real
	switch {
	case f.Op == Delete:
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("deleting %s: %w", f.Rel, reason(err))
		}
		return nil
	case f.Op == Create:
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return fmt.Errorf("making the folder of %s: %w", f.Rel, err)
		}
	case len(f.Hunks) == 0:
		return nil
	}
	data := f.Proposed
	if now.mark {
		data = append([]byte(bom), data...)
	}
	if err := store(path, data, now.at.info); err != nil {
		return fmt.Errorf("writing %s: %w", f.Rel, reason(err))
	}
	return nil
}

// noteSeen records what the model now knows f to be: after a whole write, or
// when it knew what the edit was made on.
func (e *Edit) noteSeen(f *FileEdit) {
	if e.seen != nil && (f.whole || e.seen.last(f.at.key()) == f.BaseHash) {
		e.seen.note(f.at.key(), hash(f.Proposed))
	}
}

// store puts data into the file at path. Old is what is there now, or nil.
func store(path string, data []byte, old fs.FileInfo) error {
	if old != nil && linked(old) {
		return overwrite(path, data, old)
	}
	temp, err := writeTemp(path, data, old)
	if errors.Is(err, errInPlace) && old != nil {
		return overwrite(path, data, old)
	}
	if err != nil {
		return err
	}
	err = os.Rename(temp, path)
	if err == nil {
		return nil
	}
	os.Remove(temp)
	if old != nil { // a file mounted by itself cannot be replaced
		return overwrite(path, data, old)
	}
	return err
}

// errInPlace says that a file cannot be replaced by another of the same kind.
var errInPlace = errors.New("cannot be replaced")

// writeTemp writes data to a new file beside path, with old's mode and owner
// or, for a new file, those the system gives.
func writeTemp(path string, data []byte, old fs.FileInfo) (name string, err error) {
	f, err := createBeside(path)
	if errors.Is(err, fs.ErrPermission) {
		return "", fmt.Errorf("%w: %w", errInPlace, err)
	}
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	defer f.Close()
	if old != nil {
		if keepOwner(f, old) != nil {
			return "", errInPlace
		}
		if err := f.Chmod(old.Mode().Perm()); err != nil { // before anybody could read it
			return "", err
		}
	}
	return f.Name(), fill(f, data, old)
}

// fill writes data to f, which takes the place of old, and closes it.
func fill(f *os.File, data []byte, old fs.FileInfo) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	// A write takes these bits from a file, and who is not its owner cannot
	// give them back.
	if old != nil && old.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0 {
		_ = f.Chmod(old.Mode())
	}
	// Without this a loss of power could leave the name with an empty file.
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}

// createBeside makes an empty file in the folder of path, with the mode that
// the process's umask gives new files.
func createBeside(path string) (*os.File, error) {
	for n := 0; ; n++ {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".shiro-%d-%d.tmp", os.Getpid(), n))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) || n > 1000 {
			return f, err
		}
	}
}

func overwrite(path string, data []byte, old fs.FileInfo) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return fill(f, data, old)
}

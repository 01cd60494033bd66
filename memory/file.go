package memory

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofrs/flock"
)

// Modes of what we create; an existing file keeps its own. Conversations and
// notes can hold what only their owner may read.
const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// Temporary files are hidden and end in no name that anybody scans for.
const (
	tempPrefix = ".shiro-"
	tempSuffix = ".tmp"
	tempAge    = time.Minute // nobody still writes one that old
)

// replaceFile makes data the content of the file at path, in one step that
// either happens or does not, and returns what the file then is. A symbolic link
// stays and its target is replaced. A file that its owner made read-only is left
// alone: a rename would not notice.
func replaceFile(path string, data []byte) (info fs.FileInfo, err error) {
	if path, err = linkTarget(path); err != nil {
		return nil, err
	}
	mode := fileMode
	switch old, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !old.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case old.Mode()&0o200 == 0:
		return nil, &fs.PathError{Op: "replace", Path: path, Err: fs.ErrPermission}
	default:
		mode = old.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), tempPrefix+"*"+tempSuffix)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if mode != fileMode {
		if err := f.Chmod(mode); err != nil {
			return nil, err
		}
	}
	if _, err := f.Write(data); err != nil {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return info, os.Rename(f.Name(), path)
}

// linkTarget follows path while it is a symbolic link, also to a file that does
// not exist.
func linkTarget(path string) (string, error) {
	for range 40 {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return path, nil
		}
		next, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(next) {
			next = filepath.Join(filepath.Dir(path), next)
		}
		path = next
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

// readFile hands the content of the file at path, without a byte order mark, to
// parse, and returns what the file was. The terminal tool writes its files in
// place: one that was just written and does not parse is read again.
func readFile(path string, parse func([]byte) error) (fs.FileInfo, error) {
	for again := 2; ; again-- {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() { // opening a pipe would wait for ever
			return nil, fmt.Errorf("%s is not a regular file", path)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		err = parse(withoutMark(data))
		if err == nil {
			return info, nil
		}
		if again == 0 || time.Since(info.ModTime()).Abs() > time.Second {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// update replaces the file at path with what edit makes of it, under the lock of
// its directory; with nil it stays. Before a file is replaced that was not
// understood to the last element (damaged), a copy is put beside it.
func (s *Store) update(path string, edit func() (data []byte, damaged bool, err error)) error {
	dir := filepath.Dir(path)
	unlock, err := lockDir(dir)
	if err != nil {
		return err
	}
	defer unlock()
	s.sweepLocked(dir)
	data, damaged, err := edit()
	if err != nil || data == nil {
		return err
	}
	if damaged {
		aside := path + ".damaged-" + strconv.FormatInt(s.now().UnixMilli(), 10)
		s.log.Warn("file not understood", "file", path, "kept", aside)
		if err := copyFile(aside, path); err != nil {
			return err
		}
	}
	_, err = replaceFile(path, data)
	return err
}

// copyFile makes a new file with the content of another.
func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	_, err = replaceFile(to, data)
	return err
}

// withoutMark is data without the byte order mark that some editors put first.
func withoutMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }

// pretty is compact JSON as JavaScript prints it with an indent of two. It fails
// when data is not JSON, so that nothing unreadable is ever written.
func pretty(data []byte) ([]byte, error) {
	return jsontext.AppendFormat(nil, data,
		jsontext.WithIndent("  "), jsontext.PreserveRawStrings(true),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// lockWait is how long a lock may be held by someone who is not stopped.
const lockWait = 5 * time.Second

// lockDir makes dir, if need be, and takes its lock, which the death of the
// holder releases. The lock file stays: removing it would let two hold it.
func lockDir(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, err
	}
	l := flock.New(filepath.Join(dir, ".lock"), flock.SetPermissions(fileMode))
	for deadline := time.Now().Add(lockWait); ; time.Sleep(3 * time.Millisecond) {
		held, err := l.TryLock()
		if err != nil {
			return nil, fmt.Errorf("locking %s: %w", dir, err)
		}
		if held {
			return func() { l.Unlock() }, nil
		}
		if time.Now().After(deadline) {
			l.Close()
			return nil, fmt.Errorf("locking %s: another process has held the lock for %s", dir, lockWait)
		}
	}
}

// sweepLocked removes temporary files that a killed process left in dir. The
// caller holds the directory's lock, so that nobody is writing one.
func (s *Store) sweepLocked(dir string) {
	if entries, err := os.ReadDir(dir); err == nil {
		s.sweep(dir, entries, 0)
	}
}

// sweep removes temporary files that are as old.
func (s *Store) sweep(dir string, entries []fs.DirEntry, age time.Duration) {
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempPrefix) || !strings.HasSuffix(e.Name(), tempSuffix) {
			continue
		}
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < age {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			s.log.Debug("removing a leftover file", "error", err)
		}
	}
}

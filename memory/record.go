package memory

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"shiro/memory/transcript"
)

const recordExt = ".json"

func (s *Store) recordDir() string { return filepath.Join(s.dir, "sessions") }

func (s *Store) recordPath(id string) string { return filepath.Join(s.recordDir(), id+recordExt) }

// validID reports whether id can be the stem of a record's file, or the
// beginning of one. Such a text leads nowhere else as part of a path.
func validID(id string) bool {
	for _, c := range []byte(id) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return id != "" && len(id) <= 128
}

// A Stamp is what a record's file was when this process last read or wrote it.
// The zero Stamp stands for a file that was not there.
type Stamp struct {
	id    string // of the session; empty for a new one
	info  fs.FileInfo
	sum   [sha256.Size]byte // of the content without a byte order mark
	stray bool              // the journal beside it belongs to another state
}

// current reports whether the file at path is still as s knows it, or is gone.
// Its content is read only when the file was touched and kept its length.
func (s Stamp) current(path string) (bool, error) {
	now, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	case s.info == nil || now.Size() != s.info.Size():
		return false, nil
	case os.SameFile(now, s.info) && sameStat(now, s.info):
		return true, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	return sha256.Sum256(withoutMark(data)) == s.sum, nil
}

// sameStat reports whether two looks at a file saw no sign of a change.
func sameStat(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Load reads the record whose id is idOrPrefix, or else the only one whose id
// begins with it, in any case. The record's ID is its file's stem, whatever the
// file says. The error is ErrNotFound when there is none; it lists the ids when
// there are several, and names the file and the fault when it cannot be read.
func (s *Store) Load(idOrPrefix string) (*transcript.Session, Stamp, error) {
	id, err := s.Resolve(idOrPrefix)
	if err != nil {
		return nil, Stamp{}, err
	}
	return s.load(id)
}

func (s *Store) load(id string) (session *transcript.Session, stamp Stamp, err error) {
	stamp.info, err = readFile(s.recordPath(id), func(data []byte) (err error) {
		stamp.sum = sha256.Sum256(data)
		session, err = transcript.ParseSession(data)
		return err
	})
	if err != nil {
		return nil, Stamp{}, fmt.Errorf("reading session %s: %w", id, err)
	}
	session.ID, stamp.id = id, id
	entries, err := readJournal(s.journalPath(id))
	if err == nil {
		err = session.Replay(entries)
	}
	if err != nil {
		stamp.stray = true
		s.log.Warn("journal not used", "session", id, "error", err)
	}
	return session, stamp, nil
}

// Resolve returns the id of the session that Load would read, whether or not it
// can be read.
func (s *Store) Resolve(idOrPrefix string) (string, error) {
	want := strings.ToLower(strings.TrimSpace(idOrPrefix))
	if !validID(want) {
		return "", fmt.Errorf("%q is not a session id: %w", idOrPrefix, ErrNotFound)
	}
	_, err := os.Stat(s.recordPath(want))
	if errors.Is(err, fs.ErrNotExist) {
		if _, jerr := os.Lstat(s.journalPath(want)); jerr == nil && s.adopt(want) == nil {
			_, err = os.Stat(s.recordPath(want))
		}
	}
	switch {
	case err == nil:
		return want, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("reading session %s: %w", want, err)
	}
	files, err := s.recordFiles()
	if err != nil {
		return "", err
	}
	var ids []string
	for _, f := range files {
		if strings.HasPrefix(f.id, want) {
			ids = append(ids, f.id)
		}
	}
	switch len(ids) {
	case 0:
		return "", fmt.Errorf("%q: %w", idOrPrefix, ErrNotFound)
	case 1:
		return ids[0], nil
	}
	const most = 10
	more := ""
	if n := len(ids) - most; n > 0 {
		ids, more = ids[:most], fmt.Sprintf(" and %d more", n)
	}
	return "", fmt.Errorf("%q begins the ids of %w: %s%s", idOrPrefix, ErrAmbiguous, strings.Join(ids, ", "), more)
}

// adoptAll makes the records that killed processes left unwritten, and reports
// whether there were any.
func (s *Store) adoptAll(entries []fs.DirEntry) (any bool) {
	names := make(map[string]bool, len(entries))
	for _, e := range entries {
		names[e.Name()] = true
	}
	for name := range names {
		id, ok := strings.CutSuffix(name, journalExt)
		if !ok || !validID(id) || names[id+recordExt] {
			continue
		}
		any = true
		if err := s.adopt(id); err != nil {
			s.log.Warn("a session that was not written cannot be recovered", "session", id, "error", err)
		}
	}
	return any
}

// A recordFile is a file that may hold a record.
type recordFile struct {
	id   string
	info fs.FileInfo
}

// recordFiles returns the regular, visible *.json files in order of name.
func (s *Store) recordFiles() ([]recordFile, error) {
	entries, err := os.ReadDir(s.recordDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	s.sweep(s.recordDir(), entries, tempAge)
	if s.adoptAll(entries) {
		if entries, err = os.ReadDir(s.recordDir()); err != nil {
			return nil, fmt.Errorf("listing sessions: %w", err)
		}
	}
	files := make([]recordFile, 0, len(entries))
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), recordExt)
		if !ok || strings.HasPrefix(id, ".") || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil { // removed meanwhile
			continue
		}
		files = append(files, recordFile{id, info})
	}
	return files, nil
}

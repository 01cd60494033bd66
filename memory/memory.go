// Package memory is the state that outlives a process: the records of
// conversations, the notes about a project and the prompts given in a folder, in
// the files that the terminal tool keeps under ~/.shiro-neko. FORMAT.md specifies
// them.
//
// A file is replaced whole or not at all, and never when somebody else changed
// it in the meantime. The package decides nothing about a conversation: what a
// record says is transcript's, when it is saved is the caller's.
package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
)

// ErrNotFound says that no record has that id, or none is of that folder.
var ErrNotFound = errors.New("no such session")

// ErrAmbiguous says that several ids begin as asked, ErrCursor that no list gave
// out that cursor.
var (
	ErrAmbiguous = errors.New("several sessions")
	ErrCursor    = errors.New("not a cursor of a session list")
)

// Options make a Store.
type Options struct {
	Dir string           // the state directory, <base>/.shiro-neko
	Now func() time.Time // the clock of what is written; time.Now when nil
	Log *slog.Logger     // nothing is logged when nil
}

// A Store is one state directory. Its methods may be called at the same time,
// and beside other processes.
type Store struct {
	dir string
	now func() time.Time
	log *slog.Logger

	mu      sync.Mutex
	scanned map[string]*scanned // by session id; what List has read so far
}

// Open returns the store in o.Dir. Nothing is read or created before it is
// needed; a directory that does not exist is an empty store.
func Open(o Options) *Store {
	s := &Store{dir: o.Dir, now: o.Now, log: o.Log}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s
}

// NewID returns the id of a new session or note: a UUIDv7 in lower case. Later
// ids of a process are greater.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// Folder returns the one spelling under which a project's state is kept: the
// absolute path with symbolic links resolved, as the operating system reports a
// working directory. Of a path that no longer exists the existing part is
// resolved.
func Folder(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return filepath.Clean(path)
	}
	var gone string
	for dir := abs; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, gone)
		}
		if dir == filepath.Dir(dir) {
			return abs
		}
		gone = filepath.Join(filepath.Base(dir), gone)
	}
}

// hash16 names the files of a folder.
func hash16(folder string) string {
	sum := sha256.Sum256([]byte(folder))
	return hex.EncodeToString(sum[:8])
}

const timeLayout = "2006-01-02T15:04:05.000Z"

// timestamp is t as the files hold it: RFC 3339, UTC, milliseconds.
func timestamp(t time.Time) string { return t.UTC().Format(timeLayout) }

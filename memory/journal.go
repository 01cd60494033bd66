package memory

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"shiro/memory/transcript"
)

const journalExt = ".journal"

// ErrLocked is wrapped by the error of opening a session that another process
// writes. A LockedError says which.
var ErrLocked = errors.New("another process writes this session")

// A LockedError names the process that writes a session; PID is 0 when it did
// not say.
type LockedError struct{ PID int }

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return ErrLocked.Error()
	}
	return fmt.Sprintf("%v (pid %d)", ErrLocked, e.PID)
}

func (e *LockedError) Unwrap() error { return ErrLocked }

func (s *Store) journalPath(id string) string { return filepath.Join(s.recordDir(), id+journalExt) }

// A journal is the open log of one session beside its record: one JSON object
// per line, appended with one write each, so that the end of the process loses
// no line. Who holds its lock writes the session.
type journal struct {
	path string
	lock *flock.Flock
	file *os.File
	size int64 // 0 also when there is nothing but the owner's line
}

// A head is a journal's first line: who writes the session and, in the journal
// of one that may have no record yet, the record without messages.
type head struct {
	Kind    string              `json:"kind"` // "owner"
	PID     int                 `json:"pid"`
	Session *transcript.Session `json:"session,omitempty"`
}

// openJournal takes the lock of a session's journal, made if need be. What the
// journal holds stays. New is the record of a session that may have none yet,
// else nil.
func openJournal(path string, new *transcript.Session) (*journal, error) {
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return nil, err
	}
	for {
		l := flock.New(path, flock.SetPermissions(fileMode), flock.SetFlag(os.O_CREATE|os.O_RDWR))
		held, err := l.TryLock()
		if err != nil {
			return nil, fmt.Errorf("locking the session: %w", err)
		}
		if !held {
			return nil, &LockedError{readHead(path).PID}
		}
		f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, fileMode)
		if err != nil {
			l.Unlock()
			return nil, err
		}
		// The file may have been removed by its last owner between the two.
		if same, err := sameFile(f, l); err != nil || !same {
			f.Close()
			l.Unlock()
			if err != nil {
				return nil, err
			}
			continue
		}
		info, err := f.Stat()
		if err != nil {
			f.Close()
			l.Unlock()
			return nil, err
		}
		j := &journal{path: path, lock: l, file: f, size: info.Size()}
		if j.size == 0 {
			err = j.sign(new)
		}
		return j, err
	}
}

func sameFile(f *os.File, l *flock.Flock) (bool, error) {
	a, err := f.Stat()
	if err != nil {
		return false, err
	}
	b, err := l.Stat()
	if err != nil {
		return false, err
	}
	return os.SameFile(a, b), nil
}

// readHead returns the first line of a journal; the zero head when there is
// none.
func readHead(path string) (h head) {
	f, err := os.Open(path)
	if err != nil {
		return h
	}
	defer f.Close()
	line, _ := bufio.NewReader(f).ReadBytes('\n')
	if json.Unmarshal(line, &h) != nil {
		return head{}
	}
	return h
}

// sign writes the first line of an empty journal.
func (j *journal) sign(new *transcript.Session) error {
	h := head{Kind: "owner", PID: os.Getpid()}
	if new != nil {
		bare := *new
		bare.Messages = nil
		h.Session = &bare
	}
	line, err := json.Marshal(h)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(line, '\n'))
	return err
}

// add appends entries. With sync they survive the end of the machine too, not
// only of the process.
func (j *journal) add(sync bool, entries ...transcript.Entry) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i := range entries {
		if err := enc.Encode(&entries[i]); err != nil {
			return err
		}
	}
	n, err := j.file.Write(b.Bytes())
	if err != nil {
		return errors.Join(err, j.file.Truncate(j.size)) // no half line before the next
	}
	j.size += int64(n)
	if sync {
		return j.file.Sync()
	}
	return nil
}

// empty drops what the record holds by now.
func (j *journal) empty() error {
	if err := j.file.Truncate(0); err != nil {
		return err
	}
	j.size = 0
	return j.sign(nil)
}

// close lets go of the session. A journal with nothing in it is removed.
func (j *journal) close(remove bool) error {
	var err error
	if remove {
		err = os.Remove(j.path)
	}
	return errors.Join(err, j.file.Close(), j.lock.Unlock())
}

// adopt makes the record of a session whose process ended before it had written
// one. It does nothing when the process lives, or the journal says too little.
func (s *Store) adopt(id string) error {
	path := s.journalPath(id)
	j, err := openJournal(path, nil)
	if errors.Is(err, ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	session := readHead(path).Session
	if session == nil {
		return j.close(j.size == 0)
	}
	entries, err := readJournal(path)
	if err == nil {
		if err = session.Replay(entries); err != nil { // a damaged line; what comes before it is good
			aside := fmt.Sprintf("%s.%d", path, time.Now().UnixMilli())
			s.log.Warn("a part of a journal could not be used; the journal was kept", "session", id, "file", aside, "error", err)
			err = copyFile(aside, path)
		}
	}
	if err == nil && len(session.Messages) > 0 {
		err = s.writeNew(id, session)
	}
	return errors.Join(err, j.close(err == nil))
}

// writeNew writes a record that is not there yet.
func (s *Store) writeNew(id string, session *transcript.Session) error {
	unlock, err := lockDir(s.recordDir())
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Lstat(s.recordPath(id)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	session.ID, session.Title = id, transcript.MakeTitle(session.Messages)
	data, err := session.MarshalJSON()
	if err != nil {
		return err
	}
	if data, err = pretty(data); err != nil {
		return err
	}
	_, err = replaceFile(s.recordPath(id), data)
	return err
}

// readJournal reads what the journal at path holds. A last line without its end
// was being written when the process died, and is left out; so are lines that
// are no entries. There is no journal in the normal case.
func readJournal(path string) ([]transcript.Entry, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var entries []transcript.Entry
	for line := range strings.Lines(string(data)) {
		var e transcript.Entry
		if !strings.HasSuffix(line, "\n") || json.Unmarshal([]byte(line), &e) != nil {
			continue
		}
		entries = append(entries, e)
	}
	return entries, nil
}

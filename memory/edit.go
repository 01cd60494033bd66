package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"shiro/memory/transcript"
)

// Edit changes what a stored session's record says of it; change must leave the
// messages alone. The error is a *LockedError when a process, this one or
// another, has the session open for writing.
func (s *Store) Edit(idOrPrefix string, change func(*transcript.Session)) error {
	id, err := s.Resolve(idOrPrefix)
	if err != nil {
		return err
	}
	return s.alone(id, func() (done bool, err error) {
		session, stamp, err := s.load(id)
		if err != nil {
			return false, err
		}
		change(session)
		session.UpdatedAt = nextStamp(s.now(), session.UpdatedAt, session.CreatedAt)
		data, err := session.MarshalJSON()
		if err != nil {
			return false, err
		}
		if data, err = pretty(data); err != nil {
			return false, err
		}
		_, err = replaceFile(s.recordPath(id), data)
		return err == nil && !stamp.stray, err // the journal's entries are in the record now
	})
}

// Delete removes a session's record and all that is kept beside it. The error is
// as of Edit. A record that cannot be read is removed too.
func (s *Store) Delete(idOrPrefix string) error {
	id, err := s.Resolve(idOrPrefix)
	if err != nil {
		return err
	}
	return s.alone(id, func() (bool, error) {
		aside, err := filepath.Glob(s.journalPath(id) + ".*")
		if err != nil {
			return false, err
		}
		for _, path := range append(aside, s.recordPath(id)) {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return false, fmt.Errorf("deleting session %s: %w", id, err)
			}
		}
		return true, nil
	})
}

// alone calls do while no process writes the session. The journal is removed
// when do says that it is done with.
func (s *Store) alone(id string, do func() (done bool, err error)) error {
	j, err := openJournal(s.journalPath(id), nil)
	if err != nil {
		return err
	}
	empty := j.size == 0
	unlock, err := lockDir(s.recordDir())
	if err != nil {
		return errors.Join(err, j.close(empty))
	}
	defer unlock()
	done, err := do()
	return errors.Join(err, j.close(done || empty))
}

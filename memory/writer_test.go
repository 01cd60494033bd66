package memory

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"shiro/memory/transcript"
)

// messages counts those in the record with that id; -1 when there is none.
func messages(t testing.TB, s *Store, id string) int {
	t.Helper()
	got, _, err := s.Load(id)
	if errors.Is(err, ErrNotFound) {
		return -1
	}
	if err != nil {
		t.Fatal(err)
	}
	return len(got.Messages)
}

func TestSaveWaitsForQuiet(t *testing.T) {
	s := newStore(t)
	synctest.Test(t, func(t *testing.T) {
		w := openWriter(t, s, WriterOptions{})
		defer w.Close()
		session := newSession("01aa", "/p")
		for i := range 3 { // each restarts the delay
			session.Messages = append(session.Messages, transcript.User(fmt.Sprint(i)))
			w.Save(session)
			time.Sleep(saveDelay - time.Millisecond)
			synctest.Wait()
			if n := messages(t, s, "01aa"); n != -1 {
				t.Fatalf("written after the save of message %d", i)
			}
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if n := messages(t, s, "01aa"); n != 3 {
			t.Errorf("%d messages after 400 ms of quiet", n)
		}
	})
}

func TestSaveDoesNotWaitForEver(t *testing.T) {
	s := newStore(t)
	synctest.Test(t, func(t *testing.T) {
		w := openWriter(t, s, WriterOptions{})
		defer w.Close()
		session := newSession("01aa", "/p")
		for step := range 31 { // a tool loop without a pause
			session.Messages = append(session.Messages, transcript.User(fmt.Sprint(step)))
			w.Save(session)
			time.Sleep(200*time.Millisecond - time.Nanosecond)
			synctest.Wait()
			onDisk := max(messages(t, s, "01aa"), 0)
			if unsaved := len(session.Messages) - onDisk; unsaved > int(saveAge/(200*time.Millisecond)) {
				t.Fatalf("step %d: %d messages are not on disk", step, unsaved)
			}
			time.Sleep(time.Nanosecond)
		}
	})
}

func TestCloseWritesAtOnce(t *testing.T) {
	s := newStore(t)
	w := openWriter(t, s, WriterOptions{})
	session := newSession("01aa", "/p", "one")
	w.Save(session)
	if err := w.Flush(); err != nil || messages(t, s, "01aa") != 1 {
		t.Errorf("after Flush: %v", err)
	}
	session.Messages = append(session.Messages, transcript.User("two"))
	w.Save(session)
	session.Messages[0] = transcript.User("changed later") // must not be seen
	if err := w.Close(); err != nil || messages(t, s, "01aa") != 2 {
		t.Errorf("after Close: %v", err)
	}
	got, _, err := s.Load("01aa")
	if err != nil || got.Messages[0].Text != "one" {
		t.Errorf("not the session as it was when saved: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

func TestASessionEmptiedIsNotWritten(t *testing.T) {
	s := newStore(t)
	save(t, s, newSession("01aa", "/p", "one"), Stamp{})
	_, stamp, err := s.Load("01aa")
	if err != nil {
		t.Fatal(err)
	}
	save(t, s, newSession("01aa", "/p"), stamp)
	if n := messages(t, s, "01aa"); n != 1 {
		t.Errorf("%d messages", n)
	}
}

func TestTitleIsMadeBySaving(t *testing.T) {
	s := newStore(t)
	in := newSession("01aa", "/p", strings.Repeat("x", 59)+"😀 and so on")
	in.Title = "old"
	save(t, s, in, Stamp{})
	if got, _, err := s.Load("01aa"); err != nil || got.Title != strings.Repeat("x", 59)+"..." {
		t.Errorf("%q, %v", got.Title, err)
	}
}

func TestUpdatedAt(t *testing.T) {
	for _, c := range []struct{ what, now, updated, created, want string }{
		{"ordinary", "2026-08-11T09:14:03.120Z", "2026-08-11T09:00:00.000Z", "2026-08-11T08:00:00.000Z", "2026-08-11T09:14:03.120Z"},
		{"clock set back", "2026-08-11T08:30:00.000Z", "2026-08-11T09:00:00.000Z", "2026-08-11T08:00:00.000Z", "2026-08-11T09:00:00.000Z"},
		{"before it was made", "2026-08-11T07:00:00.000Z", "", "2026-08-11T08:00:00.000Z", "2026-08-11T08:00:00.000Z"},
		{"clock was wrong", "2026-08-11T09:14:03.120Z", "2099-01-01T00:00:00.000Z", "2026-08-11T08:00:00.000Z", "2026-08-11T09:14:03.120Z"},
		{"clock was wrong from the start", "2026-08-11T09:14:03.120Z", "2099-01-01T00:00:00.000Z", "2098-01-01T00:00:00.000Z", "2098-01-01T00:00:00.000Z"},
		{"no times", "2026-08-11T11:14:03.1209+02:00", "now", "then", "2026-08-11T09:14:03.120Z"},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		if got := nextStamp(now, c.updated, c.created); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

func TestUpdatedAtNeverGoesBackInOneWriter(t *testing.T) {
	now := clock
	s := Open(Options{Dir: t.TempDir(), Now: func() time.Time { return now }})
	w := openWriter(t, s, WriterOptions{})
	defer w.Close()
	session := newSession("01aa", "/p", "one")
	for _, step := range []time.Duration{time.Minute, -time.Hour} {
		now = now.Add(step)
		w.Save(session)
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if got, _, err := s.Load("01aa"); err != nil || got.UpdatedAt != timestamp(clock.Add(time.Minute)) {
			t.Errorf("after %v: %s, %v", step, got.UpdatedAt, err)
		}
	}
}

func TestFileKeepsItsModeAndItsLink(t *testing.T) {
	s := newStore(t)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.MkdirAll(s.recordDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, s.recordPath("01aa")); err != nil {
		t.Fatal(err)
	}
	save(t, s, newSession("01aa", "/p", "one"), Stamp{}) // through a link to nothing yet
	if err := os.Chmod(elsewhere, 0o640); err != nil {
		t.Fatal(err)
	}
	session, stamp, err := s.Load("01aa")
	if err != nil {
		t.Fatal(err)
	}
	session.Messages = append(session.Messages, transcript.User("two"))
	save(t, s, session, stamp)
	info, err := os.Lstat(elsewhere)
	if err != nil || info.Mode() != 0o640 || messages(t, s, "01aa") != 2 {
		t.Errorf("target: %v, %v", info.Mode(), err)
	}
	if target, err := os.Readlink(s.recordPath("01aa")); target != elsewhere {
		t.Errorf("link: %s, %v", target, err)
	}
	if got := names(t, s.recordDir()); len(got) != 1 {
		t.Errorf("left over: %v", got)
	}
	if got := names(t, filepath.Dir(elsewhere)); len(got) != 1 {
		t.Errorf("left over beside the target: %v", got)
	}
}

// What somebody else wrote since we read or wrote the record stays, and ours
// goes on elsewhere.
func TestARecordChangedBySomeoneElseIsNotOverwritten(t *testing.T) {
	grow := func(t *testing.T, s *Store, path string) { // the terminal tool goes on
		at(t, s, "01aa", "/p", timestamp(clock), "one", "theirs")
	}
	compact := func(t *testing.T, s *Store, path string) { // the terminal tool: in place, same file
		at(t, s, "01aa", "/p", timestamp(clock), "the summary")
	}
	touch := func(t *testing.T, s *Store, path string) {
		later := time.Now().Add(time.Minute)
		if err := os.Chtimes(path, later, later); err != nil {
			t.Fatal(err)
		}
	}
	copied := func(t *testing.T, s *Store, path string) { // another file, same bytes
		text := content(t, path)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		write(t, path, text)
	}
	sameSize := func(t *testing.T, s *Store, path string) {
		write(t, path, strings.Replace(content(t, path), "one", "eno", 1))
		touch(t, s, path)
	}
	damage := func(t *testing.T, s *Store, path string) { write(t, path, "{") }
	remove := func(t *testing.T, s *Store, path string) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		do   func(*testing.T, *Store, string)
		fork bool
	}{
		{"grown", grow, true},
		{"compacted", compact, true},
		{"same size", sameSize, true},
		{"damaged", damage, true},
		{"touched", touch, false},
		{"copied", copied, false},
		{"removed", remove, false},
	} {
		for _, written := range []bool{false, true} { // only read before, or written too
			t.Run(fmt.Sprint(c.name, written), func(t *testing.T) {
				s := newStore(t)
				at(t, s, "01aa", "/p", timestamp(clock), "one")
				ours, stamp, err := s.Load("01aa")
				if err != nil {
					t.Fatal(err)
				}
				var forks []string
				w := openWriter(t, s, WriterOptions{Stamp: stamp, Forked: func(id string) { forks = append(forks, id) }})
				defer w.Close()
				next := func(text string) {
					ours.Messages = append(ours.Messages, transcript.User(text))
					w.Save(ours)
					if err := w.Flush(); err != nil {
						t.Fatal(err)
					}
				}
				if written {
					next("written")
				}
				path := s.recordPath("01aa")
				c.do(t, s, path)
				theirs, _ := os.ReadFile(path)
				next("two")
				next("three") // stays where it is now
				id := "01aa"
				if c.fork {
					if len(forks) != 1 || !validID(forks[0]) || content(t, path) != string(theirs) {
						t.Fatalf("forks %v; the file holds %s", forks, content(t, path))
					}
					id = forks[0]
				} else if len(forks) != 0 {
					t.Fatalf("forked to %v", forks)
				}
				got, _, err := s.Load(id)
				if err != nil || got.ID != id || len(got.Messages) != len(ours.Messages) || got.CreatedAt != ours.CreatedAt {
					t.Errorf("our record: %+v, %v", got, err)
				}
			})
		}
	}
}

func TestANewSessionDoesNotTakeAnExistingFile(t *testing.T) {
	s := newStore(t)
	at(t, s, "01aa", "/p", timestamp(clock), "theirs")
	theirs := content(t, s.recordPath("01aa"))
	forked := ""
	w := openWriter(t, s, WriterOptions{Forked: func(id string) { forked = id }})
	w.Save(newSession("01aa", "/p", "ours"))
	if err := w.Close(); err != nil || forked == "" || content(t, s.recordPath("01aa")) != theirs {
		t.Errorf("fork %q, %v", forked, err)
	}
}

func TestFailuresAreReportedOncePerKind(t *testing.T) {
	s := newStore(t)
	var failures []string
	w := openWriter(t, s, WriterOptions{Failed: func(err error) { failures = append(failures, fmt.Sprint(err)) }})
	defer w.Close()
	session := newSession("01aa", "/p", "one")
	try := func(ok bool, reports int) {
		t.Helper()
		w.Save(session)
		if err := w.Flush(); (err == nil) != ok {
			t.Errorf("flush: %v", err)
		}
		if len(failures) != reports {
			t.Errorf("%d reports: %q", len(failures), failures)
		}
	}
	write(t, s.recordDir(), "a file where the directory should be")
	try(false, 1)
	try(false, 1)
	if err := os.Remove(s.recordDir()); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil || messages(t, s, "01aa") != 1 { // what failed is not forgotten
		t.Errorf("flush without a save: %v", err)
	}
	if failures[1] != "<nil>" { // and that it works again is told
		t.Errorf("reports %q", failures)
	}
	path := s.recordPath("01aa")
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	old := content(t, path)
	try(false, 3)
	try(false, 3)
	if content(t, path) != old || len(names(t, s.recordDir())) != 1 {
		t.Errorf("the old file suffered: %v", names(t, s.recordDir()))
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	try(true, 4)
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	try(false, 5)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAFailedSaveIsTriedAgain(t *testing.T) {
	s := newStore(t)
	write(t, s.recordDir(), "a file where the directory should be")
	synctest.Test(t, func(t *testing.T) {
		var reports atomic.Int32
		w := openWriter(t, s, WriterOptions{Failed: func(error) { reports.Add(1) }})
		defer w.Close()
		session := newSession("01aa", "/p", "one")
		w.Save(session)
		time.Sleep(saveDelay)
		synctest.Wait()
		if n := reports.Load(); n != 1 {
			t.Errorf("%d failures", n)
		}
		if err := os.Remove(s.recordDir()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(retryDelay) // without a further change
		synctest.Wait()
		if n := messages(t, s, "01aa"); n != 1 || reports.Load() != 2 {
			t.Errorf("%d messages, %d reports", n, reports.Load())
		}
	})
}

func TestNothingUnreadableIsWritten(t *testing.T) {
	s := newStore(t)
	session := newSession("01aa", "/p", "one")
	save(t, s, session, Stamp{})
	_, stamp, err := s.Load("01aa")
	if err != nil {
		t.Fatal(err)
	}
	old := content(t, s.recordPath("01aa"))
	session.Messages = append(session.Messages, transcript.Assistant(transcript.Part{Type: transcript.TypeToolCall, Input: []byte(`{"cut`)}))
	w := openWriter(t, s, WriterOptions{Stamp: stamp})
	w.Save(session)
	if err := w.Close(); err == nil || content(t, s.recordPath("01aa")) != old {
		t.Errorf("wrote JSON that cannot be read: %v", err)
	}
	w = openWriter(t, s, WriterOptions{})
	w.Save(newSession("../01aa", "/p", "out of the house"))
	mustFail(t, w.Close(), "not a session id")
}

func openWriter(t testing.TB, s *Store, o WriterOptions) *Writer {
	t.Helper()
	w, err := s.Writer(o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

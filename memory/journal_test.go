package memory

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"shiro/memory/transcript"
)

func entry(ms []*transcript.Message) transcript.Entry {
	at := len(ms) - 1
	return transcript.Entry{Seq: uint64(10 * len(ms)), Kind: transcript.EntryMessage, At: at, After: transcript.Mark(ms[:at]), Message: ms[at]}
}

// What was logged is there after the process died, though the record was never
// written again.
func TestTheJournalOutlivesTheProcess(t *testing.T) {
	s := newStore(t)
	session := newSession("01aa", "/p", "one")
	w := openWriter(t, s, WriterOptions{Session: "01aa"})
	w.Save(session)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		session.Messages = append(session.Messages, transcript.User(fmt.Sprint("step ", i)))
		if err := w.Log(i == 2, entry(session.Messages)); err != nil {
			t.Fatal(err)
		}
	}
	w.die()

	got, stamp, err := Open(Options{Dir: s.dir}).Load("01aa")
	if err != nil || len(got.Messages) != 4 || got.Messages[3].Text != "step 2" || got.Seq != 40 {
		t.Fatalf("%+v %v", got, err)
	}
	w = openWriter(t, s, WriterOptions{Stamp: stamp})
	w.Save(got)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := messages(t, s, "01aa"); n != 4 {
		t.Errorf("%d messages in the record", n)
	}
	if got := names(t, s.recordDir()); fmt.Sprint(got) != "[01aa.json]" {
		t.Errorf("left over: %v", got)
	}
}

// die ends a writer as the end of the process would: nothing is written any
// more, locks and files are let go.
func (w *Writer) die() {
	w.stop()
	<-w.done
	w.journal.file.Close()
	w.journal.lock.Unlock()
}

// A record that was written makes the journal before it needless; what came
// after that state stays.
func TestTheJournalIsShortened(t *testing.T) {
	s := newStore(t)
	session := newSession("01aa", "/p", "one")
	w := openWriter(t, s, WriterOptions{Session: "01aa"})
	defer w.Close()
	w.Save(session)
	w.Flush()
	lines := func() int { return strings.Count(content(t, s.journalPath("01aa")), "\n") }
	session.Messages = append(session.Messages, transcript.User("two"))
	w.Log(false, entry(session.Messages))
	w.Save(session)
	w.Log(false, transcript.Entry{Kind: transcript.EntryTotals, InputTokens: 7})
	if err := w.Flush(); err != nil || lines() != 3 {
		t.Errorf("%d lines, want owner, two and totals: %v", lines(), err)
	}
	w.Save(session)
	if err := w.Flush(); err != nil || lines() != 1 {
		t.Errorf("%d lines, want the owner's: %v", lines(), err)
	}
}

func TestOneProcessWritesASession(t *testing.T) {
	s := newStore(t)
	save(t, s, newSession("01aa", "/p", "one"), Stamp{})
	_, stamp, err := s.Load("01aa")
	if err != nil {
		t.Fatal(err)
	}
	w := openWriter(t, s, WriterOptions{Stamp: stamp})
	_, err = s.Writer(WriterOptions{Stamp: stamp})
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() || !errors.Is(err, ErrLocked) {
		t.Errorf("a second writer: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	openWriter(t, s, WriterOptions{Stamp: stamp}).Close()
}

// Journals that are damaged or belong to another state lose nothing that the
// record has, and are kept for a person to look at.
func TestADamagedJournal(t *testing.T) {
	two := []*transcript.Message{transcript.User("one"), transcript.User("two")}
	line := func(e transcript.Entry) string {
		s := newStore(t)
		w := openWriter(t, s, WriterOptions{Session: "01aa"})
		w.Save(newSession("01aa", "/p", "x"))
		w.Log(false, e)
		text := content(t, s.journalPath("01aa"))
		w.Close()
		return text[strings.Index(text, "\n")+1:]
	}
	good := line(entry(two))
	for name, c := range map[string]struct {
		journal string
		want    int
		aside   bool
	}{
		"empty":           {"", 1, false},
		"last line cut":   {good[:len(good)-5], 1, false},
		"NULs at the end": {good + strings.Repeat("\x00", 100), 2, false},
		"noise between":   {"not JSON\n[]\nnull\n5\n" + good, 2, false},
		"of another":      {strings.Replace(good, `"after":"`, `"after":"0`, 1), 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			save(t, s, newSession("01aa", "/p", "one"), Stamp{})
			write(t, s.journalPath("01aa"), c.journal)
			got, stamp, err := s.Load("01aa")
			if err != nil || len(got.Messages) != c.want {
				t.Fatalf("%d messages, %v", len(got.Messages), err)
			}
			if l, err := s.List(ListOptions{}); err != nil || len(l.Sessions) != 1 || l.Skipped != 0 {
				t.Errorf("list %+v %v", l, err)
			}
			w := openWriter(t, s, WriterOptions{Stamp: stamp})
			w.Save(got)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			kept := 0
			for _, n := range names(t, s.recordDir()) {
				if strings.Contains(n, ".journal.") && content(t, s.recordDir()+"/"+n) == c.journal {
					kept++
				}
			}
			if c.aside != (kept == 1) {
				t.Errorf("%d journals set aside: %v", kept, names(t, s.recordDir()))
			}
		})
	}
}

func FuzzReadJournal(f *testing.F) {
	f.Add([]byte(`{"seq":1,"kind":"message","at":1,"after":"x","message":{"role":"user","content":"a"}}` + "\n"))
	f.Add([]byte("{\"kind\":\"owner\",\"pid\":1}\n{\"kind\":\"result\",\"message\":{\"role\":\"tool\",\"content\":[]}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := t.TempDir() + "/j"
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		entries, err := readJournal(path)
		if err != nil {
			t.Fatal(err)
		}
		session := newSession("01aa", "/p", "one")
		before := len(session.Messages)
		if session.Replay(entries) != nil && len(session.Messages) != before || len(session.Messages) < before {
			t.Errorf("%d messages", len(session.Messages))
		}
	})
}

// A process that was killed before it had written the record at all.
func TestASessionWithoutARecordIsRecovered(t *testing.T) {
	for name, find := range map[string]func(s *Store) error{
		"by id":     func(s *Store) error { _, _, err := s.Load("01aa"); return err },
		"by prefix": func(s *Store) error { _, _, err := s.Load("01a"); return err },
		"in a list": func(s *Store) error { _, err := s.List(ListOptions{}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			synctest.Test(t, func(t *testing.T) { // so that the record is not written meanwhile
				session := newSession("01aa", "/p", "one")
				w := openWriter(t, s, WriterOptions{Session: "01aa"})
				w.Save(session)
				if err := w.Log(false, entry(session.Messages)); err != nil {
					t.Fatal(err)
				}
				if _, _, err := s.Load("01aa"); !errors.Is(err, ErrNotFound) {
					t.Errorf("while its process lives: %v", err)
				}
				w.die()
			})
			if err := find(s); err != nil {
				t.Fatal(err)
			}
			got, _, err := s.Load("01aa")
			if err != nil || len(got.Messages) != 1 || got.CWD != "/p" || got.Title != "one" {
				t.Errorf("%+v %v", got, err)
			}
			if left := names(t, s.recordDir()); fmt.Sprint(left) != "[01aa.json]" {
				t.Errorf("left over: %v", left)
			}
		})
	}
}

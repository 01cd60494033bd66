package memory

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shiro/memory/transcript"
)

// clock is the time of the stores under test unless they say otherwise.
var clock = time.Date(2026, 8, 11, 9, 14, 3, 120e6, time.UTC)

func newStore(t testing.TB) *Store {
	t.Helper()
	return Open(Options{Dir: filepath.Join(t.TempDir(), ".shiro-neko"), Now: func() time.Time { return clock }, Log: slog.New(slog.DiscardHandler)})
}

// newSession is a session with one user message per prompt.
func newSession(id, cwd string, prompts ...string) *transcript.Session {
	s := &transcript.Session{
		ID: id, CreatedAt: timestamp(clock), UpdatedAt: timestamp(clock), CWD: cwd, Provider: "openai", Model: "gpt-5",
		Notebook: transcript.Notebook(nil),
	}
	for _, p := range prompts {
		s.Messages = append(s.Messages, transcript.User(p))
	}
	return s
}

// save writes session as a new record, or over the one at stamp.
func save(t testing.TB, s *Store, session *transcript.Session, stamp Stamp) {
	t.Helper()
	w := openWriter(t, s, WriterOptions{Stamp: stamp})
	w.Save(session)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// age makes the file one that nobody is just writing.
func age(t testing.TB, path string) {
	t.Helper()
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// names returns the files in dir, without our lock.
func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		if e.Name() != ".lock" {
			all = append(all, e.Name())
		}
	}
	return all
}

func mustFail(t testing.TB, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want one with %q", err, text)
	}
}

func TestOpenAndReadingCreateNothing(t *testing.T) {
	s := newStore(t)
	if l, err := s.List(ListOptions{}); err != nil || len(l.Sessions) != 0 || l.Skipped != 0 {
		t.Errorf("list: %+v, %v", l, err)
	}
	n := s.Notes(t.TempDir())
	if got, err := n.Block(); got != "" || err != nil {
		t.Errorf("block: %q, %v", got, err)
	}
	if got, err := n.Recall("anything"); got != `Nothing recorded about "anything".` || err != nil {
		t.Errorf("recall: %q, %v", got, err)
	}
	if got, err := n.Forget("anything"); got != `No memory matches "anything".` || err != nil {
		t.Errorf("forget: %q, %v", got, err)
	}
	w := openWriter(t, s, WriterOptions{})
	w.Save(newSession(NewID(), "/p")) // no message: never written
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(s.dir); !os.IsNotExist(err) {
		t.Errorf("the state directory exists: %v", err)
	}
}

func TestFolder(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real := filepath.Join(base, "p")
	link := filepath.Join(base, "link-to-p")
	if err := os.Mkdir(real, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		real:                          real,
		real + "/":                    real,
		link:                          real,
		link + "/":                    real,
		base + "/p/../p/.":            real,
		filepath.Join(link, "gone/x"): filepath.Join(real, "gone/x"),
		"/":                           "/",
	} {
		if got := Folder(in); got != want {
			t.Errorf("Folder(%s) = %s, want %s", in, got, want)
		}
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got := Folder("."); got != Folder(wd) {
		t.Errorf("Folder(.) = %s", got)
	}
}

func TestHash16(t *testing.T) {
	for in, want := range map[string]string{"/home/you/project": "55e8fbffcaa6d84b", "/home/é": "753cb706efcdf53b"} {
		if got := hash16(in); got != want {
			t.Errorf("hash16(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestNewID(t *testing.T) {
	last := ""
	for range 1000 {
		id := NewID()
		if id <= last || len(id) != 36 || id[14] != '7' || id != strings.ToLower(id) || !validID(id) {
			t.Fatalf("%s after %s", id, last)
		}
		last = id
	}
}

func TestLeftoversOfKilledProcessesAreRemoved(t *testing.T) {
	s := newStore(t)
	n := s.Notes("/p")
	for _, dir := range []string{s.recordDir(), filepath.Dir(n.path)} {
		for _, name := range []string{".shiro-123.tmp", ".shiro-young.tmp", ".other.tmp", ".shiro-not-ours"} {
			write(t, filepath.Join(dir, name), "{")
			if name != ".shiro-young.tmp" {
				age(t, filepath.Join(dir, name))
			}
		}
	}
	if _, err := s.List(ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Remember("fact", "x"); err != nil {
		t.Fatal(err)
	}
	left := func(dir, want string) {
		t.Helper()
		if got := strings.Join(names(t, dir), " "); !strings.HasPrefix(got, want) {
			t.Errorf("%s holds %s", dir, got)
		}
	}
	left(filepath.Dir(n.path), ".other.tmp .shiro-not-ours "+filepath.Base(n.path)) // under the lock nobody else writes
	left(s.recordDir(), ".other.tmp .shiro-not-ours .shiro-young.tmp")
	save(t, s, newSession("01aa", "/p", "one"), Stamp{})
	left(s.recordDir(), ".other.tmp .shiro-not-ours 01aa.json")
}

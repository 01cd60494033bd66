package memory

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shiro/memory/transcript"
)

// at writes a record that was changed at that time, as the terminal tool would.
func at(t testing.TB, s *Store, id, cwd, updatedAt string, prompts ...string) {
	t.Helper()
	session := newSession(id, cwd, prompts...)
	session.UpdatedAt, session.Title = updatedAt, transcript.MakeTitle(session.Messages)
	compact, err := session.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	data, err := pretty(compact)
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.recordPath(id), string(data))
}

func ids(l Listing) string {
	var all []string
	for _, i := range l.Sessions {
		all = append(all, i.ID)
	}
	return strings.Join(all, " ")
}

func list(t testing.TB, s *Store, o ListOptions) Listing {
	t.Helper()
	l, err := s.List(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestListTellsOfASession(t *testing.T) {
	s := newStore(t)
	for name, padding := range map[string]int{"small": 0, "large": 3 * headSize} {
		in := newSession(name, "/home/you/project", "why?\n\nsay", strings.Repeat("x", padding)+"then")
		in.InputTokens, in.OutputTokens = 48210, 3105
		cost := 0.5
		in.CostUSD = &cost
		call := transcript.Part{Type: transcript.TypeToolCall, ToolCallID: "c", ToolName: "bash", Input: []byte(`{"text":"no"}`)}
		in.Messages = append(in.Messages,
			transcript.Assistant(transcript.Part{Type: transcript.TypeReasoning, Text: "hm"}, transcript.Text("It \"is\"\n\t\u2028so. "+strings.Repeat("é😀", 100)), call),
			transcript.Tool(transcript.Result(call, transcript.Output{Type: transcript.OutputText, Text: "done"}, true)))
		save(t, s, in, Stamp{})
	}
	want := Info{
		Title: "why?\n\nsay", CWD: "/home/you/project", Provider: "openai", Model: "gpt-5", CreatedAt: clock, UpdatedAt: clock,
		InputTokens: 48210, OutputTokens: 3105, Messages: 4, Turns: 2, Preview: transcript.Cut(`It "is" so. `+strings.Repeat("é😀", 100), previewUnits),
	}
	l := list(t, s, ListOptions{})
	if l.Skipped != 0 || l.Next != "" || ids(l) != "small large" {
		t.Fatalf("%+v", l)
	}
	for _, got := range l.Sessions {
		if got.CostUSD == nil || *got.CostUSD != 0.5 {
			t.Errorf("cost %v", got.CostUSD)
		}
		got.ID, got.CostUSD = "", nil
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
}

func TestListOrder(t *testing.T) {
	s := newStore(t)
	old := clock.Add(-time.Hour)
	for id, updated := range map[string]string{
		"b-new": "2026-08-11T09:14:03.000Z", "c-tie": "2026-08-11T09:00:00.000Z", "d-tie": "2026-08-11T09:00:00.000Z",
		"e-zone":     "2026-08-11T10:30:00.000+02:00", // 08:30 UTC
		"f-tomorrow": "2026-08-11T20:00:00.000Z",      // a clock that is a little ahead is believed
		"g-2099":     "2099-01-01T00:00:00.000Z",      // then 08:14, its file's time
		"h-never":    "now",                           // likewise
	} {
		at(t, s, id, "/p", updated, "hello")
		if err := os.Chtimes(s.recordPath(id), old, old); err != nil {
			t.Fatal(err)
		}
	}
	at(t, s, "i-all-2099", "/p", "2099-01-01T00:00:00.000Z", "hello")
	later := clock.AddDate(50, 0, 0)
	if err := os.Chtimes(s.recordPath("i-all-2099"), later, later); err != nil {
		t.Fatal(err)
	}
	want := "f-tomorrow b-new d-tie c-tie e-zone h-never g-2099 i-all-2099"
	if got := ids(list(t, s, ListOptions{})); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var paged []string
	cursor := ""
	for range 5 {
		l := list(t, s, ListOptions{Limit: 3, Cursor: cursor})
		paged = append(paged, ids(l))
		if cursor = l.Next; cursor == "" {
			break
		}
	}
	if got := strings.Join(paged, " "); got != want || len(paged) != 3 {
		t.Errorf("in %d pages: %s", len(paged), got)
	}
	_, err := s.List(ListOptions{Cursor: "5.../x"})
	mustFail(t, err, "cursor")
}

func TestListSkipsAndCountsDamage(t *testing.T) {
	s := newStore(t)
	long := strings.Repeat("a long story ", headSize)
	at(t, s, "good", "/p", timestamp(clock), "hello")
	at(t, s, "good-long", "/p", timestamp(clock), long)
	whole := content(t, s.recordPath("good"))
	big := content(t, s.recordPath("good-long"))
	damaged := map[string]string{
		"cut":       whole[:len(whole)/2],
		"cut-long":  big[:len(big)/2],
		"cut-brace": big[:len(big)-1],
		"nul-tail":  big[:len(big)-100] + strings.Repeat("\x00", 100),
		"nul-mid":   strings.Replace(big, "a long story a long", "a long\x00story a long", 1),
		"empty":     "",
		"null":      "null",
		"array":     "[]",
		"five":      `{"messages":5}`,
		"zeros":     strings.Repeat("\x00", 9000),
		"two":       whole + "{}",
		"Upper":     whole,
	}
	for id, c := range damaged {
		write(t, s.recordPath(id), c)
	}
	write(t, s.recordPath("bom"), "\ufeff"+whole)
	write(t, s.recordPath("future"), strings.Replace(big, "{", `{"version":9,`, 1))
	write(t, s.recordPath("late"), strings.Replace(whole, `"id"`, `"pad": "`+long+`", "id"`, 1))
	write(t, filepath.Join(s.recordDir(), ".hidden.json"), whole)
	write(t, filepath.Join(s.recordDir(), "notes.txt"), whole)
	if err := os.Mkdir(s.recordPath("dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(s.recordPath("good"), s.recordPath("link")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second from what is remembered
		l := list(t, s, ListOptions{})
		got := strings.Fields(ids(l))
		slices.Sort(got)
		if d := cmp.Diff([]string{"bom", "future", "good", "good-long", "late"}, got); d != "" || l.Skipped != len(damaged) {
			t.Errorf("skipped %d of %d: %s", l.Skipped, len(damaged), d)
		}
	}
	for id, want := range damaged {
		if content(t, s.recordPath(id)) != want {
			t.Errorf("%s was changed", id)
		}
	}
	if l := list(t, s, ListOptions{Limit: 5}); len(l.Sessions) != 5 {
		t.Errorf("a damaged record left a hole in the page: %s", ids(l))
	}
}

func TestListSeesChanges(t *testing.T) {
	s := newStore(t)
	at(t, s, "a", "/p", timestamp(clock), "first")
	at(t, s, "b", "/p", timestamp(clock.Add(time.Second)), "second")
	if got := ids(list(t, s, ListOptions{})); got != "b a" {
		t.Fatal(got)
	}
	at(t, s, "a", "/p", timestamp(clock.Add(time.Minute)), "first, and more")
	if err := os.Remove(s.recordPath("b")); err != nil {
		t.Fatal(err)
	}
	l := list(t, s, ListOptions{})
	if ids(l) != "a" || l.Sessions[0].Title != "first, and more" {
		t.Errorf("%+v", l)
	}
}

func TestListQuery(t *testing.T) {
	s := newStore(t)
	for i := range 200 {
		at(t, s, fmt.Sprintf("01%03d", i), "/p", timestamp(clock.Add(-time.Duration(i)*time.Second)), fmt.Sprintf("Question %d", i), strings.Repeat("x", i*50)+" Äpfel")
	}
	at(t, s, "02aaa", "/p", timestamp(clock.Add(-time.Hour)), "hello", "the Needle at last")
	for query, want := range map[string]string{
		"QUESTION 17": "01017 01170 01171", "needle": "02aaa", "02A": "02aaa", "01199": "01199", "nothing": "", "äpfel": "01000 01001 01002",
	} {
		l := list(t, s, ListOptions{Query: query, Limit: 3})
		if got := ids(l); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	first := list(t, s, ListOptions{Query: "question 17", Limit: 3})
	if got := ids(list(t, s, ListOptions{Query: "question 17", Limit: 3, Cursor: first.Next})); got != "01172 01173 01174" {
		t.Errorf("second page: %s", got)
	}
}

func TestListBesideWriters(t *testing.T) {
	s := newStore(t)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			session := newSession(fmt.Sprint("01a", i), "/p", strings.Repeat("x", i*headSize))
			w := openWriter(t, s, WriterOptions{})
			for range 20 {
				session.Messages = append(session.Messages, transcript.User("more"))
				w.Save(session)
				if err := w.Flush(); err != nil {
					t.Error(err)
				}
				l, err := s.List(ListOptions{Query: "more"})
				if err != nil || l.Skipped != 0 || !strings.Contains(ids(l), session.ID) {
					t.Errorf("%s: %+v, %v", session.ID, l, err)
				}
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestLatestFindsTheFolderHoweverItIsSpelled(t *testing.T) {
	s := newStore(t)
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p, q := filepath.Join(base, "p"), filepath.Join(base, "q")
	if err := os.Mkdir(p, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(p, filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	at(t, s, "01aa", p, "2026-08-11T08:00:00.000Z", "hello")
	at(t, s, "01ab", p, "2026-08-11T07:00:00.000Z", "hello")
	at(t, s, "01ac", filepath.Join(base, "other"), "2026-08-11T09:00:00.000Z", "hello")
	at(t, s, "01ad", p, "2026-08-11T09:00:00.000Z", "hello")
	text := content(t, s.recordPath("01ad"))
	write(t, s.recordPath("01ad"), text[:len(text)/2])
	for _, spelling := range []string{p, p + "/", base + "/p/../p", base + "/link", base + "/link/."} {
		if id, err := s.Latest(spelling); id != "01aa" || err != nil {
			t.Errorf("%s: %s, %v", spelling, id, err)
		}
	}
	if _, err := s.Latest(filepath.Join(base, "P")); !errors.Is(err, ErrNotFound) { // another folder on this file system
		t.Errorf("upper case: %v", err)
	}
	if err := os.Rename(p, q); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Latest(q); !errors.Is(err, ErrNotFound) {
		t.Errorf("after a move: %v", err)
	}
	if got, _, err := s.Load("01aa"); err != nil || got.CWD != p {
		t.Errorf("by id after a move: %v", err)
	}
	if id, err := s.Latest(p); id != "01aa" || err != nil {
		t.Errorf("the folder is gone: %s, %v", id, err)
	}
}

func TestListReportsADirectoryThatCannotBeRead(t *testing.T) {
	s := newStore(t)
	write(t, s.recordDir(), "a file")
	_, err := s.List(ListOptions{})
	mustFail(t, err, "listing sessions")
	_, _, err = s.Load("01aa")
	if err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("load: %v", err)
	}
}

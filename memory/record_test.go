package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shiro/memory/transcript"
)

func TestRecordRoundTrip(t *testing.T) {
	s := newStore(t)
	in := newSession(NewID(), "/home/you/project", "why <b>?\u2028", "again")
	in.InputTokens, in.OutputTokens = 48210, 3105
	cost := 0.0913125
	in.CostUSD = &cost
	in.Notebook = transcript.Notebook([]transcript.Todo{{Content: "read", Status: transcript.TodoDone}})
	foreign, err := transcript.Parse([]byte(`{"role":"assistant","content":[{"type":"x.y","half":"\ud83d","n":1.50,"none":{},"empty":[]}],"extra":1}`))
	if err != nil {
		t.Fatal(err)
	}
	in.Messages = append(in.Messages, foreign)
	save(t, s, in, Stamp{})

	path := s.recordPath(in.ID)
	got := content(t, path)
	out, _, err := s.Load(in.ID)
	if err != nil {
		t.Fatal(err)
	}
	compact, err := out.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := json.Indent(&want, compact, "", "  "); err != nil {
		t.Fatal(err)
	}
	if got != want.String() {
		t.Errorf("the file is not printed as JavaScript does:\n%s", got)
	}
	for _, part := range []string{
		"{\n  \"id\": \"" + in.ID + `"`, `"title": "why <b>?`, `"half": "\ud83d"`, `"n": 1.50`, `"none": {}`, `"empty": []`,
		`"costUsd": 0.0913125`, `"updatedAt": "2026-08-11T09:14:03.120Z"`, `"content": "read"`,
	} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is not in\n%s", part, got)
		}
	}
	for path, mode := range map[string]os.FileMode{path: 0o600, s.recordDir(): 0o700 | os.ModeDir, s.dir: 0o700 | os.ModeDir} {
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("%s: mode %v, %v", path, info.Mode(), err)
		}
	}
}

func TestLookup(t *testing.T) {
	s := newStore(t)
	for _, id := range []string{"01aa0000-0000-7000-8000-000000000001", "01ab0000-0000-7000-8000-000000000002", "01ab", "01ac0000-0000-7000-8000-000000000003"} {
		save(t, s, newSession(id, "/p", "hello "+id), Stamp{})
	}
	write(t, filepath.Join(s.dir, "x.json"), `{}`)
	for want, queries := range map[string][]string{
		"01aa0000-0000-7000-8000-000000000001": {"01aa0000-0000-7000-8000-000000000001", "01aa", "01AA0000-", " 01aa\n"},
		"01ab":                                 {"01ab", "01AB"}, // exact wins
		"01ac0000-0000-7000-8000-000000000003": {"01ac"},
	} {
		for _, q := range queries {
			got, _, err := s.Load(q)
			if err != nil || got.ID != want {
				t.Errorf("Load(%q): %v, want %s", q, err, want)
			}
		}
	}
	for _, q := range []string{"", " ", "../x", "../../x", "*", "01a?", "..", ".", "/", `..\x`, "01aa.json", "01ad", "zz", strings.Repeat("0", 500)} {
		if _, _, err := s.Load(q); !errors.Is(err, ErrNotFound) {
			t.Errorf("Load(%q): %v", q, err)
		}
	}
	for _, q := range []string{"01a", "01", "01ab0"[:3]} {
		_, _, err := s.Load(q)
		mustFail(t, err, "01aa0000-0000-7000-8000-000000000001, 01ab, 01ab0000-0000-7000-8000-000000000002, 01ac")
		if errors.Is(err, ErrNotFound) {
			t.Errorf("Load(%q) says that there is none", q)
		}
	}
}

func TestAmbiguityListsSome(t *testing.T) {
	s := newStore(t)
	for i := range 13 {
		write(t, s.recordPath("01a"+string(rune('a'+i))), `{}`)
	}
	_, _, err := s.Load("01")
	mustFail(t, err, "01aa, 01ab, 01ac, 01ad, 01ae, 01af, 01ag, 01ah, 01ai, 01aj and 3 more")
}

func TestLoadNamesTheFault(t *testing.T) {
	s := newStore(t)
	good := newSession("01aa", "/p", "hello")
	save(t, s, good, Stamp{})
	text := content(t, s.recordPath("01aa"))
	for id, c := range map[string]struct{ content, want string }{
		"cut":      {text[:len(text)/2], "EOF"},
		"empty":    {"", "not a JSON object"},
		"null":     {"null", "not a JSON object"},
		"array":    {"[]", "not a JSON object"},
		"messages": {`{"messages":5}`, "messages"},
		"missing":  {strings.Replace(text, `"cwd"`, `"cmd"`, 1), "cwd is missing"},
	} {
		write(t, s.recordPath(id), c.content)
		age(t, s.recordPath(id))
		_, _, err := s.Load(id)
		mustFail(t, err, c.want)
		mustFail(t, err, s.recordPath(id))
		if got := content(t, s.recordPath(id)); got != c.content {
			t.Errorf("%s was changed to %q", id, got)
		}
	}
	if err := os.Mkdir(s.recordPath("dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, _, err := s.Load("dir")
	mustFail(t, err, "not a regular file")
	if errors.Is(err, ErrNotFound) {
		t.Error("an unreadable record is said not to be there")
	}

	write(t, s.recordPath("bom"), "\ufeff"+text)
	if got, _, err := s.Load("bom"); err != nil || got.ID != "bom" || len(got.Messages) != 1 {
		t.Errorf("with a byte order mark: %v", err)
	}
}

func TestLoadWaitsForAWriteInPlace(t *testing.T) {
	s := newStore(t)
	save(t, s, newSession("01aa", "/p", "hello"), Stamp{})
	path := s.recordPath("01aa")
	whole := content(t, path)
	reads := 0
	_, err := readFile(path, func(data []byte) error {
		if reads++; reads == 1 { // as if the terminal tool had just truncated it
			return errors.New("cut off")
		}
		if string(data) != whole {
			t.Errorf("read %q", data)
		}
		return nil
	})
	if err != nil || reads != 2 {
		t.Errorf("%d reads, %v", reads, err)
	}
}

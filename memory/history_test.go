package memory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func add(t testing.TB, h *History, prompts ...string) {
	t.Helper()
	for _, p := range prompts {
		if err := h.Add(p); err != nil {
			t.Fatal(err)
		}
	}
}

func prompts(t testing.TB, h *History) []string {
	t.Helper()
	all, err := h.All()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func numbered(from, to int) []string {
	var all []string
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprint("p", i))
	}
	return all
}

// What the terminal tool's tests say of its history.
func TestHistoryKeeps(t *testing.T) {
	for _, c := range []struct {
		name      string
		add, want []string
	}{
		{"nothing at first", nil, nil},
		{"the order", []string{"one", "two", "three"}, []string{"one", "two", "three"}},
		{"an immediate repeat once", []string{"one", "one", " one\n"}, []string{"one"}},
		{"a later repeat", []string{"one", "two", "one"}, []string{"one", "two", "one"}},
		{"no blanks", []string{"", " \t\n"}, nil},
		{"no space around", []string{"  one \n"}, []string{"one"}},
		{"lines inside", []string{"one\ntwo"}, []string{"one\ntwo"}},
		{"the last 200", numbered(0, 210), numbered(10, 210)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t)
			add(t, s.History("/p"), c.add...)
			if d := cmp.Diff(c.want, prompts(t, s.History("/p"))); d != "" {
				t.Error(d)
			}
			if got := prompts(t, s.History("/q")); got != nil {
				t.Errorf("another folder has %q", got)
			}
		})
	}
}

func TestHistoryFile(t *testing.T) {
	s := newStore(t)
	h := s.History("/home/you/project")
	add(t, h, "fix <main> & é", "say \"hi\"\t\u2028end")
	path := filepath.Join(s.dir, "history", "55e8fbffcaa6d84b.json")
	if got, want := content(t, path), "[\n  \"fix <main> & é\",\n  \"say \\\"hi\\\"\\t\u2028end\"\n]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != fileMode {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if got := names(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("beside it: %v", got)
	}
}

// What is in the file and no prompt of ours is read as the terminal tool reads
// it, passed through, and put aside when that cannot be.
func TestForeignHistory(t *testing.T) {
	for _, c := range []struct {
		name, content string
		want          []string // before another is added
		file          string   // after
		aside         bool
	}{
		{"a byte order mark", "\ufeff[\"a\"]", []string{"a"}, "[\n  \"a\",\n  \"new\"\n]", false},
		{"half a character", `["a\ud83d"]`, []string{"a\uFFFD"}, "[\n  \"a\\ud83d\",\n  \"new\"\n]", false},
		{"other types", `["a",5,null,{"b":1},["c"],"d"]`, []string{"a", "d"}, "[\n  \"a\",\n  \"d\",\n  \"new\"\n]", true},
		{"an object", `{"a":1}`, nil, "[\n  \"new\"\n]", true},
		{"null", `null`, nil, "[\n  \"new\"\n]", true},
		{"cut off", `["a","b`, nil, "[\n  \"new\"\n]", true},
		{"nothing in it", ``, nil, "[\n  \"new\"\n]", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t)
			h := s.History("/p")
			write(t, h.path, c.content)
			if d := cmp.Diff(c.want, prompts(t, h)); d != "" {
				t.Error(d)
			}
			if got := content(t, h.path); got != c.content {
				t.Errorf("reading changed it to %s", got)
			}
			add(t, h, "new")
			if got := content(t, h.path); got != c.file {
				t.Errorf("got %s, want %s", got, c.file)
			}
			aside, _ := filepath.Glob(h.path + ".damaged-*")
			if (len(aside) == 1) != c.aside {
				t.Fatalf("aside: %v", aside)
			}
			if c.aside && content(t, aside[0]) != c.content {
				t.Errorf("aside is %s", content(t, aside[0]))
			}
		})
	}
}

func TestUnreadableHistoryIsNotOverwritten(t *testing.T) {
	s := newStore(t)
	h := s.History("/p")
	if err := os.MkdirAll(h.path, 0o700); err != nil { // a folder of that name cannot be read, by anybody
		t.Fatal(err)
	}
	if err := h.Add("new"); err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Errorf("error %v", err)
	}
	if _, err := h.All(); err == nil {
		t.Error("a folder is an empty history")
	}
	h = s.History("/q")
	add(t, h, "old")
	if err := os.Chmod(h.path, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := h.Add("new"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v", err)
	}
	if got := content(t, h.path); got != "[\n  \"old\"\n]" {
		t.Errorf("got %s", got)
	}
}

// Several writers lose nothing to each other.
func TestHistoryOfSeveralWriters(t *testing.T) {
	s := newStore(t)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 25 {
				if err := Open(Options{Dir: s.dir}).History("/p").Add(fmt.Sprint(w, " ", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	all := prompts(t, s.History("/p"))
	if len(all) != 100 {
		t.Errorf("%d of 100", len(all))
	}
	last := map[string]int{}
	for _, p := range all {
		var w, i int
		if _, err := fmt.Sscan(p, &w, &i); err != nil {
			t.Fatal(err)
		}
		if want := last[fmt.Sprint(w)]; i != want {
			t.Errorf("writer %d: %d where %d should be", w, i, want)
		}
		last[fmt.Sprint(w)] = i + 1
	}
}

func FuzzHistory(f *testing.F) {
	for _, seed := range []string{`["a"]`, `["a\ud83d",5]`, `null`, `[`, "\ufeff[]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before, err := parseHistory(withoutMark(data))
		if err != nil {
			return
		}
		printed, err := before.with("new")
		if err != nil {
			t.Fatal(err)
		}
		after, err := parseHistory(printed)
		if err != nil || after.damaged {
			t.Fatalf("%v in %s", err, printed)
		}
		want := append(before.prompts, "new")
		if d := cmp.Diff(want[max(0, len(want)-maxPrompts):], after.prompts); d != "" {
			t.Error(d)
		}
	})
}

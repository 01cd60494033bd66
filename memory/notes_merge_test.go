package memory

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tenNotes has two recalled notes among ten.
func tenNotes(t *testing.T) *Notes {
	t.Helper()
	n := newStore(t).Notes("/p")
	for i := range 10 {
		remember(t, n, fmt.Sprint("note ", i, "."))
	}
	for _, q := range []string{"3.", "7."} {
		if _, err := n.Recall(q); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func TestMerge(t *testing.T) {
	n := tenNotes(t)
	old, err := n.All()
	if err != nil {
		t.Fatal(err)
	}
	before, after, err := n.Merge("", func(notes string) (string, error) {
		if want := "[fact] note 0.\n[fact] note 1.\n[fact] note 2.\n[fact] note 4."; !strings.HasPrefix(notes, want) || strings.Count(notes, "\n") != 7 {
			t.Errorf("asked with %q", notes)
		}
		remember(t, n, "learnt meanwhile")
		if _, err := n.Recall("8."); err != nil { // recalled meanwhile
			t.Error(err)
		}
		return "Here they are:\n\n  [FACT]all of them  \n[command] " + strings.Repeat("x", 900) + "\n[fact] and one more\n1. [fact] numbered\n- [fact] a bullet\n[idea] no kind\n[gotcha]\n```", nil
	})
	if before != 10 || after != 7 || err != nil {
		t.Errorf("%d, %d, %v", before, after, err)
	}
	want := []string{"note 3.", "note 7.", "note 8.", "learnt meanwhile", "all of them", strings.Repeat("x", 400), "and one more"}
	if d := cmp.Diff(want, texts(t, n)); d != "" {
		t.Error(d)
	}
	all, err := n.All()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := filepath.Glob(n.path + ".before-*")
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept %v, %v", kept, err)
	}
	if f, err := parseNotes([]byte(content(t, kept[0]))); err != nil || len(f.notes) != 11 {
		t.Errorf("kept %+v, %v", f, err)
	}
	if all[0].ID != old[3].ID || all[0].CreatedAt != old[3].CreatedAt || all[0].Hits != 1 || all[2].Hits != 1 || all[5].Kind != "command" || all[5].Hits != 0 {
		t.Errorf("%+v", all)
	}
}

func TestUnusableMergesChangeNothing(t *testing.T) {
	n := tenNotes(t)
	old := content(t, n.path)
	for _, answer := range []string{"", "[]", "{}", "garbage", "[fact]", "```json\n[{\"kind\":\"fact\"}]\n```", strings.Repeat("[fact] x\n", 9), strings.Repeat("[fact] x\n", 500)} {
		before, after, err := n.Merge("", func(string) (string, error) { return answer, nil })
		if before != 10 || after != 10 || err == nil {
			t.Errorf("%.30q: %d, %d, %v", answer, before, after, err)
		}
	}
	_, _, err := n.Merge("", func(string) (string, error) { return "[fact] x", errors.New("HTTP 500") })
	mustFail(t, err, "HTTP 500")
	if content(t, n.path) != old {
		t.Error("the file changed")
	}
}

func TestMergeOfFewNotesAsksNobody(t *testing.T) {
	n := newStore(t).Notes("/p")
	remember(t, n, "used", "unused")
	if _, err := n.Recall("used"); err != nil { // both
		t.Fatal(err)
	}
	remember(t, n, "new")
	before, after, err := n.Merge("", func(string) (string, error) {
		t.Error("asked")
		return "", nil
	})
	if before != 3 || after != 3 || err != nil {
		t.Errorf("%d, %d, %v", before, after, err)
	}
}

// An answer that would lose much changes nothing until somebody has looked at
// it.
func TestDoubtfulMerges(t *testing.T) {
	for _, c := range []struct{ name, answer, why string }{
		{"cut off after few", "[fact] a\n[gotcha] b", "8 notes would become 2"},
		{"a kind is gone", "[fact] a\n[fact] b\n[fact] c", "gotcha"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newStore(t).Notes("/p")
			for i := range 10 {
				if _, err := n.Remember([]string{"fact", "gotcha"}[i%2], fmt.Sprint("note ", i, ".")); err != nil {
					t.Fatal(err)
				}
			}
			for _, q := range []string{"3.", "6."} {
				if _, err := n.Recall(q); err != nil {
					t.Fatal(err)
				}
			}
			old := content(t, n.path)
			before, after, err := n.Merge("", func(string) (string, error) { return c.answer, nil })
			doubtful, ok := errors.AsType[*DoubtfulError](err)
			if before != 10 || after != 10 || !ok || !strings.Contains(doubtful.Why, c.why) {
				t.Fatalf("%d, %d, %v", before, after, err)
			}
			if content(t, n.path) != old || len(names(t, filepath.Dir(n.path))) != 1 {
				t.Error("something was written")
			}
			if _, err := n.Recall("1."); err != nil { // makes no difference to the hash
				t.Fatal(err)
			}
			before, after, err = n.Accept(doubtful.Hash, doubtful.Notes)
			if want := 3 + len(doubtful.Notes); before != 10 || after != want || err != nil {
				t.Errorf("accepted: %d, %d, %v", before, after, err)
			}
			if got := texts(t, n); strings.Join(got[:4], " ") != "note 1. note 3. note 6. a" {
				t.Errorf("now %q", got)
			}
			now := content(t, n.path)
			_, _, err = n.Accept(doubtful.Hash, doubtful.Notes)
			if conflict, ok := errors.AsType[*ConflictError](err); !ok || conflict.Seen != doubtful.Hash || conflict.Is == doubtful.Hash {
				t.Errorf("accepted again: %v", err)
			}
			if content(t, n.path) != now {
				t.Error("the second acceptance changed something")
			}
		})
	}
}

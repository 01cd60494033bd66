package memory

import (
	"errors"
	"fmt"
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
	before, after, err := n.Merge(func(notes string) (string, error) {
		if want := "[fact] note 0.\n[fact] note 1.\n[fact] note 2.\n[fact] note 4."; !strings.HasPrefix(notes, want) || strings.Count(notes, "\n") != 7 {
			t.Errorf("asked with %q", notes)
		}
		remember(t, n, "learnt meanwhile")
		if _, err := n.Recall("8."); err != nil { // recalled meanwhile
			t.Error(err)
		}
		return "Here they are:\n\n  [FACT]all of them  \n[command] " + strings.Repeat("x", 900) + "\n1. [fact] numbered\n- [fact] a bullet\n[idea] no kind\n[gotcha]\n```", nil
	})
	if before != 10 || after != 6 || err != nil {
		t.Errorf("%d, %d, %v", before, after, err)
	}
	want := []string{"note 3.", "note 7.", "note 8.", "learnt meanwhile", "all of them", strings.Repeat("x", 400)}
	if d := cmp.Diff(want, texts(t, n)); d != "" {
		t.Error(d)
	}
	all, err := n.All()
	if err != nil {
		t.Fatal(err)
	}
	if all[0].ID != old[3].ID || all[0].CreatedAt != old[3].CreatedAt || all[0].Hits != 1 || all[2].Hits != 1 || all[5].Kind != "command" || all[5].Hits != 0 {
		t.Errorf("%+v", all)
	}
}

func TestUnusableMergesChangeNothing(t *testing.T) {
	n := tenNotes(t)
	old := content(t, n.path)
	for _, answer := range []string{"", "[]", "{}", "garbage", "[fact]", "```json\n[{\"kind\":\"fact\"}]\n```", strings.Repeat("[fact] x\n", 9), strings.Repeat("[fact] x\n", 500)} {
		before, after, err := n.Merge(func(string) (string, error) { return answer, nil })
		if before != 10 || after != 10 || err == nil {
			t.Errorf("%.30q: %d, %d, %v", answer, before, after, err)
		}
	}
	_, _, err := n.Merge(func(string) (string, error) { return "[fact] x", errors.New("HTTP 500") })
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
	before, after, err := n.Merge(func(string) (string, error) {
		t.Error("asked")
		return "", nil
	})
	if before != 3 || after != 3 || err != nil {
		t.Errorf("%d, %d, %v", before, after, err)
	}
}

package memory

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func hash(t testing.TB, n *Notes) string {
	t.Helper()
	all, err := n.All()
	if err != nil {
		t.Fatal(err)
	}
	return Hash(all)
}

func TestEditingNotes(t *testing.T) {
	n := newStore(t).Notes("/p")
	write(t, n.path, `[{"id":"1","kind":"fact","text":"old","createdAt":"then","hits":2,"lastHitAt":"x"},{"id":"2","kind":"fact","text":"other","createdAt":"then","hits":0}]`)
	stamp := n.Stamp()
	first := hash(t, n)
	if _, err := n.Recall("other"); err != nil {
		t.Fatal(err)
	}
	if n.Stamp() == stamp {
		t.Error("a recall is no change of the file")
	}
	o, err := n.Put(first, "1", "gotcha", " new\n\"text\" ")
	if err != nil || o.ID != "1" || o.Text != `new "text"` || o.Hits != 2 {
		t.Fatalf("%+v, %v", o, err)
	}
	if got := content(t, n.path); !strings.Contains(got, `"lastHitAt": "x"`) || !strings.Contains(got, `"text": "new \"text\""`) || !strings.Contains(got, `"kind": "gotcha"`) {
		t.Errorf("got %s", got)
	}
	second := hash(t, n)
	if o, err = n.Put("", "", "fact", "third"); err != nil || o.ID == "" {
		t.Fatalf("%+v, %v", o, err)
	}
	if again, err := n.Put("", "", "fact", "third"); err != nil || again.ID != o.ID {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	if same, err := n.Put("", "2", "fact", "third"); err != nil || same.ID != o.ID {
		t.Errorf("another's text: %+v, %v", same, err)
	}
	for _, do := range []func() error{
		func() error { _, err := n.Put(second, "", "fact", "fourth"); return err },
		func() error { _, err := n.Put(first, "1", "fact", "fourth"); return err },
		func() error { _, err := n.Remove(second, "1"); return err },
	} {
		if _, conflict := errors.AsType[*ConflictError](do()); !conflict {
			t.Error("no conflict")
		}
	}
	if _, err := n.Put("", "9", "fact", "fourth"); !errors.Is(err, ErrNoNote) {
		t.Errorf("no such note: %v", err)
	}
	for _, bad := range [][2]string{{"idea", "x"}, {"fact", " \n"}, {"fact", "https://you:secret@example.com"}} {
		if _, err := n.Put("", "", bad[0], bad[1]); err == nil {
			t.Errorf("%q was stored", bad)
		}
	}
	if removed, err := n.Remove(hash(t, n), "2", "9"); removed != 1 || err != nil {
		t.Errorf("removed %d, %v", removed, err)
	}
	if d := cmp.Diff([]string{`new "text"`, "third"}, texts(t, n)); d != "" {
		t.Error(d)
	}
}

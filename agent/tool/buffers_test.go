package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func cancelled(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}

func TestUnsavedTextComesFirst(t *testing.T) {
	k := newKit(t, map[string]string{"f.go": "saved\n", "other.go": "saved\n"})
	k.docs.show(k.path("f.go"), "typed\nmore\n")
	if got := k.ok("read_file", object{"path": "f.go"}); got != "1: typed\n2: more\n3: \n[unsaved text of the editor; the file on disk differs]" {
		t.Errorf("read %q", got)
	}
	if got := k.ok("grep", object{"pattern": "typed|saved"}); got != "f.go:1: typed\nother.go:1: saved" {
		t.Errorf("grep %q", got)
	}
	k.docs.show(k.path("f.go"), "saved\n")
	if got := k.ok("read_file", object{"path": "f.go"}); got != "1: saved\n2: " {
		t.Errorf("read %q", got)
	}
}

func TestEditOfAnOpenDocumentGoesThroughTheEditor(t *testing.T) {
	for _, saves := range []bool{false, true} {
		k := newKit(t, map[string]string{"f": "one\r\ntwo\r\n"})
		k.docs.saves = saves
		k.docs.show(k.path("f"), bom+"one\r\ntwo\r\ntyped\r\n")
		got := k.ok("edit_file", object{"path": "f", "oldString": "two\n", "newString": "2\nII\n"})
		const text = bom + "one\r\n2\r\nII\r\ntyped\r\n"
		if doc := k.docs.open[k.path("f")]; doc.text != text || doc.version != 2 {
			t.Errorf("the editor has %q, version %d", doc.text, doc.version)
		}
		if saves {
			k.wantDisk("f", text)
		} else {
			k.wantDisk("f", "one\r\ntwo\r\n")
		}
		if strings.Contains(got, "not saved yet") == saves {
			t.Errorf("saved %v: %q", saves, got)
		}
	}
}

func TestOpenDocumentThatIsNotOnDisk(t *testing.T) {
	k := newKit(t, nil)
	k.docs.show(k.path("new.go"), "typed\n")
	k.ok("read_file", object{"path": "new.go"})
	k.ok("write_file", object{"path": "new.go", "content": "mine\n"})
	if doc := k.docs.open[k.path("new.go")]; doc.text != "mine\n" {
		t.Errorf("the editor has %q", doc.text)
	}
}

func TestDocumentOpenUnderALinksName(t *testing.T) {
	k := newKit(t, map[string]string{"real.go": "saved\n"})
	link(t, "real.go", k.path("link.go"))
	k.docs.show(k.path("link.go"), "typed\n")
	k.ok("edit_file", object{"path": "link.go", "oldString": "typed", "newString": "edited"})
	if doc := k.docs.open[k.path("link.go")]; doc.text != "edited\n" {
		t.Errorf("the editor has %q", doc.text)
	}
	k.wantDisk("real.go", "saved\n")
}

func TestUserTypesWhileTheEditIsShown(t *testing.T) {
	k := newKit(t, map[string]string{"f": "one\n"})
	k.docs.show(k.path("f"), "one\n")
	e := k.propose("edit_file", object{"path": "f", "oldString": "one", "newString": "two"})
	if e.Files[0].Version != 1 || e.Files[0].Path != k.path("f") {
		t.Errorf("proposed on %+v", e.Files[0])
	}
	k.docs.show(k.path("f"), "typed one\n")
	if err := k.w.Commit(t.Context(), e); !errors.Is(err, ErrStale) {
		t.Errorf("got %v", err)
	}
	k.docs.refuse = fmt.Errorf("f: %w", ErrStale)
	e = k.propose("edit_file", object{"path": "f", "oldString": "one", "newString": "two"})
	if err := k.w.Commit(t.Context(), e); !errors.Is(err, ErrStale) {
		t.Errorf("got %v", err)
	}
	k.docs.refuse = nil
	k.ok("edit_file", object{"path": "f", "oldString": "one", "newString": "two"})
	if doc := k.docs.open[k.path("f")]; doc.text != "typed two\n" {
		t.Errorf("the editor has %q", doc.text)
	}
	k.wantDisk("f", "one\n")
}

func TestDocumentIsClosedBeforeTheCommit(t *testing.T) {
	k := newKit(t, map[string]string{"f": bom + "one\n"})
	k.docs.show(k.path("f"), "one\n")
	e := k.propose("edit_file", object{"path": "f", "oldString": "one", "newString": "two"})
	delete(k.docs.open, k.path("f"))
	if err := k.w.Commit(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	k.wantDisk("f", bom+"two\n")
}

func TestED12UserTypesAfterTheRead(t *testing.T) {
	k := newKit(t, map[string]string{"f": "one\n"})
	k.ok("read_file", object{"path": "f"})
	k.docs.show(k.path("f"), "one\ntyped\n")
	k.fails("write_file", object{"path": "f", "content": "mine\n"}, "changed since read")
	if doc := k.docs.open[k.path("f")]; doc.text != "one\ntyped\n" {
		t.Errorf("the editor has %q", doc.text)
	}
}

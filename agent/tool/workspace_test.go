package tool

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func TestED14NothingOutsideIsTouched(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "v.md")
	if err := os.WriteFile(secret, []byte("secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	k := newKit(t, map[string]string{"in.txt": "x\n"})
	link(t, outside, k.path("out"))
	link(t, secret, k.path("n.md"))
	link(t, filepath.Join(outside, "new"), k.path("dangling"))
	link(t, "loop", k.path("loop"))
	for _, tt := range []struct{ path, says string }{
		{"out/a", "escapes workspace"},
		{"out/v.md", "escapes workspace"},
		{"n.md", "escapes workspace"},
		{"dangling", "escapes workspace"},
		{"../a", "escapes workspace"},
		{"a/../../b", "escapes workspace"},
		{secret, "escapes workspace"},
		{"/", "escapes workspace"},
		{"loop", "too many links"},
		{"in.txt/x", "not a directory"},
		{"", "path is empty"},
		{"a\x00b", "invalid"},
	} {
		k.fails("write_file", object{"path": tt.path, "content": "pwned"}, tt.says)
		k.fails("edit_file", object{"path": tt.path, "oldString": "secret", "newString": "x"}, tt.says)
		k.fails("read_file", object{"path": tt.path}, tt.says)
	}
	k.fails("list_dir", object{"path": "out"}, "escapes workspace")
	k.fails("glob", object{"pattern": "../*"}, "escapes workspace")
	k.fails("glob", object{"pattern": outside + "/*"}, "escapes workspace")
	if got := k.ok("glob", object{"pattern": "out/*"}); got != "No files matched." {
		t.Errorf("glob: %q", got)
	}
	if got := k.ok("grep", object{"pattern": "secret"}); got != "No matches." {
		t.Errorf("grep: %q", got)
	}
	files, err := os.ReadDir(outside)
	if err != nil || len(files) != 1 {
		t.Errorf("outside there is %v, %v", files, err)
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "secret\n" {
		t.Errorf("outside: %q, %v", b, err)
	}
}

func TestED14RootIsALink(t *testing.T) {
	k := newKit(t, map[string]string{"d/f": "x\n"})
	name := filepath.Join(t.TempDir(), "ws")
	link(t, k.root, name)
	w, err := NewWorkspace(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	k.w = w
	k.tools = k.session()
	for _, path := range []string{"d/f", filepath.Join(name, "d/f"), filepath.Join(k.root, "d/f"), "./d/../d/f"} {
		if got := k.ok("read_file", object{"path": path}); got != "1: x\n2: " {
			t.Errorf("%s: %q", path, got)
		}
		k.ok("edit_file", object{"path": path, "oldString": "x", "newString": "x" + "y"})
		k.ok("edit_file", object{"path": path, "oldString": "xy", "newString": "x"})
	}
	k.ok("write_file", object{"path": "..hidden", "content": "x"})
	k.wantDisk("..hidden", "x")
}

func TestED16LinksInsideStayLinks(t *testing.T) {
	k := newKit(t, map[string]string{"data/mem/a": "a\n", "t.txt": "t\n"})
	link(t, "data/mem", k.path("mem"))
	link(t, k.path("t.txt"), k.path("l.txt"))
	link(t, "new.txt", k.path("dangling"))
	k.ok("edit_file", object{"path": "mem/a", "oldString": "a", "newString": "b"})
	k.ok("edit_file", object{"path": "l.txt", "oldString": "t", "newString": "u"})
	k.ok("write_file", object{"path": "dangling", "content": "new"})
	k.wantDisk("data/mem/a", "b\n")
	k.wantDisk("t.txt", "u\n")
	k.wantDisk("new.txt", "new")
	for _, name := range []string{"mem", "l.txt", "dangling"} {
		if info, err := os.Lstat(k.path(name)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v, %v", name, info, err)
		}
	}
	s := k.tools["read_file"].Describe(encode(t, object{"path": "mem/a", "offset": 3}))
	if strings.Join(s.Paths, " ") != "mem/a data/mem/a" || s.Subjects != nil || s.Locations[0] != (Location{k.path("mem/a"), 3}) {
		t.Errorf("rules see %+v", s)
	}
}

func TestED18ReadOnlyIsRefused(t *testing.T) {
	k := newKit(t, map[string]string{"f": "a\n"})
	if err := os.Chmod(k.path("f"), 0o444); err != nil {
		t.Fatal(err)
	}
	k.ok("read_file", object{"path": "f"})
	k.fails("edit_file", object{"path": "f", "oldString": "a", "newString": "b"}, "read-only (mode 0444)")
	k.fails("write_file", object{"path": "f", "content": "b"}, "read-only")
	k.wantDisk("f", "a\n")
}

func TestED18HardLinksStayTogether(t *testing.T) {
	k := newKit(t, map[string]string{"f": "a\n"})
	if err := os.Link(k.path("f"), k.path("g")); err != nil {
		t.Fatal(err)
	}
	k.ok("edit_file", object{"path": "f", "oldString": "a", "newString": "b"})
	k.ok("edit_file", object{"path": "g", "oldString": "b", "newString": "bc"})
	k.wantDisk("f", "bc\n")
	k.wantDisk("g", "bc\n")
}

func TestED23BinaryIsSaidSo(t *testing.T) {
	k := newKit(t, map[string]string{
		"zip": "PK\x03\x04\x00\x00", "png": "\x89PNG\r\n\x1a\n\x00\x00", "end": "text\x00",
		"late": strings.Repeat("a", sniff) + "\x00b\n",
	})
	for name, n := range map[string]string{"zip": "6", "png": "10", "end": "5"} {
		says := name + ": binary file, " + n + " bytes"
		k.fails("read_file", object{"path": name}, says)
		k.fails("edit_file", object{"path": name, "oldString": "t", "newString": "u"}, says)
		k.fails("write_file", object{"path": name, "content": "u"}, says)
	}
	if got := k.ok("read_file", object{"path": "late"}); !strings.HasSuffix(got, "a\\x00b\n2: ") {
		t.Errorf("got …%q", got[len(got)-20:])
	}
	if got := k.ok("grep", object{"pattern": "PK|text"}); got != "No matches." {
		t.Errorf("grep: %q", got)
	}
}

func TestED24SampleEndsInsideACharacter(t *testing.T) {
	for _, n := range []int{999, 8190, 8191, 8192} {
		k := newKit(t, map[string]string{"f": strings.Repeat("a", n) + "ç marker"})
		if got := k.ok("read_file", object{"path": "f"}); !strings.HasSuffix(got, "aç marker") {
			t.Errorf("%d: got …%q", n, got[len(got)-40:])
		}
	}
}

func TestED25NamesThatLookAlike(t *testing.T) {
	const composed, decomposed = "\u00e9.txt", "e\u0301.txt"
	k := newKit(t, map[string]string{decomposed: "x\n", "a\u00a0b": "x\n", "d/\u110c\u116e.md": "x\n"})
	for _, tt := range []struct{ ask, near string }{
		{composed, `"` + decomposed + `"`},
		{"a b", `"a\u00a0b"`},
		{"d/\uc8fc.md", "d/\u110c\u116e.md"},
	} {
		k.fails("read_file", object{"path": tt.ask}, "No such file: "+tt.ask, tt.near)
		k.fails("write_file", object{"path": tt.ask, "content": "twin"}, tt.near)
	}
	left, err := os.ReadDir(k.root)
	if err != nil || len(left) != 3 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
	for _, name := range []string{"two words", "q\"uo'te", "-dash", "new\nline", "e.txt", "a\u2003c"} {
		k.ok("write_file", object{"path": name, "content": name})
		k.wantDisk(name, name)
		k.ok("edit_file", object{"path": name, "oldString": name, "newString": "done"})
		k.wantDisk(name, "done")
	}
}

func TestED26OneIdentity(t *testing.T) {
	a, b := place{real: filepath.FromSlash("/ws/A.txt")}, place{real: filepath.FromSlash("/ws/a.TXT")}
	if same := a.key() == b.key(); same != caseBlind {
		t.Errorf("A.txt and a.TXT are one file: %v, on a system where that is %v", same, caseBlind)
	}
}

func TestMissingFolders(t *testing.T) {
	k := newKit(t, nil)
	k.ok("write_file", object{"path": "a/b/c.txt", "content": "x"})
	k.wantDisk("a/b/c.txt", "x")
	k.fails("read_file", object{"path": "a/b"}, "is a directory")
	k.fails("read_file", object{"path": "a/x/c.txt"}, "No such file: a/x/c.txt")
	if err := os.RemoveAll(k.root); err != nil {
		t.Fatal(err)
	}
	k.fails("read_file", object{"path": "a/b/c.txt"}, "No such file")
	k.ok("write_file", object{"path": "again", "content": "x"})
	k.wantDisk("again", "x")
}

func TestCommitIsCancelled(t *testing.T) {
	k := newKit(t, map[string]string{"f": "a\n"})
	e := k.propose("edit_file", object{"path": "f", "oldString": "a", "newString": "b"})
	unlock, err := k.w.lock(t.Context(), lockKeys(e.Files))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := cancelled(t)
	cancel()
	if err := k.w.Commit(ctx, e); !errors.Is(err, ctx.Err()) {
		t.Errorf("got %v", err)
	}
	unlock()
	k.wantDisk("f", "a\n")
	if err := k.w.Commit(t.Context(), e); err != nil {
		t.Error(err)
	}
}

// However an absolute path gets into the workspace, it is the same file, and
// the links below the root are kept for the rules.
func TestAbsolutePathsThroughLinks(t *testing.T) {
	k := newKit(t, map[string]string{"a.txt": "one\n", "sub/b.txt": "two\n"})
	links := t.TempDir()
	link(t, k.root, filepath.Join(links, "root"))
	link(t, filepath.Join(links, "root"), filepath.Join(links, "again"))
	link(t, k.path("sub"), filepath.Join(links, "sub"))
	link(t, k.path("a.txt"), filepath.Join(links, "file"))
	link(t, "a.txt", k.path("inner"))
	link(t, links, k.path("out"))
	for path, want := range map[string]string{
		"root/a.txt": "a.txt", "again/sub/b.txt": "sub/b.txt", "sub/b.txt": "sub/b.txt", "file": "a.txt",
		"root/inner": "inner", "root/new/c.txt": "new/c.txt", "sub/../root/a.txt": "a.txt", "root": ".",
	} {
		p, err := k.w.resolve(links + "/" + path)
		if err != nil || p.rel != want || p.path != filepath.Join(k.root, want) {
			t.Errorf("%s is %q, %q, %v; want %s", path, p.rel, p.path, err, want)
		}
	}
	for _, path := range []string{"", "none", "none/a.txt", "root/../x", "root/out/none"} {
		if p, err := k.w.resolve(links + "/" + path); !errors.Is(err, ErrEscapes) {
			t.Errorf("%s is %q, %v", path, p.rel, err)
		}
	}
	k.docs.show(k.path("a.txt"), "typed\n")
	k.ok("edit_file", object{"path": filepath.Join(links, "again", "inner"), "oldString": "typed", "newString": "edited"})
	if doc := k.docs.open[k.path("a.txt")]; doc.text != "edited\n" {
		t.Errorf("the editor has %q", doc.text)
	}
	for pattern, want := range map[string]string{"/root/*.txt": "a.txt", "/again/**/*.txt": "a.txt\nsub/b.txt", "/sub/*": "sub/b.txt"} {
		if got := k.ok("glob", object{"pattern": links + pattern}); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
	k.fails("glob", object{"pattern": links + "/*"}, links+"/* escapes workspace")
}

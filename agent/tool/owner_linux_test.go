package tool

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// asUser has the file system take this test for an ordinary user, whom root's
// rights would otherwise spare every refusal, and returns who that is.
func asUser(t *testing.T, k *kit) (uid int, begin func()) {
	uid = os.Getuid()
	if uid == 0 {
		uid = 65534
	}
	return uid, func() {
		if err := os.Chmod(filepath.Dir(k.root), 0o711); err != nil { // it is the owner's alone
			t.Fatal(err)
		}
		runtime.LockOSThread()
		if err := syscall.Setfsuid(uid); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = syscall.Setfsuid(os.Getuid())
			runtime.UnlockOSThread()
		})
	}
}

func own(t *testing.T, uid int, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := os.Chown(path, uid, -1); err != nil {
			t.Fatal(err)
		}
	}
}

func owner(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

func TestOwnerStays(t *testing.T) {
	k := newKit(t, map[string]string{"f": "a\n"})
	uid, _ := asUser(t, k)
	own(t, uid, k.path("f"))
	k.ok("edit_file", object{"path": "f", "oldString": "a", "newString": "b"})
	k.wantDisk("f", "b\n")
	if got := owner(t, k.path("f")); got != uid {
		t.Errorf("the owner is %d, was %d", got, uid)
	}
}

func TestOwnerStaysWhereItCannotBeGiven(t *testing.T) {
	k := newKit(t, map[string]string{"f": "a\n"})
	uid, begin := asUser(t, k)
	own(t, uid, k.root)
	if err := os.Chmod(k.path("f"), 0o666); err != nil {
		t.Fatal(err)
	}
	begin()
	k.ok("edit_file", object{"path": "f", "oldString": "a", "newString": "b"})
	k.wantDisk("f", "b\n")
	if got := owner(t, k.path("f")); got != os.Getuid() {
		t.Errorf("the owner is %d, was %d", got, os.Getuid())
	}
	if left, err := os.ReadDir(k.root); err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

func TestFolderThatCannotBeWrittenIn(t *testing.T) {
	k := newKit(t, map[string]string{"d/f": "a\n", "d/secret": "a\n"})
	uid, begin := asUser(t, k)
	own(t, uid, k.path("d/f"), k.path("d/secret"), k.path("d"))
	if err := os.Chmod(k.path("d/secret"), 0o200); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(k.path("d"), 0o555); err != nil {
		t.Fatal(err)
	}
	begin()
	t.Cleanup(func() { _ = os.Chmod(k.path("d"), 0o755) })
	k.ok("edit_file", object{"path": "d/f", "oldString": "a", "newString": "b"})
	k.wantDisk("d/f", "b\n")
	k.fails("write_file", object{"path": "d/new", "content": "x"}, "writing d/new", "permission denied")
	k.fails("read_file", object{"path": "d/secret"}, "d/secret: permission denied")
}

func TestED17SpecialModeBitsStay(t *testing.T) {
	const mode = os.ModeSetuid | os.ModeSetgid | 0o755
	k := newKit(t, map[string]string{"run": "a\n", "linked": "a\n"})
	uid, begin := asUser(t, k)
	if err := os.Link(k.path("linked"), k.path("twin")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run", "linked"} {
		if err := os.Chown(k.path(name), uid, os.Getgid()); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(k.path(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	own(t, uid, k.root)
	begin()
	for _, name := range []string{"run", "linked"} {
		k.ok("edit_file", object{"path": name, "oldString": "a", "newString": "b"})
		k.wantDisk(name, "b\n")
		wantMode(t, k.path(name), mode)
	}
}

//go:build unix

package tool

import (
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestED22SpecialFilesAreRefusedAtOnce(t *testing.T) {
	k := newKit(t, map[string]string{"d/x": ""})
	if err := syscall.Mkfifo(k.path("pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	// The name of a socket may be no longer than some hundred bytes.
	t.Chdir(k.root)
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	link(t, "/dev/zero", k.path("zero"))
	sparse, err := os.Create(k.path("sparse"))
	if err != nil {
		t.Fatal(err)
	}
	defer sparse.Close()
	if _, err := sparse.WriteString(strings.Repeat("text\n", sniff)); err != nil {
		t.Fatal(err)
	}
	if err := sparse.Truncate(3 << 30); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	for path, says := range map[string]string{
		"pipe": "named pipe", "socket": "socket", "zero": "escapes workspace", "d": "directory", "sparse": "3221225472 bytes",
	} {
		k.fails("read_file", object{"path": path}, says)
		k.fails("edit_file", object{"path": path, "oldString": "a", "newString": "b"}, says)
		k.fails("write_file", object{"path": path, "content": "b"}, says)
	}
	if got := k.ok("grep", object{"pattern": "nothing"}); got != "No matches." {
		t.Errorf("grep: %q", got)
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("took %v", d)
	}
	if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 4<<20 {
		t.Errorf("allocated %d bytes", after.TotalAlloc-before.TotalAlloc)
	}
}

func TestED17ModeStays(t *testing.T) {
	modes := map[string]os.FileMode{"run.sh": 0o755, "key": 0o600, "odd": 0o666 | os.ModeSetgid}
	for _, umask := range []int{0o022, 0o077} {
		k := newKit(t, map[string]string{"run.sh": "a\n", "key": "a\n", "odd": "a\n"})
		old := syscall.Umask(umask)
		t.Cleanup(func() { syscall.Umask(old) })
		for name, mode := range modes {
			if err := os.Chmod(k.path(name), mode); err != nil {
				t.Fatal(err)
			}
			k.ok("edit_file", object{"path": name, "oldString": "a", "newString": "b"})
			k.wantDisk(name, "b\n")
			wantMode(t, k.path(name), mode)
		}
		k.ok("write_file", object{"path": "new/f", "content": "x"})
		wantMode(t, k.path("new/f"), 0o666&^os.FileMode(umask))
		wantMode(t, k.path("new"), os.ModeDir|0o777&^os.FileMode(umask))
		left, err := os.ReadDir(k.root)
		if err != nil || len(left) != len(modes)+1 {
			t.Errorf("the folder holds %v, %v", left, err)
		}
	}
}

func wantMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	if info, err := os.Stat(path); err != nil || info.Mode() != want {
		t.Errorf("%s: mode %v, want %v (%v)", path, info.Mode(), want, err)
	}
}

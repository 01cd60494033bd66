//go:build unix

package tool

import (
	"net"
	"os"
	"path/filepath"
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

func TestFolderThatCannotBeWrittenIn(t *testing.T) {
	if os.Getuid() == 0 {
		// For root every folder can be written in; the fallback is the same
		// one that a second name takes.
		k := newKit(t, map[string]string{"f": "a\n"})
		if err := overwrite(k.path("f"), []byte("b\n")); err != nil {
			t.Fatal(err)
		}
		k.wantDisk("f", "b\n")
		return
	}
	k := newKit(t, map[string]string{"d/f": "a\n"})
	if err := os.Chmod(k.path("d"), 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(k.root, "d"), 0o755) })
	k.ok("edit_file", object{"path": "d/f", "oldString": "a", "newString": "b"})
	k.wantDisk("d/f", "b\n")
	k.fails("write_file", object{"path": "d/new", "content": "x"}, "permission denied")
}

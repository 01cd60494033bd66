package tool

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSH03NoTerminal runs itself under a terminal, where a command could ask
// on /dev/tty if it were let.
func TestSH03NoTerminal(t *testing.T) {
	const inside = "UNDER_TERMINAL"
	if os.Getenv(inside) != "" {
		tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err != nil {
			t.Fatalf("the test itself has no terminal: %v", err)
		}
		tty.Close()
		k := newKit(t, nil)
		if got := k.ok("bash", object{"command": "echo ask >/dev/tty || echo no terminal; tty; read x; echo \"<$x>\""}); !bytes.Contains([]byte(got), []byte("stdout:\nno terminal\nnot a tty\n<>")) {
			t.Errorf("got %q", got)
		}
		return
	}
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^TestSH03NoTerminal$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin = terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: TestSH03NoTerminal")) {
		t.Errorf("%v:\n%s", err, out)
	}
}

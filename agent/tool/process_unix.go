//go:build unix

package tool

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// shell is bash, or where there is none the system's shell.
func shell(command string) *exec.Cmd {
	if path, err := exec.LookPath("bash"); err == nil {
		return exec.Command(path, "-c", command)
	}
	return exec.Command("/bin/sh", "-c", command)
}

// isolate starts cmd in a session of its own: without a terminal to ask on,
// and as a group that can be signalled as one.
func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// interrupt asks the group of the process pid to end.
func interrupt(pid int) { _ = unix.Kill(-pid, unix.SIGINT) }

// kill ends the group of pid and its family. It reports whether there was any
// of the family, which may take a moment to be gone. What is left of a group
// says nothing: it may be the dead that nobody collects.
func kill(pid int, m mark, known []int) bool {
	_ = unix.Kill(-pid, unix.SIGKILL)
	members := family(pid, m, known)
	for _, p := range members {
		_ = unix.Kill(p, unix.SIGKILL)
	}
	return len(members) > 0
}

// ending is the exit code as a shell gives it, and the signal, if there was one.
func ending(cmd *exec.Cmd) (code int, signal string) {
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), unix.SignalName(ws.Signal())
	}
	return cmd.ProcessState.ExitCode(), ""
}

//go:build unix

package rpc

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// ClaimStdout takes standard output for the protocol. It returns what was file
// descriptor 1 as a private, close-on-exec file and points descriptor 1 at standard
// error, so that no print, library or child process can get between the messages.
//
// It also keeps SIGPIPE from ending the process when the editor has closed standard
// error: writes fail with EPIPE instead. Children still get the default action,
// which they would not if the signal were ignored.
//
// Call it first thing in main, once.
func ClaimStdout() (*os.File, error) {
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("duplicating standard output: %w", err)
	}
	out := os.NewFile(uintptr(fd), "protocol")
	if err := unix.Dup2(2, 1); err != nil {
		out.Close()
		return nil, fmt.Errorf("pointing standard output at standard error: %w", err)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return out, nil
}

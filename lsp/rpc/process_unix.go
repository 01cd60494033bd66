//go:build unix

package rpc

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// alive tells whether pid runs. A zombie, which nobody has waited for yet, does not.
func alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	if err := syscall.Kill(pid, 0); err != nil && err != syscall.EPERM {
		return false
	}
	// proc(5): "pid (name) state …", and the name may hold anything. Where there is
	// no /proc, zombies count as alive.
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return !bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" Z"))
}

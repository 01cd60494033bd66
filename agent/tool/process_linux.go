package tool

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// markFD is a descriptor that scripts have no use for.
const markFD = 77

// passMark has cmd inherit a descriptor that is at its end from the start, and
// notes in m where it leads. What is returned is to be closed after the start.
func passMark(cmd *exec.Cmd, m *mark) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	w.Close()
	m.file, _ = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", r.Fd())) // without /proc nothing is found anyway
	cmd.ExtraFiles = make([]*os.File, markFD-2)                      // from descriptor 3 on; nil is none
	cmd.ExtraFiles[markFD-3] = r
	return r, nil
}

// family is the processes that are known, bear the mark, or descend from pid or
// one of those. So one that left the group, or whose parent has ended, is found
// too. The dead do not count.
func family(pid int, m mark, known []int) []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	parents := map[int]int{}
	var members []int
	for _, name := range names {
		p, err := strconv.Atoi(name)
		if err != nil || p == os.Getpid() {
			continue
		}
		parent, alive := parentOf(name)
		if !alive {
			continue
		}
		parents[p] = parent
		if p == pid || slices.Contains(known, p) || m.borne(name) {
			members = append(members, p)
		}
	}
	return append(members, descendants(parents, members)...)
}

// descendants are the processes below members that are not among them.
func descendants(parents map[int]int, members []int) []int {
	in := map[int]bool{}
	for _, p := range members {
		in[p] = true
	}
	var more []int
	for found := true; found; {
		found = false
		for p, parent := range parents {
			if in[parent] && !in[p] {
				in[p], found = true, true
				more = append(more, p)
			}
		}
	}
	return more
}

// parentOf reads the parent of a process; alive is false for one that is gone
// or waits to be collected.
func parentOf(pid string) (parent int, alive bool) {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return 0, false
	}
	// "1 (name) S 0 ...", and the name may hold blanks and parentheses.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return 0, false
	}
	parent, err = strconv.Atoi(string(fields[1]))
	return parent, err == nil
}

// borne reports whether the process pid bears the mark.
func (m mark) borne(pid string) bool {
	file, err := os.Readlink(filepath.Join("/proc", pid, "fd", strconv.Itoa(markFD)))
	if err == nil && file == m.file {
		return true
	}
	env, err := os.ReadFile(filepath.Join("/proc", pid, "environ"))
	return err == nil && bytes.Contains(env, []byte(m.variable+"\x00"))
}

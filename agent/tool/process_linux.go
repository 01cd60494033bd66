package tool

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// family is the processes that are known, have mark, a variable's "name=value",
// in their environment, or descend from pid or one of those. So one that left
// the group, or whose parent has ended, is found too. The dead do not count.
func family(pid int, mark string, known []int) []int {
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
		if p == pid || slices.Contains(known, p) || marked(name, mark) {
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

func marked(pid, mark string) bool {
	env, err := os.ReadFile(filepath.Join("/proc", pid, "environ"))
	return err == nil && bytes.Contains(env, []byte(mark+"\x00"))
}

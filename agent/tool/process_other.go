//go:build !linux

package tool

import (
	"os"
	"os/exec"
)

// Elsewhere processes cannot be told by their mark: a command's group, or on
// Windows what descends from it, is all that is ended.

func passMark(*exec.Cmd, *mark) (*os.File, error) { return nil, nil }

func family(int, mark, []int) []int { return nil }

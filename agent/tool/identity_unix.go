//go:build unix

package tool

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// linked reports whether a file has more than one name.
func linked(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink > 1
}

// inode identifies a file by what all its names share.
func inode(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

// keepOwner gives f, a new file of ours, the owner of old.
func keepOwner(f *os.File, old fs.FileInfo) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	was, ok := old.Sys().(*syscall.Stat_t)
	if is, ok2 := now.Sys().(*syscall.Stat_t); !ok || !ok2 || is.Uid == was.Uid && is.Gid == was.Gid {
		return nil
	}
	return f.Chown(int(was.Uid), int(was.Gid))
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"shiro/memory"
)

func (d *doctor) checkBinary() {
	path, err := os.Executable()
	if err != nil {
		path = "its path is not known"
	}
	d.ok("version", "%s (%s/%s), %s", version(), runtime.GOOS, runtime.GOARCH, path)
}

// checkPrograms looks for what commands run with. Nothing of shiro itself
// depends on any of them.
func (d *doctor) checkPrograms(ctx context.Context) {
	programs := []struct{ name, without, fix string }{
		{"bash", "commands run with /bin/sh, for which models do not write", "install bash"},
		{"git", "models cannot look at changes and history", "install git"},
		{"rg", "", ""},
	}
	if runtime.GOOS == "windows" {
		d.note("shell", "commands run with cmd, not with bash")
		programs = programs[1:]
	}
	found := make([]string, len(programs))
	var asking sync.WaitGroup
	for i, p := range programs {
		asking.Go(func() { found[i] = d.program(ctx, p.name) })
	}
	asking.Wait()
	for i, p := range programs {
		switch {
		case found[i] != "":
			d.ok(p.name, "%s", found[i])
		case p.without == "":
			d.note(p.name, "not found: shiro's own grep does not need it, only commands that call it")
		default:
			d.warn(p.name, "not found: "+p.without, p.fix+", or correct PATH where the editor starts")
		}
	}
}

// program returns version and path; "" when there is no such program.
func (d *doctor) program(ctx context.Context, name string) string {
	path, err := d.find(name)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = 100 * time.Millisecond // a child of it may hold the pipe
	out, err := cmd.Output()
	if err != nil {
		return path + ", which does not tell its version"
	}
	for _, word := range strings.Fields(string(out[:min(len(out), 200)])) {
		if word[0] >= '0' && word[0] <= '9' {
			number, _, _ := strings.Cut(word, "(")
			return strings.TrimRight(number, ",") + ", " + path
		}
	}
	return path
}

func (d *doctor) checkFolder() {
	info, err := os.Stat(d.folder)
	switch {
	case err != nil:
		d.fail("folder", d.folder+": "+bare(err), "name a folder that exists: shiro doctor FOLDER")
	case !info.IsDir():
		d.fail("folder", d.folder+" is not a folder", "name the folder that it is in")
	default:
		d.ok("folder", "%s", d.folder)
	}
}

// checkState looks at what is kept on disk, and whether it can be.
func (d *doctor) checkState() {
	if d.home == "" {
		d.fail("state", "there is no home folder: nothing can be kept", "set SHIRO_HOME to the folder that is to hold .shiro-neko")
		return
	}
	dir := stateDir(d.home)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if parent := existingParent(dir); d.checkWritable(parent) {
			d.ok("state", "%s is not there yet; the first conversation makes it", dir)
		}
		return
	case err != nil:
		d.fail("state", dir+": "+bare(err), "make that folder usable, or set SHIRO_HOME to another parent")
		return
	case !info.IsDir():
		d.fail("state", dir+" is not a folder: nothing can be kept", "move that file away, or set SHIRO_HOME to another parent")
		return
	}
	kept := true
	for _, sub := range []string{"", "sessions", "memory"} {
		if _, err := os.Stat(filepath.Join(dir, sub)); !errors.Is(err, fs.ErrNotExist) {
			kept = d.checkWritable(filepath.Join(dir, sub)) && kept
		}
	}
	if kept {
		d.ok("state", "%s, writable", dir)
	}
	d.checkKept(memory.Open(memory.Options{Dir: dir}), dir)
}

// checkWritable makes a file in dir and removes it: modes and access lists tell
// less, and nothing of a file system that is full or read-only.
func (d *doctor) checkWritable(dir string) bool {
	f, err := os.CreateTemp(dir, ".shiro-doctor-*.tmp") // the store sweeps such names, should we be killed here
	if err == nil {
		f.Close()
		err = os.Remove(f.Name())
	}
	if err != nil {
		d.fail("state", fmt.Sprintf("cannot write in %s: %s; conversations would not be kept", dir, bare(err)),
			"make that folder writable for you, or set SHIRO_HOME to another parent")
	}
	return err == nil
}

// checkKept counts conversations and notes.
func (d *doctor) checkKept(store *memory.Store, dir string) {
	all, err := store.List(memory.ListOptions{})
	if err != nil {
		d.warn("sessions", "cannot be listed: "+err.Error(), "make "+filepath.Join(dir, "sessions")+" a folder that you can read")
	} else {
		here, err := store.List(memory.ListOptions{CWD: d.folder})
		if err != nil {
			here = memory.Listing{}
		}
		d.ok("sessions", "%d, of this folder %d", len(all.Sessions), len(here.Sessions))
	}
	if all.Skipped > 0 {
		d.warn("sessions", plural(all.Skipped, "file")+" without a readable conversation",
			"nothing has to be done, they are left as they are; move them out of "+filepath.Join(dir, "sessions")+" to be rid of this line")
	}
	notes, err := store.Notes(d.folder).All()
	if err != nil {
		d.warn("notes", "cannot be read: "+err.Error(), "correct that file, or move it away and begin anew")
		return
	}
	d.ok("notes", "%s about this folder", plural(len(notes), "note"))
}

// existingParent is the nearest folder above path that is there.
func existingParent(path string) string {
	for {
		parent := filepath.Dir(path)
		if _, err := os.Stat(parent); err == nil || parent == path {
			return parent
		}
		path = parent
	}
}

// bare is what went wrong with a file, without the file's name.
func bare(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}

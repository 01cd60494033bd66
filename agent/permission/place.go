package permission

import (
	"path"
	"slices"
	"strings"
)

// elsewhere stands for a directory that is not known. Like every name with a
// tilde it is outside the workspace.
const elsewhere = "~"

// move reads cd and pushd.
func (r *reader) move(words []Word) {
	for _, w := range words[1:] {
		if w.option() == "" {
			r.moveTo(w)
			return
		}
	}
	r.moveTo(plainWord(elsewhere))
}

// moveTo records a directory in which the commands that follow run.
func (r *reader) moveTo(w Word) {
	r.visits(w.Text)
	switch {
	case len(r.out.dirs) >= maxDirs, !w.Known || w.Text == "-" || w.Text == "":
		r.at = elsewhere
	case path.IsAbs(w.Text) || strings.HasPrefix(w.Text, "~"):
		r.at = path.Clean(w.Text)
	default:
		r.at = path.Join(r.at, w.Text)
	}
	if len(r.places) < maxDirs && !slices.Contains(r.places, r.at) {
		r.places = append(r.places, r.at)
	}
}

// visits records a directory in which names that follow may lie: as seen from
// the start and as seen from where the script moved before.
func (r *reader) visits(dir string) {
	if len(r.out.dirs) >= maxDirs {
		r.opaque("the script moves between many directories")
		return
	}
	r.out.dirs = append(r.out.dirs, dir)
	if r.at != "" && !path.IsAbs(dir) {
		r.out.dirs = append(r.out.dirs, path.Join(r.at, dir))
	}
}

// sentTo records where a command runs: wherever the script moved before, as a
// move may fail, and where its own options send it.
func (r *reader) sentTo(c *Command, name string, words []Word) {
	outer := r.at
	options := directoryOptions(name)
	for i := 1; i < len(words) && len(options) > 0; i++ {
		for _, o := range options {
			if value, next, ok := valueOf(words, i, o); ok {
				r.moveTo(value)
				i = next
				break
			}
		}
	}
	r.at = outer
	c.places = r.places[:len(r.places):len(r.places)]
}

// directoryOptions are the options that send a program to another directory.
func directoryOptions(program string) []string {
	switch program {
	case "go", "make", "gmake", "ninja", "cargo", "tar", "pnpm":
		return []string{"-C", "--directory"}
	case "npm":
		return []string{"-C", "--prefix"}
	case "yarn", "bun":
		return []string{"--cwd"}
	case "bash", "git":
		return nil // read elsewhere
	}
	return nil
}

// valueOf returns the value an option has at word i, and the last word of it.
func valueOf(words []Word, i int, option string) (value Word, last int, ok bool) {
	w := words[i]
	name, _, given := strings.Cut(w.Text, "=")
	switch {
	case name == option || name == "-"+option:
		if given {
			return w.from(len(name) + 1), i, true
		}
		if i+1 < len(words) {
			return words[i+1], i + 1, true
		}
	case len(option) == 2 && strings.HasPrefix(w.Text, option):
		return w.from(2), i, true
	}
	return Word{}, i, false
}

// from is the word without its first n bytes.
func (w Word) from(n int) Word {
	rest := w
	rest.Text = w.Text[n:]
	rest.glob = strings.TrimPrefix(w.glob, quoteGlob(w.Text[:n]))
	rest.void, rest.lead = "", ""
	if len(w.void) >= n && w.void[:n] == w.Text[:n] {
		rest.void = w.void[n:]
	}
	if len(w.lead) >= n {
		rest.lead = w.lead[n:]
	}
	return rest
}

// setsExport reports whether set makes every assignment reach other programs.
func setsExport(words []Word) bool {
	for _, w := range words[1:] {
		switch {
		case w.Text == "--" && w.Known:
			return false
		case !w.Known && w.lead == "", w.Text == "allexport":
			return true
		case strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "a"):
			return true
		}
	}
	return false
}

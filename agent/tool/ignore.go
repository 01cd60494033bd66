package tool

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ignoreFiles hold rules about what to leave out, the later file's over the earlier's.
var ignoreFiles = []string{".gitignore", ".shiroignore"}

// A rule is one line of an ignore file, in the syntax of gitignore(5).
type rule struct {
	dir     string // slash path of the folder it stands in; "" is the root
	pattern string
	kind    byte // how pattern is matched
	negate  bool // what matches is kept
	folders bool // matches folders only
	whole   bool // pattern is matched with the path from dir, else with the name
}

const (
	byGlob   = iota
	byName   // pattern is a literal
	bySuffix // pattern is "*" and a literal, which is what is kept of it
)

// rules apply in a folder: its own after those of the folders above.
type rules []rule

// in returns the rules for the folder dir, whose real path is at.
func (rs rules) in(dir, at string) rules {
	for _, name := range ignoreFiles {
		data, err := os.ReadFile(filepath.Join(at, name))
		if err != nil {
			continue
		}
		rs = rs[:len(rs):len(rs)] // shared with the folders beside this one
		for line := range strings.Lines(strings.TrimPrefix(string(data), bom)) {
			if r, ok := parseRule(line); ok {
				r.dir = dir
				rs = append(rs, r)
			}
		}
	}
	return rs
}

func parseRule(line string) (r rule, ok bool) {
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if line == "" || line[0] == '#' {
		return r, false
	}
	line, r.negate = strings.CutPrefix(line, "!")
	for strings.HasSuffix(line, " ") && !escaped(line, len(line)-1) {
		line = line[:len(line)-1]
	}
	line, r.folders = strings.CutSuffix(line, "/")
	if line == "" {
		return r, false
	}
	r.whole = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if inner, cut := strings.CutSuffix(line, "/**"); cut {
		line = inner + "/**/*" // what is in the folder, not the folder
	}
	r.pattern = line
	literal := strings.TrimPrefix(line, "*")
	switch plain := !strings.ContainsAny(literal, `*?[\`); {
	case plain && literal == line:
		r.kind = byName
	case plain && !r.whole:
		r.kind, r.pattern = bySuffix, literal
	default:
		r.pattern = globSyntax(line)
	}
	return r, true
}

// escaped reports whether the character at i has an odd number of backslashes
// before it.
func escaped(s string, i int) bool {
	n := 0
	for i-n > 0 && s[i-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}

// globSyntax is a gitignore pattern for doublestar, to which braces mean
// alternatives.
func globSyntax(pattern string) string {
	var b strings.Builder
	for i := range len(pattern) {
		if c := pattern[i]; (c == '{' || c == '}') && !escaped(pattern, i) {
			b.WriteByte('\\')
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}

// ignored reports whether the entry at rel, in a folder that is not ignored
// itself, is to be left out.
func (rs rules) ignored(rel string, folder bool) bool {
	name := path.Base(rel)
	for i := len(rs) - 1; i >= 0; i-- {
		if r := &rs[i]; (folder || !r.folders) && r.matches(rel, name) {
			return !r.negate
		}
	}
	return false
}

func (r *rule) matches(rel, name string) bool {
	subject := name
	if r.whole {
		subject = rel
		if r.dir != "" {
			subject = rel[len(r.dir)+1:]
		}
	}
	switch r.kind {
	case byName:
		return subject == r.pattern
	case bySuffix:
		return strings.HasSuffix(subject, r.pattern)
	}
	return doublestar.MatchUnvalidated(r.pattern, subject)
}

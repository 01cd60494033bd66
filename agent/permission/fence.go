package permission

import (
	"path"
	"slices"
	"strings"
)

// fence is a rule that denies a file, prepared for words that may stand for
// several names.
type fence struct {
	*entry
	runes  []rune // the folded pattern
	likely []rune // it without a star for an extension, which would be about any name with one
	base   bool   // it is about names, in whatever directory
}

// fencesOf lists the rules that deny files to a tool, without those that later
// rules lift.
func (p *Policy) fencesOf(tool string) []fence {
	var list []fence
	for _, table := range [][]entry{p.named[tool], p.builtin[tool], p.globs} {
		for i := range table {
			e := &table[i]
			for _, name := range e.samples {
				if wild(e.Tool, tool) && p.find(tool, name, (*entry).match).decides(Deny) {
					likely := e.folded
					if strings.HasSuffix(likely, ".*") {
						likely = likely[:len(likely)-1]
					}
					list = append(list, fence{entry: e, runes: []rune(e.folded), likely: []rune(likely), base: !strings.Contains(e.Pattern, "/")})
					break
				}
			}
		}
	}
	return list
}

// fileDenial applies the deny rules of the file tools to a file of a script:
// those for reading always, those for writing if the file is written. certain
// says that the word is a file and nothing else.
func (s *shellCall) fileDenial(f File, certain bool) (Verdict, bool) {
	names := spellings(f.Name, s.root, s.script.dirs)
	if f.void != "" && f.void != f.Name {
		names = append(names, spellings(f.void, s.root, s.script.dirs)...)
	}
	for _, tool := range s.fencesFor(f) {
		for _, name := range names {
			e := s.find(tool, name, (*entry).match)
			if !e.decides(Deny) {
				e = s.find(tool, foldName(name), (*entry).matchFolded)
			}
			if e.decides(Deny) && (certain || !e.any()) {
				return denied(e, f.Name), true
			}
		}
	}
	if e, sure := s.globbed(f); e != nil && sure {
		return denied(e, f.Name), true
	}
	return Verdict{}, false
}

func (s *shellCall) fencesFor(f File) []string {
	if f.Write {
		return s.writeFences
	}
	return s.fences
}

// globbed returns a deny rule some of whose names a word may expand to. It is
// sure if the word spells out part of such a name: two characters, or one of a
// name that begins with a dot. A word that is little more than a star may
// stand for any file.
func (s *shellCall) globbed(f File) (found *entry, sure bool) {
	if f.glob == "" {
		return nil, false
	}
	base := path.Base(f.glob)
	bases := [][]globToken{globTokens(base)}
	var words [][]globToken // made when a rule wants them
	enough := 2
	if strings.HasPrefix(base, ".") {
		enough = 1
	}
	for _, tool := range s.fencesFor(f) {
		for _, d := range s.denials[tool] {
			list := bases
			if !d.base {
				if words == nil {
					for _, g := range spellings(f.glob, s.root, s.script.dirs) {
						words = append(words, globTokens(g))
					}
				}
				list = words
			}
			for _, w := range list {
				if hidesFrom(w, d.runes) {
					continue
				}
				if overlap(w, d.runes) >= enough {
					return d.entry, true
				}
				if found == nil && overlap(w, d.likely) >= 0 {
					found = d.entry
				}
			}
		}
	}
	return found, false
}

// hidesFrom reports whether a pattern is for a hidden name and the word for
// none: the shell's wildcards do not stand for a dot at the beginning.
func hidesFrom(word []globToken, pattern []rune) bool {
	name := pattern
	for i, c := range pattern {
		if c == '/' {
			name = pattern[i+1:]
		}
	}
	start := 0
	for i, t := range word {
		if t.kind == 'c' && t.char == '/' {
			start = i + 1
		}
	}
	return len(name) > 0 && name[0] == '.' && start < len(word) && word[start].kind != 'c' && word[start].kind != '.'
}

// mayRun returns a rule that asks for or denies a command which this one may
// turn out to be.
func (s *shellCall) mayRun(c *Command) *entry {
	if !slices.ContainsFunc(c.Words, func(w Word) bool { return w.glob != "" }) {
		return nil
	}
	var patterns []string
	for _, w := range c.Words {
		patterns = append(patterns, w.pattern())
	}
	patterns[0] = strings.ToLower(path.Base(patterns[0]))
	skip := len(c.Words) - len(c.normal)
	word := globTokens(strings.Join(append(patterns[:1:1], patterns[min(1+skip, len(patterns)):]...), " "))
	for _, table := range [][]entry{s.named[ShellTool], s.globs} {
		for i := range table {
			e := &table[i]
			if e.Decision == Allow || e.any() || !wild(e.Tool, ShellTool) {
				continue
			}
			for _, pattern := range []string{e.folded, strings.TrimSuffix(e.folded, " *")} {
				if overlap(word, []rune(pattern)) >= 0 {
					return e
				}
			}
		}
	}
	return nil
}

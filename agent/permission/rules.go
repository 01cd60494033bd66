package permission

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// readers and writers are the tools whose path rules also bind the files a
// shell command names.
var (
	readers = []string{"read_file", "read_many_files"}
	writers = []string{"write_file", "edit_file", "multi_edit"}
)

// defaults are the rules of the terminal tool, for each tool that the user
// has none for.
func defaults() []Rule {
	var rules []Rule
	for _, tool := range readers {
		rules = append(rules,
			Rule{tool, "*", Allow}, Rule{tool, "*.env", Deny}, Rule{tool, "*.env.*", Deny},
			Rule{tool, "*.pem", Deny}, Rule{tool, "*.env.example", Allow})
	}
	for _, tool := range []string{"glob", "grep", "list_dir", "git_*", "todo_write", "remember", "recall", "forget", "skill", "ask", "task", "current_time"} {
		rules = append(rules, Rule{tool, "*", Allow})
	}
	for _, tool := range []string{"write_file", "edit_file", "multi_edit", ShellTool, "web_fetch", "mcp__*"} {
		rules = append(rules, Rule{tool, "*", Ask})
	}
	return rules
}

// entry is a rule prepared for matching.
type entry struct {
	Rule
	source    string
	folded    string   // the pattern as file systems blind to case see it
	canonical string   // the pattern with its options merged, see canonical
	samples   []string // names the pattern stands for, see entry.caughtBy
}

func newEntry(r Rule, source string) entry {
	e := entry{Rule: r, source: source, folded: fold(r.Pattern)}
	if wild(r.Tool, ShellTool) {
		e.canonical = canonical(strings.Fields(r.Pattern))
	}
	if r.Decision == Deny && !e.any() {
		one := strings.ReplaceAll(r.Pattern, "?", "x")
		e.samples = []string{strings.ReplaceAll(one, "*", ""), strings.ReplaceAll(one, "*", "x")}
	}
	return e
}

// any reports whether the pattern says nothing about its subject.
func (e *entry) any() bool { return isAny(e.Pattern) }

func (e *entry) decides(d Decision) bool { return e != nil && e.Decision == d }

func (e *entry) match(s string) bool        { return wild(e.Pattern, s) }
func (e *entry) matchFolded(s string) bool  { return wild(e.folded, s) }
func (e *entry) matchCommand(s string) bool { return wildCommand(e.Pattern, s) }

// fenced reports whether any rule may deny a call of the tool.
func (p *Policy) fenced(tool string) bool {
	for _, table := range [][]entry{p.named[tool], p.builtin[tool], p.globs} {
		for i := range table {
			if table[i].Decision == Deny && wild(table[i].Tool, tool) {
				return true
			}
		}
	}
	return false
}

// find returns the entry that decides a subject of a tool, nil if none does:
// the last match in the user's table for the tool. Without such a table it is
// the builtin one, or the user's table of a glob if that is stricter.
func (p *Policy) find(tool, subject string, match func(*entry, string) bool) *entry {
	if table, ok := p.named[tool]; ok {
		return last(table, tool, subject, match)
	}
	wide := last(p.globs, tool, subject, match)
	table, ok := p.builtin[tool]
	if !ok {
		if wide != nil {
			return wide
		}
		return last(p.builtins, tool, subject, match)
	}
	own := last(table, tool, subject, match)
	if own == nil || wide != nil && strictness(wide.Decision) > strictness(own.Decision) {
		return wide
	}
	return own
}

func last(table []entry, tool, subject string, match func(*entry, string) bool) *entry {
	for i := len(table) - 1; i >= 0; i-- {
		e := &table[i]
		if (e.Tool == tool || wild(e.Tool, tool)) && match(e, subject) {
			return e
		}
	}
	return nil
}

// wild reports whether the pattern covers the whole of s. On a mismatch only
// the latest * is widened, which bounds the work by the product of the lengths.
func wild(pattern, s string) bool {
	// Most rules end in a suffix that most subjects do not have.
	if n := len(pattern); n > 0 && pattern[n-1] != '*' && pattern[n-1] != '?' && (s == "" || s[len(s)-1] != pattern[n-1]) {
		return false
	}
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
			continue
		case p < len(pattern) && pattern[p] == '?':
			_, n := utf8.DecodeRuneInString(s[i:])
			p, i = p+1, i+n
			continue
		case p < len(pattern) && pattern[p] == s[i]:
			p, i = p+1, i+1
			continue
		case star < 0:
			return false
		}
		mark++
		p, i = star+1, mark
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// wildCommand is wild for commands: "git status *" covers "git status".
func wildCommand(pattern, s string) bool {
	if wild(pattern, s) {
		return true
	}
	head, ok := strings.CutSuffix(pattern, " *")
	return ok && wild(head, s)
}

// fold gives all names that some file system takes for the same file one
// spelling: letter case, backslashes as separators, ignored characters.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\\':
			return '/'
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		case r < utf8.RuneSelf:
			return r
		case invisible(r):
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(r))
	}, s)
}

// foldName is fold for a name rather than a pattern: some file systems drop
// dots and blanks at the end.
func foldName(s string) string { return fold(strings.TrimRight(s, ". ")) }

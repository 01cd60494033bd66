package permission

import (
	"slices"
	"strings"
)

// canonical merges the short options of a command behind its name, so that
// rm -rf, rm -f -r and rm --recursive --force read alike.
func canonical(words []string) string {
	if len(words) == 0 {
		return ""
	}
	var letters []byte
	out := []string{words[0], ""}
	for _, w := range words[1:] {
		switch {
		case w == "--recursive":
			letters = append(letters, 'r')
		case w == "--force":
			letters = append(letters, 'f')
		case len(w) > 1 && w[0] == '-' && strings.Trim(w[1:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "":
			letters = append(letters, w[1:]...)
		default:
			out = append(out, w)
		}
	}
	if len(letters) == 0 {
		return strings.Join(words, " ")
	}
	if words[0] == "rm" || words[0] == "cp" {
		for i, c := range letters {
			if c == 'R' {
				letters[i] = 'r'
			}
		}
	}
	slices.Sort(letters)
	out[1] = "-" + string(slices.Compact(letters))
	return strings.Join(out, " ")
}

// matchCanonical compares the canonical forms. A pattern with options is also
// about commands with more of them, unless the program spells options as words
// with one dash.
func (e *entry) matchCanonical(s string) bool {
	if wildCommand(e.canonical, s) {
		return true
	}
	program, wanted, _ := cutOptions(e.canonical)
	name, has, rest := cutOptions(s)
	if wanted == "" || program != name || name == "go" || name == "find" {
		return false
	}
	for _, c := range wanted {
		if !strings.ContainsRune(has, c) {
			return false
		}
	}
	return wildCommand(e.canonical, name+" -"+wanted+rest)
}

// cutOptions splits a canonical command into its name, the letters of its
// options, and the rest.
func cutOptions(s string) (name, letters, rest string) {
	name, after, _ := strings.Cut(s, " ")
	if !strings.HasPrefix(after, "-") || strings.HasPrefix(after, "--") {
		return name, "", after
	}
	letters, rest, ok := strings.Cut(after[1:], " ")
	if ok {
		rest = " " + rest
	}
	return name, letters, rest
}

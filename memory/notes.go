package memory

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// What the store of one folder holds, and shows.
const (
	maxNotes    = 300 // kept; the oldest go first
	noteUnits   = 400 // UTF-16 units of a note's text
	blockNotes  = 20  // shown to the model
	recallNotes = 15  // returned by one recall
)

// Notes are what was learnt about the project in one folder. Every method reads
// the file anew and changes it under a lock, so several processes can use it.
// Strings returned are meant for the model.
type Notes struct {
	store *Store
	path  string
}

// Notes returns the notes of the project in the folder cwd.
func (s *Store) Notes(cwd string) *Notes {
	return &Notes{store: s, path: filepath.Join(s.dir, "memory", hash16(Folder(cwd))+".json")}
}

// All returns the notes, oldest first.
func (n *Notes) All() ([]Note, error) {
	f, err := n.read()
	return f.notes, err
}

// Remember stores text as one line of at most 400 UTF-16 units, unless that very
// text is stored already. It fails for an unknown kind, an empty text, and a text
// with a secret in it.
func (n *Notes) Remember(kind, text string) (string, error) {
	given, stored, err := checkNote(kind, text)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrBadNote, err)
	}
	var reply string
	err = n.change(func(notes []Note) []Note {
		if slices.ContainsFunc(notes, func(o Note) bool { return o.Text == stored }) {
			reply = "Already recorded: " + given
			return nil
		}
		notes = append(notes, newNote(kind, stored, n.store.now()))
		reply = fmt.Sprintf("Remembered as %s, %d stored: %s", kind, min(len(notes), maxNotes), stored)
		return notes
	})
	return reply, err
}

// Recall returns the newest notes that hold every word of query, in any case,
// and counts the hit of each that does.
func (n *Notes) Recall(query string) (string, error) {
	words := strings.Fields(strings.ToLower(query))
	if len(words) == 0 {
		return "", errors.New("the query is empty")
	}
	matches := func(o Note) bool {
		text := strings.ToLower(o.Text)
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	}
	f, err := n.read()
	if err != nil {
		return "", err
	}
	found := slices.DeleteFunc(f.notes, func(o Note) bool { return !matches(o) })
	if len(found) == 0 {
		return "Nothing recorded about " + quoted(query) + ".", nil
	}
	err = n.change(func(notes []Note) []Note {
		for i := range notes {
			if matches(notes[i]) {
				notes[i].hit()
			}
		}
		return notes
	})
	if err != nil { // the model can have its answer without the count
		n.store.log.Warn("recalls not counted", "error", err)
	}
	found = found[max(0, len(found)-recallNotes):]
	slices.Reverse(found)
	return lines("", found), nil
}

// Forget removes the notes that hold text, in any case. A text of n characters
// removes at most n notes: where a shorter one matches more, it fails and lists
// them. An empty text fails.
func (n *Notes) Forget(text string) (string, error) {
	needle := strings.ToLower(strings.TrimSpace(text))
	if needle == "" {
		return "", errors.New("the text to forget is empty; say which memory")
	}
	matches := func(o Note) bool { return strings.Contains(strings.ToLower(o.Text), needle) }
	f, err := n.read()
	if err != nil {
		return "", err
	}
	var found []Note
	if slices.ContainsFunc(f.notes, matches) {
		err = n.change(func(notes []Note) []Note {
			kept := make([]Note, 0, len(notes))
			for _, o := range notes {
				if matches(o) {
					found = append(found, o)
				} else {
					kept = append(kept, o)
				}
			}
			if len(found) == 0 || len(found) > utf8.RuneCountInString(needle) {
				return nil
			}
			return kept
		})
	}
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "No memory matches " + quoted(text) + ".", nil
	case len(found) > utf8.RuneCountInString(needle):
		return "", fmt.Errorf("nothing was removed: %s is in %d memories. Say more of the text of the one that is meant:\n%s",
			quoted(text), len(found), lines("- ", found))
	case len(found) == 1:
		return "Forgot 1 memory.", nil
	}
	return fmt.Sprintf("Forgot %d memories.", len(found)), nil
}

// Block is the part of the system prompt that holds the 20 notes most often
// recalled, among equals the newest; empty when there are none.
func (n *Notes) Block() (string, error) {
	f, err := n.read()
	if err != nil || len(f.notes) == 0 {
		return "", err
	}
	slices.Reverse(f.notes) // of two made in the same instant the later is newer
	slices.SortStableFunc(f.notes, func(a, b Note) int {
		return cmp.Or(cmp.Compare(b.Hits, a.Hits), strings.Compare(b.CreatedAt, a.CreatedAt))
	})
	const header = `
What you learned about this project in earlier sessions. Trust it, but verify anything
that contradicts what you can see in the code now:
`
	return header + lines("- ", f.notes[:min(len(f.notes), blockNotes)]), nil
}

func quoted(s string) string { return `"` + strings.TrimSpace(oneLine(s)) + `"` }

// lines prints notes one to a line, whatever another program put into them.
func lines(mark string, notes []Note) string {
	all := make([]string, len(notes))
	for i, o := range notes {
		all[i] = mark + "(" + o.Kind + ") " + oneLine(o.Text)
	}
	return strings.Join(all, "\n")
}

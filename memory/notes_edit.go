package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"shiro/memory/transcript"
)

// Errors of Put and Accept.
var (
	ErrNoNote  = errors.New("no such note")
	ErrBadNote = errors.New("not stored") // the text or kind is none for a note
)

// A ConflictError says that the notes are not the list that was seen. Both are
// values of Hash.
type ConflictError struct{ Seen, Is string }

func (e *ConflictError) Error() string { return "the notes have changed since they were looked at" }

// Hash tells one list of notes from another, by their ids, kinds and texts: a
// recall makes no difference.
func Hash(notes []Note) string {
	h := sha256.New()
	for _, o := range notes {
		fmt.Fprintf(h, "%q %q %q\n", o.ID, o.Kind, o.Text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Put stores a note as Remember does, or with an id in the place of the note
// that has it. It returns the note, which is an older one when that has the same
// text. Unless ifHash is empty it must be the Hash of the notes, else the error
// is a *ConflictError.
func (n *Notes) Put(ifHash, id, kind, text string) (Note, error) {
	_, stored, err := checkNote(kind, text)
	if err != nil {
		return Note{}, fmt.Errorf("%w: %w", ErrBadNote, err)
	}
	var put Note
	err = n.changeIf(ifHash, func(notes []Note) ([]Note, error) {
		same := slices.IndexFunc(notes, func(o Note) bool { return o.Text == stored })
		at := slices.IndexFunc(notes, func(o Note) bool { return o.ID == id })
		switch {
		case id != "" && at < 0:
			return nil, fmt.Errorf("%w: %s", ErrNoNote, id)
		case id != "" && (same < 0 || same == at):
			notes[at].say(kind, stored)
			put = notes[at]
			return notes, nil
		case same >= 0:
			put = notes[same]
			return nil, nil
		}
		put = newNote(kind, stored, n.store.now())
		return append(notes, put), nil
	})
	return put, err
}

// Remove removes the notes with these ids and returns how many there were. For
// ifHash see Put.
func (n *Notes) Remove(ifHash string, ids ...string) (removed int, err error) {
	err = n.changeIf(ifHash, func(notes []Note) ([]Note, error) {
		kept := make([]Note, 0, len(notes))
		for _, o := range notes {
			if !slices.Contains(ids, o.ID) {
				kept = append(kept, o)
			}
		}
		if removed = len(notes) - len(kept); removed == 0 {
			return nil, nil
		}
		return kept, nil
	})
	return removed, err
}

// changeIf is change, with an edit that may fail, of the notes with that hash.
func (n *Notes) changeIf(ifHash string, edit func([]Note) ([]Note, error)) error {
	var refused error
	err := n.change(func(notes []Note) (changed []Note) {
		if is := Hash(notes); ifHash != "" && ifHash != is {
			refused = &ConflictError{ifHash, is}
			return nil
		}
		changed, refused = edit(notes)
		return changed
	})
	return errors.Join(refused, err)
}

// Stamp is cheap to get and differs after the file has changed.
func (n *Notes) Stamp() string {
	info, err := os.Stat(n.path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

// checkNote returns a note's text on one line, and as much of it as is stored.
func checkNote(kind, text string) (given, stored string, err error) {
	if !slices.Contains(kinds(), kind) {
		return "", "", fmt.Errorf("%q is not a kind of memory; the kinds are %s", kind, strings.Join(kinds(), ", "))
	}
	given = strings.TrimSpace(oneLine(text))
	if given == "" {
		return "", "", errors.New("the text to remember is empty")
	}
	if what := findSecret(given); what != "" {
		return "", "", fmt.Errorf("the text seems to hold %s, and memories are plain text that goes into later prompts. Say where the secret is kept instead", what)
	}
	return given, transcript.Cut(given, noteUnits), nil
}

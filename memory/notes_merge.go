package memory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"shiro/memory/transcript"
)

// MergePrompt is the system prompt for Merge.
const MergePrompt = `You tidy the notes that a coding agent made about a project. Each line below is one note, its kind in front.
Join notes that say the same or nearly the same. Leave out what is out of date or mattered for one finished task only. Keep the wording of the rest.
Answer with one note per line, each with its kind in front: [fact], [decision], [gotcha] or [command]. No other text, no numbers, no blank lines.`

// Merge has the notes that were never recalled rewritten as fewer. It calls ask
// with them, one to a line, and ask returns a model's whole answer to MergePrompt
// and that, or an error, also when the answer was cut off. Recalled notes, and
// what was noted or recalled meanwhile, stay as they are. An answer with no note
// in it, or with more notes than there were, changes nothing and is an error.
// With less than two such notes nothing is asked. Merge returns how many notes
// there were before and after.
func (n *Notes) Merge(ask func(notes string) (string, error)) (before, after int, err error) {
	f, err := n.read()
	if err != nil {
		return 0, 0, err
	}
	before = len(f.notes)
	var unused []Note
	var prompt strings.Builder
	for _, o := range f.notes {
		if o.Hits == 0 {
			unused = append(unused, o)
			fmt.Fprintf(&prompt, "[%s] %s\n", o.Kind, oneLine(o.Text))
		}
	}
	if len(unused) < 2 {
		return before, before, nil
	}
	answer, err := ask(strings.TrimSuffix(prompt.String(), "\n"))
	if err != nil {
		return before, before, fmt.Errorf("asking for the merged notes: %w", err)
	}
	merged := parseMerged(answer, n.store.now())
	switch {
	case len(merged) == 0:
		return before, before, errors.New("the answer holds no notes, so nothing was changed")
	case len(merged) > len(unused):
		return before, before, fmt.Errorf("the answer holds %d notes in place of %d, so nothing was changed", len(merged), len(unused))
	}
	err = n.change(func(notes []Note) []Note {
		notes = slices.DeleteFunc(notes, func(o Note) bool {
			return o.Hits == 0 && slices.ContainsFunc(unused, func(u Note) bool { return u.ID == o.ID })
		})
		notes = append(notes, merged...)
		after = len(notes)
		return notes
	})
	if err != nil {
		return before, before, err
	}
	return before, after, nil
}

// parseMerged reads the lines of answer that have the shape [kind] text.
func parseMerged(answer string, now time.Time) []Note {
	var notes []Note
	for line := range strings.Lines(answer) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "[")
		kind, text, closed := strings.Cut(line, "]")
		kind, text = strings.ToLower(kind), strings.TrimSpace(oneLine(text))
		if ok && closed && text != "" && slices.Contains(kinds(), kind) {
			notes = append(notes, newNote(kind, transcript.Cut(text, noteUnits), now))
		}
	}
	return notes
}

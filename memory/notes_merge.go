package memory

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"shiro/memory/transcript"
)

// MergePrompt is the system prompt for Merge.
const MergePrompt = `You tidy the notes that a coding agent made about a project. Each line below is one note, its kind in front.
Join notes that say the same or nearly the same. Leave out what is out of date or mattered for one finished task only. Keep the wording of the rest.
Answer with one note per line, each with its kind in front: [fact], [decision], [gotcha] or [command]. No other text, no numbers, no blank lines.`

// A DoubtfulError holds an answer that would lose much. Nothing was changed;
// Accept carries it out all the same.
type DoubtfulError struct {
	Why   string
	Notes []Note // would stand for those that were never recalled
	Hash  string // of the notes when the model was asked
}

func (e *DoubtfulError) Error() string {
	return "the merged notes need a look, so nothing was changed: " + e.Why
}

// Merge has the notes that were never recalled rewritten as fewer. It calls ask
// with them, one to a line, and ask returns a model's whole answer to MergePrompt
// and that, or an error, also when the answer was cut off. Recalled notes, and
// what was noted or recalled meanwhile, stay as they are. An answer with no note
// in it, or with more notes than there were, changes nothing and is an error;
// one with less than a third of them, or without a kind that there was, is a
// *DoubtfulError. With less than two such notes nothing is asked. Merge returns
// how many notes there were before and after. For ifHash see Put.
func (n *Notes) Merge(ifHash string, ask func(notes string) (string, error)) (before, after int, err error) {
	f, err := n.read()
	if err != nil {
		return 0, 0, err
	}
	before = len(f.notes)
	if is := Hash(f.notes); ifHash != "" && ifHash != is {
		return before, before, &ConflictError{ifHash, is}
	}
	var prompt strings.Builder
	unused := neverRecalled(f.notes)
	for _, o := range unused {
		fmt.Fprintf(&prompt, "[%s] %s\n", o.Kind, oneLine(o.Text))
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
	if why := doubt(unused, merged); why != "" {
		return before, before, &DoubtfulError{why, merged, Hash(f.notes)}
	}
	after, err = n.exchange("", unused, merged)
	if err != nil {
		return before, before, err
	}
	return before, after, nil
}

// Accept puts notes, of which kind and text count, in place of those that were
// never recalled. The Hash of the notes must be hash, else the error is a
// *ConflictError. It returns how many notes there were before and after.
func (n *Notes) Accept(hash string, notes []Note) (before, after int, err error) {
	f, err := n.read()
	if err != nil {
		return 0, 0, err
	}
	merged := make([]Note, len(notes))
	for i, o := range notes {
		_, stored, err := checkNote(o.Kind, o.Text)
		if err != nil {
			return 0, 0, fmt.Errorf("%w: %w", ErrBadNote, err)
		}
		merged[i] = newNote(o.Kind, stored, n.store.now())
	}
	after, err = n.exchange(hash, neverRecalled(f.notes), merged)
	return len(f.notes), after, err
}

// exchange puts merged in place of those of unused that were not recalled
// meanwhile. What the file held is kept beside it.
func (n *Notes) exchange(ifHash string, unused, merged []Note) (after int, err error) {
	err = n.changeIf(ifHash, func(notes []Note) ([]Note, error) {
		before := n.path + ".before-" + strconv.FormatInt(n.store.now().UnixMilli(), 10)
		if err := copyFile(before, n.path); err != nil {
			return nil, fmt.Errorf("keeping the notes as they were: %w", err)
		}
		notes = slices.DeleteFunc(notes, func(o Note) bool {
			return o.Hits == 0 && slices.ContainsFunc(unused, func(u Note) bool { return u.ID == o.ID })
		})
		after = len(notes) + len(merged)
		return append(notes, merged...), nil
	})
	return after, err
}

func neverRecalled(notes []Note) []Note {
	return slices.DeleteFunc(slices.Clone(notes), func(o Note) bool { return o.Hits != 0 })
}

// doubt says why merged seems to lose what unused says; empty when it does not.
func doubt(unused, merged []Note) string {
	if 3*len(merged) < len(unused) {
		return fmt.Sprintf("%d notes would become %d", len(unused), len(merged))
	}
	var lost []string
	for _, kind := range kinds() {
		is := func(o Note) bool { return o.Kind == kind }
		if slices.ContainsFunc(unused, is) && !slices.ContainsFunc(merged, is) {
			lost = append(lost, kind)
		}
	}
	if len(lost) > 0 {
		return "no note of the kind " + strings.Join(lost, ", ") + " would be left of those"
	}
	return ""
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

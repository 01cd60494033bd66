package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"shiro/agent/provider"
	"shiro/memory/transcript"
)

// A Memory is the notes about a project, besides what tools do with them.
type Memory interface {
	// List returns the notes, oldest first, and what tells this list from
	// another.
	List() (notes []Note, hash string, err error)
	// Merge has notes rewritten as fewer. Ask sends a system prompt and a text
	// to the model and returns its answer. With ifHash the list must still be
	// that one. An answer that would lose much changes nothing: then doubt is
	// set.
	Merge(ifHash string, ask func(system, text string) (string, error)) (before, after int, doubt *Doubt, err error)
	// Accept does what a doubtful answer says, if nothing changed meanwhile.
	Accept(hash string, notes []Note) (before, after int, err error)
	// Stamp is cheap, and differs after the notes were changed by whomever.
	Stamp() string
}

// A Note is one thing learnt about a project.
type Note struct {
	Kind, Text string
	Hits       int // recalls; 0 in a doubt
}

// A Doubt is an answer to a merge that would lose much.
type Doubt struct {
	Why   string
	Notes []Note // what would be left of the notes that were never recalled
	Hash  string // of the list it is about
}

// ErrNoMemory says that notes are not used.
var ErrNoMemory = errors.New("project notes are switched off")

// notesEvery is how often a conversation looks whether the notes have changed.
const notesEvery = time.Second

// MergeNotes has the notes of the folder cwd merged by the configured model; see
// Memory.Merge. With accept, nothing is asked and those take the place of the
// notes that were never recalled.
func (a *Agent) MergeNotes(ctx context.Context, cwd, ifHash string, accept []Note) (before, after int, doubt *Doubt, err error) {
	setup, err := a.opts.Setup(ctx, cwd)
	switch {
	case err != nil:
		return 0, 0, nil, err
	case setup.Memory == nil:
		return 0, 0, nil, ErrNoMemory
	case len(accept) > 0:
		before, after, err = setup.Memory.Accept(ifHash, accept)
		return before, after, nil, err
	}
	return setup.Memory.Merge(ifHash, func(system, text string) (string, error) {
		return setup.ask(ctx, setup.ModelName, system, text)
	})
}

// ask makes a model request without tools and returns the text of the whole
// answer.
func (su *Setup) ask(ctx context.Context, model, system, text string) (string, error) {
	r := &provider.Request{Model: model, Effort: su.Effort, System: system, Messages: []*transcript.Message{transcript.User(text)}}
	for attempt := 1; ; attempt++ {
		res, err := su.Model.Stream(ctx, r, func(provider.Delta) {})
		if err == nil {
			if res.Stop != provider.StopEnd {
				return "", fmt.Errorf("the model's answer was cut off (%s)", res.Stop)
			}
			return plainText(transcript.Assistant(res.Parts...)), nil
		}
		delay, again := retryDelay(err, attempt, su.MaxRetries)
		if !again {
			return "", err
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// watchNotes tells when the notes have changed since stamp, until the
// conversation is closed.
func (s *Session) watchNotes(stamp string) {
	tick := time.NewTicker(notesEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
		now := s.setup.Memory.Stamp()
		if now == stamp {
			continue
		}
		notes, hash, err := s.setup.Memory.List()
		if err != nil {
			s.log.Warn("the project's notes cannot be read", "err", err)
			continue // and look again
		}
		stamp = now
		s.publish("", NotesChanged{s.CWD, len(notes), hash})
	}
}

// listNotes is the command that shows what is noted, newest first.
func listNotes(_ context.Context, s *Session, _ string) (string, error) {
	if s.setup.Memory == nil {
		return "", ErrNoMemory
	}
	notes, _, err := s.setup.Memory.List()
	if err != nil {
		return "", err
	}
	if len(notes) == 0 {
		return "Nothing is noted about this project yet.", nil
	}
	slices.Reverse(notes)
	return noteLines(notes), nil
}

func noteLines(notes []Note) string {
	lines := make([]string, len(notes))
	for i, n := range notes {
		lines[i] = fmt.Sprintf("(%s) %s", n.Kind, strings.Join(strings.Fields(n.Text), " "))
		if n.Hits > 0 {
			lines[i] += fmt.Sprintf("  [recalled %dx]", n.Hits)
		}
	}
	return strings.Join(lines, "\n")
}

// mergeNotes is the command that has notes merged. What the model proposes and
// would lose much is shown, and done when the user says accept.
func mergeNotes(ctx context.Context, s *Session, arg string) (string, error) {
	memory := s.setup.Memory
	s.mu.Lock()
	model, doubt := s.rec.Model, s.doubt
	s.mu.Unlock()
	var before, after int
	var err error
	switch {
	case memory == nil:
		return "", ErrNoMemory
	case arg != "" && arg != "accept":
		return "", fmt.Errorf("/memory takes nothing or the word accept, not %q", arg)
	case arg == "accept" && doubt == nil:
		return "", errors.New("there is no proposal to accept; /memory makes one")
	case arg == "accept":
		before, after, err = memory.Accept(doubt.Hash, doubt.Notes)
		doubt = nil
	default:
		before, after, doubt, err = memory.Merge("", func(system, text string) (string, error) {
			return s.setup.ask(ctx, model, system, text)
		})
	}
	s.mu.Lock()
	s.doubt = doubt
	s.mu.Unlock()
	switch {
	case err != nil:
		return "", err
	case doubt != nil:
		return fmt.Sprintf("Nothing was changed: %s. The model would leave of the notes that were never recalled:\n%s\n`/memory accept` does so.",
			doubt.Why, noteLines(doubt.Notes)), nil
	case before == after:
		return fmt.Sprintf("There are %d notes, as before.", after), nil
	}
	return fmt.Sprintf("%d notes became %d.", before, after), nil
}

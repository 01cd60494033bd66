// Package tool is what a model can do to a workspace: read, edit and search
// files, run commands, keep a task list and notes.
//
// A tool only acts. Whether it may is decided before it is called, by what
// Describe says about the call; a tool that edits files proposes first and
// writes nothing, so that the same Edit is shown, answered and committed.
// Names, inputs and results are those of the terminal tool.
package tool

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"strings"

	"shiro/memory/transcript"
)

//go:embed *.md
var docs embed.FS

// A Tool is one thing the model can call. Tools that edit files have Propose,
// all others Run. Both may be called from several goroutines at once.
type Tool struct {
	Name        string
	Description string          // for the model
	Schema      json.RawMessage // JSON Schema of the input: compact, the same bytes in every process
	Set         string          // "core", "edit-plus" or "session"
	Kind        string          // ACP's kind: read, edit, search, execute, think or other
	Mutates     bool            // may change files or the world

	// Check says what is wrong with an input whose members Run and Propose would
	// refuse, without looking at any file; nil when nothing is. It is for asking
	// nobody about a call that cannot run. May be nil.
	Check func(input json.RawMessage) error

	// Describe says what a call is about. Bad input gives less to say, never an error.
	Describe func(input json.RawMessage) Subject

	// Propose computes what an edit would change and writes nothing. Its errors
	// are for the model: bad input, no match, a file changed since it was read.
	Propose func(context.Context, Call) (*Edit, error)

	// Run carries out the call. The result, and the error's text, are what the
	// model reads: valid UTF-8 without NUL, 30 000 UTF-16 units and a notice.
	Run func(context.Context, Call) (string, error)

	input func() inputs // with places of their own to decode into
}

// A Subject is a call as rules and people see it. Of what patterns match, all
// must be allowed for the call to be, and one that is denied denies it.
type Subject struct {
	Title     string     // one line of at most 60 characters, nothing invisible in it
	Command   string     // the whole command, for a shell
	Paths     []string   // files, with slashes, from the root; where their links lead, if elsewhere
	Subjects  []string   // other texts that patterns match, such as a search's pattern
	Locations []Location // where an editor can show it
}

// A Location is a place in a file.
type Location struct {
	Path string // absolute
	Line int    // from 1; 0 for the file as a whole
}

// A Call is one call by the model.
type Call struct {
	ID    string
	Input json.RawMessage

	// Output receives what a command prints while it runs: channel is "stdout"
	// or "stderr"; text is whole characters without escape sequences, in which
	// a carriage return begins the line anew. Calls do not overlap. May be nil.
	Output func(channel, text string)
}

// A TodoList keeps the session's task list.
type TodoList interface {
	Replace([]transcript.Todo)
}

// Notes is the project memory. What it returns, errors too, is for the model.
type Notes interface {
	Remember(kind, text string) (reply string, err error)
	Recall(query string) (reply string, err error)
	Forget(text string) (reply string, err error) // must refuse an empty text, which every note contains
}

// Options are what a set of tools works on. Workspace is required.
type Options struct {
	Workspace *Workspace
	Todos     TodoList // nil: todo_write is absent
	Notes     Notes    // nil: remember, recall and forget are absent

	Env         []string              // environment of commands; nil means this process's
	SecretNames []string              // variables that commands do not get
	Secrets     []string              // values blanked out in every result
	Denied      func(rel string) bool // files whose text no search, error or edit's result may quote; nil means none
}

// A set is one session's tools and what its model has seen of the files.
type set struct {
	Options
	seen seen
	mask *mask
}

// New returns the tools of one session. They remember what its model has read,
// so every session needs a set of its own; the workspace is shared.
func New(o Options) []Tool {
	s := &set{Options: o, mask: newMask(o.Secrets)}
	tools := []Tool{s.readFile(), s.writeFile(), s.editFile(), s.listDir(), s.glob(), s.grep(), s.bash()}
	if o.Todos != nil {
		tools = append(tools, s.todoWrite())
	}
	if o.Notes != nil {
		tools = append(tools, s.remember(), s.recall(), s.forget())
	}
	for i := range tools {
		s.finish(&tools[i])
	}
	return tools
}

// finish gives t its description and makes what it returns fit to be sent.
func (s *set) finish(t *Tool) {
	doc, err := docs.ReadFile(t.Name + ".md")
	if err != nil {
		panic(err) // the file is compiled in
	}
	t.Description = strings.TrimSpace(string(doc))
	t.Schema = t.input().schema()
	t.Check = func(input json.RawMessage) error { return s.fitError(t.input().decode(input)) }
	if run := t.Run; run != nil {
		t.Run = func(ctx context.Context, c Call) (string, error) {
			out, err := run(ctx, c)
			return s.fit(out), s.fitError(err)
		}
	}
	if propose := t.Propose; propose != nil {
		t.Propose = func(ctx context.Context, c Call) (*Edit, error) {
			e, err := propose(ctx, c)
			if err != nil {
				return nil, s.fitError(err)
			}
			e.mask = s.mask
			return e, nil
		}
	}
}

func (s *set) fit(text string) string { return clip(s.mask.hide(text)) }

// fitError is err itself, unless its text cannot be sent as it stands.
func (s *set) fitError(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); s.fit(text) != text {
		return errors.New(s.fit(text))
	}
	return err
}

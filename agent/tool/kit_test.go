package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"shiro/memory/transcript"
)

// A kit is a workspace on disk with one session's tools.
type kit struct {
	t     testing.TB
	root  string
	w     *Workspace
	docs  *documents
	todos []transcript.Todo
	notes *notes
	tools map[string]Tool
}

type object = map[string]any

// newKit makes a workspace with files, by slash path.
func newKit(t testing.TB, files map[string]string, change ...func(*Options)) *kit {
	t.Helper()
	k := &kit{t: t, root: t.TempDir(), docs: &documents{open: map[string]document{}}, notes: &notes{}}
	for _, name := range sorted(files) {
		k.put(name, files[name])
	}
	w, err := NewWorkspace(k.root, k.docs)
	if err != nil {
		t.Fatal(err)
	}
	k.w = w
	k.tools = k.session(change...)
	return k
}

// session returns the tools of another session of the same workspace.
func (k *kit) session(change ...func(*Options)) map[string]Tool {
	o := Options{Workspace: k.w, Todos: k, Notes: k.notes}
	for _, f := range change {
		f(&o)
	}
	tools := map[string]Tool{}
	for _, tool := range New(o) {
		tools[tool.Name] = tool
	}
	return tools
}

func (k *kit) Replace(todos []transcript.Todo) { k.todos = todos }

func (k *kit) path(name string) string { return filepath.Join(k.root, filepath.FromSlash(name)) }

func (k *kit) put(name, text string) {
	k.t.Helper()
	if err := os.MkdirAll(filepath.Dir(k.path(name)), 0o755); err != nil {
		k.t.Fatal(err)
	}
	if err := os.WriteFile(k.path(name), []byte(text), 0o644); err != nil {
		k.t.Fatal(err)
	}
}

func (k *kit) disk(name string) string {
	k.t.Helper()
	b, err := os.ReadFile(k.path(name))
	if err != nil {
		k.t.Fatal(err)
	}
	return string(b)
}

func (k *kit) wantDisk(name, want string) {
	k.t.Helper()
	if got := k.disk(name); got != want {
		k.t.Errorf("%s on disk is %q, want %q", name, got, want)
	}
}

// call makes a call as the agent does: an edit is proposed, and proposed again
// while others get in between, then committed.
func (k *kit) call(name string, input object) (string, error) {
	k.t.Helper()
	return k.callOf(k.tools, k.t.Context(), name, input)
}

func (k *kit) callOf(tools map[string]Tool, ctx context.Context, name string, input object) (string, error) {
	k.t.Helper()
	tool, ok := tools[name]
	if !ok {
		k.t.Fatalf("no tool %s", name)
	}
	c := Call{ID: "call_1", Input: encode(k.t, input)}
	out, err := "", error(nil)
	if tool.Run != nil {
		out, err = tool.Run(ctx, c)
	} else {
		out, err = k.edit(ctx, tool, c)
	}
	text := out
	if err != nil {
		text += err.Error()
	}
	if !utf8.ValidString(text) || strings.Contains(text, "\x00") || len(text) == 0 {
		k.t.Errorf("%s: the result cannot be sent: %q", name, text)
	}
	return out, err
}

func (k *kit) edit(ctx context.Context, tool Tool, c Call) (string, error) {
	for {
		e, err := tool.Propose(ctx, c)
		if err != nil {
			return "", err
		}
		if err = k.w.Commit(ctx, e); !errors.Is(err, ErrStale) {
			return e.Result(), err
		}
	}
}

// ok is call, of what must succeed.
func (k *kit) ok(name string, input object) string {
	k.t.Helper()
	out, err := k.call(name, input)
	if err != nil {
		k.t.Fatalf("%s %v: %v", name, input, err)
	}
	return out
}

// fails is call, of what must fail with an error that holds all parts.
func (k *kit) fails(name string, input object, parts ...string) {
	k.t.Helper()
	out, err := k.call(name, input)
	if err == nil {
		k.t.Errorf("%s %v succeeded: %q", name, input, out)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			k.t.Errorf("%s %v: error %q does not contain %q", name, input, err, part)
		}
	}
}

// propose is the edit that a call proposes.
func (k *kit) propose(name string, input object) *Edit {
	k.t.Helper()
	e, err := k.tools[name].Propose(k.t.Context(), Call{Input: encode(k.t, input)})
	if err != nil {
		k.t.Fatal(err)
	}
	return e
}

func encode(t testing.TB, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sorted(files map[string]string) []string {
	var names []string
	for name := range maps.Keys(files) {
		names = append(names, name)
	}
	return names
}

// documents is an editor with open documents.
type documents struct {
	mu     sync.Mutex
	open   map[string]document
	refuse error
	saves  bool
}

func (d *documents) show(path, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[path] = document{path, text, d.open[path].version + 1}
}

func (d *documents) Buffer(path string) (string, int32, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	doc, ok := d.open[path]
	return doc.text, doc.version, ok
}

func (d *documents) Apply(_ context.Context, changes []BufferChange) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuse != nil {
		return d.refuse
	}
	for _, c := range changes {
		doc, ok := d.open[c.Path]
		if !ok || doc.version != c.Version {
			return fmt.Errorf("%s: %w", c.Path, ErrStale)
		}
		text := string(apply([]byte(doc.text), c.Edits))
		if text != c.Text {
			return fmt.Errorf("the edits make %q, the text is %q", text, c.Text)
		}
		d.open[c.Path] = document{c.Path, text, doc.version + 1}
		if d.saves {
			if err := os.WriteFile(c.Path, []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// notes is a project memory that says what it was asked.
type notes struct{ err error }

func (n *notes) Remember(kind, text string) (string, error) { return kind + " " + text, n.err }
func (n *notes) Recall(query string) (string, error)        { return query, n.err }
func (n *notes) Forget(text string) (string, error)         { return text, n.err }

// inTime fails the test when f takes longer than d.
func inTime(t *testing.T, d time.Duration, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if took := time.Since(start); took > d {
		t.Errorf("took %v, want at most %v", took, d)
	}
}

package agent

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	mock "shiro/agent/provider/providertest"
)

// trailer is the block that shiro adds behind the last message, "" for none.
func trailer(r mock.Request) string {
	items := r.Items()
	if last := items[len(items)-1]; last.Kind == "message" && last.Role == "user" && strings.HasPrefix(last.Text, "<session_state>") {
		return last.Text
	}
	return ""
}

func tasks(list ...any) mock.Step {
	return mock.Call("todo_write", args{"todos": append([]any{}, list...)})
}

func task(content, status string) args { return args{"content": content, "status": status} }

// Every request begins with the bytes of the one before, up to its trailer,
// whatever happens between them.
func TestPrefixIsStable(t *testing.T) {
	t.Parallel()
	for _, api := range []string{mock.Responses, mock.Chat} {
		w := newWorldOn(t, api, mock.Options{Script: []mock.Step{
			mock.Reply(mock.Reasoning("hm"), mock.Text("Looking."), mock.Call("list_dir", nil)),
			tasks(task("one", "in_progress"), task("two", "pending")),
			mock.Reply(shell("A", "echo a"), mock.Call("list_dir", nil), mock.Call("read_file", `{"path":`)),
			tasks(task("one", "done"), task("two", "in_progress")),
			mock.Say("first"),
			mock.Text("partial text").Chunk(4).Silence(2),
			tasks(),
			mock.Say("second"),
		}})
		told := 0
		w.setup.Notes = func() string {
			told++
			return fmt.Sprintf("\nNotes, state %d\n", told)
		}
		w.setup.Instructions = []Instruction{{"AGENTS.md", "Be kind."}}
		c := w.create()
		c.start(Prompt{Text: "go", Editor: "main.go:12 is open\n"})
		c.answer(c.asked(), "no")
		must(t, c.ended(), Completed, EndTurn)
		c.start(Prompt{Text: "more"})
		next(c, func(d ItemDelta) bool { return d.Channel == "text" && d.From == 0 && strings.HasPrefix(d.Text, "part") })
		c.Interrupt("")
		c.ended()
		must(t, c.say("again"), Completed, EndTurn)
		all := w.requests(8)
		for i := range all {
			if i == 0 {
				continue
			}
			// Two brackets and the trailer may change, nothing before them.
			before := all[i-1].Body
			if tail := trailer(all[i-1]); tail != "" {
				at := bytes.LastIndex(before, []byte("<session_state>"))
				before = before[:bytes.LastIndexByte(before[:at], '{')]
				before = before[:bytes.LastIndex(before, []byte(`{"`))]
			} else {
				before = before[:len(before)-2]
			}
			if !bytes.HasPrefix(all[i].Body, bytes.TrimRight(before, ",")) {
				t.Errorf("%s: request %d does not begin with request %d:\n%s\n%s", api, i, i-1, before, all[i].Body)
			}
		}
		system := all[0].Items()[0].Text
		if told != 1 || !strings.Contains(system, "Notes, state 1") || !strings.Contains(system, "Be kind.") || !strings.Contains(system, w.dir) {
			t.Errorf("%s: notes were asked for %d times; system prompt\n%s", api, told, system)
		}
	}
}

// The trailer holds the task list as it is at this step, one line each, and what
// the editor showed with this prompt; nothing when there is neither. It is in no
// record and in no later request.
func TestTrailer(t *testing.T) {
	t.Parallel()
	for _, api := range []string{mock.Responses, mock.Chat} {
		w := newWorldOn(t, api, mock.Options{Script: []mock.Step{
			tasks(task("first\n task", "in_progress"), args{"content": "other", "status": "blocked", "note": "no\nkey"}, task("\x1b[31mred", "done")),
			mock.Call("list_dir", nil),
			slow("one", 20*time.Millisecond), mock.Say("two"), tasks(), mock.Say("three"),
		}})
		c := w.create()
		c.start(Prompt{Text: "go", Editor: "main.go is open\n"})
		c.start(Prompt{Text: "next", Editor: "other.go is open\n", Queue: true})
		c.ended()
		c.ended()
		must(t, c.say("clear"), Completed, EndTurn)
		const list = "Task list: 1/3 done, 1 blocked. Keep it current with todo_write.\n[~] first task\n[!] other  (no key)\n[x] red\n"
		want := []string{
			"<session_state>\nIn the editor when the user asked:\nmain.go is open\n</session_state>",
			"<session_state>\n" + list + "In the editor when the user asked:\nmain.go is open\n</session_state>",
			"<session_state>\n" + list + "In the editor when the user asked:\nmain.go is open\n</session_state>",
			"<session_state>\n" + list + "In the editor when the user asked:\nother.go is open\n</session_state>",
			"<session_state>\n" + list + "</session_state>",
			"",
		}
		var got []string
		for _, r := range w.requests(len(want)) {
			got = append(got, trailer(r))
			if n := strings.Count(string(r.Body), "session_state>"); n > 2 {
				t.Errorf("%s: %d marks of a trailer in a request", api, n)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: trailers (-want +got):\n%s", api, diff)
		}
		if b := first(w.store.record(c.ID).MarshalJSON()); bytes.Contains(b, []byte("session_state")) || bytes.Contains(b, []byte("is open")) {
			t.Errorf("%s: the record holds the trailer: %s", api, b)
		}
	}
}

// The task list outlives the process: it is in the record and in the first
// request of the next one. The events count its revisions.
func TestTaskListIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tasks(task("one", "in_progress")), tasks(task("one", "done"), task("two", "in_progress")), mock.Say("ok"))
	c := w.create()
	c.say("go")
	for rev := 1; rev <= 2; rev++ {
		if n := slices.IndexFunc(c.all(), func(e Event) bool { d, ok := e.Data.(TodoUpdated); return ok && d.Todo.Rev == rev }); n < 0 {
			t.Errorf("no event of revision %d", rev)
		}
	}
	w.reopen()
	c = w.open(c.ID)
	if got := c.Todo().Entries; len(got) != 2 || got[0].Status != "done" || got[1].Content != "two" {
		t.Errorf("task list %+v", got)
	}
	c.aliveAfter()
	all := w.requests(4)
	if got := trailer(all[len(all)-1]); !strings.Contains(got, "[x] one\n[~] two\n") {
		t.Errorf("trailer %q", got)
	}
}

// The system prompt speaks of the tools that are there, and of nothing that
// changes within a conversation.
func TestSystemPrompt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create()
	c.say("go")
	full := w.requests(1)[0].Items()[0]
	for _, want := range []string{w.dir, "edit_file", "Verify with commands", "todo_write"} {
		if !strings.Contains(full.Text, want) {
			t.Errorf("%q is missing in\n%s", want, full.Text)
		}
	}
	if strings.Contains(full.Text, "remember") || strings.Contains(full.Text, fmt.Sprint(time.Now().Year())) || len(full.Text) > 4000 {
		t.Errorf("system prompt of %d bytes:\n%s", len(full.Text), full.Text)
	}
	w.setup.Tools = without(w.setup.Tools, "bash")
	c = w.create()
	c.say("go")
	if got := w.requests(2)[1].Items()[0].Text; strings.Contains(got, "Verify with commands") {
		t.Errorf("system prompt without a shell:\n%s", got)
	}
}

// Instruction files from the git root down, each cut, empty ones left out.
func TestInstructions(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	sub := filepath.Join(root, "repo", "sub")
	for name, text := range map[string]string{
		"AGENTS.md": "outside", "repo/.git/HEAD": "ref", "repo/AGENTS.md": "  root\n", "repo/CLAUDE.md": "\n \n", "repo/sub/.shiro.md": "sub",
		"repo/sub/CLAUDE.md": strings.Repeat("🙂", 7000), "repo/sub/AGENTS.md": "bad \xff byte",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := []Instruction{
		{"../AGENTS.md", "root"}, {"AGENTS.md", "bad \uFFFD byte"}, {"CLAUDE.md", strings.Repeat("🙂", 6000)}, {".shiro.md", "sub"},
	}
	if diff := cmp.Diff(want, Instructions(sub)); diff != "" {
		t.Errorf("instructions (-want +got):\n%s", diff)
	}
}

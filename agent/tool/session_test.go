package tool

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"shiro/memory/transcript"
)

func TestTL02TodoWrite(t *testing.T) {
	task := func(content, status string, note ...string) object {
		o := object{"content": content, "status": status}
		if note != nil {
			o["note"] = note[0]
		}
		return o
	}
	for _, tt := range []struct {
		name  string
		todos []object
		want  string
	}{
		{"empty", []object{}, "Task list updated: 0/0 done."},
		{
			"plain",
			[]object{task("a", "done"), task("b", "in_progress"), task("c", "pending", "soon")},
			"Task list updated: 1/3 done.\n[x] a\n[~] b\n[ ] c  (soon)",
		},
		{
			"two in progress",
			[]object{task("a", "in_progress"), task("b", "in_progress")},
			"Task list updated: 0/2 done.\n[~] a\n[~] b\nWarning: 2 tasks are in_progress: keep it to one.",
		},
		{
			"none in progress",
			[]object{task("a", "done"), task("b", "pending")},
			"Task list updated: 1/2 done.\n[x] a\n[ ] b\nWarning: No task is in_progress while work remains: mark the one you are on.",
		},
		{"all done", []object{task("a", "done")}, "Task list updated: 1/1 done.\n[x] a"},
		{"only blocked", []object{task("a", "blocked", "waits"), task("b", "done")}, "Task list updated: 1/2 done.\n[!] a  (waits)\n[x] b"},
		{
			"blocked without a note",
			[]object{task("a", "blocked", " "), task("b", "in_progress")},
			"Task list updated: 0/2 done.\n[!] a\n[~] b\nWarning: \"a\" is blocked but the reason is missing: say it in note.",
		},
		{"one line each", []object{task("a\nb\x1b[31m red\x1b[0m", "in_progress", "x\ny")}, "Task list updated: 0/1 done.\n[~] a b red  (x y)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t, nil)
			if got := k.ok("todo_write", object{"todos": tt.todos}); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if len(k.todos) != len(tt.todos) || k.todos == nil {
				t.Errorf("stored %v", k.todos)
			}
		})
	}
}

func TestTL02LongAndRefusedLists(t *testing.T) {
	k := newKit(t, nil)
	var many []object
	for i := range 400 {
		many = append(many, object{"content": fmt.Sprintf("%d %s", i, strings.Repeat("word ", 30)), "status": "done"})
	}
	got := k.ok("todo_write", object{"todos": many})
	if len(k.todos) != 400 || units(got) > limit+50 || !strings.Contains(got, "... [truncated ") {
		t.Errorf("%d stored, result of %d units", len(k.todos), units(got))
	}
	before := []transcript.Todo{{Content: "kept", Status: transcript.TodoPending}}
	k.todos = before
	k.fails("todo_write", object{"todos": []object{{"content": "a", "status": "later"}}}, "status: want pending, in_progress, done, blocked")
	if len(k.todos) != 1 {
		t.Errorf("a refused list was stored: %v", k.todos)
	}
}

func TestNotesAnswer(t *testing.T) {
	k := newKit(t, nil)
	calls := []struct {
		tool  string
		input object
		want  string
	}{
		{"remember", object{"kind": "fact", "text": "tests need go 1.26"}, "fact tests need go 1.26"},
		{"recall", object{"query": "go test"}, "go test"},
		{"forget", object{"text": "1.26"}, "1.26"},
	}
	for _, tt := range calls {
		if got := k.ok(tt.tool, tt.input); got != tt.want {
			t.Errorf("%s %v: %q, want %q", tt.tool, tt.input, got, tt.want)
		}
	}
	k.notes.err = errors.New("the text to forget is empty")
	for _, tt := range calls {
		k.fails(tt.tool, tt.input, "the text to forget is empty")
	}
}

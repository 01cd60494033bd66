package transcript

import (
	"encoding/json"
	"fmt"
	"strings"
)

// States of a task.
const (
	TodoPending    = "pending"
	TodoInProgress = "in_progress"
	TodoDone       = "done"
	TodoBlocked    = "blocked"
)

// A Todo is one entry of the task list.
type Todo struct {
	Content string `json:"content"`
	Status  string `json:"status"`
	Note    string `json:"note,omitempty"`
}

// KnownStatus reports whether s is one of the four states.
func KnownStatus(s string) bool {
	switch s {
	case TodoPending, TodoInProgress, TodoDone, TodoBlocked:
		return true
	}
	return false
}

// Mark returns the mark the terminal tool prints before the task.
func (t Todo) Mark() string {
	switch t.Status {
	case TodoInProgress:
		return "[~]"
	case TodoDone:
		return "[x]"
	case TodoBlocked:
		return "[!]"
	}
	return "[ ]"
}

// Line is the task on one line: mark, content, and the note in parentheses.
func (t Todo) Line() string {
	s := t.Mark() + " " + oneLine(t.Content)
	if n := oneLine(t.Note); n != "" {
		s += "  (" + n + ")"
	}
	return s
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Todos reads the task list of a notebook. Elements that are no tasks are left
// out; a malformed notebook is an empty list.
func Todos(notebook json.RawMessage) []Todo {
	var n struct {
		Todos []json.RawMessage `json:"todos"`
	}
	if json.Unmarshal(notebook, &n) != nil {
		return nil
	}
	var todos []Todo
	for _, raw := range n.Todos {
		var w struct {
			Content *string
			Status  string
			Note    any
		}
		if json.Unmarshal(raw, &w) != nil || w.Content == nil || !KnownStatus(w.Status) {
			continue
		}
		note, _ := w.Note.(string)
		todos = append(todos, Todo{Content: *w.Content, Status: w.Status, Note: note})
	}
	return todos
}

// Notebook returns the notebook that holds todos.
func Notebook(todos []Todo) json.RawMessage {
	b := []byte(`{"todos":[`)
	for i, t := range todos {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"content":%s,"status":%s`, quote(t.Content), quote(t.Status))
		if t.Note != "" {
			b = fmt.Appendf(b, `,"note":%s`, quote(t.Note))
		}
		b = append(b, '}')
	}
	return append(b, `]}`...)
}

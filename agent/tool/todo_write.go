package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"shiro/memory/transcript"
)

type todoWriteInput struct{ todos []json.RawMessage }

func (in *todoWriteInput) fields() inputs {
	return inputs{{
		name: "todos", into: &in.todos, required: true,
		about: "the complete list in order; it replaces the one before",
		items: todoFields(new(transcript.Todo)),
	}}
}

func todoFields(t *transcript.Todo) inputs {
	return inputs{
		{name: "content", into: &t.Content, required: true},
		{name: "status", into: &t.Status, required: true, enum: []string{
			transcript.TodoPending, transcript.TodoInProgress, transcript.TodoDone, transcript.TodoBlocked,
		}},
		{name: "note", into: &t.Note},
	}
}

func (s *set) todoWrite() Tool {
	return Tool{
		Name: "todo_write", Set: "session", Kind: "think",
		input:    blank[todoWriteInput],
		Describe: only("Update the task list", ""),
		Run:      s.runTodoWrite,
	}
}

func (s *set) runTodoWrite(_ context.Context, c Call) (string, error) {
	var in todoWriteInput
	if err := in.fields().decode(c.Input); err != nil {
		return "", err
	}
	todos := make([]transcript.Todo, len(in.todos))
	var faults []error
	for i, raw := range in.todos {
		t := &todos[i]
		if err := todoFields(t).decode(raw); err != nil {
			faults = append(faults, fmt.Errorf("todos[%d]: %w", i, err))
			continue
		}
		t.Content, t.Note = printed(t.Content), printed(t.Note)
		if t.Content == "" {
			faults = append(faults, fmt.Errorf("todos[%d]: content is empty", i))
		}
	}
	if len(faults) > 0 {
		return "", errors.Join(faults...)
	}
	s.Todos.Replace(todos)
	return taskReport(todos), nil
}

// printed is text as it would appear on a terminal, trimmed.
func printed(text string) string {
	var s screen
	_, _ = s.Write([]byte(text))
	_ = s.Close()
	return strings.TrimSpace(s.kept.text(limit, nil))
}

// taskReport is the list as it now stands, with warnings that refuse nothing.
func taskReport(todos []transcript.Todo) string {
	var done, active, blocked int
	var lines, warnings []string
	for _, t := range todos {
		lines = append(lines, t.Line())
		switch t.Status {
		case transcript.TodoDone:
			done++
		case transcript.TodoInProgress:
			active++
		case transcript.TodoBlocked:
			blocked++
			if t.Note == "" {
				warnings = append(warnings, fmt.Sprintf("%q is blocked but the reason is missing: say it in note.", excerpt(t.Content)))
			}
		}
	}
	switch left := len(todos) - done; {
	case active > 1:
		warnings = append([]string{fmt.Sprintf("%d tasks are in_progress: keep it to one.", active)}, warnings...)
	case active == 0 && left > 0 && blocked < left:
		warnings = append([]string{"No task is in_progress while work remains: mark the one you are on."}, warnings...)
	}
	out := append([]string{fmt.Sprintf("Task list updated: %d/%d done.", done, len(todos))}, lines...)
	if len(warnings) > 0 {
		out = append(out, "Warning: "+strings.Join(warnings, " "))
	}
	return strings.Join(out, "\n")
}

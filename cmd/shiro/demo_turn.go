package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	wire "shiro/lsp/protocol"
)

// follow shows what happens, and answers what is asked, until the turn ends.
func (d *demo) follow(ctx context.Context) error {
	for {
		e, at, err := d.WaitEvent(ctx, d.at, func(wire.Event) bool { return true })
		if err != nil {
			return err
		}
		d.at = at
		if err := d.take(ctx, e); err != nil {
			return err
		}
		if end, ok := e.Data.(wire.TurnCompleted); ok {
			return turnFault(end)
		}
	}
}

func turnFault(end wire.TurnCompleted) error {
	switch {
	case end.Error != nil:
		return errors.New("the turn failed: " + end.Error.Message)
	case end.Status != wire.TurnDone:
		return fmt.Errorf("the turn ended as %s (%s)", end.Status, end.StopReason)
	}
	return nil
}

func (d *demo) take(ctx context.Context, e wire.Event) error {
	switch data := e.Data.(type) {
	case wire.ItemDelta:
		d.stream(data)
	case wire.ItemEvent:
		if e.Type == wire.EventItemCompleted {
			return d.completed(ctx, data.Item)
		}
	case wire.Todo:
		d.showTasks(data)
	case wire.Context:
		d.gauge = data
	case wire.Approval:
		if data.ItemID == d.current {
			d.current = "" // asked anew about the same
		}
		d.asked = append(d.asked, data)
		return d.answerNext(ctx)
	case wire.Notice:
		d.entry(bold, "notice", data.Title)
	case wire.ProviderRetrying:
		d.entry(bold, "trying again", fmt.Sprintf("after attempt %d: %s", data.Attempt, data.Reason))
	}
	return nil
}

// stream prints what the model says, or a command prints, as it comes.
func (d *demo) stream(delta wire.ItemDelta) {
	first := d.shown != delta.ItemID
	switch delta.Channel {
	case wire.ChannelText:
		if first {
			d.head(green, "shiro:")
		}
		d.text(delta.Text)
	case wire.ChannelReasoning:
		if first {
			d.head(dim, "(thinks)")
		}
		d.style = dim
		d.text(delta.Text)
	case wire.ChannelStdout, wire.ChannelStderr:
		if first {
			d.finish()
		}
		d.verbatim(delta.Text)
	default:
		return
	}
	d.shown = delta.ItemID
}

// completed shows what is to be said of an item at its end, and goes on to the
// next question.
func (d *demo) completed(ctx context.Context, it wire.Item) error {
	d.finish()
	switch {
	case it.Kind == wire.ItemText && d.shown != it.ID:
		d.entry(green, "shiro:", it.Text)
	case it.Kind != wire.ItemTool || it.ToolName == "todo_write" && it.Status == wire.ItemCompleted:
	case it.Status != wire.ItemCompleted:
		d.line(red, strings.ReplaceAll(string(it.Status), "_", " "), it.Title+": "+firstLine(it.Output))
	case it.ToolKind == wire.ToolExecute:
		exit := firstLine(it.Output)
		d.exits = append(d.exits, strings.TrimPrefix(exit, "exit: "))
		d.line(dim, "", exit)
	case it.ToolKind == wire.ToolEdit:
		if err := d.save(); err != nil {
			return err
		}
		d.line(bold, "applied", it.Title+": in the editor's buffer, undoable there, and saved by the editor")
	default:
		d.head(bold, toolLabel(it))
		d.text(it.Title)
		d.finish()
	}
	d.shown = ""
	if it.ID != d.current {
		return nil
	}
	d.current = ""
	return d.answerNext(ctx)
}

func toolLabel(it wire.Item) string {
	if it.ToolName == "remember" {
		return "note"
	}
	return string(it.ToolKind)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func (d *demo) showTasks(list wire.Todo) {
	done := 0
	for _, t := range list.Entries {
		if t.Status == wire.TodoDone {
			done++
		}
	}
	d.head(bold, "task list")
	d.text(fmt.Sprintf("%d of %d done", done, len(list.Entries)))
	d.finish()
	marks := map[wire.TodoStatus]string{wire.TodoDone: "[x] ", wire.TodoInProgress: "[~] ", wire.TodoBlocked: "[!] "}
	for _, t := range list.Entries {
		mark, ok := marks[t.Status]
		if !ok {
			mark = "[ ] "
		}
		d.line(plain, "", mark+t.Text)
	}
}

func (d *demo) showGauge() {
	g := d.gauge
	d.entry(bold, "context", fmt.Sprintf("%s %d %% of %d tokens", bar(g.Percent), g.Percent, g.Threshold))
}

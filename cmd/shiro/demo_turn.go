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
	first := !d.streamed[delta.ItemID]
	switch delta.Channel {
	case wire.ChannelText:
		if first {
			d.head(green, "shiro:")
		}
		d.text(delta.Text)
	case wire.ChannelReasoning:
		if first {
			d.head(dim, "thinks")
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
	d.streamed[delta.ItemID] = true
}

// completed shows what is to be said of an item at its end, and goes on to the
// next question.
func (d *demo) completed(ctx context.Context, it wire.Item) error {
	d.finish()
	verb, what, _ := strings.Cut(it.Title, " ")
	switch {
	case it.Kind == wire.ItemText && !d.streamed[it.ID]:
		d.entry(green, "shiro:", it.Text)
	case it.Kind != wire.ItemTool:
	case it.Status != wire.ItemCompleted:
		d.entry(red, strings.ReplaceAll(string(it.Status), "_", " "), it.Title+": "+firstLine(it.Output))
	case it.ToolKind == wire.ToolExecute:
		exit := firstLine(it.Output)
		d.exits = append(d.exits, strings.TrimPrefix(exit, "exit: "))
		d.line(dim, "", exit)
	case it.ToolKind == wire.ToolEdit:
		saved, err := d.save()
		if err != nil {
			return err
		}
		if saved {
			what += ", in the editor's buffer; autosave wrote the file"
		}
		d.line(bold, "applied", what)
	case it.ToolName == "remember":
		d.entry(bold, "note", it.Output)
	case it.ToolName != "todo_write":
		d.entry(bold, strings.ToLower(verb), what)
	}
	if it.ID != d.current {
		return nil
	}
	d.current = ""
	return d.answerNext(ctx)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// showTasks shows the whole list when it is new, and then how far it is.
func (d *demo) showTasks(list wire.Todo) {
	done, now := 0, ""
	for _, t := range list.Entries {
		switch t.Status {
		case wire.TodoDone:
			done++
		case wire.TodoInProgress:
			now = ", now: " + t.Text
		}
	}
	known := len(list.Entries) == d.tasks
	if !known {
		now = ""
	}
	d.entry(bold, "task list", fmt.Sprintf("%d of %d done%s", done, len(list.Entries), now))
	if known {
		return
	}
	d.tasks = len(list.Entries)
	for _, t := range list.Entries {
		d.line(plain, "", taskMark(t.Status)+" "+t.Text)
	}
}

func taskMark(s wire.TodoStatus) string {
	switch s {
	case wire.TodoDone:
		return "[x]"
	case wire.TodoInProgress:
		return "[~]"
	case wire.TodoBlocked:
		return "[!]"
	}
	return "[ ]"
}

func (d *demo) showGauge() {
	g := d.gauge
	text := fmt.Sprintf("%s %d %% of %d tokens", bar(g.Percent), g.Percent, g.Threshold)
	if d.script != nil {
		text += ", set for the demo"
	}
	d.entry(bold, "context", text)
}

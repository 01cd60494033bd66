package lsp

import (
	"cmp"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"shiro/agent"
	wire "shiro/lsp/protocol"
)

// This file turns what package agent says into what stands on the wire.

func wireEvent(session string, e agent.Event) wire.Event {
	w := wire.Event{SessionID: session, Seq: int64(e.Seq), TurnID: e.Turn, TS: wire.TimestampOf(e.Time)}
	switch d := e.Data.(type) {
	case agent.ItemDelta:
		w.Type = wire.EventItemDelta
		w.Data = wire.ItemDelta{ItemID: d.Item, Channel: wire.Channel(d.Channel), From: int64(d.From), To: int64(d.From + len(d.Text)), Text: d.Text}
	case agent.SessionUpdated:
		w.Type, w.Data = wire.EventSessionUpdated, sessionInfo(d.Info)
	case agent.TurnStarted:
		started := wire.TurnStarted{Trigger: wire.TurnTrigger(d.Trigger), Input: []wire.Content{}}
		if d.Input != "" {
			started.Input = append(started.Input, wire.Content{Type: wire.ContentText, Text: d.Input})
		}
		w.Type, w.Data = wire.EventTurnStarted, started
	case agent.TurnCompleted:
		w.Type, w.Data = wire.EventTurnCompleted, turnCompleted(d)
	case agent.ItemStarted:
		w.Type, w.Data = wire.EventItemStarted, wire.ItemEvent{Item: wireItem(d.Item)}
	case agent.ItemUpdated:
		w.Type, w.Data = wire.EventItemUpdated, wire.ItemEvent{Item: wireItem(d.Item)}
	case agent.ItemCompleted:
		w.Type, w.Data = wire.EventItemCompleted, wire.ItemEvent{Item: wireItem(d.Item)}
	case agent.TodoUpdated:
		w.Type, w.Data = wire.EventTodoUpdated, wireTodo(d.Todo)
	case agent.ContextUpdated:
		w.Type, w.Data = wire.EventContextUpdated, wireContext(d.Context)
	case agent.ApprovalRequested:
		w.Type, w.Data = wire.EventApprovalRequested, wireApproval(session, d.Approval)
	case agent.ApprovalResolved:
		w.Type = wire.EventApprovalResolved
		w.Data = wire.ApprovalResolved{
			ApprovalID: d.Approval.ID, ItemID: d.Approval.Item, Outcome: wire.Outcome(d.Outcome),
			OptionID: d.Answer.Option, Feedback: d.Answer.Feedback, ResolvedBy: d.Answer.By,
		}
	case agent.QueueUpdated:
		w.Type, w.Data = wire.EventQueueUpdated, wireQueue(d.Queue)
	case agent.NotesChanged:
		w.Type, w.Data = wire.EventMemoryChanged, wire.MemoryChanged{Cwd: d.CWD, Count: d.Count, Hash: d.Hash}
	case agent.Retrying:
		w.Type = wire.EventProviderRetrying
		w.Data = wire.ProviderRetrying{Attempt: d.Attempt, DelayMs: d.Delay.Milliseconds(), WillRetry: true, Reason: d.Reason}
	case agent.Notice:
		w.Type = wire.EventNotice
		w.Data = wire.Notice{Level: wire.NoticeLevel(d.Level), Title: d.Title, Detail: d.Detail, DismissKey: d.Key}
	}
	return w
}

func turnCompleted(d agent.TurnCompleted) wire.TurnCompleted {
	w := wire.TurnCompleted{Status: wire.TurnStatus(d.Status), StopReason: wire.StopReason(d.Stop), DurationMs: d.Duration.Milliseconds()}
	if u := d.Usage; u.Known {
		w.Usage = &wire.Usage{In: u.Input, Cached: u.Cached, Out: u.Output, Reasoning: u.Reasoning, Cost: d.Cost}
	}
	for _, c := range d.Changed {
		w.ChangedFiles = append(w.ChangedFiles, wire.ChangedFile{URI: uriOf(c.Path), Added: c.Added, Removed: c.Removed})
	}
	if d.Failure != nil {
		w.Error = turnError(d.Failure)
	}
	return w
}

func wireItems(items []agent.Item) []wire.Item {
	all := make([]wire.Item, len(items))
	for i, it := range items {
		all[i] = wireItem(it)
	}
	return all
}

func wireItem(it agent.Item) wire.Item {
	w := wire.Item{
		ID: it.ID, Kind: wire.ItemKind(it.Kind), TurnID: it.Turn, Status: wire.ItemStatus(it.Status),
		Text: it.Text, Withdrawn: it.Withdrawn, Error: it.Error,
	}
	if it.Kind != agent.ToolItem {
		return w
	}
	w.Title, w.ToolName, w.ToolKind = it.Shown.Title, it.Tool, wire.ToolKind(it.Class)
	if len(it.Input) <= wire.InlineOutput { // else by item/get
		w.Input = it.Input
	}
	w.Output = it.Output
	if len(w.Output) > wire.InlineOutput {
		n := wire.InlineOutput
		for !utf8.RuneStart(w.Output[n]) {
			n--
		}
		w.Output = w.Output[:n]
		w.OutputRef = &wire.OutputRef{Channel: wire.ChannelOutput, Size: int64(len(it.Output))}
	}
	if w.Error != "" {
		w.Error = w.Output
	}
	for _, l := range it.Shown.Locations {
		if !filepath.IsAbs(l.Path) {
			continue
		}
		loc := wire.Location{URI: uriOf(l.Path)}
		if l.Line > 0 {
			line := uint32(l.Line - 1)
			loc.Line = &line
		}
		w.Locations = append(w.Locations, loc)
	}
	return w
}

func wireTodo(t agent.Todo) wire.Todo {
	w := wire.Todo{Rev: t.Rev, Entries: make([]wire.TodoEntry, len(t.Entries))}
	for i, e := range t.Entries {
		w.Entries[i] = wire.TodoEntry{Text: e.Content, Status: wire.TodoStatus(e.Status), Note: e.Note}
	}
	return w
}

func wireContext(c agent.Context) wire.Context {
	return wire.Context{
		Tokens: c.Tokens, Threshold: c.Threshold, Percent: c.Percent, Level: wire.ContextLevel(c.Level),
		Window: c.Window, Used: int(c.Measured), Cost: c.Cost,
		Breakdown: wire.ContextBreakdown{System: c.System, Tools: c.Tools, History: c.History, ToolOutput: c.ToolOutput},
	}
}

func wireQueue(q []agent.Queued) wire.Queue {
	w := wire.Queue{Entries: make([]wire.QueueEntry, len(q))}
	for i, e := range q {
		w.Entries[i] = wire.QueueEntry{QueueID: e.ID, Text: e.Text}
	}
	return w
}

func sessionInfo(i agent.Info) wire.SessionInfo {
	r := i.Record
	return wire.SessionInfo{
		ID: r.ID, Title: cmp.Or(r.Name, r.Title), Cwd: r.CWD, CreatedAt: wire.Timestamp(r.CreatedAt), UpdatedAt: wire.Timestamp(r.UpdatedAt),
		State: wire.SessionState(i.State), Turns: i.Turns, Messages: i.Count, Model: r.Model,
		Tokens: wire.SessionTokens{Input: r.InputTokens, Output: r.OutputTokens}, CostUSD: r.CostUSD,
		Preview: strings.Join(strings.Fields(i.Preview), " "), ParentID: r.ParentID, Archived: r.Archived,
	}
}

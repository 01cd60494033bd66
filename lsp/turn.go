package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"shiro/agent"
	wire "shiro/lsp/protocol"
)

func (s *Server) turnStart(ctx context.Context, p *wire.TurnStartParams) (*wire.TurnStartResult, error) {
	editor := editorText(p.EditorContext)
	defer s.afterOthers(ctx, p.SessionID)()
	sess, err := s.live(p.SessionID)
	if err != nil {
		return nil, err
	}
	text, typed, err := promptText(p.Input)
	if err != nil {
		return nil, err
	}
	turn, queued, err := sess.Start(agent.Prompt{
		Text: text, Typed: typed, Model: p.Model, Effort: p.Effort, Editor: editor,
		Queue: p.WhenBusy != wire.WhenBusyError, Request: p.ClientRequestID,
	})
	switch {
	case errors.Is(err, agent.ErrBusy), errors.Is(err, agent.ErrQueueFull):
		n := len(sess.Queue())
		e := fail(wire.KindTurnBusy, "%v", err)
		e.Data = wire.ErrorData{Kind: wire.KindTurnBusy, Retryable: true, ActiveTurnID: turn, Queued: &n}
		return nil, e
	case errors.Is(err, agent.ErrNoCommand):
		return nil, fail(wire.KindInvalidParams, "params.input: %v", err)
	case errors.Is(err, agent.ErrRepeated):
		e := fail(wire.KindDuplicateRequest, "%v", err)
		e.Data = wire.ErrorData{Kind: wire.KindDuplicateRequest, ClientRequestID: p.ClientRequestID}
		return nil, e
	case err != nil:
		return nil, err
	}
	res := &wire.TurnStartResult{TurnID: turn, Disposition: wire.DispositionStarted}
	if queued != "" {
		res.Disposition, res.QueueID = wire.DispositionQueued, queued
	}
	return res, nil
}

func (s *Server) turnInterrupt(ctx context.Context, p *wire.TurnInterruptParams) (*wire.TurnInterruptResult, error) {
	defer s.afterOthers(ctx, p.SessionID)()
	sess, err := s.live(p.SessionID)
	if err != nil {
		return nil, err
	}
	discarded, running := sess.Interrupt(p.TurnID)
	if p.TurnID != "" && running != p.TurnID {
		e := fail(wire.KindTurnMismatch, "turn %s does not run", p.TurnID)
		e.Data = wire.ErrorData{Kind: wire.KindTurnMismatch, Expected: p.TurnID, Actual: running}
		return nil, e
	}
	if discarded == nil {
		discarded = []string{}
	}
	return &wire.TurnInterruptResult{Discarded: discarded}, nil
}

// promptText is the blocks of a prompt as one text, which is how the terminal
// tool stores it, and the same without what documents say.
func promptText(input []wire.Content) (text, typed string, err error) {
	var parts, own []string
	for i, c := range input {
		switch c.Type {
		case wire.ContentText:
			parts, own = append(parts, c.Text), append(own, c.Text)
		case wire.ContentResourceLink:
			at := "@" + place(c.URI)
			parts, own = append(parts, at), append(own, at)
		case wire.ContentResource:
			if c.Resource == nil {
				return "", "", fail(wire.KindInvalidParams, "params.input[%d].resource is missing", i)
			}
			at := "@" + place(c.Resource.URI)
			parts, own = append(parts, fmt.Sprintf("%s:\n```\n%s\n```", at, strings.TrimSuffix(c.Resource.Text, "\n"))), append(own, at)
		default:
			return "", "", fail(wire.KindInvalidParams, "params.input[%d].type: %q is not supported", i, c.Type)
		}
	}
	text = strings.ToValidUTF8(strings.Join(parts, "\n"), "\uFFFD")
	if strings.TrimSpace(text) == "" {
		return "", "", fail(wire.KindInvalidParams, "params.input: the prompt is empty")
	}
	return text, strings.ToValidUTF8(strings.Join(own, "\n"), "\uFFFD"), nil
}

func place(uri string) string {
	if path, ok := pathOf(uri); ok {
		return path
	}
	return uri
}

// editorText tells the model what the user has before their eyes.
func editorText(c *wire.EditorContext) string {
	if c == nil {
		return ""
	}
	var b strings.Builder
	if c.ActiveURI != "" {
		fmt.Fprintf(&b, "Active file: %s", place(c.ActiveURI))
		if r := c.Selection; r != nil && r.Start != r.End {
			fmt.Fprintf(&b, ", lines %d-%d selected", r.Start.Line+1, r.End.Line+1)
		} else if r != nil {
			fmt.Fprintf(&b, ", cursor at line %d", r.Start.Line+1)
		}
		b.WriteByte('\n')
	}
	if open := c.OpenURIs[:min(len(c.OpenURIs), wire.MaxOpenURIs)]; len(open) > 0 {
		b.WriteString("Open files:")
		for _, u := range open {
			b.WriteString(" " + place(u))
		}
		b.WriteByte('\n')
	}
	for _, d := range c.Diagnostics[:min(len(c.Diagnostics), wire.MaxDiagnostics)] {
		severity := [...]string{"problem", "error", "warning", "information", "hint"}
		kind := severity[0]
		if d.Severity > 0 && d.Severity < len(severity) {
			kind = severity[d.Severity]
		}
		fmt.Fprintf(&b, "%s:%d: %s: %s\n", place(d.URI), d.Range.Start.Line+1, kind, strings.Join(strings.Fields(d.Message), " "))
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

func (s *Server) itemGet(_ context.Context, p *wire.ItemGetParams) (*wire.ItemGetResult, error) {
	sess, err := s.live(p.SessionID)
	if err != nil {
		return nil, err
	}
	it, live, ok := sess.Item(p.ItemID)
	if !ok {
		return nil, fail(wire.KindInvalidParams, "params.itemId: session %s has no item %q", p.SessionID, p.ItemID)
	}
	if p.Channel == "" {
		w := wireItem(it)
		return &wire.ItemGetResult{Item: &w}, nil
	}
	text, begin := channelText(it, live, p.Channel)
	limit := p.Limit
	if limit <= 0 {
		limit = wire.InlineOutput
	}
	return page(text, begin, p.Offset, min(limit, wire.MaxItemPage)), nil
}

// channelText returns the text of a channel and the offset it begins at.
func channelText(it agent.Item, live []agent.LiveText, c wire.Channel) (text string, begin int64) {
	for _, l := range live {
		if l.Channel == string(c) {
			return l.Text, int64(l.To - len(l.Text))
		}
	}
	switch {
	case c == wire.ChannelArgs:
		return string(it.Input), 0
	case c == wire.ChannelOutput:
		return it.Output, 0
	case string(c) == string(it.Kind):
		return it.Text, 0
	}
	return "", 0
}

// page cuts limit bytes at offset out of text, which begins at byte begin of
// its channel, without splitting a character.
func page(text string, begin, offset int64, limit int) *wire.ItemGetResult {
	size := begin + int64(len(text))
	from := min(max(offset, begin), size)
	rest := text[from-begin:]
	for len(rest) > 0 && !utf8.RuneStart(rest[0]) {
		rest, from = rest[1:], from+1
	}
	n := min(limit, len(rest))
	for n > 0 && n < len(rest) && !utf8.RuneStart(rest[n]) {
		n--
	}
	if n == 0 { // a page holds one character at least
		_, n = utf8.DecodeRuneInString(rest)
	}
	to := from + int64(n)
	return &wire.ItemGetResult{Text: rest[:n], From: from, To: to, Size: size, More: to < size}
}

func (s *Server) schema(context.Context, *wire.Empty) (json.RawMessage, error) {
	return wire.Schema(), nil
}

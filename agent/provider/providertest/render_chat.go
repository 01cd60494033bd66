package providertest

type chatDelta struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	Refusal   string     `json:"refusal,omitempty"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
}

type chatCall struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chatChoice struct {
	Index   int        `json:"index"`
	Delta   *chatDelta `json:"delta,omitempty"`
	Message *chatDelta `json:"message,omitempty"`
	Finish  *string    `json:"finish_reason"`
}

type chatDocument struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   any          `json:"usage,omitempty"`
}

func (s *Server) renderChat(model string, stream bool, step Step, u *Usage) answer {
	doc := chatDocument{ID: s.newID("chatcmpl"), Object: "chat.completion.chunk", Created: 1700000000, Model: model}
	finish := step.finish
	if finish == "" {
		finish = "stop"
		for _, p := range step.pieces {
			if p.kind == callPiece {
				finish = "tool_calls"
			}
		}
	}
	if !stream {
		doc.Object, doc.Usage = "chat.completion", chatUsage(u)
		doc.Choices = []chatChoice{{Message: s.chatMessage(step), Finish: &finish}}
		return answer{whole: doc}
	}
	a := answer{streams: true}
	chunk := func(d chatDelta, finish *string, isDelta bool) {
		doc.Choices = []chatChoice{{Delta: &d, Finish: finish}}
		a.frames = append(a.frames, frame{"data: " + mustJSON(doc) + "\n\n", isDelta})
	}
	empty := ""
	chunk(chatDelta{Role: "assistant", Content: &empty}, nil, false)
	calls := 0
	for _, p := range step.pieces {
		if p.kind == callPiece {
			index := calls
			calls++
			head := chatCall{Index: &index, ID: s.callID(p), Type: "function"}
			head.Function.Name = p.name
			chunk(chatDelta{ToolCalls: []chatCall{head}}, nil, false)
			for _, d := range step.deltas(p.text) {
				next := chatCall{Index: &index}
				next.Function.Arguments = d
				chunk(chatDelta{ToolCalls: []chatCall{next}}, nil, true)
			}
			continue
		}
		for _, d := range step.deltas(p.text) {
			chunk(chatText(p.kind, d), nil, true)
		}
	}
	if step.fails {
		e := map[string]any{"error": map[string]any{"message": step.failText, "code": step.failCode}}
		a.frames = append(a.frames, frame{"data: " + mustJSON(e) + "\n\n", false})
		return a
	}
	chunk(chatDelta{}, &finish, false)
	if u != nil {
		doc.Choices, doc.Usage = []chatChoice{}, chatUsage(u)
		a.frames = append(a.frames, frame{"data: " + mustJSON(doc) + "\n\n", false})
	}
	a.frames = append(a.frames, frame{"data: [DONE]\n\n", false})
	return a
}

func chatText(kind pieceKind, text string) chatDelta {
	switch kind {
	case reasoningPiece:
		return chatDelta{Reasoning: text}
	case refusalPiece:
		return chatDelta{Refusal: text}
	}
	return chatDelta{Content: &text}
}

// chatMessage is the whole answer as one message.
func (s *Server) chatMessage(step Step) *chatDelta {
	m := &chatDelta{Role: "assistant"}
	text := ""
	for _, p := range step.pieces {
		switch p.kind {
		case textPiece:
			text += p.text
		case reasoningPiece:
			m.Reasoning += p.text
		case refusalPiece:
			m.Refusal += p.text
		case callPiece:
			c := chatCall{ID: s.callID(p), Type: "function"}
			c.Function.Name, c.Function.Arguments = p.name, p.text
			m.ToolCalls = append(m.ToolCalls, c)
		}
	}
	m.Content = &text
	return m
}

func (s *Server) callID(p piece) string {
	if p.id != "" {
		return p.id
	}
	return s.newID("call")
}

func chatUsage(u *Usage) any {
	if u == nil {
		return nil
	}
	return map[string]any{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     map[string]any{"cached_tokens": u.Cached},
		"completion_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
	}
}

package provider

import (
	"slices"

	"shiro/memory/transcript"
)

// alternating is the history and its trailer for servers whose models know
// nothing but turns: a user message that follows another one, or a tool result,
// becomes a part of it. Many local models come with such a template.
func alternating(messages []*transcript.Message, trailer string) []*transcript.Message {
	list := make([]*transcript.Message, 0, len(messages)+1)
	add := func(m *transcript.Message) {
		if n := len(list); n > 0 && m.Role == transcript.RoleUser && m.Parts == nil {
			if joined := extended(list[n-1], m.Text); joined != nil {
				list[n-1] = joined
				return
			}
		}
		list = append(list, m)
	}
	for _, m := range messages {
		add(m)
	}
	if trailer != "" {
		add(transcript.User(trailer))
	}
	return list
}

// extended is m with text at its end, or nil where it has no place for it.
func extended(m *transcript.Message, text string) *transcript.Message {
	switch {
	case m.Role == transcript.RoleUser && m.Parts == nil:
		return transcript.User(m.Text + "\n\n" + text)
	case m.Role == transcript.RoleTool:
		parts := slices.Clone(m.Parts)
		for i, p := range slices.Backward(parts) {
			if p.Type == transcript.TypeToolResult {
				parts[i].Output = transcript.Output{Type: transcript.OutputText, Text: outputText(p.Output) + "\n\n" + text}
				return transcript.Tool(parts...)
			}
		}
	}
	return nil
}

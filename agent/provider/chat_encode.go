package provider

import (
	"strings"

	"shiro/memory/transcript"
)

func (f form) appendChat(dst []byte, m *transcript.Message) []byte {
	switch m.Role {
	case transcript.RoleUser:
		return appendChatUser(dst, userParts(m))
	case transcript.RoleAssistant:
		return f.appendChatAnswer(dst, assistantParts(m))
	}
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Type == transcript.TypeToolResult {
			dst = appendQuoted(append(comma(dst), `{"role":"tool","tool_call_id":`...), cleanID(p.ToolCallID))
			dst = appendQuoted(append(dst, `,"content":`...), outputText(p.Output))
			dst = append(dst, '}')
		}
	}
	return dst
}

// appendChatUser writes a plain string where it can: few servers take lists.
func appendChatUser(dst []byte, parts []userPart) []byte {
	if len(parts) == 1 && parts[0].url == "" {
		if parts[0].text == "" {
			return dst
		}
		dst = appendQuoted(append(dst, `{"role":"user","content":`...), parts[0].text)
		return append(dst, '}')
	}
	start := len(dst)
	dst = append(dst, `{"role":"user","content":[`...)
	empty := len(dst)
	for _, p := range parts {
		if p.text == "" && p.url == "" {
			continue
		}
		if len(dst) > empty {
			dst = append(dst, ',')
		}
		if p.url != "" {
			dst = appendQuoted(append(dst, `{"type":"image_url","image_url":{"url":`...), p.url)
			dst = append(dst, `}}`...)
		} else {
			dst = appendQuoted(append(dst, `{"type":"text","text":`...), p.text)
			dst = append(dst, '}')
		}
	}
	if len(dst) == empty {
		return dst[:start]
	}
	return append(dst, `]}`...)
}

func (f form) appendChatAnswer(dst []byte, parts []transcript.Part) []byte {
	parts = replayed(parts)
	if len(parts) == 0 {
		return dst
	}
	var texts, thoughts []string
	calls := 0
	for i := range parts {
		switch p := &parts[i]; p.Type {
		case transcript.TypeText:
			texts = append(texts, p.Text)
		case transcript.TypeReasoning:
			if f.echo && f.ownThought(p) {
				thoughts = append(thoughts, p.Text)
			}
		case transcript.TypeToolCall:
			calls++
		}
	}
	dst = append(dst, `{"role":"assistant","content":`...)
	if len(texts) > 0 {
		dst = appendQuoted(dst, strings.Join(texts, "\n\n"))
	} else {
		dst = append(dst, `null`...)
	}
	if calls > 0 {
		if f.echo { // demanded on every turn with calls, so empty where another model made them
			dst = appendQuoted(append(dst, `,"reasoning_content":`...), strings.Join(thoughts, "\n\n"))
		}
		dst = appendChatCalls(append(dst, `,"tool_calls":[`...), parts)
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

func appendChatCalls(dst []byte, parts []transcript.Part) []byte {
	first := true
	for i := range parts {
		p := &parts[i]
		if p.Type != transcript.TypeToolCall {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendQuoted(append(dst, `{"id":`...), cleanID(p.ToolCallID))
		dst = appendQuoted(append(dst, `,"type":"function","function":{"name":`...), cleanName(p.ToolName))
		dst = appendArguments(append(dst, `,"arguments":`...), p.Input)
		dst = append(dst, `}}`...)
	}
	return dst
}

// ownThought reports whether reasoning may go back to the server asked: it is
// not known to come from another one.
func (f form) ownThought(p *transcript.Part) bool {
	o := readOptions(p)
	if o.OpenAI.ItemID != "" || o.OpenAI.Encrypted != "" || len(o.Anthropic) > 0 {
		return false
	}
	return o.Shiro.Origin == "" || o.Shiro.Origin == f.origin
}

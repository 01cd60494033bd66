package provider

import (
	"slices"

	"shiro/memory/transcript"
)

func (f form) appendItems(dst []byte, m *transcript.Message) []byte {
	switch m.Role {
	case transcript.RoleUser:
		return appendUserItem(dst, userParts(m))
	case transcript.RoleAssistant:
		return f.appendAnswer(dst, assistantParts(m))
	}
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Type == transcript.TypeToolResult {
			dst = appendQuoted(append(comma(dst), `{"type":"function_call_output","call_id":`...), cleanID(p.ToolCallID))
			dst = appendQuoted(append(dst, `,"output":`...), outputText(p.Output))
			dst = append(dst, '}')
		}
	}
	return dst
}

// comma separates the items that one message becomes.
func comma(dst []byte) []byte {
	if len(dst) > 0 {
		return append(dst, ',')
	}
	return dst
}

func appendUserItem(dst []byte, parts []userPart) []byte {
	start := len(dst)
	dst = append(dst, `{"type":"message","role":"user","content":[`...)
	empty := len(dst)
	for _, p := range parts {
		if p.text == "" && p.url == "" {
			continue
		}
		if len(dst) > empty {
			dst = append(dst, ',')
		}
		if p.url != "" {
			dst = appendQuoted(append(dst, `{"type":"input_image","image_url":`...), p.url)
		} else {
			dst = appendQuoted(append(dst, `{"type":"input_text","text":`...), p.text)
		}
		dst = append(dst, '}')
	}
	if len(dst) == empty {
		return dst[:start]
	}
	return append(dst, `]}`...)
}

// appendAnswer encodes an assistant message. Its reasoning goes back only as a
// whole: an item id without the reasoning it depends on is refused, and so is
// reasoning that another server encrypted. Then the content goes without ids.
func (f form) appendAnswer(dst []byte, parts []transcript.Part) []byte {
	parts = replayed(parts)
	if len(parts) == 0 {
		return dst
	}
	opts := make([]partOptions, len(parts))
	for i := range parts {
		opts[i] = readOptions(&parts[i])
	}
	if f.replaysItems(parts, opts) {
		return f.appendWhole(dst, parts, opts)
	}
	// Text first: strict servers want nothing between calls and their outputs.
	for _, wanted := range [...]string{transcript.TypeText, transcript.TypeToolCall} {
		for i := range parts {
			if parts[i].Type == wanted {
				o := opts[i]
				o.OpenAI.ItemID = ""
				dst = f.appendContent(dst, parts[i:i+1], &o)
			}
		}
	}
	return dst
}

// replayed keeps the parts that can go back: reasoning, text that says
// something, calls. Reasoning that nothing follows is dropped.
func replayed(parts []transcript.Part) []transcript.Part {
	kept := slices.Clone(parts)
	kept = slices.DeleteFunc(kept, func(p transcript.Part) bool {
		switch p.Type {
		case transcript.TypeReasoning:
			return false
		case transcript.TypeText:
			return blank(p.Text)
		case transcript.TypeToolCall:
			return p.ProviderExecuted
		}
		return true
	})
	for len(kept) > 0 && kept[len(kept)-1].Type == transcript.TypeReasoning {
		kept = kept[:len(kept)-1]
	}
	return kept
}

// replaysItems reports whether a message's items can go back as the server made
// them: every reasoning item is known by id and either stored by the server or
// here in a form it can read, in an order that strict servers accept.
func (f form) replaysItems(parts []transcript.Part, opts []partOptions) bool {
	reasoning, called := false, false
	for i := 0; i < len(parts); i++ {
		o := &opts[i]
		switch parts[i].Type {
		case transcript.TypeReasoning:
			reasoning = true
			n := run(parts, opts, i)
			maker, encrypted := "", ""
			for _, g := range opts[i : i+n] {
				if g.OpenAI.Encrypted != "" {
					maker, encrypted = g.Shiro.Origin, g.OpenAI.Encrypted
				}
			}
			if o.OpenAI.ItemID == "" || !f.refs && encrypted == "" || !f.trust.allows(maker, f.origin) {
				return false
			}
			i += n - 1
		case transcript.TypeText:
			if called {
				return false
			}
		case transcript.TypeToolCall:
			called = true
		}
	}
	return reasoning || f.refs
}

// run is how many parts from i on are of one item.
func run(parts []transcript.Part, opts []partOptions, i int) int {
	n := 1
	for id := opts[i].OpenAI.ItemID; id != "" && i+n < len(parts) && parts[i+n].Type == parts[i].Type && opts[i+n].OpenAI.ItemID == id; n++ {
	}
	return n
}

// appendWhole encodes a message item by item, with the ids.
func (f form) appendWhole(dst []byte, parts []transcript.Part, opts []partOptions) []byte {
	for i := 0; i < len(parts); {
		n := run(parts, opts, i)
		switch id := opts[i].OpenAI.ItemID; {
		case f.refs && id != "":
			dst = appendQuoted(append(comma(dst), `{"type":"item_reference","id":`...), id)
			dst = append(dst, '}')
		case parts[i].Type == transcript.TypeReasoning:
			dst = appendReasoning(dst, parts[i:i+n], opts[i:i+n])
		default:
			dst = f.appendContent(dst, parts[i:i+n], &opts[i])
		}
		i += n
	}
	return dst
}

func appendReasoning(dst []byte, parts []transcript.Part, opts []partOptions) []byte {
	dst = appendQuoted(append(comma(dst), `{"type":"reasoning","id":`...), opts[0].OpenAI.ItemID)
	dst = append(dst, `,"summary":[`...) // required even when empty
	empty, encrypted := len(dst), ""
	for i := range parts {
		if e := opts[i].OpenAI.Encrypted; e != "" {
			encrypted = e
		}
		if parts[i].Text == "" {
			continue
		}
		if len(dst) > empty {
			dst = append(dst, ',')
		}
		dst = appendQuoted(append(dst, `{"type":"summary_text","text":`...), parts[i].Text)
		dst = append(dst, '}')
	}
	dst = appendQuoted(append(dst, `],"encrypted_content":`...), encrypted)
	return append(dst, '}')
}

// appendContent encodes one text item or one call, with its id when o has one.
func (f form) appendContent(dst []byte, parts []transcript.Part, o *partOptions) []byte {
	p := &parts[0]
	if p.Type == transcript.TypeText {
		dst = append(comma(dst), `{"type":"message","role":"assistant"`...)
	} else {
		dst = append(comma(dst), `{"type":"function_call"`...)
	}
	if o.OpenAI.ItemID != "" {
		dst = appendQuoted(append(dst, `,"id":`...), o.OpenAI.ItemID)
	}
	if p.Type == transcript.TypeToolCall {
		dst = appendQuoted(append(dst, `,"call_id":`...), cleanID(p.ToolCallID))
		dst = appendQuoted(append(dst, `,"name":`...), cleanName(p.ToolName))
		dst = appendArguments(append(dst, `,"arguments":`...), p.Input)
		return append(dst, '}')
	}
	if o.OpenAI.Phase != "" && !f.noPhase {
		dst = appendQuoted(append(dst, `,"phase":`...), o.OpenAI.Phase)
	}
	dst = append(dst, `,"content":[`...)
	for i := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendQuoted(append(dst, `{"type":"output_text","text":`...), parts[i].Text)
		dst = append(dst, '}')
	}
	return append(dst, `]}`...)
}

package providertest

import (
	"encoding/json"
	"fmt"
)

// checkMessages covers V1, V4, V5, V6 and the message members of V9 for chat.
func (s *Server) checkMessages(messages []object) *refusal {
	pairs := newPairing()
	before := ""
	for i, m := range messages {
		at := fmt.Sprintf("messages[%d]", i)
		role := m.text("role")
		if s.opts.Flavour.StrictTurns && role == "user" && (before == "user" || before == "tool") {
			return breaks("V9", at+".role", "Conversation roles must alternate user/assistant/user/assistant/...")
		}
		before = role
		if role == "tool" {
			if no := pairs.output(m.text("tool_call_id"), at+".tool_call_id"); no != nil {
				return no
			}
			if _, no := checkContent(m["content"], at+".content", "text"); no != nil {
				return no
			}
			continue
		}
		if no := pairs.settled(at); no != nil {
			return no
		}
		var no *refusal
		switch role {
		case "system", "developer":
			no = s.checkSystem(m, role, at)
		case "user":
			no = checkUser(m, at, "text", "image_url", "file")
		case "assistant":
			no = s.checkAnswer(m, at, pairs)
		default:
			no = breaks("shape", at+".role", "Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user' and 'tool'.", role)
		}
		if no != nil {
			return no
		}
	}
	return pairs.settled("messages")
}

func (s *Server) checkSystem(m object, role, at string) *refusal {
	if s.refuses(role) {
		return breaks("V9", at+".role", "Unsupported value: '%s.role' does not support '%s' with this model.", at, role)
	}
	return checkUser(m, at, "text", "input_text")
}

func checkUser(m object, at string, types ...string) *refusal {
	said, no := checkContent(m["content"], at+".content", types...)
	if no == nil && !said {
		no = breaks("V4", at+".content", "Invalid '%s.content': it is empty.", at)
	}
	return no
}

func (s *Server) checkAnswer(m object, at string, pairs *pairing) *refusal {
	said := false
	if m.has("content") {
		var no *refusal
		if said, no = checkContent(m["content"], at+".content", "text", "refusal"); no != nil {
			return no
		}
	}
	var calls []object
	if m.has("tool_calls") && json.Unmarshal(m["tool_calls"], &calls) != nil {
		return breaks("shape", at+".tool_calls", "Invalid type for '%s.tool_calls'.", at)
	}
	if m.has("tool_calls") && len(calls) == 0 {
		return breaks("V4", at+".tool_calls", "Invalid '%s.tool_calls': empty array.", at)
	}
	if !said && len(calls) == 0 {
		return breaks("V4", at, "Invalid assistant message: content or tool_calls must be set.")
	}
	if m.has("reasoning_content") && s.refuses("reasoning_content") {
		return breaks("V9", at, "'%s': property 'reasoning_content' is unsupported.", at)
	}
	if s.opts.Flavour.EchoesReasoning && len(calls) > 0 && !m.has("reasoning_content") {
		return breaks("V9", at, "Missing reasoning_content in the assistant message at index %s.", at)
	}
	for i, c := range calls {
		if no := checkChatCall(c, fmt.Sprintf("%s.tool_calls[%d]", at, i), pairs); no != nil {
			return no
		}
	}
	return nil
}

func checkChatCall(c object, at string, pairs *pairing) *refusal {
	if c.text("type") != "function" {
		return breaks("shape", at+".type", "Invalid value for '%s.type'.", at)
	}
	if no := pairs.call(c.text("id"), at+".id"); no != nil {
		return no
	}
	var f object
	json.Unmarshal(c["function"], &f)
	if name := f.text("name"); !goodName(name) {
		return breaks("V6", at+".function.name", "Invalid '%s.function.name': %q does not match ^[A-Za-z0-9_-]{1,64}$.", at, name)
	}
	return checkArguments(f["arguments"], at+".function.arguments")
}

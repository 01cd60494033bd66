package prune

import (
	"slices"

	"shiro/memory/transcript"
)

// NoResult stands in on the wire for the result of a call that has none.
const NoResult = "No result: the call was interrupted before it finished, or was never decided. Its effects are unknown."

// Repair returns messages as a strict model server accepts them: every result
// follows its call, every call has one result before the next user or
// assistant message, and nothing answers a call that is not there. A call
// without a result gets a stand-in; it stays as it is in the transcript, where
// it may be a suspended approval. Healthy messages are returned as they are,
// and a healthy transcript is returned itself.
func Repair(messages []*transcript.Message) []*transcript.Message {
	var out []*transcript.Message // nil while nothing had to change
	for i := 0; i < len(messages); {
		end := i + 1
		var calls []transcript.Part
		if messages[i].Role == transcript.RoleAssistant {
			calls = messages[i].Parts
			for end < len(messages) && messages[end].Role == transcript.RoleTool {
				end++
			}
		}
		run := messages[i:end]
		fixed := repairRun(run, calls)
		if fixed != nil && out == nil {
			out = slices.Clone(messages[:i])
		}
		if out != nil {
			if fixed == nil {
				fixed = run
			}
			out = append(out, fixed...)
		}
		i = end
	}
	if out == nil {
		return messages
	}
	return out
}

// repairRun mends one message and the tool messages after it. It returns nil
// when there is nothing to mend.
func repairRun(run []*transcript.Message, calls []transcript.Part) []*transcript.Message {
	healthy := true
	answered := make(map[string]bool)
	fixed := make([]*transcript.Message, 0, len(run)+1)
	for _, m := range run {
		if m.Role != transcript.RoleTool {
			fixed = append(fixed, m)
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(m.Parts), func(p transcript.Part) bool {
			if p.Type != transcript.TypeToolResult && p.Type != "tool-error" {
				return false
			}
			drop := answered[p.ToolCallID] || !isCall(calls, p.ToolCallID)
			answered[p.ToolCallID] = true
			return drop
		})
		if len(kept) == len(m.Parts) {
			fixed = append(fixed, m)
			continue
		}
		healthy = false
		if len(kept) > 0 {
			fixed = append(fixed, transcript.Tool(kept...))
		}
	}
	var missing []transcript.Part
	for _, c := range calls {
		if c.Type == transcript.TypeToolCall && !c.ProviderExecuted && !answered[c.ToolCallID] {
			out := transcript.Output{Type: transcript.OutputErrorText, Text: NoResult}
			missing = append(missing, transcript.Result(c, out, false))
		}
	}
	if len(missing) > 0 {
		return append(fixed, transcript.Tool(missing...))
	}
	if healthy {
		return nil
	}
	return fixed
}

func isCall(parts []transcript.Part, id string) bool {
	return slices.ContainsFunc(parts, func(p transcript.Part) bool {
		return p.Type == transcript.TypeToolCall && p.ToolCallID == id
	})
}

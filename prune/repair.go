package prune

import (
	"fmt"
	"slices"

	"shiro/memory/transcript"
)

// NoResult stands in on the wire for the result of a call that has none.
const NoResult = "No result: the call was interrupted before it finished, or was never decided. Its effects are unknown."

// Repair returns messages as a strict model server accepts them: every result
// follows its call, every call has one result before the next user or
// assistant message, nothing answers a call that is not there, and no id names
// calls of two messages. A call without a result gets a stand-in; it stays as
// it is in the transcript, where it may be a suspended approval. Healthy
// messages are returned as they are, and a healthy transcript is returned
// itself.
func Repair(messages []*transcript.Message) []*transcript.Message {
	var out []*transcript.Message // nil while nothing had to change
	seen := make(map[string]bool) // ids of earlier calls
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
		if !healthy(run, calls) {
			if out == nil {
				out = slices.Clone(messages[:i])
			}
			run = repairRun(run, calls)
		}
		if repeats(seen, calls) {
			if out == nil {
				out = slices.Clone(messages[:i])
			}
			run = renumber(run, calls, seen)
		}
		for k := range calls {
			if calls[k].Type == transcript.TypeToolCall {
				seen[calls[k].ToolCallID] = true
			}
		}
		if out != nil {
			out = append(out, run...)
		}
		i = end
	}
	if out == nil {
		return messages
	}
	return out
}

// healthy reports whether each of the calls has one result in the messages of
// run, and nothing else has one.
func healthy(run []*transcript.Message, calls []transcript.Part) bool {
	open := 0
	for i := range calls {
		if isOurs(&calls[i]) {
			open++
		}
	}
	for n, m := range run {
		for i := range m.Parts {
			p := &m.Parts[i]
			if m.Role != transcript.RoleTool || !isResult(p) {
				continue
			}
			if !isCall(calls, p.ToolCallID) || answeredBefore(run[:n+1], i, p.ToolCallID) {
				return false
			}
			open--
		}
	}
	return open == 0
}

// answeredBefore reports whether a part before part i of the last message of
// run is a result of the call.
func answeredBefore(run []*transcript.Message, i int, id string) bool {
	for n, m := range run {
		parts := m.Parts
		if n == len(run)-1 {
			parts = parts[:i]
		}
		for k := range parts {
			if m.Role == transcript.RoleTool && isResult(&parts[k]) && parts[k].ToolCallID == id {
				return true
			}
		}
	}
	return false
}

// repairRun mends one message and the tool messages after it.
func repairRun(run []*transcript.Message, calls []transcript.Part) []*transcript.Message {
	answered := make(map[string]bool)
	fixed := make([]*transcript.Message, 0, len(run)+1)
	for _, m := range run {
		if m.Role != transcript.RoleTool {
			fixed = append(fixed, m)
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(m.Parts), func(p transcript.Part) bool {
			if !isResult(&p) {
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
		if len(kept) > 0 {
			fixed = append(fixed, transcript.Tool(kept...))
		}
	}
	var missing []transcript.Part
	for _, c := range calls {
		if isOurs(&c) && !answered[c.ToolCallID] {
			out := transcript.Output{Type: transcript.OutputErrorText, Text: NoResult}
			missing = append(missing, transcript.Result(c, out, false))
		}
	}
	if len(missing) > 0 {
		fixed = append(fixed, transcript.Tool(missing...))
	}
	return fixed
}

// repeats reports whether one of the calls has the id of an earlier one: some
// servers number the calls of each response anew.
func repeats(seen map[string]bool, calls []transcript.Part) bool {
	return slices.ContainsFunc(calls, func(p transcript.Part) bool { return p.Type == transcript.TypeToolCall && seen[p.ToolCallID] })
}

// renumber gives the repeated ids of a run a number that depends only on what
// came before, so that the beginning of a conversation stays the same.
func renumber(run []*transcript.Message, calls []transcript.Part, seen map[string]bool) []*transcript.Message {
	names := make(map[string]string)
	for _, c := range calls {
		id := c.ToolCallID
		if c.Type != transcript.TypeToolCall || !seen[id] || names[id] != "" {
			continue
		}
		for n := 2; names[id] == ""; n++ {
			if name := fmt.Sprintf("%s_%d", id, n); !seen[name] && !isCall(calls, name) {
				names[id], seen[name] = name, true
			}
		}
	}
	fixed := make([]*transcript.Message, len(run))
	for i, m := range run {
		clone := *m
		clone.Parts = slices.Clone(m.Parts)
		for k := range clone.Parts {
			if name := names[clone.Parts[k].ToolCallID]; name != "" {
				clone.Parts[k].ToolCallID = name
			}
		}
		fixed[i] = &clone
	}
	return fixed
}

// isOurs reports whether p is a call that we must answer.
func isOurs(p *transcript.Part) bool {
	return p.Type == transcript.TypeToolCall && !p.ProviderExecuted
}

// isResult also knows a type that the terminal tool reads but never stores.
func isResult(p *transcript.Part) bool {
	return p.Type == transcript.TypeToolResult || p.Type == "tool-error"
}

func isCall(parts []transcript.Part, id string) bool {
	for i := range parts {
		if parts[i].Type == transcript.TypeToolCall && parts[i].ToolCallID == id {
			return true
		}
	}
	return false
}

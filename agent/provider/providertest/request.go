package providertest

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// The APIs and the kinds of a Request.
const (
	Responses = "responses"
	Chat      = "chat"
	Models    = "models"

	Main = "main" // offers tools, or refused before that was known
	Side = "side" // offers none
)

// A Request is one request as it arrived.
type Request struct {
	Method string
	Path   string
	Header http.Header
	Body   []byte
	At     time.Time
	From   string // the client's address, one per connection

	API    string // Responses, Chat or Models; "" for an unknown path
	Kind   string // Main or Side
	Step   int    // index in the script of the step that answered; -1 for any other answer
	Prefix int    // bytes that Body shares with the main request before it
	Broken string // the rule it breaks, "" for none
	Gone   bool   // the client left before the answer was whole
}

// An Item is an element of a request's history, whatever the API.
type Item struct {
	Kind   string // "message", "call", "result", "reasoning", "ref"
	Role   string // messages
	Text   string // text, arguments, output or summary
	CallID string // calls and results
	Name   string // calls
	ID     string // Responses: the item's id
	Blob   string // Responses: encrypted reasoning
}

type rawItem struct {
	Type       string          `json:"type"`
	Role       string          `json:"role"`
	ID         string          `json:"id"`
	Content    json.RawMessage `json:"content"`
	Summary    json.RawMessage `json:"summary"`
	Encrypted  string          `json:"encrypted_content"`
	CallID     string          `json:"call_id"`
	Name       string          `json:"name"`
	Arguments  string          `json:"arguments"`
	Output     json.RawMessage `json:"output"`
	ToolCallID string          `json:"tool_call_id"`
	Reasoning  string          `json:"reasoning_content"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// Items returns the history: `input` or `messages`. It is nil when the body
// cannot be read.
func (r Request) Items() []Item {
	var b struct {
		Input    []rawItem `json:"input"`
		Messages []rawItem `json:"messages"`
	}
	if json.Unmarshal(r.Body, &b) != nil {
		return nil
	}
	var items []Item
	for _, w := range append(b.Input, b.Messages...) {
		switch {
		case w.Type == "function_call":
			items = append(items, Item{Kind: "call", CallID: w.CallID, Name: w.Name, Text: w.Arguments, ID: w.ID})
		case w.Type == "function_call_output":
			items = append(items, Item{Kind: "result", CallID: w.CallID, Text: flat(w.Output)})
		case w.Type == "reasoning":
			items = append(items, Item{Kind: "reasoning", ID: w.ID, Text: flat(w.Summary), Blob: w.Encrypted})
		case w.Type == "item_reference":
			items = append(items, Item{Kind: "ref", ID: w.ID})
		case w.Role == "tool":
			items = append(items, Item{Kind: "result", CallID: w.ToolCallID, Text: flat(w.Content)})
		default:
			if w.Reasoning != "" {
				items = append(items, Item{Kind: "reasoning", Text: w.Reasoning})
			}
			if text := flat(w.Content); text != "" || len(w.ToolCalls) == 0 {
				items = append(items, Item{Kind: "message", Role: w.Role, Text: text, ID: w.ID})
			}
			for _, c := range w.ToolCalls {
				items = append(items, Item{Kind: "call", CallID: c.ID, Name: c.Function.Name, Text: c.Function.Arguments})
			}
		}
	}
	return items
}

// Users returns the texts of the user messages, in order. The last one may be
// the client's trailing block rather than something a user said.
func (r Request) Users() []string {
	var texts []string
	for _, it := range r.Items() {
		if it.Kind == "message" && it.Role == "user" {
			texts = append(texts, it.Text)
		}
	}
	return texts
}

// Results returns the outputs of the last batch of calls; none when the model
// has said something since.
func (r Request) Results() []Item {
	var results []Item
	for _, it := range r.Items() {
		switch {
		case it.Kind == "result":
			results = append(results, it)
		case it.Kind == "call" || it.Role == "assistant":
			results = nil
		}
	}
	return results
}

// Tools returns the names of the tools offered.
func (r Request) Tools() []string {
	var b struct {
		Tools []struct {
			Name     string
			Function struct{ Name string }
		}
	}
	json.Unmarshal(r.Body, &b) // a body that cannot be read offers none
	var names []string
	for _, t := range b.Tools {
		names = append(names, t.Name+t.Function.Name)
	}
	return names
}

// flat is the text of a string or of a list of text parts.
func flat(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct{ Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n")
}

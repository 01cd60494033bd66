package transcript

import (
	"encoding/json"
	"strconv"
)

// Types of a part. Other types occur and are passed through.
const (
	TypeText             = "text"
	TypeReasoning        = "reasoning"
	TypeToolCall         = "tool-call"
	TypeToolResult       = "tool-result"
	TypeApprovalRequest  = "tool-approval-request"
	TypeApprovalResponse = "tool-approval-response"
)

// A Part is one element of a message's content. Which fields are set depends
// on Type; the stored bytes of a part that was read belong to its message.
type Part struct {
	Type string
	Text string // text, reasoning

	ToolCallID       string          // tool-call, tool-result, tool-approval-request
	ToolName         string          // tool-call, tool-result
	Input            json.RawMessage // tool-call: a JSON object
	ProviderExecuted bool            // tool-call
	Output           Output          // tool-result

	ApprovalID string // tool-approval-request, tool-approval-response
	Automatic  bool   // tool-approval-request: decided by a rule, never shown
	Approved   bool   // tool-approval-response
	Reason     string // tool-approval-response; optional

	// ProviderOptions is the metadata a provider gave with the part: a JSON
	// object keyed by provider name. Empty when there is none.
	ProviderOptions json.RawMessage
}

// Types of a tool result's output.
const (
	OutputText      = "text"
	OutputErrorText = "error-text"
	OutputDenied    = "execution-denied"
)

// An Output is what a tool call came to.
type Output struct {
	Type string
	Text string // text, error-text: the value; execution-denied: the reason

	value json.RawMessage // json, error-json, content: as read
}

// String is the output as text for a model: the value, the denial's reason, or
// the JSON of a structured value.
func (o Output) String() string {
	if o.value != nil {
		return string(o.value)
	}
	return o.Text
}

// Text returns a text part.
func Text(text string) Part { return Part{Type: TypeText, Text: text} }

// Result returns the result of call, with the call's provider metadata when
// the call ran in the step that made it (sameStep), as the terminal tool's SDK
// stores it.
func Result(call Part, out Output, sameStep bool) Part {
	p := Part{Type: TypeToolResult, ToolCallID: call.ToolCallID, ToolName: call.ToolName, Output: out}
	if sameStep {
		p.ProviderOptions = call.ProviderOptions
	}
	return p
}

// append appends p's JSON to b, in the SDK's field order and without the
// fields that have no value.
func (p *Part) append(b []byte) []byte {
	b = append(b, `{"type":`...)
	b = append(b, quote(p.Type)...)
	field := func(name, v string) {
		b = append(b, `,"`+name+`":`...)
		b = append(b, quote(v)...)
	}
	flag := func(name string, v bool) {
		b = append(b, `,"`+name+`":`...)
		b = strconv.AppendBool(b, v)
	}
	switch p.Type {
	case TypeText, TypeReasoning:
		field("text", p.Text)
	case TypeToolCall:
		field("toolCallId", p.ToolCallID)
		field("toolName", p.ToolName)
		b = append(append(b, `,"input":`...), p.Input...)
		if p.ProviderExecuted {
			flag("providerExecuted", true)
		}
	case TypeToolResult:
		field("toolCallId", p.ToolCallID)
		field("toolName", p.ToolName)
		b = p.Output.append(append(b, `,"output":`...))
	case TypeApprovalRequest:
		field("approvalId", p.ApprovalID)
		field("toolCallId", p.ToolCallID)
		if p.Automatic {
			flag("isAutomatic", true)
		}
	case TypeApprovalResponse:
		field("approvalId", p.ApprovalID)
		flag("approved", p.Approved)
		if p.Reason != "" {
			field("reason", p.Reason)
		}
	}
	if len(p.ProviderOptions) > 0 {
		b = append(append(b, `,"providerOptions":`...), p.ProviderOptions...)
	}
	return append(b, '}')
}

func (o Output) append(b []byte) []byte {
	b = append(append(b, `{"type":`...), quote(o.Type)...)
	switch {
	case o.value != nil:
		b = append(append(b, `,"value":`...), o.value...)
	case o.Type == OutputDenied && o.Text != "":
		b = append(append(b, `,"reason":`...), quote(o.Text)...)
	case o.Type != OutputDenied:
		b = append(append(b, `,"value":`...), quote(o.Text)...)
	}
	return append(b, '}')
}

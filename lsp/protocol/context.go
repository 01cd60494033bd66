package protocol

// ContextGetParams asks for the gauge of a session's context.
type ContextGetParams struct {
	SessionID string `json:"sessionId" jsonschema:"id of the session"`
}

// Context is the gauge of what the next request to the model will hold, and is
// the data of context.updated. Counts are in tokens.
type Context struct {
	Tokens    int              `json:"tokens" jsonschema:"estimate of the conversation, without system prompt and tools"`
	Threshold int              `json:"threshold" jsonschema:"size at which the history is full"`
	Percent   int              `json:"percent" jsonschema:"tokens in percent of threshold, at most 100"`
	Level     ContextLevel     `json:"level" jsonschema:"how near the threshold is"`
	Window    int              `json:"window,omitzero" jsonschema:"the model's whole window, when known"`
	Used      int              `json:"used,omitzero" jsonschema:"what the provider counted for the last request"`
	Breakdown ContextBreakdown `json:"breakdown" jsonschema:"tokens by where they come from"`
	Cost      *float64         `json:"cost,omitzero" jsonschema:"cost of the session so far in US dollars, when the price is known"`
}

// ContextLevel says how near the threshold is. An unknown level reads as ok.
type ContextLevel string

const (
	ContextOK    ContextLevel = "ok"    // far
	ContextAmber ContextLevel = "amber" // near
	ContextRed   ContextLevel = "red"   // reached or about to be
)

// ContextBreakdown is an estimate of the next request by where it comes from.
type ContextBreakdown struct {
	System     int `json:"system" jsonschema:"the system prompt"`
	Tools      int `json:"tools" jsonschema:"descriptions of tools"`
	History    int `json:"history" jsonschema:"what was said"`
	ToolOutput int `json:"toolOutput" jsonschema:"results of tools"`
}

// TodoGetParams asks for a session's task list.
type TodoGetParams struct {
	SessionID string `json:"sessionId" jsonschema:"id of the session"`
}

// Todo is the task list that the model keeps, and is the data of todo.updated,
// which always carries all of it.
type Todo struct {
	Rev     int         `json:"rev" jsonschema:"grows by one with each change; 0 before the first"`
	Entries []TodoEntry `json:"entries" jsonschema:"in the order in which they are to be done"`
}

// TodoEntry is one task.
type TodoEntry struct {
	Text   string     `json:"text" jsonschema:"what is to be done"`
	Status TodoStatus `json:"status" jsonschema:"how far it is"`
	Note   string     `json:"note,omitzero" jsonschema:"a remark; of a blocked task, what blocks it"`
}

// TodoStatus says how far a task is. An unknown status reads as pending.
type TodoStatus string

const (
	TodoPending    TodoStatus = "pending"     // not begun
	TodoInProgress TodoStatus = "in_progress" // being done
	TodoDone       TodoStatus = "done"        // done
	TodoBlocked    TodoStatus = "blocked"     // cannot go on
)

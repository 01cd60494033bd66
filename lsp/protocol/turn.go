package protocol

// TurnStartParams gives a session a prompt. The answer comes at once; the turn
// is told by events.
type TurnStartParams struct {
	SessionID       string         `json:"sessionId" jsonschema:"id of the session"`
	Input           []Content      `json:"input" jsonschema:"the prompt, at least one block"`
	ClientRequestID string         `json:"clientRequestId,omitzero" jsonschema:"a repeat with the same id and body returns the first answer and starts nothing"`
	WhenBusy        WhenBusy       `json:"whenBusy,omitzero" jsonschema:"what to do while another turn runs; queue when left out"`
	Model           string         `json:"model,omitzero" jsonschema:"model of this turn and of later ones"`
	Effort          string         `json:"effort,omitzero" jsonschema:"how hard the model should think, in the provider's words"`
	EditorContext   *EditorContext `json:"editorContext,omitzero" jsonschema:"what the user has before their eyes; told to the model, never stored"`
}

// WhenBusy says what becomes of a prompt while a turn runs. An unknown value
// reads as queue.
type WhenBusy string

const (
	WhenBusyQueue WhenBusy = "queue" // it waits for the end of the turn
	WhenBusyError WhenBusy = "error" // it is refused with turn_busy
)

// TurnStartResult says what became of the prompt.
type TurnStartResult struct {
	TurnID      string      `json:"turnId" jsonschema:"id of the turn that runs or will run the prompt, trn_"`
	Disposition Disposition `json:"disposition" jsonschema:"whether the turn has begun"`
	QueueID     string      `json:"queueId,omitzero" jsonschema:"its place in the queue, que_, when it waits"`
}

// Disposition says what became of a prompt. An unknown value reads as started.
type Disposition string

const (
	DispositionStarted Disposition = "started" // its turn has begun
	DispositionQueued  Disposition = "queued"  // it waits in the queue
)

// TurnInterruptParams stops the running turn and clears the queue. The answer
// comes at once; turn.completed confirms it.
type TurnInterruptParams struct {
	SessionID string `json:"sessionId" jsonschema:"id of the session"`
	TurnID    string `json:"turnId,omitzero" jsonschema:"stop only if this turn is the one that runs, else turn_mismatch"`
}

// TurnInterruptResult hands back the prompts that will not run, so that the
// editor can put them into its input box.
type TurnInterruptResult struct {
	Discarded []string `json:"discarded" jsonschema:"texts of the queued prompts, oldest first"`
}

// Content is one block of a prompt, in the shape ACP gives it. A block of
// another type is refused with invalid_params: a prompt must not lose a part in
// silence.
type Content struct {
	Type     ContentType `json:"type" jsonschema:"which of the other fields count"`
	Text     string      `json:"text,omitzero" jsonschema:"of a text block"`
	URI      string      `json:"uri,omitzero" jsonschema:"of a resource_link: the document to look at"`
	Name     string      `json:"name,omitzero" jsonschema:"of a resource_link: what to call it"`
	MimeType string      `json:"mimeType,omitzero" jsonschema:"of a resource_link: its media type"`
	Resource *Resource   `json:"resource,omitzero" jsonschema:"of a resource block"`
}

// ContentType tells the blocks of a prompt apart.
type ContentType string

const (
	ContentText         ContentType = "text"          // words of the user
	ContentResourceLink ContentType = "resource_link" // a document, by name
	ContentResource     ContentType = "resource"      // a document, with its text
)

// Resource is a document whose text comes with the prompt.
type Resource struct {
	URI      string `json:"uri" jsonschema:"where the text is from"`
	Text     string `json:"text" jsonschema:"the text itself"`
	MimeType string `json:"mimeType,omitzero" jsonschema:"its media type"`
}

// EditorContext is what the user sees at the moment of the prompt.
type EditorContext struct {
	ActiveURI     string             `json:"activeUri,omitzero" jsonschema:"the document with the cursor"`
	Selection     *Range             `json:"selection,omitzero" jsonschema:"what is selected in it; an empty range is the cursor"`
	VisibleRanges []Range            `json:"visibleRanges,omitzero" jsonschema:"what is on the screen of it"`
	OpenURIs      []string           `json:"openUris,omitzero" jsonschema:"other open documents, the most recent first; 10 are read"`
	Diagnostics   []EditorDiagnostic `json:"diagnostics,omitzero" jsonschema:"problems the editor shows; 50 are read"`
}

// EditorDiagnostic is a problem that the editor shows, from any of its sources.
type EditorDiagnostic struct {
	URI      string `json:"uri" jsonschema:"the document"`
	Range    Range  `json:"range" jsonschema:"the place in it"`
	Severity int    `json:"severity,omitzero" jsonschema:"as in LSP: 1 error, 2 warning, 3 information, 4 hint"`
	Source   string `json:"source,omitzero" jsonschema:"who found it"`
	Message  string `json:"message" jsonschema:"what is wrong"`
}

// Range is a part of a document, its end not included.
type Range struct {
	Start Position `json:"start" jsonschema:"first position of the range"`
	End   Position `json:"end" jsonschema:"first position after it"`
}

// Position is a place between two characters, counted as in LSP.
type Position struct {
	Line      uint32 `json:"line" jsonschema:"counted from 0"`
	Character uint32 `json:"character" jsonschema:"counted from 0 in the negotiated position encoding"`
}

// Queue is the prompts that wait for the running turn, and is the data of
// queue.updated, which always carries all of them.
type Queue struct {
	Entries []QueueEntry `json:"entries" jsonschema:"in the order in which they will run"`
}

// QueueEntry is one waiting prompt.
type QueueEntry struct {
	QueueID string `json:"queueId" jsonschema:"id of the place, que_"`
	Text    string `json:"text" jsonschema:"the words of the prompt"`
}

package protocol

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Event is the params of the notification shiro/event.
//
// Durable events have a sequence number, and are kept and replayed. Ephemeral
// ones have none and are never sent again.
type Event struct {
	SessionID string    `json:"sessionId" jsonschema:"id of the session it is about"`
	Seq       int64     `json:"seq,omitzero" jsonschema:"of a durable event: its number in the session, from 1 and without holes"`
	TurnID    string    `json:"turnId,omitzero" jsonschema:"the turn it belongs to, trn_, if any"`
	TS        Timestamp `json:"ts" jsonschema:"when it happened"`
	Type      EventType `json:"type" jsonschema:"what happened"`
	Data      any       `json:"data" jsonschema:"an object whose shape the type decides"`
}

// UnmarshalJSON gives Data the type that [Events] names for the event, as a
// value and not a pointer. The data of an unknown type stays a json.RawMessage.
func (e *Event) UnmarshalJSON(b []byte) error {
	type envelope Event
	var data json.RawMessage
	decoded := envelope{Data: &data}
	if err := json.Unmarshal(b, &decoded); err != nil {
		return fmt.Errorf("decoding event: %w", err)
	}
	*e = Event(decoded)
	e.Data = data
	for _, d := range Events() {
		if d.Type != e.Type {
			continue
		}
		v := reflect.New(reflect.TypeOf(d.Data))
		if err := json.Unmarshal(data, v.Interface()); err != nil {
			return fmt.Errorf("decoding data of %s: %w", e.Type, err)
		}
		e.Data = v.Elem().Interface()
	}
	return nil
}

// EventType says what happened. An event of an unknown type is to be ignored,
// except that its sequence number counts.
//
// turn.started comes before any item of the turn; item.started before the
// item's deltas, approvals and completion; approval.requested after the
// item.started it is about, and approval.resolved before that item's next
// update; every item is completed and context.updated sent before
// turn.completed. No event of a session comes before the answer that created or
// attached it.
type EventType string

const (
	EventSessionUpdated    EventType = "session.updated"    // something in the session's description changed
	EventTurnStarted       EventType = "turn.started"       // a turn began
	EventTurnCompleted     EventType = "turn.completed"     // a turn ended, in whatever way
	EventItemStarted       EventType = "item.started"       // an item began
	EventItemUpdated       EventType = "item.updated"       // something in an item other than its streaming text changed
	EventItemCompleted     EventType = "item.completed"     // an item is final; what it holds replaces what was streamed
	EventItemDelta         EventType = "item.delta"         // text was added to an item
	EventTodoUpdated       EventType = "todo.updated"       // the task list changed
	EventContextUpdated    EventType = "context.updated"    // the gauge changed
	EventApprovalRequested EventType = "approval.requested" // a tool call waits for an answer
	EventApprovalResolved  EventType = "approval.resolved"  // it waits no more
	EventQueueUpdated      EventType = "queue.updated"      // the waiting prompts changed
	EventMemoryChanged     EventType = "memory.changed"     // somebody changed the notes of the session's folder
	EventProviderRetrying  EventType = "provider.retrying"  // a request to the model failed
	EventNotice            EventType = "notice"             // something the user should know
)

// EventData describes one type of event. Data is the zero value of its data's
// type.
type EventData struct {
	Type    EventType
	Durable bool
	Data    any
}

// Events returns every type of event of this version.
func Events() []EventData {
	return []EventData{
		{EventSessionUpdated, true, SessionInfo{}},
		{EventTurnStarted, true, TurnStarted{}},
		{EventTurnCompleted, true, TurnCompleted{}},
		{EventItemStarted, true, ItemEvent{}},
		{EventItemUpdated, true, ItemEvent{}},
		{EventItemCompleted, true, ItemEvent{}},
		{EventItemDelta, false, ItemDelta{}},
		{EventTodoUpdated, true, Todo{}},
		{EventContextUpdated, true, Context{}},
		{EventApprovalRequested, true, Approval{}},
		{EventApprovalResolved, true, ApprovalResolved{}},
		{EventQueueUpdated, true, Queue{}},
		{EventMemoryChanged, true, MemoryChanged{}},
		{EventProviderRetrying, true, ProviderRetrying{}},
		{EventNotice, true, Notice{}},
	}
}

// TurnStarted is the data of turn.started.
type TurnStarted struct {
	Trigger TurnTrigger `json:"trigger" jsonschema:"what began the turn"`
	Input   []Content   `json:"input" jsonschema:"its prompt; empty when the turn goes on from an earlier one"`
}

// TurnTrigger says what began a turn. An unknown trigger reads as user.
type TurnTrigger string

const (
	TriggerUser   TurnTrigger = "user"   // a prompt to an idle session
	TriggerQueue  TurnTrigger = "queue"  // a prompt that had waited
	TriggerResume TurnTrigger = "resume" // the answer to an approval from before a restart
)

// TurnCompleted is the data of turn.completed.
type TurnCompleted struct {
	Status       TurnStatus    `json:"status" jsonschema:"how the turn ended"`
	StopReason   StopReason    `json:"stopReason" jsonschema:"why it ended"`
	Usage        *Usage        `json:"usage,omitzero" jsonschema:"what it took, when the provider said so"`
	DurationMs   int64         `json:"durationMs" jsonschema:"how long it took in milliseconds, without the time it waited for approvals"`
	ChangedFiles []ChangedFile `json:"changedFiles,omitzero" jsonschema:"files that its tools changed"`
	Error        *Error        `json:"error,omitzero" jsonschema:"why it failed, when it did"`
}

// TurnStatus says how a turn ended. An unknown status reads as failed.
type TurnStatus string

const (
	TurnDone        TurnStatus = "completed"   // the model stopped by itself, or a limit of the turn was reached
	TurnInterrupted TurnStatus = "interrupted" // a client or a restart stopped it
	TurnFailed      TurnStatus = "failed"      // an error stopped it
	TurnRefused     TurnStatus = "refused"     // the model would not answer
)

// StopReason says why a turn ended, in the words of ACP where it has them. An
// unknown reason reads as end_turn.
type StopReason string

const (
	StopEndTurn         StopReason = "end_turn"          // the model had no more to say
	StopMaxTokens       StopReason = "max_tokens"        // its answer reached the length limit
	StopMaxTurnRequests StopReason = "max_turn_requests" // the turn reached its limit of steps
	StopRefusal         StopReason = "refusal"           // the model would not answer
	StopCancelled       StopReason = "cancelled"         // a client interrupted it
	StopServerRestarted StopReason = "server_restarted"  // the server went away during the turn
	StopError           StopReason = "error"             // the error says why
)

// Usage is what a turn took. Counts are in tokens, over all its requests.
type Usage struct {
	In        int64    `json:"in" jsonschema:"sent, cached ones included"`
	Cached    int64    `json:"cached" jsonschema:"sent and found in the provider's cache"`
	Out       int64    `json:"out" jsonschema:"received, reasoning included"`
	Reasoning int64    `json:"reasoning" jsonschema:"received as reasoning"`
	Cost      *float64 `json:"cost,omitzero" jsonschema:"in US dollars, when the price is known"`
}

// ChangedFile is a file that a turn changed.
type ChangedFile struct {
	URI     string `json:"uri" jsonschema:"the file"`
	Added   int    `json:"added" jsonschema:"lines added"`
	Removed int    `json:"removed" jsonschema:"lines removed"`
}

// ItemEvent is the data of item.started, item.updated and item.completed.
type ItemEvent struct {
	Item Item `json:"item" jsonschema:"the whole item as it now is"`
}

// ItemDelta is the data of item.delta. The range shows repeats and gaps: text
// that begins before the known end is old, text that begins after it means some
// was missed, and shiro/item/get has it. No character is ever split.
type ItemDelta struct {
	ItemID  string  `json:"itemId" jsonschema:"id of the item, itm_"`
	Channel Channel `json:"channel" jsonschema:"which of its texts grew"`
	From    int64   `json:"from" jsonschema:"offset of the beginning of text in the channel, in UTF-8 bytes"`
	To      int64   `json:"to" jsonschema:"offset of its end"`
	Text    string  `json:"text" jsonschema:"what was added"`
}

// ApprovalResolved is the data of approval.resolved.
type ApprovalResolved struct {
	ApprovalID string  `json:"approvalId" jsonschema:"id of the approval, apr_"`
	ItemID     string  `json:"itemId" jsonschema:"the tool call that waited for it, itm_"`
	Outcome    Outcome `json:"outcome" jsonschema:"how it ended"`
	OptionID   string  `json:"optionId,omitzero" jsonschema:"the option that was chosen, if one was"`
	Feedback   string  `json:"feedback,omitzero" jsonschema:"what the user told the model with it"`
	ResolvedBy string  `json:"resolvedBy,omitzero" jsonschema:"clientId of the client that answered, if one did"`
}

// ProviderRetrying is the data of provider.retrying.
type ProviderRetrying struct {
	Attempt   int    `json:"attempt" jsonschema:"which attempt failed, from 1"`
	DelayMs   int64  `json:"delayMs" jsonschema:"milliseconds until the next one"`
	WillRetry bool   `json:"willRetry" jsonschema:"there will be a next one"`
	Reason    string `json:"reason" jsonschema:"what went wrong"`
}

// Notice is the data of notice.
type Notice struct {
	Level      NoticeLevel `json:"level" jsonschema:"how much it matters"`
	Title      string      `json:"title" jsonschema:"one line"`
	Detail     string      `json:"detail,omitzero" jsonschema:"the rest of it"`
	DismissKey string      `json:"dismissKey,omitzero" jsonschema:"notices with the same key say the same thing and need to be shown once"`
}

// NoticeLevel says how much a notice matters. An unknown level reads as info.
type NoticeLevel string

const (
	NoticeInfo    NoticeLevel = "info"    // good to know
	NoticeWarning NoticeLevel = "warning" // something is not as it should be
	NoticeError   NoticeLevel = "error"   // something was lost or did not happen
)

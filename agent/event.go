package agent

import (
	"time"

	"shiro/agent/provider"
	"shiro/memory/transcript"
)

// An Event is one change of a conversation.
type Event struct {
	Seq  uint64 // counts the durable events of a conversation from 1; 0 for the others
	Turn string // the turn it belongs to; may be empty
	Time time.Time
	Data any // one of the types below, never a pointer
}

// Durable events.
type (
	// SessionUpdated says that the state, title or model changed.
	SessionUpdated struct{ Info Info }
	// TurnStarted opens a turn.
	TurnStarted struct {
		Trigger Trigger
		Input   string
	}
	// TurnCompleted closes a turn; every item of it is closed before.
	TurnCompleted struct {
		Status   Status
		Stop     Stop
		Usage    provider.Usage // over all requests
		Cost     *float64       // USD; nil when not known
		Duration time.Duration  // without the time it waited for the user
		Changed  []ChangedFile
		Failure  *Failure // for Failed
	}
	// ItemStarted opens an item.
	ItemStarted struct{ Item Item }
	// ItemUpdated says that more is known of an open item.
	ItemUpdated struct{ Item Item }
	// ItemCompleted holds the whole item.
	ItemCompleted struct{ Item Item }
	// TodoUpdated holds the whole task list.
	TodoUpdated struct{ Todo Todo }
	// ContextUpdated holds the gauge after a model request.
	ContextUpdated struct{ Context Context }
	// ApprovalRequested puts a tool call before the user.
	ApprovalRequested struct{ Approval *Approval }
	// ApprovalResolved says how it was answered.
	ApprovalResolved struct {
		Approval *Approval
		Outcome  Outcome
		Answer   Answer
	}
	// QueueUpdated holds the prompts that wait.
	QueueUpdated struct{ Queue []Queued }
	// NotesChanged says that somebody changed the notes of the folder.
	NotesChanged struct {
		CWD   string
		Count int
		Hash  string // as Memory.List gives it
	}
	// Retrying says that a model request failed and will be made again.
	Retrying struct {
		Attempt int
		Delay   time.Duration
		Reason  string
	}
	// Notice is a line for the user.
	Notice struct {
		Level  string // "info", "warning" or "error"
		Title  string
		Detail string
		Key    string // equal notices have equal keys
	}
)

// ItemDelta is more text of an open item. It is not durable: the completed
// item holds the whole.
type ItemDelta struct {
	Item    string
	Channel string // "text", "reasoning", "args", "stdout", "stderr"
	From    int    // byte offset in the channel
	Text    string // whole characters
}

// State of a conversation.
type State string

// States.
const (
	Idle    State = "idle"
	Running State = "running"
	Waiting State = "waiting" // on the user
)

// Trigger says what began a turn.
type Trigger string

// Triggers.
const (
	ByUser   Trigger = "user"
	ByQueue  Trigger = "queue"
	ByResume Trigger = "resume" // approvals that were open when the process ended
)

// Status says how a turn or an item ended.
type Status string

// Statuses. A turn is Completed, Interrupted, Failed or Refused; an item is
// any but these last two.
const (
	Pending     Status = "pending"
	InProgress  Status = "in_progress"
	Completed   Status = "completed"
	Failed      Status = "failed"
	Cancelled   Status = "cancelled"
	Declined    Status = "declined"
	Interrupted Status = "interrupted"
	Refused     Status = "refused"
)

// Stop says why a turn ended.
type Stop string

// Stops, in ACP's words where it has them.
const (
	EndTurn   Stop = "end_turn"
	MaxTokens Stop = "max_tokens"
	MaxSteps  Stop = "max_turn_requests"
	Refusal   Stop = "refusal"
	Stopped   Stop = "cancelled"
	Erred     Stop = "error"
)

// A Failure is why a turn failed.
type Failure struct {
	Text       string
	Kind       string // "auth", "rate", "overflow" or "server"; empty for a fault of ours
	Status     int    // HTTP status of the model server; 0 when it gave none
	Retryable  bool
	RetryAfter time.Duration // 0 when the server did not say
}

// A ChangedFile is a file that a turn's edits changed.
type ChangedFile struct {
	Path           string // absolute
	Added, Removed int    // lines
}

// A Todo is the task list at one revision.
type Todo struct {
	Rev     int
	Entries []transcript.Todo
}

// A Queued is a prompt that waits for the running turn.
type Queued struct{ ID, Text string }

package protocol

// SessionInfo describes a session in a list, and is the data of session.updated,
// which always carries all of it.
type SessionInfo struct {
	ID        string        `json:"id" jsonschema:"the stem of the session's file, a UUIDv7"`
	Title     string        `json:"title" jsonschema:"the name the user gave it, else the beginning of the first prompt; untitled before it"`
	Cwd       string        `json:"cwd" jsonschema:"absolute path of the working directory"`
	CreatedAt Timestamp     `json:"createdAt" jsonschema:"when the session was made"`
	UpdatedAt Timestamp     `json:"updatedAt" jsonschema:"when its record last changed"`
	State     SessionState  `json:"state" jsonschema:"what the session is doing"`
	Turns     int           `json:"turns" jsonschema:"how many prompts it has had"`
	Messages  int           `json:"messages" jsonschema:"how many messages its record holds"`
	Model     string        `json:"model" jsonschema:"the model the next turn will use"`
	Tokens    SessionTokens `json:"tokens" jsonschema:"tokens the provider has counted, over all turns"`
	CostUSD   *float64      `json:"costUsd,omitzero" jsonschema:"what those tokens cost in US dollars; left out when the price is not known"`
	Preview   string        `json:"preview,omitzero" jsonschema:"the beginning of the last message, on one line"`
	ParentID  string        `json:"parentId,omitzero" jsonschema:"the session it was forked from"`
	Archived  bool          `json:"archived,omitzero" jsonschema:"it was put away"`
}

// SessionTokens counts what went to the model and what came back.
type SessionTokens struct {
	Input  int64 `json:"input" jsonschema:"tokens sent, cached ones included"`
	Output int64 `json:"output" jsonschema:"tokens received, reasoning included"`
}

// SessionState says what a session is doing. An unknown state reads as running.
type SessionState string

const (
	SessionIdle    SessionState = "idle"    // no turn runs
	SessionRunning SessionState = "running" // a turn runs
	SessionWaiting SessionState = "waiting" // a turn waits for an approval, or will when the session is attached to
)

// SessionCreateParams asks for a new session.
type SessionCreateParams struct {
	Cwd   string `json:"cwd" jsonschema:"absolute path of the working directory"`
	Model string `json:"model,omitzero" jsonschema:"the configured model when left out"`
}

// SessionCreateResult names the new session. The client is attached to it.
type SessionCreateResult struct {
	Session SessionInfo `json:"session" jsonschema:"the new session"`
}

// SessionAttachParams asks for what a session is and for the events that follow.
// A client that has seen the session before gives the place where it stopped.
type SessionAttachParams struct {
	SessionID string   `json:"sessionId" jsonschema:"id of the session, or a prefix that fits only one"`
	After     *int64   `json:"after,omitzero" jsonschema:"the last sequence number seen; 0 replays from the start, left out asks for a snapshot"`
	Epoch     string   `json:"epoch,omitzero" jsonschema:"the epoch that number belongs to"`
	TailItems *int     `json:"tailItems,omitzero" jsonschema:"how many of the latest items a snapshot holds; 50 when left out"`
	Exclude   []string `json:"exclude,omitzero" jsonschema:"ephemeral events not wanted of this session, written as in EventFilter"`
}

// SessionAttachResult is either the events that were missed or a snapshot. Live
// events follow it, each with a higher sequence number; while more is true none
// do, and the client attaches again after nextAfter.
type SessionAttachResult struct {
	Mode      AttachMode   `json:"mode" jsonschema:"whether events or state holds the answer"`
	Reason    AttachReason `json:"reason,omitzero" jsonschema:"why it is a snapshot"`
	Events    []Event      `json:"events,omitzero" jsonschema:"the missed durable events, oldest first; only in a replay"`
	More      bool         `json:"more" jsonschema:"there are more events to replay"`
	NextAfter int64        `json:"nextAfter,omitzero" jsonschema:"where to go on when there are more"`
	State     *Snapshot    `json:"state,omitzero" jsonschema:"the session as of seq; only in a snapshot"`
	Seq       int64        `json:"seq" jsonschema:"the number of the last event that this answer covers; 0 when there was none"`
	Epoch     string       `json:"epoch" jsonschema:"changes when the session's event log was rebuilt and its numbers began anew"`
}

// AttachMode says what an answer to attach holds. The two are all there are.
type AttachMode string

const (
	AttachReplay   AttachMode = "replay"   // the events after the client's cursor
	AttachSnapshot AttachMode = "snapshot" // the state, since the events do not help
)

// AttachReason says why a client got a snapshot. An unknown reason reads as
// fresh.
type AttachReason string

const (
	AttachFresh         AttachReason = "fresh"          // the client gave no cursor
	AttachEpoch         AttachReason = "epoch"          // the cursor belongs to another event log
	AttachCursorExpired AttachReason = "cursor_expired" // the events after the cursor are no longer kept, or the cursor is ahead of the log
	AttachTooFar        AttachReason = "too_far"        // replaying would cost more than the state
)

// Snapshot is a session as a client needs it to draw its view. Its parts have
// the shapes of the events that later replace them.
type Snapshot struct {
	Session          SessionInfo `json:"session" jsonschema:"as in session.updated"`
	Items            []Item      `json:"items" jsonschema:"the latest items, oldest first"`
	HasOlder         bool        `json:"hasOlder" jsonschema:"history has items before the first of these"`
	Todo             Todo        `json:"todo" jsonschema:"as in todo.updated"`
	Context          Context     `json:"context" jsonschema:"as in context.updated"`
	Queue            Queue       `json:"queue" jsonschema:"as in queue.updated"`
	PendingApprovals []Approval  `json:"pendingApprovals" jsonschema:"as in approval.requested, oldest first"`
	ActiveTurn       *ActiveTurn `json:"activeTurn,omitzero" jsonschema:"the turn that runs or waits, if any"`
	LiveItems        []LiveItem  `json:"liveItems" jsonschema:"text streamed so far of the items that are not complete"`
}

// ActiveTurn is a turn that has not ended.
type ActiveTurn struct {
	TurnID    string      `json:"turnId" jsonschema:"id of the turn, trn_"`
	Trigger   TurnTrigger `json:"trigger" jsonschema:"what began it"`
	StartedAt Timestamp   `json:"startedAt" jsonschema:"when it began"`
}

// LiveItem is the text of one channel of an item that still streams. The deltas
// that follow go on at its end.
type LiveItem struct {
	ItemID  string  `json:"itemId" jsonschema:"id of the item, itm_"`
	Channel Channel `json:"channel" jsonschema:"which of its texts"`
	Text    string  `json:"text" jsonschema:"the text so far, perhaps without its beginning"`
	To      int64   `json:"to" jsonschema:"offset of the end of text in the channel, in UTF-8 bytes"`
}

// SessionDetachParams asks for no more events of a session. The session goes on.
type SessionDetachParams struct {
	SessionID string `json:"sessionId" jsonschema:"id of the session"`
}

// SessionListParams asks for stored sessions, latest change first.
type SessionListParams struct {
	Cwd      string `json:"cwd,omitzero" jsonschema:"only sessions of this working directory"`
	Query    string `json:"query,omitzero" jsonschema:"only sessions with this text in title, id, preview or a prompt, in any case"`
	Archived bool   `json:"archived,omitzero" jsonschema:"those that were put away too"`
	Cursor   string `json:"cursor,omitzero" jsonschema:"nextCursor of the page before"`
	Limit    int    `json:"limit,omitzero" jsonschema:"how many at most; 50 when left out, never more than 200"`
}

// SessionListResult is one page of the list.
type SessionListResult struct {
	Sessions   []SessionInfo `json:"sessions" jsonschema:"latest change first"`
	NextCursor string        `json:"nextCursor,omitzero" jsonschema:"asks for the next page; left out on the last one"`
	Skipped    int           `json:"skipped,omitzero" jsonschema:"how many session files could not be read"`
}

// SessionHistoryParams asks for items older than the ones the client has.
type SessionHistoryParams struct {
	SessionID string      `json:"sessionId" jsonschema:"id of the session, or a prefix that fits only one"`
	Before    string      `json:"before,omitzero" jsonschema:"id of the item to stop before; the end of the session when left out"`
	Limit     int         `json:"limit,omitzero" jsonschema:"how many at most; 50 when left out, never more than 200"`
	View      HistoryView `json:"view,omitzero" jsonschema:"how much of each item; summary when left out"`
}

// HistoryView says how much of each item history returns. An unknown view reads
// as summary.
type HistoryView string

const (
	HistorySummary HistoryView = "summary" // without the input and output of tools
	HistoryFull    HistoryView = "full"    // as in item.completed
)

// SessionHistoryResult is one page of items, oldest first.
type SessionHistoryResult struct {
	Items    []Item `json:"items" jsonschema:"oldest first"`
	HasOlder bool   `json:"hasOlder" jsonschema:"there are items before the first of these"`
}

// SessionCloseParams ends a session's work in this process: its turn is
// interrupted and its queue cleared. Its record stays and can be attached to
// again.
type SessionCloseParams struct {
	SessionID string `json:"sessionId" jsonschema:"id of the session"`
}

package protocol

// Approval is a question whether a tool may do something, and is the data of
// approval.requested. It stays open until it is answered or its turn is
// interrupted, also over a restart of either side.
type Approval struct {
	ApprovalID string           `json:"approvalId" jsonschema:"id of the approval, apr_"`
	SessionID  string           `json:"sessionId" jsonschema:"id of the session, so that an approval says all that an answer needs"`
	ItemID     string           `json:"itemId" jsonschema:"the tool call that waits for it, itm_"`
	Kind       ApprovalKind     `json:"kind" jsonschema:"what sort of thing is asked"`
	Title      string           `json:"title" jsonschema:"one line, at most 60 characters"`
	Reason     string           `json:"reason" jsonschema:"why the policy asks"`
	Risk       Risk             `json:"risk" jsonschema:"how much could go wrong"`
	Subject    ApprovalSubject  `json:"subject" jsonschema:"what would be done, in full"`
	Options    []ApprovalOption `json:"options" jsonschema:"the answers that are taken"`
}

// ApprovalKind says what sort of thing is asked. An unknown kind reads as other.
type ApprovalKind string

const (
	ApprovalEdit        ApprovalKind = "edit"         // changing files
	ApprovalCommand     ApprovalKind = "command"      // running a command
	ApprovalNetwork     ApprovalKind = "network"      // reaching another machine
	ApprovalMCP         ApprovalKind = "mcp"          // calling a tool of an MCP server
	ApprovalOutsideRoot ApprovalKind = "outside_root" // touching a file outside the workspace
	ApprovalOther       ApprovalKind = "other"        // anything else
)

// Risk says how much could go wrong. An unknown risk reads as high.
type Risk string

const (
	RiskLow    Risk = "low"    // easily undone
	RiskMedium Risk = "medium" // changes the workspace
	RiskHigh   Risk = "high"   // could lose work, or reaches beyond the workspace
)

// ApprovalSubject is what would be done. At most one of its fields is there; when
// none is, the item of the tool call says what it would do.
type ApprovalSubject struct {
	Edit    *EditSubject    `json:"edit,omitzero" jsonschema:"the changes to files"`
	Command *CommandSubject `json:"command,omitzero" jsonschema:"the command to run"`
}

// EditSubject is a change to files that has not been made.
type EditSubject struct {
	Files []FileEdit `json:"files" jsonschema:"one entry for each file"`
}

// FileEdit is the change to one file.
type FileEdit struct {
	URI         string `json:"uri" jsonschema:"the file"`
	Op          FileOp `json:"op" jsonschema:"what happens to it"`
	BaseHash    string `json:"baseHash,omitzero" jsonschema:"SHA-256 in hex of the text the change was made for; left out for a new file"`
	BaseVersion *int32 `json:"baseVersion,omitzero" jsonschema:"version of the open document it was made for"`
	Hunks       []Hunk `json:"hunks" jsonschema:"the changed parts in order"`
}

// FileOp says what happens to a file. An unknown operation reads as modify.
type FileOp string

const (
	FileCreate FileOp = "create" // it is made
	FileModify FileOp = "modify" // its text changes
	FileDelete FileOp = "delete" // it is removed
)

// Hunk is one changed part of a file, counted and written as in a unified diff.
type Hunk struct {
	HunkID   string `json:"hunkId" jsonschema:"id of the hunk, hnk_"`
	OldStart int    `json:"oldStart" jsonschema:"first line in the old text, counted from 1"`
	OldLines int    `json:"oldLines" jsonschema:"lines of the old text"`
	NewStart int    `json:"newStart" jsonschema:"first line in the new text, counted from 1"`
	NewLines int    `json:"newLines" jsonschema:"lines of the new text"`
	Text     string `json:"text" jsonschema:"the lines, each after a space, a minus or a plus"`
	Shown    string `json:"shown,omitzero" jsonschema:"the text with its invisible characters escaped; only when that differs, and then this is what to show"`
}

// CommandSubject is a command that has not been run.
type CommandSubject struct {
	Command  string   `json:"command" jsonschema:"the whole command as it would be run"`
	Shown    string   `json:"shown,omitzero" jsonschema:"the command with its invisible characters escaped; only when that differs, and then this is what to show"`
	Cwd      string   `json:"cwd" jsonschema:"absolute path of the directory it would run in"`
	Commands []string `json:"commands" jsonschema:"the simple commands read from it; empty when it cannot be read"`
	Writes   []string `json:"writes" jsonschema:"files it would visibly write, as written in it"`
}

// ApprovalOption is one answer that is taken.
type ApprovalOption struct {
	ID    string     `json:"id" jsonschema:"what to send back; unique in its approval"`
	Kind  OptionKind `json:"kind" jsonschema:"what it means"`
	Label string     `json:"label,omitzero" jsonschema:"words for a button, at most 60 characters"`
	Rules []Rule     `json:"rules,omitzero" jsonschema:"what else it will allow without asking"`
	Scope string     `json:"scope,omitzero" jsonschema:"of allow_always: where and how long the rules hold, for people"`
}

// OptionKind says what an answer means. An option of an unknown kind is not to
// be offered.
type OptionKind string

const (
	AllowOnce    OptionKind = "allow_once"    // this call
	AllowTurn    OptionKind = "allow_turn"    // this call, and what the rule covers until the turn ends
	AllowSession OptionKind = "allow_session" // this call, and what the rule covers until the session ends
	AllowAlways  OptionKind = "allow_always"  // this call, and what the rule covers from now on
	Reject       OptionKind = "reject"        // not this call; feedback tells the model why
)

// Rule names calls that need no question.
type Rule struct {
	Tool    string `json:"tool" jsonschema:"name of the tool"`
	Pattern string `json:"pattern" jsonschema:"what its subject must look like; * is any text and ? one character"`
}

// ApprovalListParams asks for the open approvals.
type ApprovalListParams struct {
	SessionID string `json:"sessionId,omitzero" jsonschema:"only those of this session; those of all open sessions when left out"`
}

// ApprovalListResult is the open approvals.
type ApprovalListResult struct {
	Approvals []Approval `json:"approvals" jsonschema:"as in approval.requested, oldest first"`
}

// ApprovalRespondParams answers an approval. The first valid answer wins; a
// dialog that was closed is no answer and is not sent.
type ApprovalRespondParams struct {
	SessionID       string                  `json:"sessionId,omitzero" jsonschema:"id of the session; found by the approval when left out"`
	ApprovalID      string                  `json:"approvalId" jsonschema:"id of the approval, apr_"`
	OptionID        string                  `json:"optionId" jsonschema:"id of one of its options"`
	ClientRequestID string                  `json:"clientRequestId,omitzero" jsonschema:"a repeat with the same id and body returns the first answer"`
	Feedback        string                  `json:"feedback,omitzero" jsonschema:"words for the model, such as why not"`
	Hunks           map[string]HunkDecision `json:"hunks,omitzero" jsonschema:"of an edit that is allowed: the answer for each hunk by its id; when given, a hunk not named in it is rejected"`
	HunkFeedback    map[string]string       `json:"hunkFeedback,omitzero" jsonschema:"words for the model about hunks, by their ids"`
	Edited          []EditedFile            `json:"edited,omitzero" jsonschema:"of an edit that is allowed: the user's own text for some of its files"`
}

// HunkDecision is the answer for one hunk. An unknown decision reads as reject.
type HunkDecision string

const (
	HunkAccept HunkDecision = "accept" // apply it
	HunkReject HunkDecision = "reject" // leave it out and tell the model
)

// EditedFile is the text that the user wants a file to have.
type EditedFile struct {
	URI     string `json:"uri" jsonschema:"one of the files of the edit"`
	NewText string `json:"newText" jsonschema:"its whole new text"`
}

// ApprovalRespondResult says what an answer did.
type ApprovalRespondResult struct {
	Status     RespondStatus `json:"status" jsonschema:"whether this answer counted"`
	ResolvedBy string        `json:"resolvedBy,omitzero" jsonschema:"clientId of the client whose answer counted"`
	Outcome    Outcome       `json:"outcome" jsonschema:"how the approval ended"`
}

// RespondStatus says whether an answer counted. An unknown status reads as
// already_resolved.
type RespondStatus string

const (
	RespondApplied         RespondStatus = "applied"          // this answer decided
	RespondAlreadyResolved RespondStatus = "already_resolved" // another answer came first, or the turn was interrupted
	RespondStale           RespondStatus = "stale"            // a file changed meanwhile, so the question no longer stands
)

// Outcome says how an approval ended. An unknown outcome reads as cancelled.
type Outcome string

const (
	OutcomeAllowed   Outcome = "allowed"   // the call may run, perhaps only in part
	OutcomeRejected  Outcome = "rejected"  // the call does not run
	OutcomeCancelled Outcome = "cancelled" // the turn ended before there was an answer
	OutcomeStale     Outcome = "stale"     // a file changed before there was an answer
)

package protocol

// SessionRenameParams gives a session a name, which is its title from then on.
type SessionRenameParams struct {
	SessionID string `json:"sessionId" jsonschema:"id of the session, or a prefix that fits only one"`
	Name      string `json:"name" jsonschema:"one line, at most 100 UTF-16 units of it are kept; empty takes the name away"`
}

// SessionArchiveParams puts a session away, or back. It can be attached to all
// the same.
type SessionArchiveParams struct {
	SessionID string `json:"sessionId" jsonschema:"id of the session, or a prefix that fits only one"`
	Archived  *bool  `json:"archived,omitzero" jsonschema:"false puts it back; true when left out"`
}

// SessionDeleteParams removes a session from the disk. One that is open here is
// closed first; one that another process writes is not removed.
type SessionDeleteParams struct {
	SessionID string `json:"sessionId" jsonschema:"id of the session, or a prefix that fits only one"`
}

// SessionExportParams writes a session to a file for other uses.
type SessionExportParams struct {
	SessionID string       `json:"sessionId" jsonschema:"id of the session, or a prefix that fits only one"`
	Format    ExportFormat `json:"format,omitzero" jsonschema:"md when left out"`
	Path      string       `json:"path,omitzero" jsonschema:"absolute path of the file, which is replaced if it is there; a file below the state directory when left out"`
}

// ExportFormat says how a session is written out.
type ExportFormat string

const (
	ExportMarkdown ExportFormat = "md"    // a page to read
	ExportJSONL    ExportFormat = "jsonl" // the record without its messages on the first line, then one message per line as stored
)

// SessionExportResult says where the file is.
type SessionExportResult struct {
	Path string `json:"path" jsonschema:"absolute path of the file"`
}

// SessionForkParams begins a new session with what another one was. The other
// one stays as it is, and may be one that another process writes.
type SessionForkParams struct {
	SessionID string `json:"sessionId" jsonschema:"id of the session, or a prefix that fits only one"`
	AtTurnID  string `json:"atTurnId,omitzero" jsonschema:"the last turn of the copy, trn_; all there is when left out"`
}

// SessionForkResult names the new session. The client attaches to it to go on.
type SessionForkResult struct {
	Session SessionInfo `json:"session" jsonschema:"the new session; its parentId is the other one's id"`
}

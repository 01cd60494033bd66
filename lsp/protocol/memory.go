package protocol

// Note is one thing learnt about the project in a folder.
type Note struct {
	ID        string   `json:"id" jsonschema:"id of the note"`
	Kind      NoteKind `json:"kind" jsonschema:"what sort of thing it is"`
	Text      string   `json:"text" jsonschema:"one line of at most 400 UTF-16 units"`
	CreatedAt string   `json:"createdAt" jsonschema:"when it was noted; of notes by other programs perhaps not a time"`
	Hits      int      `json:"hits" jsonschema:"how often it was recalled"`
}

// NoteKind says what sort of thing a note is. There are no others.
type NoteKind string

const (
	NoteFact     NoteKind = "fact"     // something that is so
	NoteDecision NoteKind = "decision" // something that was decided
	NoteGotcha   NoteKind = "gotcha"   // something that surprises
	NoteCommand  NoteKind = "command"  // how something is done
)

// NoteText is what a note says.
type NoteText struct {
	Kind NoteKind `json:"kind" jsonschema:"what sort of thing it is"`
	Text string   `json:"text" jsonschema:"the words"`
}

// MemoryListParams asks for the notes about the project in a folder.
type MemoryListParams struct {
	Cwd string `json:"cwd" jsonschema:"absolute path of the folder"`
}

// MemoryListResult is all the notes.
type MemoryListResult struct {
	Notes []Note `json:"notes" jsonschema:"oldest first, at most 300"`
	Hash  string `json:"hash" jsonschema:"tells this list from another; for ifHash"`
}

// MemoryWriteParams adds a note or changes one. A text that is empty or has a
// secret in it is refused with invalid_params.
type MemoryWriteParams struct {
	Cwd    string   `json:"cwd" jsonschema:"absolute path of the folder"`
	ID     string   `json:"id,omitzero" jsonschema:"the note to change; a new one when left out"`
	Kind   NoteKind `json:"kind" jsonschema:"what sort of thing it is"`
	Text   string   `json:"text" jsonschema:"the words; become one line, cut to 400 UTF-16 units"`
	IfHash string   `json:"ifHash,omitzero" jsonschema:"the list that was seen; another one is a conflict"`
}

// MemoryWriteResult is the note as it is stored.
type MemoryWriteResult struct {
	Note Note   `json:"note" jsonschema:"an older one when that says the same"`
	Hash string `json:"hash" jsonschema:"of the list now"`
}

// MemoryDeleteParams removes notes.
type MemoryDeleteParams struct {
	Cwd    string   `json:"cwd" jsonschema:"absolute path of the folder"`
	IDs    []string `json:"ids" jsonschema:"the notes; ids of none are ignored"`
	IfHash string   `json:"ifHash,omitzero" jsonschema:"the list that was seen; another one is a conflict"`
}

// MemoryDeleteResult says what was removed.
type MemoryDeleteResult struct {
	Deleted int    `json:"deleted" jsonschema:"how many notes there were of those"`
	Hash    string `json:"hash" jsonschema:"of the list now"`
}

// MemoryCompactParams has the model merge the notes that were never recalled.
// The notes as they were are kept in a file beside theirs.
type MemoryCompactParams struct {
	Cwd    string     `json:"cwd" jsonschema:"absolute path of the folder"`
	IfHash string     `json:"ifHash,omitzero" jsonschema:"the list that was seen; another one is a conflict"`
	Accept []NoteText `json:"accept,omitzero" jsonschema:"what an unconfirmed answer proposed, perhaps edited: it takes the place of the notes that were never recalled, and no model is asked; needs the ifHash of that answer"`
}

// MemoryCompactResult says what came of it.
type MemoryCompactResult struct {
	Status   CompactStatus `json:"status" jsonschema:"whether anything changed"`
	Before   int           `json:"before" jsonschema:"how many notes there were"`
	After    int           `json:"after" jsonschema:"how many there are"`
	Reason   string        `json:"reason,omitzero" jsonschema:"why the answer should be looked at first"`
	Proposed []NoteText    `json:"proposed,omitzero" jsonschema:"of an unconfirmed answer: what would be left of the notes that were never recalled"`
	Hash     string        `json:"hash" jsonschema:"of the list now"`
}

// CompactStatus says what came of merging notes.
type CompactStatus string

const (
	CompactDone        CompactStatus = "compacted"   // the notes were merged
	CompactUnchanged   CompactStatus = "unchanged"   // there was nothing to merge
	CompactUnconfirmed CompactStatus = "unconfirmed" // the answer would lose much; nothing was changed
)

// MemoryChanged is the data of memory.changed: the notes of the session's folder
// changed, by whomever.
type MemoryChanged struct {
	Cwd   string `json:"cwd" jsonschema:"absolute path of the folder"`
	Count int    `json:"count" jsonschema:"how many notes there are now"`
	Hash  string `json:"hash" jsonschema:"of the list now"`
}

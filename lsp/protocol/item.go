package protocol

import "encoding/json"

// Item is one thing that happened in a turn: what someone said, or what a tool
// did.
type Item struct {
	ID           string          `json:"id" jsonschema:"id of the item, itm_"`
	Kind         ItemKind        `json:"kind" jsonschema:"what it is"`
	TurnID       string          `json:"turnId,omitzero" jsonschema:"the turn it belongs to, trn_"`
	ParentItemID string          `json:"parentItemId,omitzero" jsonschema:"the tool call of the agent that asked for it, when that was a subagent"`
	Title        string          `json:"title,omitzero" jsonschema:"one line for people"`
	ToolName     string          `json:"toolName,omitzero" jsonschema:"of a tool: its name as the model knows it"`
	ToolKind     ToolKind        `json:"toolKind,omitzero" jsonschema:"of a tool: what sort of thing it does"`
	Status       ItemStatus      `json:"status" jsonschema:"how far it got"`
	Locations    []Location      `json:"locations,omitzero" jsonschema:"of a tool: places it reads or changes"`
	Text         string          `json:"text,omitzero" jsonschema:"of user, text, reasoning and notice: the words"`
	Input        json.RawMessage `json:"input,omitzero" jsonschema:"of a tool: its arguments as the model wrote them"`
	Output       string          `json:"output,omitzero" jsonschema:"of a tool: its result, at most 64 KiB of it"`
	OutputRef    *OutputRef      `json:"outputRef,omitzero" jsonschema:"of a tool: where the whole result is when output is only its beginning"`
	Withdrawn    bool            `json:"withdrawn,omitzero" jsonschema:"the text of an attempt that failed and was made again; not part of the conversation"`
	Error        string          `json:"error,omitzero" jsonschema:"why it failed or was declined"`
}

// ItemKind says what an item is. An unknown kind reads as notice.
type ItemKind string

const (
	ItemUser      ItemKind = "user"      // a prompt
	ItemText      ItemKind = "text"      // words of the model
	ItemReasoning ItemKind = "reasoning" // thoughts of the model
	ItemTool      ItemKind = "tool"      // a tool call and its result
	ItemNotice    ItemKind = "notice"    // words of shiro itself, such as the output of a slash command
)

// ItemStatus says how far an item got. An unknown status reads as in_progress.
type ItemStatus string

const (
	ItemPending    ItemStatus = "pending"     // a tool call not yet allowed or not yet begun
	ItemInProgress ItemStatus = "in_progress" // it streams or runs
	ItemCompleted  ItemStatus = "completed"   // it is whole
	ItemFailed     ItemStatus = "failed"      // it ended with an error
	ItemCancelled  ItemStatus = "cancelled"   // an interrupt ended it
	ItemDeclined   ItemStatus = "declined"    // the user or a rule said no; it never ran
)

// ToolKind says what sort of thing a tool does, in the words of ACP. An unknown
// kind reads as other.
type ToolKind string

const (
	ToolRead    ToolKind = "read"    // looks at files
	ToolEdit    ToolKind = "edit"    // changes or makes files
	ToolDelete  ToolKind = "delete"  // removes files
	ToolMove    ToolKind = "move"    // renames files
	ToolSearch  ToolKind = "search"  // looks for files or text
	ToolExecute ToolKind = "execute" // runs a command
	ToolThink   ToolKind = "think"   // plans or takes notes
	ToolFetch   ToolKind = "fetch"   // gets something from the network
	ToolOther   ToolKind = "other"   // anything else
)

// Location is a place that a tool touches.
type Location struct {
	URI  string  `json:"uri" jsonschema:"the document"`
	Line *uint32 `json:"line,omitzero" jsonschema:"line in it, counted from 0; left out for the document as a whole"`
}

// OutputRef says where the whole of a long result is.
type OutputRef struct {
	Channel Channel `json:"channel" jsonschema:"what to ask shiro/item/get for"`
	Size    int64   `json:"size" jsonschema:"length of the whole in UTF-8 bytes"`
}

// Channel names one of the texts of an item. An unknown channel reads as output.
type Channel string

const (
	ChannelText      Channel = "text"      // words
	ChannelReasoning Channel = "reasoning" // thoughts
	ChannelArgs      Channel = "args"      // arguments of a tool call, as they stream
	ChannelStdout    Channel = "stdout"    // standard output of a command
	ChannelStderr    Channel = "stderr"    // standard error of a command
	ChannelOutput    Channel = "output"    // the result of a tool as the model reads it
)

// ItemGetParams asks for an item, or for a part of one of its texts.
type ItemGetParams struct {
	SessionID string  `json:"sessionId" jsonschema:"id of the session"`
	ItemID    string  `json:"itemId" jsonschema:"id of the item, itm_"`
	Channel   Channel `json:"channel,omitzero" jsonschema:"which of its texts; left out asks for the item itself"`
	Offset    int64   `json:"offset,omitzero" jsonschema:"where to begin, in UTF-8 bytes"`
	Limit     int     `json:"limit,omitzero" jsonschema:"how many bytes at most; 64 KiB when left out, never more than 512 KiB"`
}

// ItemGetResult holds the item when no channel was named, else a part of the
// text. A part never ends inside a character, so it can be shorter than asked.
type ItemGetResult struct {
	Item *Item  `json:"item,omitzero" jsonschema:"the item, when no channel was named"`
	Text string `json:"text" jsonschema:"the part of the channel's text"`
	From int64  `json:"from" jsonschema:"offset of its beginning in UTF-8 bytes"`
	To   int64  `json:"to" jsonschema:"offset of its end in UTF-8 bytes"`
	Size int64  `json:"size" jsonschema:"length of the channel's text so far in UTF-8 bytes"`
	More bool   `json:"more" jsonschema:"there is text after this part"`
}

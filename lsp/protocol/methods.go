package protocol

import "time"

// Version is the version of the protocol described here. It changes only when
// something is removed or changes its meaning.
const Version = 1

// Names of the requests that a client sends.
const (
	MethodSessionCreate   = "shiro/session/create"
	MethodSessionAttach   = "shiro/session/attach"
	MethodSessionDetach   = "shiro/session/detach"
	MethodSessionList     = "shiro/session/list"
	MethodSessionHistory  = "shiro/session/history"
	MethodSessionClose    = "shiro/session/close"
	MethodSessionRename   = "shiro/session/rename"
	MethodSessionArchive  = "shiro/session/archive"
	MethodSessionDelete   = "shiro/session/delete"
	MethodSessionExport   = "shiro/session/export"
	MethodSessionFork     = "shiro/session/fork"
	MethodTurnStart       = "shiro/turn/start"
	MethodTurnInterrupt   = "shiro/turn/interrupt"
	MethodApprovalList    = "shiro/approval/list"
	MethodApprovalRespond = "shiro/approval/respond"
	MethodTodoGet         = "shiro/todo/get"
	MethodContextGet      = "shiro/context/get"
	MethodItemGet         = "shiro/item/get"
	MethodMemoryList      = "shiro/memory/list"
	MethodMemoryWrite     = "shiro/memory/write"
	MethodMemoryDelete    = "shiro/memory/delete"
	MethodMemoryCompact   = "shiro/memory/compact"
	MethodHistoryList     = "shiro/history/list"
	MethodHistoryAppend   = "shiro/history/append"
	MethodSchema          = "shiro/schema"
)

// MethodEvent is the notification that carries every [Event] to the client.
const MethodEvent = "shiro/event"

// Prefixes of the ids that the server gives.
const (
	PrefixTurn     = "trn_"
	PrefixItem     = "itm_"
	PrefixApproval = "apr_"
	PrefixHunk     = "hnk_"
	PrefixQueue    = "que_"
)

// Limits of one message or page. Sizes are in bytes of UTF-8 before JSON
// escaping, unless the name says otherwise.
const (
	MaxMessageBytes = 32 << 20  // a whole encoded message to the server
	ReplayEvents    = 512       // events in one answer to attach
	ReplayBytes     = 1 << 20   // encoded events in one answer to attach
	TailItems       = 50        // items in a snapshot unless the client asks for another number
	HistoryItems    = 50        // items in one page of history unless the client asks for another number
	MaxHistoryItems = 200       // items in one page of history at most
	ListSessions    = 50        // sessions in one page of the list unless the client asks for another number
	MaxListSessions = 200       // sessions in one page of the list at most
	InlineOutput    = 64 << 10  // output held by an item itself; longer output is fetched through its OutputRef
	MaxItemPage     = 512 << 10 // text in one answer to item/get at most; InlineOutput is the default
	MaxQueued       = 20        // prompts waiting in one session
	MaxTitle        = 60        // characters in the title of an approval and in the label of an option
	MaxOpenURIs     = 10        // documents named in an EditorContext; the rest is ignored
	MaxDiagnostics  = 50        // diagnostics in an EditorContext; the rest is ignored
)

// Empty is the params or the result of a method that has nothing to say.
type Empty struct{}

// Timestamp is a moment in RFC 3339 form, UTC, with milliseconds:
// 2026-02-03T04:05:06.789Z. Two of them compare as text in order of time.
type Timestamp string

// TimestampOf returns t cut to the millisecond.
func TimestampOf(t time.Time) Timestamp {
	return Timestamp(t.UTC().Format("2006-01-02T15:04:05.000Z"))
}

// Method describes one request from client to server. Params and Result are zero
// values of the types on the wire.
type Method struct {
	Name   string
	Params any
	Result any
}

// Methods returns every request of this version. What a server answers to is
// what it says in [ServerCapabilities], which may be less.
func Methods() []Method {
	return []Method{
		{MethodSessionCreate, SessionCreateParams{}, SessionCreateResult{}},
		{MethodSessionAttach, SessionAttachParams{}, SessionAttachResult{}},
		{MethodSessionDetach, SessionDetachParams{}, Empty{}},
		{MethodSessionList, SessionListParams{}, SessionListResult{}},
		{MethodSessionHistory, SessionHistoryParams{}, SessionHistoryResult{}},
		{MethodSessionClose, SessionCloseParams{}, Empty{}},
		{MethodSessionRename, SessionRenameParams{}, Empty{}},
		{MethodSessionArchive, SessionArchiveParams{}, Empty{}},
		{MethodSessionDelete, SessionDeleteParams{}, Empty{}},
		{MethodSessionExport, SessionExportParams{}, SessionExportResult{}},
		{MethodSessionFork, SessionForkParams{}, SessionForkResult{}},
		{MethodTurnStart, TurnStartParams{}, TurnStartResult{}},
		{MethodTurnInterrupt, TurnInterruptParams{}, TurnInterruptResult{}},
		{MethodApprovalList, ApprovalListParams{}, ApprovalListResult{}},
		{MethodApprovalRespond, ApprovalRespondParams{}, ApprovalRespondResult{}},
		{MethodTodoGet, TodoGetParams{}, Todo{}},
		{MethodContextGet, ContextGetParams{}, Context{}},
		{MethodItemGet, ItemGetParams{}, ItemGetResult{}},
		{MethodMemoryList, MemoryListParams{}, MemoryListResult{}},
		{MethodMemoryWrite, MemoryWriteParams{}, MemoryWriteResult{}},
		{MethodMemoryDelete, MemoryDeleteParams{}, MemoryDeleteResult{}},
		{MethodMemoryCompact, MemoryCompactParams{}, MemoryCompactResult{}},
		{MethodHistoryList, HistoryListParams{}, HistoryListResult{}},
		{MethodHistoryAppend, HistoryAppendParams{}, Empty{}},
		{MethodSchema, Empty{}, map[string]any{}},
	}
}

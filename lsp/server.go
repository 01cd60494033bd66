// Package lsp is the Language Server door: it speaks LSP and the shiro/*
// requests to one editor over one connection, keeps the editor's open
// documents, and translates between the wire and package agent. It holds no
// state of a conversation.
//
// Handlers run on the connection's read loop, in wire order: each takes what
// it needs from the documents first and only then lets the next message in.
package lsp

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync"

	"go.lsp.dev/protocol"

	"shiro/agent"
	"shiro/agent/tool"
	wire "shiro/lsp/protocol"
	"shiro/lsp/rpc"
	"shiro/memory/transcript"
)

// Editor is what the editor offers to the agent.
type Editor struct {
	Buffers  tool.Buffers    // its open documents
	Settings json.RawMessage // initializationOptions; empty when there are none
	Root     string          // the workspace folder; empty when there is none
}

// Catalog is what is stored: conversations and prompts. Its errors are those of
// an [agent.Store].
type Catalog interface {
	Sessions(q wire.SessionListParams) (wire.SessionListResult, error)
	// Resolve returns the id that is idOrPrefix or the only one to begin so.
	Resolve(idOrPrefix string) (string, error)
	// Edit changes the record of a session that is not open, but not its
	// messages.
	Edit(id string, change func(*transcript.Session)) error
	Delete(id string) error
	// Export writes a session to path, or where it sees fit when that is empty.
	Export(rec *transcript.Session, format wire.ExportFormat, path string) (string, error)

	Prompts(cwd string) ([]string, error) // given in that folder, oldest first
	AddPrompt(cwd, prompt string) error
}

// Options make a Server.
type Options struct {
	In      io.Reader
	Out     io.Writer
	Version string // of the program
	// Agent makes the agent once the editor has introduced itself. It must be
	// quick: initialize waits for it.
	Agent   func(context.Context, Editor) *agent.Agent
	Catalog Catalog
	Notes   Notes // nil when notes are not used
	Log     *slog.Logger
}

// A Server serves one editor.
type Server struct {
	opts     Options
	log      *slog.Logger
	conn     *rpc.Conn
	docs     *documents
	ctx      context.Context // ends with the connection
	phase    phase
	agent    *agent.Agent
	client   wire.ClientCapabilities
	exit     chan struct{} // closed by the exit notification
	exitOnce sync.Once
	orphaned chan struct{} // closed when the editor's process has ended

	mu    sync.Mutex
	pumps map[string]*pump         // by session id
	queue map[string]chan struct{} // by session id, or what else is in order: closed when the last in line is done
	wg    sync.WaitGroup
}

// New returns a server that Run starts.
func New(o Options) *Server {
	s := &Server{opts: o, log: o.Log, exit: make(chan struct{}), orphaned: make(chan struct{}), pumps: make(map[string]*pump), queue: make(map[string]chan struct{})}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.docs = newDocuments(s.applyEdit)
	s.conn = rpc.New(rpc.Options{In: o.In, Out: o.Out, Framing: rpc.Headers, Methods: s.methods(), Gate: s.gate, Log: s.log})
	return s
}

func (s *Server) methods() rpc.Methods {
	return rpc.Methods{
		protocol.MethodInitialize:                      rpc.Call(s.initialize),
		protocol.MethodInitialized:                     rpc.Notification(s.initialized),
		protocol.MethodShutdown:                        rpc.Call(s.shutdown),
		protocol.MethodExit:                            rpc.Notification(s.exited),
		protocol.MethodSetTrace:                        rpc.Notification(s.ignore),
		protocol.MethodTextDocumentDidOpen:             rpc.Notification(s.docs.didOpen),
		protocol.MethodTextDocumentDidChange:           rpc.Notification(s.docs.didChange),
		protocol.MethodTextDocumentDidClose:            rpc.Notification(s.docs.didClose),
		protocol.MethodTextDocumentDidSave:             rpc.Notification(s.docs.didSave),
		protocol.MethodWorkspaceDidChangeConfiguration: rpc.Notification(s.ignore),

		wire.MethodSessionCreate:   rpc.Call(s.sessionCreate),
		wire.MethodSessionAttach:   rpc.Call(s.sessionAttach),
		wire.MethodSessionDetach:   rpc.Call(s.sessionDetach),
		wire.MethodSessionList:     rpc.Call(s.sessionList),
		wire.MethodSessionHistory:  rpc.Call(s.sessionHistory),
		wire.MethodSessionClose:    rpc.Call(s.sessionClose),
		wire.MethodSessionRename:   rpc.Call(s.sessionRename),
		wire.MethodSessionArchive:  rpc.Call(s.sessionArchive),
		wire.MethodSessionDelete:   rpc.Call(s.sessionDelete),
		wire.MethodSessionExport:   rpc.Call(s.sessionExport),
		wire.MethodSessionFork:     rpc.Call(s.sessionFork),
		wire.MethodTurnStart:       rpc.Call(s.turnStart),
		wire.MethodTurnInterrupt:   rpc.Call(s.turnInterrupt),
		wire.MethodApprovalList:    rpc.Call(s.approvalList),
		wire.MethodApprovalRespond: rpc.Call(s.approvalRespond),
		wire.MethodTodoGet:         rpc.Call(s.todoGet),
		wire.MethodContextGet:      rpc.Call(s.contextGet),
		wire.MethodItemGet:         rpc.Call(s.itemGet),
		wire.MethodMemoryList:      rpc.Call(s.memoryList),
		wire.MethodMemoryWrite:     rpc.Call(s.memoryWrite),
		wire.MethodMemoryDelete:    rpc.Call(s.memoryDelete),
		wire.MethodMemoryCompact:   rpc.Call(s.memoryCompact),
		wire.MethodHistoryList:     rpc.Call(s.historyList),
		wire.MethodHistoryAppend:   rpc.Call(s.historyAppend),
		wire.MethodSchema:          rpc.Call(s.schema),
	}
}

// Run serves until the editor says exit, goes away or stops reading, or ctx
// ends. It returns the exit code that LSP asks for: 0 after shutdown, else 1.
// By then every turn has ended and all state is written.
func (s *Server) Run(ctx context.Context) int {
	ctx, cancel := context.WithCancel(ctx)
	s.ctx = ctx
	ended := make(chan error, 1)
	go func() { ended <- s.conn.Run(ctx) }()
	select {
	case <-s.exit:
	case <-s.orphaned:
		s.log.Warn("the editor's process has ended")
	case err := <-ended:
		if err != nil {
			s.log.Warn("connection ended", "err", err)
		}
	}
	return s.stop(cancel)
}

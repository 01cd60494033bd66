package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"go.lsp.dev/protocol"

	wire "shiro/lsp/protocol"
	"shiro/lsp/rpc"
)

// lastFlush bounds the wait for an editor that does not read any more.
const lastFlush = time.Second

// phase of the connection, in order.
type phase struct{ atomic.Int32 }

const (
	fresh = iota
	initialized
	shutDown
)

// gate keeps the order of life: nothing before initialize, nothing after
// shutdown but exit.
func (s *Server) gate(method string, call bool) error {
	switch p := s.phase.Load(); {
	case method == protocol.MethodExit:
		return nil
	case p == fresh && method != protocol.MethodInitialize:
		return fail(wire.KindNotInitialized, "%s before initialize", method)
	case p == initialized && method == protocol.MethodInitialize:
		return fail(wire.KindInvalidRequest, "initialize a second time")
	case p == shutDown && call:
		return fail(wire.KindInvalidRequest, "%s after shutdown", method)
	}
	return nil
}

func (s *Server) initialize(ctx context.Context, p *protocol.InitializeParams) (*protocol.InitializeResult, error) {
	var extra struct {
		Shiro *wire.ClientCapabilities `json:"shiro"`
	}
	if e := p.Capabilities.Experimental; len(e) > 0 {
		if err := json.Unmarshal(e, &extra); err != nil {
			return nil, fail(wire.KindInvalidParams, "capabilities.experimental.shiro: %v", err)
		}
	}
	if extra.Shiro != nil {
		if !slices.Contains(extra.Shiro.ProtocolVersions, wire.Version) {
			e := fail(wire.KindVersionUnsupported, "this server speaks protocol version %d, the client %v", wire.Version, extra.Shiro.ProtocolVersions)
			e.Data = wire.ErrorData{Kind: wire.KindVersionUnsupported, Supported: []int{wire.Version}}
			return nil, e
		}
		s.client = *extra.Shiro
	}
	encoding := protocol.PositionEncodingKindUTF16
	if g := p.Capabilities.General; g != nil && slices.Contains(g.PositionEncodings, protocol.PositionEncodingKindUTF8) {
		encoding = protocol.PositionEncodingKindUTF8
	}
	s.docs.utf16 = encoding == protocol.PositionEncodingKindUTF16
	if w := p.Capabilities.Workspace; w != nil {
		s.docs.editable = w.ApplyEdit != nil && *w.ApplyEdit
	}
	if w := p.Capabilities.Workspace; w != nil && w.WorkspaceEdit != nil {
		s.docs.versioned = w.WorkspaceEdit.DocumentChanges != nil && *w.WorkspaceEdit.DocumentChanges
	}
	if p.ProcessID != nil {
		died := rpc.WatchExit(s.ctx, int(*p.ProcessID))
		s.wg.Go(func() {
			select {
			case <-died:
				close(s.orphaned)
			case <-s.ctx.Done():
			}
		})
	}
	root := ""
	//lint:ignore SA1019 some editors send nothing newer
	if p.RootURI != nil {
		//lint:ignore SA1019 as above
		root, _ = pathOf(string(*p.RootURI))
	}
	if folders, ok := p.WorkspaceFolders.Get(); ok && len(folders) > 0 {
		root, _ = pathOf(string(folders[0].URI))
	}
	s.agent = s.opts.Agent(s.ctx, Editor{Buffers: s.docs, Settings: json.RawMessage(p.InitializationOptions), Root: root})
	s.phase.Store(initialized)
	return s.introduction(encoding)
}

func (s *Server) introduction(encoding protocol.PositionEncodingKind) (*protocol.InitializeResult, error) {
	methods := []string{}
	for _, m := range wire.Methods() {
		methods = append(methods, m.Name)
	}
	events := []wire.EventType{}
	for _, e := range wire.Events() {
		events = append(events, e.Type)
	}
	ours, err := json.Marshal(map[string]any{"shiro": wire.ServerCapabilities{
		ProtocolVersion: wire.Version, ServerVersion: s.opts.Version, Methods: methods, Events: events,
		SchemaSHA256: wire.SchemaSHA256(),
		Features:     wire.ServerFeatures{Queue: true, Hunks: true, Memory: s.opts.Notes != nil},
		Limits:       wire.ServerLimits{MaxMessageBytes: wire.MaxMessageBytes, ReplayPage: wire.ReplayEvents, MaxQueued: wire.MaxQueued},
	}})
	if err != nil {
		return nil, fmt.Errorf("encoding capabilities: %w", err)
	}
	yes := true
	kind := protocol.TextDocumentSyncKindIncremental
	return &protocol.InitializeResult{
		Capabilities: protocol.ServerCapabilities{
			PositionEncoding: encoding,
			TextDocumentSync: &protocol.TextDocumentSyncOptions{OpenClose: &yes, Change: &kind, Save: protocol.Boolean(true)},
			Experimental:     ours,
		},
		ServerInfo: protocol.ServerInfo{Name: "shiro", Version: protocol.NewOptional(s.opts.Version)},
	}, nil
}

func (s *Server) initialized(context.Context, *struct{}) error { return nil }

func (s *Server) ignore(context.Context, *struct{}) error { return nil }

// shutdown ends the turns and writes everything before it answers.
func (s *Server) shutdown(ctx context.Context, _ *struct{}) (any, error) {
	s.phase.Store(shutDown)
	return nil, s.agent.Close()
}

func (s *Server) exited(context.Context, *struct{}) error {
	s.exitOnce.Do(func() { close(s.exit) })
	return nil
}

// stop ends what is left and returns the exit code.
func (s *Server) stop(cancel context.CancelFunc) int {
	code := 1
	if s.phase.Load() == shutDown {
		code = 0
	}
	if s.agent != nil {
		if err := s.agent.Close(); err != nil {
			s.log.Error("closing", "err", err)
		}
	}
	cancel()
	s.wg.Wait()
	ctx, done := context.WithTimeout(context.WithoutCancel(s.ctx), lastFlush)
	defer done()
	if err := s.conn.Close(ctx); err != nil {
		s.log.Warn("closing the connection", "err", err)
	}
	return code
}

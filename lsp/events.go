package lsp

import (
	"context"
	"encoding/json"
	"slices"

	"shiro/agent"
	wire "shiro/lsp/protocol"
	"shiro/lsp/rpc"
)

// A pump sends the events of one conversation to the editor. While the editor
// does not read, it waits, and the feed behind it joins what comes.
type pump struct {
	detach func()
	stop   context.CancelFunc
	done   chan struct{}
}

// follow sends sess's events from the moment the request in ctx is answered,
// instead of an earlier pump's.
func (s *Server) follow(ctx context.Context, sess *agent.Session, at agent.Attachment, detach func(), exclude []string) {
	exclude = slices.Concat(exclude, s.client.Events.Exclude)
	pctx, stop := context.WithCancel(s.ctx)
	p := &pump{detach: detach, stop: stop, done: make(chan struct{})}
	s.mu.Lock()
	old := s.pumps[sess.ID]
	s.pumps[sess.ID] = p
	s.wg.Add(1)
	s.mu.Unlock()
	old.end()
	rpc.AfterReply(ctx, func() {
		go func() {
			defer s.wg.Done()
			defer close(p.done)
			s.pump(pctx, sess.ID, at.Feed, exclude)
		}()
	})
}

func (s *Server) unfollow(id string) {
	s.mu.Lock()
	p := s.pumps[id]
	delete(s.pumps, id)
	s.mu.Unlock()
	p.end()
}

func (p *pump) end() {
	if p == nil {
		return
	}
	p.detach()
	p.stop()
	<-p.done
}

func (s *Server) pump(ctx context.Context, id string, feed *agent.Feed, exclude []string) {
	for {
		e, err := feed.Next(ctx)
		if err != nil {
			return
		}
		if d, ok := e.Data.(agent.ItemDelta); ok && excluded(exclude, d.Channel) {
			continue
		}
		if err := s.conn.NotifyWait(ctx, wire.MethodEvent, wireEvent(id, e)); err != nil {
			return
		}
	}
}

// excluded reports whether the deltas of a channel are not wanted. Durable
// events cannot be excluded: their numbers would have holes.
func excluded(exclude []string, channel string) bool {
	delta := string(wire.EventItemDelta)
	return slices.Contains(exclude, delta) || slices.Contains(exclude, delta+":"+channel)
}

// replayPage is as many events as one answer may hold.
func (s *Server) replayPage(id string, events []agent.Event) []wire.Event {
	page := []wire.Event{}
	size := 0
	for _, e := range events {
		w := wireEvent(id, e)
		b, err := json.Marshal(w)
		if err != nil {
			s.log.Error("encoding an event", "type", w.Type, "err", err)
		}
		if size += len(b); len(page) > 0 && size > wire.ReplayBytes || len(page) == wire.ReplayEvents {
			break
		}
		page = append(page, w)
	}
	return page
}

func (s *Server) snapshot(sess *agent.Session, a *agent.Snapshot) *wire.Snapshot {
	snap := &wire.Snapshot{
		Session: sessionInfo(a.Info), Items: wireItems(a.Items), HasOlder: a.HasOlder,
		Todo: wireTodo(a.Todo), Context: wireContext(a.Context), Queue: wireQueue(a.Queue),
		PendingApprovals: wireApprovals(sess.ID, a.Approvals), LiveItems: []wire.LiveItem{},
	}
	if t := a.Active; t != nil {
		snap.ActiveTurn = &wire.ActiveTurn{TurnID: t.ID, Trigger: wire.TurnTrigger(t.Trigger), StartedAt: wire.TimestampOf(t.Begun)}
	}
	for _, l := range a.Live {
		snap.LiveItems = append(snap.LiveItems, wire.LiveItem{ItemID: l.Item, Channel: wire.Channel(l.Channel), Text: l.Text, To: int64(l.To)})
	}
	return snap
}

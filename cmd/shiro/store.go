package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"shiro/agent"
	wire "shiro/lsp/protocol"
	"shiro/memory"
	"shiro/memory/transcript"
)

// records lets the agent use the store.
type records struct{ *memory.Store }

func (r records) Load(idOrPrefix string) (*transcript.Session, any, error) {
	rec, stamp, err := r.Store.Load(idOrPrefix)
	if errors.Is(err, memory.ErrNotFound) {
		err = agent.ErrNotFound
	}
	return rec, stamp, err
}

func (r records) Open(id string, version any, notice func(agent.Notice)) (agent.Writer, error) {
	stamp, _ := version.(memory.Stamp)
	w, err := r.Store.Writer(memory.WriterOptions{
		Session: id, Stamp: stamp,
		Failed: func(err error) {
			notice(agent.Notice{Level: "error", Title: "The conversation is not being saved", Detail: err.Error(), Key: "unsaved"})
		},
		Forked: func(id string) {
			notice(agent.Notice{
				Level: "warning", Title: "Another program changed this conversation",
				Detail: "What you do here is saved as session " + id + " from now on; the other one is left as it is.", Key: "forked",
			})
		},
	})
	if locked, ok := errors.AsType[*memory.LockedError](err); ok {
		return nil, &lockedError{locked}
	}
	return w, err
}

// lockedError tells the editor who writes a session.
type lockedError struct{ *memory.LockedError }

func (e *lockedError) Is(target error) bool { return target == agent.ErrLocked }
func (e *lockedError) Owner() int           { return e.PID }

// catalog lets the editor look through the store.
type catalog struct{ store *memory.Store }

func (c catalog) Sessions(q wire.SessionListParams) (wire.SessionListResult, error) {
	l, err := c.store.List(memory.ListOptions{CWD: q.Cwd, Query: q.Query, Limit: q.Limit, Cursor: q.Cursor})
	if err != nil {
		return wire.SessionListResult{}, err
	}
	res := wire.SessionListResult{NextCursor: l.Next, Skipped: l.Skipped}
	for _, i := range l.Sessions {
		res.Sessions = append(res.Sessions, wire.SessionInfo{
			ID: i.ID, Title: i.Title, Cwd: i.CWD, CreatedAt: wire.TimestampOf(i.CreatedAt), UpdatedAt: wire.TimestampOf(i.UpdatedAt),
			State: wire.SessionIdle, Turns: i.Turns, Messages: i.Messages, Model: i.Model,
			Tokens: wire.SessionTokens{Input: i.InputTokens, Output: i.OutputTokens}, CostUSD: i.CostUSD, Preview: i.Preview,
		})
	}
	return res, nil
}

func runSessions(_ context.Context, args []string, std streams) int {
	fs := flag.NewFlagSet("shiro sessions", flag.ContinueOnError)
	here := fs.Bool("here", false, "only those of the current folder")
	limit := fs.Int("n", 15, "how `many`")
	query := fs.String("query", "", "only those with this `text` in title, id or preview")
	if code, ok := parse(fs, args, std); !ok {
		return code
	}
	home, err := homeDir(os.LookupEnv)
	if err != nil {
		fmt.Fprintln(std.err, "shiro:", err)
		return 1
	}
	o := memory.ListOptions{Limit: *limit, Query: *query}
	if *here {
		if o.CWD, err = os.Getwd(); err != nil {
			fmt.Fprintln(std.err, "shiro:", err)
			return 1
		}
	}
	l, err := memory.Open(memory.Options{Dir: stateDir(home)}).List(o)
	if err != nil {
		fmt.Fprintln(std.err, "shiro:", err)
		return 1
	}
	for _, s := range l.Sessions {
		title := strings.Join(strings.Fields(s.Title), " ")
		fmt.Fprintf(std.out, "%s  %s  %4dmsg  %s\n", s.ID, s.UpdatedAt.UTC().Format("2006-01-02 15:04"), s.Messages, title)
	}
	if len(l.Sessions) == 0 {
		fmt.Fprintln(std.out, "No saved sessions.")
	}
	if l.Skipped > 0 {
		fmt.Fprintf(std.err, "%d files in the sessions folder could not be read and were left as they are.\n", l.Skipped)
	}
	return 0
}

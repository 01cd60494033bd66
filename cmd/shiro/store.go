package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"shiro/agent"
	"shiro/memory"
	"shiro/memory/transcript"
)

// records lets the agent use the store.
type records struct{ *memory.Store }

func (r records) Load(idOrPrefix string) (*transcript.Session, any, error) {
	rec, stamp, err := r.Store.Load(idOrPrefix)
	return rec, stamp, agentError(err)
}

func (r records) Open(id string, version any, notice func(agent.Notice)) (agent.Writer, error) {
	stamp, _ := version.(memory.Stamp)
	w, err := r.Store.Writer(memory.WriterOptions{
		Session: id, Stamp: stamp,
		Failed: func(err error) {
			if err == nil {
				notice(agent.Notice{Level: "info", Title: "The conversation is saved again", Key: "unsaved"})
				return
			}
			notice(agent.Notice{Level: "error", Title: "The conversation is not being saved", Detail: err.Error(), Key: "unsaved"})
		},
		Forked: func(id string) {
			notice(agent.Notice{
				Level: "warning", Title: "Another program changed this conversation",
				Detail: "What you do here is saved as session " + id + " from now on; the other one is left as it is.", Key: "forked",
			})
		},
	})
	if err != nil {
		return nil, agentError(err)
	}
	return w, nil
}

// lockedError tells the editor who writes a session.
type lockedError struct{ *memory.LockedError }

func (e *lockedError) Is(target error) bool { return target == agent.ErrLocked }
func (e *lockedError) Owner() int           { return e.PID }

func runSessions(_ context.Context, args []string, std streams) int {
	fs := flag.NewFlagSet("shiro sessions", flag.ContinueOnError)
	here := fs.Bool("here", false, "only those of the current folder")
	limit := fs.Int("n", 15, "how `many`")
	query := fs.String("query", "", "only those with this `text` in title, id, preview or a prompt")
	if code, ok := parse(fs, 0, args, std); !ok {
		return code
	}
	if *limit < 1 {
		fmt.Fprintln(std.err, "shiro sessions: -n takes a number from 1")
		return 2
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
		title := strings.Join(strings.Fields(cmp.Or(s.Name, s.Title)), " ")
		fmt.Fprintf(std.out, "%s  %s  %4dmsg  %s\n", s.ID, s.UpdatedAt.UTC().Format("2006-01-02 15:04"), s.Messages, title)
	}
	switch {
	case len(l.Sessions) > 0:
	case *here || *query != "":
		fmt.Fprintln(std.out, "No saved session fits.")
	default:
		fmt.Fprintln(std.out, "No saved sessions.")
	}
	if l.Skipped > 0 {
		fmt.Fprintf(std.err, "%d files in the sessions folder could not be read and were left as they are.\n", l.Skipped)
	}
	return 0
}

package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"shiro/agent/permission"
	"shiro/agent/tool"
)

// keptAnswers bounds the settled approvals a conversation remembers, so that a
// repeated answer can be told from an unknown one.
const keptAnswers = 256

// An Approval is a tool call that waits for the user. Its exported fields do
// not change once it is published.
type Approval struct {
	ID    string
	Item  string
	Turn  string
	Tool  string
	Kind  string // "edit", "command" or "other"
	Title string
	Why   string // why the user is asked
	Risk  string // "low", "medium" or "high"
	CWD   string

	Edit     *tool.Edit        // for edits
	Escaped  map[string]string // by hunk id, the text of hunks with hidden characters, these escaped
	Command  string            // for commands: the whole text
	Shown    string            // the command with its hidden characters escaped
	Commands []string          // the simple commands read from it
	Writes   []string          // what its redirections write
	Options  []Option

	subject  tool.Subject
	propose  func() (*tool.Edit, error) // the edit as it would be now
	answered chan Answer                // receives the one answer
	settled  bool
	outcome  Outcome
	answer   Answer
}

// An Option is one way to answer. Its kind is one of allow_once, allow_turn,
// allow_session, allow_always and reject.
type Option struct {
	ID, Kind, Label string
	Rules           []permission.Rule // what is granted from then on
	Scope           string
}

// An Answer to an approval.
type Answer struct {
	Option       string
	Feedback     string            // for the model
	Hunks        map[string]bool   // hunk id -> accepted; when not nil, hunks not named are refused
	HunkFeedback map[string]string // hunk id -> reason
	Edited       map[string]string // path -> the user's own text of the file
	Request      string            // the client's id of this answer
	By           string            // the client
}

// Outcome of an approval.
type Outcome string

// Outcomes.
const (
	Allowed          Outcome = "allowed"
	Rejected         Outcome = "rejected"
	OutcomeCancelled Outcome = "cancelled" // the turn was interrupted
	Stale            Outcome = "stale"     // the file changed; the new edit is asked anew
)

// A Resolution is what Respond came to.
type Resolution struct {
	Already bool // it had been answered before
	Outcome Outcome
	By      string
}

// Errors of Respond.
var (
	ErrNoApproval = errors.New("no such approval")
	ErrBadAnswer  = errors.New("the answer does not fit the approval")
)

// Approvals returns the open ones, oldest first.
func (s *Session) Approvals() []*Approval {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.approvals)
}

// Respond settles an approval. The first valid answer wins; a repetition of it
// has the same result. An answer that does not fit leaves the approval open. An
// answer that allows an edit whose file has changed settles it as Stale.
func (s *Session) Respond(id string, ans Answer) (Resolution, error) {
	stale := s.stale(id, ans)
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.answered[id]; a != nil {
		same := ans.Request != "" && ans.Request == a.answer.Request
		return Resolution{!same, a.outcome, a.answer.By}, nil
	}
	i := slices.IndexFunc(s.approvals, func(a *Approval) bool { return a.ID == id })
	if i < 0 {
		return Resolution{}, ErrNoApproval
	}
	a := s.approvals[i]
	opt, err := a.check(ans)
	if err != nil {
		return Resolution{}, fmt.Errorf("%w: %w", ErrBadAnswer, err)
	}
	outcome := Allowed
	switch {
	case opt.Kind == "reject":
		outcome = Rejected
	case stale:
		s.settleLocked(a, Stale, Answer{Request: ans.Request, By: ans.By})
		return Resolution{Outcome: Stale, By: ans.By}, nil
	}
	s.settleLocked(a, outcome, ans)
	s.grantLocked(opt)
	return Resolution{Outcome: outcome, By: ans.By}, nil
}

// stale reports whether an open edit would now do something else than it
// showed, or could not be made any more.
func (s *Session) stale(id string, ans Answer) bool {
	s.mu.Lock()
	i := slices.IndexFunc(s.approvals, func(a *Approval) bool { return a.ID == id })
	if i < 0 || s.approvals[i].Edit == nil {
		s.mu.Unlock()
		return false
	}
	a := s.approvals[i]
	s.mu.Unlock()
	now, err := a.propose()
	return err != nil || !stillFits(a.Edit, now, ans)
}

func (a *Approval) check(ans Answer) (Option, error) {
	i := slices.IndexFunc(a.Options, func(o Option) bool { return o.ID == ans.Option })
	if i < 0 {
		return Option{}, fmt.Errorf("no option %q", ans.Option)
	}
	for _, ids := range []map[string]bool{ans.Hunks, keys(ans.HunkFeedback)} {
		for id := range ids {
			if !a.hasHunk(id) {
				return Option{}, fmt.Errorf("no hunk %q", id)
			}
		}
	}
	for path := range ans.Edited {
		if a.Edit == nil || !slices.ContainsFunc(a.Edit.Files, func(f tool.FileEdit) bool { return f.Path == path }) {
			return Option{}, fmt.Errorf("the proposal does not touch %s", path)
		}
	}
	return a.Options[i], nil
}

func keys(m map[string]string) map[string]bool {
	set := make(map[string]bool, len(m))
	for k := range m {
		set[k] = true
	}
	return set
}

func (a *Approval) hasHunk(id string) bool {
	if a.Edit == nil {
		return false
	}
	for _, f := range a.Edit.Files {
		if slices.ContainsFunc(f.Hunks, func(h tool.Hunk) bool { return h.ID == id }) {
			return true
		}
	}
	return false
}

// grantLocked remembers what an option grants, and answers what it covers
// among the other open approvals of the step.
func (s *Session) grantLocked(o Option) {
	switch o.Kind {
	case "allow_session":
		s.grants = append(s.grants, o.Rules...)
	case "allow_turn":
		s.running.grants = append(s.running.grants, o.Rules...)
	case "allow_always":
		s.agent.grant(s.CWD, o.Rules)
	default:
		return
	}
	for _, a := range slices.Clone(s.approvals) {
		if a.Kind != "edit" && s.decideLocked(a.Tool, a.subject).Decision == permission.Allow {
			s.settleLocked(a, Allowed, Answer{Option: o.ID})
		}
	}
}

// raise puts approvals before the user.
func (s *Session) raise(as ...*Approval) {
	if len(as) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range as {
		s.approvals = append(s.approvals, a)
		s.publishLocked(a.Turn, ApprovalRequested{a})
	}
	s.setStateLocked(Waiting)
}

// await is the one place where a turn waits for the user. The end of the
// conversation is no answer: then there is no outcome, and the approval stays
// open in the record.
func (s *Session) await(ctx context.Context, a *Approval) (Answer, Outcome) {
	select {
	case ans := <-a.answered:
		return ans, a.outcome
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		if !a.settled && s.ctx.Err() == nil {
			s.settleLocked(a, OutcomeCancelled, Answer{})
		}
		return a.answer, a.outcome
	}
}

func (s *Session) settleLocked(a *Approval, o Outcome, ans Answer) {
	a.settled, a.outcome, a.answer = true, o, ans
	a.answered <- ans
	s.approvals = slices.DeleteFunc(s.approvals, func(x *Approval) bool { return x == a })
	if len(s.answered) >= keptAnswers {
		clear(s.answered)
	}
	s.answered[a.ID] = a
	s.publishLocked(a.Turn, ApprovalResolved{a, o, ans})
	if len(s.approvals) == 0 && s.state == Waiting {
		s.setStateLocked(Running)
	}
}

// storedID is an approval's id in the transcript, where the terminal tool's
// form is "aitxt-" and 24 characters.
func storedID(id string) string {
	id = strings.TrimPrefix(id, "apr_")
	if len(id) == 24 {
		return "aitxt-" + id
	}
	return id
}

func approvalID(stored string) string {
	if stored == "" {
		const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		b := make([]byte, 24)
		rand.Read(b)
		for i := range b {
			b[i] = alphabet[int(b[i])%len(alphabet)]
		}
		stored = string(b)
	}
	return "apr_" + strings.TrimPrefix(stored, "aitxt-")
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	wire "shiro/lsp/protocol"
)

// crash kills the server while it asks and goes on in a new one, where the same
// question must be open.
func (d *demo) crash(ctx context.Context, asked wire.Approval) error {
	d.killed = true
	if err := d.waitStored(ctx, asked); err != nil {
		return err
	}
	d.entry(red, "kill -9", fmt.Sprintf("of the server (pid %d), while it waits for the answer", d.pid()))
	before := d.saved
	d.end()
	if err := d.start(ctx, d.file); err != nil {
		return err
	}
	var at wire.SessionAttachResult
	if err := d.Call(ctx, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: d.session}, &at); err != nil {
		return fmt.Errorf("resuming the session: %w", err)
	}
	if at.State == nil {
		return errors.New("resuming the session: the answer has no state")
	}
	d.asked = at.State.PendingApprovals
	again := d.asked
	if len(again) == 0 {
		e, _, err := d.WaitEvent(ctx, 0, func(e wire.Event) bool { return e.Type == wire.EventApprovalRequested })
		if err != nil {
			return fmt.Errorf("waiting to be asked again: %w", err)
		}
		again = []wire.Approval{e.Data.(wire.Approval)}
	}
	if !sameQuestion(asked, again[0]) {
		return fmt.Errorf("after the kill the question was %q, not the %q from before", again[0].Title, asked.Title)
	}
	if d.saved != before {
		return errors.New("the file changed before the answer")
	}
	if n := len(at.State.Todo.Entries); n != d.tasks {
		return fmt.Errorf("after the kill the task list has %d tasks, not %d", n, d.tasks)
	}
	d.entry(green, "resumed", fmt.Sprintf("by a new server (pid %d, ready after %d ms) with the conversation, the task list "+
		"and the same question. Nothing has changed in the project.", d.pid(), d.ready.Milliseconds()))
	d.newline()
	return nil
}

// sameQuestion compares all but the version of the document, which counts anew
// when the document is opened anew.
func sameQuestion(a, b wire.Approval) bool {
	if a.ApprovalID != b.ApprovalID || (a.Subject.Edit == nil) != (b.Subject.Edit == nil) {
		return false
	}
	if a.Subject.Edit == nil {
		return reflect.DeepEqual(a.Subject, b.Subject)
	}
	return slices.EqualFunc(a.Subject.Edit.Files, b.Subject.Edit.Files, func(f, g wire.FileEdit) bool {
		return f.URI == g.URI && f.BaseHash == g.BaseHash && reflect.DeepEqual(f.Hunks, g.Hunks)
	})
}

// waitStored waits until the question is on disk; records are written a moment
// after they change.
func (d *demo) waitStored(ctx context.Context, a wire.Approval) error {
	id := strings.TrimPrefix(a.ApprovalID, wire.PrefixApproval)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if b, err := os.ReadFile(d.record()); err == nil && strings.Contains(string(b), id) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s holds the question: %w", d.record(), ctx.Err())
		}
	}
}

// record is the file of the conversation.
func (d *demo) record() string {
	return filepath.Join(stateDir(d.home), "sessions", d.session+".json")
}

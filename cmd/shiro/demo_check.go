package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"shiro/agent/provider/providertest"
	"shiro/lsp/lsptest"
	"shiro/memory"
	"shiro/memory/transcript"
)

// check looks at what the scripted story left behind, and fails for the first
// thing that is not as the transcript says.
func (d *demo) check(ctx context.Context, buffer lsptest.Buffer) error {
	d.head(bold, "checked")
	for _, c := range []struct {
		claim string
		fault func() error
	}{
		{"the tests failed before the edit and pass after it", func() error { return d.testsTurned(ctx) }},
		{"after kill -9 the same question was asked again", d.wasKilled},
		{"buffer and file have the accepted hunks, not the refused one", func() error { return d.textMended(buffer) }},
		{"the reason of the refusal reached the model", d.reasonHeard},
		{"the model was asked once for each answer and refused nothing", d.scriptKept},
		{"the conversation is on disk, all its tasks are done", d.recordWhole},
		{"the note is on disk", d.noteKept},
	} {
		if err := c.fault(); err != nil {
			d.verbatim("- not so: " + c.claim + "\n")
			return fmt.Errorf("it is not so that %s: %w", c.claim, err)
		}
		d.verbatim("- " + c.claim + "\n")
	}
	return nil
}

// sum says how it went with a real model, of which nothing more is demanded
// than that the turn ended well.
func (d *demo) sum(ctx context.Context) error {
	d.head(bold, "checked")
	d.verbatim("- the turn was completed\n")
	if err := d.runTests(ctx); err == nil {
		d.verbatim("- the tests pass\n")
	} else {
		d.verbatim("- the tests still fail: the model did not finish the task\n")
	}
	if !d.killed {
		d.verbatim("- the server was not killed: nothing was asked after a command\n")
	}
	if d.noteKept() != nil {
		d.verbatim("- the model kept no note\n")
	}
	return nil
}

func (d *demo) testsTurned(ctx context.Context) error {
	if n := len(d.exits); n < 2 || d.exits[0] != "1" || d.exits[n-1] != "0" {
		return fmt.Errorf("the commands ended with %q", d.exits)
	}
	return d.runTests(ctx)
}

// runTests runs the project's tests outside the product.
func (d *demo) runTests(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "sh", demoTests)
	cmd.Dir = d.project
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("sh %s: %w\n%s", demoTests, err, out)
	}
	return nil
}

func (d *demo) wasKilled() error {
	if !d.killed { // what came after it was checked there
		return errors.New("there was no question after the first command")
	}
	return nil
}

func (d *demo) textMended(buffer lsptest.Buffer) error {
	onDisk, err := os.ReadFile(d.file)
	if err != nil {
		return err
	}
	if buffer.Text != mendedText || string(onDisk) != mendedText {
		return fmt.Errorf("the buffer holds\n%s\nand the file\n%s", buffer.Text, onDisk)
	}
	if len(buffer.Undo) != 1 {
		return fmt.Errorf("the buffer can be undone %d times", len(buffer.Undo))
	}
	return nil
}

func (d *demo) reasonHeard() error {
	for _, r := range d.script.Requests() {
		for _, it := range r.Results() {
			if strings.Contains(it.Text, "2 of 3 hunks") && strings.Contains(it.Text, roomReason) {
				return nil
			}
		}
	}
	return errors.New("no request holds it")
}

func (d *demo) scriptKept() error {
	if v := d.script.Violations(); len(v) > 0 {
		return errors.New(v[0].String())
	}
	asked := 0
	for _, r := range d.script.Requests() {
		if r.Kind == providertest.Main {
			asked++
		}
	}
	if want := len(demoScript()); asked != want {
		return fmt.Errorf("%d requests for %d answers", asked, want)
	}
	return nil
}

func (d *demo) store() *memory.Store { return memory.Open(memory.Options{Dir: stateDir(d.home)}) }

func (d *demo) recordWhole() error {
	rec, _, err := d.store().Load(d.session)
	if err != nil {
		return err
	}
	todos := transcript.Todos(rec.Notebook)
	for _, t := range todos {
		if t.Status != transcript.TodoDone {
			return fmt.Errorf("%q is %s", t.Content, t.Status)
		}
	}
	if len(todos) == 0 || len(rec.Messages) == 0 {
		return fmt.Errorf("%s holds %d messages and %d tasks", d.record(), len(rec.Messages), len(todos))
	}
	return nil
}

func (d *demo) noteKept() error {
	notes, err := d.store().Notes(d.project).All()
	if err == nil && len(notes) == 0 {
		err = errors.New("there is none")
	}
	return err
}

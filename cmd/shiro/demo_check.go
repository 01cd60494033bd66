package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

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
		{"the tests failed at first and passed in the end", func() error { return d.testsTurned(ctx) }},
		{"the server was killed while it asked, and asked the same again", d.wasKilled},
		{"two hunks are in the buffer and in the file, the refused one is in neither", func() error { return d.textMended(buffer) }},
		{"the reason of the refusal reached the model", d.reasonHeard},
		{"the strict model server had nothing to refuse, and every answer was asked for once", d.scriptKept},
		{"the conversation is on disk with its task list, all done", d.recordWhole},
		{"the note is on disk", d.noteKept},
	} {
		if err := c.fault(); err != nil {
			d.line(red, "", "not so: "+c.claim)
			return fmt.Errorf("it is not so that %s: %w", c.claim, err)
		}
		d.line(plain, "", "- "+c.claim)
	}
	return nil
}

// sum says how it went with a real model, of which nothing more is demanded
// than that the turn ended well.
func (d *demo) sum(ctx context.Context) error {
	d.head(bold, "checked")
	d.line(plain, "", "- the turn was completed")
	if err := d.runTests(ctx); err == nil {
		d.line(plain, "", "- the tests pass")
	} else {
		d.line(red, "", "- the tests still fail: the model did not finish the task")
	}
	if !d.killed {
		d.line(plain, "", "- the server was not killed: nothing was asked after a command")
	}
	if d.noteKept() != nil {
		d.line(plain, "", "- the model kept no note")
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

// introduce says what is real and what is not.
func (d *demo) introduce(o demoOptions) {
	d.label(bold, "shiro demo")
	d.text("A shell project whose tests fail, an editor, and an agent that mends it.")
	real := "the server (`shiro lsp`, a process of its own, spoken to over its stdin and stdout), its HTTP requests, " +
		"the editor's buffer, files, commands, kill -9."
	if d.script != nil {
		d.entry(bold, "scripted", fmt.Sprintf("the model: an HTTP server on %s that speaks the Responses API and gives %d prepared answers. "+
			"No model, no network, no key. Also the user.", strings.TrimPrefix(o.url, "http://"), len(demoScript())))
	} else {
		d.entry(bold, "scripted", "the user, who allows every command that can be read.")
		real = "the model at " + o.url + ", " + real
	}
	d.line(bold, "real", real)
	d.line(bold, "folder", d.dir)
}

// conclude says what there is to look at.
func (d *demo) conclude(took time.Duration, err error) {
	d.log.Close()
	look := []struct{ label, path string }{
		{"project", d.project}, {"session", d.record()}, {"notes", filepath.Join(stateDir(d.home), "memory", "*.json")}, {"server log", d.log.Name()},
	}
	verdict := fmt.Sprintf("in %.1f s. Left to look at:", took.Seconds())
	if err == nil {
		d.entry(green, "done", verdict)
	} else {
		d.entry(red, "failed", verdict)
	}
	for _, l := range look {
		if found, _ := filepath.Glob(l.path); len(found) > 0 {
			d.line(plain, l.label, found[0])
		}
	}
}

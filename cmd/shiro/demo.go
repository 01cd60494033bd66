package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"time"

	"shiro/agent/provider/providertest"
	"shiro/lsp/lsptest"
	wire "shiro/lsp/protocol"
)

// How long a run may take; nothing in it is expected to.
const (
	scriptTime = time.Minute
	modelTime  = 15 * time.Minute
)

// demoOptions name the model server. Without a URL it is the script.
type demoOptions struct{ url, key, model, api string }

// A demo is one run of the whole product. This process is the editor and its
// user, the server is a child of it.
type demo struct {
	*page
	demoServer
	dir, home, project string               // the scratch folder; in it the parent of .shiro-neko, and the workspace
	script             *providertest.Server // nil when a real model answers
	session            string

	asked    []wire.Approval // not answered yet, oldest first
	question string          // the id of the one shown last
	current  string          // the item that the last answer was about, until it is complete
	streamed map[string]bool // items whose text was shown as it came
	tasks    int             // how many the task list has
	exits    []string        // exit codes of the commands, in order
	gauge    wire.Context
	killed   bool
}

func runDemo(ctx context.Context, args []string, std streams) int {
	fs := flag.NewFlagSet("shiro demo", flag.ContinueOnError)
	var o demoOptions
	fs.StringVar(&o.url, "model-url", "", "ask the OpenAI-compatible model server at this `URL` instead of the script; commands it proposes are run")
	fs.StringVar(&o.key, "key", "", "API `key` of that server; the environment's when left out")
	fs.StringVar(&o.model, "model", "", "`id` of its model")
	fs.StringVar(&o.api, "api", "", "the `wire` it speaks: responses or chat")
	if code, ok := parse(fs, 0, args, std); !ok {
		return code
	}
	switch {
	case o.url == "" && o != demoOptions{}:
		fmt.Fprintln(std.err, "shiro: demo takes --key, --model and --api only with --model-url")
		return 2
	case o.api != "" && o.api != string(apiResponses) && o.api != string(apiChat):
		fmt.Fprintf(std.err, "shiro: --api is responses or chat, not %q\n", o.api)
		return 2
	}
	limit := scriptTime
	if o.url != "" {
		limit = modelTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := o.show(ctx, std.out)
	if err != nil {
		switch ctx.Err() { // then whatever failed did so for that reason
		case context.Canceled:
			err = errors.New("interrupted")
		case context.DeadlineExceeded:
			err = fmt.Errorf("not done after %v: %w", limit, err)
		}
		fmt.Fprintln(std.err, "shiro demo:", err)
		return 1
	}
	return 0
}

// show runs the demo, printing the transcript to out.
func (o demoOptions) show(ctx context.Context, out io.Writer) error {
	begun := time.Now()
	if _, err := exec.LookPath("sh"); err != nil {
		return fmt.Errorf("the demo's project is a shell script: %w", err)
	}
	if err := o.reachable(ctx); err != nil {
		return err
	}
	d := &demo{page: newPage(out), streamed: make(map[string]bool)}
	if err := d.prepare(); err != nil {
		return err
	}
	if o.url == "" {
		script, err := providertest.Start(providertest.Options{Script: demoScript(), Key: scriptKey, Models: []string{"scripted"}})
		if err != nil {
			return err
		}
		defer script.Close()
		d.script = script
		o = demoOptions{url: script.URL(), key: scriptKey, model: "scripted", api: string(apiResponses)}
	}
	if err := d.configure(o); err != nil {
		return err
	}
	d.introduce(o)
	err := d.run(ctx)
	d.conclude(time.Since(begun), err)
	return err
}

// reachable fails when nothing answers at a real server's URL. What the server
// answers is judged by the product itself.
func (o demoOptions) reachable(ctx context.Context) error {
	if o.url == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	_, err := listModels(ctx, http.DefaultClient, o.url, secret(o.key))
	var silent *url.Error
	if errors.As(err, &silent) {
		return fmt.Errorf("no model server answers at %s: %w", o.url, silent.Err)
	}
	return nil
}

// run is the story, from the start of the server to its end.
func (d *demo) run(ctx context.Context) error {
	defer d.end()
	if err := d.start(ctx, filepath.Join(d.project, demoFile)); err != nil {
		return err
	}
	d.entry(bold, "editor", fmt.Sprintf("started `shiro lsp` (pid %d), ready after %d ms; opened %s, autosave on",
		d.pid(), d.ready.Milliseconds(), demoFile))
	var made wire.SessionCreateResult
	if err := d.Call(ctx, wire.MethodSessionCreate, wire.SessionCreateParams{Cwd: d.project}, &made); err != nil {
		return fmt.Errorf("beginning a conversation: %w", err)
	}
	d.session = made.Session.ID

	d.entry(cyan, "you:", demoPrompt)
	err := d.Call(ctx, wire.MethodTurnStart, wire.TurnStartParams{
		SessionID: d.session, Input: []wire.Content{{Type: wire.ContentText, Text: demoPrompt}},
		EditorContext: &wire.EditorContext{ActiveURI: lsptest.URI(d.file)},
	}, nil)
	if err != nil {
		return fmt.Errorf("sending the prompt: %w", err)
	}
	if err := d.follow(ctx); err != nil {
		return err
	}
	d.showGauge()
	buffer, _ := d.Buffer(d.file)
	if err := d.quit(ctx); err != nil {
		return err
	}
	if d.script == nil {
		return d.sum(ctx)
	}
	return d.check(ctx, buffer)
}

// introduce says what is real and what is not.
func (d *demo) introduce(o demoOptions) {
	d.line(bold, "shiro demo", "An agent mends a small shell project from inside an editor.")
	model := fmt.Sprintf("the model: an HTTP server at %s that speaks the Responses API and gives %d prepared answers; "+
		"nothing leaves this machine. And the editor's user, whom the demo plays.", o.url, len(demoScript()))
	if d.script == nil {
		model = "the editor's user, whom the demo plays: every command that can be read is allowed. The model is the one at " + o.url + "."
	}
	d.entry(bold, "scripted", model)
	d.line(bold, "real", "everything else: the server (`shiro lsp`, a process of its own on the other end of two pipes), its requests "+
		"over HTTP, the editor's buffer, files, commands, kill -9.")
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

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

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

	asked   []wire.Approval // not answered yet, oldest first
	current string          // the item that the last answer was about, until it is complete
	shown   string          // the item whose text is being printed
	exits   []string        // exit codes of the commands, in order
	gauge   wire.Context
	killed  bool
}

func runDemo(ctx context.Context, args []string, std streams) int {
	fs := flag.NewFlagSet("shiro demo", flag.ContinueOnError)
	var o demoOptions
	fs.StringVar(&o.url, "model-url", "", "ask the OpenAI-compatible model server at this `URL` instead of the script; commands it proposes are run")
	fs.StringVar(&o.key, "key", "", "API `key` of that server; the environment's when left out")
	fs.StringVar(&o.model, "model", "", "`id` of its model")
	fs.StringVar(&o.api, "api", "", "the `wire` it speaks: responses or chat")
	if code, ok := parse(fs, args, std); !ok {
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
	if err := o.show(ctx, std.out); err != nil {
		fmt.Fprintln(std.err, "shiro demo:", err)
		return 1
	}
	return 0
}

func (o demoOptions) show(ctx context.Context, out io.Writer) error {
	begun := time.Now()
	if _, err := exec.LookPath("sh"); err != nil {
		return fmt.Errorf("the demo's project is a shell script: %w", err)
	}
	if err := o.reachable(ctx); err != nil {
		return err
	}
	d := &demo{page: newPage(out)}
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

// prepare makes the scratch folder and the project in it.
func (d *demo) prepare() (err error) {
	if d.dir = os.Getenv("SHIRO_DEMO_DIR"); d.dir == "" {
		d.dir, err = os.MkdirTemp("", "shiro-demo-")
	} else {
		err = os.MkdirAll(d.dir, 0o755)
	}
	if err == nil {
		d.dir, err = filepath.EvalSymlinks(d.dir) // as the server will see it
	}
	if err == nil {
		d.dir, err = filepath.Abs(d.dir)
	}
	if err != nil {
		return fmt.Errorf("making the scratch folder: %w", err)
	}
	if inside, err := os.ReadDir(d.dir); err != nil || len(inside) > 0 {
		return fmt.Errorf("SHIRO_DEMO_DIR: %w", cmp.Or(err, fmt.Errorf("%s is not empty; name a new folder", d.dir)))
	}
	d.home, d.project = filepath.Join(d.dir, "home"), filepath.Join(d.dir, "project")
	if err := errors.Join(os.MkdirAll(stateDir(d.home), 0o700), os.Mkdir(d.project, 0o755)); err != nil {
		return fmt.Errorf("making the scratch folder: %w", err)
	}
	if d.log, err = os.Create(filepath.Join(d.dir, "server.log")); err != nil {
		return fmt.Errorf("making the server's log: %w", err)
	}
	for name, text := range map[string]string{demoFile: brokenText(), demoTests: testText} {
		if err := os.WriteFile(filepath.Join(d.project, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("making the project: %w", err)
		}
	}
	return nil
}

// configure writes the server's configuration and makes its environment, which
// keeps the key off the disk.
func (d *demo) configure(o demoOptions) error {
	settings := map[string]any{"base_url": o.url}
	if o.model != "" {
		settings["model"] = o.model
	}
	if o.api != "" {
		settings["api"] = o.api
	}
	tables := map[string]any{"provider": settings}
	ours := []string{"SHIRO_HOME", "SHIRO_PROVIDER", "SHIRO_MODEL", "SHIRO_BASE_URL"}
	if d.script != nil {
		tables["context"] = map[string]any{"threshold": scriptThreshold}
		ours = append(ours, keyVariables()...)
	}
	if o.key != "" {
		ours = append(ours, "SHIRO_API_KEY")
	}
	d.env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(ours, name)
	})
	d.env = append(d.env, "SHIRO_HOME="+d.home)
	if o.key != "" {
		d.env = append(d.env, "SHIRO_API_KEY="+o.key)
	}
	text, err := toml.Marshal(tables)
	if err == nil {
		err = os.WriteFile(filepath.Join(stateDir(d.home), "config.toml"), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
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

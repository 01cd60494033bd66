package main

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"shiro/agent"
	"shiro/agent/permission"
	"shiro/agent/provider"
	"shiro/agent/tool"
	"shiro/lsp"
	"shiro/memory"
	"shiro/prune"
)

// defaultMaxSteps is the terminal tool's.
const defaultMaxSteps = 50

// A workshop makes what the conversations of a folder run with: it brings
// configuration, model server, tools, rules and notes together.
type workshop struct {
	home     string
	env      lookup
	flags    map[string]string
	editor   lsp.Editor
	store    *memory.Store
	log      *slog.Logger
	noMemory bool
	yolo     bool

	mu         sync.Mutex
	clients    map[provider.Options]*provider.Client // by what they were made with
	workspaces map[string]*tool.Workspace            // by folder; shared, so that edits follow one another
}

func (w *workshop) setup(ctx context.Context, cwd string) (*agent.Setup, error) {
	cfg, notices, err := loadConfig(configOptions{Home: w.home, Workspace: cwd, Env: w.env, Editor: w.editor.Settings, Flags: w.flags})
	if err != nil {
		return nil, invalidConfig{err}
	}
	found, err := cfg.findProvider(ctx, w.env, http.DefaultClient, localServers())
	if err != nil {
		return nil, err
	}
	ws, err := w.workspace(cwd)
	if err != nil {
		return nil, err
	}
	guard := cfg.Plugins == nil || slices.Contains(cfg.Plugins, "guard")
	policy := permission.New(permission.Options{Rules: rulesOf(cfg), NoGuard: !guard, Yolo: w.yolo})
	setup := &agent.Setup{
		Model: w.client(cfg, found), ModelName: found.Model, Provider: recordProvider(found.Name), Effort: effort(cfg.Agent.Thinking),
		Commit: ws.Commit, Policy: policy, Instructions: agent.Instructions(cwd),
		Threshold: cfg.Context.Threshold, Window: cfg.Context.Window,
		MaxSteps: cfg.Agent.MaxSteps, MaxRetries: cfg.Provider.MaxRetries, Cost: cost,
	}
	if guard {
		setup.Appendix = permission.GuardNotice
	}
	if setup.Threshold == 0 {
		setup.Threshold = prune.DefaultThreshold
	}
	if setup.MaxSteps == 0 {
		setup.MaxSteps = defaultMaxSteps
	}
	for _, name := range cfg.unused() {
		notices = append(notices, "the setting "+name+" has no effect in this version")
	}
	for _, n := range append(notices, found.Notices...) {
		setup.Notices = append(setup.Notices, agent.Notice{Level: "warning", Title: n, Key: n})
	}
	options := tool.Options{
		Workspace: ws, SecretNames: keyVariables(), Secrets: w.secrets(found),
		Denied: func(rel string) bool {
			return policy.Decide(permission.Call{Tool: "read_file", Paths: []string{rel}, Root: ws.Root}).Decision == permission.Deny
		},
	}
	if !w.noMemory {
		notes := w.store.Notes(cwd)
		options.Notes = notes
		setup.Memory = agentNotes{notes}
		setup.Notes = func() string {
			block, err := notes.Block()
			if err != nil {
				w.log.Warn("the project's notes cannot be read", "err", err)
			}
			return block
		}
	}
	history := w.store.History(cwd)
	setup.History = func(prompt string) {
		if err := history.Add(prompt); err != nil {
			w.log.Warn("a prompt was not kept in the history", "err", err)
		}
	}
	setup.Tools = func(todos tool.TodoList) []tool.Tool {
		o := options
		o.Todos = todos
		return tool.New(o)
	}
	return setup, nil
}

// secrets are the values that no result may show: every provider key there is,
// not only the one in use.
func (w *workshop) secrets(found providerConfig) []string {
	values := []string{string(found.APIKey)}
	for _, name := range keyVariables() {
		if v, ok := w.env(name); ok {
			values = append(values, v)
		}
	}
	return values
}

// client returns the client for a model server. It is kept, with its
// connections and with what it has learnt about the server.
func (w *workshop) client(cfg config, found providerConfig) *provider.Client {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.clients == nil {
		w.clients = make(map[provider.Options]*provider.Client)
	}
	o := provider.Options{
		API: string(found.API), BaseURL: found.BaseURL, APIKey: string(found.APIKey), Store: cfg.Provider.Store,
		IdleTimeout: cfg.Provider.IdleTimeout, FirstByteTimeout: cfg.Provider.FirstByteTimeout, Log: w.log,
	}
	c := w.clients[o]
	if c == nil {
		c = provider.New(o)
		w.clients[o] = c
	}
	return c
}

func (w *workshop) workspace(cwd string) (*tool.Workspace, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ws := w.workspaces[cwd]; ws != nil {
		return ws, nil
	}
	ws, err := tool.NewWorkspace(cwd, w.editor.Buffers)
	if err != nil {
		return nil, err
	}
	if w.workspaces == nil {
		w.workspaces = make(map[string]*tool.Workspace)
	}
	w.workspaces[cwd] = ws
	return ws, nil
}

// invalidConfig is an error of the user's configuration.
type invalidConfig struct{ error }

func (invalidConfig) ErrorKind() string { return "invalid_params" }

func rulesOf(cfg config) []permission.Rule {
	rules := make([]permission.Rule, 0, len(cfg.Permission))
	for _, r := range cfg.Permission {
		d, _ := permission.ParseDecision(r.Decision) // loadConfig knows the words; any other would ask
		rules = append(rules, permission.Rule{Tool: r.Tool, Pattern: r.Pattern, Decision: d})
	}
	return rules
}

// recordProvider is the name that records know a provider by: the wire it
// speaks in the terminal tool.
func recordProvider(name string) string {
	if name == "anthropic" || name == "custom-anthropic" {
		return "anthropic"
	}
	return "openai"
}

// effort is the model's word for a thinking level.
func effort(level string) string {
	switch level {
	case "off":
		return "none"
	case "max":
		return "xhigh"
	}
	return level
}

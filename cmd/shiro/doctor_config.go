package main

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"shiro/agent/permission"
	"shiro/agent/tool"
)

// checkConfig reports false when no turn may start with what was configured.
func (d *doctor) checkConfig() (config, bool) {
	d.checkFiles()
	cfg, notices, err := loadConfig(configOptions{Home: d.home, Workspace: d.folder, Env: d.env, Flags: d.flags, Tools: d.toolNames()})
	for _, n := range notices {
		text, fix, _ := strings.Cut(n, "; ") // as notices are worded
		d.warn("notice", text, fix)
	}
	if err != nil {
		for _, problem := range problemsOf(err) {
			d.fail("problem", problem.Error(), fixOf(problem))
		}
		return config{}, false
	}
	d.hide(string(cfg.Provider.APIKey))
	d.showSettings(cfg)
	d.showPermission(cfg)
	if len(cfg.MCP) > 0 {
		d.note("mcp", "%s configured and not asked here: %s", plural(len(cfg.MCP), "server"), strings.Join(slices.Sorted(maps.Keys(cfg.MCP)), ", "))
	}
	return cfg, true
}

func (d *doctor) checkFiles() {
	if d.home == "" {
		return
	}
	var read []string
	for _, name := range []string{"config.json", "config.toml"} {
		path := filepath.Join(stateDir(d.home), name)
		if _, err := os.Stat(path); err == nil {
			read = append(read, path)
		}
	}
	if read == nil {
		d.note("files", "none; yours would be %s", d.ownConfig())
		return
	}
	d.ok("files", "%s", strings.Join(read, ", "))
}

func (d *doctor) ownConfig() string { return filepath.Join(stateDir(d.home), "config.toml") }

// toolNames are the tools that permission rules can speak about; nil when the
// folder is unusable.
func (d *doctor) toolNames() []string {
	ws, err := tool.NewWorkspace(d.folder, nil)
	if err != nil {
		return nil
	}
	var names []string
	for _, t := range tool.New(tool.Options{Workspace: ws, Todos: struct{ tool.TodoList }{}, Notes: struct{ tool.Notes }{}}) {
		names = append(names, t.Name)
	}
	return names
}

// showSettings says where each setting came from. The key's value is not in it.
func (d *doctor) showSettings(c config) {
	values := settingValues(c)
	unused := c.unused()
	for _, f := range append(c.fields(), c.terminalFields()...) {
		if from := c.From[f.name]; from != "" && !slices.Contains(unused, f.name) {
			d.ok("setting", "%s = %s  (%s)", strings.TrimPrefix(f.name, "terminal."), values[f.name], from)
		}
	}
	for _, name := range unused {
		d.warn("setting", strings.TrimPrefix(name, "terminal.")+" is set, and has no effect in this version", "do not rely on it")
	}
}

// settingValues prints the settings of fields and terminalFields.
func settingValues(c config) map[string]string {
	p, x, a := c.Provider, c.Context, c.Agent
	values := map[string]any{
		"provider.name": p.Name, "provider.api": p.API, "provider.base_url": p.BaseURL, "provider.model": p.Model,
		"provider.api_key": "(not shown)", "provider.store": p.Store, "provider.idle_timeout": p.IdleTimeout,
		"provider.first_byte_timeout": p.FirstByteTimeout, "provider.max_retries": p.MaxRetries,
		"context.threshold": x.Threshold, "context.window": x.Window, "context.keep_turns": x.KeepTurns,
		"agent.variant": a.Variant, "agent.thinking": a.Thinking, "agent.max_steps": a.MaxSteps,
		"agent.max_spend_usd": a.MaxSpendUSD, "agent.subagent_model": a.SubagentModel,
		"registry.url": c.Registry.URL, "terminal.toolSets": c.ToolSets, "terminal.plugins": c.Plugins,
	}
	texts := make(map[string]string, len(values))
	for name, v := range values {
		texts[name] = fmt.Sprint(v)
	}
	return texts
}

func (d *doctor) showPermission(c config) {
	rules := rulesOf(c)
	count := make(map[string]int)
	for _, r := range rules {
		count[r.Tool]++
	}
	var per []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		per = append(per, fmt.Sprintf("%s %d", name, count[name]))
	}
	if per == nil {
		d.ok("rules", "none of yours; the builtin ones decide")
	} else {
		d.ok("rules", "%s of yours (%s); of those that match, the last decides", plural(len(rules), "rule"), strings.Join(per, ", "))
	}
	if c.Plugins == nil || slices.Contains(c.Plugins, "guard") {
		d.ok("guard", "on: irreversible shell commands are refused")
	} else {
		d.warn("guard", "off: irreversible shell commands are not refused", `add "guard" to plugins in `+c.From["terminal.plugins"])
	}
	d.note("limit", "%s", permission.ShellLimit)
}

// checkProxies shows the proxies that requests go through, by host only.
func (d *doctor) checkProxies() {
	direct := true
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY"} {
		name, value := d.eitherCase(name)
		if value == "" {
			continue
		}
		direct = false
		if !strings.Contains(value, "://") {
			value = "http://" + value
		}
		u, err := url.Parse(value)
		if err != nil || u.Host == "" {
			d.warn("proxy", name+" is not the address of a proxy", "write it as http://host:port, or unset it")
			continue
		}
		with := ""
		if u.User != nil {
			with = ", with credentials"
			password, _ := u.User.Password()
			d.hide(password)
		}
		d.ok("proxy", "%s: %s%s", name, u.Host, with)
	}
	if name, value := d.eitherCase("NO_PROXY"); value != "" && !direct {
		d.ok("proxy", "%s: not for %s", name, value)
	}
	if name, value := d.eitherCase("ALL_PROXY"); value != "" && direct {
		d.warn("proxy", name+" is set and not looked at", "set HTTPS_PROXY to the same, if requests are to go through that proxy")
	}
}

// eitherCase finds a variable that is spelled in capitals or not.
func (d *doctor) eitherCase(name string) (spelled, value string) {
	if value := variable(d.env, name); value != "" {
		return name, value
	}
	lower := strings.ToLower(name)
	return lower, variable(d.env, lower)
}

// problemsOf takes joined errors apart, in their order.
func problemsOf(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, problemsOf(e)...)
	}
	return all
}

// fixOf says where the remedy of a configuration problem is to be applied; the
// problem itself says what would be right there.
func fixOf(err error) string {
	var e *configError
	switch {
	case !errors.As(err, &e):
		return "correct the configuration"
	case strings.HasPrefix(e.Source, "--"):
		return "correct or leave out " + e.Source
	case !filepath.IsAbs(e.Source):
		return "correct or unset " + e.Source
	case strings.HasPrefix(e.Problem, "cannot be read"):
		return "make it a file that you can read, or move it away"
	case strings.HasPrefix(e.Problem, "unknown key"):
		return fmt.Sprintf("rename or remove the key in line %d", e.Line)
	case e.Line > 0:
		return fmt.Sprintf("correct line %d", e.Line)
	}
	return "correct it there"
}

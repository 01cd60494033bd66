package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// config is everything a user can set, merged from all sources. The zero value of a field means the product's default unless
// its comment says otherwise.
type config struct {
	Provider   providerSettings
	Context    contextSettings
	Permission []rule // in the order written, earlier sources first; the last match decides
	Agent      agentSettings
	Registry   registrySettings
	MCP        map[string]*mcpServer // by server name

	// ToolSets and Plugins come from the terminal tool's config.json only. Nil means that file does not mention them; an
	// empty list is a choice.
	ToolSets []string
	Plugins  []string

	// From tells for each setting, by its dotted name, which file, variable or flag gave its value.
	From map[string]string

	keyPlaces []string // files in which a key was looked for, by full path
}

// providerSettings say how to reach a model server, as the user wrote it; resolveProvider fills what was left open.
type providerSettings struct {
	Name             string // a preset's id
	API              apiKind
	BaseURL          string
	Model            string
	APIKey           secret
	Store            bool          // the server keeps items, so that requests may refer to them
	IdleTimeout      time.Duration // silence allowed in the middle of a stream
	FirstByteTimeout time.Duration // silence allowed before it begins
	MaxRetries       int           // 3 unless configured; 0 is a choice
}

// contextSettings are counted in estimated tokens.
type contextSettings struct {
	Threshold int // where pruning begins
	Window    int // overrides the model's own
	KeepTurns int
}

// rule is one line of a permission table. Pattern is "*" for an entry that covers the whole tool.
type rule struct {
	Tool, Pattern, Decision string // Decision is allow, ask or deny
}

type agentSettings struct {
	Variant       string // default, quick, deep, plan or review
	Thinking      string // off, low, medium, high or max; empty: the variant's own level
	MaxSteps      int
	MaxSpendUSD   float64 // zero: no limit
	SubagentModel string
}

type registrySettings struct {
	URL string
}

// mcpServer is either a command to start or a URL to connect to, never both.
type mcpServer struct {
	Command string
	Args    []string
	Env     map[string]secret
	Cwd     string
	URL     string
	Type    string // of a URL: http or sse
	Headers map[string]secret
}

// lookup finds an environment variable as os.LookupEnv does.
type lookup func(name string) (value string, ok bool)

// configOptions are the places that loadConfig looks into. Each may be left empty.
type configOptions struct {
	Home      string            // parent of .shiro-neko
	Workspace string            // folder that may hold .shiro/config.toml
	Trusted   bool              // the user trusts that workspace
	Env       lookup            // nil: an empty environment
	Editor    json.RawMessage   // initializationOptions or the editor's section of settings
	Flags     map[string]string // provider, model, base-url, agent, think
	Tools     []string          // names of existing tools; a rule for any other is pointed out. Nil: not checked
}

// configError is a setting that cannot be used. Its text says what to fix and never shows a value, which could be a key.
type configError struct {
	Source  string // path, variable, flag or "editor settings"
	Line    int    // counted from 1; 0 if the source has no lines
	Problem string
}

func (e *configError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.Source, e.Line, e.Problem)
	}
	return e.Source + ": " + e.Problem
}

// loadConfig merges all sources, later wins: the terminal tool's config.json, our config.toml, the trusted workspace's
// .shiro/config.toml, environment, editor settings, flags. It returns notices for the user. With an error (every problem
// found, joined; each a *configError) no turn may start: what was left out could be a deny rule.
func loadConfig(o configOptions) (config, []string, error) {
	c := config{
		Provider: providerSettings{MaxRetries: 3},
		Agent:    agentSettings{Variant: "default"},
		From:     map[string]string{},
	}
	var notices []string
	var problems []error
	add := func(l layer, err error) {
		if err == nil {
			var said []string
			said, err = c.merge(l)
			notices = append(notices, said...)
		}
		problems = append(problems, err)
	}

	if o.Home != "" {
		legacy := filepath.Join(stateDir(o.Home), "config.json")
		own := filepath.Join(stateDir(o.Home), "config.toml")
		c.keyPlaces = append(c.keyPlaces, own, legacy)
		add(terminalLayer(legacy))
		add(tomlLayer(own))
	}
	if o.Workspace != "" {
		path := filepath.Join(o.Workspace, ".shiro", "config.toml")
		if o.Trusted {
			c.keyPlaces = append(c.keyPlaces, path)
			l, err := tomlLayer(path)
			l.notices = append(l.notices, workspaceNotices(l)...)
			add(l, err)
		} else if _, err := os.Lstat(path); err == nil {
			notices = append(notices, path+" is ignored: this version trusts no workspace's configuration")
		}
	}
	add(variableLayer(o.Env), nil)
	add(editorLayer(o.Editor))
	add(flagLayer(o.Flags), nil)

	notices = append(notices, unknownTools(c.Permission, o.Tools)...)
	if err := errors.Join(problems...); err != nil {
		return config{}, notices, err
	}
	return c, notices, nil
}

// workspaceNotices names an endpoint that a workspace chose: the user's own key may go there.
func workspaceNotices(l layer) []string {
	for _, a := range l.values {
		if url, _ := a.value.(string); strings.Join(a.key, ".") == "provider.base_url" && url != "" {
			return []string{"this workspace chooses the model server: prompts and the key go to the base_url in " + a.source}
		}
	}
	return nil
}

func unknownTools(rules []rule, tools []string) []string {
	known := map[string]bool{}
	for _, t := range tools {
		known[t] = true
	}
	var notices []string
	for _, r := range rules {
		if len(tools) == 0 || known[r.Tool] || strings.HasPrefix(r.Tool, "mcp__") || strings.Contains(r.Tool, "*") {
			continue
		}
		known[r.Tool] = true
		text := fmt.Sprintf("permission rule for %q: there is no such tool", r.Tool)
		if near := nearest(r.Tool, tools); near != "" {
			text += "; did you mean " + near + "?"
		}
		notices = append(notices, text)
	}
	return notices
}

// homeDir is the parent of the state directory: SHIRO_HOME unless unset or empty, else the user's home.
func homeDir(env lookup) (string, error) {
	if dir, _ := env("SHIRO_HOME"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding the home directory (set SHIRO_HOME): %w", err)
	}
	return dir, nil
}

// stateDir is where the terminal tool and shiro keep their files.
func stateDir(home string) string {
	return filepath.Join(home, ".shiro-neko")
}

// readConfig reads a file that may be absent, which is not an error and gives nil.
func readConfig(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		var cause *fs.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, &configError{Source: path, Problem: "cannot be read: " + err.Error()}
	}
	return data, nil
}

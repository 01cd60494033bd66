package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTerminalConfig(t *testing.T) {
	source := `{
  "provider": "openai",
  "model": "gpt-5",
  "baseURL": "https://api.groq.com/openai/v1",
  "apiKey": "file-key",
  "presetId": "groq",
  "maxRetries": 5,
  "agent": "plan",
  "thinking": "low",
  "plugins": ["guard"],
  "toolSets": [],
  "registryUrl": "https://registry.example/",
  "mcpServers": {
    "web": {"type": "http", "url": "https://mcp.example", "headers": {"X-Token": "t"}, "expose": "direct"},
    "fs": {"command": "fs", "args": ["-v"], "env": {"A": "b"}, "cwd": "/srv"}
  },
  "permission": {"bash": {"*": "ask", "git *": "allow", "rm *": "deny"}, "mcp__*": "deny"},
  "maxSpendUsd": 1.5,
  "subagentModel": "gpt-5-mini",
  "mcpMode": "eager",
  "workflow": {"enabled": true},
  "somethingNew": [1, {"a": null}]
}
`
	s := setup{terminal: source}
	o := s.options(t)
	c, notices, err := loadConfig(o)
	if err != nil || len(notices) > 0 {
		t.Fatalf("notices %q, error %v", notices, err)
	}
	want := config{
		Provider:   providerSettings{Name: "openai", BaseURL: "https://api.groq.com/openai/v1", Model: "gpt-5", APIKey: "file-key", MaxRetries: 5},
		Permission: []rule{{"bash", "*", "ask"}, {"bash", "git *", "allow"}, {"bash", "rm *", "deny"}, {"mcp__*", "*", "deny"}},
		Agent:      agentSettings{Variant: "plan", Thinking: "low", MaxSpendUSD: 1.5, SubagentModel: "gpt-5-mini"},
		Registry:   registrySettings{URL: "https://registry.example/"},
		MCP: map[string]*mcpServer{
			"web": {Type: "http", URL: "https://mcp.example", Headers: map[string]secret{"X-Token": "t"}},
			"fs":  {Command: "fs", Args: []string{"-v"}, Env: map[string]secret{"A": "b"}, Cwd: "/srv"},
		},
		ToolSets: []string{},
		Plugins:  []string{"guard"},
	}
	c.From, c.keyPlaces = nil, nil
	if diff := cmp.Diff(want, c, cmp.AllowUnexported(config{})); diff != "" {
		t.Error(diff)
	}
	after, err := os.ReadFile(filepath.Join(o.Home, ".shiro-neko", "config.json"))
	if err != nil || string(after) != source {
		t.Errorf("the terminal tool's file changed (%v): %s", err, after)
	}
}

func TestTerminalConfigIsTolerated(t *testing.T) {
	for _, c := range []struct {
		name, source string
		want         providerSettings
		notices      []string
	}{
		{"list", `[1]`, providerSettings{}, nil},
		{"null", `null`, providerSettings{}, nil},
		{"string", ` "x" `, providerSettings{}, nil},
		{"empty object", `{}`, providerSettings{}, nil},
		{"BOM", "\ufeff{\"model\": \"m\"}", providerSettings{Model: "m"}, nil},
		{"unknown provider", `{"provider": "gemini", "model": "m"}`, providerSettings{Model: "m"}, nil},
		{"preset without URL", `{"provider": "openai", "presetId": "xai"}`, providerSettings{Name: "openai", BaseURL: "https://api.x.ai/v1"}, nil},
		{"preset of the other protocol", `{"provider": "anthropic", "presetId": "xai"}`, providerSettings{Name: "anthropic"}, nil},
		{
			"unknown variant", `{"agent": "swift", "model": "m"}`,
			providerSettings{Model: "m"},
			[]string{`agent must be "default", "quick", "deep", "plan" or "review" (ignored)`},
		},
		{
			"wrong type", `{"maxRetries": "many", "toolSets": "git"}`,
			providerSettings{},
			[]string{"maxRetries must be a whole number from 0 to 100 (ignored)", "toolSets must be a list of strings (ignored)"},
		},
		{
			"unknown decision", `{"permission": {"bash": {"*": "alow"}, "grep": 1}}`,
			providerSettings{},
			[]string{`permission.bash."*" must be "allow", "ask" or "deny" (ignored)`, `permission.grep must be "allow", "ask" or "deny" (ignored)`},
		},
		{
			"server without door", `{"mcpServers": {"x": {"args": []}}}`,
			providerSettings{},
			[]string{"mcpServers.x needs either command or url (ignored)"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, notices := setup{terminal: c.source}.load(t)
			c.want.MaxRetries = 3
			if diff := cmp.Diff(c.want, got.Provider); diff != "" {
				t.Error(diff)
			}
			if len(got.Permission) > 0 || len(got.MCP) > 0 {
				t.Errorf("rules %v, servers %v", got.Permission, got.MCP)
			}
			for i := range notices {
				notices[i] = cutPath(notices[i], "config.json: ")
			}
			if diff := cmp.Diff(c.notices, notices); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// cutPath drops what precedes a source in a text and the source itself.
func cutPath(text, source string) string {
	for i := range text {
		if rest := text[i:]; len(rest) > len(source) && rest[:len(source)] == source {
			return rest[len(source):]
		}
	}
	return text
}

func TestTerminalConfigIsRefused(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"comment", "{\n// no\n}", "2: not valid JSON: invalid character '/' looking for beginning of object key string"},
		{"trailing comma", "{\"model\": \"m\",\n}", "2: not valid JSON: invalid character '}' looking for beginning of object key string"},
		{"blank", " \n", "2: not valid JSON: unexpected end of JSON input"},
		{"two documents", "{}\n{}", "2: not valid JSON: invalid character '{' after top-level value"},
		{"key in two lines", `{"apiKey": "a\nb"}`, " apiKey holds a blank, a line break or another character that no key has; paste the key again"},
		{"no URL", `{"baseURL": "localhost:11434"}`, " baseURL must be a URL that begins with https:// or http:// and names a host"},
		{"model is a number", `{"model": 4}`, " model must be a string"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := setup{terminal: c.source}.problems(t)
			if want := filepath.Join(".shiro-neko", "config.json") + ":" + c.want; got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
}

func TestEditorSettings(t *testing.T) {
	const settings = `{"provider": {"model": "m", "max_retries": 2.0, "idle_timeout": "5s"}, "mcp": {"x": {"command": "x"}},
		"permission": {"bash": {"b": "deny", "a": "ask"}}}`
	for name, source := range map[string]string{
		"plain":   settings,
		"section": `{"shiro": ` + settings + `, "vim": {"x": 1}}`,
	} {
		c, notices := setup{editor: source}.load(t)
		if c.Provider.Model != "m" || c.Provider.MaxRetries != 2 || c.MCP["x"] == nil {
			t.Errorf("%s: %+v", name, c)
		}
		if diff := cmp.Diff([]rule{{"bash", "b", "deny"}, {"bash", "a", "ask"}}, c.Permission); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if c.From["provider.model"] != "editor settings" || len(notices) > 0 {
			t.Errorf("%s: source %q, notices %q", name, c.From["provider.model"], notices)
		}
	}
	for source, want := range map[string][]string{
		`{"provider": {"modle": "m"}}`: {"editor settings: unknown key provider.modle; did you mean provider.model? (ignored)"},
		`{"provder": {"model": "m"}}`:  {"editor settings: unknown key provder; did you mean provider? (ignored)"},
		`{"trace": {"server": "off"}, "path": "/bin/shiro", "command": ["shiro"]}`: nil,
		`null`: nil,
		`[]`:   nil,
	} {
		_, notices := setup{editor: source}.load(t)
		if diff := cmp.Diff(want, notices); diff != "" {
			t.Errorf("%s: %s", source, diff)
		}
	}
	for source, want := range map[string]string{
		`{"permission": {"bash": "dney"}}`: `editor settings: permission.bash must be "allow", "ask" or "deny"`,
		`{"provider": "openai"}`:           `editor settings: provider must be a table`,
		`{"context": {"window": 1e999}}`:   `editor settings: context.window must be a whole number from 1 to 1000000000`,
		`{"provider": {"store": 1}}`:       `editor settings: provider.store must be true or false`,
		`{`:                                `editor settings:1: not valid JSON: unexpected end of JSON input`,
	} {
		if got := (setup{editor: source}).problems(t); got != want {
			t.Errorf("%s\n got %s\nwant %s", source, got, want)
		}
	}
}

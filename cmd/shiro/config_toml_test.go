package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEveryKeyOfConfigTOML(t *testing.T) {
	c, notices := setup{own: `
[provider]
name = "openai"
api = "chat"
base_url = "https://gateway.example/v1/"
model = "big-1"
api_key = " key-1 "
store = true
idle_timeout = "90s"
first_byte_timeout = "2m"
max_retries = 0

[context]
threshold = 90_000
window = 200000
keep_turns = 2

[permission]
edit_file = "ask"

[mcp.files]
command = "files-server"
args = ["--root", "."]
env = { TOKEN = "t", EMPTY = "" }

[mcp.search]
url = "https://search.example/mcp"

[registry]
url = "https://registry.example/index.json"

[agent]
variant = "deep"
thinking = "max"
max_steps = 12
max_spend_usd = 2
subagent_model = "small-1"
`}.load(t)
	want := config{
		Provider: providerSettings{
			Name: "openai", API: apiChat, BaseURL: "https://gateway.example/v1", Model: "big-1", APIKey: "key-1",
			Store: true, IdleTimeout: 90 * time.Second, FirstByteTimeout: 2 * time.Minute, MaxRetries: 0,
		},
		Context:    contextSettings{Threshold: 90000, Window: 200000, KeepTurns: 2},
		Permission: []rule{{"edit_file", "*", "ask"}},
		Agent:      agentSettings{Variant: "deep", Thinking: "max", MaxSteps: 12, MaxSpendUSD: 2, SubagentModel: "small-1"},
		Registry:   registrySettings{URL: "https://registry.example/index.json"},
		MCP: map[string]*mcpServer{
			"files":  {Command: "files-server", Args: []string{"--root", "."}, Env: map[string]secret{"TOKEN": "t", "EMPTY": ""}},
			"search": {URL: "https://search.example/mcp"},
		},
	}
	path := c.From["provider.name"]
	if filepath.Base(path) != "config.toml" || len(c.From) != 18 {
		t.Errorf("sources: %v", c.From)
	}
	c.From, c.keyPlaces = nil, nil
	if diff := cmp.Diff(want, c, cmp.AllowUnexported(config{})); diff != "" {
		t.Error(diff)
	}
	if len(notices) > 0 {
		t.Errorf("notices %q", notices)
	}
}

// TestStrictTOML states the whole text of each error, because it is what the user repairs the file with.
func TestStrictTOML(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"unknown key", "[provider]\n\nmodle = \"x\"\n", "3: unknown key provider.modle; did you mean provider.model?"},
		{"dash for underscore", "[provider]\nbase-url = \"x\"\n", "2: unknown key provider.base-url; did you mean provider.base_url?"},
		{"wrong case", "[provider]\nModel = \"x\"\n", "2: unknown key provider.Model; did you mean provider.model?"},
		{"camel case", "[agent]\nmaxSteps = 1\n", "2: unknown key agent.maxSteps; did you mean agent.max_steps?"},
		{"wrong table", "[context]\nmodel = \"x\"\n", "2: unknown key context.model; did you mean provider.model?"},
		{"no table", "modle = \"x\"\n", "1: unknown key modle; did you mean provider.model?"},
		{"unknown table", "[provider]\n[permissions]\nbash = \"deny\"\n", "2: unknown key permissions; did you mean permission?"},
		{"nothing near", "[context]\nzzzzzz = 1\n", "2: unknown key context.zzzzzz; known here: context.threshold, context.window, context.keep_turns"},
		{"unknown key of a server", "[mcp.x]\ncommand = \"a\"\narg = []\n", "3: unknown key mcp.x.arg; did you mean args?"},
		{"inline table", "provider = { model = \"a\", modle = \"b\" }\n", "1: unknown key provider.modle; did you mean provider.model?"},
		{"dotted key", "provider.modle = \"b\"\n", "1: unknown key provider.modle; did you mean provider.model?"},
		{"string for number", "[context]\nthreshold = \"fast\"\n", "2: context.threshold must be a whole number from 1 to 1000000000"},
		{"number for string", "[provider]\nmodel = 5\n", "2: provider.model must be a string"},
		{"float for number", "[agent]\nmax_steps = 1.5\n", "2: agent.max_steps must be a whole number from 1 to 1000000"},
		{"string for truth", "[provider]\nstore = \"yes\"\n", "2: provider.store must be true or false"},
		{"negative money", "[agent]\nmax_spend_usd = -1\n", "2: agent.max_spend_usd must be an amount in dollars, zero or more"},
		{"no number at all", "[agent]\nmax_spend_usd = nan\n", "2: agent.max_spend_usd must be an amount in dollars, zero or more"},
		{"bare duration", "[provider]\nidle_timeout = 90\n", "2: provider.idle_timeout must be a duration above zero, such as \"90s\""},
		{"negative duration", "[provider]\nidle_timeout = \"-1s\"\n", "2: provider.idle_timeout must be a duration above zero, such as \"90s\""},
		{"unknown word", "[provider]\napi = \"rest\"\n", "2: provider.api must be \"responses\", \"chat\" or \"anthropic\""},
		{"value for table", "provider = \"openai\"\n", "1: provider must be a table"},
		{"list of tables", "[[provider]]\nname = \"openai\"\n", "1: provider must be a table"},
		{"table for value", "[provider.model]\nx = 1\n", "1: provider.model must be a string"},
		{"plain registry", "[registry]\nurl = \"http://registry.example/\"\n", "2: registry.url must begin with https:// (plain http is for this machine only)"},
		{"server without door", "[mcp.x]\nargs = []\n", "1: mcp.x needs either command or url"},
		{"server with variables only", "[mcp.x.env]\nA = \"b\"\n", "1: mcp.x needs either command or url"},
		{"server with two doors", "[mcp.x]\ncommand = \"a\"\nurl = \"https://b.example\"\n", "1: mcp.x needs either command or url"},
		{"server is no table", "[mcp]\nx = \"a\"\n", "2: mcp.x must be a table"},
		{"mixed list", "[mcp.x]\ncommand = \"a\"\nargs = [\"a\", 1]\n", "3: mcp.x.args must be a list of strings"},
		{"number in env", "[mcp.x]\ncommand = \"a\"\nenv = { N = 1 }\n", "3: mcp.x.env.N must be a string"},
		{"unknown decision", "[permission]\nbash = \"dney\"\n", "2: permission.bash must be \"allow\", \"ask\" or \"deny\""},
		{"unknown decision of a pattern", "[permission.bash]\n\"*\" = \"allow\"\n\"rm *\" = \"\"\n", "3: permission.bash.\"rm *\" must be \"allow\", \"ask\" or \"deny\""},
		{"rule too deep", "[permission.bash.git]\n\"*\" = \"deny\"\n", "1: permission.bash.git must be \"allow\", \"ask\" or \"deny\""},
		{"permission is no table", "permission = \"deny\"\n", "1: permission must be a table"},
		{"value over dotted table", "[permission]\nbash.\"git *\" = \"allow\"\nbash = \"deny\"\n", "3: permission.bash is both a value and a table"},
		{"table twice", "[permission]\n[provider]\n[permission]\n", "3: not valid TOML: Key 'permission' has already been defined."},
		{"key twice", "[permission]\nbash = \"deny\"\nbash = \"allow\"\n", "3: not valid TOML: Key 'permission.bash' has already been defined."},
		{"half a line", "[provider]\nmodel =\n", "2: not valid TOML: expected value but found '\\n' instead"},
		{"other encoding", "\xff\xfe[\x00p\x00", "1: not valid TOML: files cannot contain NULL bytes; probably using UTF-16; TOML files must be UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := setup{own: c.source}.problems(t)
			want := filepath.Join(".shiro-neko", "config.toml") + ":" + c.want
			if got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
}

// TestOneBadLineLosesNoRule: rules beside a mistake are never silently dropped, because nothing is loaded at all.
func TestOneBadLineLosesNoRule(t *testing.T) {
	rules := "[permission.bash]\n\"*\" = \"allow\"\n\"rm *\" = \"deny\"\n"
	for _, bad := range []string{"[provider]\nidle_timeout = \"fast\"\n", "[permission.bash]\n\"x\" = \"deny\"\n", "[provider]\nx", "[provider]\nmodel = 1\n"} {
		setup{own: rules + bad}.problems(t)
	}
}

func TestPermissionOrder(t *testing.T) {
	for name, source := range map[string]string{
		"table":  "[permission.bash]\n\"*\" = \"ask\"\n\"git *\" = \"allow\"\n\"git push *\" = \"deny\"\n\"a.b\" = \"ask\"\n",
		"inline": "[permission]\nbash = { \"*\" = \"ask\", \"git *\" = \"allow\", \"git push *\" = \"deny\", 'a.b' = \"ask\" }\n",
		"dotted": "[permission]\nbash.\"*\" = \"ask\"\nbash.\"git *\" = \"allow\"\nbash.\"git push *\" = \"deny\"\nbash.\"a.b\" = \"ask\"\n",
	} {
		want := []rule{{"bash", "*", "ask"}, {"bash", "git *", "allow"}, {"bash", "git push *", "deny"}, {"bash", "a.b", "ask"}}
		for _, variant := range []string{source, "\ufeff" + source, strings.ReplaceAll(source, "\n", "\r\n")} {
			c, _ := setup{own: variant}.load(t)
			if diff := cmp.Diff(want, c.Permission); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

// TestPermissionAcrossSources: a later source adds rules after the earlier ones and removes none of them.
func TestPermissionAcrossSources(t *testing.T) {
	c, _ := setup{
		terminal:  `{"permission": {"bash": {"z *": "deny", "a *": "allow"}, "grep": "allow"}}`,
		own:       "[permission]\nbash = \"ask\"\n",
		workspace: "[permission.bash]\n\"make *\" = \"allow\"\n",
		trusted:   true,
		editor:    `{"permission": {"bash": {"rm *": "deny", "ls *": "allow"}}}`,
	}.load(t)
	want := []rule{
		{"bash", "z *", "deny"},
		{"bash", "a *", "allow"},
		{"grep", "*", "allow"},
		{"bash", "*", "ask"},
		{"bash", "make *", "allow"},
		{"bash", "rm *", "deny"},
		{"bash", "ls *", "allow"},
	}
	if diff := cmp.Diff(want, c.Permission); diff != "" {
		t.Error(diff)
	}
}

func TestServerIsReplacedWhole(t *testing.T) {
	c, _ := setup{
		terminal: `{"mcpServers": {"x": {"command": "old", "env": {"A": "1"}}, "y": {"command": "kept"}}}`,
		own:      "[mcp.x]\ncommand = \"new\"\n",
	}.load(t)
	want := map[string]*mcpServer{"x": {Command: "new"}, "y": {Command: "kept"}}
	if diff := cmp.Diff(want, c.MCP); diff != "" {
		t.Error(diff)
	}
}

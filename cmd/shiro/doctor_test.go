package main

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// aKey is long enough to be hidden everywhere.
const aKey = "sk-live-0123456789-abcdef"

// patient is a doctor's patient: what is on disk and around, without programs
// and local servers unless given.
type patient struct {
	setup
	prepare func(t *testing.T, o configOptions) // changes the files
	change  func(d *doctor)
}

// examine returns the report, with HOME and FOLDER in place of their paths.
func (p patient) examine(t *testing.T) (report string, code int) {
	t.Helper()
	o := p.options(t)
	if p.prepare != nil {
		p.prepare(t, o)
	}
	report, code = examine(t, o, p.change)
	return strings.NewReplacer(o.Home, "HOME", o.Workspace, "FOLDER").Replace(report), code
}

func examine(t *testing.T, o configOptions, change func(d *doctor)) (text string, code int) {
	t.Helper()
	var out bytes.Buffer
	d := &doctor{
		report: &report{out: &out},
		home:   o.Home, folder: o.Workspace, env: o.Env, flags: o.Flags, client: http.DefaultClient,
		find: func(string) (string, error) { return "", errors.New("none") },
	}
	if change != nil {
		change(d)
	}
	code = d.examine(t.Context())
	return out.String(), code
}

// expectLines asserts that each of want is a line of the report, blanks aside, in
// that order, and that every FAIL says how to mend it.
func expectLines(t *testing.T, report string, want ...string) {
	t.Helper()
	lines := strings.Split(report, "\n")
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	rest := lines
	for _, w := range want {
		i := slices.Index(rest, w)
		if i < 0 {
			t.Errorf("no line %q, or not in order, in\n%s", w, report)
			continue
		}
		rest = rest[i+1:]
	}
	for i, line := range lines {
		if strings.HasPrefix(line, "FAIL ") && !strings.HasPrefix(lines[i+1], "fix: ") {
			t.Errorf("no remedy below %q", line)
		}
	}
}

func environ(pairs ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

func TestDoctorHealthy(t *testing.T) {
	base, requests := modelServer(t, `{"data": [{"id": "m-large"}, {"id": "m-small"}]}`)
	p := patient{setup: setup{
		own:      "[provider]\napi = \"chat\"\nmodel = \"m-large\"\nidle_timeout = \"90s\"\n[permission]\ngrep = \"ask\"\n[permission.bash]\n\"make *\" = \"allow\"\n\"rm *\" = \"deny\"\n[mcp.files]\ncommand = \"serve\"\nenv = { TOKEN = \"mcp-" + aKey + "\" }\n",
		terminal: `{"plugins": ["guard", "time"]}`,
		env:      environ("SHIRO_BASE_URL", base, "SHIRO_API_KEY", aKey),
	}}
	p.prepare = func(t *testing.T, o configOptions) {
		dir := stateDir(o.Home)
		write(t, filepath.Join(dir, "sessions", "0190a000-0000-7000-8000-000000000001.json"),
			`{"id": "0190a000-0000-7000-8000-000000000001", "createdAt": "2026-01-02T03:04:05.000Z", "updatedAt": "2026-01-02T03:04:05.000Z", "cwd": "/elsewhere", "provider": "openai", "model": "m", "title": "t", "inputTokens": 1, "outputTokens": 1, "messages": [{"role": "user", "content": "hi"}]}`)
		write(t, filepath.Join(dir, "sessions", "0190a000-0000-7000-8000-000000000002.json"), "{")
	}
	programs := t.TempDir()
	p.change = func(d *doctor) {
		d.find = func(name string) (string, error) {
			if name == "rg" {
				return "", errors.New("none")
			}
			path := filepath.Join(programs, name)
			// Written by a child: a process forked by another test meanwhile would keep
			// the file open for writing, and it could not be run.
			script := "#!/bin/sh\necho " + name + ", version 5.2.15\\(1\\)-release\n"
			return path, exec.Command("sh", "-c", `printf %s "$1" >"$2" && chmod 700 "$2"`, "sh", script, path).Run()
		}
	}
	report, code := p.examine(t)
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	expectLines(t, strings.ReplaceAll(report, programs, "PROGRAMS"),
		"program",
		"ok bash 5.2.15, PROGRAMS/bash",
		"ok git 5.2.15, PROGRAMS/git",
		"note rg not found: shiro's own grep does not need it, only commands that call it",
		"folder",
		"ok folder FOLDER",
		"ok state HOME/.shiro-neko, writable",
		"ok sessions 1, of this folder 0",
		"warn sessions 1 file without a readable conversation",
		"fix: nothing has to be done, they are left as they are; move them out of HOME/.shiro-neko/sessions to be rid of this line",
		"ok notes 0 notes about this folder",
		"configuration",
		"ok files HOME/.shiro-neko/config.json, HOME/.shiro-neko/config.toml",
		"ok setting provider.api = chat (HOME/.shiro-neko/config.toml)",
		"ok setting provider.base_url = "+base+" (SHIRO_BASE_URL)",
		"ok setting provider.model = m-large (HOME/.shiro-neko/config.toml)",
		"ok setting provider.api_key = (not shown) (SHIRO_API_KEY)",
		"ok setting provider.idle_timeout = 1m30s (HOME/.shiro-neko/config.toml)",
		"ok setting plugins = [guard time] (HOME/.shiro-neko/config.json)",
		"ok rules 3 rules of yours (bash 2, grep 1); of those that match, the last decides",
		"ok guard on: irreversible shell commands are refused",
		"note limit A text rule cannot fence a shell: it binds the commands, file names and redirects that stand in the command, "+
			"not what a script, a variable or another program does. What cannot be read is asked.",
		"note mcp 1 server configured and not asked here: files",
		"model server",
		"ok provider custom-openai, chat wire, "+base,
		"ok key present, from SHIRO_API_KEY",
		"ok server "+hostOf(providerConfig{BaseURL: base})+" answers, accepts the key and lists 2 models",
		"ok model m-large, which the server lists",
		"Ready: a first prompt would work.",
	)
	if strings.Contains(report, aKey) {
		t.Errorf("a secret is in\n%s", report)
	}
	if got := <-requests; got != "GET /v1/models Bearer "+aKey || len(requests) > 0 {
		t.Errorf("asked %q and %d times more", got, len(requests))
	}
}

func TestDoctorWithNothingConfigured(t *testing.T) {
	listing, asked := modelServer(t, `{"data": [{"id": "qwen3:8b"}, {"id": "llama3"}]}`)
	empty, _ := modelServer(t, `{"data": []}`)
	website, _ := modelServer(t, `<html>`)
	closed := closedPort(t)

	at := func(ollama, studio, llama string) func(d *doctor) {
		return func(d *doctor) {
			d.local = []localServer{{"ollama", "Ollama", ollama}, {"lmstudio", "LM Studio", studio}, {"llamacpp", "llama.cpp", llama}}
		}
	}
	t.Run("a local server", func(t *testing.T) {
		report, code := patient{change: at(listing, empty, website)}.examine(t)
		expectLines(t, report,
			"ok state HOME/.shiro-neko is not there yet; the first conversation makes it",
			"note files none; yours would be HOME/.shiro-neko/config.toml",
			"ok rules none of yours; the builtin ones decide",
			"note key no provider is chosen and no key is set, so a server on this machine would be taken",
			"ok local Ollama runs at "+listing+" with 2 models: qwen3:8b, llama3",
			"warn local LM Studio runs at "+empty+" and has no model",
			"fix: load a model into it",
			"note local llama.cpp: what answers at "+website+" is another program",
			"ok provider ollama, chat wire, "+listing,
			"note notice no key is configured: using qwen3:8b from Ollama on this machine",
			"ok key none, and none needed",
			"ok model qwen3:8b, which the server lists",
			"Ready: a first prompt would work.",
		)
		if code != 0 {
			t.Errorf("exit code %d", code)
		}
		for len(asked) > 0 {
			if got := <-asked; got != "GET /v1/models " {
				t.Errorf("asked %q", got)
			}
		}
	})
	t.Run("none", func(t *testing.T) {
		report, code := patient{change: at(closed, closed, closed)}.examine(t)
		expectLines(t, report,
			"note local Ollama: nobody answers at "+closed,
			"note local LM Studio: nobody answers at "+closed,
			"note local llama.cpp: nobody answers at "+closed,
			"FAIL key no API key for anthropic in SHIRO_API_KEY, ANTHROPIC_API_KEY, OPENAI_API_KEY, HOME/.shiro-neko/config.toml, HOME/.shiro-neko/config.json",
			"fix: set SHIRO_API_KEY or ANTHROPIC_API_KEY or OPENAI_API_KEY where the editor starts, or api_key under [provider] in HOME/.shiro-neko/config.toml; or start Ollama, LM Studio or a llama.cpp server with a model",
			"Not ready: see 1 line marked FAIL.",
		)
		if code != 1 {
			t.Errorf("exit code %d", code)
		}
	})
	t.Run("a chosen provider without its key", func(t *testing.T) {
		p := patient{setup: setup{env: environ("SHIRO_PROVIDER", "groq", "SHIRO_MODEL", "m")}, change: at(listing, listing, listing)}
		report, code := p.examine(t)
		expectLines(t, report,
			"FAIL key no API key for groq in SHIRO_API_KEY, GROQ_API_KEY, HOME/.shiro-neko/config.toml, HOME/.shiro-neko/config.json",
			"fix: set SHIRO_API_KEY or GROQ_API_KEY where the editor starts, or api_key under [provider] in HOME/.shiro-neko/config.toml",
		)
		if code != 1 || strings.Contains(report, " local ") {
			t.Errorf("exit code %d, and local servers are none of this in\n%s", code, report)
		}
	})
}

func TestDoctorListsAllProblemsOfTheConfiguration(t *testing.T) {
	p := patient{setup: setup{
		own:   "[provider]\nmodle = \"x\"\nmax_retries = \"many\"\n\n[permission]\nbash = \"perhaps\"\n",
		env:   environ("SHIRO_API_KEY", "two words"),
		flags: map[string]string{"think": "hard"},
	}}
	report, code := p.examine(t)
	expectLines(t, report,
		"ok state HOME/.shiro-neko, writable",
		"FAIL problem HOME/.shiro-neko/config.toml:2: unknown key provider.modle; did you mean provider.model?",
		"fix: rename or remove the key in line 2",
		"FAIL problem HOME/.shiro-neko/config.toml:3: provider.max_retries must be a whole number from 0 to 100",
		"fix: correct line 3",
		`FAIL problem HOME/.shiro-neko/config.toml:6: permission.bash must be "allow", "ask" or "deny"`,
		"fix: correct line 6",
		"FAIL problem SHIRO_API_KEY: provider.api_key holds a blank, a line break or another character that no key has; paste the key again",
		"fix: correct or unset SHIRO_API_KEY",
		`FAIL problem --think: agent.thinking must be "off", "low", "medium", "high" or "max"`,
		"fix: correct or leave out --think",
		"note server not looked for while the configuration has problems",
		"Not ready: see 5 lines marked FAIL.",
	)
	if code != 1 || strings.Contains(report, "two words") {
		t.Errorf("exit code %d\n%s", code, report)
	}

	report, _ = patient{setup: setup{own: "[provider]\napi_key = \"" + aKey + "\nmodel = 1\n"}}.examine(t)
	expectLines(t, report, "fix: correct line 2")
	if strings.Contains(report, aKey) {
		t.Errorf("the key is in\n%s", report)
	}
}

func TestDoctorPassesNoticesOn(t *testing.T) {
	base, _ := modelServer(t, `{"data": [{"id": "m"}]}`)
	p := patient{setup: setup{
		terminal:  `{"plugins": []}`,
		own:       "[permission]\nBash = \"deny\"\n",
		workspace: "[provider]\nmodel = \"evil\"\n",
		env:       environ("SHIRO_BASE_URL", base, "SHIRO_MODEL", "m"),
	}}
	report, code := p.examine(t)
	expectLines(t, report,
		"warn notice FOLDER/.shiro/config.toml is ignored: this version trusts no workspace's configuration",
		`warn notice permission rule for "Bash": there is no such tool`,
		"fix: did you mean bash?",
		"warn guard off: irreversible shell commands are not refused",
		`fix: add "guard" to plugins in HOME/.shiro-neko/config.json`,
	)
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestDoctorOfAStateThatCannotBeKept(t *testing.T) {
	base, _ := modelServer(t, `{"data": [{"id": "m"}]}`)
	s := setup{env: environ("SHIRO_BASE_URL", base, "SHIRO_MODEL", "m")}
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, o configOptions)
		change  func(d *doctor)
		want    []string
	}{
		{
			"a file in its place",
			func(t *testing.T, o configOptions) { write(t, stateDir(o.Home), "not a folder") },
			nil,
			[]string{
				"FAIL state HOME/.shiro-neko is not a folder: nothing can be kept",
				"fix: move that file away, or set SHIRO_HOME to another parent",
			},
		},
		{
			"a file in place of the sessions",
			func(t *testing.T, o configOptions) { write(t, filepath.Join(stateDir(o.Home), "sessions"), "x") },
			nil,
			[]string{
				"FAIL state cannot write in HOME/.shiro-neko/sessions: not a directory; conversations would not be kept",
				"fix: make that folder writable for you, or set SHIRO_HOME to another parent",
			},
		},
		{
			"no home",
			nil,
			func(d *doctor) { d.home = "" },
			[]string{
				"FAIL state there is no home folder: nothing can be kept",
				"fix: set SHIRO_HOME to the folder that is to hold .shiro-neko",
				"Not ready: see 1 line marked FAIL.",
			},
		},
		{
			"no folder to work in",
			nil,
			func(d *doctor) { d.folder = filepath.Join(d.folder, "gone") },
			[]string{
				"FAIL folder FOLDER/gone: no such file or directory",
				"fix: name a folder that exists: shiro doctor FOLDER",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			report, code := patient{setup: s, prepare: c.prepare, change: c.change}.examine(t)
			expectLines(t, report, c.want...)
			if code != 1 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

func TestDoctorShowsProxiesWithoutCredentials(t *testing.T) {
	base, _ := modelServer(t, `{"data": [{"id": "m"}]}`)
	with := func(pairs ...string) patient {
		return patient{setup: setup{env: environ(append(pairs, "SHIRO_BASE_URL", base, "SHIRO_MODEL", "m")...)}}
	}
	report, code := with("HTTPS_PROXY", "http://joe:hunter2@proxy.example:3128", "http_proxy", "proxy.example:80", "NO_PROXY", "localhost,.example").examine(t)
	expectLines(t, report,
		"ok proxy HTTPS_PROXY: proxy.example:3128, with credentials",
		"ok proxy http_proxy: proxy.example:80",
		"ok proxy NO_PROXY: not for localhost,.example",
	)
	if code != 0 || strings.Contains(report, "hunter2") || strings.Contains(report, "joe") {
		t.Errorf("exit code %d\n%s", code, report)
	}
	report, _ = with("ALL_PROXY", "socks5://joe:hunter2@proxy.example").examine(t)
	expectLines(t, report, "warn proxy ALL_PROXY is set and not looked at")
	if strings.Contains(report, "hunter2") {
		t.Errorf("the password is in\n%s", report)
	}
}

// TestDoctorChangesNothing: what is on disk afterwards is what was there.
func TestDoctorChangesNothing(t *testing.T) {
	base, _ := modelServer(t, `{"data": [{"id": "m"}]}`)
	files := func(dir string) map[string]string {
		m := map[string]string{}
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				m[path] = ""
				return err
			}
			data, err := os.ReadFile(path)
			m[path] = string(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, s := range []setup{{}, {own: "[provider]\nmodel = \"m\"\n", workspace: "[agent]\n"}} {
		s.env = environ("SHIRO_BASE_URL", base)
		o := s.options(t)
		home, folder := files(o.Home), files(o.Workspace)
		if report, code := examine(t, o, nil); code != 0 {
			t.Errorf("exit code %d\n%s", code, report)
		}
		if diff := cmp.Diff(home, files(o.Home)) + cmp.Diff(folder, files(o.Workspace)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestDoctorKnowsEverySetting(t *testing.T) {
	var c config
	c.Provider.APIKey = aKey
	values := settingValues(c)
	var names []string
	for _, f := range append(c.fields(), c.terminalFields()...) {
		names = append(names, f.name)
	}
	slices.Sort(names)
	if diff := cmp.Diff(names, slices.Sorted(maps.Keys(values))); diff != "" {
		t.Error(diff)
	}
	for name, v := range values {
		if strings.Contains(v, aKey) {
			t.Errorf("%s shows the key", name)
		}
	}
}

func TestDoctorCommand(t *testing.T) {
	base, _ := modelServer(t, `{"data": [{"id": "m"}]}`)
	for name, value := range map[string]string{"SHIRO_HOME": t.TempDir(), "SHIRO_BASE_URL": base, "SHIRO_API_KEY": "ollama", "SHIRO_MODEL": "other", "SHIRO_PROVIDER": ""} {
		t.Setenv(name, value)
	}
	folder := t.TempDir()
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"-model", "m", folder}, 0, []string{"ok folder " + folder, "ok setting provider.model = m (--model)", "Ready: a first prompt would work."}},
		{[]string{folder}, 1, []string{"ok setting provider.model = other (SHIRO_MODEL)", "FAIL model other is not among the models of " + hostOf(providerConfig{BaseURL: base})}},
		{[]string{folder, folder}, 2, nil},
		{[]string{"-modle", "m"}, 2, nil},
		{[]string{"-h"}, 0, nil},
	} {
		var out, errs bytes.Buffer
		code := runDoctor(context.Background(), c.args, streams{out: &out, err: &errs})
		if code != c.code || (len(c.want) > 0) != (out.Len() > 0) {
			t.Errorf("%q: exit code %d, %s%s", c.args, code, &out, &errs)
		}
		expectLines(t, out.String(), c.want...)
	}
}

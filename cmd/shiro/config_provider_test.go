package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResolveProvider(t *testing.T) {
	const (
		anthropicNotice = "anthropic is asked through the OpenAI-compatible chat endpoint of api.anthropic.com; the Messages API is not spoken yet"
		claude          = "claude-sonnet-4-5"
	)
	env := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	for _, c := range []struct {
		name  string
		setup setup
		want  providerConfig
	}{
		{
			"the terminal tool's default, with its key variable",
			setup{env: env("ANTHROPIC_API_KEY", "ak", "OPENAI_API_KEY", "ok")},
			providerConfig{Name: "anthropic", API: apiChat, BaseURL: "https://api.anthropic.com/v1", Model: claude, APIKey: "ak", KeyFrom: "ANTHROPIC_API_KEY", Notices: []string{anthropicNotice}},
		},
		{
			"the terminal tool's file",
			setup{terminal: `{"provider": "anthropic", "apiKey": "fk", "model": "claude-opus-4-1"}`, env: env("ANTHROPIC_API_KEY", "ak")},
			providerConfig{Name: "anthropic", API: apiChat, BaseURL: "https://api.anthropic.com/v1", Model: "claude-opus-4-1", APIKey: "fk", KeyFrom: "config.json", Notices: []string{anthropicNotice}},
		},
		{
			"the common variable beats file and vendor",
			setup{terminal: `{"apiKey": "fk"}`, env: env("SHIRO_API_KEY", " sk ", "OPENAI_API_KEY", "ok", "SHIRO_PROVIDER", "openai")},
			providerConfig{Name: "openai", API: apiResponses, BaseURL: "https://api.openai.com/v1", Model: "gpt-5", APIKey: "sk", KeyFrom: "SHIRO_API_KEY"},
		},
		{
			"only OpenAI's key is there",
			setup{env: env("OPENAI_API_KEY", "ok", "ANTHROPIC_API_KEY", "")},
			providerConfig{Name: "openai", API: apiResponses, BaseURL: "https://api.openai.com/v1", Model: "gpt-5", APIKey: "ok", KeyFrom: "OPENAI_API_KEY"},
		},
		{
			"chat asked of the official host",
			setup{own: "[provider]\napi = \"chat\"\n", env: env("OPENAI_API_KEY", "ok")},
			providerConfig{Name: "openai", API: apiChat, BaseURL: "https://api.openai.com/v1", Model: "gpt-5", APIKey: "ok", KeyFrom: "OPENAI_API_KEY"},
		},
		{
			"regional OpenAI host",
			setup{env: env("OPENAI_API_KEY", "ok", "SHIRO_PROVIDER", "openai", "SHIRO_BASE_URL", "https://eu.api.openai.com/v1")},
			providerConfig{Name: "openai", API: apiResponses, BaseURL: "https://eu.api.openai.com/v1", Model: "gpt-5", APIKey: "ok", KeyFrom: "OPENAI_API_KEY"},
		},
		{
			"OpenAI's protocol elsewhere",
			setup{env: env("OPENAI_API_KEY", "ok", "SHIRO_PROVIDER", "openai", "SHIRO_BASE_URL", "https://gateway.example/llm/")},
			providerConfig{Name: "openai", API: apiChat, BaseURL: "https://gateway.example/llm", Model: "gpt-5", APIKey: "ok", KeyFrom: "OPENAI_API_KEY"},
		},
		{
			"Responses elsewhere",
			setup{own: "[provider]\napi = \"responses\"\nbase_url = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\n"},
			providerConfig{Name: "custom-openai", API: apiResponses, BaseURL: "http://127.0.0.1:9/v1", Model: "m"},
		},
		{
			"preset by name",
			setup{env: env("SHIRO_PROVIDER", "openrouter", "OPENROUTER_API_KEY", "rk", "OPENAI_API_KEY", "ok", "SHIRO_MODEL", "m")},
			providerConfig{Name: "openrouter", API: apiChat, BaseURL: "https://openrouter.ai/api/v1", Model: "m", APIKey: "rk", KeyFrom: "OPENROUTER_API_KEY"},
		},
		{
			"preset by host, path missing",
			setup{env: env("SHIRO_BASE_URL", "https://api.groq.com", "GROQ_API_KEY", "gk", "OPENAI_API_KEY", "ok", "SHIRO_MODEL", "m")},
			providerConfig{Name: "groq", API: apiChat, BaseURL: "https://api.groq.com/openai/v1", Model: "m", APIKey: "gk", KeyFrom: "GROQ_API_KEY"},
		},
		{
			"the host decides which vendor's key may go there",
			setup{env: env("SHIRO_PROVIDER", "openai", "SHIRO_BASE_URL", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "dk", "OPENAI_API_KEY", "ok", "SHIRO_MODEL", "m")},
			providerConfig{Name: "deepseek", API: apiChat, BaseURL: "https://api.deepseek.com/v1", Model: "m", APIKey: "dk", KeyFrom: "DEEPSEEK_API_KEY"},
		},
		{
			"another provider takes none of the first one's settings",
			setup{terminal: `{"provider": "anthropic", "model": "claude-opus-4-1", "baseURL": "https://api.anthropic.com/v1", "apiKey": "fk"}`, own: "[provider]\nname = \"openai\"\n", env: env("OPENAI_API_KEY", "ok")},
			providerConfig{Name: "openai", API: apiResponses, BaseURL: "https://api.openai.com/v1", Model: "gpt-5", APIKey: "ok", KeyFrom: "OPENAI_API_KEY"},
		},
		{
			"the same provider by its preset name keeps them",
			setup{terminal: `{"provider": "openai", "model": "m", "baseURL": "https://api.x.ai/v1", "apiKey": "fk"}`, flags: map[string]string{"provider": "xai"}},
			providerConfig{Name: "xai", API: apiChat, BaseURL: "https://api.x.ai/v1", Model: "m", APIKey: "fk", KeyFrom: "config.json"},
		},
		{
			"loopback needs no key",
			setup{env: env("SHIRO_BASE_URL", "http://127.0.0.1:4000", "SHIRO_MODEL", " m ")},
			providerConfig{Name: "custom-openai", API: apiChat, BaseURL: "http://127.0.0.1:4000/v1", Model: "m"},
		},
		{
			"Ollama by name, no vendor's key for it",
			setup{env: env("SHIRO_PROVIDER", "ollama", "OPENAI_API_KEY", "ok", "SHIRO_MODEL", "m")},
			providerConfig{Name: "ollama", API: apiChat, BaseURL: "http://localhost:11434/v1", Model: "m"},
		},
		{
			"Ollama on another machine",
			setup{env: env("SHIRO_PROVIDER", "ollama", "SHIRO_BASE_URL", "http://gpu.lan:11434/v1")},
			providerConfig{Name: "ollama", API: apiChat, BaseURL: "http://gpu.lan:11434/v1"},
		},
		{
			"Anthropic's protocol elsewhere",
			setup{own: "[provider]\nname = \"custom-anthropic\"\nbase_url = \"https://proxy.example/v1\"\nmodel = \"m\"\n", env: env("ANTHROPIC_API_KEY", "ak")},
			providerConfig{
				Name: "custom-anthropic", API: apiChat, BaseURL: "https://proxy.example/v1", Model: "m", APIKey: "ak", KeyFrom: "ANTHROPIC_API_KEY",
				Notices: []string{"custom-anthropic is asked through the OpenAI-compatible chat endpoint of proxy.example; the Messages API is not spoken yet"},
			},
		},
		{
			"key over plain http",
			setup{own: "[provider]\nbase_url = \"http://llm.corp.example/v1\"\nmodel = \"m\"\napi_key = \"ck\"\n"},
			providerConfig{
				Name: "custom-openai", API: apiChat, BaseURL: "http://llm.corp.example/v1", Model: "m", APIKey: "ck", KeyFrom: "config.toml",
				Notices: []string{"the key travels unencrypted to llm.corp.example; use https if it can"},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			loaded, _ := c.setup.load(t)
			got, err := loaded.resolveProvider(c.setup.lookup)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.IsAbs(got.KeyFrom) {
				got.KeyFrom = filepath.Base(got.KeyFrom)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMissingKey(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup setup
		want  noKeyError
		text  string
	}{
		{
			"nothing configured",
			setup{},
			noKeyError{Provider: "anthropic", Looked: []string{"SHIRO_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "config.toml", "config.json"}},
			"no API key for anthropic: none in SHIRO_API_KEY, ANTHROPIC_API_KEY, OPENAI_API_KEY, config.toml, config.json. " +
				"Set one of them, or start Ollama, LM Studio or a llama.cpp server with a model on its default port",
		},
		{
			"a provider without its key",
			setup{env: map[string]string{"SHIRO_PROVIDER": "groq", "OPENAI_API_KEY": "ok"}},
			noKeyError{Provider: "groq", Looked: []string{"SHIRO_API_KEY", "GROQ_API_KEY", "config.toml", "config.json"}, Chosen: true},
			"no API key for groq: none in SHIRO_API_KEY, GROQ_API_KEY, config.toml, config.json. Set one of them, or choose another provider",
		},
		{
			"the terminal tool's provider without its key, trusted workspace",
			setup{terminal: `{"provider": "anthropic"}`, trusted: true},
			noKeyError{Provider: "anthropic", Looked: []string{"SHIRO_API_KEY", "ANTHROPIC_API_KEY", "config.toml", "config.json", "config.toml"}, Chosen: true},
			"no API key for anthropic: none in SHIRO_API_KEY, ANTHROPIC_API_KEY, config.toml, config.json, config.toml. Set one of them, or choose another provider",
		},
	} {
		loaded, _ := c.setup.load(t)
		_, err := loaded.resolveProvider(c.setup.lookup)
		var missing *noKeyError
		if !errors.As(err, &missing) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for i, place := range missing.Looked {
			if i > 1 && strings.HasPrefix(place, "config") {
				t.Errorf("%s: %s is no full path", c.name, place)
			}
			missing.Looked[i] = filepath.Base(place)
		}
		if diff := cmp.Diff(&c.want, missing); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if missing.Error() != c.text {
			t.Errorf("%s:\n got %s\nwant %s", c.name, missing, c.text)
		}
	}
}

func TestProviderCannotBeResolved(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup setup
		want  string
	}{
		{"no URL", setup{env: map[string]string{"SHIRO_PROVIDER": "custom-openai"}}, `SHIRO_PROVIDER: provider "custom-openai" needs provider.base_url or SHIRO_BASE_URL`},
		{"no model", setup{env: map[string]string{"SHIRO_PROVIDER": "groq", "GROQ_API_KEY": "gk"}}, "provider.model: no model is configured for groq; set provider.model, SHIRO_MODEL or --model"},
		{"vendor's key in two lines", setup{env: map[string]string{"ANTHROPIC_API_KEY": "ab\ncd"}}, "ANTHROPIC_API_KEY: holds a blank, a line break or another character that no key has; paste the key again"},
	} {
		loaded, _ := c.setup.load(t)
		_, err := loaded.resolveProvider(c.setup.lookup)
		var problem *configError
		if !errors.As(err, &problem) || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.name, err, c.want)
		}
	}
}

func TestCleanBaseURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://api.openai.com":                       "https://api.openai.com/v1",
		"https://api.openai.com/":                      "https://api.openai.com/v1",
		"https://api.openai.com/v1":                    "https://api.openai.com/v1",
		" https://api.openai.com/v1/ ":                 "https://api.openai.com/v1",
		"https://api.openai.com/v1/chat/completions":   "https://api.openai.com/v1",
		"https://api.openai.com/v2":                    "https://api.openai.com/v2",
		"https://api.anthropic.com":                    "https://api.anthropic.com/v1",
		"https://api.anthropic.com/v1/messages":        "https://api.anthropic.com/v1",
		"https://openrouter.ai":                        "https://openrouter.ai/api/v1",
		"https://openrouter.ai/api/":                   "https://openrouter.ai/api/v1",
		"https://api.groq.com/openai":                  "https://api.groq.com/openai/v1",
		"http://localhost:11434":                       "http://localhost:11434/v1",
		"http://[::1]:1234/":                           "http://[::1]:1234/v1",
		"http://127.0.0.1:8080/v1//":                   "http://127.0.0.1:8080/v1",
		"http://127.0.0.1:8080/api":                    "http://127.0.0.1:8080/api",
		"https://api.perplexity.example":               "https://api.perplexity.example",
		"https://gateway.example/openai/v1/responses/": "https://gateway.example/openai/v1",
	} {
		got, err := cleanBaseURL(in)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
		if again, err := cleanBaseURL(got); err != nil || again != got {
			t.Errorf("%q cleaned again: %q, %v", got, again, err)
		}
	}
	for _, bad := range []string{
		"localhost:11434", "api.openai.com", "ftp://host/v1", "https://", "https:///v1", "/v1", "$BASE_URL", "https://ho st/v1",
		"https://host/v1 /x", "https://host/v1\nx", "https://host/v1\x00", "https://user:pw@host/v1", "https://host/v1?x=1", "https://host/v1#x",
	} {
		if got, err := cleanBaseURL(bad); err == nil {
			t.Errorf("%q was taken as %q", bad, got)
		}
	}
}

func TestCleanKeyAndModel(t *testing.T) {
	for in, want := range map[string]string{" key \n": "key", "\tkey\r\n": "key", "sk-A_1.~": "sk-A_1.~", " ": ""} {
		if got, err := cleanKey(in); err != nil || got != want {
			t.Errorf("key %q: %q, %v", in, got, err)
		}
	}
	for _, bad := range []string{"a\nb", "a b", "a\x00b", "a\u200bb", "schlüssel", "$OPENAI_API_KEY", "${KEY}", "a\x7f"} {
		if got, err := cleanKey(bad); err == nil || got != "" {
			t.Errorf("key %q was taken", bad)
		}
	}
	for in, want := range map[string]string{" gpt-5 ": "gpt-5", "org/model:free": "org/model:free"} {
		if got, err := cleanModel(in); err != nil || got != want {
			t.Errorf("model %q: %q, %v", in, got, err)
		}
	}
	for _, bad := range []string{"gpt 5", "gpt-5\nx", "a\u00a0b", "a\x01"} {
		if got, err := cleanModel(bad); err == nil {
			t.Errorf("model %q was taken as %q", bad, got)
		}
	}
}

func TestPresets(t *testing.T) {
	for _, p := range presets() {
		if p.Base == "" {
			if !strings.HasPrefix(p.ID, "custom-") {
				t.Errorf("%s has no URL", p.ID)
			}
			continue
		}
		if clean, err := cleanBaseURL(p.Base); err != nil || clean != p.Base {
			t.Errorf("%s: %q is not clean: %q, %v", p.ID, p.Base, clean, err)
		}
		if p.Keyless != (p.KeyVar == "") {
			t.Errorf("%s: keyless %v, but key variable %q", p.ID, p.Keyless, p.KeyVar)
		}
	}
	names := keyVariables()
	for _, want := range []string{"SHIRO_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GROQ_API_KEY", "DEEPSEEK_API_KEY", "XAI_API_KEY"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not among %v", want, names)
		}
	}
	if len(names) != 7 {
		t.Errorf("key variables %v", names)
	}
}

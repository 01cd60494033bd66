package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// providerConfig is a model server that can be called.
type providerConfig struct {
	Name    string // id of a preset
	API     apiKind
	BaseURL string // without a final slash
	Model   string // empty only between resolveProvider and findProvider, for a server that can tell its models
	APIKey  secret // empty where none is needed
	KeyFrom string // variable, path or "editor settings"; empty without a key
	Notices []string
}

// noKeyError says that a provider needs a key and that none was found.
type noKeyError struct {
	Provider string
	Looked   []string // every variable and file that was consulted
	Chosen   bool     // the user asked for this provider; else it was a guess and a local server may take its place
}

func (e *noKeyError) Error() string {
	text := fmt.Sprintf("no API key for %s: none in %s. Set one of them", e.Provider, strings.Join(e.Looked, ", "))
	if e.Chosen {
		return text + ", or choose another provider"
	}
	return text + ", or start Ollama, LM Studio or a llama.cpp server with a model on its default port"
}

// resolveProvider completes the user's settings with what presets and the vendors' own variables know. Without a key where
// one is needed the error is a *noKeyError, else a *configError. It calls no server.
func (c config) resolveProvider(env lookup) (providerConfig, error) {
	s := c.Provider
	p := c.choosePreset(env)
	r := providerConfig{
		Name:    p.ID,
		API:     s.API,
		BaseURL: cmp.Or(s.BaseURL, p.Base),
		Model:   cmp.Or(s.Model, p.Model),
	}
	if r.BaseURL == "" {
		return providerConfig{}, &configError{
			Source:  c.From["provider.name"],
			Problem: fmt.Sprintf("provider %q needs provider.base_url or SHIRO_BASE_URL", p.ID),
		}
	}
	u, err := url.Parse(r.BaseURL)
	if err != nil {
		return providerConfig{}, fmt.Errorf("reading the base URL: %w", err)
	}
	local := isLoopback(u)
	if r.APIKey, r.KeyFrom, err = c.findKey(p, env); err != nil {
		return providerConfig{}, err
	}
	if r.APIKey == "" && !p.Keyless && !local {
		return providerConfig{}, &noKeyError{Provider: p.ID, Looked: c.looked(p), Chosen: c.chosen()}
	}
	if r.Model == "" && !p.Keyless && !local {
		return providerConfig{}, noModel(p.ID)
	}
	if r.API == "" {
		r.API = p.API
		if u.Hostname() == "api.openai.com" || strings.HasSuffix(u.Hostname(), ".api.openai.com") {
			r.API = apiResponses
		}
	}
	if r.API == apiAnthropic {
		r.API = apiChat
		r.Notices = append(r.Notices, fmt.Sprintf(
			"%s is asked through the OpenAI-compatible chat endpoint of %s; the Messages API is not spoken yet", p.ID, u.Host))
	}
	if r.APIKey != "" && u.Scheme == "http" && !local {
		r.Notices = append(r.Notices, fmt.Sprintf("the key travels unencrypted to %s; use https if it can", u.Host))
	}
	return r, nil
}

func noModel(provider string) error {
	return &configError{
		Source:  "provider.model",
		Problem: fmt.Sprintf("no model is configured for %s; set provider.model, SHIRO_MODEL or --model", provider),
	}
}

// chosen reports whether the user pointed at a provider in any way, so that none may be guessed in its place.
func (c config) chosen() bool {
	return c.Provider.Name != "" || c.Provider.BaseURL != "" || c.Provider.API != ""
}

// choosePreset decides which provider the settings mean. Nothing said is the terminal tool's default, anthropic, unless
// the only key at hand is OpenAI's.
func (c config) choosePreset(env lookup) preset {
	s := c.Provider
	id := s.Name
	if vendor, ok := presetByHost(s.BaseURL); ok {
		id = vendor.ID // whatever the name says: only this vendor's key may go to this host
	}
	switch {
	case id != "":
	case s.BaseURL != "" && s.API == apiAnthropic:
		id = "custom-anthropic"
	case s.BaseURL != "":
		id = "custom-openai"
	case s.API == apiChat, s.API == apiResponses:
		id = "openai"
	case s.API == "" && s.APIKey == "" && variable(env, "ANTHROPIC_API_KEY") == "" && variable(env, "OPENAI_API_KEY") != "":
		id = "openai"
	default:
		id = "anthropic"
	}
	p, _ := presetByID(id) // the schema lets no other id in
	return p
}

// findKey takes the configured key, else the vendor's own variable.
func (c config) findKey(p preset, env lookup) (secret, string, error) {
	if c.Provider.APIKey != "" {
		return c.Provider.APIKey, c.From["provider.api_key"], nil
	}
	if p.KeyVar == "" {
		return "", "", nil
	}
	key, err := cleanKey(variable(env, p.KeyVar))
	if err != nil {
		return "", "", &configError{Source: p.KeyVar, Problem: err.Error()}
	}
	if key == "" {
		return "", "", nil
	}
	return secret(key), p.KeyVar, nil
}

func (c config) looked(p preset) []string {
	looked := []string{"SHIRO_API_KEY", p.KeyVar}
	if !c.chosen() && p.ID == "anthropic" {
		looked = append(looked, "OPENAI_API_KEY")
	}
	return append(looked, c.keyPlaces...)
}

// findProvider is resolveProvider for one who may ask local servers: when the user chose nothing and has no key, it takes a
// server found on this machine, and where only the model is missing it takes the server's first.
func (c config) findProvider(ctx context.Context, env lookup, client *http.Client, servers []localServer) (providerConfig, error) {
	r, err := c.resolveProvider(env)
	var missing *noKeyError
	if errors.As(err, &missing) && !missing.Chosen {
		found, ok := discoverLocal(ctx, client, servers, c.Provider.Model)
		if !ok {
			return providerConfig{}, err
		}
		return found, nil
	}
	if err != nil || r.Model != "" {
		return r, err
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	models, err := listModels(ctx, client, r.BaseURL, r.APIKey)
	if err != nil || len(models) == 0 {
		return providerConfig{}, errors.Join(noModel(r.Name), err)
	}
	r.Model = models[0]
	r.Notices = append(r.Notices, fmt.Sprintf("no model is configured: using %s, the first one of %s", r.Model, r.Name))
	return r, nil
}

// ErrorKind is the kind that an editor is told.
func (*noKeyError) ErrorKind() string { return "auth_required" }

package main

import (
	"net/url"
	"strings"
)

// apiKind is the wire protocol that a model server is spoken to with.
type apiKind string

const (
	apiResponses apiKind = "responses" // OpenAI Responses
	apiChat      apiKind = "chat"      // OpenAI-compatible chat completions
	apiAnthropic apiKind = "anthropic" // Anthropic Messages
)

// preset is a provider that can be chosen by name alone. The list is the terminal tool's, so that a name written for it
// means the same here; llamacpp is ours.
type preset struct {
	ID      string
	API     apiKind
	Base    string // empty: the user must give one
	KeyVar  string // environment variable with the vendor's key; empty: no vendor key is ever sent
	Model   string // model used when none is configured; empty: there is no sensible guess
	Keyless bool   // works without a key wherever it runs
}

func presets() []preset {
	return []preset{
		{ID: "anthropic", API: apiAnthropic, Base: "https://api.anthropic.com/v1", KeyVar: "ANTHROPIC_API_KEY", Model: "claude-sonnet-4-5"},
		{ID: "openai", API: apiChat, Base: "https://api.openai.com/v1", KeyVar: "OPENAI_API_KEY", Model: "gpt-5"},
		{ID: "openrouter", API: apiChat, Base: "https://openrouter.ai/api/v1", KeyVar: "OPENROUTER_API_KEY"},
		{ID: "groq", API: apiChat, Base: "https://api.groq.com/openai/v1", KeyVar: "GROQ_API_KEY"},
		{ID: "deepseek", API: apiChat, Base: "https://api.deepseek.com/v1", KeyVar: "DEEPSEEK_API_KEY"},
		{ID: "xai", API: apiChat, Base: "https://api.x.ai/v1", KeyVar: "XAI_API_KEY"},
		{ID: "ollama", API: apiChat, Base: "http://localhost:11434/v1", Keyless: true},
		{ID: "lmstudio", API: apiChat, Base: "http://localhost:1234/v1", Keyless: true},
		{ID: "llamacpp", API: apiChat, Base: "http://localhost:8080/v1", Keyless: true},
		{ID: "custom-openai", API: apiChat, KeyVar: "OPENAI_API_KEY"},
		{ID: "custom-anthropic", API: apiAnthropic, KeyVar: "ANTHROPIC_API_KEY"},
	}
}

func presetIDs() []string {
	var ids []string
	for _, p := range presets() {
		ids = append(ids, p.ID)
	}
	return ids
}

func presetByID(id string) (preset, bool) {
	for _, p := range presets() {
		if p.ID == id {
			return p, true
		}
	}
	return preset{}, false
}

// presetByHost finds the vendor that a base URL belongs to. A local server is never recognised by its port: anything may
// listen there, also a gateway that wants the user's key.
func presetByHost(base string) (preset, bool) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || isLoopback(u) {
		return preset{}, false
	}
	for _, p := range presets() {
		if own, err := url.Parse(p.Base); err == nil && strings.EqualFold(own.Host, u.Host) {
			return p, true
		}
	}
	return preset{}, false
}

// keyVariables lists every environment variable that may hold a provider key, for those who start child processes: none of
// them may be inherited by a command that a model chose.
func keyVariables() []string {
	names := []string{"SHIRO_API_KEY"}
	seen := map[string]bool{"": true}
	for _, p := range presets() {
		if !seen[p.KeyVar] {
			seen[p.KeyVar] = true
			names = append(names, p.KeyVar)
		}
	}
	return names
}

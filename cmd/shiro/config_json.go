package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// terminalKeys are the terminal tool's names for settings that we have too.
func terminalKeys() map[string]string {
	return map[string]string{
		"provider":      "provider.name",
		"model":         "provider.model",
		"baseURL":       "provider.base_url",
		"apiKey":        "provider.api_key",
		"maxRetries":    "provider.max_retries",
		"agent":         "agent.variant",
		"thinking":      "agent.thinking",
		"maxSpendUsd":   "agent.max_spend_usd",
		"subagentModel": "agent.subagent_model",
		"registryUrl":   "registry.url",
		"permission":    "permission",
		"mcpServers":    "mcp",
		"toolSets":      "terminal.toolSets",
		"plugins":       "terminal.plugins",
	}
}

// terminalLayer reads the terminal tool's config.json. The file is not ours: keys we do not know are its business, a
// permission word we do not know is dropped as the tool drops it, and only what would send prompts elsewhere than the user
// wants is an error.
func terminalLayer(path string) (layer, error) {
	data, err := readConfig(path)
	if data == nil || err != nil {
		return layer{}, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	values, isObject, err := flatten(data, path)
	if err != nil {
		return layer{}, err
	}
	l := layer{terminal: true, judge: judgeTerminal}
	if !isObject {
		return l, nil
	}
	names := terminalKeys()
	var protocol, presetID string
	var hasBase bool
	for _, a := range values {
		if a.key[0] == "presetId" {
			presetID, _ = a.value.(string)
		}
		ours, ok := names[a.key[0]]
		if !ok {
			continue
		}
		value, _ := a.value.(string)
		switch {
		case ours == "provider.name" && value != "anthropic" && value != "openai":
			continue // the tool ignores any other word
		case ours == "provider.name":
			protocol = value
		case ours == "provider.base_url":
			hasBase = value != ""
		}
		a.label = dotted(a.key)
		a.key = append(strings.Split(ours, "."), a.key[1:]...)
		l.values = append(l.values, a)
	}
	if p, ok := presetByID(presetID); ok && !hasBase && p.Base != "" && (p.API == apiAnthropic) == (protocol == "anthropic") {
		l.values = append(l.values, assignment{key: []string{"provider", "base_url"}, value: p.Base, source: path})
	}
	return l, nil
}

func judgeTerminal(key []string, problem error) verdict {
	var unknown *unknownKeyError
	if errors.As(problem, &unknown) {
		return ignore
	}
	switch dotted(key) {
	case "provider.api_key", "provider.base_url", "provider.model":
		return refuse
	}
	return mention
}

// editorLayer reads what the editor sent: an object shaped as config.toml, or one that holds it under "shiro". The editor's
// plugin may keep settings of its own beside ours, so an unknown key is pointed out only where it looks like a slip.
func editorLayer(settings json.RawMessage) (layer, error) {
	if len(settings) == 0 {
		return layer{}, nil
	}
	values, isObject, err := flatten(settings, "editor settings")
	if err != nil {
		return layer{}, err
	}
	l := layer{judge: judgeEditor}
	if !isObject {
		return l, nil
	}
	for _, a := range values {
		if a.key[0] == "shiro" {
			a.key = a.key[1:]
		}
		if len(a.key) > 0 {
			l.values = append(l.values, a)
		}
	}
	return l, nil
}

func judgeEditor(key []string, problem error) verdict {
	var unknown *unknownKeyError
	switch {
	case !errors.As(problem, &unknown):
		return refuse
	case len(key) > 1 || unknown.near != "":
		return mention
	}
	return ignore
}

// flatten turns a JSON object into assignments in the order written. A document that is no object gives none and false.
func flatten(data []byte, source string) (values []assignment, isObject bool, err error) {
	var document json.RawMessage // checks the whole, so that reading tokens below cannot fail
	if err := json.Unmarshal(data, &document); err != nil {
		e := &configError{Source: source, Problem: "not valid JSON: " + err.Error()}
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			e.Line = 1 + bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
		}
		return nil, false, e
	}
	if data = bytes.TrimSpace(data); data[0] != '{' {
		return nil, false, nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	values, err = flattenValue(dec, nil, source, nil)
	if err != nil {
		return nil, false, &configError{Source: source, Problem: fmt.Sprintf("not valid JSON: %v", err)}
	}
	return values, true, nil
}

func flattenValue(dec *json.Decoder, key []string, source string, out []assignment) ([]assignment, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	a := assignment{key: key, value: token, source: source}
	switch t := token.(type) {
	case json.Number:
		a.value = plainNumber(t)
	case json.Delim:
		if t == '{' {
			return flattenObject(dec, key, source, out)
		}
		items := []any{}
		for dec.More() {
			var item any
			if err := dec.Decode(&item); err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		if _, err := dec.Token(); err != nil {
			return nil, err
		}
		a.value = items
	}
	return append(out, a), nil
}

func flattenObject(dec *json.Decoder, key []string, source string, out []assignment) ([]assignment, error) {
	if len(key) > 0 {
		out = append(out, assignment{key: key, value: map[string]any(nil), source: source})
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		inner := append(key[:len(key):len(key)], name.(string))
		if out, err = flattenValue(dec, inner, source, out); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return out, err
}

// plainNumber gives numbers the types that TOML gives them, except that 2.0 counts as whole: JavaScript knows no other.
func plainNumber(n json.Number) any {
	if whole, err := n.Int64(); err == nil {
		return whole
	}
	f, err := n.Float64()
	if err != nil {
		return n.String() // too large for any setting, which then says what it takes
	}
	if whole := int64(f); float64(whole) == f {
		return whole
	}
	return f
}

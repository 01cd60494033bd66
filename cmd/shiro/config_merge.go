package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// layer is what one source says, in the order it says it.
type layer struct {
	values   []assignment
	notices  []string
	terminal bool                                      // the terminal tool's file, which has settings of its own
	line     func(key []string) int                    // nil: the source has no lines
	judge    func(key []string, problem error) verdict // nil: every problem is an error
}

// assignment gives a value to one key, spelled as in config.toml: {"provider", "model"}. The value is a string, bool, int64,
// float64 or []any; nil leaves the setting alone. A table is announced by a map before the keys inside it; what the map
// holds does not matter.
type assignment struct {
	key    []string
	value  any
	source string
	label  string // the key as the source spells it; empty: as config.toml does
}

func (a assignment) name() string {
	if a.label != "" {
		return a.label
	}
	return dotted(a.key)
}

// verdict says what becomes of a value that cannot be used.
type verdict int

const (
	refuse  verdict = iota // no turn may start
	mention                // go on without it and say so
	ignore                 // go on without it
)

// merge lays l over what is already known. The error joins every problem that l's judge refuses.
func (c *config) merge(l layer) (notices []string, err error) {
	if len(l.values) == 0 {
		return l.notices, nil
	}
	c.forget(l)
	fields := c.fields()
	if l.terminal {
		fields = append(fields, c.terminalFields()...)
	}
	notices = l.notices
	var problems []error
	report := func(a assignment, problem error) {
		notice, err := l.assess(a, problem)
		if notice != "" {
			notices = append(notices, notice)
		}
		problems = append(problems, err)
	}
	var unusable []string
	for _, a := range l.values {
		if unusable != nil && hasPrefix(a.key, unusable) {
			continue // one message for a table, not one for each key in it
		}
		if problem := c.set(fields, a); problem != nil {
			unusable = a.key
			report(a, problem)
		}
	}
	for _, a := range c.dropIncomplete(l) {
		server := assignment{key: a.key[:2], label: a.label}
		report(a, fmt.Errorf("%s needs either command or url", server.name()))
	}
	return notices, errors.Join(problems...)
}

// assess turns a problem into an error, a notice, or neither.
func (l layer) assess(a assignment, problem error) (notice string, err error) {
	v := refuse
	if l.judge != nil {
		v = l.judge(a.key, problem)
	}
	if v == ignore {
		return "", nil
	}
	e := &configError{Source: a.source, Problem: problem.Error()}
	if l.line != nil {
		e.Line = l.line(a.key)
	}
	if v == mention {
		return e.Error() + " (ignored)", nil
	}
	return "", e
}

// dropIncomplete removes l's MCP servers that have neither a command nor a URL, or both. It returns where each begins.
func (c *config) dropIncomplete(l layer) (begin []assignment) {
	for _, a := range l.values {
		if a.key[0] != "mcp" || len(a.key) < 2 {
			continue
		}
		if s := c.MCP[a.key[1]]; s != nil && (s.Command == "") == (s.URL == "") {
			delete(c.MCP, a.key[1])
			begin = append(begin, a)
		}
	}
	return begin
}

// forget drops what l replaces as a whole: an MCP server that it defines anew, and, if it chooses another provider, the old
// one's endpoint, model and key. A key must never travel to a vendor it was not made for.
func (c *config) forget(l layer) {
	for _, a := range l.values {
		if len(a.key) < 2 {
			continue
		}
		if a.key[0] == "mcp" {
			delete(c.MCP, a.key[1])
		}
		if dotted(a.key) != "provider.name" || c.Provider.Name == "" {
			continue
		}
		name, _ := a.value.(string)
		chosen, ok := presetByID(strings.TrimSpace(name))
		host, _ := presetByHost(c.Provider.BaseURL)
		if !ok || chosen.ID == c.Provider.Name || chosen.ID == host.ID {
			continue
		}
		p := &c.Provider
		p.API, p.BaseURL, p.Model, p.APIKey, p.Store = "", "", "", "", false
		for _, key := range []string{"api", "base_url", "model", "api_key", "store"} {
			delete(c.From, "provider."+key)
		}
	}
}

func (c *config) set(fields []field, a assignment) error {
	if len(a.key) > 1 || isTable(a.value) {
		switch a.key[0] {
		case "permission":
			return c.setRule(a)
		case "mcp":
			return c.setServer(a)
		}
	}
	tables := tablesOf(fields)
	if len(a.key) == 1 && slices.Contains(tables, a.key[0]) {
		if !isTable(a.value) && a.value != nil {
			return fmt.Errorf("%s must be a table", a.name())
		}
		return nil
	}
	if len(a.key) == 2 {
		for _, f := range fields {
			if f.name != a.key[0]+"."+a.key[1] {
				continue
			}
			if isUnset(a.value) {
				return nil
			}
			if err := f.set(a.value); err != nil {
				return fmt.Errorf("%s %w", a.name(), err)
			}
			c.From[f.name] = a.source
			return nil
		}
	}
	return unknownKey(a.key, fields, tables)
}

func (c *config) setRule(a assignment) error {
	key, value, pattern := a.key, a.value, "*"
	switch {
	case len(key) <= 2 && isTable(value), len(key) == 2 && value == nil:
		return nil
	case len(key) == 3:
		pattern = key[2]
	case len(key) > 3:
		return fmt.Errorf("%s nests too deep: permission.TOOL.\"PATTERN\" is the deepest", a.name())
	}
	decision, _ := value.(string)
	if !slices.Contains([]string{"allow", "ask", "deny"}, decision) {
		return fmt.Errorf(`%s must be "allow", "ask" or "deny"`, a.name())
	}
	c.Permission = append(c.Permission, rule{Tool: key[1], Pattern: pattern, Decision: decision})
	return nil
}

func (c *config) setServer(a assignment) error {
	key, value := a.key, a.value
	if len(key) == 1 {
		return nil
	}
	if len(key) == 2 && !isTable(value) {
		return fmt.Errorf("%s must be a table", a.name())
	}
	s := c.MCP[key[1]]
	if s == nil {
		s = &mcpServer{}
		if c.MCP == nil {
			c.MCP = map[string]*mcpServer{}
		}
		c.MCP[key[1]] = s
	}
	if len(key) == 2 {
		return nil
	}
	fields := s.fields()
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == key[2] })
	switch {
	case i >= 0 && len(key) == 3:
		if isUnset(value) {
			return nil
		}
		if err := fields[i].set(value); err != nil {
			return fmt.Errorf("%s %w", a.name(), err)
		}
		return nil
	case len(key) == 4 && (key[2] == "env" || key[2] == "headers"):
		v, ok := value.(string)
		if !ok {
			return fmt.Errorf("%s must be a string", a.name())
		}
		to := &s.Env
		if key[2] == "headers" {
			to = &s.Headers
		}
		if *to == nil {
			*to = map[string]secret{}
		}
		(*to)[key[3]] = secret(v)
		return nil
	}
	return unknownKey(key, fields, nil)
}

func isTable(value any) bool {
	_, ok := value.(map[string]any)
	return ok
}

func isUnset(value any) bool {
	s, ok := value.(string)
	return value == nil || ok && strings.TrimSpace(s) == ""
}

func hasPrefix(key, prefix []string) bool {
	return len(key) >= len(prefix) && slices.Equal(key[:len(prefix)], prefix)
}

package main

import (
	"fmt"
	"slices"
)

// unused returns, by dotted name, the settings that the user made and this
// version reads but does not act on. Whoever relies on one must be told.
func (c config) unused() []string {
	var names []string
	for _, name := range []string{
		"agent.variant", "agent.max_spend_usd", "agent.subagent_model", "context.keep_turns", "registry.url", "terminal.toolSets",
	} {
		if c.From[name] != "" {
			names = append(names, name)
		}
	}
	if len(c.MCP) > 0 {
		names = append(names, "mcp")
	}
	for _, p := range c.Plugins {
		if p != "guard" {
			names = append(names, fmt.Sprintf("terminal.plugins: %s", p))
		}
	}
	slices.Sort(names)
	return names
}

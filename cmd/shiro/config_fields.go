package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// field is one setting: its dotted name and what takes its value. An empty string never reaches set: it means "unset"
// everywhere, in a file as in the environment.
type field struct {
	name string
	set  func(value any) error
}

// fields is the schema of config.toml except for the tables whose keys are free: permission and mcp.
func (c *config) fields() []field {
	p, x, a := &c.Provider, &c.Context, &c.Agent
	return []field{
		{"provider.name", word(&p.Name, presetIDs()...)},
		{"provider.api", word(&p.API, apiResponses, apiChat, apiAnthropic)},
		{"provider.base_url", text(&p.BaseURL, cleanBaseURL)},
		{"provider.model", text(&p.Model, cleanModel)},
		{"provider.api_key", text(&p.APIKey, cleanKey)},
		{"provider.store", boolean(&p.Store)},
		{"provider.idle_timeout", duration(&p.IdleTimeout)},
		{"provider.first_byte_timeout", duration(&p.FirstByteTimeout)},
		{"provider.max_retries", integer(&p.MaxRetries, 0, 100)},
		{"context.threshold", integer(&x.Threshold, 1, 1e9)},
		{"context.window", integer(&x.Window, 1, 1e9)},
		{"context.keep_turns", integer(&x.KeepTurns, 0, 1e6)},
		{"agent.variant", word(&a.Variant, "default", "quick", "deep", "plan", "review")},
		{"agent.thinking", word(&a.Thinking, "off", "low", "medium", "high", "max")},
		{"agent.max_steps", integer(&a.MaxSteps, 1, 1e6)},
		{"agent.max_spend_usd", amount(&a.MaxSpendUSD)},
		{"agent.subagent_model", text(&a.SubagentModel, cleanModel)},
		{"registry.url", text(&c.Registry.URL, cleanRegistryURL)},
	}
}

// terminalFields are settings that only the terminal tool's file has.
func (c *config) terminalFields() []field {
	return []field{
		{"terminal.toolSets", list(&c.ToolSets)},
		{"terminal.plugins", list(&c.Plugins)},
	}
}

func (s *mcpServer) fields() []field {
	return []field{
		{"command", text(&s.Command, verbatim)},
		{"args", list(&s.Args)},
		{"cwd", text(&s.Cwd, verbatim)},
		{"url", text(&s.URL, verbatim)},
		{"type", word(&s.Type, "http", "sse", "stdio")},
		{"env", table},
		{"headers", table},
	}
}

func word[S ~string](to *S, allowed ...S) func(any) error {
	return func(value any) error {
		s, _ := value.(string)
		if s = strings.TrimSpace(s); slices.Contains(allowed, S(s)) {
			*to = S(s)
			return nil
		}
		quoted := make([]string, len(allowed))
		for i, a := range allowed {
			quoted[i] = fmt.Sprintf("%q", string(a))
		}
		last := len(quoted) - 1
		return fmt.Errorf("must be %s or %s", strings.Join(quoted[:last], ", "), quoted[last])
	}
}

func text[S ~string](to *S, clean func(string) (string, error)) func(any) error {
	return func(value any) error {
		s, ok := value.(string)
		if !ok {
			return errors.New("must be a string")
		}
		s, err := clean(strings.TrimSpace(s))
		if err == nil {
			*to = S(s)
		}
		return err
	}
}

func verbatim(s string) (string, error) { return s, nil }

func boolean(to *bool) func(any) error {
	return func(value any) (err error) {
		b, ok := value.(bool)
		if !ok {
			return errors.New("must be true or false")
		}
		*to = b
		return nil
	}
}

func integer(to *int, low, high int64) func(any) error {
	return func(value any) error {
		n, ok := value.(int64)
		if !ok || n < low || n > high {
			return fmt.Errorf("must be a whole number from %d to %d", low, high)
		}
		*to = int(n)
		return nil
	}
}

func amount(to *float64) func(any) error {
	return func(value any) error {
		f, ok := value.(float64)
		if n, whole := value.(int64); whole {
			f, ok = float64(n), true
		}
		if !ok || !(f >= 0 && f <= 1e9) { // written so that NaN fails too
			return errors.New("must be an amount in dollars, zero or more")
		}
		*to = f
		return nil
	}
}

func duration(to *time.Duration) func(any) error {
	return func(value any) error {
		s, _ := value.(string)
		d, err := time.ParseDuration(strings.TrimSpace(s))
		if err != nil || d <= 0 {
			return errors.New(`must be a duration above zero, such as "90s"`)
		}
		*to = d
		return nil
	}
}

func list(to *[]string) func(any) error {
	return func(value any) error {
		items, ok := value.([]any)
		strs := make([]string, len(items))
		for i, item := range items {
			if strs[i], ok = item.(string); !ok {
				break
			}
		}
		if !ok {
			return errors.New("must be a list of strings")
		}
		*to = strs
		return nil
	}
}

func table(value any) error {
	if !isTable(value) {
		return errors.New("must be a table")
	}
	return nil
}

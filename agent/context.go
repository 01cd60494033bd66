package agent

import (
	"shiro/agent/provider"
	"shiro/memory/transcript"
	"shiro/prune"
)

// A Context says how full the conversation's context is. Token counts are
// estimates unless said otherwise.
type Context struct {
	prune.Gauge
	Window   int   // the model's, in tokens; 0 when not known
	Measured int64 // input tokens the server counted in the newest request; 0 when it did not say

	System     int
	Tools      int
	History    int // messages without tool results
	ToolOutput int
	Cost       *float64 // USD so far; nil when not known
}

// Context measures the conversation now.
func (s *Session) Context() Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.contextLocked()
}

func (s *Session) contextLocked() Context {
	tokens := prune.Estimate(s.rec.Messages)
	c := Context{
		Gauge:  prune.Measure(tokens, s.setup.Threshold),
		Window: s.setup.Window, Measured: s.last.Input, Cost: s.rec.CostUSD,

		System: prune.EstimateUnits(len(s.system)),
	}
	for _, t := range s.specs {
		c.Tools += prune.EstimateUnits(len(t.Name) + len(t.Description) + len(t.Schema))
	}
	units := 0
	for _, m := range s.rec.Messages {
		if m.Role == transcript.RoleTool {
			units += m.Units()
		}
	}
	c.ToolOutput = prune.EstimateUnits(units)
	c.History = max(tokens-c.ToolOutput, 0)
	return c
}

// request is the next model request of a turn.
func (s *Session) request(t *turn) *provider.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	effort := s.setup.Effort
	if t.Effort != "" {
		effort = t.Effort
	}
	return &provider.Request{
		Model: s.rec.Model, Effort: effort, System: s.system, Tools: s.specs,
		Messages: prune.Repair(s.rec.Messages), Trailer: s.trailerLocked(t),
		CacheKey: s.ID, Cache: &s.cache,
	}
}

package main

import "strings"

// rates are prices in USD per million tokens, in and out, by the beginning of
// a model's id; the longest that fits counts. They are the terminal tool's, so
// that both show the same cost.
func rates() map[string][2]float64 {
	return map[string][2]float64{
		"claude-opus-4": {15, 75}, "claude-sonnet-4": {3, 15}, "claude-haiku-4": {1, 5}, "claude-3-5-haiku": {0.8, 4},
		"gpt-5-mini": {0.25, 2}, "gpt-5-nano": {0.05, 0.4}, "gpt-5": {1.25, 10},
		"gpt-4o-mini": {0.15, 0.6}, "gpt-4o": {2.5, 10}, "o4-mini": {1.1, 4.4},
		"deepseek-chat": {0.27, 1.1}, "deepseek-reasoner": {0.55, 2.19}, "grok-4": {3, 15},
	}
}

// cost is the price of that many tokens in USD, nil when the model has none.
func cost(model string, input, output int64) *float64 {
	model = strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	var best string
	all := rates()
	for prefix := range all {
		if strings.HasPrefix(model, prefix) && len(prefix) > len(best) {
			best = prefix
		}
	}
	if best == "" {
		return nil
	}
	r := all[best]
	usd := float64(input)/1e6*r[0] + float64(output)/1e6*r[1]
	return &usd
}

// Package prune works on a transcript as a pure function: how large it is, how
// full the context is, and what a strict model server will accept of it. It
// does no I/O, knows no clock and starts no goroutine, and it never changes
// the transcript it is given.
package prune

import "shiro/memory/transcript"

// DefaultThreshold is the size, in estimated tokens, above which history is
// compacted. It is the terminal tool's, so that both show the same percentage.
const DefaultThreshold = 120_000

// Estimate returns the terminal tool's token estimate of messages: a quarter
// of the length, in UTF-16 units, of their compact JSON, rounded half up. The
// system prompt and the tools are not counted.
func Estimate(messages []*transcript.Message) int {
	units := 2 + max(len(messages)-1, 0)
	for _, m := range messages {
		units += m.Units()
	}
	return EstimateUnits(units)
}

// EstimateUnits is the same estimate for a text of that many UTF-16 units.
func EstimateUnits(units int) int { return (units + 2) / 4 }

// A Level says how close the context is to a compaction.
type Level string

// Levels, by percent of the threshold.
const (
	OK    Level = "ok"    // below 66
	Amber Level = "amber" // from 66
	Red   Level = "red"   // from 90
)

// A Gauge is the fill of the context.
type Gauge struct {
	Tokens    int // estimated
	Threshold int // estimated tokens at which history is compacted
	Percent   int // of the threshold, 0 to 100, rounded half up
	Level     Level
}

// Measure returns the gauge of tokens against threshold, which must be
// positive.
func Measure(tokens, threshold int) Gauge {
	g := Gauge{Tokens: tokens, Threshold: threshold, Level: OK}
	g.Percent = min((200*tokens+threshold)/(2*threshold), 100)
	switch {
	case g.Percent >= 90:
		g.Level = Red
	case g.Percent >= 66:
		g.Level = Amber
	}
	return g
}

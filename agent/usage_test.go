package agent

import (
	"testing"

	"shiro/agent/provider"
	mock "shiro/agent/provider/providertest"
)

// price is a dollar per thousand tokens in, two out, of one model.
func price(model string, in, out int64) *float64 {
	if model != "mock" {
		return nil
	}
	usd := float64(in)/1000 + float64(out)/500
	return &usd
}

func usage(in, cached, out, reasoning int64) mock.Usage {
	return mock.Usage{Input: in, Cached: cached, Output: out, Reasoning: reasoning}
}

// A turn costs what all its requests cost; the record counts all turns, failed
// and interrupted ones too.
func TestUsageAdds(t *testing.T) {
	t.Parallel()
	for _, api := range []string{mock.Responses, mock.Chat} {
		w := newWorldOn(t, api, mock.Options{Script: []mock.Step{
			mock.Call("list_dir", nil).Usage(usage(1000, 100, 10, 5)),
			fast(503),
			mock.Say("one").Usage(usage(2000, 900, 20, 0)),
			mock.Call("list_dir", nil).Usage(usage(3000, 0, 30, 0)), mock.Fail(400, "no"),
			shell("A", "echo").Usage(usage(4000, 0, 40, 0)),
			mock.Say("unknown").NoUsage(),
		}})
		w.setup.Cost = price
		c := w.create()
		turn := func(wantUsage provider.Usage, cost, in, out, total float64) {
			t.Helper()
			end := c.ended()
			if end.Usage != wantUsage {
				t.Errorf("%s: usage %+v, want %+v", api, end.Usage, wantUsage)
			}
			if (end.Cost == nil) != (cost == 0) || end.Cost != nil && !near(*end.Cost, cost) {
				t.Errorf("%s: cost %v, want %v", api, end.Cost, cost)
			}
			rec := w.store.record(c.ID)
			if float64(rec.InputTokens) != in || float64(rec.OutputTokens) != out || rec.CostUSD == nil || !near(*rec.CostUSD, total) {
				t.Errorf("%s: totals %d, %d, %v", api, rec.InputTokens, rec.OutputTokens, rec.CostUSD)
			}
		}
		c.start(Prompt{Text: "two requests and a retry"})
		turn(provider.Usage{Input: 3000, Cached: 1000, Output: 30, Reasoning: 5, Known: true}, 3.06, 3000, 30, 3.06)
		c.start(Prompt{Text: "fails in the end"})
		turn(provider.Usage{Input: 3000, Output: 30, Known: true}, 3.06, 6000, 60, 6.12)
		c.start(Prompt{Text: "is interrupted"})
		c.asked()
		c.Interrupt("")
		turn(provider.Usage{Input: 4000, Output: 40, Known: true}, 4.08, 10000, 100, 10.2)
		c.start(Prompt{Text: "says nothing of it"})
		turn(provider.Usage{}, 0, 10000, 100, 10.2)

		w.reopen() // and goes on counting
		w.model.Script(mock.Say("after").Usage(usage(500, 0, 50, 0)))
		c = w.open(c.ID)
		c.start(Prompt{Text: "after"})
		turn(provider.Usage{Input: 500, Output: 50, Known: true}, 0.6, 10500, 150, 10.8)
		if got := c.Context(); got.Measured != 500 || got.Cost == nil || !near(*got.Cost, 10.8) {
			t.Errorf("%s: context %+v", api, got)
		}
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// A model without a known price costs nothing that could be told, and leaves
// the cost of the record as it was.
func TestUnpricedModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Say("one").Usage(usage(1000, 0, 0, 0)), mock.Say("two").Usage(usage(1000, 0, 0, 0)))
	w.setup.Cost = price
	c := w.create()
	c.start(Prompt{Text: "other", Model: "unpriced"})
	if end := c.ended(); end.Cost != nil || w.store.record(c.ID).CostUSD != nil || w.store.record(c.ID).Model != "unpriced" {
		t.Errorf("cost %v", end.Cost)
	}
	c.start(Prompt{Text: "back", Model: "mock"})
	if end := c.ended(); end.Cost == nil || !near(*end.Cost, 1) {
		t.Errorf("cost %v", end.Cost)
	}
	if got := w.requests(2)[0]; string(got.Body[:24]) != `{"model":"unpriced","str` {
		t.Errorf("asked %s", got.Body[:60])
	}
}

// The gauge counts what the record holds, and its parts add up.
func TestContextGauge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock.Call("read_file", args{"path": "a.txt"}), mock.Say("ok"))
	w.setup.Threshold, w.setup.Window = 1000, 8000
	w.write("a.txt", lines(300))
	c := w.create()
	before := c.Context()
	must(t, c.say("go"), Completed, EndTurn)
	after := c.Context()
	if before.Tokens > 1 || before.Percent != 0 || before.System == 0 || before.Tools == 0 {
		t.Errorf("at first %+v", before)
	}
	if after.Percent < 66 || after.Level == before.Level || after.Window != 8000 || after.Measured == 0 {
		t.Errorf("in the end %+v", after)
	}
	if sum := after.History + after.ToolOutput; sum != after.Tokens || after.ToolOutput < after.History {
		t.Errorf("%d messages and %d results are %d tokens", after.History, after.ToolOutput, after.Tokens)
	}
	for _, e := range c.all() {
		if d, ok := e.Data.(ContextUpdated); ok && d.Context.Tokens == 0 {
			t.Error("an empty gauge")
		}
	}
}

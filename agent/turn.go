package agent

import (
	"errors"
	"slices"
	"strings"
	"time"

	"shiro/agent/provider"
	"shiro/memory/transcript"
)

// run carries out one turn: prompt, then steps until the model asks for no
// more tools. Whoever hears of its end can begin the next one.
func (s *Session) run(t *turn) {
	end := TurnCompleted{Status: Completed}
	var err error
	end.Stop, err = s.steps(t, &end.Usage)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil && len(pending(s.rec.Messages)) > 0 {
		s.countLocked(end.Usage)
		return // whoever opens the conversation next goes on with the turn
	}
	switch {
	case t.ctx.Err() != nil:
		end.Status, end.Stop = Interrupted, Stopped
	case err != nil:
		end.Status, end.Stop, end.Failure = Failed, Erred, failureOf(err)
		s.log.Warn("turn failed", "turn", t.id, "err", err)
	case end.Stop == Refusal:
		end.Status = Refused
	}
	s.live = nil
	end.Duration = time.Since(t.begun) - t.waited
	end.Changed = t.changed
	end.Cost = s.countLocked(end.Usage)
	s.publishLocked(t.id, ContextUpdated{s.contextLocked()})
	s.publishLocked(t.id, end)
	s.nextLocked()
}

// steps is the loop of a turn. It returns why the turn stopped.
func (s *Session) steps(t *turn, usage *provider.Usage) (stop Stop, err error) {
	if _, _, ok := slash(t.words()); ok {
		return EndTurn, s.runCommand(t)
	}
	s.closeLeftovers(t)
	if t.trigger == ByResume {
		if s.runPending(t); t.ctx.Err() != nil {
			return "", nil
		}
	} else {
		s.keepPrompt(t)
		s.addPrompt(t)
	}
	for step := 0; ; step++ {
		if step == s.setup.MaxSteps {
			s.publish(t.id, Notice{Level: "warning", Title: "Stopped: the turn reached its limit of model requests", Detail: "Send another prompt to go on.", Key: "max_steps"})
			return MaxSteps, nil
		}
		res, err := s.respond(t)
		if err != nil {
			return "", err
		}
		usage.Input += res.Usage.Input
		usage.Cached += res.Usage.Cached
		usage.Output += res.Usage.Output
		usage.Reasoning += res.Usage.Reasoning
		usage.Known = usage.Known || res.Usage.Known
		if saysNothing(res.Parts) {
			s.publish(t.id, Notice{Level: "warning", Title: "The model's answer was empty", Key: "empty_answer"})
		}
		calls := 0
		if len(res.Parts) > 0 {
			calls = s.runStep(t, res)
		}
		if t.ctx.Err() != nil {
			return "", nil
		}
		if calls == 0 && s.writtenCall(res) {
			s.publish(t.id, Notice{
				Level: "warning", Title: "The model wrote a tool call as text, so nothing was run",
				Detail: "Small models do this. Say so, or choose a model that is made for tools.", Key: "written_call",
			})
		}
		if calls == 0 {
			switch res.Stop {
			case provider.StopLength:
				return MaxTokens, nil
			case provider.StopRefusal, provider.StopFilter:
				return Refusal, nil
			}
			return EndTurn, nil
		}
		if t.warned >= sameWarnings {
			s.publish(t.id, Notice{Level: "warning", Title: "Stopped: the model makes the same call again and again", Key: "repetition"})
			return EndTurn, nil
		}
		s.publish(t.id, ContextUpdated{s.Context()})
	}
}

// keepPrompt puts the user's words into the prompt history while the turn goes
// on, and after it when another program holds them.
func (s *Session) keepPrompt(t *turn) {
	if keep := s.setup.History; keep != nil {
		words := t.words()
		s.turns.Go(func() { keep(words) })
	}
}

func saysNothing(parts []transcript.Part) bool {
	return !slices.ContainsFunc(parts, func(p transcript.Part) bool {
		return p.Type == transcript.TypeToolCall || p.Type == transcript.TypeText && strings.TrimSpace(p.Text) != ""
	})
}

// addPrompt puts the user's message into the transcript.
func (s *Session) addPrompt(t *turn) {
	m := transcript.User(t.Text)
	s.mu.Lock()
	defer s.mu.Unlock()
	it := Item{ID: s.newItemIDLocked(0), Turn: t.id, Kind: UserItem, Status: Completed, Text: t.Text}
	s.placeLocked(0, it.ID)
	s.turnIDs = append(s.turnIDs, t.id)
	s.appendLocked(false, m)
	s.publishLocked(t.id, ItemStarted{it})
	s.publishLocked(t.id, ItemCompleted{it})
}

// countLocked adds a turn's tokens to the record's totals and returns its cost.
func (s *Session) countLocked(u provider.Usage) (cost *float64) {
	if u.Input == 0 && u.Output == 0 {
		return nil
	}
	s.rec.InputTokens += u.Input
	s.rec.OutputTokens += u.Output
	if s.setup.Cost != nil {
		cost = s.setup.Cost(s.rec.Model, u.Input, u.Output)
		if c := s.setup.Cost(s.rec.Model, s.rec.InputTokens, s.rec.OutputTokens); c != nil {
			s.rec.CostUSD = c
		}
	}
	s.logLocked(true, transcript.Entry{
		Kind: transcript.EntryTotals, InputTokens: s.rec.InputTokens, OutputTokens: s.rec.OutputTokens, CostUSD: s.rec.CostUSD,
	})
	s.saveLocked()
	return cost
}

// respond makes one model request, again after failures that may pass.
func (s *Session) respond(t *turn) (*provider.Response, error) {
	r := s.request(t)
	for attempt := 1; ; attempt++ {
		res, err := s.setup.Model.Stream(t.ctx, r, func(d provider.Delta) { s.delta(t, d) })
		if err == nil {
			s.mu.Lock()
			s.last = res.Usage
			s.mu.Unlock()
			return res, nil
		}
		if t.ctx.Err() != nil {
			s.keepPartial(t)
			return nil, t.ctx.Err()
		}
		s.withdraw(t, err)
		delay, again := retryDelay(err, attempt, s.setup.MaxRetries)
		if !again {
			return nil, err
		}
		s.publish(t.id, Retrying{attempt, delay, err.Error()})
		select {
		case <-time.After(delay):
		case <-t.ctx.Done():
			return nil, t.ctx.Err()
		}
	}
}

// Waits between attempts: doubling from the first to the longest, unless the
// server says how long. A server that asks for more than we would wait is
// believed: the turn ends and says so.
const (
	firstDelay   = 500 * time.Millisecond
	longestDelay = 30 * time.Second
	longestAsked = 60 * time.Second
)

func retryDelay(err error, attempt, retries int) (time.Duration, bool) {
	var e *provider.Error
	if !errors.As(err, &e) || !e.Retryable() || attempt > retries || e.RetryAfter > longestAsked {
		return 0, false
	}
	if e.RetryAfter > 0 {
		return e.RetryAfter, true
	}
	return min(firstDelay<<(attempt-1), longestDelay), true
}

func failureOf(err error) *Failure {
	f := &Failure{Text: err.Error()}
	var e *provider.Error
	if errors.As(err, &e) {
		f.Kind, f.Status, f.Retryable, f.RetryAfter = "server", e.Status, e.Retryable(), e.RetryAfter
		switch e.Kind {
		case provider.KindAuth:
			f.Kind = "auth"
		case provider.KindRate, provider.KindQuota:
			f.Kind = "rate"
		case provider.KindOverflow:
			f.Kind = "overflow"
		}
	}
	return f
}

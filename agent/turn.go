package agent

import (
	"errors"
	"time"

	"shiro/agent/provider"
	"shiro/memory/transcript"
)

// run carries out one turn: prompt, then steps until the model asks for no
// more tools.
func (s *Session) run(t *turn) {
	s.mu.Lock()
	s.setStateLocked(Running)
	s.publishLocked(t.id, TurnStarted{t.trigger, t.Text})
	s.mu.Unlock()

	end := TurnCompleted{Status: Completed}
	var err error
	end.Stop, err = s.steps(t, &end.Usage)
	switch {
	case t.ctx.Err() != nil:
		end.Status, end.Stop = Interrupted, Stopped
	case err != nil:
		end.Status, end.Stop, end.Failure = Failed, Erred, failureOf(err)
		s.log.Warn("turn failed", "turn", t.id, "err", err)
	case end.Stop == Refusal:
		end.Status = Refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = nil
	end.Duration = time.Since(t.begun) - t.waited
	end.Changed = t.changed
	end.Cost = s.countLocked(end.Usage)
	s.publishLocked(t.id, ContextUpdated{s.contextLocked()})
	s.publishLocked(t.id, end)
}

// steps is the loop of a turn. It returns why the turn stopped.
func (s *Session) steps(t *turn, usage *provider.Usage) (stop Stop, err error) {
	if t.trigger == ByResume {
		calls := pending(s.rec.Messages)
		if s.runPending(t, calls); t.ctx.Err() != nil {
			return "", nil
		}
	} else {
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
		if len(res.Parts) == 0 {
			s.publish(t.id, Notice{Level: "warning", Title: "The model's answer was empty", Key: "empty_answer"})
			return EndTurn, nil
		}
		calls := s.runStep(t, res)
		if t.ctx.Err() != nil {
			return "", nil
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
		s.publish(t.id, ContextUpdated{s.Context()})
	}
}

// addPrompt puts the user's message into the transcript.
func (s *Session) addPrompt(t *turn) {
	m := transcript.User(t.Text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if missing := unanswered(s.rec.Messages); len(missing) > 0 {
		s.appendLocked(false, transcript.Tool(missing...))
	}
	it := Item{ID: itemID(len(s.rec.Messages), 0), Turn: t.id, Kind: UserItem, Status: Completed, Text: t.Text}
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

package provider

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// classify sets Kind from status, code and words, and RetryAfter from the words
// when no header gave it.
func (e *Error) classify() {
	words := strings.ToLower(e.Message)
	if e.RetryAfter == 0 {
		e.RetryAfter = retryHint(words)
	}
	switch {
	case e.overflow(words):
		e.Kind = KindOverflow
	case e.Status == http.StatusPaymentRequired || exhausted(e.Code, words) && e.RetryAfter == 0:
		e.Kind = KindQuota
	case e.Status != 0:
		e.Kind = kindOfStatus(e.Status)
	default:
		e.Kind = kindOfCode(e.Code)
	}
	if e.Status == http.StatusProxyAuthRequired {
		e.Code = codeProxy
	}
}

func kindOfStatus(status int) Kind {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return KindAuth
	case http.StatusNotFound:
		return KindNotFound
	case http.StatusTooManyRequests:
		return KindRate
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return KindServer
	}
	if status >= 500 && status != http.StatusNotImplemented {
		return KindServer
	}
	return KindBad
}

// kindOfCode judges an error reported inside a stream.
func kindOfCode(code string) Kind {
	switch code {
	case "rate_limit_exceeded", "rate_limit_error", "tokens", "requests":
		return KindRate
	case "invalid_api_key", "authentication_error", "permission_error":
		return KindAuth
	case "model_not_found", "not_found_error":
		return KindNotFound
	}
	if strings.HasPrefix(code, "invalid") || strings.HasPrefix(code, "unsupported") {
		return KindBad
	}
	return KindServer
}

// overflow reports whether the error says that the request is too long. Each
// server has its own words; "context" alone is none of them.
func (e *Error) overflow(words string) bool {
	switch e.Status {
	case http.StatusRequestEntityTooLarge:
		return true
	case http.StatusTooManyRequests:
		return strings.Contains(words, "request too large") // larger than a minute's allowance: waiting is no help
	case 0, http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError:
	default:
		return false
	}
	switch e.Code {
	case "context_length_exceeded", "exceed_context_size_error", "model_max_prompt_tokens_exceeded", "request_too_large":
		return true
	}
	for _, phrase := range [...]string{
		"maximum context length", "max context length", "context length exceeded", "exceeds the available context",
		"exceeds the context", "exceeds context", "exceed context", "exceeded the context", "exceeds the model's context",
		"context size has been exceeded", "context window exceeded", "greater than the context length", "context overflow",
		"prompt is too long", "prompt too long", "input is too long", "too many tokens", "reduce the length of",
		"maximum prompt length", "maximum model length", "longer than the model's context",
		"context the overflows", "overflows the context", // the first is how LM Studio spells it
	} {
		if strings.Contains(words, phrase) {
			return true
		}
	}
	return strings.Contains(words, "exceed") &&
		(strings.Contains(words, "input token count") || strings.Contains(words, "prompt token count") || strings.Contains(words, "input length"))
}

// exhausted reports whether an account, not a pace, is at its limit.
func exhausted(code, words string) bool {
	switch code {
	case "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance", "credits_exhausted":
		return true
	}
	for _, phrase := range [...]string{
		"exceeded your current quota", "insufficient balance", "insufficient credit", "insufficient quota", "credit balance is too low",
	} {
		if strings.Contains(words, phrase) {
			return true
		}
	}
	return false
}

// retryAfter reads the headers in use: milliseconds, seconds, or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return seconds(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return seconds(s)
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}

// retryHint finds a wait that is given in words only: "try again in 1.5s".
func retryHint(words string) time.Duration {
	for _, lead := range [...]string{"try again in ", "retry in ", "retry after ", "retry_after", "retrydelay", "retry-after", "available in ", "wait "} {
		_, rest, ok := strings.Cut(words, lead)
		if !ok {
			continue
		}
		if d := leadingDuration(strings.TrimLeft(rest, `":= `)); d > 0 {
			return d
		}
	}
	return 0
}

// leadingDuration reads "20 seconds", "350ms", "6m0s", "2" at the start of s.
func leadingDuration(s string) time.Duration {
	var total time.Duration
	for {
		n := 0
		for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] == '.' && n+1 < len(s) && s[n+1] >= '0' && s[n+1] <= '9') {
			n++
		}
		v, err := strconv.ParseFloat(s[:n], 64)
		if err != nil {
			return total
		}
		s = strings.TrimLeft(s[n:], " ")
		u := 0
		for u < len(s) && s[u] >= 'a' && s[u] <= 'z' {
			u++
		}
		switch unit := s[:u]; {
		case unit == "ms" || strings.HasPrefix(unit, "milli"):
			v /= 1000
		case unit == "h" || strings.HasPrefix(unit, "hour"):
			v *= 3600
		case unit == "m" || strings.HasPrefix(unit, "min"):
			v *= 60
		}
		total += seconds(v)
		s = s[u:]
	}
}

// seconds converts with a bound, so that no header overflows a Duration.
func seconds(s float64) time.Duration {
	const most = 365 * 24 * 3600
	if !(s > 0) {
		return 0
	}
	return time.Duration(min(s, most) * float64(time.Second))
}

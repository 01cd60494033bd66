package provider

import (
	"net/http"
	"strings"
)

// A quirk is a set of things in which a server differs from OpenAI's. They are
// learnt from its refusals, one request each, and only ever added.
type quirk uint32

// In the order in which they are tried: a part of something before the whole.
const (
	noStreamOptions quirk = 1 << iota
	noSummary             // reasoning.summary
	noExtremes            // efforts "none" and "xhigh": "low" and "high" instead
	noReasoning           // reasoning, reasoning_effort
	noCacheKey
	noInclude
	noStore
	noStrict       // tools[].strict
	noPhase        // input[].phase
	otherRole      // the system prompt's role: system for developer and the reverse
	otherOutputCap // max_tokens for max_completion_tokens and the reverse
	noOutputCap    // none of the two
	noReferences   // items are not stored after all
	onlyOwnBlobs   // it refuses encrypted reasoning of unknown origin
	noBlobs        // it refuses its own too: another account's, or too old
	otherEcho      // reasoning_content: the reverse of what its address suggests
	strictTurns    // user messages must not follow each other, or tool results
	endOfQuirks
)

// learn returns the quirk that e tells of, among those that would change the
// request that was refused; 0 when there is none.
func learn(e *Error, sent quirk) quirk {
	switch e.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
	case http.StatusNotFound:
		sent &= noReferences
	case http.StatusInternalServerError:
		sent &= strictTurns // a chat template that fails
	default:
		return 0
	}
	if e.Kind == KindOverflow {
		return 0
	}
	r := refusal{strings.ToLower(e.Param), strings.ToLower(e.Message), strings.ToLower(e.Code)}
	for q := quirk(1); q < endOfQuirks; q <<= 1 {
		if sent&q != 0 && r.tells(q) {
			return q
		}
	}
	return 0
}

// A refusal is what a server says about a request it does not take, in lower case.
type refusal struct{ param, message, code string }

func (r refusal) tells(q quirk) bool {
	switch q {
	case noStreamOptions:
		return r.names("stream_options") || r.names("include_usage")
	case noSummary:
		return r.names("reasoning.summary") || r.param == "reasoning" && r.says("summary") || r.says("reasoning summar")
	case noExtremes:
		return r.aboutEffort() && (r.code == "unsupported_value" || r.code == "invalid_value" || r.says("value") || r.says("one of"))
	case noReasoning:
		return r.aboutEffort() || r.refuses("reasoning") || r.refuses("thinking")
	case noCacheKey:
		return r.names("prompt_cache_key")
	case noInclude:
		return r.refuses("include") || r.names("reasoning.encrypted_content") || r.says("encrypted content is not supported")
	case noStore:
		return r.refuses("store")
	case noStrict:
		return r.refuses("strict")
	case noPhase:
		return r.refuses("phase")
	case otherRole:
		return (r.refuses("developer") || r.refuses("system")) && (r.says("role") || strings.HasSuffix(r.param, "role"))
	case otherOutputCap, noOutputCap:
		return r.names("max_tokens") || r.names("max_completion_tokens") || r.names("max_output_tokens")
	case noReferences:
		return r.names("item_reference") || r.says("item with id") || r.says("items are not persisted")
	case onlyOwnBlobs, noBlobs:
		return r.code == "invalid_encrypted_content" || r.says("encrypted") && !r.says("not supported")
	case otherEcho:
		return r.names("reasoning_content")
	case strictTurns:
		return r.says("must alternate") || r.says("role 'user' after role") || r.says("role user after role")
	}
	return false
}

func (r refusal) says(words string) bool { return strings.Contains(r.message, words) }

// names reports whether a parameter is named as a word of its own.
func (r refusal) names(param string) bool {
	return r.param == param || strings.HasPrefix(r.param, param+".") || hasWord(r.message, param)
}

// refuses is names for parameters that are common words: the message must also
// speak of not knowing or not taking something.
func (r refusal) refuses(param string) bool {
	if r.param == param || strings.HasSuffix(r.param, "."+param) {
		return true
	}
	if !hasWord(r.message, param) {
		return false
	}
	for _, word := range [...]string{
		"unknown", "unsupported", "not support", "unrecognized", "unexpected", "not permitted", "not allowed", "forbidden",
		"invalid", "not a valid", "extra", "additional", "must be one of", "unavailable",
	} {
		if r.says(word) {
			return true
		}
	}
	return false
}

func (r refusal) aboutEffort() bool {
	return r.names("reasoning_effort") || r.names("reasoning.effort") || r.param == "reasoning" && r.says("effort")
}

func hasWord(s, word string) bool {
	for from := 0; ; {
		i := strings.Index(s[from:], word)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(word)
		if (start == 0 || !wordByte(s[start-1])) && (end == len(s) || !wordByte(s[end])) {
			return true
		}
		from = end
	}
}

func wordByte(c byte) bool {
	return nameByte(c) && c != '-'
}

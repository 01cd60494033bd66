package memory

import "strings"

// findSecret says what in text looks like a secret; empty when nothing does.
// Hexadecimal numbers of any length, such as commit ids and checksums, do not.
func findSecret(text string) string {
	upper := strings.ToUpper(text)
	if strings.Contains(upper, "PRIVATE KEY-----") || strings.Contains(upper, "PUTTY-USER-KEY-FILE") {
		return "a private key"
	}
	for _, word := range strings.Fields(text) {
		if hasPassword(word) {
			return "a URL with a password"
		}
		for _, token := range strings.FieldsFunc(word, func(r rune) bool { return !tokenRune(r) }) {
			if knownKey(token) || looksRandom(token) {
				return "a key or token"
			}
		}
	}
	return ""
}

// hasPassword reports whether word holds scheme://user:password@. A placeholder
// such as $PASSWORD or <password> is none.
func hasPassword(word string) bool {
	_, rest, ok := strings.Cut(word, "://")
	if !ok {
		return false
	}
	authority, _, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return false
	}
	_, password, ok := strings.Cut(authority[:at], ":")
	return ok && password != "" && !strings.ContainsAny(password[:1], "$<{*%")
}

// knownKey reports whether token begins as the keys of a well-known issuer do
// and is long enough to be one.
func knownKey(token string) bool {
	for _, prefix := range []string{
		"sk-", "sk_live_", "sk_test_", "rk_live_", "whsec_", // model providers, payment
		"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", // code hosts
		"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xapp-", // chat
		"AKIA", "ASIA", "AIza", "ya29.", "dop_v1_", // clouds
		"npm_", "pypi-", "hf_", "shpat_", "SG.", "eyJ", // packages, models, shops, mail, JSON web tokens
		"AGE-SECRET-KEY-",
	} {
		if rest, ok := strings.CutPrefix(token, prefix); ok && len(rest) >= 16 && strings.ContainsAny(rest, "0123456789") {
			return true
		}
	}
	return false
}

func tokenRune(r rune) bool {
	return r < 0x80 && alnum(byte(r)) || r == '+' || r == '/' || r == '_' || r == '-' || r == '.'
}

func alnum(c byte) bool   { return lower(c) || capital(c) || digit(c) }
func lower(c byte) bool   { return c >= 'a' && c <= 'z' }
func capital(c byte) bool { return c >= 'A' && c <= 'Z' }
func digit(c byte) bool   { return c >= '0' && c <= '9' }

// looksRandom reports whether 20 characters or more of token stand in runs of
// letters and digits that no one would write by hand.
func looksRandom(token string) bool {
	random := 0
	for _, run := range strings.FieldsFunc(token, func(r rune) bool { return !alnum(byte(r)) }) {
		if scrambled(run) {
			random += len(run)
		}
	}
	return random >= 20
}

// scrambled reports whether run, of letters and digits, is too mixed for words:
// written as words (Word, word, WORD) and numbers it has pieces of less than 3.5
// characters on average, or three numbers and more.
func scrambled(run string) bool {
	if len(run) < 8 || isHex(run) {
		return false
	}
	pieces, numbers, letters := 0, 0, 0
	var last byte
	for i := 0; i < len(run); i++ {
		c := run[i]
		switch {
		case digit(c):
			if !digit(last) {
				pieces++
				numbers++
			}
		case lower(c):
			letters++
			if !lower(last) && !(capital(last) && (i < 2 || !capital(run[i-2]))) {
				pieces++
			}
		default:
			letters++
			if !capital(last) {
				pieces++
			}
		}
		last = c
	}
	return letters > 0 && numbers > 0 && (2*len(run) < 7*pieces || numbers >= 3)
}

// isHex reports whether s is hexadecimal digits in one case.
func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == "" || strings.Trim(s, "0123456789ABCDEF") == ""
}

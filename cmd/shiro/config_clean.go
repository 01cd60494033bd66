package main

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// secret is a string that does not print: not with fmt, not in a log, not as JSON. Convert it to string where it is used.
type secret string

func (secret) String() string               { return "[redacted]" }
func (secret) GoString() string             { return "[redacted]" }
func (secret) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// redact replaces every secret in s, for texts that come from elsewhere, such as a server's error body. Values of fewer
// than four bytes are no secrets; replacing them would only garble the text.
func redact(s string, secrets []string) string {
	longest := slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) })
	for _, k := range longest {
		if len(k) >= 4 {
			s = strings.ReplaceAll(s, k, "[redacted]")
		}
	}
	return s
}

// cleanKey accepts what can stand in an HTTP header and no pasting accident. Its errors never show the key.
func cleanKey(key string) (string, error) {
	key = strings.TrimSpace(key)
	if strings.HasPrefix(key, "$") {
		return "", errors.New("looks like the name of a variable, which is not looked up here; remove it and set that variable itself")
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return "", errors.New("holds a blank, a line break or another character that no key has; paste the key again")
		}
	}
	return key, nil
}

func cleanModel(model string) (string, error) {
	model = strings.TrimSpace(model)
	if strings.ContainsFunc(model, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return "", errors.New("must be one name without blanks")
	}
	return model, nil
}

// cleanBaseURL returns the URL to which "/chat/completions" can be appended: no final slash, no endpoint of the API, and
// with the path that a known vendor or a local server is known to need if none was given.
func cleanBaseURL(base string) (string, error) {
	u, err := parseHTTP(base)
	if err != nil {
		return "", err
	}
	path := strings.TrimRight(u.Path, "/")
	for _, endpoint := range []string{"/chat/completions", "/responses", "/messages", "/models"} {
		path = strings.TrimRight(strings.TrimSuffix(path, endpoint), "/")
	}
	u.Path, u.RawPath = path, ""
	if vendor, ok := presetByHost(base); ok {
		own, err := url.Parse(vendor.Base)
		if err == nil && strings.HasPrefix(own.Path, path) {
			u.Path = own.Path
		}
	} else if path == "" && isLoopback(u) {
		u.Path = "/v1"
	}
	return u.String(), nil
}

func cleanRegistryURL(index string) (string, error) {
	u, err := parseHTTP(index)
	if err != nil {
		return "", err
	}
	if u.Scheme != "https" && !isLoopback(u) {
		return "", errors.New("must begin with https:// (plain http is for this machine only)")
	}
	return u.String(), nil
}

// parseHTTP does not show the URL in its errors: people put keys in the strangest places.
func parseHTTP(s string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(s))
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return nil, errors.New("must be a URL that begins with https:// or http:// and names a host")
	case strings.ContainsFunc(u.Host+u.Path, unicode.IsSpace):
		return nil, errors.New("must be a URL without blanks")
	case u.User != nil:
		return nil, errors.New("must not hold a user name or password")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("must not hold a query or fragment (nothing after ? or #)")
	}
	return u, nil
}

// isLoopback reports whether u stays on this machine. The unspecified address counts: dialling it reaches this machine too.
func isLoopback(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && (addr.IsLoopback() || addr.IsUnspecified())
}

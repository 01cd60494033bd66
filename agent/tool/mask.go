package tool

import (
	"cmp"
	"slices"
	"strings"
)

// A mask blanks out secrets. A nil mask has none.
type mask struct {
	secrets  []string
	replacer *strings.Replacer
}

// newMask returns the mask of secrets. Short ones are left: they would match
// by chance.
func newMask(secrets []string) *mask {
	m := &mask{}
	for _, v := range secrets {
		if len(v) >= 8 {
			m.secrets = append(m.secrets, v)
		}
	}
	if m.secrets == nil {
		return nil
	}
	// Of secrets that begin alike the longest goes first, so that no rest is left.
	slices.SortFunc(m.secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	var pairs []string
	for _, v := range m.secrets {
		pairs = append(pairs, v, "[secret]")
	}
	m.replacer = strings.NewReplacer(pairs...)
	return m
}

// hide is text without secrets.
func (m *mask) hide(text string) string {
	if m == nil {
		return text
	}
	return m.replacer.Replace(text)
}

// begun is how many bytes at the end of text, which holds no secret, are the
// beginning of one.
func (m *mask) begun(text string) int {
	if m == nil {
		return 0
	}
	most := 0
	for _, v := range m.secrets {
		for n := min(len(v)-1, len(text)); n > most; n-- {
			if text[len(text)-n:] == v[:n] {
				most = n
			}
		}
	}
	return most
}

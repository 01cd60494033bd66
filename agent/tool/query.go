package tool

import (
	"bytes"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// A query is a regular expression with what makes searching for it fast: a line
// can match only if it holds one of the needles, and finding those is cheap.
type query struct {
	re      *regexp.Regexp
	needles [][]byte // none: every line has to be tried
	fold    bool     // needles are lower-case ASCII, to be found in lowered text
}

// newQuery compiles pattern, to be matched with one line at a time.
func newQuery(pattern string, ignoreCase bool) (*query, error) {
	if ignoreCase {
		pattern = "(?i:" + pattern + ")"
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		//lint:ignore ST1005 the words of the terminal tool, which models know
		return nil, fmt.Errorf("Invalid regex: %w (RE2 syntax: no look-around, no back-references)", err)
	}
	q := &query{re: re}
	if tree, err := syntax.Parse(pattern, syntax.Perl); err == nil {
		for _, n := range needles(tree.Simplify(), &q.fold) {
			q.needles = append(q.needles, []byte(n))
		}
	}
	if q.fold {
		for i, n := range q.needles {
			q.needles[i] = lower(nil, n)
		}
	}
	return q, nil
}

// A scan looks through one text. It remembers where each needle is next, so
// that the text is read once per needle and not once per line.
type scan struct {
	needles [][]byte
	text    []byte
	at      []int // of each needle; len(text) when there is no more
}

func (q *query) scan(text []byte) *scan {
	s := &scan{q.needles, text, make([]int, len(q.needles))}
	for i := range s.at {
		s.at[i] = -1
	}
	return s
}

// next is the first offset from at on in a line that may match; -1 for none.
func (s *scan) next(at int) int {
	first := len(s.text)
	if len(s.needles) == 0 {
		first = at
	}
	for i, n := range s.needles {
		if s.at[i] < at {
			s.at[i] = len(s.text)
			if k := bytes.Index(s.text[at:], n); k >= 0 {
				s.at[i] = at + k
			}
		}
		first = min(first, s.at[i])
	}
	if first >= len(s.text) {
		return -1
	}
	return first
}

// needles are texts of which every match of re holds at least one, or none
// when there are no such texts. Fold is set if they match in either case.
func needles(re *syntax.Regexp, fold *bool) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return some(string(re.Rune))
		}
		*fold = true
		return some(asciiRun(re.Rune))
	case syntax.OpCapture, syntax.OpPlus:
		return needles(re.Sub[0], fold)
	case syntax.OpRepeat:
		if re.Min > 0 {
			return needles(re.Sub[0], fold)
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if n := needles(sub, fold); shortest(n) > shortest(best) {
				best = n
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			n := needles(sub, fold)
			if n == nil {
				return nil
			}
			all = append(all, n...)
		}
		if len(all) <= 8 {
			return all
		}
	}
	return nil
}

func some(s string) []string {
	if s == "" || strings.Contains(s, "\n") {
		return nil
	}
	return []string{s}
}

func shortest(needles []string) int {
	if len(needles) == 0 {
		return 0
	}
	n := len(needles[0])
	for _, s := range needles {
		n = min(n, len(s))
	}
	return n
}

// asciiRun is the longest run of ASCII in runes that no other character equals
// in another case, as the Kelvin sign does "k" and the long s "s".
func asciiRun(runes []rune) string {
	var best, run string
	for _, r := range runes {
		if r >= 0x80 || strings.ContainsRune("kKsS", r) {
			run = ""
			continue
		}
		if run += string(r); len(run) > len(best) {
			best = run
		}
	}
	return best
}

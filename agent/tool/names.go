package tool

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// resembles reports whether one name may have been meant by the other: twins,
// names that differ in case, and near misses.
func resembles(a, b string) bool {
	return twins(strings.ToLower(a), strings.ToLower(b)) || distance(a, b) <= 1+min(len(a), len(b))/8
}

// twins reports whether two names look the same: they differ at most in how
// accents are composed and in the kind of their blanks and quotation marks.
func twins(a, b string) bool {
	for a != "" && b != "" {
		x, n := utf8.DecodeRuneInString(a)
		y, m := utf8.DecodeRuneInString(b)
		switch {
		case face(x) == face(y):
			a, b = a[n:], b[m:]
		case composes(x, b):
			a, b = a[n:], b[decomposed(b):]
		case composes(y, a):
			a, b = a[decomposed(a):], b[m:]
		default:
			return false
		}
	}
	return a == b
}

// face is the plain character that r looks like.
func face(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		return r
	case unicode.Is(unicode.Zs, r):
		return ' '
	case strings.ContainsRune("‘’‚‛′", r):
		return '\''
	case strings.ContainsRune("“”„‟″", r):
		return '"'
	case strings.ContainsRune("‐‑‒–—−", r):
		return '-'
	}
	return r
}

// composes reports whether r may be what s begins with in one character: a
// letter with its marks, or the parts of a Korean syllable. Without a table of
// compositions it may take one accent for another, which is close enough for a
// question put to the model.
func composes(r rune, s string) bool {
	if r < utf8.RuneSelf || !unicode.IsLetter(r) {
		return false
	}
	base, n := utf8.DecodeRuneInString(s)
	next, _ := utf8.DecodeRuneInString(s[n:])
	if unicode.Is(unicode.Hangul, r) {
		return lead(r) == base && unicode.Is(unicode.Hangul, next)
	}
	return unicode.IsLetter(base) && unicode.Is(unicode.Mn, next)
}

// lead is the first part of a composed Korean syllable.
func lead(r rune) rune {
	const first, perLead = 0xAC00, 21 * 28
	return 0x1100 + (r-first)/perLead
}

// decomposed is the length of the letter and its marks that s begins with.
func decomposed(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	for n < len(s) {
		r, m := utf8.DecodeRuneInString(s[n:])
		if !unicode.Is(unicode.Mn, r) && (r < 0x1160 || r > 0x11FF) {
			break
		}
		n += m
	}
	return n
}

// distance is the number of bytes to insert, delete or replace to make a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost++
			}
			corner = row[j+1]
			row[j+1] = min(cost, corner+1, row[j]+1)
		}
	}
	return row[len(b)]
}

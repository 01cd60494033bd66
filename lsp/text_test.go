package lsp

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"
)

func TestOffset(t *testing.T) {
	const text = "a😀b\r\nsecond é\n\nlast"
	for _, c := range []struct {
		line, utf16, utf8 uint32
		want              int
	}{
		{0, 0, 0, 0},
		{0, 1, 1, 1},
		{0, 3, 5, 5},
		{0, 4, 6, 6},
		{0, 99, 99, 6}, // past the end of the line: before its \r\n
		{1, 0, 0, 8},
		{1, 8, 9, 17},
		{1, 99, 99, 17},
		{2, 0, 0, 18},
		{2, 5, 5, 18},
		{3, 4, 4, 23},
		{9, 0, 0, 23},
	} {
		if got := offset(text, position{Line: c.line, Character: c.utf16}, true); got != c.want {
			t.Errorf("UTF-16 %d:%d is %d, want %d", c.line, c.utf16, got, c.want)
		}
		if got := offset(text, position{Line: c.line, Character: c.utf8}, false); got != c.want {
			t.Errorf("UTF-8 %d:%d is %d, want %d", c.line, c.utf8, got, c.want)
		}
	}
	if got := offset(text, position{Character: 3}, false); got != 1 {
		t.Errorf("inside a character: %d, want its beginning", got)
	}
}

// A reference editor keeps its lines as slices of UTF-16 units (or bytes) and
// makes a thousand random edits; the document must follow.
func TestRandomEditsKeepTheTextEqual(t *testing.T) {
	for _, units := range []bool{true, false} {
		rng := rand.New(rand.NewPCG(1, 2))
		d := newDocuments(nil)
		d.utf16 = units
		open := &didOpenParams{}
		open.TextDocument.URI = "file:///w/a.txt"
		if err := d.didOpen(t.Context(), open); err != nil {
			t.Fatal(err)
		}
		ref := ""
		pieces := []string{"x", "é", "漢", "😀", "\n", "\r\n", "word ", "", "a\nb\nc"}
		for i := range 1000 {
			from, to := boundary(rng, ref), boundary(rng, ref)
			if from > to {
				from, to = to, from
			}
			text := pieces[rng.IntN(len(pieces))] + pieces[rng.IntN(len(pieces))]
			change := &didChangeParams{ContentChanges: []contentChange{
				{Range: &textRange{refPosition(ref, from, units), refPosition(ref, to, units)}, Text: &text},
			}}
			change.TextDocument.URI = "file:///w/a.txt"
			change.TextDocument.Version = int32(i + 2)
			if err := d.didChange(t.Context(), change); err != nil {
				t.Fatal(err)
			}
			ref = ref[:from] + text + ref[to:]
			if got, version, ok := d.Buffer("/w/a.txt"); !ok || got != ref || version != int32(i+2) {
				t.Fatalf("edit %d (UTF-16 %v): %q at %d, want %q", i, units, got, version, ref)
			}
		}
	}
}

// boundary is a random place between two characters, not inside a \r\n.
func boundary(rng *rand.Rand, s string) int {
	places := []int{len(s)}
	for i := range s {
		if i == 0 || s[i] != '\n' || s[i-1] != '\r' {
			places = append(places, i)
		}
	}
	return places[rng.IntN(len(places))]
}

func refPosition(s string, at int, units bool) position {
	lines := strings.Split(s[:at], "\n")
	last := lines[len(lines)-1]
	n := len(last)
	if units {
		n = len(utf16.Encode([]rune(last)))
	}
	return position{Line: uint32(len(lines) - 1), Character: uint32(n)}
}

func TestPositionIsTheInverseOfOffset(t *testing.T) {
	const text = "a😀b\r\nsecond é\n\nlast"
	for _, units := range []bool{true, false} {
		for at := range text {
			if text[at] == '\n' && at > 0 && text[at-1] == '\r' {
				continue
			}
			if got := offset(text, positionAt(text, at, units), units); got != at {
				t.Errorf("UTF-16 %v: %d comes back as %d", units, at, got)
			}
		}
	}
}

package tool

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// screened is what a screen keeps of text written in pieces of n bytes, and
// what it passed on meanwhile.
func screened(t *testing.T, text string, n int) (kept, live string) {
	t.Helper()
	var s screen
	var passed strings.Builder
	s.live = func(part string) bool {
		if !utf8.ValidString(part) || part == "" {
			t.Errorf("passed on %q", part)
		}
		passed.WriteString(part)
		return true
	}
	for text != "" {
		part := text[:min(n, len(text))]
		text = text[len(part):]
		if _, err := s.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s.kept.text(limit, nil), passed.String()
}

func TestScreen(t *testing.T) {
	for _, tt := range []struct{ text, kept, live string }{
		{"plain\n", "plain\n", "plain\n"},
		{"é😀\n", "é😀\n", "é😀\n"},
		{"50%\r100%\n", "100%\n", "50%\r100%\n"},
		{"a\r\nb\r", "a\nb", "a\nb"},
		{"a\r\r\nb", "a\nb", "a\nb"},
		{"abc\b\bd", "ad", "abcd"},
		{"\b\b", "", ""},
		{"\x1b[1;31mred\x1b[0m", "red", "red"},
		{"\x1b[?25l\x1b[2Kx", "x", "x"},
		{"\x1b]0;title\x07x", "x", "x"},
		{"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link", "link"},
		{"\x1bPq#0\x1b\\x", "x", "x"},
		{"\x1b(B\x1b=x", "x", "x"},
		{"\x1b]unended\nnext", "\nnext", "\nnext"},
		{"\x1b[31\nnext", "\nnext", "\nnext"},
		{"a\x00\x01\x7fb\tc", "ab\tc", "ab\tc"},
		{"bad \xff byte", `bad \xff byte`, `bad \xff byte`},
		{"cut \xf0\x9f", `cut \xf0\x9f`, `cut \xf0\x9f`},
	} {
		for _, n := range []int{1, 2, 3, 1000} {
			kept, live := screened(t, tt.text, n)
			if kept != tt.kept || live != tt.live {
				t.Errorf("%q by %d: kept %q, want %q; live %q, want %q", tt.text, n, kept, tt.kept, live, tt.live)
			}
		}
	}
}

func TestScreenLongLine(t *testing.T) {
	text := strings.Repeat("é", 3*maxLine) + "\rend\n"
	for _, n := range []int{1, 777, 1 << 20} {
		kept, _ := screened(t, text, n)
		if !utf8.ValidString(kept) || strings.Contains(kept, "\uFFFD") || !strings.HasPrefix(kept, "éé") || !strings.HasSuffix(kept, "end\n") {
			t.Errorf("by %d: %q … %q", n, kept[:20], kept[len(kept)-20:])
		}
	}
}

func TestEndsKeepWhatFits(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", limit), strings.Repeat("世", limit), strings.Repeat("😀", limit/2), ""} {
		for _, n := range []int{1 << 20, 1000, 7} {
			var e ends
			for rest := text; rest != ""; rest = rest[min(n, len(rest)):] {
				e.write([]byte(rest[:min(n, len(rest))]))
			}
			if got := e.text(limit, nil); got != text {
				t.Errorf("%.10q… in pieces of %d comes back with %d bytes of %d", text, n, len(got), len(text))
			}
		}
	}
}

func TestEndsCountWhatIsCut(t *testing.T) {
	for _, char := range []string{"x", "世", "😀"} {
		var e ends
		const n = 200_000
		for i := range n {
			e.write([]byte(char))
			if i == n/2 {
				e.write([]byte("\n"))
			}
		}
		got := e.text(3000, nil)
		var cut, size int
		_, notice, _ := strings.Cut(got, "... [truncated ")
		if _, err := fmt.Sscanf(notice, "%d of %d chars]", &cut, &size); err != nil {
			t.Fatal(err)
		}
		shown := strings.Count(got, char)
		if char == "x" {
			shown = units(strings.ReplaceAll(got, fmt.Sprintf("\n... [truncated %d of %d chars] ...\n", cut, size), ""))
		} else {
			shown *= units(char)
		}
		if want := n*units(char) + 1; size != want || shown+cut != want || !utf8.ValidString(got) {
			t.Errorf("%s: %d shown, %d cut, %d in all; want %d", char, shown, cut, size, want)
		}
	}
}

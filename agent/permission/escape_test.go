package permission

import (
	"strings"
	"testing"
)

func TestEscape(t *testing.T) {
	pad := strings.Repeat(" ", 500)
	for _, row := range []struct{ s, want string }{
		{"", ""},
		{"git status", "git status"},
		{"a\tb\nc", "a\tb\nc"},
		{"naïve 漢字 🙂 C:\\x", "naïve 漢字 🙂 C:\\x"},
		{"a\u200bb", `a\u{200B}b`},
		{"a\u202eb", `a\u{202E}b`},
		{"a\U000e0100b", `a\u{E0100}b`},
		{"a\U000e0041b", `a\u{E0041}b`},
		{"a\u00a0b", `a\u{00A0}b`},
		{"a\u3000b", `a\u{3000}b`},
		{"a\u2800b", `a\u{2800}b`},
		{"a\u3164b", `a\u{3164}b`},
		{"a\ufe0fb", `a\u{FE0F}b`},
		{"a\ufeffb", `a\u{FEFF}b`},
		{"a\u00adb", `a\u{00AD}b`},
		{"a\u2028b", `a\u{2028}b`},
		{"a\u2066b\u2069", `a\u{2066}b\u{2069}`},
		{"a\u0085b", `a\u{0085}b`},
		{"\x1b[2Kls", `\x1b[2Kls`},
		{"ls\rrm", `ls\rrm`},
		{"a\x00\x07\x7fb", `a\x00\x07\x7fb`},
		{"a\xff\xfeb", `a\xff\xfeb`},
		{"\ufffd", "\ufffd"},
		{"ls" + pad + "; touch pwned", "ls[500 blanks]; touch pwned"},
		{"漢" + pad + "x", "漢[500 blanks]x"},
		{strings.Repeat(" ", maxBlanks) + "x", strings.Repeat(" ", maxBlanks) + "x"},
		{"ls" + strings.Repeat("\n", 30) + "touch pwned", "ls[30 line ends]\ntouch pwned"},
		{"ls" + strings.Repeat("\n", maxLines) + "x", "ls" + strings.Repeat("\n", maxLines) + "x"},
	} {
		if got := Escape(row.s); got != row.want {
			t.Errorf("%q: %q, want %q", row.s, got, row.want)
		}
		if got := Escape(Escape(row.s)); got != row.want {
			t.Errorf("%q: twice %q", row.s, got)
		}
	}
}

func TestEscapeLeavesPlainTextAlone(t *testing.T) {
	s := strings.Repeat("plain text\n", 1000)
	if n := testing.AllocsPerRun(10, func() { Escape(s) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

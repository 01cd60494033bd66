package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestGlob(t *testing.T) {
	k := newKit(t, map[string]string{"a.go": "", "b.ts": "", "src/c.go": "", "src/d.tsx": "", "src/deep/e.go": "", "[x].go": "", "src/f{1}.go": ""})
	link(t, "src", k.path("link"))
	link(t, "a.go", k.path("z.go"))
	for _, tt := range []struct{ pattern, want string }{
		{"*.go", "[x].go\na.go\nz.go"},
		{"./*.ts", "b.ts"},
		{"**/*.go", "[x].go\na.go\nz.go\nsrc/c.go\nsrc/f{1}.go\nsrc/deep/e.go"},
		{"src/*.{go,tsx}", "src/c.go\nsrc/d.tsx\nsrc/f{1}.go"},
		{"src/**", "src/c.go\nsrc/d.tsx\nsrc/f{1}.go\nsrc/deep/e.go"},
		{"src/*/*.go", "src/deep/e.go"},
		{"src/c.go", "src/c.go"},
		{"link/*.tsx", "link/d.tsx"},
		{k.root + "/src/deep/*", "src/deep/e.go"},
		{`\[x\].go`, "[x].go"},
		{"nothing/*", "No files matched."},
		{"*.rs", "No files matched."},
	} {
		if got := k.ok("glob", object{"pattern": tt.pattern}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.pattern, got, tt.want)
		}
	}
	if got := k.ok("glob", object{"pattern": "**/*.go", "limit": 2}); got != "[x].go\na.go\n[the first 2: narrow the pattern or raise limit]" {
		t.Errorf("got %q", got)
	}
	k.fails("glob", object{"pattern": "[a"}, "not a valid pattern")
	k.fails("glob", object{"pattern": ""}, "pattern: is empty")
}

func TestGrep(t *testing.T) {
	k := newKit(t, map[string]string{
		"a.go": "package a\n\nfunc Mark() {}\n// MARK: x\n", "b.txt": "mark\r\nsecond mark\r\n", "src/c.go": "\tx := `foo`\n",
		"src/kelvin": "\u212Aelvin\n", "last": "no newline at the end: foo", ".env": "KEY=mark\n", "nl": "one\ntwo\n", "latin": "caf\xe9 mark\n",
	})
	for _, tt := range []struct {
		input object
		want  string
	}{
		{object{"pattern": "MARK"}, "a.go:4: // MARK: x"},
		{object{"pattern": "mark$"}, ".env:1: KEY=mark\nb.txt:1: mark\nb.txt:2: second mark\nlatin:1: caf\\xe9 mark"},
		{object{"pattern": "mark", "ignoreCase": true, "include": "*.go"}, "a.go:3: func Mark() {}\na.go:4: // MARK: x"},
		{object{"pattern": "foo|bar"}, "last:1: no newline at the end: foo\nsrc/c.go:1: \tx := `foo`"},
		{object{"pattern": "(?:fo|ba)[or]"}, "last:1: no newline at the end: foo\nsrc/c.go:1: \tx := `foo`"},
		{object{"pattern": "kelvin", "ignoreCase": true}, "src/kelvin:1: \u212Aelvin"},
		{object{"pattern": "(?i)KELVIN"}, "src/kelvin:1: \u212Aelvin"},
		{object{"pattern": "^$", "include": "a.go"}, "a.go:2: "},
		{object{"pattern": `\w+ :=`}, "src/c.go:1: \tx := `foo`"},
		{object{"pattern": `one\ntwo`}, "No matches."},
		{object{"pattern": "x", "include": "src/*.go"}, "src/c.go:1: \tx := `foo`"},
		{object{"pattern": "nowhere"}, "No matches."},
	} {
		if got := k.ok("grep", tt.input); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.input, got, tt.want)
		}
	}
	k.fails("grep", object{"pattern": "a("}, "Invalid regex: ")
	k.fails("grep", object{"pattern": "(?=x)"}, "Invalid regex: ", "no look-around")
	k.fails("grep", object{"pattern": "x", "include": "../*"}, "escapes workspace")
}

func TestGrepHidesWhatIsDenied(t *testing.T) {
	k := newKit(t, map[string]string{".env": "KEY=1\n", "a": "KEY=2\n"}, func(o *Options) {
		o.Denied = func(rel string) bool { return rel == ".env" }
	})
	link(t, ".env", k.path("other"))
	if got := k.ok("grep", object{"pattern": "KEY"}); got != "a:1: KEY=2" {
		t.Errorf("got %q", got)
	}
}

func TestGrepLimits(t *testing.T) {
	files := map[string]string{"long": strings.Repeat("é", 500) + " hit\n"}
	for i := range 300 {
		files[fmt.Sprintf("d%03d/f", i)] = "hit\n"
	}
	k := newKit(t, files)
	lines := strings.Split(k.ok("grep", object{"pattern": "hit"}), "\n")
	if len(lines) != maxHits+1 || lines[0] != "long:1: "+strings.Repeat("é", maxHitText) || lines[199] != "d198/f:1: hit" || lines[200] != "[the first 200 matches: narrow the pattern or include]" {
		t.Errorf("%d lines, %q … %q", len(lines), lines[0], lines[len(lines)-2:])
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, input := range map[string]object{"grep": {"pattern": "hit"}, "glob": {"pattern": "**"}, "list_dir": {}} {
		if _, err := k.callOf(k.tools, ctx, name, input); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestListDir(t *testing.T) {
	k := newKit(t, map[string]string{
		"b.txt": "12345", "a/x": strings.Repeat("x", 1536), "a/deep/y": "", "a/deep/er/z": "", "a-b": "", ".gitignore": "out\n", "out/f": "",
		"big": strings.Repeat("x", 3<<20), "new\nline": "",
	})
	link(t, "a", k.path("link"))
	if got, want := k.ok("list_dir", object{}), ".gitignore  4B\na/\n  deep/\n  x  2K\na-b  0B\nb.txt  5B\nbig  3.0M\n\"new\\nline\"  0B"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := k.ok("list_dir", object{"path": "a", "depth": 3}), "deep/\n  er/\n    z  0B\n  y  0B\nx  2K"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := k.ok("list_dir", object{"depth": 1, "includeIgnored": true}); !strings.Contains(got, "\nout/") {
		t.Errorf("got\n%s", got)
	}
	k.fails("list_dir", object{"path": "b.txt"}, "b.txt is not a directory")
	k.fails("list_dir", object{"path": "nope"}, "No such file: nope")
	if err := os.Mkdir(k.path("empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 400 {
		k.put(fmt.Sprintf("many/%03d", i), "")
	}
	if got := k.ok("list_dir", object{"path": "empty"}); got != "The directory is empty, or all in it is ignored." {
		t.Errorf("got %q", got)
	}
	lines := strings.Split(k.ok("list_dir", object{"path": "many"}), "\n")
	if len(lines) != maxEntries+1 || !strings.HasPrefix(lines[maxEntries], "[the first 300 entries") {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}

func TestReadFileParts(t *testing.T) {
	k := newKit(t, map[string]string{"f": "a\nb\r\nc\n", "empty": "", "long": strings.Repeat("0123456789\n", 5000), "wide": strings.Repeat("😀", 20_000)})
	for _, tt := range []struct {
		input object
		want  string
	}{
		{object{"path": "f"}, "1: a\n2: b\r\n3: c\n4: "},
		{object{"path": "f", "offset": 2, "limit": 1}, "2: b\r\n[2 lines more: continue with offset 3]"},
		{object{"path": "f", "offset": 3}, "3: c\n4: "},
		{object{"path": "f", "offset": 4.0}, "4: "},
		{object{"path": "empty"}, "1: "},
	} {
		if got := k.ok("read_file", tt.input); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.input, got, tt.want)
		}
	}
	k.fails("read_file", object{"path": "f", "offset": 5}, "offset 5 is past the end: f has 4 lines")
	got := k.ok("read_file", object{"path": "long"})
	if !strings.Contains(got, "\n... [truncated ") || !strings.HasSuffix(got, "\n[3001 lines more: continue with offset 2001]") && units(got) > limit+100 {
		t.Errorf("ends with %q", got[len(got)-100:])
	}
	got = k.ok("read_file", object{"path": "wide"})
	if want := "1: " + strings.Repeat("😀", 14_998) + "\n... [truncated 10004 chars]"; got != want {
		t.Errorf("ends with %q", got[len(got)-60:])
	}
}

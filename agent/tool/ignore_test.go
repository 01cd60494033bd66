package tool

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// What git itself leaves out is right.
func TestIgnoreRulesAreGits(t *testing.T) {
	rules := map[string]string{
		".gitignore": strings.Join([]string{
			"# comment", "", `\#hash`, `\!bang`, "trail  ", `keep\ `, "*.log", "!important.log", "build/", "/top",
			"doc/frotz", "foo/**", "**/deep", "a/**/b", "x**y", "[ab].c", "[!ab].d", "q?r", "*.tmp.*", "{br,ace}",
			"dir/*", "!dir/keep", "!dir/sub/", "/anchored/*.o", "**/logs/*.txt", "CRLF\r", "node", "!node/in", "/**/end", "*~", `back\\slash`, "mid*dle", "/", "!", " ",
		}, "\n"),
		"sub/.gitignore":      bom + "local\n/only\n!sub.log\nnested/path\n*.x\n!y.x",
		"sub/more/.gitignore": "!*.x\n",
	}
	paths := []string{
		"#hash", "!bang", "trail", "trail  ", "keep ", "keep", "a.log", "important.log", "s/a.log", "s/important.log",
		"build/f", "s/build/f", "build2", "top", "s/top", "doc/frotz", "s/doc/frotz", "foo/x", "foo/y/z", "s/foo/x",
		"deep", "s/deep/f", "s/t/deep", "a/b", "a/x/b", "a/x/y/b", "s/a/b", "xy", "x12y", "a.c", "c.c", "a.d", "c.d",
		"qxr", "qr", "a.tmp.b", "{br,ace}", "br", "ace", "dir/x", "dir/keep", "dir/sub/f", "anchored/a.o", "s/anchored/a.o",
		"logs/a.txt", "s/logs/a.txt", "logs/s/a.txt", "CRLF", "node/in", "node/out", "s/end", "end", "f~",
		"back\\slash", "middle", "mid-dle", "mid/dle", "sub/local", "sub/only", "sub/s/only", "sub/s/local", "sub/sub.log",
		"sub/nested/path", "sub/s/nested/path", "sub/a.x", "sub/y.x", "sub/more/a.x", "local", "only", "plain",
	}
	files := map[string]string{}
	for _, p := range paths {
		files[p] = ""
	}
	for name, text := range rules {
		files[name] = text
	}
	// A path cannot be both a file and a folder of this tree.
	for _, p := range paths {
		for q := range files {
			if strings.HasPrefix(q, p+"/") {
				delete(files, p)
			}
		}
	}
	k := newKit(t, files)
	git := func(stdin string, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Stdin = k.root, strings.NewReader(stdin)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	git("", "init", "-q")
	want := strings.Split(strings.TrimSuffix(git("", "ls-files", "-z", "--others", "--exclude-standard"), "\x00"), "\x00")
	var got []string
	for e := range k.w.walk(".", 0, false) {
		if !e.IsDir() {
			got = append(got, e.rel)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	for _, p := range got {
		if !slices.Contains(want, p) {
			t.Errorf("git leaves out %q", p)
		}
	}
	for _, p := range want {
		if !slices.Contains(got, p) {
			t.Errorf("git shows %q", p)
		}
	}
	if len(want) < 20 || len(want) > len(files)-20 {
		t.Errorf("of %d files git shows %d: the cases are too one-sided", len(files), len(want))
	}
}

func TestShiroignoreComesLast(t *testing.T) {
	k := newKit(t, map[string]string{
		".gitignore": "*.log\n", ".shiroignore": "!keep.log\nprivate/\n",
		"a.log": "", "keep.log": "", "private/x": "", "node_modules/m/x": "", ".git/config": "", ".hidden": "", "d/.git": "",
	})
	if got, want := k.ok("glob", object{"pattern": "**/*"}), ".gitignore\n.hidden\n.shiroignore\nkeep.log"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := k.ok("glob", object{"pattern": "**/*", "includeIgnored": true}), ".gitignore\n.hidden\n.shiroignore\na.log\nkeep.log\nprivate/x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, dir := range []string{"private", "node_modules/m", ".git"} {
		if got := k.ok("list_dir", object{"path": dir}); !strings.HasPrefix(got, "The directory is empty") {
			t.Errorf("%s: %q", dir, got)
		}
		if got := k.ok("list_dir", object{"path": dir, "includeIgnored": true}); !strings.HasSuffix(got, "  0B") {
			t.Errorf("%s: %q", dir, got)
		}
	}
}

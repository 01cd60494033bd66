package permission

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadListsEveryCommand(t *testing.T) {
	for _, row := range []struct {
		script string
		want   []string
	}{
		{"git status && rm x | tee y > z; FOO=1 go test ./... 2>&1", []string{"git status", "rm x", "tee y", "go test ./..."}},
		{"echo $(curl x | jq .) `id`", []string{"echo $(curl x | jq .) `id`", "curl x", "jq .", "id"}},
		{"for f in *; do rm \"$f\"; done", []string{`rm "$f"`}},
		{"cat <<EOF\nhi $(rm x)\nEOF", []string{"cat", "rm x"}},
		{"diff <(sort a) >(rm b)", []string{"diff <(sort a) >(rm b)", "sort a", "rm b"}},
		{"x() { rm y; }; x", []string{"rm y", "x"}},
		{"git log --format='%s; rm -rf /'", []string{"git log --format='%s; rm -rf /'"}},
		{"git >x status", []string{"git status"}},
		{"[[ $(a) == b ]] && (( $(c) ))", []string{"a", "c"}},
		{"case $(a) in b) c;; *) d;; esac", []string{"a", "c", "d"}},
		{"env A=1 nice -n 3 timeout -k 5 10 ls -l", []string{"env A=1 nice -n 3 timeout -k 5 10 ls -l", "nice -n 3 timeout -k 5 10 ls -l", "timeout -k 5 10 ls -l", "ls -l"}},
		{"bash -c 'a; b $(c)' x", []string{"bash -c 'a; b $(c)' x", "a", "b $(c)", "c"}},
		{"find . -name x -exec a {} \\; -ok b {} +", []string{`find . -name x -exec a {} \; -ok b {} +`, "a {}", "b {}"}},
		{"xargs -0 -n 2 a b", []string{"xargs -0 -n 2 a b", "a b …"}},
		{"trap 'a; b' EXIT", []string{"trap 'a; b' EXIT", "a", "b"}},
	} {
		s, err := Read(row.script)
		if err != nil || len(s.Opaque) > 0 {
			t.Errorf("%q: %v %v", row.script, err, s.Opaque)
		}
		var got []string
		for _, c := range s.Commands {
			got = append(got, c.Text)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%q: %s", row.script, diff)
		}
	}
}

func TestReadWords(t *testing.T) {
	s, err := Read(`cmd plain 'single $x' "double \"q\" \$x" mi'x'"ed" \e\s\c $'t\tab' $known "$HOME/x" *.go a{b,c} HEAD@{1} "" ~/x`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range s.Commands[0].Words {
		known := "?"
		if w.Known {
			known = "="
		}
		got = append(got, known+w.Text)
	}
	want := []string{"=cmd", "=plain", "=single $x", `=double "q" $x`, "=mixed", "=esc", "=t\tab", "?$known", "?$HOME/x", "?*.go", "=ab", "=ac", "=HEAD@{1}", "=", "=~/x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadRedirectsAndAssignments(t *testing.T) {
	s, err := Read("CI=1 B=$x cmd <in >out 2>>log &>all >&2 <<<text; export PATH=y")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range s.Redirects {
		mode := "read"
		if r.Write {
			mode = "write"
		}
		got = append(got, mode+" "+r.Op+" "+r.Target.Text)
	}
	for _, a := range s.Assigns {
		got = append(got, a.Name+"="+a.Value.Source)
	}
	want := []string{"read < in", "write > out", "write >> log", "write &> all", "CI=1", "B=$x", "PATH=y"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s.Assigns[0].Hazard || !s.Assigns[1].Hazard || !s.Assigns[2].Hazard {
		t.Errorf("hazards: %+v", s.Assigns)
	}
}

func TestReadFiles(t *testing.T) {
	s, err := Read("cp a b && sed -n 1p c && curl -o d --data=@e https://x && rm f && echo g && grep -f h i")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{}
	for _, f := range s.Files {
		files[f.Name] = files[f.Name] || f.Write
	}
	for name, write := range map[string]bool{"a": false, "b": true, "c": false, "d": true, "e": false, "f": true, "h": false, "i": false} {
		if got, ok := files[name]; !ok || got != write {
			t.Errorf("%s: found %v, written %v", name, ok, got)
		}
	}
	for _, name := range []string{"1p", "g"} {
		if _, ok := files[name]; ok {
			t.Errorf("%s is no file", name)
		}
	}
}

// TestReadTerminatesSoon feeds scripts that make a careless walk quadratic or
// deep. They take well under a second; the bound is for loaded machines.
func TestReadTerminatesSoon(t *testing.T) {
	p := New(Options{})
	for name, script := range map[string]string{
		"parens":    strings.Repeat("(", maxScript),
		"ifs":       strings.Repeat("if ", maxScript/3),
		"functions": strings.Repeat("f()", maxScript/3),
		"pipeline":  strings.Repeat("a|", maxScript/2-1) + "a",
		"list":      strings.Repeat("a;", maxScript/2),
		"moves":     strings.Repeat("cd a;", maxScript/10),
		"words":     strings.Repeat("a ", maxScript/2),
		"ticks":     strings.Repeat("`", maxScript),
		"loops":     strings.Repeat("for i in a;do ", maxScript/14),
		"globs":     strings.Repeat("*", maxScript/2) + strings.Repeat(" [a]", 1000),
		"braces":    strings.Repeat("{a,", 300) + strings.Repeat(" {a,", maxScript/8),
		"starters":  strings.Repeat("env ", maxScript/4),
		"bomb":      "f(){ " + strings.Repeat("a|", maxScript/3) + "f; }",
		"quotes":    "eval " + strings.Repeat(`\"`, maxScript/2-3),
		"members":   "cat {1..99999999}" + strings.Repeat(" {a,b}{c,d}", maxScript/12),
		"far":       "cat {-9223372036854775808..9223372036854775807}",
		"values":    "for x in " + strings.Repeat("a ", maxScript/4) + "; do cat " + strings.Repeat(" a$x", maxScript/10) + "; done",
		"doubled":   "x=" + strings.Repeat("a", maxScript/2) + "; cat " + strings.Repeat("$x", maxScript/5),
		"holes":     "cd a; cd b; cat " + strings.Repeat("a*$z ", maxScript/6),
		"marks":     "cat $z" + strings.Repeat("=", maxScript-10),
		"finds":     "find " + strings.Repeat("-exec find ", maxScript/11-1),
		"printed":   "cat " + strings.Repeat("$(ls ", 390) + strings.Repeat(")", 390),
		"rms":       strings.Repeat("rm ", 60_000),
	} {
		begin := time.Now()
		v := p.Decide(Call{Tool: ShellTool, Command: script, Root: root})
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%s: %v", name, took)
		} else {
			t.Logf("%s: %v %v", name, took, v.Decision)
		}
		if v.Decision == Allow {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"", "git status", "a && b | c > d", "bash -c 'x'", "$(", "a <<E\n$(b)\nE", "f(){ f|f& };f", "x=1 y", "find . -exec a {} \\;", "[[ a[$(b)] ]]",
		"env -S x", "cat .e{nv,x}", "`a \\`b\\``", "$'\\x41'", "case x in y) z;; esac", "{a,b} c", "sudo -u", "timeout -k", "bash -o", "git -C", "git -c", "xargs -I", "trap x",
	} {
		f.Add(s)
	}
	open := New(Options{Rules: []Rule{{ShellTool, "*", Allow}}})
	usual, granted := usual()
	f.Fuzz(func(t *testing.T, command string) {
		s, err := Read(command)
		call := Call{Tool: ShellTool, Command: command, Root: root}
		unreadable := err != nil || len(s.Opaque) > 0
		for _, p := range []*Policy{open, usual} {
			v := p.Decide(call, granted)
			if unreadable && v.Decision == Allow || v.Reason == "" {
				t.Errorf("%q: %+v (%v, %v)", command, v, err, s.Opaque)
			}
		}
		if err == nil {
			for _, c := range s.Commands {
				if len(c.Words) == 0 {
					t.Errorf("%q: a command without words", command)
				}
			}
		}
		if offer := usual.Offer(call); offer != nil {
			if v := usual.Decide(call, offer); v.Decision != Allow {
				t.Errorf("%q: %v offered, yet %+v", command, offer, v)
			}
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	p, granted := usual()
	for name, command := range map[string]string{
		"short":   "git status",
		"typical": "cd sub && git status -s && go test ./... -run 'TestA|TestB' 2>&1 | tail -20",
		"denied":  "cat README.md && cp .env /tmp/x",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Decide(Call{Tool: ShellTool, Command: command, Root: root}, granted)
			}
		})
	}
	b.Run("file", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			p.Decide(Call{Tool: "read_file", Paths: []string{root + "/agent/loop.go"}, Root: root})
		}
	})
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			New(Options{})
		}
	})
}

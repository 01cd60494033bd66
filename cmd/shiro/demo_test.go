package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	mock "shiro/agent/provider/providertest"
	"shiro/lsp/lsptest"
	"shiro/memory"
)

// demoKey is the user's key for a model server of their own.
const demoKey = "sk-mine-0123456789-abcdef"

// A demoRun is what a run of the program's demo left.
type demoRun struct {
	code     int
	out, err string
	dir      string // its scratch folder
	took     time.Duration
}

// show runs the demo to its end in a folder of its own. What it started must be
// gone by then.
func show(t *testing.T, args ...string) demoRun {
	t.Helper()
	r := demoRun{dir: filepath.Join(t.TempDir(), "demo")}
	var out, errs bytes.Buffer
	cmd := demoCommand(t, r.dir, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	begun := time.Now()
	cmd.Run()
	r.took, r.code, r.out, r.err = time.Since(begun), cmd.ProcessState.ExitCode(), out.String(), errs.String()
	leftNothingRunning(t, r.dir)
	return r
}

func demoCommand(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, exe, append([]string{"demo"}, args...)...)
	cmd.Env = []string{
		asProgram + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "SHIRO_DEMO_DIR=" + dir,
		"SHIRO_MODEL=not-this-one", "SHIRO_BASE_URL=http://127.0.0.1:9/v1", "ANTHROPIC_API_KEY=mark-of-the-users-key",
	}
	return cmd
}

// leftNothingRunning fails for every process that works for the demo in dir.
func leftNothingRunning(t *testing.T, dir string) {
	t.Helper()
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range environments {
		if env, err := os.ReadFile(path); err == nil && strings.Contains(string(env), "SHIRO_HOME="+dir) {
			t.Errorf("%s still runs", filepath.Dir(path))
		}
	}
}

// inOrder fails unless text holds all of want, one after the other.
func inOrder(t *testing.T, text string, want ...string) {
	t.Helper()
	rest := text
	for _, w := range want {
		_, after, ok := strings.Cut(rest, w)
		if !ok {
			t.Fatalf("no %q, or not in order, in\n%s", w, text)
		}
		rest = after
	}
}

// one returns the content of the only file that matches.
func (r demoRun) one(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(r.dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s matches %v (%v)", pattern, found, err)
	}
	b, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestDemo(t *testing.T) {
	t.Parallel()
	r := show(t)
	if r.code != 0 || r.err != "" || r.took > 20*time.Second {
		t.Fatalf("exit code %d after %v\n%s\n%s", r.code, r.took, r.err, r.out)
	}
	inOrder(t, r.out,
		"scripted     the model: an HTTP server at http://127.0.0.1:", "real         everything else", "folder       "+r.dir,
		"\nyou:         The tests fail", "\nshiro:", "\ntask list    0 of 3 done\n             [~] find out why the tests fail\n             [ ] fix temp.sh",
		"\nread         temp.sh\n", "\nasks         Run sh test.sh?\nyou:         Allow once\n",
		"FAIL  fahrenheit 0 is 23, want 32\n", "4 of 5 tests failed\n", "exit: 1\n",
		"\nasks         Edit temp.sh?\n", "hunk 1 of 3 ", "-    echo $(($1 * 9 / 5 + 23))\n             +    echo $(($1 * 9 / 5 + 32))\n", "\nhunk 2 of 3 ", "\nhunk 3 of 3 ",
		"\nkill -9 ", "\nresumed ", "hunk 1  accept\n", "hunk 2  reject: "+roomReason, "hunk 3  accept\n", "applied      temp.sh",
		"all 5 tests passed\n", "exit: 0\n", "\nnote         Remembered", "\nshiro:       All 5 tests pass.", "\ncontext      [#", "\nchecked ", "\ndone ", r.dir,
	)
	for line := range strings.Lines(r.out) {
		line = strings.TrimSuffix(line, "\n")
		if utf8.RuneCountInString(line) > pageWidth && !strings.Contains(line, r.dir) || strings.HasSuffix(line, " ") || strings.Contains(line, "\x1b") {
			t.Errorf("line %q", line)
		}
	}
	if got := r.one(t, "project/temp.sh"); got != mendedText {
		t.Errorf("temp.sh is\n%s", got)
	}
	if record := r.one(t, "home/.shiro-neko/sessions/*.json"); !strings.Contains(record, roomReason) {
		t.Errorf("the record is\n%s", record)
	}
	if log := r.one(t, "server.log"); log != "" {
		t.Errorf("the server logged\n%s", log)
	}
	notes, err := memory.Open(memory.Options{Dir: stateDir(filepath.Join(r.dir, "home"))}).Notes(filepath.Join(r.dir, "project")).All()
	if err != nil || len(notes) != 1 || notes[0].Kind != "gotcha" {
		t.Errorf("notes %+v, %v", notes, err)
	}
}

// The same against a server that is not the demo's own, on either wire: the
// user's key reaches it and no file.
func TestDemoWithAModelServer(t *testing.T) {
	for _, api := range []string{mock.Responses, mock.Chat} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			model := startModel(t, mock.Options{Script: demoScript(), Key: demoKey})
			r := show(t, "--model-url", model.URL(), "--key", demoKey, "--model", "mine", "--api", api)
			if r.code != 0 || r.err != "" {
				t.Fatalf("exit code %d\n%s\n%s", r.code, r.err, r.out)
			}
			inOrder(t, r.out, "The model is the one at", "exit: 1\n", "\nkill -9 ", "\nresumed ", "exit: 0\n", "\nchecked ", "- the turn was completed\n", "- the tests pass\n")
			requests := model.Requests()
			if last := requests[len(requests)-1]; last.API != api || !strings.Contains(string(last.Body), `"model":"mine"`) {
				t.Errorf("the last request is %s %s", last.API, last.Body)
			}
			if v := model.Violations(); len(v) > 0 {
				t.Error(v)
			}
			withoutKey(t, r.dir)
		})
	}
}

func startModel(t *testing.T, o mock.Options) *mock.Server {
	t.Helper()
	model, err := mock.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	return model
}

func withoutKey(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), demoKey) {
			t.Errorf("the key is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A model that does not do the task is no fault of the demo, which says so.
func TestDemoWithAnIdleModel(t *testing.T) {
	t.Parallel()
	model := startModel(t, mock.Options{Script: []mock.Step{mock.Say("I would rather not.")}})
	r := show(t, "--model-url", model.URL())
	if r.code != 0 || r.err != "" {
		t.Fatalf("exit code %d\n%s\n%s", r.code, r.err, r.out)
	}
	inOrder(t, r.out, "shiro:       I would rather not.", "the tests still fail", "the server was not killed", "the model kept no note")
}

// A command that hides what it does is refused, also from a real model.
func TestDemoRefusesWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	model := startModel(t, mock.Options{Script: []mock.Step{
		mock.Call("bash", args{"command": `$(echo touch) ran`}), mock.Say("Then not."),
	}})
	r := show(t, "--model-url", model.URL(), "--model", "mine")
	if r.code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", r.code, r.err, r.out)
	}
	inOrder(t, r.out, "you:         Reject: use a command that can be read", "Then not.")
	if _, err := os.Stat(filepath.Join(r.dir, "project", "ran")); err == nil {
		t.Error("it ran")
	}
}

func TestDemoFails(t *testing.T) {
	t.Parallel()
	refusing := startModel(t, mock.Options{Key: "another key"})
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		env  string
		code int
		want string
	}{
		"nobody answers":   {args: []string{"--model-url", closedPort(t)}, code: 1, want: "shiro demo: no model server answers at http://127.0.0.1:"},
		"no such host":     {args: []string{"--model-url", "http://"}, code: 1, want: "no model server answers at http://"},
		"wrong key":        {args: []string{"--model-url", refusing.URL(), "--key", demoKey, "--model", "m"}, code: 1, want: "shiro demo: the turn failed: "},
		"key without URL":  {args: []string{"--key", demoKey}, code: 2, want: "only with --model-url"},
		"unknown wire":     {args: []string{"--model-url", refusing.URL(), "--api", "anthropic"}, code: 2, want: `--api is responses or chat, not "anthropic"`},
		"unknown flag":     {args: []string{"--fast"}, code: 2, want: "-fast"},
		"folder in use":    {env: "SHIRO_DEMO_DIR=" + full, code: 1, want: full + " is not empty"},
		"no folder to use": {env: "SHIRO_DEMO_DIR=" + filepath.Join(full, "mine", "x"), code: 1, want: "making the scratch folder"},
		"no shell":         {env: "PATH=" + full, code: 1, want: "the demo's project is a shell script"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "demo")
			cmd := demoCommand(t, dir, c.args...)
			cmd.Env = append(cmd.Env, c.env)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(errs.String(), c.want) || strings.Contains(errs.String(), demoKey) {
				t.Errorf("exit code %d, want %d; said %q, want %q", code, c.code, errs.String(), c.want)
			}
			leftNothingRunning(t, dir)
		})
	}
}

// Ctrl-C in the middle takes the server along and leaves the folder.
func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "demo")
	cmd := demoCommand(t, dir)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	seen := &waitingWriter{want: "[~] find out", found: make(chan struct{})}
	cmd.Stdout = seen
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait()
	}()
	select {
	case <-seen.found:
	case <-ended:
		t.Fatalf("it ended by itself: %s", errs.String())
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-ended
	if code := cmd.ProcessState.ExitCode(); code != 1 || errs.String() != "shiro demo: interrupted\n" {
		t.Errorf("exit code %d, said %q", code, errs.String())
	}
	leftNothingRunning(t, dir)
	if _, err := os.Stat(filepath.Join(dir, "project", demoFile)); err != nil {
		t.Error(err)
	}
}

// A waitingWriter closes found when want has been written.
type waitingWriter struct {
	text  []byte
	want  string
	found chan struct{}
}

func (w *waitingWriter) Write(p []byte) (int, error) {
	before := bytes.Contains(w.text, []byte(w.want))
	w.text = append(w.text, p...)
	if !before && bytes.Contains(w.text, []byte(w.want)) {
		close(w.found)
	}
	return len(p), nil
}

// A claim that does not hold is named and ends the demo.
func TestDemoChecks(t *testing.T) {
	var out bytes.Buffer
	d := &demo{page: newPage(&out), exits: []string{"0", "0"}}
	err := d.check(t.Context(), lsptest.Buffer{})
	if err == nil || !strings.Contains(err.Error(), `the commands ended with ["0" "0"]`) {
		t.Errorf("error %v", err)
	}
	if want := "\nchecked      - not so: the tests failed before the edit and pass after it\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

// The project is what its story says: its tests fail as it is, pass when it is
// mended, and fail when the refused hunk is accepted too.
func TestDemoProject(t *testing.T) {
	for text, want := range map[string]bool{brokenText(): false, mendedText: true, strings.ReplaceAll(brokenText(), "23", "32"): false} {
		dir := t.TempDir()
		for name, content := range map[string]string{demoFile: text, demoTests: testText} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("sh", demoTests)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); (err == nil) != want {
			t.Errorf("%v\n%s\n%s", err, out, text)
		}
	}
}

func TestPage(t *testing.T) {
	long := strings.Repeat("word ", 20)
	for _, c := range []struct {
		name   string
		colour bool
		draw   func(*page)
		want   string
	}{
		{"label and text", false, func(p *page) { p.line(bold, "read", "a file") }, "read         a file\n"},
		{"a blank line above an entry", false, func(p *page) { p.text("x"); p.entry(bold, "you:", "yes") }, "             x\n\nyou:         yes\n"},
		{"words in pieces", false, func(p *page) {
			for _, piece := range []string{"ab", "c d", "e ", " f"} {
				p.text(piece)
			}
			p.finish()
		}, "             abc de  f\n"},
		{
			"wrapped", false, func(p *page) { p.text(long); p.finish() },
			"             word word word word word word word word word word word word word\n             word word word word word word word\n",
		},
		{"a word that is too long", false, func(p *page) { p.text("a " + strings.Repeat("x", 70)); p.finish() }, "             a\n             " + strings.Repeat("x", 70) + "\n"},
		{"paragraphs", false, func(p *page) { p.text("one\n\ntwo\n"); p.finish() }, "             one\n\n             two\n"},
		{"verbatim in pieces", false, func(p *page) { p.verbatim("a\tb "); p.verbatim("c\n\nd"); p.finish() }, "             a    b c\n\n             d\n"},
		{"no steering", false, func(p *page) { p.text("\x1b[2Ja\r\u009b"); p.finish(); p.verbatim("\x1b]0;t\x07b\n") }, "             [2Ja\n             ]0;tb\n"},
		{
			"colours", true, func(p *page) { p.line(green, "shiro:", "hi"); p.diff("-a\n+b\n") },
			"\x1b[32mshiro:\x1b[0m       hi\n             \x1b[31m-a\x1b[0m\n             \x1b[32m+b\x1b[0m\n",
		},
	} {
		var b bytes.Buffer
		p := newPage(&b)
		p.colour = c.colour
		c.draw(p)
		if b.String() != c.want {
			t.Errorf("%s:\n%q, want\n%q", c.name, b.String(), c.want)
		}
	}
	var bars []string
	for _, percent := range []int{-1, 0, 2, 3, 50, 100, 200} {
		bars = append(bars, fmt.Sprint(strings.Count(bar(percent), "#")))
	}
	if want := []string{"0", "0", "0", "1", "10", "20", "20"}; !slices.Equal(bars, want) {
		t.Errorf("bars %v, want %v", bars, want)
	}
}

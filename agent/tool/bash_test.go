//go:build unix

package tool

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

// runs reports whether a process with mark in its command line runs.
func runs(t *testing.T, mark string) bool {
	t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(procs) == 0 {
		t.Fatalf("this test looks for processes in /proc: %v", err)
	}
	for _, p := range procs {
		if line, err := os.ReadFile(p); err == nil && strings.Contains(string(line), mark) && !strings.Contains(string(line), ".test") {
			return true
		}
	}
	return false
}

// lives reports whether the process pid runs; one that waits to be collected
// does not.
func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// marker is an argument for sleep that no other process has.
func marker() string { return fmt.Sprintf("%d.%d", 300+os.Getpid(), time.Now().UnixNano()) }

func TestBashResult(t *testing.T) {
	k := newKit(t, map[string]string{"sub/f": ""})
	for _, tt := range []struct{ command, want string }{
		{"true", "exit: 0"},
		{"echo hi", "exit: 0\n\nstdout:\nhi"},
		{"printf '\\n  in\\n\\n'; echo bad >&2; exit 3", "exit: 3\n\nstdout:\n  in\n\nstderr:\nbad"},
		{"echo 1 fail; exit 1", "exit: 1\n\nstdout:\n1 fail"},
		{"kill -TERM $$", "exit: 143\nended by SIGTERM"},
		{"pwd", "exit: 0\n\nstdout:\n" + k.root},
		{"cd sub && pwd", "exit: 0\n\nstdout:\n" + k.root + "/sub"},
		{"[[ a == a ]] && echo $((2**3))", "exit: 0\n\nstdout:\n8"},
	} {
		if got := k.ok("bash", object{"command": tt.command}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.command, got, tt.want)
		}
	}
}

func TestSH01BackgroundChildDoesNotHoldTheCall(t *testing.T) {
	k := newKit(t, nil)
	mark := marker()
	inTime(t, 2*time.Second, func() {
		got := k.ok("bash", object{"command": "sleep " + mark + " & echo done"})
		if !strings.Contains(got, "stdout:\ndone") || !strings.Contains(got, "redirect their output") {
			t.Errorf("got %q", got)
		}
	})
	if runs(t, mark) {
		t.Error("the child that held the output is left")
	}
	inTime(t, 4*time.Second, func() {
		got := k.ok("bash", object{"command": "trap '' INT TERM; sleep " + mark + " | cat; echo on", "timeout": 1000})
		if !strings.Contains(got, "timed out after 1000 ms") {
			t.Errorf("got %q", got)
		}
	})
	if runs(t, mark) {
		t.Error("a child outlived the timeout")
	}
}

func TestSH01RedirectedChildLivesOn(t *testing.T) {
	k := newKit(t, nil)
	got := k.ok("bash", object{"command": "sleep 60 >log 2>&1 & echo $!"})
	pid, err := strconv.Atoi(strings.TrimPrefix(got, "exit: 0\n\nstdout:\n"))
	if err != nil {
		t.Fatalf("got %q", got)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("the server is gone: %v", err)
	}
	k.ok("bash", object{"command": fmt.Sprintf("kill %d", pid)})
}

func TestInterruptLeavesNoSurvivor(t *testing.T) {
	for name, command := range map[string]string{
		"sleep":             "echo started; sleep %s",
		"child of a child":  "echo started; sh -c 'sleep %s; true'; true",
		"pipeline":          "echo started; sleep %s | cat",
		"background":        "sleep %s & echo started; wait",
		"redirected":        "sleep %s >/dev/null 2>&1 & echo started; wait",
		"ignores signals":   "trap '' INT TERM HUP; echo started; sleep %s; sleep %[1]s",
		"setsid":            "setsid sleep %s & echo started; wait",
		"setsid, forgotten": "setsid -f sleep %s; echo started; sleep 60",
		"no environment":    "setsid env -i /bin/sleep %s & echo started; wait",
		"no parent either":  "(env -i setsid /bin/sleep %s &); echo started; sleep 60",
		"nor output":        "(setsid sh -c 'unset SHIRO_CALL; exec /bin/sleep %s >/dev/null 2>&1' &); echo started; sleep 60",
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, nil)
			mark := marker()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var ended time.Time
			started := func(_, text string) {
				if strings.Contains(text, "started") {
					for !runs(t, mark) {
						runtime.Gosched()
					}
					ended = time.Now()
					cancel()
				}
			}
			_, err := k.tools["bash"].Run(ctx, Call{Input: encode(t, object{"command": fmt.Sprintf(command, mark)}), Output: started})
			took := time.Since(ended)
			if err == nil || !strings.Contains(err.Error(), "interrupted") || !strings.Contains(err.Error(), "did not finish") || !strings.Contains(err.Error(), "stdout:\nstarted") {
				t.Errorf("got %v", err)
			}
			if runs(t, mark) {
				t.Error("a process is left")
			}
			// 60 ms is the aim on a quiet machine.
			if took > time.Second {
				t.Errorf("took %v", took)
			}
			t.Logf("took %v", took)
		})
	}
}

func TestInterruptBeforeTheStart(t *testing.T) {
	k := newKit(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if out, err := k.callOf(k.tools, ctx, "bash", object{"command": "sleep 60"}); err == nil {
		t.Errorf("got %q", out)
	}
}

func TestSH03NothingWaits(t *testing.T) {
	k := newKit(t, nil, func(o *Options) {
		o.Env = append(os.Environ(), "HOME=/nonexistent", "EDITOR=cat /dev/tty", "GIT_CONFIG_GLOBAL=/dev/null")
	})
	k.ok("bash", object{"command": "git init -q . && git config user.email a@b && git config user.name a && git commit -q --allow-empty -m one"})
	for _, tt := range []struct{ command, want string }{
		{"read x; echo \"got <$x>\"", "got <>"},
		{"cat", "exit: 0"},
		{"echo x >f && git add f && git commit", "exit: 1"},
		{"git log", "one"},
		{"git -c core.pager=less log | cat", "one"},
		{"echo hi >/dev/tty || echo no terminal", "no terminal"},
		{"tty", "not a tty"},
	} {
		inTime(t, 5*time.Second, func() {
			if got := k.ok("bash", object{"command": tt.command}); !strings.Contains(got, tt.want) {
				t.Errorf("%s: %q, want %q in it", tt.command, got, tt.want)
			}
		})
	}
}

func TestSH05HugeOutput(t *testing.T) {
	var line strings.Builder
	for i := 1; i <= 2_000_000; i++ {
		line.WriteString(strconv.Itoa(i))
		line.WriteByte('\n')
	}
	for _, tt := range []struct {
		command, first, last string
		size                 int
	}{
		{"seq 1 2000000", "\n1\n2\n3\n", "\n1999999\n2000000", line.Len()},
		{"yes | head -c 200000000", "\ny\ny\n", "y\ny", 200_000_000},
		{"head -c 5000000 /dev/zero | tr '\\0' x; echo end", "\nxxx", "xxxend", 5_000_004},
		{"seq 1 2000000 >&2; echo out", "stdout:\nout\n\nstderr:\n1\n", "\n2000000", line.Len()},
	} {
		t.Run(tt.command, func(t *testing.T) {
			k := newKit(t, nil)
			var mu sync.Mutex
			live := 0
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, err := k.tools["bash"].Run(t.Context(), Call{
				Input:  encode(t, object{"command": tt.command}),
				Output: func(_, text string) { mu.Lock(); live += len(text); mu.Unlock() },
			})
			if err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if n := units(got); n > limit {
				t.Errorf("the result has %d units", n)
			}
			if !strings.Contains(got, tt.first) || !strings.HasSuffix(got, tt.last) {
				t.Errorf("the ends are %q and %q", got[:60], got[len(got)-60:])
			}
			wantCut(t, got, tt.size)
			if live > maxLive+1000 {
				t.Errorf("%d bytes were passed on live", live)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
				t.Errorf("allocated %d bytes", n)
			}
		})
	}
}

// wantCut checks the sizes in the notice of a result that was cut in one block.
func wantCut(t *testing.T, got string, size int) {
	t.Helper()
	_, notice, ok := strings.Cut(got, "... [truncated ")
	if !ok {
		t.Fatal("no notice of what was cut")
	}
	var cut, whole int
	if _, err := fmt.Sscanf(notice, "%d of %d chars]", &cut, &whole); err != nil {
		t.Fatal(err)
	}
	if whole != size || cut < size-limit || cut >= size {
		t.Errorf("the notice says %d of %d, the size is %d", cut, whole, size)
	}
}

func TestSH06OutputIsClean(t *testing.T) {
	k := newKit(t, nil)
	for _, tt := range []struct{ command, want string }{
		{`for i in $(seq 1000); do printf '\rstep %d' $i; done; echo`, "step 1000"},
		{`printf '\033[31mred\033[0m \033]0;title\007\033(Bplain\n'`, "red plain"},
		{`printf '\360\237'; sleep 0.05; printf '\230\200\n'`, "😀"},
		{`printf 'a\0b\n'`, "ab"},
		{`printf 'one\r\ntwo\r\n'`, "one\ntwo"},
	} {
		if got := k.ok("bash", object{"command": tt.command}); got != "exit: 0\n\nstdout:\n"+tt.want {
			t.Errorf("%s: %q", tt.command, got)
		}
	}
	k.ok("bash", object{"command": "head -c 4096 /dev/urandom"})
}

func TestOutputIsStreamed(t *testing.T) {
	k := newKit(t, nil)
	got := map[string]string{}
	step := make(chan struct{}, 1)
	done := make(chan error, 1)
	gates := []string{k.path("gate1"), k.path("gate2")}
	for _, gate := range gates {
		if err := syscall.Mkfifo(gate, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		_, err := k.tools["bash"].Run(t.Context(), Call{
			Input: encode(t, object{"command": `echo first; cat gate1; printf '\360\237'; cat gate2; printf '\230\200'; echo err >&2`}),
			Output: func(channel, text string) {
				if !utf8.ValidString(text) {
					t.Errorf("a split character: %q", text)
				}
				if got[channel] += text; text == "first\n" {
					step <- struct{}{}
				}
			},
		})
		done <- err
	}()
	<-step // only now may the command go on
	for _, gate := range gates {
		if err := os.WriteFile(gate, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got["stdout"] != "first\n😀" || got["stderr"] != "err\n" {
		t.Errorf("got %q", got)
	}
}

func TestSH07CommandsDoNotSeeKeys(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "mark-key-123")
	t.Setenv("SHIRO_API_KEY", "mark-key-456")
	t.Setenv("MINE", "kept")
	k := newKit(t, map[string]string{".env": "KEY=mark-key-123\n"}, func(o *Options) {
		o.SecretNames = []string{"OPENAI_API_KEY", "SHIRO_API_KEY"}
		o.Secrets = []string{"mark-key-123", "mark-key-456"}
	})
	got := k.ok("bash", object{"command": "env; echo ${OPENAI_API_KEY-unset}; sh -c 'echo ${SHIRO_API_KEY-unset}'"})
	if strings.Contains(got, "mark-key") || strings.Contains(got, "[secret]") || !strings.Contains(got, "MINE=kept") || !strings.HasSuffix(got, "unset\nunset") {
		t.Errorf("got %q", got)
	}
	// SH-08: a known key is blanked out wherever else it comes from.
	for name, input := range map[string]object{
		"bash": {"command": "cat .env"}, "read_file": {"path": ".env"}, "grep": {"pattern": "KEY"},
	} {
		if got := k.ok(name, input); strings.Contains(got, "mark-key") || !strings.Contains(got, "KEY=[secret]") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestSH09WorkingDirectoryIsGone(t *testing.T) {
	k := newKit(t, nil)
	if got := k.ok("bash", object{"command": "mkdir t; cd t"}); got != "exit: 0" {
		t.Errorf("got %q", got)
	}
	if got := k.ok("bash", object{"command": "pwd"}); got != "exit: 0\n\nstdout:\n"+k.root {
		t.Errorf("got %q", got)
	}
	if err := os.RemoveAll(k.root); err != nil {
		t.Fatal(err)
	}
	k.fails("bash", object{"command": "pwd"}, "the working directory "+k.root+" does not exist")
	k.ok("write_file", object{"path": "f", "content": "x"})
	k.ok("bash", object{"command": "pwd"})
}

func TestSH11NoScratchFiles(t *testing.T) {
	k := newKit(t, nil, func(o *Options) { o.Env = append(os.Environ(), "TMPDIR=/dev/full/nowhere") })
	if got := k.ok("bash", object{"command": "seq 1 100000 | tail -n 1; cat <<< here"}); !strings.Contains(got, "100000\nhere") {
		t.Errorf("got %q", got)
	}
}

func TestTimeoutIsNoError(t *testing.T) {
	k := newKit(t, nil)
	inTime(t, 3*time.Second, func() {
		got := k.ok("bash", object{"command": "echo before; sleep 60", "timeout": 1000})
		if got != "exit: 130\ntimed out after 1000 ms; ended by SIGINT\n\nstdout:\nbefore" {
			t.Errorf("got %q", got)
		}
	})
}

func TestCommandsSideBySide(t *testing.T) {
	k := newKit(t, nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			want := fmt.Sprintf("exit: 0\n\nstdout:\n%d", i)
			if got, err := k.callOf(k.tools, t.Context(), "bash", object{"command": fmt.Sprintf("echo %d", i)}); got != want || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	wg.Wait()
}

// An interrupt ends one of the commands that run side by side, whatever their
// orphans have given up.
func TestInterruptEndsNoOthersProcesses(t *testing.T) {
	k := newKit(t, nil)
	const command = "(env -i setsid sh -c 'echo $$ >pid%[1]d; exec sleep 300 >/dev/null 2>&1' &); until [ -s pid%[1]d ]; do :; done; echo started; read x <gate%[1]d"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var pids [2]int
	var done [2]chan error
	for i, ctx := range []context.Context{ctx, t.Context()} {
		if err := syscall.Mkfifo(k.path(fmt.Sprintf("gate%d", i)), 0o600); err != nil {
			t.Fatal(err)
		}
		started := make(chan struct{})
		done[i] = make(chan error, 1)
		go func() {
			_, err := k.tools["bash"].Run(ctx, Call{
				Input:  encode(t, object{"command": fmt.Sprintf(command, i)}),
				Output: func(string, string) { close(started) },
			})
			done[i] <- err
		}()
		<-started
		var err error
		if pids[i], err = strconv.Atoi(strings.TrimSpace(k.disk(fmt.Sprintf("pid%d", i)))); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { _ = syscall.Kill(pids[1], syscall.SIGKILL) }()
	cancel()
	if err := <-done[0]; err == nil {
		t.Error("the interrupted command ended well")
	}
	if lives(pids[0]) {
		t.Error("a process of the interrupted command is left")
	}
	if err := os.WriteFile(k.path("gate1"), nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := <-done[1]; err != nil {
		t.Error(err)
	}
	if !lives(pids[1]) {
		t.Error("the other command's server is gone")
	}
}

func TestCommandThatIsTooLong(t *testing.T) {
	k := newKit(t, nil)
	long := func(n int) object { return object{"command": ": " + strings.Repeat("x", n-2)} }
	k.ok("bash", long(maxCommand))
	k.fails("bash", long(maxCommand+1), "command: has 102401 bytes", "write it to a file")
}

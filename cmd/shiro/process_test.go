//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	mock "shiro/agent/provider/providertest"
	wire "shiro/lsp/protocol"
)

// sleepers starts a command whose children would outlive it: in the
// background, in a session of their own, and in the foreground. Their pids
// stand in the file pids.
const sleepers = "sleep 1000 & echo $! >>pids; setsid sleep 1000 & echo $! >>pids; sleep 1000 & echo $! >>pids; echo started; wait"

func pids(t *testing.T, w *world) []int {
	t.Helper()
	var all []int
	for _, f := range strings.Fields(w.read("pids")) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pid)
	}
	return all
}

// gone waits until none of the processes runs.
func gone(t *testing.T, all []int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		left := slices.DeleteFunc(slices.Clone(all), func(pid int) bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			return err != nil || strings.Contains(string(stat), ") Z ") // a zombie is over
		})
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			for _, pid := range left {
				syscall.Kill(pid, syscall.SIGKILL)
			}
			t.Fatalf("processes %v survived", left)
		}
	}
}

// busy starts a turn that runs sleepers.
func busy(t *testing.T, w *world, s *server) (session, turn string) {
	t.Helper()
	session = s.create()
	turn = s.prompt(session, "go")
	s.answer(s.asked(), "once")
	if _, _, err := s.WaitEvent(s.ctx(), s.at, func(e wire.Event) bool {
		d, ok := e.Data.(wire.ItemDelta)
		return ok && strings.Contains(d.Text, "started")
	}); err != nil {
		t.Fatal(err)
	}
	if n := len(pids(t, w)); n != 3 {
		t.Fatalf("%d sleepers", n)
	}
	return session, turn
}

func TestInterruptLeavesNoProcess(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{bash(sleepers)}}).speaks("responses")
	s := w.start()
	session, turn := busy(t, w, s)
	begun := time.Now()
	call[wire.TurnInterruptResult](s, wire.MethodTurnInterrupt, wire.TurnInterruptParams{SessionID: session, TurnID: turn})
	end := s.ended()
	if took := time.Since(begun); end.Status != wire.TurnInterrupted || took > time.Second {
		t.Errorf("turn %+v after %v", end, took)
	}
	gone(t, pids(t, w))
	aliveAfter(t, s, session)
	r := w.model.Requests()[1].Items()
	if i := slices.IndexFunc(r, func(it mock.Item) bool { return it.Kind == "result" }); i < 0 || !strings.Contains(r[i].Text, "interrupted") || !strings.Contains(r[i].Text, "started") {
		t.Errorf("items %+v", r)
	}
	w.strict()
	s.quit()
}

// However the editor goes, the server and its children are gone within two
// seconds, and the turn is in the record, valid for the next prompt.
func TestEditorGoes(t *testing.T) {
	for name, leave := range map[string]func(s *server){
		"closes input":          func(s *server) { s.Close() },
		"SIGTERM":               func(s *server) { s.cmd.Process.Signal(syscall.SIGTERM) },
		"SIGINT":                func(s *server) { s.cmd.Process.Signal(syscall.SIGINT) },
		"exit without shutdown": func(s *server) { s.Notify("exit", nil) },
		"mid-frame": func(s *server) {
			s.Write("Content-Length: 100\r\n\r\n{\"jsonrpc\"")
			s.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, mock.Options{Script: []mock.Step{bash(sleepers), mock.Say("back")}}).speaks("responses")
			s := w.start()
			session, _ := busy(t, w, s)
			begun := time.Now()
			leave(s)
			if code := s.exitCode(); code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			if took := time.Since(begun); took > 2*time.Second {
				t.Errorf("the end took %v", took)
			}
			gone(t, pids(t, w))
			s = w.start()
			call[wire.SessionAttachResult](s, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: session})
			s.prompt(session, "go on")
			if end := s.ended(); end.Status != wire.TurnDone {
				t.Errorf("turn %+v\n%s", end, s.log)
			}
			w.strict()
			s.quit()
		})
	}
}

// The editor's process dies while some other process holds its end of the
// pipe open: the processId watch ends the server.
func TestParentWatch(t *testing.T) {
	parent := exec.Command("sleep", "1000")
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, mock.Options{})
	s := w.launch()
	err := s.Call(s.ctx(), "initialize", map[string]any{"processId": parent.Process.Pid, "rootUri": nil, "capabilities": map[string]any{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	parent.Process.Kill()
	parent.Wait()
	begun := time.Now()
	s.exitCode()
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("the end took %v", took)
	}
}

// A client that stops reading neither holds the turn up nor loses an event.
func TestSlowReader(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{mock.Say(strings.Repeat("0123456789abcde\n", 300_000)).Chunk(1000)}}).speaks("responses")
	hold, held := make(chan struct{}), make(chan struct{}, 1)
	s := w.launch()
	s.OnEvent = func(e wire.Event) {
		if e.Type == wire.EventItemDelta {
			select {
			case held <- struct{}{}:
			default:
			}
			<-hold
		}
	}
	if _, err := s.Initialize(s.ctx(), w.dir, nil); err != nil {
		t.Fatal(err)
	}
	session := s.create()
	s.prompt(session, "go")
	<-held
	if err := w.model.Quiet(s.ctx()); err != nil { // the whole answer was taken though nobody reads
		t.Fatal(err)
	}
	w.waitRecord(session, "assistant")
	close(hold)
	s.ended()
	text := ""
	for _, e := range s.Events() {
		if d, ok := e.Data.(wire.ItemDelta); ok && d.Channel == wire.ChannelText {
			if int(d.From) != len(text) || int(d.To) != len(text)+len(d.Text) {
				t.Fatalf("delta %d-%d after %d bytes", d.From, d.To, len(text))
			}
			text += d.Text
		}
	}
	if len(text) != 16*300_000 {
		t.Errorf("%d bytes of deltas", len(text))
	}
	s.quit()
}

// stdout carries nothing but messages, whatever a command or a broken state
// prints; the harness fails the test on anything else.
func TestStdoutIsTheProtocols(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{bash("echo out; echo err >&2; echo tty >/dev/tty; ls /proc/self/fd"), mock.Say("done")}})
	w.config("[provider]\napi = \"responses\"\n")
	w.write(filepath.Join(w.home, ".shiro-neko", "sessions", "01a22c70-28ed-719f-8f8d-f108fbe0c45e.json"), "{damaged")
	s := w.start()
	s.prompt(s.create(), "go")
	s.answer(s.asked(), "once")
	s.ended()
	if l := call[wire.SessionListResult](s, wire.MethodSessionList, wire.SessionListParams{}); l.Skipped != 1 {
		t.Errorf("list %+v", l)
	}
	s.quit()
}

// The provider's key reaches no command.
func TestKeyStaysOutOfCommands(t *testing.T) {
	w := newWorld(t, mock.Options{Script: []mock.Step{bash("env; sh -c 'echo $SHIRO_API_KEY'; echo MINE=$MINE"), mock.Say("done")}}).speaks("responses")
	w.env = append(w.env, "OPENAI_API_KEY=mark-openai-0123456789", "MINE=kept")
	s := w.start()
	session := s.create()
	s.prompt(session, "go")
	s.answer(s.asked(), "once")
	s.ended()
	result := w.model.Requests()[1].Results()[0].Text
	for _, secret := range []string{"test-key", "mark-openai"} {
		if strings.Contains(result, secret) {
			t.Errorf("%s is in %q", secret, result)
		}
	}
	if !strings.Contains(result, "MINE=kept") {
		t.Errorf("the user's variables are missing in %q", result)
	}
	s.quit()
}

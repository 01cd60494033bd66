//go:build unix

package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// roleVar makes the test binary a server or a bystander instead of running tests.
const roleVar = "RPC_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role, arg, _ := strings.Cut(os.Getenv(roleVar), " "); role {
	case "":
		goleak.VerifyTestMain(m)
	case "serve":
		parent, _ := strconv.Atoi(arg)
		serve(parent)
	case "hold":
		io.Copy(io.Discard, os.Stdin)
	}
}

// serve is what a door's main does.
func serve(parent int) {
	out, err := ClaimStdout()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	ctx, stop := context.WithCancel(context.Background())
	exited := WatchExit(ctx, parent)
	go func() {
		<-exited
		stop()
	}()
	c := New(Options{In: os.Stdin, Out: out, Methods: with(with(with(basics(),
		"pollute", Call(pollute)),
		"stderr", Call(func(context.Context, *struct{}) (bool, error) {
			_, err := os.Stderr.WriteString("to nobody")
			return errors.Is(err, syscall.EPIPE), nil
		})),
		"block", newBlocker().method())})
	c.Run(ctx)
	ctx, stop = context.WithTimeout(context.Background(), time.Second)
	defer stop()
	c.Close(ctx)
}

// pollute writes to standard output in every way there is.
func pollute(context.Context, *struct{}) (string, error) {
	fmt.Println("POLLUTED by fmt")
	println("POLLUTED by println")
	os.Stdout.WriteString("POLLUTED by os.Stdout")
	syscall.Write(1, []byte("POLLUTED by descriptor 1"))
	trace := make(chan struct{})
	go func() {
		defer close(trace)
		defer func() {
			recover()
			fmt.Printf("POLLUTED by a trace: %s", debug.Stack())
		}()
		panic("POLLUTED")
	}()
	<-trace
	sh := exec.Command("sh", "-c", `echo POLLUTED by a child; for fd in 3 4 5 6 7 8 9; do eval "echo POLLUTED by descriptor $fd >&$fd" 2>/dev/null; done; true`)
	sh.Stdout = os.Stdout
	return "done", sh.Run()
}

// server is a server process and the ends of its pipes.
type server struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *os.File
	stderr *os.File
	exited chan error
}

func start(t *testing.T, role string) *server {
	t.Helper()
	s := &server{t: t, cmd: exec.Command(os.Args[0]), exited: make(chan error, 1)}
	s.cmd.Env = append(os.Environ(), roleVar+"="+role)
	var outW, errW *os.File
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if s.out, outW, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	if s.stderr, errW, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	s.cmd.Stdout, s.cmd.Stderr = outW, errW
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	outW.Close()
	errW.Close()
	t.Cleanup(func() {
		s.cmd.Process.Kill()
		s.in.Close()
		s.out.Close()
		s.stderr.Close()
	})
	return s
}

func (s *server) send(bodies ...string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, frames(Headers, bodies...)); err != nil {
		s.t.Fatal(err)
	}
}

// exit waits for the process to end by itself.
func (s *server) exit(within time.Duration) error {
	s.t.Helper()
	go func() { s.exited <- s.cmd.Wait() }()
	select {
	case err := <-s.exited:
		return err
	case <-time.After(within):
		s.cmd.Process.Kill()
		<-s.exited
		s.t.Fatalf("still running after %v", within)
		return nil
	}
}

// TestS1StdoutIsGuarded: nothing but messages gets into the protocol stream.
func TestS1StdoutIsGuarded(t *testing.T) {
	s := start(t, "serve")
	s.send(`{"jsonrpc":"2.0","id":1,"method":"pollute"}`, ping2)
	s.in.Close()
	errs := make(chan []byte, 1)
	go func() {
		b, _ := io.ReadAll(s.stderr)
		errs <- b
	}()
	out, err := io.ReadAll(s.out)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(briefs(unframeAll(t, Headers, out)), "\n"); got != "1 = \"done\"\n"+pong2 {
		t.Errorf("on standard output:\n%s", got)
	}
	log := wait(t, "standard error", errs)
	for _, by := range []string{"fmt", "println", "os.Stdout", "descriptor 1", "a trace", "a child"} {
		if !bytes.Contains(log, []byte("POLLUTED by "+by)) {
			t.Errorf("nothing by %s on standard error", by)
		}
	}
	if bytes.Contains(log, []byte("POLLUTED by descriptor 3")) {
		t.Error("a child inherited the protocol's descriptor")
	}
	if err := s.exit(2 * time.Second); err != nil {
		t.Error(err)
	}
}

// TestSIGPIPEDoesNotKill: standard error gone, the server still serves.
func TestSIGPIPEDoesNotKill(t *testing.T) {
	s := start(t, "serve")
	s.stderr.Close()
	s.send(`{"jsonrpc":"2.0","id":1,"method":"stderr"}`, ping2)
	s.in.Close()
	out, _ := io.ReadAll(s.out)
	if got := strings.Join(briefs(unframeAll(t, Headers, out)), "\n"); got != "1 = true\n"+pong2 {
		t.Errorf("got %s", got)
	}
	if err := s.exit(2 * time.Second); err != nil {
		t.Error(err)
	}
}

// TestD1ProcessEndsWithItsInput: idle, inside a frame, during a call.
func TestD1ProcessEndsWithItsInput(t *testing.T) {
	for name, in := range map[string]string{
		"idle":       frame(Headers, ping1),
		"mid-frame":  "Content-Length: 100\r\n\r\n{",
		"mid-call":   frame(Headers, blocking("1")),
		"unanswered": "",
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, "serve")
			io.WriteString(s.in, in)
			s.in.Close()
			if err := s.exit(2 * time.Second); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestD2ProcessEndsWithItsOutput: standard output closed, standard input open.
func TestD2ProcessEndsWithItsOutput(t *testing.T) {
	s := start(t, "serve")
	s.out.Close()
	s.send(ping1)
	if err := s.exit(2 * time.Second); err != nil {
		t.Error(err)
	}
}

// TestD3ParentKilled: standard input is held open by another process, but the
// editor, named by its process id, has been killed and not even waited for.
func TestD3ParentKilled(t *testing.T) {
	editor := start(t, "hold")
	s := start(t, fmt.Sprint("serve ", editor.cmd.Process.Pid))
	s.send(ping1)
	body := make([]byte, len(frame(Headers, `{"jsonrpc":"2.0","id":1,"result":"pong"}`)))
	if _, err := io.ReadFull(s.out, body); err != nil {
		t.Fatal(err)
	}
	editor.cmd.Process.Signal(syscall.SIGKILL)
	if err := s.exit(10 * time.Second); err != nil {
		t.Error(err)
	}
	editor.cmd.Wait()
}

func TestWatchExit(t *testing.T) {
	child := start(t, "hold")
	pid := child.cmd.Process.Pid
	exited := WatchExit(t.Context(), pid)
	select {
	case <-exited:
		t.Fatal("told of an exit while the process runs")
	case <-time.After(1500 * time.Millisecond): // one look at a living process
	}
	child.in.Close()
	wait(t, "exit", exited)
	child.cmd.Wait()
	for _, gone := range []int{pid, 0, -1} {
		select {
		case <-WatchExit(t.Context(), gone):
			t.Errorf("pid %d, dead from the start, was watched", gone)
		default:
		}
	}
}

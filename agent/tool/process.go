package tool

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

const (
	// patience is how long an interrupted command has to end by itself.
	patience = 30 * time.Millisecond
	// A killed process is gone when the system has got round to it.
	killRounds = 100
	killPause  = time.Millisecond
)

// A mark is what all processes of one command inherit and no others have, in
// whatever session they are and whoever their parent is.
type mark struct {
	variable string // "name=value" in their environment
	file     string // where their descriptor markFD leads; empty where that cannot be seen
}

// A process is a command that was started, with all that it starts in turn.
type process struct {
	cmd   *exec.Cmd
	mark  mark
	ended chan struct{} // closed when the shell has ended

	known []int // its processes, seen while it ran

	read  chan struct{} // closed when all output was read
	pipes []*os.File    // our ends
}

// start runs command in dir with no input and writes what it prints to out.
func start(command, dir string, env []string, out *output) (*process, error) {
	p := &process{cmd: shell(command), ended: make(chan struct{}), read: make(chan struct{})}
	p.mark.variable = "SHIRO_CALL=" + rand.Text()
	p.cmd.Dir, p.cmd.Env = dir, append(env, p.mark.variable)
	isolate(p.cmd)
	passed, err := passMark(p.cmd, &p.mark)
	if err != nil {
		return nil, err
	}
	defer passed.Close()
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		outR.Close()
		outW.Close()
		return nil, err
	}
	p.pipes = []*os.File{outR, errR}
	p.cmd.Stdout, p.cmd.Stderr = outW, errW
	err = p.cmd.Start()
	outW.Close()
	errW.Close()
	if err != nil {
		p.closePipes()
		return nil, err
	}
	go p.wait()
	go p.copy(&out.stdout, &out.stderr)
	return p, nil
}

func (p *process) wait() {
	_ = p.cmd.Wait() // how it ended is in cmd.ProcessState
	close(p.ended)
}

func (p *process) copy(screens ...*screen) {
	var wg sync.WaitGroup
	for i, s := range screens {
		wg.Go(func() {
			_, _ = io.Copy(s, readerOnly{p.pipes[i]}) // ends with the pipe or its deadline
			s.Close()
		})
	}
	wg.Wait()
	close(p.read)
}

// readerOnly hides a file's other methods, with which io.Copy would go round Write.
type readerOnly struct{ io.Reader }

func (p *process) closePipes() {
	for _, f := range p.pipes {
		f.Close()
	}
}

// end stops the command and everything it started, and waits until it is gone.
// Who belongs to it is looked up first: with a parent that has ended, a child
// may have nothing left to be known by.
func (p *process) end() {
	p.known = family(p.cmd.Process.Pid, p.mark, nil)
	interrupt(p.cmd.Process.Pid)
	select {
	case <-p.ended:
	case <-time.After(patience):
	}
	p.kill()
	<-p.ended
}

// kill ends what is left of the command, and waits until it is gone.
func (p *process) kill() {
	for range killRounds {
		if !kill(p.cmd.Process.Pid, p.mark, p.known) {
			return
		}
		time.Sleep(killPause)
	}
}

// drain reads the rest of the output of a command that has ended. What keeps
// the output open is waited for a moment, then ended; drain reports that.
func (p *process) drain(ctx context.Context) (killed bool) {
	defer p.closePipes()
	select {
	case <-p.read:
		return false
	case <-ctx.Done():
	case <-time.After(linger):
	}
	p.kill()
	for _, f := range p.pipes {
		_ = f.SetReadDeadline(time.Now().Add(linger))
	}
	<-p.read
	return true
}

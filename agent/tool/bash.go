package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// linger is how long output is waited for after the shell has ended, for what
// is still on its way through a process the shell did not wait for.
const linger = 100 * time.Millisecond

// maxCommand is how long a command may be, in bytes: systems refuse to start a
// program with an argument of 128 KiB.
const maxCommand = 100 << 10

type bashInput struct {
	command string
	timeout int
}

func (in *bashInput) fields() inputs {
	in.timeout = 120_000
	return inputs{
		{name: "command", into: &in.command, required: true, max: maxCommand},
		{name: "timeout", into: &in.timeout, min: 1000, max: 600_000, about: "milliseconds"},
	}
}

func (s *set) bash() Tool {
	return Tool{
		Name: "bash", Set: "core", Kind: "execute", Mutates: true,
		input: blank[bashInput],
		Describe: func(input json.RawMessage) Subject {
			command := member[string](input, "command")
			return Subject{Title: title("Run", command), Command: command, Subjects: []string{command}}
		},
		Run: s.runBash,
	}
}

// runBash runs a command in the workspace root. The shell is not a login shell:
// its environment is the editor's, which a profile would replace (PATH on most
// systems) or slow down, and from which secrets were taken.
//
// Processes left behind live on if they let go of the output, as a server
// started with "cmd >log 2>&1 &" does. If one still holds it, all that the
// command left are ended. After a timeout or an interrupt none is left that can
// be told as the command's own: that is in its group, descends from it, or bears
// its mark. On Linux a process gets away only by giving up all of these, its
// session, its parent, its environment and the descriptor it got; elsewhere the
// session is enough. What another program starts for a command, a daemon or
// sudo, is not the command's own.
func (s *set) runBash(ctx context.Context, c Call) (string, error) {
	var in bashInput
	if err := in.fields().decode(c.Input); err != nil {
		return "", err
	}
	root := s.Workspace.Root
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return "", fmt.Errorf("the working directory %s does not exist any more: make it again, for example by writing a file in it", root)
	}
	out := newOutput(s.mask, live(c.Output))
	p, err := start(in.command, root, s.environ(), out)
	if err != nil {
		return "", fmt.Errorf("starting the shell: %w", err)
	}
	deadline := time.NewTimer(time.Duration(in.timeout) * time.Millisecond)
	defer deadline.Stop()
	var notes []string
	select {
	case <-p.ended:
	case <-deadline.C:
		p.end()
		notes = append(notes, fmt.Sprintf("timed out after %d ms", in.timeout))
	case <-ctx.Done():
		p.end()
	}
	held := p.drain(ctx)
	if ctx.Err() != nil {
		p.kill()
		return "", errors.New(out.report("The user interrupted the command. It did not finish; what it has done so far is unknown."))
	}
	code, signal := ending(p.cmd)
	if signal != "" {
		notes = append(notes, "ended by "+signal)
	}
	if held {
		notes = append(notes, "background processes that held the output were ended: redirect their output to keep them")
	}
	head := fmt.Sprintf("exit: %d", code)
	if len(notes) > 0 {
		head += "\n" + strings.Join(notes, "; ")
	}
	return out.report(head), nil
}

// environ is the environment of a command: without secrets, and with settings
// under which programs neither ask, nor page, nor open an editor.
func (s *set) environ() []string {
	env := s.Env
	if env == nil {
		env = os.Environ()
	}
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(s.SecretNames, name)
	})
	return append(env,
		"TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "SYSTEMD_PAGER=cat",
		"EDITOR=true", "VISUAL=true", "GIT_EDITOR=true", "GIT_SEQUENCE_EDITOR=true",
		"GIT_TERMINAL_PROMPT=0", "SSH_ASKPASS_REQUIRE=never", "DEBIAN_FRONTEND=noninteractive",
	)
}

// maxLive is how many bytes of a command's output are passed on while it runs.
const maxLive = 1 << 20

// live returns what to call with output as it comes, until it says that this
// was enough: it hands on to send, one call at a time.
func live(send func(channel, text string)) func(channel, text string) bool {
	var mu sync.Mutex
	sent := 0
	return func(channel, text string) bool {
		mu.Lock()
		defer mu.Unlock()
		if send == nil || sent > maxLive {
			return false
		}
		if sent += len(text); sent > maxLive {
			text = "\n... [more output is not shown while the command runs]\n"
		}
		send(channel, text)
		return sent <= maxLive
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"shiro/lsp/lsptest"
)

// A demoServer is the server as a process, with the editor connected to it.
type demoServer struct {
	*lsptest.Editor
	env   []string // of the process
	file  string   // the document that the editor has open
	saved string   // its text on disk
	at    int      // events before this one have been looked at
	ready time.Duration

	cmd *exec.Cmd // nil when none runs
	log *os.File
}

// start starts this program as a server, beside the open file, and introduces
// the editor.
func (s *demoServer) start(ctx context.Context, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("opening the file: %w", err)
	}
	s.file, s.saved, s.at = file, string(text), 0
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	cmd := exec.Command(exe, "lsp")
	cmd.Env, cmd.Dir, cmd.Stderr = s.env, filepath.Dir(file), s.log
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	s.cmd, s.Editor = cmd, lsptest.Connect(in, out)
	if _, err := s.Initialize(ctx, cmd.Dir, nil); err != nil {
		return fmt.Errorf("introducing the editor: %w", err)
	}
	s.ready = time.Since(begun)
	return s.Open(file, s.saved)
}

func (s *demoServer) pid() int { return s.cmd.Process.Pid }

// save writes the document if its text changed, as an editor with autosave
// does, and reports whether it did.
func (s *demoServer) save() (bool, error) {
	b, ok := s.Buffer(s.file)
	if !ok || b.Text == s.saved {
		return false, nil
	}
	if err := os.WriteFile(s.file, []byte(b.Text), 0o644); err != nil {
		return false, fmt.Errorf("saving the document: %w", err)
	}
	s.saved = b.Text
	return true, s.Notify("textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": lsptest.URI(s.file)}})
}

// end kills the server if it runs, as kill -9 does.
func (s *demoServer) end() {
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Kill() // fails only when it has ended by itself
	s.wait()
}

func (s *demoServer) wait() error {
	<-s.Done()
	err := s.cmd.Wait()
	s.cmd = nil
	return err
}

// quit shuts the server down in order.
func (s *demoServer) quit(ctx context.Context) error {
	if err := s.Call(ctx, "shutdown", nil, nil); err != nil {
		return fmt.Errorf("shutting the server down: %w", err)
	}
	if err := s.Notify("exit", nil); err != nil {
		return fmt.Errorf("shutting the server down: %w", err)
	}
	select {
	case <-s.Done():
	case <-ctx.Done():
		return fmt.Errorf("waiting for the server's end: %w", ctx.Err())
	}
	if err := s.wait(); err != nil {
		return fmt.Errorf("the server ended with %w", err)
	}
	if stray := s.Stray(); len(stray) > 0 {
		return errors.New("the server's stdout held more than messages: " + stray[0])
	}
	return nil
}

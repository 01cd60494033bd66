package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	mock "shiro/agent/provider/providertest"
	wire "shiro/lsp/protocol"
)

// crashRounds is how often the server is killed; SHIRO_CRASH_ROUNDS overrides it.
func crashRounds(t *testing.T) int {
	v := os.Getenv("SHIRO_CRASH_ROUNDS")
	if v == "" {
		return 40
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// worker plays a model that reads, runs a command and writes in turns of 20
// steps, and ends a turn with a word.
func worker(r mock.Request) mock.Step {
	steps := 0
	for _, it := range r.Items() {
		switch {
		case it.Kind == "message" && it.Role == "user" && !strings.HasPrefix(it.Text, "<session_state>"):
			steps = 0
		case it.Kind == "call":
			steps++
		}
	}
	last := r.Users()
	switch n := steps; {
	case len(last) > 0 && strings.Contains(strings.Join(last, "\n"), "are you there?"):
		return mock.Say("still here")
	case n >= 20:
		return mock.Say("worked")
	case n%5 == 4:
		return mock.Reply(mock.Reasoning("note it"), mock.Call("todo_write", args{"todos": []args{{"content": fmt.Sprint("step ", n), "status": "in_progress"}}}))
	case n%5 == 3:
		return mock.Reply(mock.Text("write"), mock.Call("bash", args{"command": fmt.Sprintf("echo %d >>log.txt", n)}))
	case n%5 == 2:
		return mock.Reply(mock.Reasoning("two at once"), mock.Call("read_file", args{"path": "a.txt"}), mock.Call("list_dir", nil))
	default:
		return mock.Reply(mock.Text("read"), mock.Call("read_file", args{"path": "a.txt", "offset": n + 1}))
	}
}

// The server is killed at every sort of moment of turns of 20 steps. After the
// restart, all that the client saw completed is there, every file parses, no
// temporary file is left, and the conversation goes on.
func TestCrash(t *testing.T) {
	rounds := crashRounds(t)
	next := make(chan int)
	go func() {
		defer close(next)
		for i := range rounds {
			next <- i
		}
	}()
	var wg sync.WaitGroup
	for n := range 2 {
		wg.Go(func() {
			w := newWorld(t, mock.Options{Fallback: mock.Func(worker)})
			w.config("[provider]\napi = \"responses\"\n[permission]\nbash = \"allow\"\n[agent]\nmax_steps = 100\n")
			w.write("a.txt", strings.Repeat("a line\n", 50))
			for i := range next {
				crashOnce(t, w, rand.New(rand.NewPCG(uint64(i), uint64(n))))
				if t.Failed() {
					return
				}
			}
			w.strict()
			checkState(t, w)
		})
	}
	wg.Wait()
	for range next { // the other worker failed
	}
}

func crashOnce(t *testing.T, w *world, rng *rand.Rand) {
	s := w.launch()
	fatal := 1 + rng.IntN(220) // the number of the event that is the last to be seen
	var mu sync.Mutex
	var seen []wire.Event
	s.OnEvent = func(e wire.Event) {
		mu.Lock()
		defer mu.Unlock()
		if seen = append(seen, e); len(seen) == fatal {
			s.cmd.Process.Kill()
		}
	}
	if _, err := s.Initialize(s.ctx(), w.dir, nil); err != nil {
		t.Errorf("initialize: %v", err)
		return
	}
	session := s.create()
	p := wire.TurnStartParams{SessionID: session, Input: []wire.Content{{Type: wire.ContentText, Text: "work"}}}
	s.Call(s.ctx(), wire.MethodTurnStart, p, nil) // may not be answered any more
	s.WaitEvent(s.ctx(), 0, func(e wire.Event) bool { return e.Type == wire.EventTurnCompleted })
	s.kill()
	mu.Lock()
	seen = s.Events() // with those that were in the pipe
	mu.Unlock()

	after := w.start()
	all := 1000
	var at wire.SessionAttachResult
	if err := after.Call(after.ctx(), wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: session, TailItems: &all}, &at); err != nil {
		if len(completed(seen)) > 1 { // the prompt alone may be too young
			t.Errorf("killed at event %d: attach: %v", fatal, err)
		}
		after.quit()
		return
	}
	have := make(map[string]wire.Item)
	for _, it := range at.State.Items {
		have[it.ID] = it
	}
	for id, it := range completed(seen) {
		got, ok := have[id]
		if !ok || got.Text != it.Text || got.Output != it.Output {
			t.Errorf("killed at event %d: the client saw %+v, after the restart it is %+v", fatal, it, got)
		}
	}
	if at.State.ActiveTurn != nil {
		t.Errorf("killed at event %d: a turn runs after the restart", fatal)
	}
	after.prompt(session, "are you there?")
	if end := after.ended(); end.Status != wire.TurnDone {
		t.Errorf("killed at event %d: the next turn: %+v %+v", fatal, end, end.Error)
	}
	after.quit()
}

// completed are the items that were told to be whole.
func completed(events []wire.Event) map[string]wire.Item {
	all := make(map[string]wire.Item)
	for _, e := range events {
		if d, ok := e.Data.(wire.ItemEvent); ok && e.Type == wire.EventItemCompleted && !d.Item.Withdrawn {
			all[d.Item.ID] = d.Item
		}
	}
	return all
}

func checkState(t *testing.T, w *world) {
	root := filepath.Join(w.home, ".shiro-neko")
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch name := d.Name(); {
		case strings.HasSuffix(name, ".json"):
			data, err := os.ReadFile(path)
			if err != nil || !json.Valid(data) {
				t.Errorf("%s: %v, valid %v", path, err, json.Valid(data))
			}
		case name != ".lock" && name != "config.toml":
			t.Errorf("left over: %s", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	mock "shiro/agent/provider/providertest"
	wire "shiro/lsp/protocol"
)

// Two servers and something that rewrites files as the terminal tool does
// (whole file, in place, no lock) on one home: every prompt, every note and
// every message of the terminal is on disk at the end.
func TestSoak(t *testing.T) {
	turns := 25
	if v := os.Getenv("SHIRO_SOAK_TURNS"); v != "" {
		if _, err := fmt.Sscan(v, &turns); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld(t, mock.Options{Fallback: mock.Func(func(r mock.Request) mock.Step {
		if len(r.Results()) == 0 {
			last := r.Users()[len(r.Users())-1]
			return mock.Call("remember", args{"kind": "fact", "text": "learnt in " + last})
		}
		return mock.Say("noted")
	})}).speaks("responses")
	servers := []*server{w.start(), w.start()}
	sessions := []string{servers[0].create(), servers[1].create()}

	// The second server may not write the first one's session, and says why.
	servers[0].prompt(sessions[0], "first")
	servers[0].ended()
	w.waitRecord(sessions[0], "noted")
	e := servers[1].refused(wire.KindSessionLocked, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: sessions[0]})
	if want := fmt.Sprintf(`"ownerPid":%d`, servers[0].cmd.Process.Pid); !strings.Contains(string(e.Data), want) {
		t.Errorf("data %s lacks %s", e.Data, want)
	}

	var wg sync.WaitGroup
	stop := make(chan struct{})
	terminal := 0
	wg.Go(func() { terminal = playTerminal(t, w, sessions[0], stop) })
	var working sync.WaitGroup
	for n, s := range servers {
		working.Go(func() {
			for i := range turns {
				if err := s.Call(s.ctx(), wire.MethodTurnStart, wire.TurnStartParams{
					SessionID: sessions[n], Input: []wire.Content{{Type: wire.ContentText, Text: fmt.Sprintf("prompt %d-%d.", n, i)}},
				}, nil); err != nil {
					t.Error(err)
					return
				}
				at := s.at
				_, at, err := s.WaitEvent(s.ctx(), at, func(e wire.Event) bool { return e.Type == wire.EventTurnCompleted })
				if err != nil {
					t.Error(err)
					return
				}
				s.at = at
			}
		})
	}
	working.Wait()
	close(stop)
	wg.Wait()
	for _, s := range servers {
		s.quit()
	}
	w.strict()
	checkState(t, w)

	texts := everything(t, filepath.Join(w.home, ".shiro-neko", "sessions"))
	for n := range servers {
		for i := range turns {
			if p := fmt.Sprintf("prompt %d-%d.", n, i); !strings.Contains(texts, p) {
				t.Errorf("%q is in no session", p)
			}
		}
	}
	for i := range terminal {
		if m := fmt.Sprintf("terminal %d.", i); !strings.Contains(texts, m) {
			t.Errorf("%q is in no session", m)
		}
	}
	if terminal < 3 {
		t.Errorf("the terminal wrote %d times only", terminal)
	}
	notes := everything(t, filepath.Join(w.home, ".shiro-neko", "memory"))
	const kept = 300 // the store drops the oldest beyond
	if got, want := strings.Count(notes, "learnt in "), min(2*turns+1, kept); got != want {
		t.Errorf("%d notes, want %d", got, want)
	}
}

// playTerminal goes on with a session as the terminal tool would: it has the
// messages in memory and writes the whole file in place.
func playTerminal(t *testing.T, w *world, session string, stop chan struct{}) (written int) {
	path := filepath.Join(w.home, ".shiro-neko", "sessions", session+".json")
	rec := w.record(session)
	for {
		select {
		case <-stop:
			return written
		case <-time.After(30 * time.Millisecond):
		}
		rec["messages"] = append(rec["messages"].([]any), map[string]any{"role": "user", "content": fmt.Sprintf("terminal %d.", written)})
		data, err := json.MarshalIndent(rec, "", "  ")
		if err != nil {
			t.Error(err)
			return written
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Error(err)
			return written
		}
		written++
	}
}

func everything(t *testing.T, dir string) string {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil || !json.Valid(data) {
			t.Errorf("%s: %v, valid %v", f, err, json.Valid(data))
		}
		b.Write(data)
	}
	return b.String()
}

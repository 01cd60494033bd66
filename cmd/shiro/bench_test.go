package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	mock "shiro/agent/provider/providertest"
	wire "shiro/lsp/protocol"
	"shiro/memory"
	"shiro/memory/transcript"
)

// The figures a user feels, each through the real process, real pipes and real
// HTTP: go test ./cmd/shiro -run - -bench . -benchtime 20x

// From spawning the process to the answer of initialize, and to a session.
func BenchmarkStart(b *testing.B) {
	w := newWorld(b, mock.Options{})
	var session time.Duration
	for b.Loop() {
		begun := time.Now()
		s := w.start()
		b.StopTimer()
		s.create()
		session += time.Since(begun)
		s.quit()
		b.StartTimer()
	}
	b.ReportMetric(float64(session.Milliseconds())/float64(b.N), "ms/session")
}

// From a prompt to the first byte of its request at the model server, in a new
// session and in a warm one.
func BenchmarkPromptToWire(b *testing.B) {
	w := newWorld(b, mock.Options{Fallback: mock.Say("ok")})
	w.speaks("responses")
	s := w.start()
	var first, warm time.Duration
	for b.Loop() {
		session := s.create()
		first += toWire(s, session)
		warm += toWire(s, session)
	}
	b.ReportMetric(float64(first.Microseconds())/float64(b.N), "µs/first")
	b.ReportMetric(float64(warm.Microseconds())/float64(b.N), "µs/warm")
}

func toWire(s *server, session string) time.Duration {
	n := len(s.w.model.Requests())
	begun := time.Now()
	s.prompt(session, "go")
	s.ended()
	return s.w.model.Requests()[n].At.Sub(begun)
}

// What 5 000 deltas written at once cost the server, and how many of them a
// second reach the client.
func BenchmarkDeltas(b *testing.B) {
	const deltas = 5000
	w := newWorld(b, mock.Options{Fallback: mock.Say(strings.Repeat("16 bytes of text", deltas)).Chunk(16)})
	w.speaks("responses")
	s := w.start()
	session := s.create()
	toWire(s, session)
	cpu := cpuTime(b, s)
	for b.Loop() {
		s.prompt(session, "go")
		s.ended()
	}
	b.ReportMetric(float64(deltas*b.N)/b.Elapsed().Seconds(), "deltas/s")
	b.ReportMetric(float64((cpuTime(b, s)-cpu).Milliseconds())/float64(b.N), "cpu-ms/5000")
}

// A turn of 50 tool calls, and the same after 500: time and CPU per step, with
// a tool in the process and with a shell.
func BenchmarkToolSteps(b *testing.B) {
	for _, tool := range []string{"read_file", "bash"} {
		for _, before := range []int{0, 500} {
			b.Run(fmt.Sprintf("%s after %d", tool, before), func(b *testing.B) {
				w := newWorld(b, mock.Options{})
				w.config("[provider]\napi = \"responses\"\n[agent]\nmax_steps = 1000\n[permission]\nbash = \"allow\"\n")
				w.write("a.txt", strings.Repeat("a line of some length\n", 20))
				s := w.start()
				session := s.create()
				if before > 0 {
					steps(s, session, "read_file", before)
				}
				cpu, wall := cpuTime(b, s), time.Duration(0)
				for b.Loop() {
					wall += steps(s, session, tool, 50)
				}
				b.ReportMetric(float64(wall.Microseconds())/float64(50*b.N), "µs/step")
				b.ReportMetric(float64((cpuTime(b, s)-cpu).Microseconds())/float64(50*b.N), "cpu-µs/step")
				b.ReportMetric(float64(rss(b, s))/1e6, "MB")
			})
		}
	}
}

func steps(s *server, session, tool string, n int) time.Duration {
	script := make([]mock.Step, n, n+1)
	for i := range script { // no two calls are the same, or the turn would be stopped
		input := map[string]args{"read_file": {"path": "a.txt", "limit": 20 + i}, "bash": {"command": fmt.Sprint("true ", i)}}[tool]
		script[i] = mock.Reply(mock.Reasoning("next"), mock.Call(tool, input))
	}
	before := len(s.w.model.Requests())
	s.w.model.Script(append(script, mock.Say("done"))...)
	begun := time.Now()
	s.prompt(session, "go")
	s.ended()
	took := time.Since(begun)
	if got := len(s.w.model.Requests()) - before; got != n+1 {
		s.w.t.Fatalf("%d requests in a turn of %d steps", got, n)
	}
	return took
}

// Opening a stored conversation of 2 120 messages, whole, and the next request
// after it.
func BenchmarkOpenStored(b *testing.B) {
	w := newWorld(b, mock.Options{Fallback: mock.Say("ok")})
	w.speaks("responses")
	rec := &transcript.Session{ID: memory.NewID(), CreatedAt: "2026-08-11T09:10:00.000Z", UpdatedAt: "2026-08-11T09:10:00.000Z", CWD: w.dir, Provider: "openai", Model: "mock"}
	rec.Messages = append(rec.Messages, transcript.User("read it"))
	for i := range 1059 {
		c := transcript.Part{Type: transcript.TypeToolCall, ToolCallID: fmt.Sprint("call_", i), ToolName: "read_file", Input: []byte(`{"path":"a.txt"}`)}
		out := transcript.Output{Type: transcript.OutputText, Text: strings.Repeat("a line of some length\n", 40)}
		rec.Messages = append(rec.Messages, transcript.Assistant(transcript.Text("next"), c), transcript.Tool(transcript.Result(c, out, true)))
	}
	rec.Messages = append(rec.Messages, transcript.Assistant(transcript.Text("done")))
	writer, err := memory.Open(memory.Options{Dir: stateDir(w.home)}).Writer(memory.WriterOptions{Session: rec.ID})
	if err != nil {
		b.Fatal(err)
	}
	writer.Save(rec)
	if err := writer.Close(); err != nil {
		b.Fatal(err)
	}
	var request time.Duration
	for b.Loop() {
		b.StopTimer()
		s := w.start()
		b.StartTimer()
		all := 5000
		call[wire.SessionAttachResult](s, wire.MethodSessionAttach, wire.SessionAttachParams{SessionID: rec.ID, TailItems: &all})
		b.StopTimer()
		request += toWire(s, rec.ID)
		s.kill() // the record stays as it is
		b.StartTimer()
	}
	b.ReportMetric(float64(request.Microseconds())/float64(b.N), "µs/request")
}

// Resident memory of a server that has a session and does nothing.
func BenchmarkIdleMemory(b *testing.B) {
	w := newWorld(b, mock.Options{})
	for b.Loop() {
		s := w.start()
		s.create()
		b.ReportMetric(float64(rss(b, s))/1e6, "MB")
		s.quit()
	}
}

// cpuTime is what the process has used so far.
func cpuTime(b *testing.B, s *server) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+2:]))
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// rss is the process's resident memory in bytes.
func rss(b *testing.B, s *server) int {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	pages, _ := strconv.Atoi(strings.Fields(string(statm))[1])
	return pages * os.Getpagesize()
}

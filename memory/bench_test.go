package memory

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"shiro/memory/transcript"
)

// turns is a history of n turns of four messages, about 5 kB each.
func turns(n int) []*transcript.Message {
	var all []*transcript.Message
	for i := range n {
		call := transcript.Part{
			Type: transcript.TypeToolCall, ToolCallID: fmt.Sprint("call_", i), ToolName: "read_file",
			Input: json.RawMessage(`{"path":"src/a.go","offset":1}`), ProviderOptions: json.RawMessage(`{"openai":{"itemId":"fc_1"}}`),
		}
		all = append(all,
			transcript.User(fmt.Sprint("Now do step ", i)),
			transcript.Assistant(transcript.Part{Type: transcript.TypeReasoning, ProviderOptions: json.RawMessage(`{"openai":{"itemId":"rs_1","reasoningEncryptedContent":null}}`)},
				transcript.Text("I read it first."), call),
			transcript.Tool(transcript.Result(call, transcript.Output{Type: transcript.OutputText, Text: strings.Repeat("12\tfunc main() {\n13\t\tprint(\"hello\") // <world>\n", 70)}, true)),
			transcript.Assistant(transcript.Text(strings.Repeat("That was done as you said. ", 10))))
	}
	return all
}

func BenchmarkSave1MB(b *testing.B) {
	s := newStore(b)
	session := newSession(NewID(), "/p")
	session.Messages = turns(225)
	w := openWriter(b, s, WriterOptions{})
	defer w.Close()
	for b.Loop() {
		w.Save(session)
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(content(b, s.recordPath(session.ID)))))
}

func BenchmarkLoad2120Messages(b *testing.B) {
	s := newStore(b)
	session := newSession(NewID(), "/p")
	session.Messages = turns(530)
	save(b, s, session, Stamp{})
	b.SetBytes(int64(len(content(b, s.recordPath(session.ID)))))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.Load(session.ID); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkList(b *testing.B) {
	s := newStore(b)
	size := 0
	for i := range 2000 {
		session := newSession(NewID(), "/p")
		session.Messages = turns(1 + i%10)
		compact, _ := session.MarshalJSON()
		data, err := pretty(compact)
		if err != nil {
			b.Fatal(err)
		}
		size += len(data)
		write(b, s.recordPath(session.ID), string(data))
	}
	for _, c := range []struct {
		name string
		warm bool
		o    ListOptions
	}{
		{"cold/page", false, ListOptions{Limit: 50}},
		{"cold/all", false, ListOptions{}},
		{"cold/query", false, ListOptions{Query: "xyz", Limit: 50}},
		{"warm/page", true, ListOptions{Limit: 50}},
		{"warm/query", true, ListOptions{Query: "xyz", Limit: 50}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !c.warm {
					s = Open(Options{Dir: s.dir})
				}
				if l, err := s.List(c.o); err != nil || l.Skipped > 0 || len(l.Sessions) == 0 && c.o.Query == "" {
					b.Fatal(len(l.Sessions), l.Skipped, err)
				}
			}
			b.ReportMetric(float64(size)/1e6, "MB-on-disk")
		})
	}
}

func BenchmarkRemember(b *testing.B) {
	s := newStore(b)
	n := s.Notes("/p")
	i := 0
	for b.Loop() {
		i++
		if _, err := n.Remember("fact", fmt.Sprint("a fact of some length about the project, number ", i, time.Time{})); err != nil {
			b.Fatal(err)
		}
	}
}

// The worst case of a search: no session holds the text.
func BenchmarkSearchPrompts(b *testing.B) {
	s := newStore(b)
	size := 0
	for i := range 2000 {
		session := newSession(NewID(), "/p")
		session.Messages = turns(1 + i%10)
		compact, _ := session.MarshalJSON()
		data, err := pretty(compact)
		if err != nil {
			b.Fatal(err)
		}
		write(b, s.recordPath(session.ID), string(data))
		size += len(data)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		if l := list(b, s, ListOptions{Query: "no such words", Limit: 50}); len(l.Sessions) > 0 {
			b.Fatal(ids(l))
		}
	}
}

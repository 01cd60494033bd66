package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func toolCall(id string) Part {
	return Part{Type: TypeToolCall, ToolCallID: id, ToolName: "bash", Input: json.RawMessage(`{}`)}
}

func output(id, text string) Part {
	return Result(toolCall(id), Output{Type: OutputText, Text: text}, true)
}

// journalOf is what a server would have logged of a conversation.
func journalOf(ms []*Message) []Entry {
	var es []Entry
	for i, m := range ms {
		es = append(es, Entry{Seq: uint64(i + 1), Kind: EntryMessage, At: i, After: Mark(ms[:i]), Message: m})
	}
	return es
}

func texts(ms []*Message) string {
	var all []string
	for _, m := range ms {
		all = append(all, string(m.raw))
	}
	return strings.Join(all, "\n")
}

// From any point of a conversation at which the record was last written, the
// journal gives the rest, and only the rest.
func TestReplayFromEveryRecord(t *testing.T) {
	for name, ms := range fixtures(t) {
		entries := journalOf(ms)
		for n := range len(ms) + 1 {
			s := &Session{Messages: slices.Clone(ms[:n])}
			err := s.Replay(entries)
			if err != nil || s.Seq != uint64(len(ms)) || texts(s.Messages) != texts(ms) {
				t.Errorf("%s from %d: seq %d, %v\n%s", name, n, s.Seq, err, texts(s.Messages))
			}
			for from := range n + 1 { // the journal was cut when the record was written
				s := &Session{Messages: slices.Clone(ms[:n])}
				if err := s.Replay(entries[from:]); err != nil || len(s.Messages) != len(ms) {
					t.Errorf("%s from %d, journal from %d: %v", name, n, from, err)
				}
			}
		}
	}
}

func TestReplayOfAnotherHistory(t *testing.T) {
	ms := []*Message{User("a"), Assistant(Text("b")), User("c")}
	entries := journalOf(ms)
	for name, record := range map[string][]*Message{
		"another message": {User("a"), Assistant(Text("other"))},
		"compacted":       {User("Summary of the session so far:\n\na b")},
		"grown":           {User("a"), Assistant(Text("b")), User("from the terminal"), Assistant(Text("d"))},
	} {
		s := &Session{Messages: slices.Clone(record)}
		if err := s.Replay(entries[1:]); !errors.Is(err, ErrOtherHistory) {
			t.Errorf("%s: %v", name, err)
		}
		if texts(s.Messages) != texts(record) {
			t.Errorf("%s: the record changed: %s", name, texts(s.Messages))
		}
	}
	s := &Session{}
	if err := s.Replay(entries[2:]); !errors.Is(err, ErrOtherHistory) {
		t.Errorf("a gap: %v", err)
	}
}

// A step that was cut off keeps what it came to.
func TestReplayClosesAStep(t *testing.T) {
	ms := []*Message{User("a")}
	response := Assistant(Text("running"), toolCall("1"), toolCall("2"), toolCall("3"))
	entries := append(journalOf(ms),
		Entry{Kind: EntryResponse, At: 1, After: Mark(ms), Message: response}, NewResult(output("3", "three")), NewResult(output("1", "one")))
	s := &Session{}
	if err := s.Replay(entries); err != nil {
		t.Fatal(err)
	}
	if len(s.Messages) != 3 || string(s.Messages[1].raw) != string(response.raw) {
		t.Fatalf("%s", texts(s.Messages))
	}
	var got []string
	for _, p := range s.Messages[2].Parts {
		got = append(got, fmt.Sprint(p.ToolCallID, ":", p.Output.Type, ":", p.Output.Text[:3]))
	}
	if want := "[1:text:one 2:error-text:Err 3:text:thr]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}

	// Once the step is whole, its messages count.
	whole := append(entries,
		Entry{Kind: EntryMessage, At: 1, After: Mark(ms), Message: response},
		Entry{Kind: EntryMessage, At: 2, After: Mark([]*Message{response}), Message: Tool(output("1", "one"), output("2", "two"), output("3", "three"))})
	s = &Session{}
	if err := s.Replay(whole); err != nil || len(s.Messages) != 3 || s.Messages[2].Parts[1].Output.Text != "two" {
		t.Errorf("%v %s", err, texts(s.Messages))
	}
}

func TestReplayOfTheRest(t *testing.T) {
	cost := 0.5
	s := &Session{Messages: []*Message{User("a")}, InputTokens: 1}
	err := s.Replay([]Entry{
		{Kind: EntryNotebook, Notebook: Notebook([]Todo{{"x", TodoDone, ""}})},
		{Kind: EntryTotals, InputTokens: 10, OutputTokens: 5, CostUSD: &cost},
		{Kind: "later version's", At: 99},
	})
	if err != nil || s.InputTokens != 10 || *s.CostUSD != 0.5 || len(Todos(s.Notebook)) != 1 {
		t.Errorf("%+v %v", s, err)
	}
	for _, bad := range []Entry{{Kind: EntryMessage}, {Kind: EntryResult}} {
		if err := s.Replay([]Entry{bad}); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

func TestEntriesAreLines(t *testing.T) {
	e := Entry{Seq: 7, Kind: EntryMessage, At: 3, After: "0011223344556677", Message: User("a\nb 😀 <")}
	b, err := json.Marshal(e)
	if err != nil || strings.Contains(string(b), "\n") {
		t.Fatalf("%s %v", b, err)
	}
	var back Entry
	if err := json.Unmarshal(b, &back); err != nil || back.At != 3 || back.Message.Text != e.Message.Text {
		t.Errorf("%+v %v", back, err)
	}
}

// Calls that waited for the user and have a result in the journal are settled;
// the others go on waiting.
func TestReplaySettlesApprovedCalls(t *testing.T) {
	request := func(id string) Part {
		return Part{Type: TypeApprovalRequest, ToolCallID: id, ApprovalID: "aitxt-" + id}
	}
	ms := []*Message{User("go"), Assistant(toolCall("1"), request("1"), toolCall("2"), request("2"), toolCall("3"), request("3"))}
	interrupted := Result(toolCall("1"), Output{Type: OutputErrorText, Text: CutShort}, false)
	denied := Result(toolCall("3"), Output{Type: OutputDenied, Text: "not that"}, false)
	for name, c := range map[string]struct {
		results []Part
		want    string
	}{
		"none":             {nil, ""},
		"one began":        {[]Part{interrupted}, "1 true error-text"},
		"one began, ended": {[]Part{interrupted, output("1", "done")}, "1 true text"},
		"one ran, one not": {[]Part{output("1", "done"), denied}, "1 true text, 3 false execution-denied"},
		"a stranger":       {[]Part{output("9", "done")}, ""},
	} {
		entries := journalOf(ms)
		for _, r := range c.results {
			entries = append(entries, NewResult(r))
		}
		s := &Session{Messages: slices.Clone(ms)}
		if err := s.Replay(entries); err != nil {
			t.Fatal(err)
		}
		var got []string
		if len(s.Messages) == 4 {
			for i, p := range s.Messages[2].Parts {
				out := s.Messages[3].Parts[i]
				got = append(got, fmt.Sprint(out.ToolCallID, " ", p.Approved, " ", out.Output.Type))
				if p.ApprovalID != "aitxt-"+out.ToolCallID {
					t.Errorf("%s: %s answers %s", name, p.ApprovalID, out.ToolCallID)
				}
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %v, want %s\n%s", name, got, c.want, texts(s.Messages))
		}
	}
}

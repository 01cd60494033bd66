package memory

import (
	"strings"
	"testing"

	"shiro/memory/transcript"
)

// FORMAT.md shows a record, a notes file and a prompts file exactly as they are
// written.
func TestTheExamplesOfTheFormat(t *testing.T) {
	var examples []string
	for i, block := range strings.Split(content(t, "FORMAT.md"), "\n```") {
		if json, ok := strings.CutPrefix(block, "json\n"); ok && i%2 == 1 {
			examples = append(examples, json)
		}
	}
	if len(examples) != 3 {
		t.Fatalf("%d examples", len(examples))
	}
	session, err := transcript.ParseSession([]byte(examples[0]))
	if err != nil {
		t.Fatal(err)
	}
	if title := transcript.MakeTitle(session.Messages); session.Title != title {
		t.Errorf("title %q", title)
	}
	compact, err := session.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := pretty(compact); err != nil || string(got) != examples[0] {
		t.Errorf("record: %v\n%s", err, got)
	}
	notes, err := parseNotes([]byte(examples[1]))
	if err != nil || notes.damaged {
		t.Fatalf("notes: %+v, %v", notes, err)
	}
	if got, err := printNotes(notes.notes); err != nil || string(got) != examples[1] {
		t.Errorf("notes: %v\n%s", err, got)
	}
	history, err := parseHistory([]byte(examples[2]))
	if err != nil || history.damaged {
		t.Fatalf("history: %+v, %v", history, err)
	}
	last := len(history.raw) - 1
	prompt := history.prompts[last]
	history.raw = history.raw[:last]
	if got, err := history.with(prompt); err != nil || string(got) != examples[2] {
		t.Errorf("history: %v\n%s", err, got)
	}
}

package prune

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"shiro/memory/transcript"
)

func TestEstimateCountsUTF16UnitsOfTheJSON(t *testing.T) {
	for _, text := range []string{"", "hi", "a😀é漢", strings.Repeat("x", 4001), "line\n\"quoted\" <b>"} {
		ms := []*transcript.Message{transcript.User(text), transcript.Assistant(transcript.Text(text))}
		b, err := json.Marshal(ms)
		if err != nil {
			t.Fatal(err)
		}
		// encoding/json escapes <, > and & when it marshals; JavaScript does not.
		js := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(b))
		want := (len(utf16.Encode([]rune(js))) + 2) / 4
		if got := Estimate(ms); got != want {
			t.Errorf("%.10q: %d, want %d", text, got, want)
		}
	}
	if got := Estimate(nil); got != 1 { // "[]" is 2 units, half a token rounds up
		t.Errorf("nothing: %d", got)
	}
}

func TestGauge(t *testing.T) {
	for _, c := range []struct {
		tokens, percent int
		level           Level
	}{
		{0, 0, OK}, {60000, 50, OK}, {78600, 66, Amber}, {78599, 65, OK}, {107400, 90, Red}, {107399, 89, Amber}, {300000, 100, Red},
	} {
		g := Measure(c.tokens, DefaultThreshold)
		if g.Percent != c.percent || g.Level != c.level {
			t.Errorf("%d: %d%% %s, want %d%% %s", c.tokens, g.Percent, g.Level, c.percent, c.level)
		}
	}
}

func call(id string) transcript.Part {
	return transcript.Part{Type: transcript.TypeToolCall, ToolCallID: id, ToolName: "bash", Input: json.RawMessage(`{}`)}
}

func result(id string) transcript.Part {
	return transcript.Result(call(id), transcript.Output{Type: transcript.OutputText, Text: "out " + id}, true)
}

// sketch writes messages as "u", "a(1,2)", "t(1,!2)": ! marks a stand-in.
func sketch(ms []*transcript.Message) string {
	var out []string
	for _, m := range ms {
		var ids []string
		for _, p := range m.Parts {
			switch {
			case p.Type == transcript.TypeToolResult && p.Output.Text == NoResult:
				ids = append(ids, "!"+p.ToolCallID)
			case p.ToolCallID != "":
				ids = append(ids, p.ToolCallID)
			}
		}
		out = append(out, fmt.Sprintf("%c(%s)", m.Role[0], strings.Join(ids, ",")))
	}
	return strings.Join(out, " ")
}

func TestRepair(t *testing.T) {
	u, a, r := transcript.User("u"), transcript.Assistant, transcript.Tool
	for _, c := range []struct {
		name string
		in   []*transcript.Message
		want string
	}{
		{"healthy", []*transcript.Message{u, a(call("1")), r(result("1")), a()}, "u() a(1) t(1) a()"},
		{"results in two messages", []*transcript.Message{a(call("1"), call("2")), r(result("2")), r(result("1"))}, "a(1,2) t(2) t(1)"},
		{"call without result", []*transcript.Message{u, a(call("1"), call("2")), r(result("1")), u}, "u() a(1,2) t(1) t(!2) u()"},
		{"provider-executed call", []*transcript.Message{a(transcript.Part{Type: transcript.TypeToolCall, ToolCallID: "p", ProviderExecuted: true}), u}, "a(p) u()"},
		{"suspended tail", []*transcript.Message{u, a(call("1"))}, "u() a(1) t(!1)"},
		{"orphan result", []*transcript.Message{u, r(result("9")), a()}, "u() a()"},
		{"orphan beside a healthy one", []*transcript.Message{a(call("1")), r(result("9"), result("1")), u}, "a(1) t(1) u()"},
		{"answered twice", []*transcript.Message{a(call("1")), r(result("1")), r(result("1"))}, "a(1) t(1)"},
		{"result before its call", []*transcript.Message{r(result("1")), a(call("1"))}, "a(1) t(!1)"},
		{"result after the next prompt", []*transcript.Message{a(call("1")), u, r(result("1"))}, "a(1) t(!1) u()"},
	} {
		got := Repair(c.in)
		if s := sketch(got); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
		if again := sketch(Repair(got)); again != c.want {
			t.Errorf("%s: repaired twice: %s", c.name, again)
		}
	}
}

func TestRepairReturnsAHealthyTranscriptItself(t *testing.T) {
	in := []*transcript.Message{transcript.User("u"), transcript.Assistant(call("1")), transcript.Tool(result("1"))}
	if got := Repair(in); &got[0] != &in[0] {
		t.Error("copied")
	}
}

func BenchmarkRepair(b *testing.B) {
	ms := []*transcript.Message{transcript.User("go")}
	for i := range 2500 {
		id := fmt.Sprint(i)
		ms = append(ms, transcript.Assistant(call(id)), transcript.Tool(result(id)))
	}
	b.ReportAllocs()
	for b.Loop() {
		Repair(ms)
	}
}

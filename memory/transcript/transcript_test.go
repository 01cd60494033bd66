package transcript

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The fixtures are histories captured from the SDK that the terminal tool uses.
func fixtures(t *testing.T) map[string][]*Message {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	all := make(map[string][]*Message)
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var ms []*Message
		if err := json.Unmarshal(data, &ms); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		all[filepath.Base(f)] = ms
	}
	return all
}

func generic(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

func TestSDKHistoriesPassThrough(t *testing.T) {
	for name, ms := range fixtures(t) {
		want, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(ms)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(generic(t, want), generic(t, got)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// What we build from the decoded view must be what the SDK wrote.
func TestBuildersWriteWhatTheSDKWrites(t *testing.T) {
	build := map[string]func(...Part) *Message{RoleAssistant: Assistant, RoleTool: Tool}
	for name, ms := range fixtures(t) {
		for i, m := range ms {
			var got *Message
			if m.Role == RoleUser {
				got = User(m.Text)
			} else {
				got = build[m.Role](m.Parts...)
			}
			if d := cmp.Diff(generic(t, m.raw), generic(t, got.raw)); d != "" {
				t.Errorf("%s[%d]: %s", name, i, d)
			}
		}
	}
}

func TestForeignBytesAreKept(t *testing.T) {
	for _, in := range []string{
		`{"role":"user","content":"half an emoji \ud83d and <b>&</b>"}`,
		`{"role":"user","content":[{"type":"image","image":"aGk=","mediaType":"image/png"}]}`,
		`{"extra":{"a":[1,2.50]},"role":"assistant","content":[{"type":"custom","kind":"x.y","text":5}]}`,
		`{"role":"assistant","content":"a plain string"}`,
		`{"role":"tool","content":[{"type":"tool-error","toolCallId":"c","error":{"deep":[null]}}]}`,
		`{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","toolName":"x","output":{"type":"content","value":[{"type":"text","text":"a"}]}}]}`,
	} {
		m, err := Parse([]byte(in))
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got, _ := m.MarshalJSON(); string(got) != in {
			t.Errorf("got  %s\nwant %s", got, in)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, in := range []string{
		``, `null`, `[]`, `{"role":"system","content":"x"}`, `{"role":"user"}`, `{"role":"user","content":5}`,
		`{"role":"assistant","content":[{"text":"no type"}]}`, `{"role":"user","content":"x"`,
		`{"role":"tool","content":[{"type":"tool-result","toolCallId":7}]}`,
	} {
		if m, err := Parse([]byte(in)); err == nil {
			t.Errorf("%s: parsed as %+v", in, m)
		}
	}
}

const record = `{"id":"01a22c70-28ed-719f-8f8d-f108fbe0c45e","createdAt":"2026-08-11T09:10:00.000Z","updatedAt":"2026-08-11T09:14:31.482Z",` +
	`"cwd":"/home/you/project","provider":"openai","model":"gpt-5","title":"why?","inputTokens":48210,"outputTokens":3105,` +
	`"messages":[{"role":"user","content":"why?"}],"notebook":{"todos":[{"content":"read","status":"done"}],"later":1},"costUsd":0.0913125,"future":{"a":1}}`

func TestRecordRoundTrip(t *testing.T) {
	s, err := ParseSession([]byte("\ufeff" + record))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != record {
		t.Errorf("got  %s\nwant %s", got, record)
	}
}

func TestRecordRefuses(t *testing.T) {
	for in, want := range map[string]string{
		``:                     "not a JSON object",
		`null`:                 "not a JSON object",
		`[]`:                   "not a JSON object",
		record[:len(record)/2]: "EOF",
		record + `{}`:          "data after the record",
		`{"messages":5}`:       "messages",
		strings.Replace(record, `"updatedAt":"2026-08-11T09:14:31.482Z",`, "", 1): "updatedAt is missing",
		strings.Replace(record, `48210`, `-1`, 1):                                 "inputTokens",
	} {
		if _, err := ParseSession([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", in, err, want)
		}
	}
}

func TestTitle(t *testing.T) {
	long := strings.Repeat("a", 59)
	for _, c := range []struct{ in, want string }{
		{"hello", "hello"},
		{strings.Repeat("x", 100), strings.Repeat("x", 60) + "..."},
		{strings.Repeat("x", 60), strings.Repeat("x", 60)},
		{long + "😀b", long + "..."}, // never half a character
		{long[:58] + "😀", long[:58] + "😀"},
		{"", "untitled"},
	} {
		if got := MakeTitle([]*Message{Assistant(Text("no")), User(c.in), User("second")}); got != c.want {
			t.Errorf("title of %q = %q, want %q", c.in, got, c.want)
		}
	}
	if got := MakeTitle(nil); got != "untitled" {
		t.Errorf("no messages: %q", got)
	}
}

func TestNotebook(t *testing.T) {
	todos := []Todo{{"read", TodoDone, ""}, {"fix\nit", TodoBlocked, "no <access>"}}
	if d := cmp.Diff(todos, Todos(Notebook(todos))); d != "" {
		t.Error(d)
	}
	if got := string(Notebook(nil)); got != `{"todos":[]}` {
		t.Errorf("empty: %s", got)
	}
	if got := todos[1].Line(); got != "[!] fix it  (no <access>)" {
		t.Errorf("line: %q", got)
	}
	odd := `{"todos":[5,{"content":"a","status":"later"},{"content":"b","status":"pending","note":7},{"status":"done"},null]}`
	if d := cmp.Diff([]Todo{{"b", TodoPending, ""}}, Todos(json.RawMessage(odd))); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{``, `null`, `[]`, `{"todos":{}}`} {
		if got := Todos(json.RawMessage(bad)); got != nil {
			t.Errorf("%s: %v", bad, got)
		}
	}
}

func TestUnits(t *testing.T) {
	if got := User("a😀é").Units(); got != len(`{"role":"user","content":""}`)+1+2+1 {
		t.Errorf("units = %d", got)
	}
}

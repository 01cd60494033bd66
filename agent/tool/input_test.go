package tool

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

func TestToolsOfAModel(t *testing.T) {
	w, err := NewWorkspace(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	names := func(o Options) string {
		var names []string
		for _, tool := range New(o) {
			names = append(names, tool.Name+"/"+tool.Set+"/"+tool.Kind)
			if tool.Mutates != slices.Contains([]string{"write_file", "edit_file", "bash", "remember", "forget"}, tool.Name) || (tool.Run == nil) == (tool.Propose == nil) {
				t.Errorf("%s: mutates %v", tool.Name, tool.Mutates)
			}
		}
		return strings.Join(names, " ")
	}
	const core = "read_file/core/read write_file/core/edit edit_file/core/edit list_dir/edit-plus/read glob/core/search grep/core/search bash/core/execute"
	if got := names(Options{Workspace: w}); got != core {
		t.Errorf("got %s", got)
	}
	if got := names(Options{Workspace: w, Todos: &kit{}, Notes: &notes{}}); got != core+" todo_write/session/think remember/session/other recall/session/search forget/session/other" {
		t.Errorf("got %s", got)
	}
}

// The first request of a model carries all of this.
func TestSchemasAreSmallStrictAndStable(t *testing.T) {
	k := newKit(t, nil)
	again := k.session()
	size := 0
	for name, tool := range k.tools {
		size += len(name) + len(tool.Description) + len(tool.Schema)
		if !bytes.Equal(tool.Schema, again[name].Schema) || tool.Description == "" {
			t.Errorf("%s: schema and description are not the same every time", name)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, tool.Schema); err != nil || compact.Len() != len(tool.Schema) {
			t.Errorf("%s: the schema is not compact: %v", name, err)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(tool.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		resolved, err := schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := resolved.Validate(map[string]any{"unknown": 1}); err == nil {
			t.Errorf("%s: the schema lets an unknown field through", name)
		}
		// What the schema requires is what the tool misses, and names no more.
		_, err = k.call(name, object{})
		for field := range schema.Properties {
			missing := err != nil && strings.Contains(err.Error(), field+" is missing")
			if missing != slices.Contains(schema.Required, field) {
				t.Errorf("%s: %s required: %v; the tool says %v", name, field, !missing, err)
			}
		}
	}
	if size > 7000 {
		t.Errorf("the tools take %d bytes of a request", size)
	}
	t.Logf("the tools take %d bytes of a request", size)
}

func TestBadInputIsNamed(t *testing.T) {
	k := newKit(t, map[string]string{"f": "x"})
	for _, tt := range []struct {
		tool, input, says string
	}{
		{"read_file", `{"path":1}`, "path: want a string, got the number 1"},
		{"read_file", `{"path":"f","offset":"2"}`, "offset: want a whole number, got a string"},
		{"read_file", `{"path":"f","offset":1.5}`, "offset: want a whole number, got the number 1.5"},
		{"read_file", `{"path":"f","offset":0}`, "offset: want at least 1, got 0"},
		{"read_file", `{"path":"f","offset":1e99}`, "offset: want at least 1, got 1e99"},
		{"read_file", `{"file_path":"f"}`, `path is missing; unknown field "file_path" (there is path, offset, limit)`},
		{"read_file", `{"Path":"f"}`, `path is missing; unknown field "Path"`},
		{"read_file", `{"path":null}`, "path is missing"},
		{"read_file", `[]`, "want a JSON object, got an array"},
		{"read_file", `null`, "want a JSON object, got null"},
		{"read_file", `{"path`, "want a JSON object, got broken JSON"},
		{"read_file", ``, "path is missing"},
		{"edit_file", `{"path":"f","oldString":"x"}`, "newString is missing"},
		{"edit_file", `{"path":"f","oldString":"x","newString":"y","replaceAll":"yes"}`, "replaceAll: want true or false, got a string"},
		{"write_file", `{"path":"f","content":{"a":1}}`, "content: want a string, got an object"},
		{"list_dir", `{"depth":7}`, "depth: want 1 to 6, got 7"},
		{"glob", `{"pattern":["*"]}`, "pattern: want a string, got an array"},
		{"grep", `{"pattern":"x","path":"."}`, `unknown field "path" (there is pattern, include, ignoreCase, includeIgnored)`},
		{"bash", `{"command":"true","timeout":5}`, "timeout: want 1000 to 600000, got 5"},
		{"bash", `{}`, "command is missing"},
		{"todo_write", `{"todos":"[]"}`, "todos: want an array, got a string"},
		{"todo_write", `{"todos":["x"]}`, "todos[0]: invalid input: want a JSON object, got a string"},
		{"todo_write", `{"todos":[{"content":"a","status":"started"}]}`, `todos[0]: invalid input: status: want pending, in_progress, done, blocked, got "started"`},
		{"todo_write", `{"todos":[{"content":" ","status":"done"},{"status":"done"}]}`, "todos[0]: content is empty\ntodos[1]: invalid input: content is missing"},
		{"remember", `{"kind":"idea","text":"x"}`, `kind: want fact, decision, gotcha, command, got "idea"`},
		{"recall", `{}`, "query is missing"},
		{"forget", `{"text":1}`, "text: want a string"},
	} {
		tool := k.tools[tt.tool]
		c := Call{Input: json.RawMessage(tt.input)}
		var err error
		if tool.Run != nil {
			_, err = tool.Run(t.Context(), c)
		} else {
			_, err = tool.Propose(t.Context(), c)
		}
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s %s: %v, want %q", tt.tool, tt.input, err, tt.says)
		}
		tool.Describe(c.Input) // must not fail
	}
}

func TestDescribe(t *testing.T) {
	k := newKit(t, map[string]string{"src/a.go": ""})
	long := strings.Repeat("folder/", 20) + "name.go"
	for _, tt := range []struct {
		tool, input, title string
		about              string // paths, or else subjects
	}{
		{"read_file", `{"path":"./src/../src/a.go"}`, "Read ./src/../src/a.go", "src/a.go"},
		{"edit_file", `{"path":"src/a.go"}`, "Edit src/a.go", "src/a.go"},
		{"write_file", `{"path":"` + k.root + `/new.go"}`, "", "new.go"},
		{"write_file", `{"path":"../x"}`, "Write ../x", "../x"},
		{"read_file", `{"path":"` + long + `"}`, "Read …" + long[len(long)-54:], long},
		{"read_file", `{"path":1}`, "Read ?", ""},
		{"read_file", `{"path":"src/a.go","offset":"x"}`, "Read src/a.go", "src/a.go"},
		{"list_dir", `{}`, "List .", "."},
		{"glob", `{"pattern":"**/*.go"}`, "Find **/*.go", "**/*.go"},
		{"grep", `{"pattern":"x y"}`, "Search x y", "x y"},
		{"bash", `{"command":"go test ./..."}`, "Run go test ./...", "go test ./..."},
		{"bash", `{"command":"ls` + strings.Repeat(" ", 90) + `\n\u202erm\u200b"}`, `Run ls \u{202e}rm\u{200b}`, "ls" + strings.Repeat(" ", 90) + "\n\u202erm\u200b"},
		{"todo_write", `{}`, "Update the task list", ""},
		{"remember", `{"text":"a fact"}`, "Remember a fact", ""},
	} {
		s := k.tools[tt.tool].Describe(json.RawMessage(tt.input))
		if tt.title != "" && s.Title != tt.title || len([]rune(s.Title)) > titleLength || strings.Join(append(s.Paths, s.Subjects...), "|") != tt.about {
			t.Errorf("%s %s: %+v, want %q and %q", tt.tool, tt.input, s, tt.title, tt.about)
		}
	}
}

// Check refuses what Run and Propose refuse, in the same words.
func TestCheckIsWhatACallWouldSay(t *testing.T) {
	k := newKit(t, map[string]string{"f": "x"})
	for name, inputs := range map[string][]string{
		"bash":       {`{"cmd":"ls"}`, `{"command":["ls"]}`, `{"command":5}`, `{"command":"ls","timeout":"5"}`, `{"command":"ls","timeout":5}`, `[]`, ``},
		"edit_file":  {`{"path":"f"}`, `{"path":"f","oldString":1,"newString":"y"}`},
		"write_file": {`{"path":"f","content":null}`},
		"read_file":  {`{"path":"f","offset":0}`},
		"remember":   {`{"kind":"secret","text":"x"}`},
		"todo_write": {`{"todos":"none"}`},
	} {
		tool := k.tools[name]
		for _, input := range inputs {
			c := Call{Input: json.RawMessage(input)}
			err := error(nil)
			if tool.Run != nil {
				_, err = tool.Run(t.Context(), c)
			} else {
				_, err = tool.Propose(t.Context(), c)
			}
			if checked := tool.Check(c.Input); checked == nil || err == nil || checked.Error() != err.Error() || !strings.HasPrefix(err.Error(), "invalid input: ") {
				t.Errorf("%s %s: checked %v, called %v", name, input, checked, err)
			}
		}
	}
	for name, input := range map[string]string{"bash": `{"command":"false"}`, "edit_file": `{"path":"none","oldString":"x","newString":"y"}`, "list_dir": ``} {
		if err := k.tools[name].Check(json.RawMessage(input)); err != nil {
			t.Errorf("%s %s: %v", name, input, err)
		}
	}
}

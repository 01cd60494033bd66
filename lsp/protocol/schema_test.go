package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

// committed returns the schema that the server serves.
func committed(t *testing.T) document {
	t.Helper()
	var d document
	if err := json.Unmarshal(Schema(), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// validator resolves the definitions once. It judges an object whose only member
// is a type's name with a value of that type.
func validator(t *testing.T) func(name string, value any) error {
	t.Helper()
	root := &jsonschema.Schema{Defs: committed(t).Defs, Properties: make(map[string]*jsonschema.Schema)}
	for name := range root.Defs {
		root.Properties[name] = &jsonschema.Schema{Ref: "#/$defs/" + name}
	}
	resolved, err := root.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(name string, value any) error { return resolved.Validate(map[string]any{name: value}) }
}

func TestSamplesFitTheSchema(t *testing.T) {
	validate := validator(t)
	d := committed(t)
	for name, values := range samples(t) {
		unused := make(map[string]bool)
		for p := range d.Defs[name].Properties {
			unused[p] = true
		}
		for _, sample := range values {
			if err := validate(name, decodeAny(t, sample)); err != nil {
				t.Errorf("%s: %v\n%s", name, err, sample)
			}
			for _, m := range members(t, sample) {
				if _, ok := d.Defs[name].Properties[m]; !ok {
					t.Errorf("the sample of %s has %s, which the schema has not", name, m)
				}
				delete(unused, m)
			}
		}
		for p := range unused {
			t.Errorf("no sample of %s has %s", name, p)
		}
	}
}

func TestSchemaRejects(t *testing.T) {
	tests := []struct{ name, typ, value string }{
		{"a required member is missing", "TodoEntry", `{"text":"a"}`},
		{"an unknown enum value", "TodoEntry", `{"text":"a","status":"completed"}`},
		{"null for a list", "Todo", `{"rev":1,"entries":null}`},
		{"null for an optional member", "Location", `{"uri":"file:///a","line":null}`},
		{"a negative line", "Location", `{"uri":"file:///a","line":-1}`},
		{"a number for an id", "TodoGetParams", `{"sessionId":1}`},
		{"a wrong answer for a hunk", "ApprovalRespondParams", `{"approvalId":"apr_1","optionId":"a","hunks":{"hnk_1":"maybe"}}`},
	}
	validate := validator(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if validate(tt.typ, decodeAny(t, []byte(tt.value))) == nil {
				t.Errorf("%s is taken for a %s", tt.value, tt.typ)
			}
		})
	}
}

// TestTablesHoldEveryConstant compares the constants in the source with what the
// schema offers, so that none of the two is ahead.
func TestTablesHoldEveryConstant(t *testing.T) {
	source, d := parseSource(t), committed(t)
	var methods []string
	for name, value := range source.constants {
		if strings.HasPrefix(name, "Method") {
			methods = append(methods, value)
		}
	}
	tests := []struct {
		name                string
		constants, inSchema []string
	}{
		{"methods", methods, slices.Collect(maps.Keys(d.Methods))},
		{"events", stringsOf(source.enums["EventType"].values), stringsOf(slices.Collect(maps.Keys(d.Events)))},
		{"errors", stringsOf(source.enums["ErrorKind"].values), stringsOf(slices.Collect(maps.Keys(d.Errors)))},
	}
	for _, tt := range tests {
		slices.Sort(tt.constants)
		slices.Sort(tt.inSchema)
		if diff := cmp.Diff(tt.constants, tt.inSchema); diff != "" {
			t.Errorf("%s (-constants +schema):\n%s", tt.name, diff)
		}
	}
}

// TestEveryTypeIsOnTheWire finds types that no method or event leads to, and
// definitions or fields that say nothing about themselves.
func TestEveryTypeIsOnTheWire(t *testing.T) {
	tables := map[string]bool{"Method": true, "EventData": true, "ErrorCode": true}
	d := committed(t)
	for name := range parseSource(t).types {
		if d.Defs[name] == nil && !tables[name] {
			t.Errorf("%s is in no method, event or capability", name)
		}
	}
	for name, def := range d.Defs {
		if def.Description == "" {
			t.Errorf("%s has no description", name)
		}
		for p, s := range def.Properties {
			if s.Description == "" {
				t.Errorf("%s.%s has no description", name, p)
			}
		}
		if wireTypes()[name].Kind() == reflect.String && name != "Timestamp" && len(def.Enum) == 0 {
			t.Errorf("%s is a string type without values", name)
		}
		descriptions, _ := def.Extra["enumDescriptions"].([]any)
		if len(descriptions) != len(def.Enum) || slices.Contains(descriptions, any("")) {
			t.Errorf("%s has %d values and the descriptions %q", name, len(def.Enum), descriptions)
		}
	}
}

func TestSchemaSHA256(t *testing.T) {
	file, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(file)
	if got, want := SchemaSHA256(), hex.EncodeToString(sum[:]); got != want {
		t.Errorf("SchemaSHA256() = %s, want that of the file, %s", got, want)
	}
	Schema()[0] = 'x'
	if Schema()[0] != '{' {
		t.Error("a caller that writes into its copy changes the next one")
	}
}

// stringsOf takes strings of any type.
func stringsOf[T any](values []T) []string {
	var all []string
	for _, v := range values {
		all = append(all, reflect.ValueOf(v).String())
	}
	return all
}

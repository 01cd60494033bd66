package protocol

import (
	"bytes"
	stdjson "encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// samples returns by type the values in testdata/samples.json, each in compact
// form with the members in the order in which the server writes them.
func samples(t *testing.T) map[string][]stdjson.RawMessage {
	t.Helper()
	text, err := os.ReadFile("testdata/samples.json")
	if err != nil {
		t.Fatal(err)
	}
	byType := make(map[string][]stdjson.RawMessage)
	if err := stdjson.Unmarshal(text, &byType); err != nil {
		t.Fatal(err)
	}
	for _, values := range byType {
		for i, v := range values {
			var b bytes.Buffer
			if err := stdjson.Compact(&b, v); err != nil {
				t.Fatal(err)
			}
			values[i] = b.Bytes()
		}
	}
	return byType
}

// codecs are the two JSON packages whose tags these types must satisfy.
var codecs = map[string]struct {
	marshal   func(any) ([]byte, error)
	unmarshal func([]byte, any) error
}{
	"std": {
		func(v any) ([]byte, error) {
			var b bytes.Buffer
			enc := stdjson.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			err := enc.Encode(v)
			return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
		},
		stdjson.Unmarshal,
	},
	"v2": {
		func(v any) ([]byte, error) { return json.Marshal(v, json.Deterministic(true)) },
		func(b []byte, v any) error { return json.Unmarshal(b, v) },
	},
}

// roundTrip decodes b into a fresh value of type typ and encodes that again.
func roundTrip(t *testing.T, codec string, typ reflect.Type, b []byte) string {
	t.Helper()
	v := reflect.New(typ)
	if err := codecs[codec].unmarshal(b, v.Interface()); err != nil {
		t.Fatalf("decoding %s: %v", b, err)
	}
	out, err := codecs[codec].marshal(v.Interface())
	if err != nil {
		t.Fatalf("encoding %s: %v", typ, err)
	}
	return string(out)
}

// TestSamplesRoundTrip sends each sample through its type: every field has its
// place, and nothing is added.
func TestSamplesRoundTrip(t *testing.T) {
	all := samples(t)
	for name, typ := range wireTypes() {
		if typ.Kind() == reflect.Struct && len(all[name]) == 0 {
			t.Errorf("%s has no sample", name)
		}
		for _, sample := range all[name] {
			for codec := range codecs {
				if diff := cmp.Diff(string(sample), roundTrip(t, codec, typ, sample)); diff != "" {
					t.Errorf("%s through %s (-sent +back):\n%s", name, codec, diff)
				}
			}
		}
	}
}

// TestAbsentStaysAbsent takes each optional member out of each sample in turn.
// It must not come back as null, empty or zero.
func TestAbsentStaysAbsent(t *testing.T) {
	required := make(map[string]map[string]bool)
	for name, s := range committed(t).Defs {
		required[name] = make(map[string]bool)
		for _, r := range s.Required {
			required[name][r] = true
		}
	}
	for name, values := range samples(t) {
		for _, sample := range values {
			for _, member := range members(t, sample) {
				if required[name][member] {
					continue
				}
				less := without(t, sample, member)
				for codec := range codecs {
					if diff := cmp.Diff(less, roundTrip(t, codec, wireTypes()[name], []byte(less))); diff != "" {
						t.Errorf("%s without %s through %s (-sent +back):\n%s", name, member, codec, diff)
					}
				}
			}
		}
	}
}

// TestUnknownMembersAreIgnored stands for a peer that is newer than this package.
func TestUnknownMembersAreIgnored(t *testing.T) {
	for name, values := range samples(t) {
		for _, sample := range values {
			newer := strings.Replace(string(sample), "{", `{"fromTheFuture":{"a":[1,null]},`, 1)
			newer = strings.Replace(newer, ",}", "}", 1)
			for codec := range codecs {
				if diff := cmp.Diff(string(sample), roundTrip(t, codec, wireTypes()[name], []byte(newer))); diff != "" {
					t.Errorf("%s through %s (-known +back):\n%s", name, codec, diff)
				}
			}
		}
	}
}

// TestRequiredListsAreNeverNull encodes a value nobody filled, as the server's
// connection does.
func TestRequiredListsAreNeverNull(t *testing.T) {
	for name, typ := range wireTypes() {
		if name == "Event" {
			continue // its data is never left empty
		}
		b, err := json.Marshal(reflect.Zero(typ).Interface())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "null") {
			t.Errorf("%s: %s", name, b)
		}
	}
}

// TestIDsSayTheirKind looks at every id in the samples, which plugin authors
// read as documentation.
func TestIDsSayTheirKind(t *testing.T) {
	const uuid = `^[0-9a-f]{8}(-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})?$`
	want := map[string]string{
		"turnId": "^" + PrefixTurn, "activeTurnId": "^" + PrefixTurn,
		"itemId": "^" + PrefixItem, "parentItemId": "^" + PrefixItem,
		"approvalId": "^" + PrefixApproval,
		"hunkId":     "^" + PrefixHunk,
		"queueId":    "^" + PrefixQueue,
		"sessionId":  uuid,
	}
	seen := make(map[string]bool)
	var visit func(any)
	visit = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				visit(e)
			}
		case map[string]any:
			for name, e := range v {
				if pattern, ok := want[name]; ok {
					seen[name] = true
					if id := e.(string); !regexp.MustCompile(pattern).MatchString(id) {
						t.Errorf("%s is %q, want %s", name, id, pattern)
					}
				}
				visit(e)
			}
		}
	}
	for _, values := range samples(t) {
		for _, sample := range values {
			visit(decodeAny(t, sample))
		}
	}
	for name := range want {
		if !seen[name] {
			t.Errorf("no sample has a %s", name)
		}
	}
}

func TestTimestamp(t *testing.T) {
	east := time.FixedZone("", 2*60*60)
	tests := []struct {
		at   time.Time
		want Timestamp
	}{
		{time.Date(2026, 2, 3, 4, 5, 6, 789999999, time.UTC), "2026-02-03T04:05:06.789Z"},
		{time.Date(2026, 1, 1, 0, 0, 0, 0, east), "2025-12-31T22:00:00.000Z"},
	}
	for _, tt := range tests {
		if got := TimestampOf(tt.at); got != tt.want {
			t.Errorf("TimestampOf(%v) = %s, want %s", tt.at, got, tt.want)
		}
	}
}

// members returns the names in an object, in order.
func members(t *testing.T, object []byte) []string {
	t.Helper()
	var names []string
	for _, m := range split(t, object) {
		names = append(names, m.name)
	}
	return names
}

// without returns the object as it would be had the member never been set.
func without(t *testing.T, object []byte, member string) string {
	t.Helper()
	var kept []string
	for _, m := range split(t, object) {
		if m.name != member {
			kept = append(kept, `"`+m.name+`":`+m.value)
		}
	}
	return "{" + strings.Join(kept, ",") + "}"
}

type member struct{ name, value string }

func split(t *testing.T, object []byte) []member {
	t.Helper()
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := dec.ReadToken(); err != nil {
		t.Fatal(err)
	}
	var all []member
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			t.Fatal(err)
		}
		m := member{name: name.String()}
		value, err := dec.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		m.value = string(value)
		all = append(all, m)
	}
	return all
}

func decodeAny(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	if err := stdjson.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

package protocol

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSampleEvents checks each event against its envelope's schema and its
// data's, and that both codecs give the data its Go type.
func TestSampleEvents(t *testing.T) {
	validate, d := validator(t), committed(t)
	durable := make(map[EventType]bool)
	types := make(map[EventType]reflect.Type)
	for _, e := range Events() {
		durable[e.Type], types[e.Type] = e.Durable, reflect.TypeOf(e.Data)
	}
	seen := make(map[EventType]bool)
	for _, sample := range samples(t)["Event"] {
		var raw struct {
			Type EventType
			Seq  *int64
			Data any
		}
		if err := json.Unmarshal(sample, &raw); err != nil {
			t.Fatal(err)
		}
		seen[raw.Type] = true
		if hasSeq := raw.Seq != nil; hasSeq != durable[raw.Type] || hasSeq != d.Events[raw.Type].Durable {
			t.Errorf("%s: has a sequence number: %v, is durable: %v", raw.Type, hasSeq, durable[raw.Type])
		}
		name := strings.TrimPrefix(d.Events[raw.Type].Data.Ref, "#/$defs/")
		if err := validate(name, raw.Data); err != nil {
			t.Errorf("data of %s is no %s: %v", raw.Type, name, err)
		}
		for codec := range codecs {
			var e Event
			if err := codecs[codec].unmarshal(sample, &e); err != nil {
				t.Fatal(err)
			}
			if got := reflect.TypeOf(e.Data); got != types[raw.Type] {
				t.Errorf("%s decodes data of %s as %v, want %v", codec, raw.Type, got, types[raw.Type])
			}
		}
	}
	for typ := range types {
		if !seen[typ] {
			t.Errorf("no sample of %s", typ)
		}
	}
}

func TestEventOfUnknownType(t *testing.T) {
	const sent = `{"sessionId":"s","seq":7,"ts":"2026-02-03T04:05:06.789Z","type":"checkpoint.created","data":{"a": [1]}}`
	var e Event
	if err := json.Unmarshal([]byte(sent), &e); err != nil {
		t.Fatal(err)
	}
	want := Event{SessionID: "s", Seq: 7, TS: "2026-02-03T04:05:06.789Z", Type: "checkpoint.created", Data: json.RawMessage(`{"a": [1]}`)}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestEventThatCannotBeDecoded(t *testing.T) {
	tests := []struct{ name, sent, want string }{
		{"envelope", `{"seq":"seven"}`, "decoding event"},
		{"data", `{"type":"notice","data":[]}`, "decoding data of notice"},
		{"no data", `{"type":"notice"}`, "decoding data of notice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var e Event
			err := json.Unmarshal([]byte(tt.sent), &e)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

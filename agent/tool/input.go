package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// inputs are the members of a tool's input. They make both the schema that the
// model is given and the decoder that holds it to it.
type inputs []field

// A field is one member: into is where its value goes (*string, *bool, *int or
// *[]json.RawMessage) and holds the default until then.
type field struct {
	name     string
	into     any
	required bool
	about    string // for the model; may be empty
	min, max int    // of an *int; max also of a *string, in bytes; max 0 is none
	enum     []string
	items    inputs // of a *[]json.RawMessage: objects with these members
}

// blank returns the members of an input of type T that was not read yet.
func blank[T any, P interface {
	*T
	fields() inputs
}]() inputs {
	return P(new(T)).fields()
}

// decode reads raw into the fields. Its error names every field that is wrong,
// so that the model can put all of them right at once.
func (in inputs) decode(raw json.RawMessage) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage(`{}`)
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(raw, &given) != nil || given == nil {
		return fmt.Errorf("invalid input: want a JSON object, got %s", got(raw))
	}
	var faults []string
	for _, f := range in {
		v, ok := given[f.name]
		delete(given, f.name)
		switch {
		case ok && string(v) != "null":
			if err := f.decode(v); err != nil {
				faults = append(faults, f.name+": "+err.Error())
			}
		case f.required:
			faults = append(faults, f.name+" is missing")
		}
	}
	for name := range given {
		faults = append(faults, fmt.Sprintf("unknown field %q (there is %s)", name, in.names()))
	}
	if len(faults) == 0 {
		return nil
	}
	slices.Sort(faults)
	return errors.New("invalid input: " + strings.Join(faults, "; "))
}

func (f field) decode(v json.RawMessage) error {
	switch p := f.into.(type) {
	case *string:
		if json.Unmarshal(v, p) != nil {
			return fmt.Errorf("want a string, got %s", got(v))
		}
		if f.max > 0 && len(*p) > f.max {
			return fmt.Errorf("has %d bytes, and no more than %d can be passed on: write it to a file first", len(*p), f.max)
		}
		if f.enum != nil && !slices.Contains(f.enum, *p) {
			return fmt.Errorf("want %s, got %q", strings.Join(f.enum, ", "), excerpt(*p))
		}
	case *bool:
		if json.Unmarshal(v, p) != nil {
			return fmt.Errorf("want true or false, got %s", got(v))
		}
	case *int:
		var n float64
		if json.Unmarshal(v, &n) != nil || n != math.Trunc(n) {
			return fmt.Errorf("want a whole number, got %s", got(v))
		}
		if n < float64(f.min) || f.max > 0 && n > float64(f.max) || n > math.MaxInt32 {
			return fmt.Errorf("want %s, got %s", f.limits(), v)
		}
		*p = int(n)
	case *[]json.RawMessage:
		if json.Unmarshal(v, p) != nil {
			return fmt.Errorf("want an array, got %s", got(v))
		}
	default:
		return fmt.Errorf("no decoder for %T", p)
	}
	return nil
}

func (f field) limits() string {
	if f.max == 0 {
		return fmt.Sprintf("at least %d", f.min)
	}
	return fmt.Sprintf("%d to %d", f.min, f.max)
}

func (in inputs) names() string {
	names := make([]string, len(in))
	for i, f := range in {
		names[i] = f.name
	}
	return strings.Join(names, ", ")
}

// schema is the JSON Schema of the object, compact.
func (in inputs) schema() json.RawMessage {
	b := []byte(`{"type":"object","properties":{`)
	var required []string
	for i, f := range in {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, f.name), ':')
		b = f.schema(b)
		if f.required {
			required = append(required, strconv.Quote(f.name))
		}
	}
	b = append(b, '}')
	if required != nil {
		b = fmt.Appendf(b, `,"required":[%s]`, strings.Join(required, ","))
	}
	return append(b, `,"additionalProperties":false}`...)
}

func (f field) schema(b []byte) []byte {
	switch p := f.into.(type) {
	case *bool:
		b = append(b, `{"type":"boolean"`...)
	case *int:
		b = fmt.Appendf(b, `{"type":"integer","minimum":%d`, f.min)
		if f.max > 0 {
			b = fmt.Appendf(b, `,"maximum":%d`, f.max)
		}
		if *p != 0 {
			b = fmt.Appendf(b, `,"default":%d`, *p)
		}
	case *[]json.RawMessage:
		b = append(append(b, `{"type":"array","items":`...), f.items.schema()...)
	default:
		b = append(b, `{"type":"string"`...)
	}
	if f.enum != nil {
		b = fmt.Appendf(b, `,"enum":["%s"]`, strings.Join(f.enum, `","`))
	}
	if f.about != "" {
		b = append(append(b, `,"description":`...), strconv.Quote(f.about)...)
	}
	return append(b, '}')
}

// got names the kind of a JSON value.
func got(v json.RawMessage) string {
	switch v = bytes.TrimSpace(v); {
	case !json.Valid(v):
		return "broken JSON"
	case v[0] == '"':
		return "a string"
	case v[0] == '{':
		return "an object"
	case v[0] == '[':
		return "an array"
	case v[0] == 't', v[0] == 'f':
		return "a boolean"
	case v[0] == 'n':
		return "null"
	}
	return "the number " + excerpt(string(v))
}

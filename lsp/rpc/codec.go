package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/protocol"
)

// encode is JSON of v without HTML escapes. A json.RawMessage passes untouched.
func encode(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return v, nil
	}
	if isLSP(reflect.TypeOf(v)) {
		return protocol.Marshal(v)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// decode reads JSON into v, a pointer. Absent and null leave it as it is. What v
// keeps does not alias raw.
func decode(raw []byte, v any) error {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil
	case isLSP(reflect.TypeOf(v)):
		return protocol.Unmarshal(raw, v)
	default:
		return json.Unmarshal(raw, v)
	}
}

// isLSP tells whether t, or what it points to or lists, is a type of
// go.lsp.dev/protocol, or one made like them, and needs its codec: encoding/json gets
// their unions and optional fields wrong. Types of our own need encoding/json, since
// that codec understands omitempty differently.
func isLSP(t reflect.Type) bool {
	for {
		if t.PkgPath() == reflect.TypeFor[protocol.Position]().PkgPath() ||
			reflect.PointerTo(t).Implements(reflect.TypeFor[jsonv2.UnmarshalerFrom]()) {
			return true
		}
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			t = t.Elem()
		default:
			return false
		}
	}
}

// paramsError says where params do not fit, as far as the decoder can tell.
func paramsError(raw []byte, err error) *Error {
	path, reason := "params", err.Error()
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		reason = fmt.Sprintf("got %s, want %s", e.Value, kindName(e.Type))
		if e.Field != "" {
			path += "." + e.Field
		}
	} else if before, offset, ok := strings.Cut(reason, " at offset "); ok {
		if n, err := strconv.ParseInt(offset, 10, 64); err == nil {
			path, reason = path+pathAt(raw, n), strings.TrimPrefix(before, "protocol: ")
		}
	}
	return &Error{CodeInvalidParams, path + ": " + reason, detail{Kind: "invalid_params"}}
}

// pathAt is the dotted path of the value at a byte offset of raw.
func pathAt(raw []byte, offset int64) string {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), wireOptions()...)
	for dec.InputOffset() <= offset {
		if _, err := dec.ReadToken(); err != nil {
			break
		}
	}
	return strings.ReplaceAll(string(dec.StackPointer()), "/", ".")
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Pointer:
		return kindName(t.Elem())
	case reflect.Bool:
		return "boolean"
	default:
		return t.Kind().String()
	}
}

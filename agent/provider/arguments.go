package provider

import (
	"bytes"
	"encoding/json"
)

// arguments reads the text a model wrote as the arguments of a call. Nothing
// and null mean none. Anything but an object comes back as {} and why.
func arguments(text []byte) (input json.RawMessage, why string) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || string(text) == "null" {
		return emptyObject(), ""
	}
	var b bytes.Buffer
	b.Grow(len(text))
	if err := json.Compact(&b, text); err != nil {
		return emptyObject(), "the arguments are not valid JSON: " + err.Error()
	}
	if text[0] != '{' {
		return emptyObject(), "the arguments are " + kindName(text[0]) + ", not a JSON object"
	}
	return b.Bytes(), ""
}

func kindName(first byte) string {
	switch first {
	case '[':
		return "a JSON array"
	case '"':
		return "a JSON string"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}

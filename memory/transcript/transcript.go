// Package transcript is the stored shape of a conversation: the AI SDK's model
// messages, as the terminal tool keeps them in sessions/<id>.json, and the
// record around them. memory/FORMAT.md specifies the file.
//
// Bytes written by someone else pass through untouched: a Message keeps the
// JSON it was read from, with unknown fields, unknown part types and lone
// surrogates, and is written back from those bytes. The decoded fields are a
// view. Nothing here reads or writes files, and provider wire formats are made
// elsewhere.
package transcript

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"
)

// Roles of a message. A system message is never stored.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// A Message is one stored message. It is immutable: change a conversation by
// putting another message in its place.
type Message struct {
	Role  string
	Text  string // the content, when it is a plain string
	Parts []Part // the content, when it is an array

	raw   []byte // compact JSON; what is written
	units int    // UTF-16 units of raw
}

// User returns a user message with text as its content.
func User(text string) *Message {
	return encoded(&Message{Role: RoleUser, Text: text})
}

// Assistant returns the message of one finished model response.
func Assistant(parts ...Part) *Message {
	return encoded(&Message{Role: RoleAssistant, Parts: parts})
}

// Tool returns a message of tool results and approval responses.
func Tool(parts ...Part) *Message {
	return encoded(&Message{Role: RoleTool, Parts: parts})
}

// Parse reads one message from its JSON. The message keeps a compact copy of
// data. It fails when data is not an object with a known role and a content
// that is a string or an array.
func Parse(data []byte) (*Message, error) {
	d := newDecoder(data)
	v, err := d.ReadValue()
	if err != nil {
		return nil, err
	}
	m := &Message{raw: appendCompact(make([]byte, 0, len(v)), v)}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, errors.New("data after the message")
	}
	if err := m.decode(); err != nil {
		return nil, err
	}
	return m, nil
}

// MarshalJSON returns the stored bytes, compact.
func (m *Message) MarshalJSON() ([]byte, error) { return m.raw, nil }

// UnmarshalJSON is Parse into m.
func (m *Message) UnmarshalJSON(data []byte) error {
	p, err := Parse(data)
	if err != nil {
		return err
	}
	*m = *p
	return nil
}

// Units returns the length of the stored JSON in UTF-16 code units, which is
// what the terminal tool's token estimate counts.
func (m *Message) Units() int { return m.units }

// Calls returns the tool calls in m that we, not the provider, must answer.
func (m *Message) Calls() []Part {
	var calls []Part
	for _, p := range m.Parts {
		if p.Type == TypeToolCall && !p.ProviderExecuted {
			calls = append(calls, p)
		}
	}
	return calls
}

func encoded(m *Message) *Message {
	b := append([]byte(`{"role":`), quote(m.Role)...)
	b = append(b, `,"content":`...)
	if m.Parts == nil && m.Role == RoleUser {
		b = append(b, quote(m.Text)...)
	} else {
		b = append(b, '[')
		for i := range m.Parts {
			if i > 0 {
				b = append(b, ',')
			}
			b = m.Parts[i].append(b)
		}
		b = append(b, ']')
	}
	m.raw = append(b, '}')
	m.units = utf16Units(m.raw)
	return m
}

// utf16Units counts the UTF-16 code units of b.
func utf16Units(b []byte) int {
	n := 0
	for len(b) > 0 {
		if len(b) >= 8 && binary.LittleEndian.Uint64(b)&0x8080808080808080 == 0 {
			n += 8
			b = b[8:]
			continue
		}
		r, w := utf8.DecodeRune(b)
		b = b[w:]
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// quote is JSON's form of s with <, > and & left alone, as JavaScript writes it.
func quote(s string) []byte {
	var b bytes.Buffer
	b.Grow(len(s) + 2)
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string always encodes
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

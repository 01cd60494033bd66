package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// A Session is the record of one conversation: sessions/<id>.json.
type Session struct {
	ID        string // UUIDv7, the file's stem
	CreatedAt string // RFC 3339 UTC with milliseconds
	UpdatedAt string // likewise; stamped by each save
	CWD       string // absolute physical path of the folder it was begun in
	Provider  string // wire protocol: "anthropic" or "openai"
	Model     string
	Title     string

	InputTokens  int64    // sum over finished turns
	OutputTokens int64    // likewise
	CostUSD      *float64 // nil when the model's price is not known

	// Ours; the terminal tool passes them on or drops them.
	Name     string // given by the user, shown for Title; empty when there is none
	ParentID string // the session it was forked from; empty for others
	Archived bool   // put away: not in lists unless asked for

	Notebook json.RawMessage // {"todos": [...]}; empty when there is none
	Messages []*Message

	// Seq is the number of the newest durable event that the journal knows; 0
	// when there was no journal to read. It is not part of the record.
	Seq uint64

	extra []member // top-level members we do not know
}

type member struct {
	name  string
	value json.RawMessage
}

// ParseSession reads a record. It fails, naming the member, when data is not a
// JSON object with the required members.
func ParseSession(data []byte) (*Session, error) {
	d := newDecoder(bytes.TrimPrefix(data, []byte("\ufeff")))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, errors.Join(errors.New("not a JSON object"), err)
	}
	s := &Session{}
	required := map[string]*string{
		"id": &s.ID, "createdAt": &s.CreatedAt, "updatedAt": &s.UpdatedAt, "cwd": &s.CWD,
		"provider": &s.Provider, "model": &s.Model, "title": &s.Title, "messages": nil,
	}
	optional := map[string]any{
		"inputTokens": (*tokens)(&s.InputTokens), "outputTokens": (*tokens)(&s.OutputTokens),
		"costUsd": &s.CostUSD, "notebook": &s.Notebook,
	}
	ours := map[string]any{"name": &s.Name, "parentId": &s.ParentID, "archived": &s.Archived} // else somebody else's
	seen := make(map[string]bool, len(required))
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		name := t.String()
		field, ok := required[name] // of two members with one name the later counts
		seen[name] = seen[name] || ok
		if name == "messages" {
			s.Messages, err = readMessages(d)
		} else if ok {
			if d.PeekKind() != '"' {
				return nil, fmt.Errorf("%s: %w", name, errKind)
			}
			if t, err = d.ReadToken(); err == nil {
				*field = t.String()
			}
		} else {
			var v jsontext.Value
			if v, err = d.ReadValue(); err == nil {
				if target := optional[name]; target != nil {
					err = json.Unmarshal(v, target)
				} else if target := ours[name]; target == nil || json.Unmarshal(v, target) != nil {
					s.extra = append(s.extra, member{name, append(json.RawMessage(nil), v...)})
				}
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return nil, errors.New("data after the record")
	}
	for name := range required {
		if !seen[name] {
			return nil, fmt.Errorf("%s is missing", name)
		}
	}
	return s, nil
}

func readMessages(d *jsontext.Decoder) ([]*Message, error) {
	if d.PeekKind() != '[' {
		return nil, errKind
	}
	d.ReadToken()
	messages := []*Message{}
	var scratch []byte
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		scratch = appendCompact(scratch[:0], v)
		m := &Message{raw: bytes.Clone(scratch)}
		if err := m.decode(); err != nil {
			return nil, fmt.Errorf("%d: %w", len(messages), err)
		}
		messages = append(messages, m)
	}
	_, err := d.ReadToken()
	return messages, err
}

// MarshalJSON writes the record compact, in the terminal tool's member order,
// then the members it did not know.
func (s *Session) MarshalJSON() ([]byte, error) {
	size := 512
	for _, m := range s.Messages {
		size += len(m.raw) + 1
	}
	b := make([]byte, 0, size)
	field := func(name, v string) {
		b = append(b, `,"`+name+`":`...)
		b = append(b, quote(v)...)
	}
	b = append(append(b, `{"id":`...), quote(s.ID)...)
	field("createdAt", s.CreatedAt)
	field("updatedAt", s.UpdatedAt)
	field("cwd", s.CWD)
	field("provider", s.Provider)
	field("model", s.Model)
	field("title", s.Title)
	b = fmt.Appendf(b, `,"inputTokens":%d,"outputTokens":%d`, s.InputTokens, s.OutputTokens)
	if s.Name != "" {
		field("name", s.Name)
	}
	if s.ParentID != "" {
		field("parentId", s.ParentID)
	}
	if s.Archived {
		b = append(b, `,"archived":true`...)
	}
	b = append(b, `,"messages":[`...)
	for i, m := range s.Messages {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, m.raw...)
	}
	b = append(b, ']')
	if len(s.Notebook) > 0 {
		b = append(append(b, `,"notebook":`...), s.Notebook...)
	}
	if s.CostUSD != nil {
		v, err := json.Marshal(*s.CostUSD)
		if err != nil {
			return nil, fmt.Errorf("costUsd: %w", err)
		}
		b = append(append(b, `,"costUsd":`...), v...)
	}
	for _, m := range s.extra {
		b = append(append(b, ','), quote(m.name)...)
		b = append(append(b, ':'), m.value...)
	}
	return append(b, '}'), nil
}

// MakeTitle returns the title the terminal tool gives messages: the first user
// message, cut to 60 UTF-16 units and "..." when longer, never inside a
// character; "untitled" when there is none.
func MakeTitle(messages []*Message) string {
	for _, m := range messages {
		if m.Role != RoleUser {
			continue
		}
		if m.Text == "" {
			break
		}
		if cut := Cut(m.Text, 60); cut != m.Text {
			return cut + "..."
		}
		return m.Text
	}
	return "untitled"
}

// nameUnits bounds a session's name, in UTF-16 units.
const nameUnits = 100

// CleanName returns name as one line without control characters, cut to 100
// UTF-16 units.
func CleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, name)
	return Cut(strings.Join(strings.Fields(name), " "), nameUnits)
}

// Cut returns the longest prefix of s of at most n UTF-16 units.
func Cut(s string, n int) string {
	for i, r := range s {
		n--
		if r > 0xFFFF {
			n--
		}
		if n < 0 {
			return s[:i]
		}
	}
	return s
}

// tokens is a count that a JavaScript program may have stored as any number.
type tokens int64

func (t *tokens) UnmarshalJSON(data []byte) error {
	var f float64
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	if f < 0 || f > math.MaxInt64/2 {
		return fmt.Errorf("%v is not a count", f)
	}
	*t = tokens(f)
	return nil
}

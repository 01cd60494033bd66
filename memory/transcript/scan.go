package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// newDecoder reads data as leniently as JavaScript does: a name may occur twice,
// a string may hold half a surrogate pair.
func newDecoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// A cursor walks over JSON that is known to be valid and compact. It looks at
// each byte once, and at those inside strings not one by one.
type cursor struct {
	b []byte
	i int
}

// value skips the value at the cursor and returns its bytes.
func (c *cursor) value() []byte {
	start, depth := c.i, 0
	for {
		switch c.b[c.i] {
		case '"':
			c.i = stringEnd(c.b, c.i)
		case '{', '[':
			depth++
			c.i++
		case '}', ']':
			depth--
			c.i++
		case ',', ':':
			c.i++
		default:
			for c.i++; c.i < len(c.b) && c.b[c.i] != ',' && c.b[c.i] != '}' && c.b[c.i] != ']'; c.i++ {
			}
		}
		if depth == 0 {
			return c.b[start:c.i:c.i]
		}
	}
}

// each calls f at each element of the array, or after each name of the object,
// at the cursor; f must move the cursor over the value.
func (c *cursor) each(f func(name []byte) error) error {
	object := c.b[c.i] == '{'
	for c.i++; c.b[c.i] != '}' && c.b[c.i] != ']'; {
		var name []byte
		if object {
			name = c.value()
			c.i++
		}
		if err := f(name); err != nil {
			return err
		}
		if c.b[c.i] == ',' {
			c.i++
		}
	}
	c.i++
	return nil
}

// stringEnd returns the index after the string that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(b[i:], '"')
		k := i
		for b[k-1] == '\\' {
			k--
		}
		if (i-k)%2 == 0 {
			return i + 1
		}
	}
}

// appendCompact appends valid JSON without the white space between its tokens.
func appendCompact(dst, v []byte) []byte {
	for i := 0; i < len(v); {
		j := i
		switch v[i] {
		case ' ', '\t', '\r', '\n':
			i++
			continue
		case '"':
			j = stringEnd(v, i)
		default:
			for j++; j < len(v) && v[j] != '"' && v[j] > ' '; j++ {
			}
		}
		dst = append(dst, v[i:j]...)
		i = j
	}
	return dst
}

var errKind = errors.New("not of the expected kind")

// text is the string raw stands for; empty when raw is missing or null.
func text(raw []byte) (string, error) {
	switch {
	case len(raw) == 0 || raw[0] == 'n':
		return "", nil
	case raw[0] != '"':
		return "", errKind
	}
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner), nil
	}
	b, _ := jsontext.AppendUnquote(make([]byte, 0, len(inner)), raw) // half a pair becomes U+FFFD in this view
	return string(b), nil
}

func flag(raw []byte) (bool, error) {
	switch {
	case len(raw) == 0 || raw[0] == 'n' || raw[0] == 'f':
		return false, nil
	case raw[0] == 't':
		return true, nil
	}
	return false, errKind
}

// fill sets a field from raw and names it when that fails.
func fill[T any](err *error, field *T, name string, raw []byte, read func([]byte) (T, error)) {
	if *err != nil {
		return
	}
	v, e := read(raw)
	if e != nil {
		*err = fmt.Errorf("%s: %w", name, e)
	}
	*field = v
}

// decode reads the view of m from its bytes, which are valid and compact.
func (m *Message) decode() error {
	if m.raw[0] != '{' {
		return errors.New("a message is not an object")
	}
	c := cursor{b: m.raw}
	content := false
	err := c.each(func(name []byte) (err error) {
		switch string(name) {
		case `"role"`:
			if m.Role, err = text(c.value()); err != nil {
				return fmt.Errorf("role: %w", err)
			}
		case `"content"`:
			content = true
			return m.decodeContent(&c)
		default:
			c.value()
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch m.Role {
	case RoleUser, RoleAssistant, RoleTool:
	default:
		return fmt.Errorf("unknown role %q", m.Role)
	}
	if !content {
		return errors.New("no content")
	}
	m.units = utf16Units(m.raw)
	return nil
}

func (m *Message) decodeContent(c *cursor) (err error) {
	m.Text, m.Parts = "", nil
	switch c.b[c.i] {
	case '"':
		m.Text, err = text(c.value())
		return err
	case '[':
		m.Parts = []Part{}
		return c.each(func([]byte) error {
			var p Part
			err := p.decode(c)
			m.Parts = append(m.Parts, p)
			return err
		})
	}
	return errors.New("content is neither a string nor an array")
}

// decode reads the part at c.
func (p *Part) decode(c *cursor) (err error) {
	if c.b[c.i] != '{' {
		return errors.New("a part is not an object")
	}
	var raw struct{ typ, text, callID, tool, input, executed, approvalID, automatic, approved, reason, options []byte }
	var out rawOutput
	c.each(func(name []byte) error {
		if string(name) == `"output"` {
			out.read(c)
			return nil
		}
		switch v := c.value(); string(name) {
		case `"type"`:
			raw.typ = v
		case `"text"`:
			raw.text = v
		case `"toolCallId"`:
			raw.callID = v
		case `"toolName"`:
			raw.tool = v
		case `"input"`:
			raw.input = v
		case `"providerExecuted"`:
			raw.executed = v
		case `"approvalId"`:
			raw.approvalID = v
		case `"isAutomatic"`:
			raw.automatic = v
		case `"approved"`:
			raw.approved = v
		case `"reason"`:
			raw.reason = v
		case `"providerOptions"`:
			raw.options = v
		}
		return nil
	})
	fill(&err, &p.Type, "type", raw.typ, text)
	if err == nil && p.Type == "" {
		return errors.New("a part without a type")
	}
	switch p.Type {
	case TypeText, TypeReasoning, TypeToolCall, TypeToolResult, TypeApprovalRequest, TypeApprovalResponse:
	default:
		return err
	}
	fill(&err, &p.Text, "text", raw.text, text)
	fill(&err, &p.ToolCallID, "toolCallId", raw.callID, text)
	fill(&err, &p.ToolName, "toolName", raw.tool, text)
	fill(&err, &p.ProviderExecuted, "providerExecuted", raw.executed, flag)
	fill(&err, &p.ApprovalID, "approvalId", raw.approvalID, text)
	fill(&err, &p.Automatic, "isAutomatic", raw.automatic, flag)
	fill(&err, &p.Approved, "approved", raw.approved, flag)
	fill(&err, &p.Reason, "reason", raw.reason, text)
	if e := out.decode(&p.Output); err == nil {
		err = e
	}
	p.Input, p.ProviderOptions = raw.input, raw.options
	return err
}

// A rawOutput is a result's output before its type is known.
type rawOutput struct {
	other              bool // neither an object nor null
	typ, value, reason []byte
}

func (r *rawOutput) read(c *cursor) {
	*r = rawOutput{}
	if c.b[c.i] != '{' {
		r.other = c.value()[0] != 'n'
		return
	}
	c.each(func(name []byte) error {
		switch v := c.value(); string(name) {
		case `"type"`:
			r.typ = v
		case `"value"`:
			r.value = v
		case `"reason"`:
			r.reason = v
		}
		return nil
	})
}

func (r *rawOutput) decode(o *Output) (err error) {
	if r.other {
		return fmt.Errorf("output: %w", errKind)
	}
	fill(&err, &o.Type, "output.type", r.typ, text)
	switch o.Type {
	case OutputText, OutputErrorText:
		fill(&err, &o.Text, "output.value", r.value, text)
	case OutputDenied:
		fill(&err, &o.Text, "output.reason", r.reason, text)
	default:
		o.value = r.value
	}
	return err
}

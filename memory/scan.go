package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"shiro/memory/transcript"
)

const (
	// headSize is how much of a file is read to learn what stands before the
	// messages. Records as both programs write them have it all there.
	headSize     = 4 << 10
	previewUnits = 120
)

// A recordScan reads a record without building it. It accepts what
// transcript.ParseSession accepts, and more: messages are only counted.
type recordScan struct {
	info                     *Info
	id, createdAt, updatedAt string
	seen                     int    // required members before the messages
	text                     []byte // the last text met in a message, a JSON string
	part                     []byte
	requests                 []request // of the last response, as far as they are not answered
	prompts                  []byte    // texts of users in lower case, up to promptsSize
	long                     bool      // there was more of them
	find                     string    // what one of them should hold; empty when nothing is looked for
	found                    bool
}

// promptsSize is how much of a session's prompts is kept for searches, in bytes.
// A session with more is read again by each search.
const promptsSize = 4 << 10

// A request for approval. Its ids are quoted.
type request struct{ call, approval string }

const requiredBeforeMessages = 7

// file reads the file at path: all of it, or only its beginning when that tells
// enough and the end of the file is where it should be. It returns which.
func (p *recordScan) file(path string, whole bool) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, headSize)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return false, err
	}
	head = withoutMark(head[:n])
	if n == headSize && !whole && endsLikeRecord(f, head) && p.record(bytes.NewReader(head), true) == nil {
		return false, nil
	}
	*p = recordScan{info: p.info, find: p.find}
	return true, p.record(io.MultiReader(bytes.NewReader(head), f), false)
}

// endsLikeRecord reports whether f is a printed object that is not cut off: in
// one, only the last brace stands at the beginning of a line.
func endsLikeRecord(f *os.File, head []byte) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	var tail [4]byte
	if _, err := f.ReadAt(tail[:], info.Size()-int64(len(tail))); err != nil {
		return false
	}
	return bytes.HasPrefix(head, []byte("{\n")) && bytes.HasSuffix(bytes.TrimSpace(tail[:]), []byte("}")) &&
		bytes.Contains(tail[:], []byte("\n}"))
}

// record reads the object in r, up to its messages when headOnly.
func (p *recordScan) record(r io.Reader, headOnly bool) error {
	*p.info = Info{}
	d := jsontext.NewDecoder(r, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err := open(d, '{'); err != nil {
		return err
	}
	messages := false
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		key := name.String()
		if key == "messages" {
			if headOnly {
				if p.seen < requiredBeforeMessages {
					return io.ErrUnexpectedEOF
				}
				return open(d, '[')
			}
			messages = true
		}
		if err := p.member(d, key); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return errors.New("data after the record")
	}
	if p.seen < requiredBeforeMessages || !messages {
		return errors.New("a member is missing")
	}
	p.info.Preview, p.info.Waiting = preview(p.text), len(p.requests) > 0
	return nil
}

func (p *recordScan) member(d *jsontext.Decoder, key string) error {
	var text *string
	switch key {
	case "id":
		text = &p.id
	case "createdAt":
		text = &p.createdAt
	case "updatedAt":
		text = &p.updatedAt
	case "cwd":
		text = &p.info.CWD
	case "provider":
		text = &p.info.Provider
	case "model":
		text = &p.info.Model
	case "title":
		text = &p.info.Title
	case "inputTokens":
		return count(d, &p.info.InputTokens)
	case "outputTokens":
		return count(d, &p.info.OutputTokens)
	case "costUsd":
		return p.cost(d)
	case "messages":
		return p.messages(d)
	case "name", "parentId", "archived":
		return p.ours(d, key)
	default:
		return d.SkipValue()
	}
	t, err := read(d, '"')
	if err != nil {
		return err
	}
	*text = t.String()
	p.seen++
	return nil
}

// ours reads a member that is ours if it has the right type.
func (p *recordScan) ours(d *jsontext.Decoder, key string) error {
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	target := map[string]any{"name": &p.info.Name, "parentId": &p.info.ParentID, "archived": &p.info.Archived}[key]
	json.Unmarshal(v, target) // else it is somebody else's
	return nil
}

func (p *recordScan) cost(d *jsontext.Decoder) error {
	if d.PeekKind() == 'n' {
		return d.SkipValue()
	}
	t, err := read(d, '0')
	if err != nil {
		return err
	}
	f, err := t.Float()
	p.info.CostUSD = &f
	return err
}

func (p *recordScan) messages(d *jsontext.Decoder) error {
	if err := open(d, '['); err != nil {
		return err
	}
	for d.PeekKind() == '{' {
		p.info.Messages++
		if err := p.message(d); err != nil {
			return err
		}
	}
	_, err := read(d, ']')
	return err
}

func (p *recordScan) message(d *jsontext.Decoder) error {
	var role string
	var texts [][]byte
	err := members(d, func(name []byte) error {
		switch string(name) {
		case `"role"`:
			v, err := d.ReadValue()
			role = string(v)
			return err
		case `"content"`:
			if role != `"tool"` {
				p.requests = p.requests[:0]
			}
			take := func(text []byte) {
				if role == "" || role == `"user"` {
					texts = append(texts, bytes.Clone(text))
				}
			}
			if d.PeekKind() == '[' {
				return p.parts(d, take)
			}
			v, err := d.ReadValue()
			p.text = append(p.text[:0], v...)
			take(v)
			return err
		}
		return d.SkipValue()
	})
	if role == `"user"` {
		p.info.Turns++
		for _, t := range texts {
			p.prompt(t)
		}
	}
	return err
}

// prompt takes a text of the user, a JSON string.
func (p *recordScan) prompt(text []byte) {
	b, _ := jsontext.AppendUnquote(nil, text)
	b = bytes.ToLower(b)
	p.found = p.found || p.find != "" && bytes.Contains(b, []byte(p.find))
	if p.long = p.long || len(p.prompts)+len(b) > promptsSize; !p.long {
		p.prompts = append(append(p.prompts, b...), 0)
	}
}

// parts reads the parts of a message and calls each with those that are text.
func (p *recordScan) parts(d *jsontext.Decoder, each func(text []byte)) error {
	if err := open(d, '['); err != nil {
		return err
	}
	for d.PeekKind() == '{' {
		var kind string
		var ids request
		p.part = p.part[:0]
		err := members(d, func(name []byte) error {
			var id *string
			switch string(name) {
			case `"type"`:
				id = &kind
			case `"toolCallId"`:
				id = &ids.call
			case `"approvalId"`:
				id = &ids.approval
			case `"text"`:
				v, err := d.ReadValue()
				p.part = append(p.part, v...)
				return err
			default:
				return d.SkipValue()
			}
			v, err := d.ReadValue()
			*id = string(v)
			return err
		})
		if err != nil {
			return err
		}
		switch kind {
		case `"text"`:
			if len(p.part) > 0 {
				p.text, p.part = p.part, p.text
				each(p.text)
			}
		case `"tool-approval-request"`:
			p.requests = append(p.requests, ids)
		case `"tool-result"`:
			p.requests = slices.DeleteFunc(p.requests, func(r request) bool { return r.call == ids.call })
		case `"tool-approval-response"`:
			p.requests = slices.DeleteFunc(p.requests, func(r request) bool { return r.approval == ids.approval })
		}
	}
	_, err := read(d, ']')
	return err
}

// members reads an object. It calls value with each name, still quoted and good
// until d is used again, and value must read what the name stands for.
func members(d *jsontext.Decoder, value func(name []byte) error) error {
	if err := open(d, '{'); err != nil {
		return err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadValue()
		if err != nil {
			return err
		}
		if err := value(name); err != nil {
			return err
		}
	}
	_, err := read(d, '}')
	return err
}

func open(d *jsontext.Decoder, kind jsontext.Kind) error {
	_, err := read(d, kind)
	return err
}

// read reads a token, which must be of that kind.
func read(d *jsontext.Decoder, kind jsontext.Kind) (jsontext.Token, error) {
	t, err := d.ReadToken()
	if err == nil && t.Kind() != kind {
		err = fmt.Errorf("%v where %v should be", t.Kind(), kind)
	}
	return t, err
}

func count(d *jsontext.Decoder, n *int64) error {
	t, err := read(d, '0')
	if err != nil {
		return err
	}
	f, err := t.Float()
	if f < 0 {
		return fmt.Errorf("%v is not a count", f)
	}
	*n = int64(f)
	return err
}

// preview is the beginning of text, a JSON string, on one line.
func preview(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	// Invalid text comes out with replacement characters, which will do here.
	b, _ := jsontext.AppendUnquote(nil, text)
	line := strings.Join(strings.Fields(oneLine(transcript.Cut(string(b), 4*previewUnits))), " ")
	return transcript.Cut(line, previewUnits)
}

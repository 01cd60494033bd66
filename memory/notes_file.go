package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

func kinds() []string { return []string{"fact", "decision", "gotcha", "command"} }

// A Note is one thing learnt about a project.
type Note struct {
	ID        string
	Kind      string // fact, decision, gotcha or command
	Text      string
	CreatedAt string // RFC 3339 by those who write it; not checked
	Hits      float64

	raw json.RawMessage // what is written; may have members we do not know
}

func newNote(kind, text string, now time.Time) Note {
	o := Note{ID: NewID(), Kind: kind, Text: text, CreatedAt: timestamp(now)}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(struct { // cannot fail: strings and a number
		ID        string  `json:"id"`
		Kind      string  `json:"kind"`
		Text      string  `json:"text"`
		CreatedAt string  `json:"createdAt"`
		Hits      float64 `json:"hits"`
	}{o.ID, o.Kind, o.Text, o.CreatedAt, 0})
	o.raw = b.Bytes()
	return o
}

// parseNote reads one element of the file. It reports false when that is not a
// note.
func parseNote(raw json.RawMessage) (Note, bool) {
	o := Note{raw: raw}
	texts := map[string]*string{`"id"`: &o.ID, `"kind"`: &o.Kind, `"text"`: &o.Text, `"createdAt"`: &o.CreatedAt}
	seen := make(map[string]bool, len(texts)+1)
	d := rawDecoder(raw)
	err := members(d, func(quoted []byte) error {
		name := string(quoted)
		text, ok := texts[name]
		if !ok && name != `"hits"` {
			return d.SkipValue()
		}
		seen[name] = true
		if ok {
			t, err := read(d, '"')
			if err == nil {
				*text = t.String()
			}
			return err
		}
		t, err := read(d, '0')
		if err == nil {
			o.Hits, err = t.Float()
		}
		return err
	})
	return o, err == nil && len(seen) == len(texts)+1 && slices.Contains(kinds(), o.Kind)
}

func rawDecoder(raw []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// hit counts a recall.
func (o *Note) hit() {
	o.Hits++
	o.set(map[string][]byte{`"hits"`: strconv.AppendFloat(nil, o.Hits, 'f', -1, 64)})
}

// say changes what the note says.
func (o *Note) say(kind, text string) {
	o.Kind, o.Text = kind, text
	quoted, _ := jsontext.AppendQuote(nil, text) // invalid text would be replaced
	o.set(map[string][]byte{`"kind"`: strconv.AppendQuote(nil, kind), `"text"`: quoted})
}

// set replaces members by their quoted names, leaving the others as they were
// written.
func (o *Note) set(values map[string][]byte) {
	d := rawDecoder(o.raw)
	b := []byte("{")
	err := members(d, func(name []byte) error {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(b, name...), ':')
		with, replaced := values[string(name)]
		value, err := d.ReadValue()
		if replaced {
			value = with
		}
		b = append(b, value...)
		return err
	})
	if err == nil { // always: raw was decoded before
		o.raw = append(b, '}')
	}
}

// A notesFile is what the file of a folder's notes holds.
type notesFile struct {
	notes   []Note
	damaged bool // it holds something else too, or instead
}

// read reads the file. One that does not exist or holds no array is empty; one
// that cannot be read is an error.
func (n *Notes) read() (f notesFile, err error) {
	_, err = readFile(n.path, func(data []byte) (err error) {
		f, err = parseNotes(data)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNoArray) {
		return notesFile{}, fmt.Errorf("reading memory: %w", err)
	}
	return f, nil
}

var errNoArray = errors.New("not an array")

func parseNotes(data []byte) (notesFile, error) {
	var elements []json.RawMessage
	if json.Unmarshal(data, &elements) != nil || elements == nil {
		return notesFile{damaged: true}, errNoArray
	}
	var f notesFile
	for _, raw := range elements {
		if o, ok := parseNote(raw); ok {
			f.notes = append(f.notes, o)
		} else {
			f.damaged = true
		}
	}
	return f, nil
}

// printNotes is the content of the file that holds the newest of notes.
func printNotes(notes []Note) ([]byte, error) {
	b := []byte("[")
	for i, o := range notes[max(0, len(notes)-maxNotes):] {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, o.raw...)
	}
	return pretty(append(b, ']'))
}

// change gives edit what the file holds and writes what edit returns, unless
// that is nil.
func (n *Notes) change(edit func([]Note) []Note) error {
	err := n.store.update(n.path, func() (data []byte, damaged bool, err error) {
		f, err := n.read()
		if err != nil {
			return nil, false, err
		}
		notes := edit(f.notes)
		if notes == nil {
			return nil, false, nil
		}
		data, err = printNotes(notes)
		return data, f.damaged, err
	})
	if err != nil {
		return fmt.Errorf("writing memory: %w", err)
	}
	return nil
}

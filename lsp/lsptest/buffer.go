package lsptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
)

// A Buffer is an open document.
type Buffer struct {
	Text    string
	Version int
	Undo    []string // earlier texts, oldest first
}

// URI returns the URI of an absolute path.
func URI(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

// Open opens a document.
func (e *Editor) Open(path, text string) error {
	e.mu.Lock()
	e.buffers[URI(path)] = &Buffer{Text: text, Version: 1}
	e.mu.Unlock()
	return e.Notify("textDocument/didOpen", map[string]any{
		"textDocument": map[string]any{"uri": URI(path), "languageId": "text", "version": 1, "text": text},
	})
}

// Type replaces the whole text of an open document, as typing would.
func (e *Editor) Type(path, text string) error {
	e.mu.Lock()
	b := e.buffers[URI(path)]
	if b == nil {
		e.mu.Unlock()
		return fmt.Errorf("%s is not open", path)
	}
	old := b.set(text)
	version := b.Version
	e.mu.Unlock()
	return e.change(URI(path), version, old, text)
}

// CloseDocument closes a document.
func (e *Editor) CloseDocument(path string) error {
	e.mu.Lock()
	delete(e.buffers, URI(path))
	e.mu.Unlock()
	return e.Notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": URI(path)}})
}

// Buffer returns a copy of an open document.
func (e *Editor) Buffer(path string) (Buffer, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.buffers[URI(path)]
	if b == nil {
		return Buffer{}, false
	}
	return Buffer{b.Text, b.Version, slices.Clone(b.Undo)}, true
}

// WaitBuffer waits until match accepts the text of an open document.
func (e *Editor) WaitBuffer(ctx context.Context, path string, match func(string) bool) error {
	for {
		e.mu.Lock()
		b, changed := e.buffers[URI(path)], e.changed
		ok := b != nil && match(b.Text)
		e.mu.Unlock()
		if ok {
			return nil
		}
		if err := wait(ctx, changed, e.done); err != nil {
			return fmt.Errorf("waiting for the text of %s: %w", path, err)
		}
	}
}

func (b *Buffer) set(text string) (old string) {
	old = b.Text
	b.Undo = append(b.Undo, old)
	b.Text = text
	b.Version++
	return old
}

// change tells the server of a new text, as one incremental change of what
// differs.
func (e *Editor) change(uri string, version int, old, text string) error {
	from := 0
	for from < len(old) && from < len(text) && old[from] == text[from] {
		from++
	}
	from = strings.LastIndexByte(old[:from], '\n') + 1 // whole lines, so no character is cut
	return e.Notify("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": uri, "version": version},
		"contentChanges": []any{map[string]any{"range": map[string]any{"start": place(old, from), "end": place(old, len(old))}, "text": text[from:]}},
	})
}

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

func place(text string, at int) position {
	start := strings.LastIndexByte(text[:at], '\n') + 1
	return position{strings.Count(text[:at], "\n"), len(utf16.Encode([]rune(text[start:at])))}
}

func byteOffset(text string, p position) (int, error) {
	lines := strings.SplitAfter(text, "\n")
	if p.Line >= len(lines) {
		return 0, fmt.Errorf("line %d of %d", p.Line, len(lines))
	}
	at := len(strings.Join(lines[:p.Line], ""))
	units := utf16.Encode([]rune(lines[p.Line]))
	if p.Character > len(units) {
		return 0, fmt.Errorf("character %d of %d", p.Character, len(units))
	}
	return at + len(string(utf16.Decode(units[:p.Character]))), nil
}

type textEdit struct {
	Range struct {
		Start position `json:"start"`
		End   position `json:"end"`
	} `json:"range"`
	NewText string `json:"newText"`
}

type documentChange struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version *int   `json:"version"`
	} `json:"textDocument"`
	Edits []textEdit `json:"edits"`
}

// applyEdit does what the server asks, all or nothing, and refuses what does
// not fit the buffers' versions.
func (e *Editor) applyEdit(m message) {
	var p struct {
		Label string `json:"label"`
		Edit  struct {
			Changes         map[string][]textEdit `json:"changes"`
			DocumentChanges []documentChange      `json:"documentChanges"`
		} `json:"edit"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		e.reply(m.ID, nil, &Error{Code: -32602, Message: err.Error()})
		return
	}
	for uri, edits := range p.Edit.Changes {
		var c documentChange
		c.TextDocument.URI, c.Edits = uri, edits
		p.Edit.DocumentChanges = append(p.Edit.DocumentChanges, c)
	}
	refuse := ""
	if e.OnApply != nil {
		refuse = e.OnApply(p.Label)
	}
	if refuse == "" {
		if err := e.applyAll(p.Edit.DocumentChanges); err != nil {
			refuse = err.Error()
		}
	}
	res := map[string]any{"applied": refuse == ""}
	if refuse != "" {
		res["failureReason"] = refuse
	}
	e.reply(m.ID, res, nil)
}

func (e *Editor) applyAll(changes []documentChange) error {
	texts := make([]string, len(changes))
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, c := range changes {
		b := e.buffers[c.TextDocument.URI]
		if b == nil {
			return errors.New(c.TextDocument.URI + " is not open")
		}
		if v := c.TextDocument.Version; v != nil && *v != b.Version {
			return fmt.Errorf("version %d, not %d", b.Version, *v)
		}
		text, err := applyEdits(b.Text, c.Edits)
		if err != nil {
			return err
		}
		texts[i] = text
	}
	for i, c := range changes {
		b := e.buffers[c.TextDocument.URI]
		uri, old := c.TextDocument.URI, b.set(texts[i])
		version, text := b.Version, b.Text
		e.wakeLocked()
		e.mu.Unlock()
		err := e.change(uri, version, old, text)
		e.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

func applyEdits(text string, edits []textEdit) (string, error) {
	type span struct {
		from, to int
		text     string
	}
	spans := make([]span, len(edits))
	for i, ed := range edits {
		from, err := byteOffset(text, ed.Range.Start)
		if err != nil {
			return "", err
		}
		to, err := byteOffset(text, ed.Range.End)
		if err != nil {
			return "", err
		}
		spans[i] = span{from, to, ed.NewText}
	}
	slices.SortStableFunc(spans, func(a, b span) int { return b.from - a.from })
	for i, s := range spans {
		if i > 0 && s.to > spans[i-1].from {
			return "", errors.New("overlapping edits")
		}
		text = text[:s.from] + s.text + text[s.to:]
	}
	return text, nil
}

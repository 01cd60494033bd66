package lsp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"shiro/agent/tool"
)

// Bounds on an edit of an open document: the editor's answer, and after it the
// change that shows that the text is really there.
const (
	applyDeadline = 30 * time.Second
	shownDeadline = 5 * time.Second
	movedDeadline = 300 * time.Millisecond
)

// documents are the editor's open documents, by path. The notifications that
// change them run on the read loop; tools read them from anywhere.
type documents struct {
	apply     func(context.Context, *protocol.ApplyWorkspaceEditParams) (*protocol.ApplyWorkspaceEditResult, error)
	editable  bool // the editor can be asked to change documents
	utf16     bool // positions count UTF-16 units, else bytes
	versioned bool // the editor takes versioned edits

	mu   sync.Mutex
	open map[string]*document
	real map[string]string // path without links -> path of an open document
}

type document struct {
	uri     uri.URI
	version int32
	text    string
	disk    *disk         // nil while the text is not what was last seen on disk
	changed chan struct{} // closed at the next change or at the close
	awaited *awaited      // nil when no edit is being applied
}

// An awaited text is what an edit makes of a document, which the user may change
// again at once.
type awaited struct {
	text string
	seen bool
}

// A disk is the file under a document when the two were last the same.
type disk struct {
	path, text string
	info       fs.FileInfo
}

func newDocuments(apply func(context.Context, *protocol.ApplyWorkspaceEditParams) (*protocol.ApplyWorkspaceEditResult, error)) *documents {
	return &documents{apply: apply, open: make(map[string]*document), real: make(map[string]string)}
}

// seeDisk returns the file at path when it holds text.
func seeDisk(path, text string) *disk {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > int64(len(text)+len(bom)) {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.TrimPrefix(string(data), bom) != strings.TrimPrefix(text, bom) {
		return nil
	}
	return &disk{path, text, info}
}

const bom = "\ufeff"

// passed reports whether the file went on without the document: a command or
// another program changed it, and the editor has not read it again.
func (d *disk) passed() bool {
	info, err := os.Stat(d.path)
	if err != nil || info.Size() == d.info.Size() && info.ModTime().Equal(d.info.ModTime()) {
		return false
	}
	return seeDisk(d.path, d.text) == nil
}

// The params are types of our own: protocol's respells the URI, so that an edit
// would not name the document in the editor's words, and takes a broken range
// for none, so that a change would replace the whole text.
type (
	didOpenParams struct {
		TextDocument struct {
			URI     string `json:"uri"`
			Version int32  `json:"version"`
			Text    string `json:"text"`
		} `json:"textDocument"`
	}
	didChangeParams struct {
		TextDocument struct {
			URI     string `json:"uri"`
			Version int32  `json:"version"`
		} `json:"textDocument"`
		ContentChanges []contentChange `json:"contentChanges"`
	}
	contentChange struct {
		Range *textRange `json:"range"` // nil: the whole text
		Text  *string    `json:"text"`
	}
	textRange struct {
		Start position `json:"start"`
		End   position `json:"end"`
	}
	position struct {
		Line      uint32 `json:"line"`
		Character uint32 `json:"character"`
	}
	didCloseParams struct {
		TextDocument struct {
			URI string `json:"uri"`
		} `json:"textDocument"`
	}
)

func (d *documents) didOpen(_ context.Context, p *didOpenParams) error {
	path, ok := pathOf(p.TextDocument.URI)
	if !ok {
		return nil // untitled: and the like are no files
	}
	doc := &document{
		uri: uri.URI(p.TextDocument.URI), version: p.TextDocument.Version, text: p.TextDocument.Text,
		disk: seeDisk(path, p.TextDocument.Text), changed: make(chan struct{}),
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[path] = doc
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) { // not saved yet
		real, err = filepath.EvalSymlinks(filepath.Dir(path))
		real = filepath.Join(real, filepath.Base(path))
	}
	if err == nil && real != path {
		d.real[real] = path
	}
	return nil
}

func (d *documents) didSave(_ context.Context, p *didCloseParams) error {
	path, ok := pathOf(p.TextDocument.URI)
	if !ok {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if doc := d.open[path]; doc != nil {
		doc.disk = seeDisk(path, doc.text)
	}
	return nil
}

func (d *documents) didChange(_ context.Context, p *didChangeParams) error {
	path, ok := pathOf(p.TextDocument.URI)
	if !ok {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	doc := d.open[path]
	if doc == nil {
		return fmt.Errorf("a change of %s, which is not open", p.TextDocument.URI)
	}
	for _, c := range p.ContentChanges {
		if c.Text == nil {
			return fmt.Errorf("a change of %s without a text", p.TextDocument.URI)
		}
	}
	for _, c := range p.ContentChanges {
		if c.Range == nil {
			doc.text = *c.Text
			continue
		}
		from := offset(doc.text, c.Range.Start, d.utf16)
		to := max(offset(doc.text, c.Range.End, d.utf16), from)
		doc.text = doc.text[:from] + *c.Text + doc.text[to:]
	}
	doc.version = p.TextDocument.Version
	if doc.awaited != nil && sameText(doc.text, doc.awaited.text) {
		doc.awaited.seen = true
	}
	if doc.disk != nil && doc.disk.text != doc.text {
		doc.disk = nil
	}
	doc.wake()
	return nil
}

func (d *documents) didClose(_ context.Context, p *didCloseParams) error {
	path, ok := pathOf(p.TextDocument.URI)
	if !ok {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if doc := d.open[path]; doc != nil {
		doc.wake()
		delete(d.open, path)
		maps.DeleteFunc(d.real, func(_, open string) bool { return open == path })
	}
	return nil
}

func (doc *document) wake() {
	close(doc.changed)
	doc.changed = make(chan struct{})
}

// Buffer returns the text of an open document as the editor last told it. A
// document that nobody changed while its file went on counts as closed: the
// editor will read the file again.
func (d *documents) Buffer(path string) (text string, version int32, open bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	doc := d.findLocked(path)
	if doc == nil || doc.disk != nil && doc.disk.passed() {
		return "", 0, false
	}
	return doc.text, doc.version, true
}

// findLocked returns the document that is open under path or, the path having
// no links in it, under another name of the file.
func (d *documents) findLocked(path string) *document {
	if doc := d.open[path]; doc != nil {
		return doc
	}
	return d.open[d.real[path]]
}

// Apply has the editor change open documents, in one edit, and waits until
// their new text has come back: some editors call an edit applied that they
// left out because it was too old.
func (d *documents) Apply(ctx context.Context, changes []tool.BufferChange) error {
	if !d.editable {
		return fmt.Errorf("%s is open in the editor, which takes no edits (workspace.applyEdit); the user must close it first", changes[0].Path)
	}
	edit, err := d.workspaceEdit(changes)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, applyDeadline)
	defer cancel()
	label := "Shiro"
	res, err := d.apply(ctx, &protocol.ApplyWorkspaceEditParams{Label: &label, Edit: *edit})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the editor did not answer within %v whether it applied the edit; read the file before going on", applyDeadline)
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted before the editor said whether it applied the edit; read the file before going on: %w", err)
	case err != nil:
		return fmt.Errorf("the editor did not apply the edit: %w", err)
	case !res.Applied && d.moved(ctx, changes):
		return fmt.Errorf("%w: the user typed in the editor", tool.ErrStale)
	case !res.Applied:
		why := "it gave no reason"
		if res.FailureReason != nil && *res.FailureReason != "" {
			why = *res.FailureReason
		}
		return fmt.Errorf("the editor refused the edit: %s", why)
	}
	for _, c := range changes {
		if err := d.shown(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// moved reports whether one of the documents has another version by now. The
// change that made the editor refuse may be on its way.
func (d *documents) moved(ctx context.Context, changes []tool.BufferChange) bool {
	ctx, cancel := context.WithTimeout(ctx, movedDeadline)
	defer cancel()
	for _, c := range changes {
		d.mu.Lock()
		doc := d.findLocked(c.Path)
		if doc == nil || doc.version != c.Version {
			d.mu.Unlock()
			return true
		}
		changed := doc.changed
		d.mu.Unlock()
		if len(changes) == 1 {
			select {
			case <-changed:
				return true
			case <-ctx.Done():
			}
		}
	}
	return false
}

func (d *documents) workspaceEdit(changes []tool.BufferChange) (*protocol.WorkspaceEdit, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	edit := &protocol.WorkspaceEdit{}
	for _, c := range changes {
		doc := d.findLocked(c.Path)
		if doc == nil || doc.version != c.Version {
			return nil, fmt.Errorf("%w: %s changed in the editor", tool.ErrStale, c.Path)
		}
		doc.awaited = &awaited{text: c.Text}
		var elements []protocol.TextDocumentEditElement
		var edits []protocol.TextEdit
		for _, e := range c.Edits {
			te := protocol.TextEdit{
				Range: protocol.Range{
					Start: protocol.Position(positionAt(doc.text, e.Start, d.utf16)),
					End:   protocol.Position(positionAt(doc.text, e.End, d.utf16)),
				},
				NewText: e.New,
			}
			edits = append(edits, te)
			elements = append(elements, &te)
		}
		if !d.versioned {
			if edit.Changes == nil {
				edit.Changes = make(map[uri.URI][]protocol.TextEdit)
			}
			edit.Changes[doc.uri] = edits
			continue
		}
		version := doc.version
		id := protocol.OptionalVersionedTextDocumentIdentifier{Version: &version}
		id.URI = doc.uri
		edit.DocumentChanges = append(edit.DocumentChanges, &protocol.TextDocumentEdit{TextDocument: id, Edits: elements})
	}
	return edit, nil
}

// shown waits until the document has the new text.
func (d *documents) shown(ctx context.Context, c tool.BufferChange) error {
	ctx, cancel := context.WithTimeout(ctx, shownDeadline)
	defer cancel()
	for {
		d.mu.Lock()
		doc := d.findLocked(c.Path)
		if doc == nil {
			d.mu.Unlock()
			return fmt.Errorf("%s was closed while the edit was applied; read it before going on", c.Path)
		}
		seen := sameText(doc.text, c.Text) || doc.awaited != nil && doc.awaited.seen
		if seen {
			doc.awaited = nil
		}
		changed := doc.changed
		d.mu.Unlock()
		if seen {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the editor says it applied the edit, but the text of %s is not what it should be; read it before going on", c.Path)
		}
	}
}

// sameText compares without the final newline, which editors add and drop.
func sameText(a, b string) bool {
	trim := func(s string) string { return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r") }
	return trim(a) == trim(b)
}

// applyEdit asks the editor.
func (s *Server) applyEdit(ctx context.Context, p *protocol.ApplyWorkspaceEditParams) (*protocol.ApplyWorkspaceEditResult, error) {
	var res protocol.ApplyWorkspaceEditResult
	if err := s.conn.Call(ctx, protocol.MethodWorkspaceApplyEdit, p, &res); err != nil {
		return nil, err
	}
	return &res, nil
}

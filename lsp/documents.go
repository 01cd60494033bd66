package lsp

import (
	"context"
	"errors"
	"fmt"
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
)

// documents are the editor's open documents, by path. The notifications that
// change them run on the read loop; tools read them from anywhere.
type documents struct {
	apply     func(context.Context, *protocol.ApplyWorkspaceEditParams) (*protocol.ApplyWorkspaceEditResult, error)
	utf16     bool // positions count UTF-16 units, else bytes
	versioned bool // the editor takes versioned edits

	mu   sync.Mutex
	open map[string]*document
}

type document struct {
	uri     uri.URI
	version int32
	text    string
	changed chan struct{} // closed at the next change or at the close
	gone    bool
}

func newDocuments(apply func(context.Context, *protocol.ApplyWorkspaceEditParams) (*protocol.ApplyWorkspaceEditResult, error)) *documents {
	return &documents{apply: apply, open: make(map[string]*document)}
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
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[path] = &document{uri: uri.URI(p.TextDocument.URI), version: p.TextDocument.Version, text: p.TextDocument.Text, changed: make(chan struct{})}
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
		doc.gone = true
		doc.wake()
		delete(d.open, path)
	}
	return nil
}

func (doc *document) wake() {
	close(doc.changed)
	doc.changed = make(chan struct{})
}

// Buffer returns the text of an open document as the editor last told it.
func (d *documents) Buffer(path string) (text string, version int32, open bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	doc := d.open[path]
	if doc == nil {
		return "", 0, false
	}
	return doc.text, doc.version, true
}

// Apply has the editor change open documents, in one edit, and waits until
// their new text has come back: some editors call an edit applied that they
// left out because it was too old.
func (d *documents) Apply(ctx context.Context, changes []tool.BufferChange) error {
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
	case err != nil:
		return fmt.Errorf("the editor did not apply the edit: %w", err)
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

func (d *documents) workspaceEdit(changes []tool.BufferChange) (*protocol.WorkspaceEdit, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	edit := &protocol.WorkspaceEdit{}
	for _, c := range changes {
		doc := d.open[c.Path]
		if doc == nil || doc.version != c.Version {
			return nil, fmt.Errorf("%w: %s changed in the editor", tool.ErrStale, c.Path)
		}
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
		doc := d.open[c.Path]
		if doc == nil || doc.gone {
			d.mu.Unlock()
			return fmt.Errorf("%s was closed while the edit was applied; read it before going on", c.Path)
		}
		same, changed := sameText(doc.text, c.Text), doc.changed
		d.mu.Unlock()
		if same {
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

package tool

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// An Op is what an edit does to a file.
type Op string

// The three ops.
const (
	Create Op = "create"
	Modify Op = "modify"
	Delete Op = "delete"
)

// An Edit is a proposed change of files: shown, answered, then committed by
// Workspace.Commit. It is not changed after it was made, except by Commit.
type Edit struct {
	Files []FileEdit

	summary  string // the result, when all of it is committed
	total    int    // hunks proposed, when some are refused
	refusals []refusal
	amended  []string // what the user made of files, as unified diffs
	unsaved  []string // files that the editor shows changed but has not saved
	seen     *seen    // of the session that proposed it; may be nil
	mask     *mask    // of that session
	fault    error    // why it cannot be committed
}

// A FileEdit is the part of an Edit in one file.
type FileEdit struct {
	Path     string // absolute; of an open document, as the editor knows it
	Rel      string // slash-separated, relative to the root
	Op       Op
	Base     []byte // the text now, without a byte order mark
	BaseHash string // SHA-256 of Base in hexadecimal; empty when Op is Create
	Version  int32  // of the open document; -1 when there is none
	Proposed []byte // the text afterwards
	Hunks    []Hunk // what makes Base into Proposed; none for an empty new file

	at     place
	whole  bool // the model wrote all of Proposed
	sealed bool // the model may not read it: no result quotes it
}

type refusal struct {
	rel    string
	hunk   Hunk
	reason string
}

// Select returns Base with the accepted hunks applied: Base itself for none,
// Proposed for all.
func (f *FileEdit) Select(accepted func(hunk int) bool) []byte {
	var edits []TextEdit
	for i, h := range f.Hunks {
		if accepted(i) {
			edits = append(edits, h.edits...)
		}
	}
	return apply(f.Base, edits)
}

// Accept returns the part of e that the user accepts. Result then tells the
// model which hunks were refused, and the reason where there is one. Files of
// which nothing is left are not in it; when that is all of them, there is
// nothing to commit. Hunk numbers count within a file.
func (e *Edit) Accept(accept func(file, hunk int) (ok bool, reason string)) *Edit {
	part := *e
	part.Files, part.refusals = nil, slices.Clone(e.refusals)
	part.total = 0
	for i, f := range e.Files {
		var kept []Hunk
		ahead := 0 // lines that refused hunks would have added so far
		for k, h := range f.Hunks {
			part.total++
			ok, reason := accept(i, k)
			if !ok {
				if f.sealed {
					h.Text = ""
				}
				part.refusals = append(part.refusals, refusal{f.Rel, h, reason})
				ahead += h.NewLines - h.OldLines
				continue
			}
			h.NewStart -= ahead
			kept = append(kept, h)
		}
		if len(kept) == 0 && len(f.Hunks) > 0 {
			continue
		}
		if len(kept) < len(f.Hunks) && f.Op == Delete {
			f.Op = Modify
		}
		f.Hunks = kept
		f.Proposed = f.Select(func(int) bool { return true })
		part.Files = append(part.Files, f)
	}
	return &part
}

// Amend returns e with the user's own text, without a byte order mark, in place
// of what was proposed for the file of that number. Result shows the model the
// difference. Text from an editor has lost the bytes of a file that is not
// UTF-8: unless it is ASCII, Commit refuses to write it there.
func (e *Edit) Amend(file int, text []byte) *Edit {
	own := *e
	own.Files = slices.Clone(e.Files)
	f := &own.Files[file]
	text = bytes.TrimPrefix(text, []byte(bom))
	if !utf8.Valid(f.Base) && !ascii(text) {
		own.fault = notUTF8(f.Rel)
	}
	if d := f.difference(text); d != "" {
		own.amended = append(slices.Clone(e.amended), d)
	}
	f.Proposed, f.Hunks = text, diff(f.Base, text)
	if f.Op == Delete {
		f.Op = Modify
	}
	return &own
}

// difference is what the model is shown of the text that the user has put in
// place of its own; empty when they are the same.
func (f *FileEdit) difference(text []byte) string {
	var b strings.Builder
	for _, h := range diff(f.Proposed, text) {
		if f.sealed {
			return f.Rel + " (you may not read this file, so the change is not shown)"
		}
		fmt.Fprintf(&b, "@@ %s @@\n%s", f.Rel, h.Text)
	}
	return b.String()
}

// Result is what the model is told once e is committed.
func (e *Edit) Result() string {
	r := report{mask: e.mask}
	if len(e.refusals) == 0 {
		r.add(e.summary)
	} else {
		r.addf("The user accepted %d of %d hunks.", e.total-len(e.refusals), e.total)
	}
	for _, x := range e.refusals {
		r.addf("\n\nRefused, not applied: %s, line %d", x.rel, max(x.hunk.OldStart, 1))
		if x.reason != "" {
			r.addf(": %s", x.reason)
		}
		if x.hunk.Text != "" {
			r.addf("\n%s", strings.TrimSuffix(x.hunk.Text, "\n"))
		}
	}
	for _, d := range e.amended {
		r.addf("\n\nThe user changed your text before it was applied:\n%s", strings.TrimSuffix(d, "\n"))
	}
	for _, rel := range e.unsaved {
		r.note(rel + " is changed in the editor but not saved yet: commands read the old text")
	}
	return e.mask.hide(r.String())
}

// SameChange reports whether two edits do the same: the same hunks, lines
// around them included, in the same files, wherever in the file they are. What
// was approved as a then need not be asked again as b.
func SameChange(a, b *Edit) bool {
	return slices.EqualFunc(a.Files, b.Files, func(x, y FileEdit) bool {
		return x.at.key() == y.at.key() && x.Op == y.Op &&
			slices.EqualFunc(x.Hunks, y.Hunks, func(h, k Hunk) bool { return h.Text == k.Text })
	})
}

// Rewrite proposes text as the whole content of the file at path, which is
// created when it is missing, and nil to remove it. It asks nothing of what a
// model has seen: it is for restoring checkpoints and the like.
func (w *Workspace) Rewrite(path string, text []byte) (*Edit, error) {
	f, err := w.load(path)
	if err != nil {
		return nil, err
	}
	switch {
	case text != nil:
		return w.propose(f, text, "Wrote "+f.Rel)
	case !f.found:
		return nil, missing{path: path}
	}
	return &Edit{Files: []FileEdit{f.edit(Delete, nil)}, summary: "Deleted " + f.Rel}, nil
}

// propose makes the edit that gives f a new text.
func (w *Workspace) propose(f *File, text []byte, summary string) (*Edit, error) {
	op := Modify
	if !f.found {
		op = Create
	} else if f.at.info != nil && f.at.info.Mode().Perm()&0o222 == 0 {
		return nil, fmt.Errorf("%s is read-only (mode %04o): change its mode first if it may be written", f.Rel, f.at.info.Mode().Perm())
	}
	return &Edit{Files: []FileEdit{f.edit(op, text)}, summary: summary}, nil
}

func (f *File) edit(op Op, text []byte) FileEdit {
	return FileEdit{
		Path: f.Path, Rel: f.Rel, Op: op,
		Base: f.Text, BaseHash: f.Hash, Version: f.Version,
		Proposed: text, Hunks: diff(f.Text, text),
		at: f.at,
	}
}

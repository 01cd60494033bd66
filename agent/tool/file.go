package tool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"
)

// maxFile is the size in bytes up to which files are read and edited whole.
const maxFile = 16 << 20

// sniff is how much of a file is looked at to tell whether it is text.
const sniff = 8192

const bom = "\uFEFF"

// A File is a file as the tools see it: the editor's text when it is open
// there, saved or not, and the bytes on disk otherwise.
type File struct {
	Path    string // absolute: what the editor has it open under, else the file itself
	Rel     string // slash-separated, relative to the root
	Text    []byte // without a byte order mark; not always valid UTF-8
	Hash    string // of Text, SHA-256 in hexadecimal; empty when there is no file
	Version int32  // of the open document; -1 when there is none
	Unsaved bool   // open, and the text on disk is another

	at    place
	mark  bool // the text began with a byte order mark
	utf8  bool
	found bool // it exists, in the editor or on disk
}

// Read returns the file that path names. It fails at once for what is not a
// text file of at most 16 MiB. A path that names nothing gives an error that
// wraps fs.ErrNotExist.
func (w *Workspace) Read(path string) (*File, error) {
	f, err := w.load(path)
	if err != nil {
		return nil, err
	}
	if !f.found {
		return nil, missing{path, similar(f.at, resembles)}
	}
	return f, nil
}

// load is Read, but a file that is not there is no error.
func (w *Workspace) load(path string) (*File, error) {
	p, err := w.resolve(path)
	if err != nil {
		return nil, err
	}
	f := &File{Path: p.real, Rel: p.rel, Version: -1, at: p}
	doc, open := w.document(p.path, p.real)
	text := []byte(doc.text)
	if open {
		f.Path, f.Version = doc.path, doc.version
	} else if p.info != nil {
		if text, err = readDisk(p); err != nil {
			return nil, err
		}
	}
	if bytes.IndexByte(text[:min(len(text), sniff)], 0) >= 0 {
		return nil, binary(p.rel, int64(len(text)))
	}
	f.found = open || p.info != nil
	f.Text, f.mark = bytes.CutPrefix(text, []byte(bom))
	f.utf8 = utf8.Valid(f.Text)
	if f.found {
		f.Hash = hash(f.Text)
	}
	f.Unsaved = open && unsaved(f)
	return f, nil
}

// A document is a file that is open in the editor.
type document struct {
	path, text string
	version    int32
}

// document returns what is open under the first of a file's names that is.
func (w *Workspace) document(names ...string) (document, bool) {
	if w.buffers == nil {
		return document{}, false
	}
	for _, name := range names {
		if text, version, open := w.buffers.Buffer(name); open {
			return document{name, text, version}, true
		}
	}
	return document{}, false
}

// unsaved reports whether the file on disk is not what the editor shows. A file
// that is not UTF-8 reads differently there without having been changed.
func unsaved(f *File) bool {
	if f.at.info == nil {
		return true
	}
	disk, err := readDisk(f.at)
	if err != nil {
		return false
	}
	disk = bytes.TrimPrefix(disk, []byte(bom))
	return !bytes.Equal(disk, f.Text) && utf8.Valid(disk)
}

func readDisk(p place) ([]byte, error) {
	if err := readable(p); err != nil {
		return nil, err
	}
	// O_NONBLOCK: should a pipe have taken the file's place, opening it returns.
	file, err := os.OpenFile(p.real, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.rel, reason(err))
	}
	defer file.Close()
	size := p.info.Size()
	room := size + 1 // one more, to meet the end without growing
	if size > maxFile {
		room = sniff
	}
	b := make([]byte, room)
	n, err := io.ReadFull(file, b[:min(sniff, len(b))])
	if bytes.IndexByte(b[:n], 0) >= 0 {
		return nil, binary(p.rel, size)
	}
	if size > maxFile {
		return nil, fmt.Errorf("%s has %d bytes; files up to %d are read: use bash (head, sed -n, grep)", p.rel, size, maxFile)
	}
	for err == nil {
		var m int
		m, err = file.Read(b[n:])
		if n += m; n == len(b) {
			b = append(b, make([]byte, sniff)...)
		}
		if n > maxFile {
			return nil, fmt.Errorf("%s grows while it is read", p.rel)
		}
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("%s: %w", p.rel, reason(err))
	}
	return b[:n], nil
}

// readable refuses what is not a regular file.
func readable(p place) error {
	switch mode := p.info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return fmt.Errorf("%s is a directory: use list_dir", p.rel)
	case mode&fs.ModeNamedPipe != 0:
		return fmt.Errorf("%s is a named pipe, not a file", p.rel)
	case mode&fs.ModeSocket != 0:
		return fmt.Errorf("%s is a socket, not a file", p.rel)
	case mode&fs.ModeDevice != 0:
		return fmt.Errorf("%s is a device, not a file", p.rel)
	}
	return fmt.Errorf("%s is not a regular file", p.rel)
}

func binary(rel string, size int64) error { return fmt.Errorf("%s: binary file, %d bytes", rel, size) }

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// missing is the error of a path that names nothing.
type missing struct {
	path string
	near []string // names in the same folder that it may stand for
}

func (m missing) Is(target error) bool { return target == fs.ErrNotExist }

func (m missing) Error() string {
	s := "No such file: " + m.path
	if len(m.near) > 0 {
		s += ". Did you mean " + strings.Join(m.near, " or ") + "?"
	}
	return s
}

// similar returns up to three names in the folder of p, other than its own,
// that are alike its name. Names that would not show are quoted.
func similar(p place, alike func(a, b string) bool) []string {
	dir, err := os.Open(filepath.Dir(p.real))
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	want := filepath.Base(p.real)
	var near []string
	for _, name := range names {
		if name == want || !alike(name, want) || len(near) == 3 {
			continue
		}
		if folder := filepath.ToSlash(filepath.Dir(p.rel)); folder != "." {
			name = folder + "/" + name
		}
		near = append(near, fmt.Sprintf("%q", name))
	}
	return near
}

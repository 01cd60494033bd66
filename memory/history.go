package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxPrompts is how many prompts of a folder are kept; the oldest go first.
const maxPrompts = 200

// A History is the prompts that were given in one folder. Every method reads the
// file anew, so several processes can use it.
type History struct {
	store *Store
	path  string
}

// History returns the prompts given in the folder cwd.
func (s *Store) History(cwd string) *History {
	return &History{store: s, path: filepath.Join(s.dir, "history", hash16(Folder(cwd))+".json")}
}

// All returns the last 200 prompts, oldest first. A file that holds no array is
// empty; one that cannot be read is an error.
func (h *History) All() ([]string, error) {
	f, err := h.read()
	return f.prompts, err
}

// Add puts a prompt at the end, trimmed, unless it is blank or the last one
// again.
func (h *History) Add(prompt string) error {
	prompt = strings.ToValidUTF8(strings.TrimSpace(prompt), "\uFFFD")
	if prompt == "" {
		return nil
	}
	err := h.store.update(h.path, func() (data []byte, damaged bool, err error) {
		f, err := h.read()
		if err != nil {
			return nil, false, err
		}
		if n := len(f.prompts); n > 0 && f.prompts[n-1] == prompt {
			return nil, false, nil
		}
		data, err = f.with(prompt)
		return data, f.damaged, err
	})
	if err != nil {
		return fmt.Errorf("writing prompt history: %w", err)
	}
	return nil
}

// A historyFile is what a history's file holds.
type historyFile struct {
	prompts []string
	raw     []json.RawMessage // the same as they stand in the file
	damaged bool              // it holds something else too, or instead
}

func (h *History) read() (f historyFile, err error) {
	_, err = readFile(h.path, func(data []byte) (err error) {
		f, err = parseHistory(data)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNoArray) {
		return historyFile{}, fmt.Errorf("reading prompt history: %w", err)
	}
	return f, nil
}

func parseHistory(data []byte) (f historyFile, err error) {
	var elements []json.RawMessage
	if json.Unmarshal(data, &elements) != nil || elements == nil {
		return historyFile{damaged: true}, errNoArray
	}
	for _, raw := range elements {
		if raw[0] != '"' {
			f.damaged = true
			continue
		}
		text, _ := jsontext.AppendUnquote(nil, raw) // half a character comes out as a replacement
		f.prompts, f.raw = append(f.prompts, string(text)), append(f.raw, raw)
	}
	if over := len(f.prompts) - maxPrompts; over > 0 {
		f.prompts, f.raw = f.prompts[over:], f.raw[over:]
	}
	return f, nil
}

// with is the content of the file that holds one prompt more.
func (f historyFile) with(prompt string) ([]byte, error) {
	last, err := jsontext.AppendQuote(nil, prompt)
	if err != nil {
		return nil, err
	}
	b := []byte("[")
	for _, raw := range f.raw[max(0, len(f.raw)+1-maxPrompts):] {
		b = append(append(b, raw...), ',')
	}
	return pretty(append(append(b, last...), ']'))
}

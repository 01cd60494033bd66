package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

type writeFileInput struct{ path, content string }

func (in *writeFileInput) fields() inputs {
	return inputs{
		{name: "path", into: &in.path, required: true},
		{name: "content", into: &in.content, required: true},
	}
}

func (s *set) writeFile() Tool {
	return Tool{
		Name: "write_file", Set: "core", Kind: "edit", Mutates: true,
		input:    blank[writeFileInput],
		Describe: func(input json.RawMessage) Subject { return s.pathSubject("Write", input) },
		Propose:  s.proposeWrite,
	}
}

func (s *set) proposeWrite(_ context.Context, c Call) (*Edit, error) {
	var in writeFileInput
	if err := in.fields().decode(c.Input); err != nil {
		return nil, err
	}
	f, err := s.Workspace.load(in.path)
	if err != nil {
		return nil, err
	}
	if err := s.mayRewrite(f, in.content); err != nil {
		return nil, err
	}
	content := strings.TrimPrefix(in.content, bom)
	e, err := s.Workspace.propose(f, inStyle(f.Text, content), fmt.Sprintf("Wrote %d chars to %s", units(content), f.Rel))
	if err != nil {
		return nil, err
	}
	e.seen, e.Files[0].whole, e.Files[0].sealed = &s.seen, true, s.denied(f.at)
	return e, nil
}

// mayRewrite refuses what would destroy text that the model does not know.
func (s *set) mayRewrite(f *File, content string) error {
	if !f.found {
		if near := similar(f.at, twins); len(near) > 0 {
			return fmt.Errorf("%s is not there, but a file that looks the same is: use the name %s, copied exactly", f.Rel, near[0])
		}
		return nil
	}
	switch last := s.seen.last(f.at.key()); {
	case last == "":
		return fmt.Errorf("%s exists and you have not read it: read it with read_file before you rewrite it", f.Rel)
	case last != f.Hash:
		return fmt.Errorf("%s changed since read: read it again with read_file, then write it", f.Rel)
	case !f.utf8 && !ascii(content):
		return notUTF8(f.Rel)
	}
	return nil
}

// notUTF8 refuses to mix two encodings in one file.
func notUTF8(rel string) error {
	return fmt.Errorf("%s is not valid UTF-8: only ASCII text can be written to it without changing its encoding", rel)
}

func ascii[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// inStyle is content with the line ends of old, if old has one kind of them.
func inStyle(old []byte, content string) []byte {
	crlf, all := bytes.Count(old, []byte("\r\n")), bytes.Count(old, []byte("\n"))
	switch {
	case all > 0 && crlf == 0:
		content = lf(content)
	case all > 0 && crlf == all:
		content = strings.ReplaceAll(lf(content), "\n", "\r\n")
	}
	return []byte(content)
}

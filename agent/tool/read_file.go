package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

type readFileInput struct {
	path          string
	offset, limit int
}

func (in *readFileInput) fields() inputs {
	in.offset, in.limit = 1, 2000
	return inputs{
		{name: "path", into: &in.path, required: true},
		{name: "offset", into: &in.offset, min: 1, about: "first line"},
		{name: "limit", into: &in.limit, min: 1, about: "number of lines"},
	}
}

func (s *set) readFile() Tool {
	return Tool{
		Name: "read_file", Set: "core", Kind: "read",
		input:    blank[readFileInput],
		Describe: func(input json.RawMessage) Subject { return s.pathSubject("Read", input) },
		Run:      s.runReadFile,
	}
}

func (s *set) runReadFile(_ context.Context, c Call) (string, error) {
	var in readFileInput
	if err := in.fields().decode(c.Input); err != nil {
		return "", err
	}
	f, err := s.Workspace.Read(in.path)
	if err != nil {
		return "", err
	}
	s.seen.note(f.at.key(), f.Hash)
	return s.numbered(f, in.offset, in.limit)
}

// numbered is the part of f from line offset on, at most limit lines, as
// "N: text". Lines end at "\n" only, and what follows the last is a line too.
func (s *set) numbered(f *File, offset, limit int) (string, error) {
	text, line := f.Text, 1
	for ; line < offset; line++ {
		nl := bytes.IndexByte(text, '\n')
		if nl < 0 {
			return "", fmt.Errorf("offset %d is past the end: %s has %s", offset, f.Rel, count(line, "line"))
		}
		text = text[nl+1:]
	}
	r := report{mask: s.mask, kept: make([]byte, 0, min(len(text)+len(text)/4, limit))}
	var row []byte
	for more := true; more; line++ {
		if line == offset+limit {
			r.note(fmt.Sprintf("%s more: continue with offset %d", count(bytes.Count(text, []byte("\n"))+1, "line"), line))
			break
		}
		if row = row[:0]; line > offset {
			row = append(row, '\n')
		}
		row = append(strconv.AppendInt(row, int64(line), 10), ": "...)
		var rest []byte
		rest, text, more = bytes.Cut(text, []byte("\n"))
		row = append(row, rest...)
		r.write(row)
	}
	if !f.utf8 {
		r.note("not valid UTF-8: a byte shown as \\xNN can be neither matched nor written, and stays as it is")
	}
	if f.Unsaved {
		r.note("unsaved text of the editor; the file on disk differs")
	}
	return r.String(), nil
}

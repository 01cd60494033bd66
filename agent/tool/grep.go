package tool

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"shiro/memory/transcript"
)

const (
	maxHits    = 200
	maxHitText = 300 // UTF-16 units of a line that are shown
	grepBatch  = 128 // files searched before looking whether that is enough
)

type grepInput struct {
	pattern, include           string
	ignoreCase, includeIgnored bool
}

func (in *grepInput) fields() inputs {
	in.include = "**/*"
	return inputs{
		{name: "pattern", into: &in.pattern, required: true},
		{name: "include", into: &in.include, about: "glob of the files to search"},
		{name: "ignoreCase", into: &in.ignoreCase},
		{name: "includeIgnored", into: &in.includeIgnored},
	}
}

func (s *set) grep() Tool {
	return Tool{
		Name: "grep", Set: "core", Kind: "search",
		input:    blank[grepInput],
		Describe: about("Search", "pattern"),
		Run:      s.runGrep,
	}
}

// runGrep searches with the same code on every machine: a ripgrep from PATH
// reads other ignore rules and knows nothing of unsaved text.
func (s *set) runGrep(ctx context.Context, c Call) (string, error) {
	var in grepInput
	if err := in.fields().decode(c.Input); err != nil {
		return "", err
	}
	q, err := newQuery(in.pattern, in.ignoreCase)
	if err != nil {
		return "", err
	}
	if !strings.Contains(in.include, "/") {
		in.include = "**/" + in.include
	}
	include, err := s.Workspace.pattern(in.include)
	if err != nil {
		return "", fmt.Errorf("include: %w", err)
	}
	hits, err := s.search(ctx, q, include, in.includeIgnored)
	if err != nil {
		return "", err
	}
	if len(hits) == 0 {
		return "No matches.", nil
	}
	r := report{mask: s.mask}
	r.add(strings.Join(hits[:min(len(hits), maxHits)], "\n"))
	if len(hits) > maxHits {
		r.note(fmt.Sprintf("the first %d matches: narrow the pattern or include", maxHits))
	}
	return r.String(), nil
}

// search returns the hits in order, more than maxHits if there are more.
func (s *set) search(ctx context.Context, q *query, include string, all bool) ([]string, error) {
	var hits []string
	var batch []entry
	flush := func() {
		for _, found := range s.searchFiles(ctx, q, batch) {
			hits = append(hits, found...)
		}
		batch = batch[:0]
	}
	for e := range s.Workspace.matching(include, all) {
		if batch = append(batch, e); len(batch) == grepBatch {
			flush()
		}
		if ctx.Err() != nil || len(hits) > maxHits {
			break
		}
	}
	flush()
	return hits, ctx.Err()
}

// searchFiles searches files side by side and returns the hits of each.
func (s *set) searchFiles(ctx context.Context, q *query, files []entry) [][]string {
	found := make([][]string, len(files))
	next := make(chan int, len(files))
	for i := range files {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		wg.Go(func() {
			var folded []byte
			for i := range next {
				if ctx.Err() == nil {
					found[i], folded = s.searchFile(q, files[i], folded)
				}
			}
		})
	}
	wg.Wait()
	return found
}

// searchFile returns the hits in a file as "path:line: text". What cannot be
// read as text has none. Folded is scratch space, handed from file to file.
func (s *set) searchFile(q *query, e entry, folded []byte) ([]string, []byte) {
	text, ok := s.searchable(e)
	if !ok {
		return nil, folded
	}
	probe := text
	if q.fold && len(q.needles) > 0 {
		folded = lower(folded, text)
		probe = folded
	}
	var hits []string
	line, at := 1, 0
	for sc := q.scan(probe); len(hits) <= maxHits; {
		n := sc.next(at)
		if n < 0 {
			break
		}
		line += bytes.Count(text[at:n], []byte("\n"))
		start, end := bytes.LastIndexByte(text[:n], '\n')+1, lineEnd(text, n)
		row := bytes.TrimSuffix(bytes.TrimSuffix(text[start:end], []byte("\n")), []byte("\r"))
		if q.re.Match(row) {
			hits = append(hits, fmt.Sprintf("%s:%d: %s", e.rel, line, transcript.Cut(s.mask.hide(plain(string(row))), maxHitText)))
		}
		line++
		at = end
	}
	return hits, folded
}

// searchable is the text of a file that a walk came to; false for what is not
// text, is denied, or is reached by a link that leads out.
func (s *set) searchable(e entry) ([]byte, bool) {
	w := s.Workspace
	p := place{rel: e.rel, real: e.real}
	var err error
	if e.Type()&fs.ModeSymlink != 0 {
		if p, err = w.resolve(e.rel); err != nil || p.info == nil {
			return nil, false
		}
	} else if p.info, err = e.Info(); err != nil {
		return nil, false
	}
	if s.denied(p) {
		return nil, false
	}
	var text []byte
	if doc, open := w.document(filepath.Join(w.Root, e.rel), p.real); open {
		text = []byte(doc.text)
	} else if text, err = readDisk(p); err != nil {
		return nil, false
	}
	return bytes.TrimPrefix(text, []byte(bom)), true
}

func lower(dst, src []byte) []byte {
	dst = append(dst[:0], src...)
	for i, c := range dst {
		if 'A' <= c && c <= 'Z' {
			dst[i] = c + 'a' - 'A'
		}
	}
	return dst
}

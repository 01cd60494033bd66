package memory

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ListOptions choose sessions.
type ListOptions struct {
	CWD      string // only those of this folder, however it is spelled
	Query    string // only those with this text in title, name, id, preview or a prompt, in any case
	Archived bool   // those put away too
	Limit    int    // how many at most; all when 0
	Cursor   string // Next of the page before
}

// A Listing is one page of sessions, the one changed last first.
type Listing struct {
	Sessions []Info
	Skipped  int    // files that hold no readable record, as far as was seen
	Next     string // the cursor of the next page; empty on the last
}

// An Info is what a list says of a session.
type Info struct {
	ID           string
	Title        string
	Name         string // the user's own for it; may be empty
	ParentID     string // the session it was forked from; may be empty
	Archived     bool
	Waiting      bool // its last call waits for an answer of the user
	CWD          string
	Provider     string
	Model        string
	CreatedAt    time.Time
	UpdatedAt    time.Time // see changeTime
	InputTokens  int64
	OutputTokens int64
	CostUSD      *float64 // nil when the price is not known
	Messages     int
	Turns        int    // user messages
	Preview      string // the beginning of the last message that has text, on one line
}

// futureSlack is how far ahead of our clock a change is still believed.
const futureSlack = 24 * time.Hour

// changeTime is when a record changed, for order: its updatedAt, else, when that
// is no time or lies more than a day ahead, its file's modification time, else
// the beginning of time. So a stamp from a wrong clock is not first for ever.
func changeTime(updatedAt string, modified, now time.Time) time.Time {
	if t, err := time.Parse(time.RFC3339, updatedAt); err == nil && t.Sub(now) <= futureSlack {
		return t
	}
	if modified.Sub(now) <= futureSlack {
		return modified
	}
	return time.Time{}
}

// List returns a page of the stored sessions. Files that cannot be read are
// skipped, counted, and left as they are. Only the sessions of the page, and
// those a query cannot decide on by title and id, are read beyond their
// beginning.
func (s *Store) List(o ListOptions) (Listing, error) {
	after, err := parseCursor(o.Cursor)
	if err != nil {
		return Listing{}, err
	}
	files, err := s.recordFiles()
	if err != nil {
		return Listing{}, err
	}
	found := s.scanAll(files)
	var l Listing
	l.Skipped = len(files) - len(found)

	inFolder := matchFolder(o.CWD)
	found = slices.DeleteFunc(found, func(c *scanned) bool {
		return !inFolder(c.CWD) || c.Archived && !o.Archived || o.Cursor != "" && compare(c.place(), after) <= 0
	})
	slices.SortFunc(found, func(a, b *scanned) int { return compare(a.place(), b.place()) })

	query := strings.ToLower(o.Query)
	for len(found) > 0 && (o.Limit <= 0 || len(l.Sessions) < o.Limit) {
		batch := found
		if o.Limit > 0 && query == "" {
			batch = found[:min(o.Limit-len(l.Sessions), len(found))]
		} else if o.Limit > 0 {
			batch = found[:min(64, len(found))]
		}
		s.scanWhole(batch)
		for _, c := range batch {
			if o.Limit > 0 && len(l.Sessions) == o.Limit {
				break
			}
			found = found[1:]
			if c.err != nil {
				l.Skipped++
			} else if (!c.Archived || o.Archived) && (c.matches(query) || c.long && s.prompted(c.file, query)) {
				l.Sessions = append(l.Sessions, c.Info)
			}
		}
	}
	if n := len(l.Sessions); n > 0 && len(found) > 0 {
		l.Next = placeOf(l.Sessions[n-1]).cursor()
	}
	return l, nil
}

// Latest returns the id of the session of the folder cwd that changed last. The
// error is ErrNotFound when there is none.
func (s *Store) Latest(cwd string) (string, error) {
	l, err := s.List(ListOptions{CWD: Folder(cwd), Limit: 1})
	if err != nil {
		return "", err
	}
	if len(l.Sessions) == 0 {
		return "", fmt.Errorf("in %s: %w", cwd, ErrNotFound)
	}
	return l.Sessions[0].ID, nil
}

// A scanned is what List knows of one file, good while the file keeps its size
// and modification time. It does not change once made.
type scanned struct {
	Info
	file  recordFile
	whole bool  // the messages were read too
	err   error // no record

	prompts string // what the user said, in lower case; not all of it when long
	long    bool
}

// scanAll looks at the beginnings of files and returns those that hold a record.
func (s *Store) scanAll(files []recordFile) []*scanned {
	all := make([]*scanned, len(files))
	s.mu.Lock()
	for i, f := range files {
		all[i] = s.scanned[f.id]
	}
	s.mu.Unlock()
	each(len(files), func(i int) {
		if c, f := all[i], files[i]; c == nil || !sameStat(c.file.info, f.info) {
			all[i] = s.scan(f, false)
		}
	})
	known := make(map[string]*scanned, len(all))
	var found []*scanned
	for _, c := range all {
		known[c.file.id] = c
		if c.err == nil {
			found = append(found, c)
		}
	}
	s.mu.Lock()
	s.scanned = known
	s.mu.Unlock()
	return found
}

// scanWhole puts in place of each element of batch one whose messages were read.
func (s *Store) scanWhole(batch []*scanned) {
	each(len(batch), func(i int) {
		if !batch[i].whole {
			batch[i] = s.scan(batch[i].file, true)
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range batch {
		s.scanned[c.file.id] = c
	}
}

func (s *Store) scan(file recordFile, whole bool) *scanned {
	c := &scanned{file: file}
	if !validID(file.id) {
		c.err = errors.New("not named by a session id")
		return c
	}
	p := recordScan{info: &c.Info}
	c.whole, c.err = p.file(s.recordPath(file.id), whole)
	c.ID, c.prompts, c.long = file.id, string(p.prompts), p.long
	c.UpdatedAt = changeTime(p.updatedAt, file.info.ModTime(), s.now())
	if t, err := time.Parse(time.RFC3339, p.createdAt); err == nil {
		c.CreatedAt = t
	} else {
		c.CreatedAt = c.UpdatedAt
	}
	return c
}

// prompted reports whether a prompt of the session in file holds query, which is
// in lower case.
func (s *Store) prompted(file recordFile, query string) bool {
	p := recordScan{info: new(Info), find: query}
	_, err := p.file(s.recordPath(file.id), true)
	return err == nil && p.found
}

func (c *scanned) matches(query string) bool {
	return query == "" || strings.Contains(strings.ToLower(c.Title), query) || strings.Contains(strings.ToLower(c.Name), query) ||
		strings.Contains(c.ID, query) || strings.Contains(strings.ToLower(c.Preview), query) || strings.Contains(c.prompts, query)
}

// matchFolder returns a test for the folder of a record. Two spellings that
// differ in case are one folder where the file system says so.
func matchFolder(cwd string) func(string) bool {
	if cwd == "" {
		return func(string) bool { return true }
	}
	folder := Folder(cwd)
	here, _ := os.Stat(folder)
	return func(other string) bool {
		if other == folder {
			return true
		}
		if here == nil || !strings.EqualFold(other, folder) {
			return false
		}
		there, err := os.Stat(other)
		return err == nil && os.SameFile(here, there)
	}
}

// A place is where a session stands in the list.
type place struct {
	changed int64 // milliseconds
	id      string
}

func placeOf(i Info) place { return place{i.UpdatedAt.UnixMilli(), i.ID} }

func (c *scanned) place() place { return placeOf(c.Info) }

// compare orders places: later change first, then the greater, younger id.
func compare(a, b place) int {
	return cmp.Or(cmp.Compare(b.changed, a.changed), strings.Compare(b.id, a.id))
}

func (p place) cursor() string { return strconv.FormatInt(p.changed, 10) + "." + p.id }

func parseCursor(cursor string) (p place, err error) {
	if cursor == "" {
		return p, nil
	}
	ms, id, _ := strings.Cut(cursor, ".")
	if p.changed, err = strconv.ParseInt(ms, 10, 64); err != nil || !validID(id) {
		return p, fmt.Errorf("%q is %w", cursor, ErrCursor)
	}
	p.id = id
	return p, nil
}

// each calls do(0) to do(n-1), several at a time, and returns after the last.
func each(n int, do func(int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, 2*runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	workers.Wait()
}

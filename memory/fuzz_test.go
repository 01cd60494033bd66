package memory

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"shiro/memory/transcript"
)

// Listing and loading read a record with different code. Where both understand
// it they say the same.
func FuzzRecord(f *testing.F) {
	session := newSession("01aa", "/p", "why?")
	session.Messages = append(session.Messages, turns(1)...)
	compact, err := session.MarshalJSON()
	if err != nil {
		f.Fatal(err)
	}
	printed, err := pretty(compact)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{
		compact, printed, printed[:len(printed)/2], nil, []byte("null"), []byte(`{"messages":5}`),
		bytes.Replace(compact, []byte(`"messages"`), []byte(`"costUsd":0.5,"x":{"a":[1,"]"]},"messages"`), 1),
		bytes.Replace(compact, []byte(`"content":"why?"`), []byte(`"content":[{"text":"\ud83d","type":"text"},5]`), 1),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var whole, head Info
		p := recordScan{info: &whole}
		err := p.record(bytes.NewReader(data), false)
		h := recordScan{info: &head}
		headErr := h.record(bytes.NewReader(data), true)
		s, parseErr := transcript.ParseSession(data)
		if err != nil || !jsontext.Value(data).IsValid(jsontext.AllowInvalidUTF8(true)) { // a name twice: no agreement
			return
		}
		if headErr == nil && (h.updatedAt != p.updatedAt || head.Title != whole.Title || head.CWD != whole.CWD) {
			t.Errorf("the beginning says %+v, the whole %+v", head, whole)
		}
		if parseErr != nil {
			return
		}
		want := Info{
			Title: s.Title, CWD: s.CWD, Provider: s.Provider, Model: s.Model, InputTokens: s.InputTokens, OutputTokens: s.OutputTokens,
			CostUSD: s.CostUSD, Messages: len(s.Messages), Name: s.Name, ParentID: s.ParentID, Archived: s.Archived,
		}
		for _, m := range s.Messages {
			if m.Role == transcript.RoleUser {
				want.Turns++
			}
		}
		if d := cmp.Diff(want, whole, cmpopts.IgnoreFields(Info{}, "Preview", "Waiting")); d != "" {
			t.Error(d)
		}
	})
}

func FuzzNotes(f *testing.F) {
	for _, seed := range []string{
		"", "null", "[", "[5]", `[{"id":"1","kind":"fact","text":"a\ud83d\n","createdAt":"now","hits":1e3,"x":[{}]}]`,
		`[{"id":"1","kind":"fact","text":"a","createdAt":"now","hits":-0.5,"hits":2}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, _ := parseNotes(data)
		before := file.notes
		changed := append(slices.Clone(before), newNote("fact", "new", clock))
		for i := range before {
			changed[i].hit()
		}
		printed, err := printNotes(changed)
		if err != nil {
			t.Fatal(err)
		}
		file, err = parseNotes(printed)
		if err != nil || file.damaged || bytes.HasSuffix(printed, []byte("\n")) {
			t.Fatalf("%v: %s", err, printed)
		}
		after := file.notes
		before = before[max(0, len(before)+1-maxNotes):]
		if len(after) != len(before)+1 {
			t.Fatalf("%d notes became %d", len(before), len(after))
		}
		for i, o := range before {
			if a := after[i]; a.ID != o.ID || a.Kind != o.Kind || a.Text != o.Text || a.CreatedAt != o.CreatedAt || a.Hits != o.Hits+1 {
				t.Errorf("%+v became %+v", o, a)
			}
		}
		if got := lines("- ", after); strings.Count(got, "\n") != len(after)-1 {
			t.Errorf("%d notes on other than as many lines: %q", len(after), got)
		}
	})
}

func FuzzOneLine(f *testing.F) {
	for _, seed := range []string{"", "a\nb", "\u200d\ufe0f\u200d", "a\ufe0f\u200d\u2028", "\xff\x00", "❤️‍🔥"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := oneLine(s)
		if again := oneLine(got); again != got {
			t.Errorf("%q, then %q", got, again)
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }); i >= 0 {
			t.Errorf("%q has %q", got, got[i:])
		}
	})
}

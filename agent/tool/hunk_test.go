package tool

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// randomText is a few lines of a small alphabet, so that lines repeat.
func randomText(r *rand.Rand, lines int) string {
	var b strings.Builder
	for range lines {
		b.WriteString([]string{"a", "b", "", "c\r", "\xff", "é"}[r.IntN(6)])
		b.WriteByte('\n')
	}
	if r.IntN(3) == 0 {
		return strings.TrimSuffix(b.String(), "\n")
	}
	return b.String()
}

// changed is text with some lines gone, some new and some others.
func changed(r *rand.Rand, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		switch r.IntN(12) {
		case 0:
		case 1:
			b.WriteString("new\n" + line)
		case 2:
			b.WriteString("other\n")
		default:
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestSelectAppliesAnyChoiceOfHunks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	most := 0
	for range 3000 {
		base := randomText(r, r.IntN(60))
		proposed := changed(r, base)
		if r.IntN(10) == 0 {
			proposed = randomText(r, r.IntN(20))
		}
		f := FileEdit{Base: []byte(base), Proposed: []byte(proposed), Hunks: diff([]byte(base), []byte(proposed))}
		most = max(most, len(f.Hunks))
		if got := f.Select(func(int) bool { return false }); string(got) != base {
			t.Fatalf("none of %q to %q gives %q", base, proposed, got)
		}
		if got := f.Select(func(int) bool { return true }); string(got) != proposed {
			t.Fatalf("all of %q to %q gives %q", base, proposed, got)
		}
		chosen := r.Uint64()
		accepted := func(i int) bool { return chosen>>(i%64)&1 == 1 }
		if got, want := f.Select(accepted), patch(base, f.Hunks, accepted); string(got) != want {
			t.Fatalf("choice %b of %q to %q gives %q, its hunks' text says %q", chosen, base, proposed, got, want)
		}
	}
	if most < 3 {
		t.Errorf("no case had more than %d hunks", most)
	}
}

// patch applies hunks by what they show, as patch(1) would.
func patch(base string, hunks []Hunk, accepted func(int) bool) string {
	lines := strings.SplitAfter(base, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var out []string
	at := 0
	for i, h := range hunks {
		start := h.OldStart - 1
		if h.OldLines == 0 {
			start++
		}
		out = append(out, lines[at:start]...)
		at = start + h.OldLines
		if !accepted(i) {
			out = append(out, lines[start:at]...)
			continue
		}
		out = append(out, shown(h, lines[start:at])...)
	}
	return strings.Join(append(out, lines[at:]...), "")
}

// shown are the new lines of a hunk; unchanged ones are taken from old, since
// what is shown has its invalid bytes replaced.
func shown(h Hunk, old []string) []string {
	var out []string
	var last byte
	for line := range strings.Lines(h.Text) {
		switch text := line[1:]; line[0] {
		case ' ':
			out = append(out, old[0])
			old = old[1:]
		case '-':
			old = old[1:]
		case '+':
			out = append(out, strings.ReplaceAll(text, `\xff`, "\xff"))
		case '\\':
			if last == '+' {
				out[len(out)-1] = strings.TrimSuffix(out[len(out)-1], "\n")
			}
		}
		last = line[0]
	}
	return out
}

func TestHunkNumbers(t *testing.T) {
	for _, tt := range []struct {
		name, base, proposed string
		want                 []Hunk
	}{
		{"same", "a\n", "a\n", nil},
		{"new file", "", "a\nb", []Hunk{{OldStart: 0, NewStart: 1, NewLines: 2, Text: "+a\n+b\n\\ No newline at end of file\n"}}},
		{"emptied", "a\n", "", []Hunk{{OldStart: 1, OldLines: 1, NewStart: 0, Text: "-a\n"}}},
		{"end of line is added", "a", "a\n", []Hunk{{OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 1, Text: "-a\n\\ No newline at end of file\n+a\n"}}},
		{"ED-01 two lines only", "alpha\r\nbeta\r\ngamma", "A\r\nB\r\ngamma", []Hunk{{
			OldStart: 1, OldLines: 3, NewStart: 1, NewLines: 3,
			Text: "-alpha\r\n-beta\r\n+A\r\n+B\r\n gamma\n\\ No newline at end of file\n",
		}}},
		{"two", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n3\n4\n5\n6\n7\n8\n8b\n8c\n9\n", []Hunk{
			{OldStart: 1, OldLines: 9, NewStart: 1, NewLines: 10, Text: " 1\n-2\n 3\n 4\n 5\n 6\n 7\n 8\n+8b\n+8c\n 9\n"},
		}},
		{"far apart", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n", "00\n1\n2\n3\n4\n5\n6\n7\n8\n", []Hunk{
			{OldStart: 1, OldLines: 4, NewStart: 1, NewLines: 4, Text: "-0\n+00\n 1\n 2\n 3\n"},
			{OldStart: 7, OldLines: 4, NewStart: 7, NewLines: 3, Text: " 6\n 7\n 8\n-9\n"},
		}},
	} {
		got := diff([]byte(tt.base), []byte(tt.proposed))
		if len(got) != len(tt.want) {
			t.Errorf("%s: %d hunks: %+v", tt.name, len(got), got)
			continue
		}
		for i, h := range got {
			if h.edits = nil; h.Text != tt.want[i].Text || h.OldStart != tt.want[i].OldStart || h.OldLines != tt.want[i].OldLines ||
				h.NewStart != tt.want[i].NewStart || h.NewLines != tt.want[i].NewLines {
				t.Errorf("%s: hunk %d is %+v, want %+v", tt.name, i, h, tt.want[i])
			}
		}
	}
}

func TestUserAcceptsAPart(t *testing.T) {
	base := "a\n" + strings.Repeat("same\n", 20) + "b\n"
	k := newKit(t, map[string]string{"f": base})
	k.ok("read_file", object{"path": "f"})
	e := k.propose("write_file", object{"path": "f", "content": "A\nAA\n" + strings.Repeat("same\n", 20) + "B\n"})
	part := e.Accept(func(_, hunk int) (bool, string) { return hunk == 1, "keep the old name" })
	if h := part.Files[0].Hunks[0]; len(part.Files[0].Hunks) != 1 || h.OldStart != 19 || h.NewStart != 19 {
		t.Errorf("accepted %+v", part.Files[0].Hunks)
	}
	if err := k.w.Commit(t.Context(), part); err != nil {
		t.Fatal(err)
	}
	k.wantDisk("f", strings.TrimSuffix(base, "b\n")+"B\n")
	want := "The user accepted 1 of 2 hunks.\n\nRefused, not applied: f, line 1: keep the old name\n-a\n+A\n+AA\n same\n same\n same"
	if got := part.Result(); got != want {
		t.Errorf("result %q\nwant   %q", got, want)
	}
	if !bytes.Equal(e.Files[0].Select(func(int) bool { return true }), e.Files[0].Proposed) || len(e.Files[0].Hunks) != 2 {
		t.Error("the proposal itself was changed")
	}
	k.ok("write_file", object{"path": "f", "content": "known\n"})

	none := e.Accept(func(int, int) (bool, string) { return false, "" })
	if len(none.Files) != 0 || !strings.HasPrefix(none.Result(), "The user accepted 0 of 2 hunks.") {
		t.Errorf("of nothing there is left %+v", none.Files)
	}
}

func TestUserPutsOwnText(t *testing.T) {
	k := newKit(t, map[string]string{"f": "one\ntwo\n"})
	e := k.propose("edit_file", object{"path": "f", "oldString": "two", "newString": "2"})
	own := e.Amend(0, []byte("one\nII\n"))
	if err := k.w.Commit(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	k.wantDisk("f", "one\nII\n")
	want := "Edited f: 1 replacement\n\nThe user changed your text before it was applied:\n@@ f @@\n one\n-2\n+II"
	if got := own.Result(); got != want {
		t.Errorf("result %q\nwant   %q", got, want)
	}
	if same := e.Amend(0, []byte("one\n2\n")); same.Result() != e.Result() {
		t.Errorf("no change is reported as %q", same.Result())
	}
}

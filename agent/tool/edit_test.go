package tool

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestEditFileBytes(t *testing.T) {
	for _, tt := range []struct {
		name, text, old, new string
		all                  bool
		want                 string
	}{
		{name: "ED-01 LF in the call, CRLF in the file", text: "alpha\r\nbeta\r\ngamma", old: "alpha\nbeta", new: "A\nB", want: "A\r\nB\r\ngamma"},
		{name: "ED-01 a line is added", text: "a\r\nb\r\n", old: "a\n", new: "a\nx\n", want: "a\r\nx\r\nb\r\n"},
		{name: "ED-01 a line is added at an end without newline", text: "a\r\nb", old: "b", new: "b\nc", want: "a\r\nb\r\nc"},
		{name: "ED-01 a line goes", text: "a\r\nb\r\nc\r\n", old: "b\n", new: "", want: "a\r\nc\r\n"},
		{name: "ED-01 two lines become one", text: "a\r\nb\r\n", old: "a\nb", new: "ab", want: "ab\r\n"},
		{name: "ED-02 all, each in its style", text: "x\r\ny\nx\ny\r\nlone\rhere\n", old: "x\ny", new: "P\nQ", all: true, want: "P\r\nQ\nP\nQ\r\nlone\rhere\n"},
		{name: "ED-02 lines in a match that stay", text: "a\r\nb\nc\r\nd\n", old: "a\nb\nc\nd", new: "a\nb\nC\nd", want: "a\r\nb\nC\r\nd\n"},
		{name: "ED-02 lone CR is text", text: "a\rb\r\nc", old: "a\rb", new: "a\rB", want: "a\rB\r\nc"},
		{name: "ED-02 CR before CRLF", text: "a\r\r\nb", old: "a\r\nb", new: "a\rb", want: "a\r\r\nb"},
		{name: "ED-03 CRLF in the call, LF in the file", text: "a\nb\nc\n", old: "a\r\nb", new: "A\r\nB", want: "A\nB\nc\n"},
		{name: "ED-03 all", text: "a\nb\na\nb\n", old: "a\r\nb", new: "A\r\nB", all: true, want: "A\nB\nA\nB\n"},
		{name: "ED-04 byte order mark", text: bom + "hello\nworld", old: "hello", new: "bye", want: bom + "bye\nworld"},
		{name: "ED-06 another byte", text: "n = 1\n# caf\xe9\n", old: "n = 1", new: "n = 2", want: "n = 2\n# caf\xe9\n"},
		{name: "ED-08 literal", text: "here\n", old: "here", new: `a=$1 $$ ${x} $& %d \1`, want: `a=$1 $$ ${x} $& %d \1` + "\n"},
		{name: "ED-08 literal, all", text: "x x", old: "x", new: `$&$1`, all: true, want: `$&$1 $&$1`},
		{name: "ED-09 overlapping, all", text: "aaaa", old: "aa", new: "b", all: true, want: "bb"},
		{name: "ED-19 no final newline", text: "a", old: "a", new: "b", want: "b"},
		{name: "ED-19 at the last line", text: "a\nb", old: "b", new: "b\nc", want: "a\nb\nc"},
		{name: "ED-19 only a newline", text: "\n", old: "\n", new: "\n\n", want: "\n\n"},
		{name: "ED-24 a character across the sample's end", text: strings.Repeat("a", sniff-1) + "ç z", old: "z", new: "y", want: strings.Repeat("a", sniff-1) + "ç y"},
		{name: "characters that share bytes", text: "é\n", old: "é", new: "è", want: "è\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t, map[string]string{"f": tt.text})
			input := object{"path": "f", "oldString": tt.old, "newString": tt.new, "replaceAll": tt.all}
			if tt.want == tt.text { // not found: the call says so
				k.fails("edit_file", input, "not found")
			} else {
				k.ok("edit_file", input)
			}
			k.wantDisk("f", tt.want)
		})
	}
}

func TestEditFileRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, text, old, new string
		says                 string
	}{
		{"ED-02 ambiguous in another style", "x\r\ny\nx\ny\r\n", "x\ny", "A\nB", "appears 2 times"},
		{"ED-09 several", "x\nx\nx\n", "x", "y", "appears 3 times"},
		{"ED-09 overlapping", "aaa", "aa", "b", "appears 2 times"},
		{"ED-09 empty", "x", "", "y", "oldString is empty"},
		{"ED-09 identical", "x", "x", "x", "identical"},
		{"ED-09 identical but for the line end", "x\ny", "x\ny", "x\r\ny", "identical"},
		{"ED-10 near", "f(2)\n", "f(9)", "f(3)", `the nearest is line 1: "f(2)"`},
		{"ED-10 tabs", "\tif x {\n\t\ty()\n", "    if x {\n        y()", "z", "line 1 matches except for blanks"},
		{"ED-10 no-break space", "a\u00a0b\n", "a b", "c", "line 1 matches except for blanks"},
		{"ED-10 curly quotes", "one\nsay \u201chi\u201d\n", `say "hi"`, "c", "line 2 matches except for blanks or quotation marks"},
		{"ED-10 trailing blanks", "a \nb\n", "a\nb", "c", "line 1 matches except for blanks"},
		{"ED-10 nothing near", "alpha\n", "zzzz", "c", "nothing in the file is near it"},
		{"ED-06 other characters into a file that is not UTF-8", "n = 1\n# caf\xe9\n", "n = 1", "é", "not valid UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t, map[string]string{"f": tt.text})
			k.fails("edit_file", object{"path": "f", "oldString": tt.old, "newString": tt.new}, tt.says)
			k.wantDisk("f", tt.text)
		})
	}
}

func TestEditFileReports(t *testing.T) {
	k := newKit(t, map[string]string{"f": "x x x"})
	if got := k.ok("edit_file", object{"path": "f", "oldString": "x", "newString": "y", "replaceAll": true}); got != "Edited f: 3 replacements" {
		t.Errorf("got %q", got)
	}
	if got := k.ok("write_file", object{"path": "new/g", "content": "a😀\n"}); got != "Wrote 4 chars to new/g" {
		t.Errorf("got %q", got)
	}
	k.wantDisk("new/g", "a😀\n")
	k.fails("edit_file", object{"path": "ff", "oldString": "x", "newString": "y"}, "No such file: ff", `Did you mean "f"?`)
}

func TestED04ByteOrderMarkSurvivesARewrite(t *testing.T) {
	k := newKit(t, map[string]string{"f": bom + "hello\nworld"})
	if got := k.ok("read_file", object{"path": "f"}); got != "1: hello\n2: world" {
		t.Errorf("read %q", got)
	}
	k.ok("write_file", object{"path": "f", "content": "all\nnew"})
	k.wantDisk("f", bom+"all\nnew")
	k.ok("write_file", object{"path": "g", "content": bom + "x"})
	k.wantDisk("g", "x")
}

func TestWriteFileKeepsLineEnds(t *testing.T) {
	for _, tt := range []struct{ name, text, content, want string }{
		{"CRLF", "a\r\nb\r\n", "x\ny", "x\r\ny"},
		{"LF", "a\nb\n", "x\r\ny\r\n", "x\ny\n"},
		{"mixed", "a\r\nb\n", "x\ny\r\n", "x\ny\r\n"},
		{"ED-19 empty file", "", "x", "x"},
		{"ED-19 one newline", "\n", "x", "x"},
		{"empty content", "x\n", "", ""},
		{"new", "", "a\r\n", "a\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t, map[string]string{"f": tt.text})
			k.ok("read_file", object{"path": "f"})
			k.ok("write_file", object{"path": "f", "content": tt.content})
			k.wantDisk("f", tt.want)
		})
	}
}

func TestED06RewriteDoesNotChangeTheEncoding(t *testing.T) {
	k := newKit(t, map[string]string{"f": "# caf\xe9\n"})
	if got := k.ok("read_file", object{"path": "f"}); !strings.Contains(got, "1: # caf\\xe9") || !strings.Contains(got, "not valid UTF-8") {
		t.Errorf("read %q", got)
	}
	k.fails("write_file", object{"path": "f", "content": "# caf\uFFFD\nx\n"}, "not valid UTF-8")
	k.wantDisk("f", "# caf\xe9\n")
}

func TestED12ChangedSinceRead(t *testing.T) {
	k := newKit(t, map[string]string{"a.txt": "one\ntwo\n"})
	write := object{"path": "a.txt", "content": "mine\n"}
	k.fails("write_file", write, "have not read it")

	k.ok("read_file", object{"path": "a.txt"})
	k.put("a.txt", "one\ntwo\nthree\n")
	k.fails("write_file", write, "changed since read")
	k.wantDisk("a.txt", "one\ntwo\nthree\n")

	k.ok("edit_file", object{"path": "a.txt", "oldString": "two", "newString": "2"})
	k.wantDisk("a.txt", "one\n2\nthree\n")
	k.fails("write_file", write, "changed since read")
	k.fails("edit_file", object{"path": "a.txt", "oldString": "two", "newString": "2"}, "not found", "changed since read")

	k.ok("read_file", object{"path": "a.txt"})
	k.ok("write_file", write)
	k.ok("write_file", object{"path": "a.txt", "content": "again\n"})
	k.ok("edit_file", object{"path": "a.txt", "oldString": "again", "newString": "more"})
	k.ok("write_file", object{"path": "a.txt", "content": "last\n"})
	k.wantDisk("a.txt", "last\n")
}

func TestED12SameSizeAndTime(t *testing.T) {
	k := newKit(t, map[string]string{"a.txt": "one\n"})
	k.ok("read_file", object{"path": "a.txt"})
	info, err := os.Stat(k.path("a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	k.put("a.txt", "two\n")
	if err := os.Chtimes(k.path("a.txt"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	k.fails("write_file", object{"path": "a.txt", "content": "mine\n"}, "changed since read")
	k.wantDisk("a.txt", "two\n")
}

func TestED12AnotherSessionKnowsNothing(t *testing.T) {
	k := newKit(t, map[string]string{"a.txt": "one\n"})
	k.ok("read_file", object{"path": "a.txt"})
	_, err := k.callOf(k.session(), t.Context(), "write_file", object{"path": "a.txt", "content": "x"})
	if err == nil || !strings.Contains(err.Error(), "have not read it") {
		t.Errorf("got %v", err)
	}
}

func TestED20ParallelEditsAllLand(t *testing.T) {
	for range 50 {
		var lines []string
		for i := range 100 {
			lines = append(lines, fmt.Sprintf("line %d.", i))
		}
		k := newKit(t, map[string]string{"f": strings.Join(lines, "\n")})
		sessions := []map[string]Tool{k.tools, k.session()}
		var wg sync.WaitGroup
		for i, n := range []int{10, 50, 90} {
			lines[n] = fmt.Sprintf("changed %d", n)
			wg.Go(func() {
				_, err := k.callOf(sessions[i%2], t.Context(), "edit_file",
					object{"path": "f", "oldString": fmt.Sprintf("line %d.", n), "newString": fmt.Sprintf("changed %d", n)})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		k.wantDisk("f", strings.Join(lines, "\n"))
	}
}

func TestAP14FileChangesWhileTheEditIsShown(t *testing.T) {
	text := strings.Repeat("same\n", 10) + "old\n" + strings.Repeat("same\n", 10)
	k := newKit(t, map[string]string{"f": text})
	call := object{"path": "f", "oldString": "old", "newString": "new"}
	shown := k.propose("edit_file", call)

	k.put("f", "theirs\n"+text)
	if err := k.w.Commit(t.Context(), shown); !errors.Is(err, ErrStale) {
		t.Fatalf("commit: %v", err)
	}
	k.wantDisk("f", "theirs\n"+text)

	again := k.propose("edit_file", call)
	if !SameChange(shown, again) {
		t.Error("the same change, one line further down, has to be approved again")
	}
	if err := k.w.Commit(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	k.wantDisk("f", "theirs\n"+strings.Replace(text, "old", "new", 1))

	k.put("f", strings.Replace(text, "same\nold", "other\nold", 1))
	if SameChange(shown, k.propose("edit_file", call)) {
		t.Error("a change in other surroundings passes for the one shown")
	}
}

func TestAP14FileAppearsOrGoes(t *testing.T) {
	k := newKit(t, nil)
	e := k.propose("write_file", object{"path": "f", "content": "mine"})
	k.put("f", "theirs")
	if err := k.w.Commit(t.Context(), e); !errors.Is(err, ErrStale) {
		t.Errorf("commit: %v", err)
	}
	k.wantDisk("f", "theirs")

	e = k.propose("edit_file", object{"path": "f", "oldString": "theirs", "newString": "x"})
	if err := os.Remove(k.path("f")); err != nil {
		t.Fatal(err)
	}
	if err := k.w.Commit(t.Context(), e); !errors.Is(err, ErrStale) {
		t.Errorf("commit: %v", err)
	}
}

func TestAP12ProposalShowsTheWholeChange(t *testing.T) {
	var lines []string
	for i := range 300 {
		lines = append(lines, fmt.Sprintf("line %d", i+1))
	}
	k := newKit(t, map[string]string{"f": strings.Join(lines, "\n") + "\n"})
	e := k.propose("edit_file", object{"path": "f", "oldString": "line 100\nline 101\nline 102\n", "newString": "one\n"})
	want := Hunk{OldStart: 97, OldLines: 9, NewStart: 97, NewLines: 7, Text: " line 97\n line 98\n line 99\n-line 100\n-line 101\n-line 102\n+one\n line 103\n line 104\n line 105\n"}
	if len(e.Files) != 1 || len(e.Files[0].Hunks) != 1 {
		t.Fatalf("got %+v", e)
	}
	got := e.Files[0].Hunks[0]
	got.edits = nil
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}

	content := strings.Repeat("word\n", 399) + "last\n"
	e = k.propose("write_file", object{"path": "g", "content": content})
	if h := e.Files[0].Hunks[0]; e.Files[0].Op != Create || h.OldStart != 0 || h.NewStart != 1 || h.NewLines != 400 || !strings.HasSuffix(h.Text, "+last\n") {
		t.Errorf("got %+v", e.Files[0])
	}

	command := strings.Repeat("echo a long command; ", 150) + "touch pwned"
	s := k.tools["bash"].Describe(encode(t, object{"command": command}))
	if s.Command != command || s.Subjects[0] != command || !strings.HasSuffix(s.Title, "…") || len([]rune(s.Title)) > 60 {
		t.Errorf("got %+v", s)
	}
}

func TestRewriteRestoresAndRemoves(t *testing.T) {
	k := newKit(t, map[string]string{"f": "now\n"})
	for _, tt := range []struct {
		path string
		text []byte
	}{{"f", []byte("before\n")}, {"gone", []byte("back\n")}, {"empty", []byte{}}, {"f", nil}} {
		e, err := k.w.Rewrite(tt.path, tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if err := k.w.Commit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if tt.text != nil {
			k.wantDisk(tt.path, string(tt.text))
		} else if _, err := os.Lstat(k.path(tt.path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", tt.path, err)
		}
	}
	if _, err := k.w.Rewrite("f", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removing what is not there: %v", err)
	}
}

// The user's own text comes from an editor, which shows a byte order mark or
// not, and cannot show every byte.
func TestAmendKeepsBytes(t *testing.T) {
	for _, tt := range []struct {
		name, text, own, want string
		open, fails           bool
	}{
		{name: "mark given back", text: bom + "n = 1\nx\n", own: bom + "n = 3\nx\n", want: bom + "n = 3\nx\n"},
		{name: "mark left out", text: bom + "n = 1\nx\n", own: "n = 3\nx\n", want: bom + "n = 3\nx\n"},
		{name: "no mark in the file", text: "n = 1\n", own: bom + "n = 3\n", want: "n = 3\n"},
		{name: "a byte that was lost", text: "n = 1\n# caf\xe9\n", own: "n = 3\n# caf\uFFFD\n", want: "n = 1\n# caf\xe9\n", fails: true},
		{name: "another encoding", text: "n = 1\n# caf\xe9\n", own: "n = 3\n# café\n", want: "n = 1\n# caf\xe9\n", fails: true},
		{name: "without the byte", text: "n = 1\n# caf\xe9\n", own: "n = 3\n# cafe\n", want: "n = 3\n# cafe\n"},
		{name: "in the editor", text: bom + "n = 1\n", own: bom + "n = é\n", want: bom + "n = é\n", open: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t, map[string]string{"f": tt.text})
			if tt.open {
				k.docs.show(k.path("f"), tt.text)
				k.docs.saves = true
			}
			e := k.propose("edit_file", object{"path": "f", "oldString": "n = 1", "newString": "n = 2"}).Amend(0, []byte(tt.own))
			if err := k.w.Commit(t.Context(), e); (err != nil) != tt.fails || err != nil && !strings.Contains(err.Error(), "not valid UTF-8") {
				t.Errorf("commit: %v", err)
			}
			k.wantDisk("f", tt.want)
		})
	}
}

func TestNewFileHasNoHash(t *testing.T) {
	k := newKit(t, map[string]string{"empty": ""})
	if f := k.propose("write_file", object{"path": "new", "content": "x"}).Files[0]; f.Op != Create || f.BaseHash != "" {
		t.Errorf("%s, hash %q", f.Op, f.BaseHash)
	}
	k.ok("read_file", object{"path": "empty"})
	if f := k.propose("write_file", object{"path": "empty", "content": "x"}).Files[0]; f.Op != Modify || f.BaseHash != hash(nil) {
		t.Errorf("%s, hash %q", f.Op, f.BaseHash)
	}
}

// What a text repeats costs no more than what it does not.
func TestEditsTakeOnePass(t *testing.T) {
	const size = 1 << 20
	row := strings.Repeat("a\n", 50_000)
	for _, tt := range []struct {
		name, text, old, new, says string
		all                        bool
	}{
		{"overlapping", strings.Repeat("a", size), strings.Repeat("a", 10_000), "b", "appears 104 times", false},
		{"overlapping once", strings.Repeat("a", 15_000), strings.Repeat("a", 10_000), "b", "appears 2 times", false},
		{"not there", strings.Repeat("a", size), strings.Repeat("a", 10_000) + "b", "c", "not found", false},
		{"lines alike", row + row, row + "b", "c", "not found", false},
		{"all in a line", strings.Repeat("ab", size/16), "a", "c\n", "", true},
		{"all in a line that ends", "x\r\n" + strings.Repeat("ab", size/16) + "\r\n", "a", "c\n", "", true},
		{"all in the last line", "x\r\n" + strings.Repeat("ab", size/16), "a", "c\n", "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t, map[string]string{"f": tt.text})
			inTime(t, time.Second, func() {
				input := object{"path": "f", "oldString": tt.old, "newString": tt.new, "replaceAll": tt.all}
				if tt.says != "" {
					k.fails("edit_file", input, tt.says)
				} else {
					k.ok("edit_file", input)
				}
			})
		})
	}
	k := newKit(t, map[string]string{"f": "x\r\nab\r\nab"})
	k.ok("edit_file", object{"path": "f", "oldString": "b", "newString": "1\n2", "replaceAll": true})
	k.wantDisk("f", "x\r\na1\r\n2\r\na1\r\n2")
}

package tool

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

const secret = "mark-secret-0123456789"

func withSecret(o *Options) { o.Secrets = []string{secret, "short"} }

// sealEnv denies reading files named .env.
func sealEnv(o *Options) {
	o.Denied = func(rel string) bool { return strings.HasSuffix(rel, ".env") }
}

func TestEditOfADeniedFileQuotesNothing(t *testing.T) {
	k := newKit(t, map[string]string{".env": "TOKEN=hidden\nTOKEN=hidden\n" + strings.Repeat("hidden\n", 20) + "B=1\n"}, sealEnv)
	link(t, ".env", k.path("link"))
	for _, path := range []string{".env", "link", k.path(".env")} {
		for _, old := range []string{"TOKEN=hid", "TOKEN=hiding", "no such text"} {
			_, err := k.call("edit_file", object{"path": path, "oldString": old, "newString": "x"})
			if err == nil || !strings.Contains(err.Error(), "may not read") || strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "2") {
				t.Errorf("%s, %q: %v", path, old, err)
			}
		}
		e := k.propose("edit_file", object{"path": path, "oldString": "B=1\n", "newString": "B=2\n"})
		refused := e.Accept(func(int, int) (bool, string) { return false, "keep it" }).Result()
		amended := e.Amend(0, bytes.Replace(e.Files[0].Proposed, []byte("B=2"), []byte("B=hidden"), 1)).Result()
		if strings.Contains(refused+amended, "hidden") || !strings.Contains(refused, "keep it") || !strings.Contains(amended, "not shown") {
			t.Errorf("%s: the model is told %q and %q", path, refused, amended)
		}
	}
}

func TestResultOfAnEditIsMasked(t *testing.T) {
	k := newKit(t, map[string]string{"f": "K=" + secret + "\nX\n"}, withSecret)
	e := k.propose("edit_file", object{"path": "f", "oldString": "X\n", "newString": "Y\n"})
	for name, got := range map[string]string{
		"refused": e.Accept(func(int, int) (bool, string) { return false, "because of " + secret }).Result(),
		"amended": e.Amend(0, []byte("K="+secret+"\nmine\n")).Result(),
	} {
		if strings.Contains(got, secret) || !strings.Contains(got, "K=[secret]") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestNoteWithASecretIsRefused(t *testing.T) {
	k := newKit(t, nil, withSecret)
	k.fails("remember", object{"kind": "fact", "text": "the key is " + secret}, "not stored")
	k.ok("remember", object{"kind": "fact", "text": "a short one"})
}

// However a secret is cut into writes, it is never passed on whole, and nothing
// else is lost or held back to the end.
func TestLiveOutputIsMasked(t *testing.T) {
	m := newMask([]string{"abcabcabc", secret, secret + "-and-more", "short"})
	for _, tt := range []struct{ text, live string }{
		{"a " + secret + " b", "a [secret] b"},
		{"abcabcabcabc short", "[secret]abc short"},
		{"mark-secret-0 abcabcab", "mark-secret-0 abcabcab"},
		{"é" + secret + "é", "é[secret]é"},
		{"mark-\x1b[1msecret-\x1b[0m0123456789", "[secret]"},
	} {
		for n := 1; n <= len(tt.text); n++ {
			var got strings.Builder
			s := screen{mask: m, live: func(text string) bool { got.WriteString(text); return true }}
			for rest := tt.text; rest != ""; rest = rest[min(n, len(rest)):] {
				_, _ = s.Write([]byte(rest[:min(n, len(rest))]))
			}
			_ = s.Close()
			if got.String() != tt.live {
				t.Errorf("%q by %d: passed on %q, want %q", tt.text, n, got.String(), tt.live)
			}
		}
	}
	var got string
	s := screen{mask: m, live: func(text string) bool { got += text; return true }}
	if _, _ = s.Write([]byte("started\nmark")); got != "started\n" {
		t.Errorf("%q is passed on before the end", got)
	}
	if got := newMask([]string{secret, secret + "-and-more"}).hide(secret + "-and-more"); got != "[secret]" {
		t.Errorf("of the longer secret is left %q", got)
	}
}

func TestBytesAreShown(t *testing.T) {
	k := newKit(t, map[string]string{"f": "# caf\xe9 \x80\xff\xf0\x9f\n"})
	const shown = `# caf\xe9 \x80\xff\xf0\x9f`
	for name, input := range map[string]object{
		"read_file": {"path": "f"}, "grep": {"pattern": "caf"}, "bash": {"command": "cat f; cat f >&2"},
	} {
		if got := k.ok(name, input); !strings.Contains(got, shown) || strings.Contains(got, "\uFFFD") {
			t.Errorf("%s: %q", name, got)
		}
	}
	k.fails("edit_file", object{"path": "f", "oldString": "# cafe", "newString": "x"}, fmt.Sprintf("%q", "# caf\xe9 \x80\xff\xf0\x9f"), "cannot be matched")
	if h := k.propose("edit_file", object{"path": "f", "oldString": "#", "newString": "//"}).Files[0].Hunks[0]; !strings.Contains(h.Text, "-"+shown) {
		t.Errorf("hunk %q", h.Text)
	}
	k.put("f", strings.Repeat("\xe9", 3*limit))
	if got := k.ok("read_file", object{"path": "f"}); units(got) > limit+noticeRoom {
		t.Errorf("the result has %d units", units(got))
	}
}

// Where a result is cut, half a secret is not left.
func TestNoSecretIsCutInTwo(t *testing.T) {
	key := strings.Repeat("key-0123456789", 20)
	hide := func(o *Options) { o.Secrets = []string{key} }
	shows := func(name, got string) {
		t.Helper()
		if strings.Contains(got, "key-0") {
			i := strings.Index(got, "key-0")
			t.Errorf("%s: …%q…", name, got[i:min(i+80, len(got))])
		}
	}
	for shift := 0; shift < len(key); shift += 40 {
		k := newKit(t, map[string]string{
			"hit":  strings.Repeat("x", maxHitText-shift) + "mark " + key + "\n",
			"read": strings.Repeat("x", limit-shift) + key + "\n",
			"near": "token = " + key + "\n",
			"run":  strings.Repeat("x", limit/3-200-shift) + key + strings.Repeat("x\n", 5*limit) + key + strings.Repeat("x", 2*limit/3-200-shift),
		}, hide)
		shows("grep", k.ok("grep", object{"pattern": "mark", "include": "hit"}))
		shows("read_file", k.ok("read_file", object{"path": "read"}))
		shows("bash", k.ok("bash", object{"command": "cat run"}))
		_, err := k.call("edit_file", object{"path": "near", "oldString": "token = none", "newString": "x"})
		shows("hint", fmt.Sprint(err))
		e := k.propose("write_file", object{"path": "new", "content": "x\n"})
		shows("amended", e.Amend(0, []byte(strings.Repeat("x", limit-200-shift)+key+"\n")).Result())
	}
}

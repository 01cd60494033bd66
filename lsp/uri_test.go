package lsp

import "testing"

func TestPathOf(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///w/a.txt":             "/w/a.txt",
		"file:///w/a%20b%23c%25.txt":  "/w/a b#c%.txt",
		"file:///w/é.txt":             "/w/é.txt",
		"file:///w/%C3%A9.txt":        "/w/é.txt",
		"file://localhost/w/a.txt":    "/w/a.txt",
		"file:///w/./x/../a.txt":      "/w/a.txt",
		"file:///w//a.txt/":           "/w/a.txt",
		"file:///c%3A/w/a%20b.txt":    "C:/w/a b.txt",
		"file:///C:/w/a%20b.txt":      "C:/w/a b.txt",
		"file://host/share/a.txt":     "", // another machine's
		"untitled:Untitled-1":         "",
		"vscode-remote://ssh/w/a.txt": "",
		"file:///w/a%zz":              "",
		"file:///w/a%00b":             "",
		"":                            "",
	} {
		if got, ok := pathOf(uri); got != want || ok != (want != "") {
			t.Errorf("%s is %q %v, want %q", uri, got, ok, want)
		}
	}
}

func TestURIRoundTrip(t *testing.T) {
	for _, path := range []string{"/w/a.txt", "/w/a b#c%?.txt", "/w/é漢😀.txt", "/w/a\nb", "/w/+=&;.txt"} {
		if got, ok := pathOf(uriOf(path)); !ok || got != path {
			t.Errorf("%q comes back as %q by %s", path, got, uriOf(path))
		}
	}
}

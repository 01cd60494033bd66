package lsp

import (
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
)

// pathOf returns the file that a document URI names, cleaned; false when it
// names none on this machine. Spellings differ: drive letters come as "c%3A"
// or "C:", characters raw or percent-encoded.
func pathOf(uri string) (string, bool) {
	rest, ok := strings.CutPrefix(uri, "file://")
	if !ok {
		return "", false
	}
	host, path, _ := strings.Cut(rest, "/")
	path, err := url.PathUnescape("/" + path)
	if err != nil || strings.ContainsRune(path, 0) {
		return "", false
	}
	if host != "" && host != "localhost" {
		if runtime.GOOS != "windows" {
			return "", false
		}
		path = "//" + host + path
	} else if len(path) >= 3 && path[2] == ':' && isLetter(path[1]) {
		path = strings.ToUpper(path[1:2]) + path[2:]
	}
	return filepath.Clean(filepath.FromSlash(path)), true
}

// uriOf returns the URI of an absolute path.
func uriOf(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

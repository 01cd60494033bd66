package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"shiro/agent/permission"
)

// A report is what shiro doctor prints: sections of findings, one line each,
// and an indented line below a finding that needs a remedy.
type report struct {
	out     io.Writer
	secrets []string
	failed  int
	doubt   bool // nothing failed for sure, yet a prompt may
	begun   bool
}

func (r *report) section(title string) {
	if r.begun {
		fmt.Fprintln(r.out)
	}
	r.begun = true
	fmt.Fprintln(r.out, title)
}

func (r *report) ok(label, format string, args ...any) {
	r.print("ok", label, fmt.Sprintf(format, args...), "")
}

// note is for what is neither good nor bad.
func (r *report) note(label, format string, args ...any) {
	r.print("note", label, fmt.Sprintf(format, args...), "")
}

// warn takes an empty fix only when the text says what to do.
func (r *report) warn(label, text, fix string) { r.print("warn", label, text, fix) }

func (r *report) fail(label, text, fix string) {
	r.failed++
	r.print("FAIL", label, text, fix)
}

func (r *report) print(mark, label, text, fix string) {
	fmt.Fprintf(r.out, "  %-4s  %-9s %s\n", mark, label, r.line(text))
	if fix != "" {
		fmt.Fprintf(r.out, "%18sfix: %s\n", "", r.line(fix))
	}
}

// verdict prints the last line and returns the exit code.
func (r *report) verdict() int {
	text := "Ready: a first prompt would work."
	switch {
	case r.failed > 0:
		text = "Not ready: see " + plural(r.failed, "line") + " marked FAIL."
	case r.doubt:
		text = "Perhaps ready: the model server does not tell enough to be sure."
	}
	fmt.Fprintf(r.out, "\n%s\n", text)
	return min(r.failed, 1)
}

// hide keeps a secret out of everything printed from now on.
func (r *report) hide(secret string) {
	if secret != "" && !slices.Contains(r.secrets, secret) {
		r.secrets = append(r.secrets, secret)
	}
}

// line makes text safe to print. Our own texts hold no secret by intention, so
// short ones are left in: a word such as "ollama", given as a key to a server
// that wants any, would be hidden everywhere. In foreign text it is.
func (r *report) line(text string) string {
	const surely = 16
	long := slices.DeleteFunc(slices.Clone(r.secrets), func(s string) bool { return len(s) < surely })
	return permission.Escape(flat(redact(text, long)))
}

// foreign makes a server's text fit to be quoted: without any secret, on one
// line, and not long.
func (r *report) foreign(text string) string {
	const limit = 200
	text = flat(redact(text, r.secrets))
	for i := range text {
		if i >= limit {
			return text[:i] + "..."
		}
	}
	return text
}

// foreignList quotes the first few of a server's names.
func (r *report) foreignList(names []string) string {
	const most = 5
	if len(names) <= most {
		return r.foreign(strings.Join(names, ", "))
	}
	return r.foreign(strings.Join(names[:most], ", ")) + ", ..."
}

// flat is s on one line.
func flat(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
}

// plural counts things: "1 note", "3 notes".
func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}

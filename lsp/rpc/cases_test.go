package rpc

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

const (
	ping1 = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	ping2 = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	pong1 = `1 = "pong"`
	pong2 = `2 = "pong"`

	badJSON    = "null ! -32700 parse_error"
	badRequest = "null ! -32600 invalid_request"
	tooBig     = "null ! -32600 too_large"
)

func echo(id, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"echo","params":%s}`, id, params)
}

func nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

// wireCase is one conversation: everything a peer sends, then end of input.
type wireCase struct {
	id   string
	in   string
	want []string // every message sent back, in brief
}

// headerCases are about Content-Length framing.
func headerCases() []wireCase {
	return []wireCase{
		{"F1 lower case, no space", "content-length:40\r\n\r\n" + ping1, []string{pong1}},
		{"F1 upper case, space before colon", "CONTENT-LENGTH : 40\r\n\r\n" + ping1, []string{pong1}},
		{"F1 line feeds only", "Content-Length: 40\n\n" + ping1 + frame(Headers, ping2), []string{pong1, pong2}},
		{"F1 tabs", "\tContent-Length\t:\t40\t\r\n\r\n" + ping1, []string{pong1}},
		{"F2 extra headers", "Host: x\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\nContent-Length: 40\r\nX: y\r\n\r\n" + ping1, []string{pong1}},
		{"F2 foreign charset", "Content-Type: x; charset=latin1\r\nContent-Length: 40\r\n\r\n" + ping1, []string{pong1}},
		{"F2 length of something else", "X-Content-Length: 7\r\nContent-Length: 40\r\n\r\n" + ping1, []string{pong1}},
		{"F3 missing", "Content-Type: x\r\n\r\n" + ping1 + frame(Headers, ping2), []string{badRequest, pong2}},
		{"F3 empty", "Content-Length:\r\n\r\n" + ping1 + frame(Headers, ping2), []string{badRequest, pong2}},
		{"F3 negative", "Content-Length: -1\r\n\r\n" + ping1 + frame(Headers, ping2), []string{badRequest, pong2}},
		{"F3 plus sign", "Content-Length: +5\r\n\r\n" + ping1 + frame(Headers, ping2), []string{badRequest, pong2}},
		{"F3 hexadecimal", "Content-Length: 0x28\r\n\r\n" + ping1 + frame(Headers, ping2), []string{badRequest, pong2}},
		{"F3 overflow", "Content-Length: 99999999999999999999\r\n\r\n" + ping1 + frame(Headers, ping2), []string{badRequest, pong2}},
		{"F3 two in a row", "Content-Length: -1\r\n\r\n" + ping1 + "Content-Length: -2\r\n\r\n" + ping1 + frame(Headers, ping2), []string{badRequest, badRequest, pong2}},
		{"F3 zero", "Content-Length: 0\r\n\r\n" + frame(Headers, ping2), []string{badJSON, pong2}},
		{"F4 equal twice", "Content-Length: 40\r\nContent-Length: 40\r\n\r\n" + ping1, []string{pong1}},
		{"F4 different", "Content-Length: 40\r\nContent-Length: 41\r\n\r\n" + ping1 + frame(Headers, ping2), []string{badRequest, pong2}},
		{"F5 endless line", "X: " + strings.Repeat("a", 9<<10) + "\r\n" + frame(Headers, ping2), []string{badRequest, pong2}},
		{"F5 many lines", strings.Repeat("X: a\r\n", 3<<10) + "\r\n" + frame(Headers, ping2), []string{badRequest, pong2}},
		{"F5 after a length", "Content-Length: 40\r\n" + strings.Repeat("X: a\r\n", 3<<10) + "\r\n" + ping1 + frame(Headers, ping2), []string{badRequest, pong2}},
		{"F6 noise before a header", "npm WARN deprecated: x\n\n" + frame(Headers, ping1) + "(node:1) warning\r\n" + frame(Headers, ping2), []string{pong1, pong2}},
		{"F6 noise without line end", "done." + frame(Headers, ping1), []string{pong1}},
		{"F6 noise about lengths", "note: content-length: none\n" + frame(Headers, ping1), []string{pong1}},
		{"F6 blank lines", "\r\n\r\n\n" + frame(Headers, ping1) + "\n\n" + frame(Headers, ping2), []string{pong1, pong2}},
		{"F7 length too short", "Content-Length: 10\r\n\r\n" + ping1 + frame(Headers, ping2), []string{badJSON, pong2}},
		{"F7 length too short, long body", "Content-Length: 10\r\n\r\n" + echo("1", `"`+strings.Repeat("x", 100<<10)+`"`) + frame(Headers, ping2), []string{badJSON, pong2}},
		{"F7 length too long", "Content-Length: 45\r\n\r\n" + ping1 + frames(Headers, ping1, ping2), []string{badJSON, pong2}},
		{"F7 length far too long", "Content-Length: 80\r\n\r\n" + ping1 + frames(Headers, ping1, ping2), []string{badJSON, pong2}},
		{"F7 body cut off", "Content-Length: 100\r\n\r\n" + ping1, nil},
		{"F8 body over the limit", frame(Headers, echo("1", `"`+strings.Repeat("x", 33<<20)+`"`)) + frame(Headers, ping2), []string{tooBig, pong2}},
		{"F8 huge length, short body", "Content-Length: 2147483648\r\n\r\n" + ping1 + frame(Headers, ping2), []string{tooBig, pong2}},
		{"F10 mark before the header", "\uFEFF" + frame(Headers, ping1), []string{pong1}},
		{"F10 mark before the body", frame(Headers, "\uFEFF"+ping1), []string{pong1}},
		{"F12 lines to this door", ping1 + "\n" + ping2 + "\n" + frame(Headers, ping2), []string{badJSON, pong2}},
	}
}

// lineCases are about one message per line.
func lineCases() []wireCase {
	return []wireCase{
		{"F8 line over the limit", frame(Lines, echo("1", `"`+strings.Repeat("x", 33<<20)+`"`)) + frame(Lines, ping2), []string{tooBig, pong2}},
		{"F10 mark before a line", "\uFEFF" + frame(Lines, ping1), []string{pong1}},
		{"F11 carriage returns", ping1 + "\r\n" + ping2 + "\r\n", []string{pong1, pong2}},
		{"F11 blank lines", "\n\r\n  \n" + ping1 + "\n\n" + ping2 + "\n", []string{pong1, pong2}},
		{"F11 leading spaces", "  \t" + ping1 + "\n", []string{pong1}},
		{"F11 last line without end", ping1 + "\n" + ping2, []string{pong1, pong2}},
		{"F12 headers to this door", "Content-Length: 40\r\n\r\n" + ping1 + "\n" + ping2 + "\n", []string{badJSON, pong1, pong2}},
		{"J3 jsonrpc missing", `{"id":1,"method":"ping"}` + "\n", []string{pong1}},
		{"J3 jsonrpc missing, notification", `{"method":"note"}` + "\n" + ping1, []string{pong1}},
		{"J3 jsonrpc 1.0", `{"jsonrpc":"1.0","id":1,"method":"ping"}` + "\n", []string{"1 ! -32600 invalid_request"}},
	}
}

// messageCases hold in both framings; in is one message.
func messageCases() []wireCase {
	return []wireCase{
		{"F10 lone surrogate", echo("1", `"\ud800"`), []string{`1 = "\ud800"`}},
		{"F10 surrogate pair", `{"jsonrpc":"2.0","id":1,"method":"size","params":{"text":"\uD83D\uDE00"}}`, []string{"1 = 4"}},
		{"F10 invalid UTF-8", `{"jsonrpc":"2.0","id":1,"method":"size","params":{"text":"` + "\xff" + `"}}`, []string{"1 = 3"}},
		{"F10 NUL", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\x00ng\"}", []string{badJSON}},
		{"F10 depth 511", echo("1", nested(511)), []string{"1 = " + nested(511)}},
		{"F10 depth 512", echo("1", nested(512)), []string{badJSON}},
		{"F10 depth 10000", echo("1", nested(10000)), []string{badJSON}},
		{"F10 brackets in a string", echo("1", `"`+strings.Repeat(`[\"`, 600)+`"`), []string{`1 = "` + strings.Repeat(`[\"`, 600) + `"`}},
		{"F10 string of 10 MB", `{"jsonrpc":"2.0","id":1,"method":"size","params":{"text":"` + strings.Repeat("x", 10<<20) + `"}}`, []string{"1 = 10485760"}},
		{"F10 duplicate keys", `{"jsonrpc":"1.0","id":1,"id":2,"method":"ping","jsonrpc":"2.0"}`, []string{pong2}},
		{"J1 batch", "[" + ping1 + "," + ping2 + "]", []string{badRequest}},
		{"J1 empty batch", "[]", []string{badRequest}},
		{"J1 mixed batch", "[" + ping1 + `,1,{"jsonrpc":"2.0","method":"note"}]`, []string{badRequest}},
		{"J1 nested batch", "[[" + ping1 + "]]", []string{badRequest}},
		{"J2 invalid", `{"jsonrpc":"2.0",`, []string{badJSON}},
		{"J2 no JSON", "hello", []string{badJSON}},
		{"J2 two values", ping1 + ping2, []string{badJSON}},
		{"J2 two numbers", "1 2", []string{badJSON}},
		{"J2 half an object", `{"jsonrpc":"2.0","id":1`, []string{badJSON}},
		{"J2 bad value", `{"jsonrpc":"2.0","id":1,"method":"ping","params":"\x"}`, []string{badJSON}},
		{"J2 bad name", `{"jsonrpc":"2.0","id":1,"\x":1}`, []string{badJSON}},
		{"J2 number", "1", []string{badRequest}},
		{"J2 string", `"x"`, []string{badRequest}},
		{"J2 null", "null", []string{badRequest}},
		{"J2 empty object", "{}", []string{badRequest}},
		{"J3 jsonrpc 2.0 as number", `{"jsonrpc":2.0,"id":1,"method":"ping"}`, []string{"1 ! -32600 invalid_request"}},
		{"J4 id 0", echo("0", "[]"), []string{"0 = []"}},
		{"J4 id -1", echo("-1", "[]"), []string{"-1 = []"}},
		{"J4 id empty string", echo(`""`, "[]"), []string{`"" = []`}},
		{"J4 id string", echo(`"1"`, "[]"), []string{`"1" = []`}},
		{"J4 id escaped string", echo(`"\u0061\n"`, "[]"), []string{`"a\n" = []`}},
		{"J4 id 2^53", echo("9007199254740992", "[]"), []string{"9007199254740992 = []"}},
		{"J4 id 1e3", echo("1e3", "[]"), []string{"1000 = []"}},
		{"J4 id 1.5", echo("1.5", "[]"), []string{badRequest}},
		{"J4 id 1e400", echo("1e400", "[]"), []string{badRequest}},
		{"J4 id true", echo("true", "[]"), []string{badRequest}},
		{"J4 id object", echo("{}", "[]"), []string{badRequest}},
		{"J4 id array", echo("[]", "[]"), []string{badRequest}},
		{"J4 id null", echo("null", "[]"), []string{badRequest}},
		{"J4 id of 1 MiB", echo(`"`+strings.Repeat("i", 1<<20)+`"`, "[]"), []string{`"ii…1048578 = []`}},
		{"J6 unknown method", `{"jsonrpc":"2.0","id":1,"method":"nope"}`, []string{"1 ! -32601 method_not_found"}},
		{"J6 unknown notification", `{"jsonrpc":"2.0","method":"nope","params":[1]}`, nil},
		{"J6 unknown $/ request", `{"jsonrpc":"2.0","id":1,"method":"$/x"}`, []string{"1 ! -32601 method_not_found"}},
		{"J6 unknown $/ notification", `{"jsonrpc":"2.0","method":"$/x"}`, nil},
		{"J6 method not a string", `{"jsonrpc":"2.0","id":1,"method":7}`, []string{"1 ! -32600 invalid_request"}},
		{"J6 method missing", `{"jsonrpc":"2.0","id":1,"params":{}}`, []string{"1 ! -32600 invalid_request"}},
		{"J6 method and result", `{"jsonrpc":"2.0","id":1,"method":"ping","result":1}`, []string{"1 ! -32600 invalid_request"}},
		{"J7 params missing", `{"jsonrpc":"2.0","id":1,"method":"pos"}`, []string{`1 = {"line":0,"character":0}`}},
		{"J7 params null", `{"jsonrpc":"2.0","id":1,"method":"pos","params":null}`, []string{`1 = {"line":0,"character":0}`}},
		{"J7 params array", `{"jsonrpc":"2.0","id":1,"method":"pos","params":[]}`, []string{"1 ! -32602 invalid_params"}},
		{"J7 params string", `{"jsonrpc":"2.0","id":1,"method":"pos","params":"x"}`, []string{"1 ! -32602 invalid_params"}},
		{"J7 unknown fields", `{"jsonrpc":"2.0","id":1,"method":"pos","params":{"x":{},"position":{"line":3,"y":1}}}`, []string{`1 = {"line":3,"character":0}`}},
		{"J7 wrong type", `{"jsonrpc":"2.0","id":1,"method":"pos","params":{"position":{"line":"3"}}}`, []string{"1 ! -32602 invalid_params"}},
		{"J7 wrong type in a notification", `{"jsonrpc":"2.0","method":"note","params":{"position":1}}`, nil},
		{"J8 unknown id", `{"jsonrpc":"2.0","id":99,"result":1}`, nil},
		{"J8 id of another type", `{"jsonrpc":"2.0","id":"x","result":1}`, nil},
		{"J8 null id", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`, nil},
		{"J8 both", `{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"m"}}`, nil},
		{"J8 neither", `{"jsonrpc":"2.0","id":1}`, nil},
		{"C1 cancel of no request", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":7}}`, nil},
		{"C1 cancel with id {}", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":{}}}`, nil},
		{"C1 cancel with id null", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":null}}`, nil},
		{"C1 cancel without id", `{"jsonrpc":"2.0","method":"$/cancel_request","params":{}}`, nil},
		{"C1 cancel without params", `{"jsonrpc":"2.0","method":"$/cancelRequest"}`, nil},
		{"C1 cancel with params of another type", `{"jsonrpc":"2.0","method":"$/cancelRequest","params":[1]}`, nil},
		{"C1 cancel as a request", `{"jsonrpc":"2.0","id":1,"method":"$/cancelRequest","params":{"id":1}}`, []string{"1 ! -32601 method_not_found"}},
		{"E plain error", `{"jsonrpc":"2.0","id":1,"method":"fail"}`, []string{"1 ! -32803"}},
		{"E panic", `{"jsonrpc":"2.0","id":1,"method":"boom"}`, []string{"1 ! -32603 internal_error"}},
		{"E notification error", `{"jsonrpc":"2.0","method":"sour"}`, nil},
		{"E notification panic", `{"jsonrpc":"2.0","method":"bang"}`, nil},
		{"E notification sent as a request", `{"jsonrpc":"2.0","id":1,"method":"note"}`, []string{"1 = null"}},
		{"E request sent as a notification", `{"jsonrpc":"2.0","method":"ping"}`, nil},
	}
}

// TestCases runs the tables whole and byte by byte; each case must leave a
// connection that serves the next request.
func TestCases(t *testing.T) {
	check := func(t *testing.T, f Framing, in string, want []string) {
		t.Helper()
		readers := map[string]io.Reader{
			"whole":  strings.NewReader(in),
			"bytes":  iotest.OneByteReader(strings.NewReader(in)),
			"halves": iotest.HalfReader(strings.NewReader(in)),
		}
		if len(in) > 2<<20 {
			delete(readers, "bytes")
			delete(readers, "halves")
		}
		for name, r := range readers {
			out := transcript(t, Options{In: r, Framing: f})
			if diff := cmp.Diff(append([]string{}, want...), briefs(unframeAll(t, f, out))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
	good := `{"jsonrpc":"2.0","id":"good","method":"ping"}`
	for _, c := range headerCases() {
		t.Run("headers/"+c.id, func(t *testing.T) { check(t, Headers, c.in, c.want) })
	}
	for _, c := range lineCases() {
		t.Run("lines/"+c.id, func(t *testing.T) { check(t, Lines, c.in, c.want) })
	}
	for _, c := range messageCases() {
		want := append(append([]string{}, c.want...), `"good" = "pong"`)
		t.Run("headers/"+c.id, func(t *testing.T) { check(t, Headers, frames(Headers, c.in, good), want) })
		t.Run("lines/"+c.id, func(t *testing.T) { check(t, Lines, frames(Lines, c.in, good), want) })
	}
	t.Run("headers/J3 jsonrpc missing", func(t *testing.T) {
		check(t, Headers, frames(Headers, `{"id":1,"method":"ping"}`, good), []string{"1 ! -32600 invalid_request", `"good" = "pong"`})
	})
}

// TestStrictOutput pins the exact bytes.
func TestStrictOutput(t *testing.T) {
	in := frames(Headers, ping1, `{"jsonrpc":"2.0","id":2,"method":"nope"}`)
	want := "Content-Length: 40\r\n\r\n" + `{"jsonrpc":"2.0","id":1,"result":"pong"}` +
		"Content-Length: 137\r\n\r\n" + `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"unknown method \"nope\"","data":{"kind":"method_not_found","retryable":false}}}`
	got := transcript(t, Options{In: strings.NewReader(in)})
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = transcript(t, Options{In: strings.NewReader(frame(Lines, echo("1", `"a"`))), Framing: Lines})
	if want := `{"jsonrpc":"2.0","id":1,"result":"a"}` + "\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got = Lines.append(nil, []byte("{\r\n \"a\": \"\\n\"}"))
	if want := "{   \"a\": \"\\n\"}\n"; string(got) != want {
		t.Errorf("indented result in a line: got %q, want %q", got, want)
	}
}

// TestFramingLogs checks that mixing up the doors is logged in plain words, and a
// foreign charset once.
func TestFramingLogs(t *testing.T) {
	for _, c := range []struct {
		f    Framing
		in   string
		want string
		n    int
	}{
		{Headers, ping1 + "\n", "peer sends bare JSON", 1},
		{Lines, frame(Headers, ping1), "peer sends Content-Length headers", 1},
		{Headers, strings.Repeat("Content-Type: x; charset=latin1\r\n"+frame(Headers, ping1), 2), "messages are read as UTF-8", 1},
		{Headers, "Content-Type: x; charset=UTF-8\r\n" + frame(Headers, ping1), "messages are read as UTF-8", 0},
	} {
		log := new(logbook)
		transcript(t, Options{In: strings.NewReader(c.in), Framing: c.f, Log: log.logger()})
		if n := strings.Count(log.String(), c.want); n != c.n {
			t.Errorf("%.40q: logged %q %d times, want %d:\n%s", c.in, c.want, n, c.n, log)
		}
	}
}

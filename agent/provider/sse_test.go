package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"shiro/agent/provider/providertest"
)

func event(v string) string { return "data: " + v + "\n\n" }

func textChunk(text string) string {
	return `{"choices":[{"index":0,"delta":{"content":` + text + `}}]}`
}

const chatStop = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`

func textEvent(text string) string {
	return `{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"delta":` + text + `}`
}

const responsesStop = `{"type":"response.completed","response":{"output":[],"usage":null}}`

// Everything the event stream format allows between and around data, and some
// of what servers do against it.
func TestFramingOfTheStream(t *testing.T) {
	text := map[string]func(string) string{Chat: textChunk, Responses: textEvent}
	stop := map[string]string{Chat: chatStop, Responses: responsesStop}
	apis(t, func(t *testing.T, api string) {
		a, b := text[api](`"Hel"`), text[api](`"lo"`)
		end := event(stop[api])
		split := strings.Index(b, `"`) + 1
		for split < len(b) && b[split-1] != ',' {
			split++
		}
		for name, body := range map[string]string{
			"plain":                 event(a) + event(b) + end,
			"comments":              ": wait\n\n:\n\n" + event(a) + ": keep-alive\n\n" + event(b) + end,
			"other fields":          "event: ping\n\nretry: 3000\n\nid: 7\n" + event(a) + "event: message\nid: 8\n" + event(b) + end,
			"CRLF":                  strings.ReplaceAll(event(a)+event(b)+end, "\n", "\r\n"),
			"no space":              strings.ReplaceAll(event(a)+event(b)+end, "data: ", "data:"),
			"byte order mark":       "\ufeff" + event(a) + event(b) + end,
			"two data lines":        event(a) + "data: " + b[:split] + "\ndata: " + b[split:] + "\n\n" + end,
			"one newline":           "data: " + a + "\ndata: " + b + "\ndata: " + stop[api] + "\n",
			"no newline at the end": event(a) + event(b) + "data: " + stop[api],
			"empty data":            "data:\n\n" + event(a) + "data: \n\n" + event(b) + end,
			"done":                  event(a) + event(b) + end + event("[DONE]"),
			"done at once":          "data: " + a + "\ndata: " + b + "\ndata: " + stop[api] + "\ndata: [DONE]\n",
			"null error":            event(strings.Replace(a, "{", `{"error":null,`, 1)) + event(b) + end,
			"unknown event":         event(`{"type":"response.invented","delta":{"x":1}}`) + event(a) + event(`{"type":"mood","choices":[]}`) + event(b) + end,
			"a thousand comments":   strings.Repeat(": wait\n\n", 1000) + event(a) + strings.Repeat("event: ping\n\n", 1000) + event(b) + end,
		} {
			t.Run(name, func(t *testing.T) {
				check := func(c *Client) {
					t.Helper()
					res, deltas := stream(t, c, ask("x"))
					same(t, "parts", brief(res), []string{"text Hello"})
					same(t, "deltas", deltas, []Delta{{Channel: Text, Text: "Hello"}})
				}
				check(cannedClient(api, body))
				s := script(t, providertest.Raw(body).Bytewise())
				if len(body) < 4000 {
					check(newClient(t, s, Options{API: api}))
				}
			})
		}
	})
}

func TestLinesOfManyMegabytes(t *testing.T) {
	apis(t, func(t *testing.T, api string) {
		for _, c := range []struct{ size, chunk int }{{200 << 10, 1 << 10}, {200 << 10, 1 << 20}, {4 << 20, 8 << 20}} {
			content := strings.Repeat("0123456789abcdef", c.size/16)
			s := script(t, providertest.Call("write_file", `{"content":"`+content+`"}`).Chunk(c.chunk))
			res, err := newClient(t, s, Options{API: api}).Stream(t.Context(), ask("write"), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(res.Parts[0].Input); got != `{"content":"`+content+`"}` {
				t.Errorf("%d bytes in deltas of %d: got %d bytes", c.size, c.chunk, len(got))
			}
		}
	})
}

func TestEscapedHalvesOfACharacterAreJoined(t *testing.T) {
	text := map[string]func(string) string{Chat: textChunk, Responses: textEvent}
	stop := map[string]string{Chat: chatStop, Responses: responsesStop}
	apis(t, func(t *testing.T, api string) {
		for name, c := range map[string]struct {
			pieces []string
			want   string
		}{
			"in one delta":       {[]string{`"a\ud83d\ude00b"`}, "a😀b"},
			"in two":             {[]string{`"a\ud83d"`, `"\ude00b"`}, "a😀b"},
			"capitals":           {[]string{`"a\uD83D"`, `"\uDE00b"`}, "a😀b"},
			"an empty one more":  {[]string{`"a\ud83d"`, `""`, `"\ude00b"`}, "a😀b"},
			"no second half":     {[]string{`"a\ud83d"`, `"b"`}, "a\uFFFDb"},
			"nothing more":       {[]string{`"a\ud83d"`}, "a\uFFFD"},
			"no first half":      {[]string{`"a"`, `"\ude00b"`}, "a\uFFFDb"},
			"two first halves":   {[]string{`"\ud83d\ud83d"`, `"\ude00"`}, "\uFFFD😀"},
			"every other escape": {[]string{`"\"\\\/\b\f\n\r\t\u00e9\u6e10"`}, "\"\\/\b\f\n\r\té渐"},
		} {
			t.Run(name, func(t *testing.T) {
				var body strings.Builder
				for _, p := range c.pieces {
					body.WriteString(event(text[api](p)))
				}
				body.WriteString(event(stop[api]))
				res, _ := stream(t, cannedClient(api, body.String()), ask("x"))
				same(t, "parts", brief(res), []string{"text " + c.want})
			})
		}
	})
}

func TestAnEventWithoutEndIsRefused(t *testing.T) {
	for name, body := range map[string]string{
		"one line":   "data: " + strings.Repeat("x", 1<<20),
		"many lines": strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 1000),
	} {
		e := newEvents(strings.NewReader(body), "")
		e.limit = 100 << 10
		var want *Error
		if _, err := io.ReadAll(e); !errors.As(err, &want) || want.Kind != KindBadStream {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDamagedEvents(t *testing.T) {
	apis(t, func(t *testing.T, api string) {
		for _, body := range []string{"data: {\"choices\":[\n\n", "data: hello\n\n", event(textChunk(`"x`))} {
			e := refused(t, cannedClient(api, body), ask("x"))
			if e.Kind != KindCut || !strings.Contains(e.Message, "not JSON") {
				t.Errorf("%q: %v %v", body, e.Kind, e)
			}
		}
	})
}

// An API that answers whatever was asked must not crash the reader.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		event(textChunk(`"a"`)) + event(chatStop), event(textEvent(`"\ud83d"`)) + event(responsesStop),
		event(`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"x","arguments":"{"}}]}}]}`),
		event(`{"type":"response.output_item.done","item":{"type":"reasoning","summary":[{}]}}`),
		"<html>", `{"error":{"code":null}}`, event(textChunk(`"<think>a</think>b"`)),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, api := range []string{Chat, Responses} {
			res, err := cannedClient(api, body).Stream(t.Context(), ask("x"), nil)
			if (res == nil) == (err == nil) {
				t.Errorf("response %v and error %v", res, err)
			}
			if err == nil {
				for _, p := range res.Parts {
					if p.Input != nil && !json.Valid(p.Input) {
						t.Errorf("input %s", p.Input)
					}
				}
			}
			_ = fmt.Sprint(err)
		}
	})
}

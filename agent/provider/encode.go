package provider

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"hash/fnv"
	"strings"

	"shiro/memory/transcript"
)

// A Cache keeps the encoded form of messages between the requests of one
// conversation, so that each is encoded once. The zero value is ready. It
// belongs to one conversation and serves one request at a time.
type Cache struct {
	form  form
	round int
	wires map[*transcript.Message]*wire
}

type wire struct {
	json  []byte // elements of the message list, joined by commas; may be empty
	round int    // the last request that used it
}

// A form is all that decides how a message is encoded, besides the message.
type form struct {
	api     string
	origin  string // the server asked
	refs    bool   // Responses: stored items go as references
	trust   trust  // Responses: whose encrypted reasoning goes back
	noPhase bool   // Responses: the server does not know phases
	echo    bool   // Chat: reasoning goes back with tool calls
}

type trust int

const (
	trustUnlessForeign trust = iota // all but what another server is known to have made
	trustOwn                        // what this server is known to have made
	trustNone
)

func (t trust) allows(maker, asked string) bool {
	return t == trustUnlessForeign && maker == "" || t != trustNone && maker == asked
}

// encode returns the encoded messages and the sum of their lengths, and forgets
// those that are no longer used.
func (c *Cache) encode(f form, messages []*transcript.Message) (list [][]byte, size int) {
	if c.form != f || c.wires == nil {
		c.form, c.wires = f, make(map[*transcript.Message]*wire, len(messages))
	}
	c.round++
	list = make([][]byte, 0, len(messages)+2)
	var scratch []byte
	for _, m := range messages {
		w := c.wires[m]
		if w == nil {
			scratch = f.appendMessage(scratch[:0], m)
			w = &wire{json: bytes.Clone(scratch)}
			c.wires[m] = w
		}
		w.round = c.round
		if len(w.json) > 0 {
			list = append(list, w.json)
			size += len(w.json) + 1
		}
	}
	if len(c.wires) > len(messages) {
		for m, w := range c.wires {
			if w.round != c.round {
				delete(c.wires, m)
			}
		}
	}
	return list, size
}

func (f form) appendMessage(dst []byte, m *transcript.Message) []byte {
	if f.api == Responses {
		return f.appendItems(dst, m)
	}
	return f.appendChat(dst, m)
}

// join puts a body together: head, the messages with system before and trailer
// behind them, and the end. It is the only copy of the messages that is made.
func join(head, system []byte, list [][]byte, size int, trailer []byte) []byte {
	body := make([]byte, 0, len(head)+len(system)+size+len(trailer)+4)
	body = append(body, head...)
	first := len(body)
	element := func(b []byte) {
		if len(b) > 0 {
			if len(body) > first {
				body = append(body, ',')
			}
			body = append(body, b...)
		}
	}
	element(system)
	for _, b := range list {
		element(b)
	}
	element(trailer)
	return append(body, ']', '}')
}

// assistantParts is the content of an assistant message as parts.
func assistantParts(m *transcript.Message) []transcript.Part {
	if m.Parts == nil && m.Text != "" {
		return []transcript.Part{transcript.Text(m.Text)}
	}
	return m.Parts
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// appendArguments appends a call's input as the JSON string that the wires want.
// What is no object becomes {}: a bad call must not spoil every later request.
func appendArguments(dst []byte, input json.RawMessage) []byte {
	clean, _ := arguments(input)
	return appendQuoted(dst, []byte(clean))
}

// outputText is a tool result as the model reads it. It is never empty, since
// servers refuse empty outputs.
func outputText(o transcript.Output) string {
	text := o.String()
	switch o.Type {
	case transcript.OutputDenied:
		if blank(text) {
			return "Tool execution denied."
		}
	case "content":
		text = contentText(text)
	}
	if text == "" {
		return "(no output)"
	}
	return text
}

// contentText is the text of an output that is a list of parts.
func contentText(list string) string {
	var parts []struct {
		Type      string `json:"type"`
		Text      string `json:"text"`
		MediaType string `json:"mediaType"`
	}
	if json.Unmarshal([]byte(list), &parts) != nil {
		return list
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		if texts[i] = p.Text; p.Type != "text" {
			texts[i] = attachmentNote("", p.MediaType)
		}
	}
	return strings.Join(texts, "\n")
}

// A userPart is text or, when url is set, an image.
type userPart struct {
	text, url string
}

// userParts reads the content of a user message; neighbouring texts are joined.
func userParts(m *transcript.Message) []userPart {
	if m.Parts == nil {
		return []userPart{{text: m.Text}}
	}
	raw, _ := m.MarshalJSON()
	var w struct {
		Content []struct {
			Type      string `json:"type"`
			Text      string `json:"text"`
			Image     string `json:"image"`
			Data      string `json:"data"`
			MediaType string `json:"mediaType"`
			Filename  string `json:"filename"`
		} `json:"content"`
	}
	decodes(raw, &w)
	var parts []userPart
	for _, p := range w.Content {
		data, next := p.Image+p.Data, userPart{text: p.Text}
		if p.Type != transcript.TypeText {
			next.text = attachmentNote(p.Filename, p.MediaType)
			if p.Type == "image" || strings.HasPrefix(p.MediaType, "image/") {
				next.url = imageURL(data, p.MediaType)
			}
		}
		if n := len(parts); n > 0 && next.url == "" && parts[n-1].url == "" {
			parts[n-1].text += "\n" + next.text
			continue
		}
		parts = append(parts, next)
	}
	return parts
}

// imageURL is "" when there is nothing to show or its type is not known.
func imageURL(data, mediaType string) string {
	switch {
	case strings.HasPrefix(data, "data:"), strings.HasPrefix(data, "https://"), strings.HasPrefix(data, "http://"):
		return data
	case data == "" || !strings.HasPrefix(mediaType, "image/") || mediaType == "image/*":
		return ""
	}
	return "data:" + mediaType + ";base64," + data
}

func attachmentNote(name, mediaType string) string {
	what := strings.TrimSpace(name + " " + mediaType)
	if what == "" {
		what = "of unknown type"
	}
	return "[attachment not sent: " + what + "]"
}

const maxName = 64 // what OpenAI takes for names and ids

// cleanName makes a name that a model invented fit the pattern servers demand,
// ^[A-Za-z0-9_-]{1,64}$. Equal names stay equal, different ones different.
func cleanName(s string) string {
	good := len(s) > 0 && len(s) <= maxName
	for i := 0; good && i < len(s); i++ {
		good = nameByte(s[i])
	}
	if good {
		return s
	}
	b := []byte(s[:min(len(s), maxName-9)])
	for i := range b {
		if !nameByte(b[i]) {
			b[i] = '_'
		}
	}
	return string(b) + "_" + digest(s)[:8]
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// cleanID does the same for call ids, where only the length is limited.
func cleanID(s string) string {
	if len(s) > 0 && len(s) <= maxName {
		return s
	}
	return "call_" + digest(s)
}

func digest(s string) string {
	h := fnv.New64a()
	h.Write([]byte(s))
	return hex.EncodeToString(h.Sum(nil))
}

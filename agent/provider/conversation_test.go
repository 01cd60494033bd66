package provider

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"shiro/agent/provider/providertest"
	"shiro/memory/transcript"
)

// A talk is a conversation as an agent leads it: what the model says is
// appended, calls are answered, and so on.
type talk struct {
	t *testing.T
	r *Request
}

func newTalk(t *testing.T, prompt string) *talk {
	r := ask(prompt)
	r.Cache = new(Cache)
	return &talk{t, r}
}

// step asks once, appends the answer and the results, and reports whether the
// model made calls.
func (k *talk) step(c *Client) bool {
	k.t.Helper()
	res, _ := stream(k.t, c, k.r)
	if len(res.Parts) == 0 {
		return false
	}
	answer := transcript.Assistant(res.Parts...)
	k.r.Messages = append(k.r.Messages, answer)
	var results []transcript.Part
	for _, call := range answer.Calls() {
		results = append(results, transcript.Result(call, transcript.Output{Type: transcript.OutputText, Text: "output of " + call.ToolName + string(call.Input)}, true))
	}
	if results != nil {
		k.r.Messages = append(k.r.Messages, transcript.Tool(results...))
	}
	return results != nil
}

func (k *talk) say(prompt string) { k.r.Messages = append(k.r.Messages, transcript.User(prompt)) }

// reread puts the messages through their stored form, as a restart does.
func (k *talk) reread() {
	k.r.Cache = new(Cache)
	for i, m := range k.r.Messages {
		raw, _ := m.MarshalJSON()
		k.r.Messages[i] = parse(k.t, string(raw))[0]
	}
}

// thinkAndCall is a step of a reasoning model that works.
func thinkAndCall(n int) providertest.Step {
	return providertest.Reply(
		providertest.Reasoning(fmt.Sprintf("thought %d", n)),
		providertest.Text(fmt.Sprintf("doing %d", n)).Phase("commentary"),
		providertest.Call("read_file", map[string]int{"n": n}),
		providertest.Call("list", nil),
	)
}

// Between two steps the body grows at its end only: the server's cache stays
// warm up to the last message.
func TestEachBodyBeginsWithTheOneBefore(t *testing.T) {
	apis(t, func(t *testing.T, api string) {
		for _, store := range []bool{false, true} {
			var steps []providertest.Step
			for n := range 9 {
				steps = append(steps, thinkAndCall(n))
			}
			s := startMock(t, providertest.Options{Script: append(steps, providertest.Say("done")), StoresItems: store})
			c := newClient(t, s, Options{API: api, Store: store})
			k := newTalk(t, "work 渐😀")
			trailer := func(n int) string { return fmt.Sprintf("TRAILER %d %s", n, strings.Repeat("x", n)) }
			for n := 0; ; n++ {
				k.r.Trailer = trailer(n)
				if !k.step(c) {
					break
				}
				if n == 4 {
					k.reread()
				}
			}
			requests := s.Requests()
			same(t, "requests", len(requests), 10)
			for i := 1; i < len(requests); i++ {
				before := requests[i-1].Body
				end := bytes.LastIndex(before, fmt.Appendf(nil, "TRAILER %d", i-1))
				end = bytes.LastIndex(before[:end], []byte(`,{"`)) // the trailer's message
				if !bytes.HasPrefix(requests[i].Body, before[:end]) {
					t.Errorf("store %v: request %d does not begin with request %d:\n%s\n%s", store, i, i-1, before, requests[i].Body)
				}
				if requests[i].Prefix < end {
					t.Errorf("request %d shares %d bytes, want %d", i, requests[i].Prefix, end)
				}
			}
			noViolations(t, s)
		}
	})
}

// Reasoning that pruning took away takes the ids with it, not the content
// (CH-02).
func TestPrunedReasoningLeavesTheContent(t *testing.T) {
	s := script(t, thinkAndCall(0), thinkAndCall(1), thinkAndCall(2), providertest.Say("done"))
	c := newClient(t, s, Options{API: Responses})
	k := newTalk(t, "work")
	for k.step(c) {
		if len(s.Requests()) == 2 {
			for i, m := range k.r.Messages {
				if m.Role == transcript.RoleAssistant {
					k.r.Messages[i] = transcript.Assistant(m.Parts[1:]...)
				}
			}
		}
	}
	requests := s.Requests()
	same(t, "requests", len(requests), 4)
	ids := map[string]bool{}
	for _, it := range requests[3].Items() {
		if it.Role == "assistant" {
			ids[it.Text] = it.ID != ""
		}
	}
	same(t, "ids sent", ids, map[string]bool{"doing 0": false, "doing 1": false, "doing 2": true})
	for _, marker := range []string{`output of read_file{\"n\":0}`, `output of read_file{\"n\":1}`, "doing 0", "doing 1"} {
		if !bytes.Contains(requests[3].Body, []byte(marker)) {
			t.Errorf("the last request lost %q", marker)
		}
	}
	noViolations(t, s)
}

// A server that stores nothing gets everything inline from the first request
// on, also after a restart (CH-04).
func TestHistoryIsInline(t *testing.T) {
	s := script(t, thinkAndCall(0), thinkAndCall(1), providertest.Say("done"))
	c := newClient(t, s, Options{API: Responses})
	k := newTalk(t, "work")
	for k.step(c) {
	}
	k.reread()
	k.say("more")
	k.step(c)
	for _, r := range s.Requests() {
		if !bytes.Contains(r.Body, []byte(`"store":false`)) || bytes.Contains(r.Body, []byte("item_reference")) {
			t.Errorf("not inline: %s", r.Body)
		}
	}
	blobs := 0
	for _, it := range s.Requests()[3].Items() {
		if it.Blob != "" {
			blobs++
		}
	}
	same(t, "reasoning items replayed", blobs, 2)
	noViolations(t, s)
}

// Where the server keeps items, history goes by reference; where it turns out
// not to, inline after one refusal.
func TestReferences(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		s := startMock(t, providertest.Options{Script: []providertest.Step{thinkAndCall(0), thinkAndCall(1), providertest.Say("done")}, StoresItems: keeps})
		c := newClient(t, s, Options{API: Responses, Store: true})
		k := newTalk(t, "work")
		for k.step(c) {
		}
		refs := 0
		last := s.Requests()[len(s.Requests())-1]
		for _, it := range last.Items() {
			if it.Kind == "ref" {
				refs++
			}
		}
		if keeps {
			same(t, "references", refs, 8)
			same(t, "requests", len(s.Requests()), 3)
			noViolations(t, s)
		} else {
			same(t, "references", refs, 0)
			same(t, "requests", len(s.Requests()), 4)
			same(t, "refusals", len(s.Violations()), 1)
		}
	}
}

// One server's encrypted reasoning never reaches another one; the content does,
// there and back (CH-06).
func TestReasoningOfAnotherServerIsLeftOut(t *testing.T) {
	p := script(t, thinkAndCall(0), thinkAndCall(1), providertest.Say("P done"), providertest.Say("P again"))
	q := script(t, thinkAndCall(2), providertest.Say("Q done"))
	onP, onQ := newClient(t, p, Options{API: Responses}), newClient(t, q, Options{API: Responses})
	k := newTalk(t, "work")
	for k.step(onP) {
	}
	k.say("now on Q")
	for k.step(onQ) {
	}
	k.say("back on P")
	k.step(onP)
	for _, r := range q.Requests() {
		for _, it := range r.Items() {
			if it.Blob != "" && strings.Contains(it.Blob, blobTag(p)) {
				t.Errorf("Q got %+v", it)
			}
		}
		if !bytes.Contains(r.Body, []byte("doing 1")) || !bytes.Contains(r.Body, []byte(`output of read_file{\"n\":0}`)) {
			t.Errorf("Q lost P's content: %s", r.Body)
		}
	}
	back := p.Requests()[3]
	ofP, ofQ := 0, 0
	for _, it := range back.Items() {
		switch {
		case strings.Contains(it.Blob, blobTag(p)):
			ofP++
		case it.Blob != "":
			ofQ++
		}
	}
	same(t, "P's own reasoning sent back", ofP, 2)
	same(t, "Q's reasoning sent to P", ofQ, 0)
	noViolations(t, p)
	noViolations(t, q)
}

func blobTag(s *providertest.Server) string {
	return "enc." + s.URL()[strings.LastIndexByte(s.URL(), ':')+1:strings.LastIndexByte(s.URL(), '/')]
}

// Encrypted reasoning of unknown origin is tried once and left out when the
// server cannot read it.
func TestUnreadableReasoningIsLeftOutAfterOneRefusal(t *testing.T) {
	s := script(t, thinkAndCall(0), providertest.Say("done"))
	c := newClient(t, s, Options{API: Responses})
	k := newTalk(t, "work")
	k.r.Messages = append(k.r.Messages, parse(t, assistantRaw(reasoningPart("hm", unknownBlob), textItem, callItem), result)...)
	for k.step(c) {
	}
	same(t, "requests", len(s.Requests()), 3)
	same(t, "refusals", len(s.Violations()), 1)
	last := s.Requests()[2].Items()
	if !slices.ContainsFunc(last, func(it providertest.Item) bool { return it.Blob != "" }) {
		t.Error("its own reasoning is left out too")
	}
}

// An empty answer does not come back to poison the history (CH-12).
func TestEmptyAnswers(t *testing.T) {
	apis(t, func(t *testing.T, api string) {
		for name, step := range map[string]providertest.Step{
			"nothing": providertest.Reply(providertest.Text("")), "white space": providertest.Say(" \n "), "reasoning only": providertest.Reasoning("hm"),
		} {
			t.Run(name, func(t *testing.T) {
				s := script(t, step, providertest.Say("hello"))
				c := newClient(t, s, Options{API: api})
				k := newTalk(t, "hi")
				k.step(c)
				k.say("hello again")
				res, _ := stream(t, c, k.r)
				same(t, "second answer", brief(res), []string{"text hello"})
				for _, it := range s.Requests()[1].Items() {
					if it.Role == "assistant" {
						t.Errorf("sent %+v", it)
					}
				}
				noViolations(t, s)
			})
		}
	})
}

// Each message is encoded once, and forgotten when the history drops it.
func TestCacheFollowsTheHistory(t *testing.T) {
	var cache Cache
	f := form{api: Chat}
	ms := parse(t, `{"role":"user","content":"a"}`, `{"role":"user","content":"b"}`, `{"role":"user","content":"c"}`)
	first, _ := cache.encode(f, ms)
	again, _ := cache.encode(f, ms)
	for i := range first {
		if &first[i][0] != &again[i][0] {
			t.Errorf("message %d is encoded again", i)
		}
	}
	cache.encode(f, ms[1:])
	same(t, "kept", len(cache.wires), 2)
	other, _ := cache.encode(form{api: Responses}, ms[1:])
	if bytes.Equal(other[0], first[1]) {
		t.Error("the other wire gets the same bytes")
	}
	same(t, "kept", len(cache.wires), 2)
	same(t, "the same message twice", len(firstOf(cache.encode(f, []*transcript.Message{ms[0], ms[0]}))), 2)
}

func firstOf(list [][]byte, _ int) [][]byte { return list }

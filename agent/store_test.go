package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"shiro/agent/provider"
	mock "shiro/agent/provider/providertest"
	"shiro/memory/transcript"
	"shiro/prune"
)

// A memStore keeps records as bytes and everything it was given to look at.
type memStore struct {
	t testing.TB

	mu     sync.Mutex
	files  map[string][]byte
	saves  map[string][]*transcript.Session // what it was given, in order
	logs   map[string][]logged              // likewise
	inUse  map[string]bool
	closed int
}

// What was logged at once in a journal, and how many records were saved before.
type logged struct {
	entries []transcript.Entry
	saves   int
}

func newMemStore(t testing.TB) *memStore {
	return &memStore{t: t, files: make(map[string][]byte), saves: make(map[string][]*transcript.Session), logs: make(map[string][]logged), inUse: make(map[string]bool)}
}

// put stores a conversation of someone else's.
func (m *memStore) put(id, cwd string, messages ...json.RawMessage) {
	m.t.Helper()
	b, err := json.Marshal(map[string]any{
		"id": id, "createdAt": "2026-08-11T09:10:00.000Z", "updatedAt": "2026-08-11T09:14:31.482Z", "cwd": cwd,
		"provider": "openai", "model": "gpt-5", "title": "t", "inputTokens": 100, "outputTokens": 10, "messages": messages,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[id] = b
}

func (m *memStore) Load(id string) (*transcript.Session, any, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for full, b := range m.files {
		if strings.HasPrefix(full, id) {
			rec, err := transcript.ParseSession(b)
			return rec, len(b), err
		}
	}
	return nil, nil, ErrNotFound
}

func (m *memStore) Open(id string, _ any, _ func(Notice)) (Writer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.inUse[id] {
		return nil, ErrLocked
	}
	m.inUse[id] = true
	return &memWriter{m: m, id: id}, nil
}

type memWriter struct {
	m      *memStore
	id     string
	closed bool
}

func (w *memWriter) Log(_ bool, entries ...transcript.Entry) error {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	if w.closed {
		w.m.t.Errorf("the journal of session %s is written after its end", w.id)
	}
	w.m.logs[w.id] = append(w.m.logs[w.id], logged{slices.Clone(entries), len(w.m.saves[w.id])})
	return nil
}

func (w *memWriter) Save(rec *transcript.Session) {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	if w.closed {
		w.m.t.Errorf("session %s is saved after its end", rec.ID)
	}
	b, err := rec.MarshalJSON()
	if err != nil {
		w.m.t.Errorf("record: %v", err)
	}
	w.m.files[rec.ID] = b
	w.m.saves[rec.ID] = append(w.m.saves[rec.ID], rec)
}

func (w *memWriter) Close() error {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	if w.closed {
		return errors.New("closed twice")
	}
	w.closed = true
	w.m.inUse[w.id] = false
	w.m.closed++
	return nil
}

// record returns what is stored of a conversation.
func (m *memStore) record(id string) *transcript.Session {
	m.t.Helper()
	rec, _, err := m.Load(id)
	if err != nil {
		m.t.Fatalf("record of %s: %v", id, err)
	}
	return rec
}

// look judges every record that was handed over since the last time.
func (m *memStore) look(api string) {
	m.t.Helper()
	m.mu.Lock()
	saves, logs := m.saves, m.logs
	m.saves, m.logs = make(map[string][]*transcript.Session), make(map[string][]logged)
	m.mu.Unlock()
	wire := newWireCheck(m.t, api)
	defer wire.close()
	for id, recs := range saves {
		var last []*transcript.Message
		for n, rec := range recs {
			if !slices.EqualFunc(rec.Messages[:min(len(last), len(rec.Messages))], last, same) {
				m.t.Errorf("session %s, save %d: earlier messages changed", id, n)
			}
			if len(rec.Messages) == len(last) {
				continue
			}
			last = rec.Messages
			faults := recordFaults(last)
			if no := wire.refusal(last); no != "" {
				faults = append(faults, "on the wire: "+no)
			}
			if len(faults) > 0 {
				m.t.Errorf("session %s, save %d is no whole record: %q\n%s", id, n, faults, shape(last))
				break
			}
		}
		m.lookKilled(id, recs, logs[id])
	}
}

func same(a, b *transcript.Message) bool {
	return a == b || string(first(a.MarshalJSON())) == string(first(b.MarshalJSON()))
}

// lookKilled judges what is left of a session when the process is killed after
// any of the entries: the record as it was saved last, or first, with what its
// journal adds.
func (m *memStore) lookKilled(id string, saves []*transcript.Session, log []logged) {
	m.t.Helper()
	entries := make([]transcript.Entry, 0, len(log))
	for n, l := range log {
		entries = append(entries, l.entries...)
		for _, saved := range []int{1, l.saves} {
			if saved > l.saves || saved == 0 {
				continue
			}
			rec := *saves[saved-1]
			if err := rec.Replay(entries); err != nil {
				m.t.Errorf("session %s, killed after log %d with save %d: %v", id, n, saved, err)
				return
			} else if faults := recordFaults(rec.Messages); len(faults) > 0 {
				m.t.Errorf("session %s, killed after log %d with save %d, is no whole record: %q\n%s", id, n, saved, faults, shape(rec.Messages))
				return
			}
		}
	}
}

// recordFaults says what keeps the terminal tool from going on with messages:
// all that 2.4 of its specification counts as an error, and what 2.3 says of
// the shape.
func recordFaults(messages []*transcript.Message) (faults []string) {
	fault := func(format string, a ...any) { faults = append(faults, fmt.Sprintf(format, a...)) }
	for i := 0; i < len(messages); {
		m := messages[i]
		end := i + 1
		for end < len(messages) && messages[end].Role == transcript.RoleTool {
			end++
		}
		switch {
		case m.Role == transcript.RoleTool:
			fault("%d: a tool message after none with calls", i)
		case m.Role == transcript.RoleUser && m.Text == "" && len(m.Parts) == 0:
			fault("%d: an empty prompt", i)
		case m.Role == transcript.RoleAssistant:
			faults = append(faults, stepFaults(i, m, messages[i+1:end], end == len(messages))...)
		}
		i = end
	}
	return faults
}

// stepFaults judges one response and the tool messages after it; last says
// that nothing follows.
func stepFaults(at int, m *transcript.Message, tools []*transcript.Message, last bool) (faults []string) {
	fault := func(format string, a ...any) {
		faults = append(faults, fmt.Sprintf("%d: ", at)+fmt.Sprintf(format, a...))
	}
	if len(m.Parts) == 0 && m.Text == "" {
		fault("an empty response")
	}
	order := make(map[string]int)      // call id -> place
	request := make(map[string]string) // approval id -> call id
	asked := make(map[string]bool)     // calls with a request
	for i, p := range m.Parts {
		switch p.Type {
		case transcript.TypeText:
			if p.Text == "" {
				fault("an empty text")
			}
		case transcript.TypeReasoning:
		case transcript.TypeToolCall:
			if _, twice := order[p.ToolCallID]; twice || p.ToolCallID == "" {
				fault("the call id %q is no name", p.ToolCallID)
			}
			order[p.ToolCallID] = len(order)
			var input map[string]any
			if json.Unmarshal(p.Input, &input) != nil {
				fault("call %s: the input is %s", p.ToolCallID, p.Input)
			}
		case transcript.TypeApprovalRequest:
			if i == 0 || m.Parts[i-1].Type != transcript.TypeToolCall || m.Parts[i-1].ToolCallID != p.ToolCallID {
				fault("a request does not stand after its call")
			}
			if !strings.HasPrefix(p.ApprovalID, "aitxt-") || len(p.ApprovalID) != len("aitxt-")+24 {
				fault("the approval id is %q", p.ApprovalID)
			}
			request[p.ApprovalID] = p.ToolCallID
			asked[p.ToolCallID] = true
		default:
			fault("a part of type %q", p.Type)
		}
	}
	results, responses := make(map[string]transcript.Output), make(map[string]bool)
	for _, tool := range tools {
		place := -1
		for _, p := range tool.Parts {
			switch p.Type {
			case transcript.TypeToolResult:
				n, known := order[p.ToolCallID]
				if _, twice := results[p.ToolCallID]; twice || !known {
					fault("a result for %q, which has one or is not there", p.ToolCallID)
				}
				if n < place {
					fault("the results are not in the order of the calls")
				}
				place = n
				results[p.ToolCallID] = p.Output
			case transcript.TypeApprovalResponse:
				call, known := request[p.ApprovalID]
				if _, twice := responses[call]; twice || !known {
					fault("a response to %q, which has one or is not there", p.ApprovalID)
				}
				if !p.Approved && p.Reason == "" {
					fault("a refusal of %s without a reason", call)
				}
				responses[call] = p.Approved
			default:
				fault("a part of type %q", p.Type)
			}
		}
	}
	for call, approved := range responses {
		out, ended := results[call]
		denied := out.Type == transcript.OutputDenied
		if ended && (approved && denied || !approved && !denied && out.Type != transcript.OutputErrorText) {
			fault("call %s: approved is %v, the result %s", call, approved, out.Type)
		}
	}
	for call := range order {
		if _, ended := results[call]; ended {
			continue
		}
		if _, settled := responses[call]; !last || !asked[call] && !settled {
			fault("call %s has no result and does not wait for an answer", call)
		}
	}
	return faults
}

// A wireCheck sends records to a strict server of its own.
type wireCheck struct {
	t      testing.TB
	server *mock.Server
	client *provider.Client
}

func newWireCheck(t testing.TB, api string) *wireCheck {
	server, err := mock.Start(mock.Options{ForeignBlobs: true, Fallback: mock.Say("fine")})
	if err != nil {
		t.Fatal(err)
	}
	return &wireCheck{t, server, provider.New(provider.Options{API: api, BaseURL: server.URL()})}
}

func (w *wireCheck) close() {
	w.server.Close()
	w.client.Close()
}

// refusal is why the server does not take messages. Only a call that waits for
// the user may be without its result.
func (w *wireCheck) refusal(messages []*transcript.Message) string {
	if len(pending(messages)) > 0 {
		messages = prune.Repair(messages)
	}
	before := len(w.server.Violations())
	tools := []provider.Tool{{Name: "any", Schema: []byte(`{"type":"object"}`)}}
	_, err := w.client.Stream(context.Background(), &provider.Request{Model: "mock", Messages: messages, Tools: tools}, nil)
	if v := w.server.Violations(); len(v) > before {
		return v[before].String()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// shape writes messages down in short, one a line: calls and requests by call
// id, results by type.
func shape(messages []*transcript.Message) string {
	var b strings.Builder
	of := make(map[string]string) // approval id -> call id
	for _, m := range messages {
		b.WriteString(m.Role)
		if m.Text != "" {
			fmt.Fprintf(&b, " %q", m.Text)
		}
		for _, p := range m.Parts {
			switch p.Type {
			case transcript.TypeToolCall:
				fmt.Fprintf(&b, " call(%s)", p.ToolCallID)
			case transcript.TypeApprovalRequest:
				of[p.ApprovalID] = p.ToolCallID
				kind := "ask"
				if p.Automatic {
					kind = "auto"
				}
				fmt.Fprintf(&b, " %s(%s)", kind, p.ToolCallID)
			case transcript.TypeApprovalResponse:
				fmt.Fprintf(&b, " %s(%s)", map[bool]string{true: "yes", false: "no"}[p.Approved], of[p.ApprovalID])
			case transcript.TypeToolResult:
				fmt.Fprintf(&b, " %s(%s)", p.Output.Type, p.ToolCallID)
			case transcript.TypeText:
				fmt.Fprintf(&b, " %q", p.Text)
			default:
				b.WriteString(" " + p.Type)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// fixture reads messages that the terminal tool wrote.
func fixture(t testing.TB, name string) (raw []json.RawMessage, messages []*transcript.Message) {
	t.Helper()
	b, err := os.ReadFile("../memory/transcript/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(json.Unmarshal(b, &raw), json.Unmarshal(b, &messages)); err != nil {
		t.Fatal(err)
	}
	return raw, messages
}

// The judge of records finds nothing in what the terminal tool wrote, and finds
// each way of cutting it where a step is not whole.
func TestRecordCheckerSeesFaults(t *testing.T) {
	_, mixed := fixture(t, "mixed-approvals.json")
	for n, bad := range map[int]bool{1: false, 2: true, 3: false, 4: false, 5: false, 6: false} {
		if faults := recordFaults(mixed[:n]); (len(faults) > 0) != bad {
			t.Errorf("%d messages: %q", n, faults)
		}
	}
	for _, name := range []string{"openai-responses-turns.json", "chat.json", "anthropic.json"} {
		if _, all := fixture(t, name); len(recordFaults(all)) > 0 {
			t.Errorf("%s: %q", name, recordFaults(all))
		}
	}
	call := transcript.Part{Type: transcript.TypeToolCall, ToolCallID: "a", ToolName: "x", Input: []byte("{}")}
	two := call
	two.ToolCallID = "b"
	ask := transcript.Part{Type: transcript.TypeApprovalRequest, ToolCallID: "a", ApprovalID: "aitxt-ZhKBSlP08ypDBFDdJljrwgS0"}
	no := transcript.Part{Type: transcript.TypeApprovalResponse, ApprovalID: ask.ApprovalID, Reason: "no"}
	ok := func(c transcript.Part) transcript.Part {
		return transcript.Result(c, transcript.Output{Type: transcript.OutputText, Text: "r"}, true)
	}
	user := transcript.User("go")
	step := transcript.Assistant
	for name, c := range map[string][]*transcript.Message{
		"no result":           {user, step(call)},
		"a prompt after":      {user, step(call, ask), user},
		"two results":         {user, step(call), transcript.Tool(ok(call), ok(call))},
		"order of results":    {user, step(call, two), transcript.Tool(ok(two), ok(call))},
		"result of no call":   {user, step(call), transcript.Tool(ok(call), ok(two))},
		"request elsewhere":   {user, step(call, two, ask), transcript.Tool(ok(two))},
		"refused, and ran":    {user, step(call, ask), transcript.Tool(no), transcript.Tool(ok(call))},
		"response to nothing": {user, step(call), transcript.Tool(no, ok(call))},
		"one id for two":      {user, step(call, call), transcript.Tool(ok(call))},
		"empty response":      {user, step()},
		"empty text":          {user, step(transcript.Text(""))},
		"tool before all":     {transcript.Tool(ok(call))},
		"unknown part":        {user, step(transcript.Part{Type: "tool-error", ToolCallID: "a"})},
	} {
		if len(recordFaults(c)) == 0 {
			t.Errorf("%s: no fault is seen in\n%s", name, shape(c))
		}
	}
}

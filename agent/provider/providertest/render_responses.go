package providertest

import (
	"hash/fnv"
	"slices"
)

// A madeItem is what the server remembers of an item it produced.
type madeItem struct {
	kind      string   // "reasoning", "message", "function_call"
	callID    string   // function_call
	reasoning []string // ids of the reasoning items before it in the same response
}

type respItem struct {
	Type      string      `json:"type"`
	ID        string      `json:"id"`
	Status    string      `json:"status,omitempty"`
	Role      string      `json:"role,omitempty"`
	Phase     string      `json:"phase,omitempty"`
	Summary   *[]respText `json:"summary,omitempty"`
	Encrypted string      `json:"encrypted_content,omitempty"`
	Content   []respText  `json:"content,omitempty"`
	CallID    string      `json:"call_id,omitempty"`
	Name      string      `json:"name,omitempty"`
	Arguments *string     `json:"arguments,omitempty"`
}

type respText struct {
	Type    string `json:"type"`
	Text    string `json:"text,omitempty"`
	Refusal string `json:"refusal,omitempty"`
}

type respEvent struct {
	Type     string    `json:"type"`
	Sequence int       `json:"sequence_number"`
	Item     *respItem `json:"item,omitempty"`
	ItemID   string    `json:"item_id,omitempty"`
	Index    *int      `json:"output_index,omitempty"`
	Summary  *int      `json:"summary_index,omitempty"`
	Content  *int      `json:"content_index,omitempty"`
	Part     *respText `json:"part,omitempty"`
	Delta    string    `json:"delta,omitempty"`
	Text     string    `json:"text,omitempty"`
	Args     string    `json:"arguments,omitempty"`
	Response any       `json:"response,omitempty"`
}

// A respWriter renders one response.
type respWriter struct {
	step    Step
	encrypt bool // the client asked for encrypted reasoning
	frames  []frame
	seq     int
	output  []*respItem
}

func (s *Server) renderResponses(model string, stream, encrypt bool, step Step, u *Usage) answer {
	w := &respWriter{step: step, encrypt: encrypt}
	id := s.newID("resp")
	document := func(status string, output []*respItem, u *Usage) map[string]any {
		if output == nil {
			output = []*respItem{}
		}
		return map[string]any{
			"id": id, "object": "response", "created_at": 1700000000, "model": model, "status": status,
			"output": output, "error": nil, "incomplete_details": nil, "usage": respUsage(u),
		}
	}
	w.emit(respEvent{Type: "response.created", Response: document("in_progress", nil, nil)}, false)
	w.emit(respEvent{Type: "response.in_progress", Response: document("in_progress", nil, nil)}, false)
	s.items(w)
	last := document("completed", w.output, u)
	kind := "response.completed"
	switch {
	case step.fails:
		kind, last["status"], last["output"] = "response.failed", "failed", []*respItem{}
		last["error"] = map[string]any{"code": step.failCode, "message": step.failText}
	case step.finish == "length" || step.finish == "content_filter":
		reason := map[string]string{"length": "max_output_tokens"}[step.finish]
		if reason == "" {
			reason = step.finish
		}
		kind, last["status"] = "response.incomplete", "incomplete"
		last["incomplete_details"] = map[string]any{"reason": reason}
	}
	w.emit(respEvent{Type: kind, Response: last}, false)
	return answer{streams: stream, frames: w.frames, whole: last}
}

// items renders the pieces of the step and remembers them.
func (s *Server) items(w *respWriter) {
	var reasoning []string
	for _, p := range w.step.pieces {
		var it *respItem
		switch p.kind {
		case reasoningPiece:
			it = s.reasoningItem(w.encrypt)
			reasoning = append(reasoning, it.ID)
			w.reasoning(it, p)
		case callPiece:
			it = &respItem{Type: "function_call", ID: s.newID("fc"), CallID: s.callID(p), Name: p.name}
			w.call(it, p)
		default:
			it = &respItem{Type: "message", ID: s.newID("msg"), Role: "assistant", Phase: p.phase}
			w.message(it, p)
		}
		w.output = append(w.output, it)
		s.remember(it.ID, madeItem{it.Type, it.CallID, slices.Clone(reasoning)})
	}
}

func (s *Server) remember(id string, m madeItem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made[id] = m
}

// reasoningItem makes an item whose blob only this server accepts.
func (s *Server) reasoningItem(encrypt bool) *respItem {
	id := s.newID("rs")
	it := &respItem{Type: "reasoning", ID: id, Summary: &[]respText{}}
	if encrypt {
		it.Encrypted = blob(s.opts.Tag, id)
	}
	return it
}

func blob(tag, id string) string {
	h := fnv.New64a()
	h.Write([]byte(tag + id))
	b := []byte("enc." + tag + "." + id + ".")
	const digits = "0123456789abcdef"
	for sum := h.Sum64(); sum > 0; sum >>= 4 {
		b = append(b, digits[sum&15])
	}
	return string(b)
}

func (w *respWriter) emit(e respEvent, delta bool) {
	e.Sequence = w.seq
	w.seq++
	w.frames = append(w.frames, frame{"event: " + e.Type + "\ndata: " + mustJSON(e) + "\n\n", delta})
}

func (w *respWriter) about(kind string, it *respItem) respEvent {
	index := len(w.output)
	return respEvent{Type: kind, ItemID: it.ID, Index: &index}
}

// bracket renders an item between its added and its done event. done completes it.
func (w *respWriter) bracket(it *respItem, body, done func()) {
	begin := *it
	begin.Status, begin.Encrypted = "in_progress", ""
	if it.Type == "reasoning" {
		begin.Status = ""
	}
	e := w.about("response.output_item.added", it)
	e.ItemID, e.Item = "", &begin
	w.emit(e, false)
	body()
	done()
	e = w.about("response.output_item.done", it)
	e.ItemID, e.Item = "", it
	w.emit(e, false)
}

func (w *respWriter) reasoning(it *respItem, p piece) {
	zero := 0
	w.bracket(it, func() {
		for _, d := range w.step.deltas(p.text) {
			e := w.about("response.reasoning_summary_text.delta", it)
			e.Summary, e.Delta = &zero, d
			w.emit(e, true)
		}
	}, func() {
		if p.text != "" {
			it.Summary = &[]respText{{Type: "summary_text", Text: p.text}}
		}
	})
}

func (w *respWriter) message(it *respItem, p piece) {
	zero := 0
	name, part := "output_text", respText{Type: "output_text", Text: p.text}
	if p.kind == refusalPiece {
		name, part = "refusal", respText{Type: "refusal", Refusal: p.text}
	}
	w.bracket(it, func() {
		e := w.about("response.content_part.added", it)
		e.Content, e.Part = &zero, &respText{Type: part.Type}
		w.emit(e, false)
		for _, d := range w.step.deltas(p.text) {
			e := w.about("response."+name+".delta", it)
			e.Content, e.Delta = &zero, d
			w.emit(e, true)
		}
		e = w.about("response."+name+".done", it)
		e.Content, e.Text = &zero, p.text
		w.emit(e, false)
	}, func() {
		it.Status, it.Content = w.status(), []respText{part}
	})
}

func (w *respWriter) call(it *respItem, p piece) {
	w.bracket(it, func() {
		for _, d := range w.step.deltas(p.text) {
			e := w.about("response.function_call_arguments.delta", it)
			e.Delta = d
			w.emit(e, true)
		}
		e := w.about("response.function_call_arguments.done", it)
		e.Args = p.text
		w.emit(e, false)
	}, func() {
		it.Status, it.Arguments = w.status(), &p.text
	})
}

// status is that of the current item: the last one of an answer cut by length is
// incomplete.
func (w *respWriter) status() string {
	if w.step.finish == "length" && len(w.output) == len(w.step.pieces)-1 {
		return "incomplete"
	}
	return "completed"
}

func respUsage(u *Usage) any {
	if u == nil {
		return nil
	}
	return map[string]any{
		"input_tokens": u.Input, "output_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"input_tokens_details":  map[string]any{"cached_tokens": u.Cached},
		"output_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
	}
}

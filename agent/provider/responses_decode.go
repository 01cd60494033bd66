package provider

import (
	"encoding/json"
	"slices"
	"strings"
)

// A responsesEvent is the part of a Responses stream event that we read. It
// points into the event's bytes.
type responsesEvent struct {
	kind, itemID          []byte
	outputIndex           int // -1 when the server gives none
	summaryIndex          int
	delta, item, response []byte
}

func (ev *responsesEvent) member(name, value []byte) {
	switch string(name) {
	case "type":
		ev.kind = bare(value)
	case "item_id":
		ev.itemID = bare(value)
	case "output_index":
		ev.outputIndex = number(value, -1)
	case "summary_index":
		ev.summaryIndex = number(value, 0)
	case "delta":
		ev.delta = value
	case "item":
		ev.item = value
	case "response":
		ev.response = value
	}
}

// bare is a JSON string without its quotes, for names that need no escapes.
func bare(raw []byte) []byte {
	if !isText(raw) {
		return nil
	}
	return raw[1 : len(raw)-1]
}

type responsesItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	Phase     string          `json:"phase"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Encrypted string          `json:"encrypted_content"`
	Summary   []responsesText `json:"summary"`
	Content   []responsesText `json:"content"`
}

type responsesText struct {
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

type responsesState struct {
	Output     []json.RawMessage `json:"output"`
	Error      json.RawMessage   `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *struct {
		Input        int64 `json:"input_tokens"`
		Output       int64 `json:"output_tokens"`
		InputDetails struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"input_tokens_details"`
		OutputDetails struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
}

// responsesReader assembles the answer of a Responses stream. The finished
// items are what counts; the deltas are for showing, and stand in where a
// server does not send the finished item.
type responsesReader struct {
	answer
	items  []*outputItem
	whole  int // finished items seen, of every type
	over   bool
	origin string
}

// An outputItem is one item of the response with the parts it makes: one for a
// message or a call, one per summary paragraph for reasoning.
type outputItem struct {
	id     string
	index  int // its place in the output
	pieces []*piece
	done   bool
}

func (r *responsesReader) read(data []byte) (last bool, err error) {
	ev := responsesEvent{outputIndex: -1}
	if !eachMember(data, ev.member) {
		return false, notJSON(data)
	}
	switch string(ev.kind) {
	case "response.output_text.delta":
		r.grown(&ev, Text, 0)
	case "response.refusal.delta":
		r.stop = StopRefusal
		r.grown(&ev, Text, 0)
	case "response.reasoning_summary_text.delta":
		r.grown(&ev, Reasoning, ev.summaryIndex)
	case "response.reasoning_text.delta":
		r.grown(&ev, Reasoning, 0)
	case "response.function_call_arguments.delta":
		r.grown(&ev, Args, 0)
	case "response.output_item.added":
		r.added(&ev)
	case "response.output_item.done":
		r.whole++
		r.finished(ev.item, ev.outputIndex)
	case "response.completed", "response.incomplete":
		r.ending(&ev)
		return true, nil
	case "response.failed", "response.cancelled":
		return false, failure(ev.response)
	case "error":
		return false, streamError(data)
	}
	return false, nil
}

// grown adds a delta to the item it names.
func (r *responsesReader) grown(ev *responsesEvent, c Channel, nth int) {
	if !isText(ev.delta) {
		return
	}
	it := r.item(ev.itemID, ev.outputIndex)
	if it.done {
		return
	}
	p := r.piece(it, c, min(max(nth, 0), len(it.pieces)))
	if c == Args && p.callID == "" {
		p.text = appendUnquoted(p.text, ev.delta, &p.half) // the call's head is still to come
		return
	}
	r.growQuoted(p, ev.delta)
}

// item finds an item by its id, or by its index where ids are missing or change
// with every event, as some proxies make them.
func (r *responsesReader) item(id []byte, index int) *outputItem {
	if len(id) > 0 {
		for _, it := range r.items {
			if it.id == string(id) {
				return it
			}
		}
	}
	for i := len(r.items) - 1; i >= 0; i-- {
		it := r.items[i]
		if index < 0 && len(id) == 0 || index >= 0 && it.index == index && (!it.done || r.over) {
			return it
		}
	}
	it := &outputItem{id: string(id), index: index}
	if index < 0 {
		it.index = len(r.items)
	}
	r.items = append(r.items, it)
	return it
}

// piece returns the item's nth part and makes it if need be.
func (r *responsesReader) piece(it *outputItem, c Channel, nth int) *piece {
	for len(it.pieces) <= nth {
		it.pieces = append(it.pieces, r.add(c))
	}
	return it.pieces[nth]
}

func (r *responsesReader) added(ev *responsesEvent) {
	var w responsesItem
	if !decodes(ev.item, &w) {
		return
	}
	if w.Type != "message" && w.Type != "reasoning" && w.Type != "function_call" {
		return
	}
	it := r.item([]byte(w.ID), ev.outputIndex)
	if w.Type == "function_call" && !it.done {
		p := r.piece(it, Args, 0)
		r.openCall(p, &w)
	}
}

// openCall gives a call its id and reports it, with what came before its head.
func (r *responsesReader) openCall(p *piece, w *responsesItem) {
	if p.callID != "" || w.Name == "" {
		return
	}
	p.callID, p.tool = r.ids.unique(w.CallID), w.Name
	r.report(p, p.text)
}

// finished takes an item as the server repeats it at its end.
func (r *responsesReader) finished(raw []byte, index int) {
	var w responsesItem
	if !decodes(raw, &w) {
		return
	}
	switch w.Type {
	case "message", "reasoning", "function_call":
	default:
		return
	}
	it := r.item([]byte(w.ID), index)
	if it.done {
		return
	}
	it.done, it.id = true, w.ID
	switch w.Type {
	case "message":
		r.message(it, &w)
	case "reasoning":
		r.reasoning(it, &w)
	case "function_call":
		r.functionCall(it, &w)
	}
}

func (r *responsesReader) message(it *outputItem, w *responsesItem) {
	var text strings.Builder
	for _, c := range w.Content {
		text.WriteString(c.Text)
		if c.Refusal != "" {
			r.stop = StopRefusal
			text.WriteString(c.Refusal)
		}
	}
	p := r.piece(it, Text, 0)
	p.correct(text.String())
	p.options = messageOptions(w.ID, w.Phase)
}

func (r *responsesReader) reasoning(it *outputItem, w *responsesItem) {
	texts := w.Summary
	if len(texts) == 0 {
		texts = w.Content // models that show their reasoning itself
	}
	for i, t := range texts {
		r.piece(it, Reasoning, i).correct(t.Text)
	}
	r.piece(it, Reasoning, 0)
	// The SDK takes the last non-null blob of an item, so it is kept once.
	last := len(it.pieces) - 1
	for i, p := range it.pieces {
		encrypted := ""
		if i == last {
			encrypted = w.Encrypted
		}
		p.options = reasoningOptions(w.ID, encrypted, r.origin)
	}
}

func (r *responsesReader) functionCall(it *outputItem, w *responsesItem) {
	p := r.piece(it, Args, 0)
	p.broken = w.Status == "incomplete" // never to be run
	switch args := w.Arguments; {
	case len(args) > 2 && args[0] == '"':
		p.text, p.half = appendUnquoted(p.text[:0], args, &p.half), 0
	case len(args) > 0 && args[0] == '{':
		p.text = append(p.text[:0], args...)
	}
	r.openCall(p, w)
	if p.callID == "" { // no name either
		p.callID = r.ids.unique(w.CallID)
	}
	p.options = messageOptions(w.ID, "")
}

// correct replaces the text that came in deltas by the finished one.
func (p *piece) correct(text string) {
	if text != "" {
		p.text, p.half = append(p.text[:0], text...), 0
	}
}

// ending reads the last event of a good stream.
func (r *responsesReader) ending(ev *responsesEvent) {
	r.over = true
	var w responsesState
	decodes(ev.response, &w)
	if len(w.Output) != r.whole { // else it only repeats them
		for i, item := range w.Output {
			r.finished(item, i)
		}
	}
	if u := w.Usage; u != nil && u.Input+u.Output > 0 {
		r.usage = Usage{
			Input: u.Input, Cached: u.InputDetails.Cached, Output: u.Output, Reasoning: u.OutputDetails.Reasoning, Known: true,
		}
	}
	switch reason := w.Incomplete.Reason; {
	case reason == "content_filter":
		r.stop = StopFilter
	case reason != "" || string(ev.kind) == "response.incomplete":
		r.stop = StopLength
	case r.stop == "":
		r.stop = StopEnd
	}
}

func failure(raw []byte) *Error {
	var w responsesState
	decodes(raw, &w)
	if isSet(w.Error) {
		return streamError(w.Error)
	}
	return &Error{Kind: KindServer, Message: "the server ended the response as failed and gave no reason"}
}

func (r *responsesReader) ended(bool) bool { return r.over }

// result returns the parts in the order of the output, not of arrival.
func (r *responsesReader) result() *Response {
	slices.SortStableFunc(r.items, func(a, b *outputItem) int { return a.index - b.index })
	ordered := make([]*piece, 0, len(r.pieces))
	for _, it := range r.items {
		for _, p := range it.pieces {
			if p.channel == Args && p.callID == "" {
				p.callID = r.ids.unique("")
			}
			p.broken = p.broken || !it.done && r.stop != StopEnd
		}
		ordered = append(ordered, it.pieces...)
	}
	r.pieces = ordered
	return r.response()
}

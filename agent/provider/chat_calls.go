package provider

import "encoding/json"

// A chatCallDelta is a piece of a tool call. Servers disagree about every
// field: index may be missing or always 0, id may come once, always, late or
// never, the name may come after the arguments.
type chatCallDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// A chatCall is a tool call in the making.
type chatCall struct {
	*piece
	index  int    // -1 when the server gives none
	wireID string // as the server says it
	shown  int    // how much of the arguments was reported
	open   bool   // it has its final id
}

func (c *chatReader) callDelta(d *chatCallDelta) {
	call := c.find(d)
	if call == nil {
		if d.ID == "" && d.Function.Name == "" && !hasArguments(d.Function.Arguments) {
			return
		}
		call = &chatCall{piece: c.add(Args), index: -1}
		if d.Index != nil {
			call.index = *d.Index
		}
		c.calls = append(c.calls, call)
	}
	if call.wireID == "" {
		call.wireID = d.ID
	}
	call.rename(d.Function.Name)
	if args := d.Function.Arguments; hasArguments(args) {
		if args[0] == '"' {
			call.text = appendUnquoted(call.text, args, &call.half)
		} else {
			call.text = append(call.text, args...) // an object in place of its text
		}
	}
	if call.tool != "" {
		c.show(call)
	}
}

func hasArguments(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null" && string(raw) != `""`
}

// find returns the call that d belongs to, or nil when d begins one.
func (c *chatReader) find(d *chatCallDelta) *chatCall {
	var last *chatCall
	if len(c.calls) > 0 {
		last = c.calls[len(c.calls)-1]
	}
	if d.Index != nil {
		for i := len(c.calls) - 1; i >= 0; i-- {
			call := c.calls[i]
			if call.index != *d.Index {
				continue
			}
			if d.ID != "" && call.wireID != "" && d.ID != call.wireID && d.Function.Name != "" {
				return nil // an index that is always 0
			}
			return call
		}
		return nil
	}
	if d.ID != "" {
		for _, call := range c.calls {
			if call.wireID == d.ID {
				return call
			}
		}
		if last != nil && last.wireID == "" && last.tool == "" {
			return last // the head comes after the arguments
		}
		return nil
	}
	if last != nil && d.Function.Name != "" && last.tool != "" && (d.Function.Name != last.tool || json.Valid(last.text)) {
		return nil // a whole call per delta, or the head of the next one
	}
	return last
}

// rename takes the name, which may come whole, again with every delta, grown,
// or in pieces before the arguments.
func (call *chatCall) rename(name string) {
	switch {
	case name == "" || name == call.tool:
	case call.tool == "" || len(name) > len(call.tool) && name[:len(call.tool)] == call.tool:
		call.tool = name
	case len(call.text) == 0:
		call.tool += name
	}
}

// show reports what is new about a call whose name is known.
func (c *chatReader) show(call *chatCall) {
	if !call.open {
		call.open = true
		call.callID = c.ids.unique(call.wireID)
		c.report(call.piece, call.text)
		call.shown = len(call.text)
	}
	if fresh := call.text[call.shown:]; len(fresh) > 0 {
		call.shown = len(call.text)
		c.report(call.piece, fresh)
	}
}

// closeCalls gives ids to the calls that never got a name.
func (c *chatReader) closeCalls() {
	for _, call := range c.calls {
		if !call.open {
			call.callID = c.ids.unique(call.wireID)
		}
	}
}

package providertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// checkItems covers V1 to V6 for the Responses API.
func (s *Server) checkItems(items []object) *refusal {
	c := &itemCheck{server: s, pairs: newPairing(), ids: make(map[string]bool)}
	for i, it := range items {
		c.at = fmt.Sprintf("input[%d]", i)
		if no := c.item(it); no != nil {
			return no
		}
	}
	c.at = "input"
	if no := c.followed(); no != nil {
		return no
	}
	return c.pairs.settled("input")
}

// An itemCheck walks over the input.
type itemCheck struct {
	server *Server
	pairs  *pairing
	at     string          // where it is
	ids    map[string]bool // item ids so far

	thought string // a reasoning item that nothing follows yet
	inRun   bool   // there is reasoning since the last user message or output
	results bool   // an output has come since the last call
}

func (c *itemCheck) item(it object) *refusal {
	kind := it.text("type")
	if kind == "" && it.has("role") {
		kind = "message"
	}
	if kind == "item_reference" {
		made, ok := c.server.made[it.text("id")]
		if !ok || !c.server.opts.StoresItems {
			return &refusal{
				rule: "V2", status: http.StatusNotFound, param: "input",
				message: fmt.Sprintf("Item with id '%s' not found. Items are not persisted when `store` is set to false.", it.text("id")),
			}
		}
		return c.reference(it.text("id"), made)
	}
	if no := c.id(it, kind); no != nil {
		return no
	}
	switch kind {
	case "message":
		return c.message(it)
	case "reasoning":
		return c.reasoning(it)
	case "function_call":
		return c.call(it)
	case "function_call_output":
		return c.output(it)
	}
	return breaks("shape", c.at+".type", "Invalid value: '%s'.", kind)
}

// id checks the form of an item's id, that it is new, and V3: what has an id
// needs the reasoning it was made with.
func (c *itemCheck) id(it object, kind string) *refusal {
	id := it.text("id")
	if id == "" {
		return nil
	}
	if c.ids[id] {
		return breaks("shape", c.at+".id", "Duplicate item found with id %s.", id)
	}
	c.ids[id] = true
	prefix := map[string]string{"message": "msg", "reasoning": "rs", "function_call": "fc", "function_call_output": "fc"}[kind]
	if !strings.HasPrefix(id, prefix) || len(id) > 64 {
		return breaks("shape", c.at+".id", "Invalid '%s.id': '%s'. Expected an ID that begins with '%s'.", c.at, id, prefix)
	}
	if kind != "message" && kind != "function_call" {
		return nil
	}
	made, known := c.server.made[id]
	for _, rs := range made.reasoning {
		if !c.ids[rs] {
			return breaks("V3", "input", "Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", id, kind, rs)
		}
	}
	if !known && !c.inRun {
		return breaks("V3", "input", "Item '%s' of type '%s' was provided without its required 'reasoning' item.", id, kind)
	}
	return nil
}

// followed refuses reasoning without the item it led to.
func (c *itemCheck) followed() *refusal {
	if c.thought == "" {
		return nil
	}
	return breaks("V3", "input", "Item '%s' of type 'reasoning' was provided without its required following item.", c.thought)
}

// assistant is common to what a model makes: it begins a new answer only when
// every call of the last one has its output.
func (c *itemCheck) assistant() *refusal {
	if c.results {
		return c.pairs.settled(c.at)
	}
	return nil
}

func (c *itemCheck) message(it object) *refusal {
	if no := c.pairs.settled(c.at); no != nil {
		return no
	}
	role := it.text("role")
	switch role {
	case "assistant":
		c.thought = ""
		said, no := checkContent(it["content"], c.at+".content", "output_text", "refusal")
		if no == nil && !said {
			no = breaks("V4", c.at+".content", "Invalid '%s.content': an assistant message must say something.", c.at)
		}
		return no
	case "user", "system", "developer":
		if no := c.followed(); no != nil {
			return no
		}
		c.inRun, c.results = false, false
		if c.server.refuses(role) {
			return breaks("V9", c.at+".role", "Unsupported value: the role '%s' is not supported.", role)
		}
		return checkUser(it, c.at, "input_text", "input_image", "input_file")
	}
	return breaks("shape", c.at+".role", "Invalid value: '%s'.", role)
}

func (c *itemCheck) reasoning(it object) *refusal {
	if no := c.assistant(); no != nil {
		return no
	}
	c.thought, c.inRun = it.text("id"), true
	if c.thought == "" {
		c.thought = "(no id)"
	}
	var summary []object
	if string(it["summary"]) == "null" || json.Unmarshal(it["summary"], &summary) != nil {
		return breaks("V3", c.at+".summary", "Missing required parameter: '%s.summary'.", c.at)
	}
	for i, p := range summary {
		if _, ok := p["text"]; p.text("type") != "summary_text" || !ok {
			return breaks("shape", c.at+".summary", "Invalid '%s.summary[%d]'.", c.at, i)
		}
	}
	encrypted := it.text("encrypted_content")
	if encrypted == "" && !c.server.opts.StoresItems {
		return &refusal{
			rule: "V2", status: http.StatusNotFound, param: "input",
			message: fmt.Sprintf("Item with id '%s' not found. Items are not persisted when `store` is set to false.", c.thought),
		}
	}
	if encrypted != "" && !c.server.opts.ForeignBlobs && encrypted != blob(c.server.opts.Tag, it.text("id")) {
		no := breaks("blob", c.at, "The encrypted content for item %s could not be verified.", c.thought)
		no.code = "invalid_encrypted_content"
		return no
	}
	return nil
}

func (c *itemCheck) call(it object) *refusal {
	if no := c.assistant(); no != nil {
		return no
	}
	c.thought, c.results = "", false
	if no := c.pairs.call(it.text("call_id"), c.at+".call_id"); no != nil {
		return no
	}
	if name := it.text("name"); !goodName(name) {
		return breaks("V6", c.at+".name", "Invalid '%s.name': %q does not match ^[A-Za-z0-9_-]{1,64}$.", c.at, name)
	}
	return checkArguments(it["arguments"], c.at+".arguments")
}

func (c *itemCheck) output(it object) *refusal {
	if no := c.followed(); no != nil {
		return no
	}
	c.inRun, c.results = false, true
	if no := c.pairs.output(it.text("call_id"), c.at+".call_id"); no != nil {
		return no
	}
	_, no := checkContent(it["output"], c.at+".output", "input_text", "input_image", "input_file")
	return no
}

// reference treats a stored item as if it had been sent.
func (c *itemCheck) reference(id string, made madeItem) *refusal {
	if c.ids[id] {
		return breaks("shape", c.at+".id", "Duplicate item found with id %s.", id)
	}
	for _, rs := range made.reasoning {
		if made.kind != "reasoning" && !c.ids[rs] {
			return breaks("V3", "input", "Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", id, made.kind, rs)
		}
	}
	c.ids[id] = true
	if no := c.assistant(); no != nil {
		return no
	}
	switch made.kind {
	case "reasoning":
		c.thought, c.inRun = id, true
	case "message":
		c.thought = ""
		return c.pairs.settled(c.at)
	case "function_call":
		c.thought, c.results = "", false
		return c.pairs.call(made.callID, c.at)
	}
	return nil
}

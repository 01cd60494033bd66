package providertest

import (
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// An answer is a step made into bytes: the frames of a stream, or one document.
type answer struct {
	streams bool
	frames  []frame
	whole   any
}

func (s *Server) render(req *Request, step Step) answer {
	var b struct {
		Model   string
		Stream  bool
		Include []string
	}
	json.Unmarshal(req.Body, &b) // it was checked when it came
	u := step.cost(req)
	if req.API == Responses {
		return s.renderResponses(b.Model, b.Stream, slices.Contains(b.Include, "reasoning.encrypted_content"), step, u)
	}
	return s.renderChat(b.Model, b.Stream, step, u)
}

// cost is the usage to report; nil reports none.
func (s Step) cost(req *Request) *Usage {
	if s.noUsage {
		return nil
	}
	if s.usage != nil {
		return s.usage
	}
	u := &Usage{Input: int64(len(req.Body)+3) / 4, Cached: int64(req.Prefix) / 4}
	for _, p := range s.pieces {
		n := int64(len(p.text)+3) / 4
		u.Output += n
		if p.kind == reasoningPiece {
			u.Reasoning += n
		}
	}
	return u
}

// deltas cuts text into pieces of about chunk bytes, between characters.
func (s Step) deltas(text string) []string {
	size := s.chunk
	if size <= 0 {
		size = 16
	}
	var list []string
	for len(text) > 0 {
		n := min(size, len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		list = append(list, text[:n])
		text = text[n:]
	}
	return list
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own values always encode
	}
	return string(b)
}

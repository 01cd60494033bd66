package provider

import "bytes"

const (
	openTag  = "<think>"
	closeTag = "</think>"
)

// A thinker tells thinking from answer where a model writes both into one text,
// between tags. Tags count only at the beginning: an opener is the first thing
// in the text, or there is none and a lone closer ends the thinking (templates
// put the opener into the prompt). Later tags are text.
type thinker struct {
	state thinkState
	held  []byte // may turn out to be part of a tag, or space before the answer
	off   bool   // reasoning comes by its own channel: a lone closer is text
}

type thinkState int

const (
	atStart  thinkState = iota // nothing but space so far
	thinking                   // behind an opener
	closed                     // behind the closer, before the answer
	noOpener                   // text, in which a lone closer may come
	settled                    // nothing but text
)

// thinkOut takes what a thinker has told apart.
type thinkOut interface {
	think(b []byte)
	say(b []byte)
	said() []byte // all that was passed to say
	retract()     // what was said so far was thinking
}

// feed takes the next piece of text and passes on what is certain.
func (t *thinker) feed(b []byte, out thinkOut) {
	plain := t.state == settled || t.state == noOpener && bytes.IndexByte(b, '<') < 0
	if plain && len(t.held) == 0 {
		out.say(b)
		return
	}
	t.held = append(t.held, b...)
	for {
		before := t.state
		t.step(out)
		if t.state == before {
			return
		}
	}
}

func (t *thinker) step(out thinkOut) {
	switch t.state {
	case atStart:
		rest := bytes.TrimLeft(t.held, " \t\r\n")
		switch {
		case bytes.HasPrefix(rest, []byte(openTag)):
			t.state, t.held = thinking, rest[len(openTag):]
		case !bytes.HasPrefix([]byte(openTag), rest):
			t.state = noOpener
		}
	case thinking:
		if i := bytes.Index(t.held, []byte(closeTag)); i >= 0 {
			out.think(t.take(i))
			t.state, t.held = closed, t.held[len(closeTag):]
			return
		}
		out.think(t.take(len(t.held) - tagBeginning(t.held)))
	case closed:
		if t.held = bytes.TrimLeft(t.held, " \t\r\n"); len(t.held) > 0 {
			t.state = settled
		}
	case noOpener:
		i := bytes.Index(t.held, []byte(closeTag))
		if i < 0 {
			out.say(t.take(len(t.held) - tagBeginning(t.held)))
			return
		}
		out.say(t.take(i))
		t.state = settled
		if !t.off && !quotedTag(out.said()) {
			out.retract()
			t.state, t.held = closed, t.held[len(closeTag):]
		}
	case settled:
		out.say(t.take(len(t.held)))
	}
}

func (t *thinker) take(n int) []byte {
	b := t.held[:n]
	t.held = t.held[n:]
	return b
}

// end passes on what was held back.
func (t *thinker) end(out thinkOut) {
	rest := t.take(len(t.held))
	switch t.state {
	case thinking:
		out.think(rest)
	case atStart, noOpener, settled:
		out.say(rest)
	}
}

// tagBeginning is the length of the longest end of b that begins a closer.
func tagBeginning(b []byte) int {
	for n := min(len(b), len(closeTag)-1); n > 0; n-- {
		if bytes.HasPrefix([]byte(closeTag), b[len(b)-n:]) {
			return n
		}
	}
	return 0
}

// quotedTag reports whether a closer behind text is one that the text speaks
// about: in a code block, in quotes, or inside a sentence.
func quotedTag(text []byte) bool {
	if bytes.Contains(text, []byte(openTag)) || bytes.Count(text, []byte("```"))%2 == 1 {
		return true
	}
	line := text[bytes.LastIndexByte(text, '\n')+1:]
	if bytes.Count(line, []byte("`"))%2 == 1 {
		return true
	}
	return len(line) > 0 && bytes.IndexByte([]byte(" \t\"'(["), line[len(line)-1]) >= 0
}

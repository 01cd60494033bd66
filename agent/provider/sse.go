package provider

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

const (
	maxEvent = 64 << 20 // bytes of one event; far above any answer, far below memory
	maxStray = 64 << 10 // bytes kept of a body that is no event stream
)

// events re-frames a server's event stream for go-openai's reader, which takes
// one line per event: comments and other fields are dropped, data lines joined,
// a last event without its blank line is kept, and a reported error ends the
// stream as an *Error.
type events struct {
	r    *bufio.Reader
	line []byte // a line longer than r's buffer

	data    []byte // the data lines of the event being read
	isError bool   // that event is named "error"

	out   []byte // what Read has not handed over
	spare []byte // out's memory
	limit int    // bytes of an event
	stray []byte // lines that belong to no event stream, before the first event
	begun bool   // a line was read
	seen  bool   // an event was read
	done  bool   // the server said [DONE]
	err   error

	secret string // masked before an excerpt could cut it in two
}

func newEvents(body io.Reader, secret string) *events {
	return &events{r: bufio.NewReaderSize(body, 32<<10), limit: maxEvent, secret: secret}
}

func (e *events) Read(p []byte) (int, error) {
	for len(e.out) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.next()
	}
	n := copy(p, e.out)
	e.out = e.out[n:]
	return n, nil
}

// next reads up to the end of one event and puts it into out, or sets err.
func (e *events) next() {
	for e.err == nil && len(e.out) == 0 {
		line, err := e.readLine()
		value, isData := bytes.CutPrefix(line, []byte("data:"))
		switch {
		case isData:
			value = bytes.TrimSpace(value)
			if e.standsAlone(value) {
				e.emit()
			}
			if len(e.data) > 0 {
				e.data = append(e.data, ' ')
			}
			e.data = append(e.data, value...)
		case len(line) == 0:
			e.emit()
		case bytes.HasPrefix(line, []byte("event:")):
			e.isError = string(bytes.TrimSpace(line[len("event:"):])) == "error"
		case !isField(line) && !e.seen && len(e.stray) < maxStray:
			e.stray = append(append(e.stray, line...), '\n')
		}
		if len(e.data) > e.limit {
			err = &Error{Kind: KindBadStream, Message: "an event of the stream is too large"}
		} else if err != nil {
			e.emit()
		}
		if e.err == nil && err != nil {
			e.err = e.ending(err)
		}
	}
}

// standsAlone reports whether value begins an event although no blank line
// ended the one before: some servers separate events by one newline.
func (e *events) standsAlone(value []byte) bool {
	if len(e.data) == 0 || len(value) == 0 || e.data[len(e.data)-1] != '}' {
		return false
	}
	return (value[0] == '{' || string(value) == "[DONE]") && json.Valid(e.data)
}

func isField(line []byte) bool {
	name, _, _ := bytes.Cut(line, []byte(":"))
	switch string(name) {
	case "", "event", "id", "retry", "data":
		return true
	}
	return false
}

// readLine returns the next line without its end. It is valid until the next
// call. An error comes with what was read before it.
func (e *events) readLine() ([]byte, error) {
	line, err := e.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		e.line = e.line[:0]
		for err == bufio.ErrBufferFull && len(e.line) <= e.limit {
			e.line = append(e.line, line...)
			line, err = e.r.ReadSlice('\n')
		}
		e.line = append(e.line, line...)
		line = e.line
	}
	line = bytes.TrimRight(line, "\r\n")
	if !e.begun {
		e.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return line, err
}

// emit hands over the event in data, if there is one.
func (e *events) emit() {
	data, isError := e.data, e.isError
	e.data, e.isError = e.data[:0], false
	if len(data) == 0 {
		return
	}
	e.seen = true
	if string(data) == "[DONE]" {
		e.done, e.err = true, io.EOF
		return
	}
	namesError := data[0] == '{' && bytes.HasPrefix(bytes.TrimLeft(data[1:], " \t"), []byte(`"error"`))
	if isError || namesError && reportsError(data) {
		e.err = streamError([]byte(mask(string(data), e.secret)))
		return
	}
	e.out = append(e.spare[:0], "data: "...)
	if namesError {
		e.out = append(e.out, "{ "...) // go-openai takes `{"error":` for a failure, null or not
		data = data[1:]
	}
	e.out = append(append(e.out, data...), '\n')
	e.spare = e.out
}

// ending says what the end of the body means. After an event it is for the
// reader of the events to judge.
func (e *events) ending(err error) error {
	if err != io.EOF || e.seen {
		return err
	}
	stray := []byte(mask(string(bytes.TrimSpace(e.stray)), e.secret))
	if len(stray) == 0 {
		return &Error{Kind: KindCut, Message: "the server answered with success but sent nothing"}
	}
	if reportsError(stray) || errorFromBody(stray).Message != "" {
		return streamError(stray)
	}
	what := "text"
	switch {
	case json.Valid(stray):
		what = "plain JSON"
	case stray[0] == '<':
		what = "HTML"
	}
	return &Error{Kind: KindBadStream, Message: "the server answered with " + what + " instead of an event stream: " + excerpt(string(stray))}
}

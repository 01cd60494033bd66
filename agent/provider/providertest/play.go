package providertest

import (
	"net"
	"net/http"
	"strings"
	"time"
)

// A frame is one event of a stream. Deltas are what Step's counts refer to.
type frame struct {
	text  string
	delta bool
}

// A player sends one answer.
type player struct {
	server *Server
	w      http.ResponseWriter
	r      *http.Request
	step   Step
}

// play reports whether the answer was sent as the step wants it.
func (p *player) play(req *Request) bool {
	for p.step.dynamic != nil {
		p.step = p.step.dynamic(*req)
	}
	if p.step.delay > 0 && !p.pause(p.step.delay) {
		return false
	}
	for name, values := range p.step.header {
		p.w.Header()[name] = values
	}
	if p.step.raw == nil && p.step.status != 0 {
		return p.fail()
	}
	var frames []frame
	if p.step.raw == nil {
		a := p.server.render(req, p.step)
		if !a.streams {
			writeJSON(p.w, http.StatusOK, a.whole)
			return true
		}
		frames = a.frames
	} else {
		for _, chunk := range p.step.raw {
			frames = append(frames, frame{text: chunk, delta: true})
		}
	}
	if p.w.Header().Get("Content-Type") == "" {
		p.w.Header().Set("Content-Type", "text/event-stream")
	}
	p.w.WriteHeader(http.StatusOK)
	return p.stream(frames)
}

func (p *player) fail() bool {
	if p.w.Header().Get("Content-Type") == "" && strings.HasPrefix(p.step.body, "{") {
		p.w.Header().Set("Content-Type", "application/json")
	}
	p.w.WriteHeader(p.step.status)
	_, err := p.w.Write([]byte(p.step.body))
	return err == nil
}

// stream sends the frames up to where the step ends them.
func (p *player) stream(frames []frame) bool {
	paced := p.step.rate > 0 || p.step.raw != nil
	begin := time.Now()
	var batch strings.Builder
	deltas := 0
	for _, f := range frames {
		if f.delta {
			if p.step.end != endWhole && deltas == p.step.after {
				break
			}
			if p.step.rate > 0 {
				due := begin.Add(time.Duration(float64(deltas) / p.step.rate * float64(time.Second)))
				if d := time.Until(due); d > 0 && !p.pause(d) {
					return false
				}
			}
			deltas++
		}
		batch.WriteString(f.text)
		if paced {
			if !p.send(batch.String()) {
				return false
			}
			batch.Reset()
		}
	}
	if !p.send(batch.String()) {
		return false
	}
	switch p.step.end {
	case endReset:
		return p.reset()
	case endSilent:
		select {
		case <-p.r.Context().Done():
			return false
		case <-p.server.done:
		}
	}
	return true
}

// send writes and flushes, byte by byte if the step says so.
func (p *player) send(text string) bool {
	c := http.NewResponseController(p.w)
	if !p.step.bytewise {
		if _, err := p.w.Write([]byte(text)); err != nil {
			return false
		}
		return c.Flush() == nil
	}
	for i := range len(text) {
		if _, err := p.w.Write([]byte{text[i]}); err != nil || c.Flush() != nil {
			return false
		}
	}
	return true
}

// pause reports whether it was left in peace for d.
func (p *player) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.r.Context().Done():
	case <-p.server.done:
	}
	return false
}

// reset closes the connection so that the client sees an error, not an end.
func (p *player) reset() bool {
	conn, _, err := http.NewResponseController(p.w).Hijack()
	if err != nil {
		return false
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	return conn.Close() == nil
}

// Package providertest is a strict, scripted model server for tests, for
// benchmarks and for the demo. It speaks the Responses API and chat completions
// over real HTTP on the loopback and refuses what real servers refuse; what it
// refused is kept for the test to look at.
//
// It shares no code with package provider, so that neither hides the other's
// mistakes. It understands no model and answers by script only.
package providertest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options configure a Server. The zero value serves OpenAI's flavour, stores
// nothing and answers "done".
type Options struct {
	Script   []Step // answers to main requests, in order
	Fallback Step   // answers main requests after the script; zero says "done"
	Side     Step   // answers requests without tools; zero says "A title"

	Flavour Flavour
	Models  []string // what /models lists; nil lists "mock"
	Key     string   // the API key demanded; "" demands none

	StoresItems  bool   // item references to its own items are good
	ForeignBlobs bool   // encrypted reasoning of other servers is good
	Tag          string // marks this server's encrypted reasoning; "" is its port
	Replacement  bool   // U+FFFD in a body is good
	MaxBytes     int    // of a body; 0 is no limit
	MaxTokens    int    // of a body, at four bytes each; 0 is no limit
}

// A Violation is a request that was refused for breaking a rule.
type Violation struct {
	Rule    string // V1 to V9; "blob" for another server's encrypted reasoning; "shape"
	Message string
	Request int // index in Requests
}

func (v Violation) String() string {
	return fmt.Sprintf("request %d breaks %s: %s", v.Request, v.Rule, v.Message)
}

// A Server is a running mock.
type Server struct {
	opts Options
	addr string
	http *http.Server
	done chan struct{} // closed by Close
	runs sync.WaitGroup

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced when anything below changes
	script     []Step
	next       int
	requests   []Request
	violations []Violation
	active     int
	lastMain   []byte
	made       map[string]madeItem // items it produced, by id
	ids        int
}

// Start listens on a free port of 127.0.0.1.
func Start(o Options) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("mock model server: %w", err)
	}
	s := &Server{
		opts: o, addr: l.Addr().String(), script: slices.Clone(o.Script),
		done: make(chan struct{}), changed: make(chan struct{}), made: make(map[string]madeItem),
	}
	if s.opts.Tag == "" {
		_, s.opts.Tag, _ = net.SplitHostPort(s.addr)
	}
	s.http = &http.Server{
		Handler:  http.HandlerFunc(s.serve),
		ErrorLog: log.New(io.Discard, "", 0), // broken connections are part of the script
	}
	s.runs.Go(func() { s.http.Serve(l) }) // returns when Close closes l
	return s, nil
}

// URL is the base URL, with /v1 and without a final slash.
func (s *Server) URL() string { return "http://" + s.addr + "/v1" }

// Close ends every answer and waits for all of them.
func (s *Server) Close() {
	s.mu.Lock()
	select {
	case <-s.done:
	default:
		close(s.done)
	}
	s.mu.Unlock()
	s.http.Close()
	s.runs.Wait()
	s.await(nil, func() bool { return s.active == 0 })
}

// Script adds steps behind those that are left.
func (s *Server) Script(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, steps...)
}

// Requests returns the requests so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Violations returns the refusals for broken rules so far.
func (s *Server) Violations() []Violation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// Wait waits until n requests have arrived and returns them.
func (s *Server) Wait(ctx context.Context, n int) ([]Request, error) {
	if !s.await(ctx.Done(), func() bool { return len(s.requests) >= n }) {
		return s.Requests(), fmt.Errorf("waiting for request %d: %w", n, ctx.Err())
	}
	return s.Requests(), nil
}

// Quiet waits until no request is being answered.
func (s *Server) Quiet(ctx context.Context) error {
	if !s.await(ctx.Done(), func() bool { return s.active == 0 }) {
		return fmt.Errorf("waiting for the answers to end: %w", ctx.Err())
	}
	return nil
}

// await waits until ok, which is asked with mu held, or until stop.
func (s *Server) await(stop <-chan struct{}, ok func() bool) bool {
	for {
		s.mu.Lock()
		now, changed := ok(), s.changed
		s.mu.Unlock()
		if now {
			return true
		}
		select {
		case <-changed:
		case <-stop:
			return false
		}
	}
}

// change changes the state and wakes who waits for it.
func (s *Server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left while sending
	}
	req := Request{
		Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: body, At: time.Now(), From: r.RemoteAddr,
		API: apiOf(r.Method, r.URL.Path), Kind: Main, Step: -1,
	}
	step, no, n := s.admit(&req)
	defer s.change(func() { s.active-- })
	switch {
	case no != nil:
		writeJSON(w, no.status, no.body())
	case req.API == Models:
		writeJSON(w, http.StatusOK, s.modelList())
	default:
		p := &player{server: s, w: w, r: r, step: step}
		if !p.play(&req) {
			s.change(func() { s.requests[n].Gone = true })
		}
	}
}

func apiOf(method, path string) string {
	switch {
	case method == http.MethodPost && strings.HasSuffix(path, "/responses"):
		return Responses
	case method == http.MethodPost && strings.HasSuffix(path, "/chat/completions"):
		return Chat
	case method == http.MethodGet && strings.HasSuffix(path, "/models"):
		return Models
	}
	return ""
}

// admit records a request and decides on its answer: a step, or a refusal. n is
// its index in requests.
func (s *Server) admit(req *Request) (step Step, no *refusal, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active++
	n = len(s.requests)
	switch {
	case req.API == "":
		no = &refusal{status: http.StatusNotFound, code: "not_found", message: "Invalid URL (" + req.Method + " " + req.Path + ")"}
	case s.opts.Key != "" && req.Header.Get("Authorization") != "Bearer "+s.opts.Key:
		given := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
		no = &refusal{status: http.StatusUnauthorized, code: "invalid_api_key", message: "Incorrect API key provided: " + given + "."}
	case req.API != Models:
		if no = s.check(req); no == nil {
			step = s.choose(req)
		}
	}
	if no != nil && no.rule != "" {
		req.Broken = no.rule
		s.violations = append(s.violations, Violation{no.rule, no.message, n})
	}
	s.requests = append(s.requests, *req)
	close(s.changed)
	s.changed = make(chan struct{})
	return step, no, n
}

// choose takes the step that answers req.
func (s *Server) choose(req *Request) Step {
	if len(req.Tools()) == 0 {
		req.Kind = Side
		return orSay(s.opts.Side, "A title")
	}
	req.Prefix = commonPrefix(s.lastMain, req.Body)
	s.lastMain = req.Body
	if s.next < len(s.script) {
		req.Step = s.next
		s.next++
		return s.script[req.Step]
	}
	return orSay(s.opts.Fallback, "done")
}

func orSay(s Step, text string) Step {
	if s.pieces == nil && s.dynamic == nil && s.status == 0 && s.end == endWhole && !s.fails {
		return Say(text)
	}
	return s
}

func commonPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// newID returns an id that no other item of this server has.
func (s *Server) newID(kind string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	return fmt.Sprintf("%s_%s_%04d", kind, s.opts.Tag, s.ids)
}

func (s *Server) modelList() any {
	type model struct {
		ID     string `json:"id"`
		Object string `json:"object"`
	}
	list := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{Object: "list"}
	ids := s.opts.Models
	if ids == nil {
		ids = []string{"mock"}
	}
	for _, id := range ids {
		list.Data = append(list.Data, model{id, "model"})
	}
	return list
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own values always encode
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(b)
}

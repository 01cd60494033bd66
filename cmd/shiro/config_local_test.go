package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// modelServer serves answer at /v1/models and notes each request as "METHOD path authorization".
func modelServer(t *testing.T, answer string) (base string, requests chan string) {
	t.Helper()
	requests = make(chan string, 16)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization")
		if r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1", requests
}

// closedPort is a base URL at which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String() + "/v1"
}

func TestLocalServerTakesTheFirstPrompt(t *testing.T) {
	ollama, requests := modelServer(t, `{"object": "list", "data": [{"id": "nomic-embed-text"}, {"id": "qwen3:8b"}, {"id": "llama3"}]}`)
	studio, _ := modelServer(t, `{"data": [{"id": "gemma"}]}`)
	empty, _ := modelServer(t, `{"object": "list", "data": null}`)
	website, _ := modelServer(t, `<html>hello</html>`)
	stranger, _ := modelServer(t, `["a"]`)
	redirecting := httptest.NewServer(http.RedirectHandler(ollama+"/models", http.StatusFound))
	t.Cleanup(redirecting.Close)
	closed := closedPort(t)

	found := func(base, model string) providerConfig {
		return providerConfig{
			Name: "ollama", API: apiChat, BaseURL: base, Model: model,
			Notices: []string{"no key is configured: using " + model + " from Ollama on this machine"},
		}
	}
	for _, c := range []struct {
		name    string
		servers []string
		model   string
		want    providerConfig
	}{
		{"first of several", []string{ollama, studio}, "", found(ollama, "qwen3:8b")},
		{"order of the list, not of the answers", []string{closed, studio, ollama}, "", found(studio, "gemma")},
		{"the model the user wants", []string{ollama}, "llama3", found(ollama, "llama3")},
		{"a model it does not have", []string{ollama}, "gpt-5", found(ollama, "qwen3:8b")},
		{"a server without a model, and things that are no model server", []string{empty, website, stranger, redirecting.URL + "/v1", studio}, "", found(studio, "gemma")},
	} {
		t.Run(c.name, func(t *testing.T) {
			var servers []localServer
			for _, base := range c.servers {
				servers = append(servers, localServer{"ollama", "Ollama", base})
			}
			s := setup{env: map[string]string{"SHIRO_MODEL": c.model}}
			loaded, _ := s.load(t)
			got, err := loaded.findProvider(context.Background(), s.lookup, http.DefaultClient, servers)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := <-requests; got != "GET /v1/models " {
		t.Errorf("the server was asked %q", got)
	}
}

func TestNoLocalServer(t *testing.T) {
	loaded, _ := setup{}.load(t)
	for name, servers := range map[string][]localServer{
		"nothing listens": {{"ollama", "Ollama", closedPort(t)}},
		"nothing asked":   nil,
	} {
		_, err := loaded.findProvider(context.Background(), setup{}.lookup, http.DefaultClient, servers)
		var missing *noKeyError
		if !errors.As(err, &missing) || missing.Chosen {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestSilentServerDoesNotHoldThePrompt: a port that accepts and never answers costs at most the common limit, and nothing
// once a better server has answered.
func TestSilentServerDoesNotHoldThePrompt(t *testing.T) {
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.Host == "mute" {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"data": [{"id": "m"}]}`))}, nil
	})}
	mute, fast := localServer{"llamacpp", "llama.cpp", "http://mute/v1"}, localServer{"ollama", "Ollama", "http://fast/v1"}
	for _, c := range []struct {
		name    string
		servers []localServer
		found   bool
		took    time.Duration
	}{
		{"before the silent one", []localServer{fast, mute}, true, 0},
		{"behind it", []localServer{mute, fast}, true, discoverTimeout},
		{"only silent ones", []localServer{mute, mute, mute}, false, discoverTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				got, ok := discoverLocal(t.Context(), client, c.servers, "")
				if took := time.Since(begin); ok != c.found || took != c.took {
					t.Errorf("found %+v %v after %v, want %v after %v", got, ok, took, c.found, c.took)
				}
			})
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, ok := discoverLocal(ctx, client, []localServer{mute}, ""); ok {
		t.Errorf("found %+v after the user gave up", got)
	}
}

// TestDiscoveryOnlyWhenNothingIsChosen: with a key, or a provider that the user named, no port is touched.
func TestDiscoveryOnlyWhenNothingIsChosen(t *testing.T) {
	base, requests := modelServer(t, `{"data": [{"id": "m"}]}`)
	servers := []localServer{{"ollama", "Ollama", base}}
	for name, s := range map[string]setup{
		"key":                    {env: map[string]string{"ANTHROPIC_API_KEY": "ak"}},
		"another key":            {env: map[string]string{"OPENAI_API_KEY": "ok"}},
		"provider without key":   {env: map[string]string{"SHIRO_PROVIDER": "openai"}},
		"endpoint without key":   {own: "[provider]\nbase_url = \"https://gateway.example/v1\"\n"},
		"terminal tool's choice": {terminal: `{"provider": "anthropic"}`},
		"local with a model":     {own: "[provider]\nname = \"ollama\"\nmodel = \"x\"\n"},
	} {
		loaded, _ := s.load(t)
		got, err := loaded.findProvider(context.Background(), s.lookup, http.DefaultClient, servers)
		if err == nil && got.BaseURL == base {
			t.Errorf("%s: took the local server", name)
		}
	}
	select {
	case r := <-requests:
		t.Errorf("asked %q", r)
	default:
	}
}

func TestModelOfALocalServer(t *testing.T) {
	base, requests := modelServer(t, `{"data": [{"id": "first"}, {"id": "second"}]}`)
	s := setup{own: "[provider]\nbase_url = \"" + base + "\"\napi_key = \"local-key\"\n"}
	loaded, _ := s.load(t)
	got, err := loaded.findProvider(context.Background(), s.lookup, http.DefaultClient, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Model != "first" || len(got.Notices) != 1 {
		t.Errorf("%+v", got)
	}
	if r := <-requests; r != "GET /v1/models Bearer local-key" {
		t.Errorf("asked %q", r)
	}

	s = setup{own: "[provider]\nname = \"ollama\"\nbase_url = \"" + closedPort(t) + "\"\n"}
	loaded, _ = s.load(t)
	_, err = loaded.findProvider(context.Background(), s.lookup, http.DefaultClient, nil)
	var problem *configError
	if !errors.As(err, &problem) || problem.Source != "provider.model" {
		t.Errorf("server is down: %v", err)
	}
}

func TestLocalServersAreOnThisMachine(t *testing.T) {
	var bases []string
	for _, s := range localServers() {
		bases = append(bases, s.BaseURL)
		if p, ok := presetByID(s.Preset); !ok || !p.Keyless {
			t.Errorf("%s is no keyless preset", s.Preset)
		}
	}
	want := []string{"http://127.0.0.1:11434/v1", "http://127.0.0.1:1234/v1", "http://127.0.0.1:8080/v1"}
	if diff := cmp.Diff(want, bases); diff != "" {
		t.Error(diff)
	}
}

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// answering serves every request with a status and a body.
func answering(t *testing.T, status int, body string) (base string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status/100 == 3 {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// TestDoctorHearsTheServer covers what a server may say instead of a list that
// holds the model.
func TestDoctorHearsTheServer(t *testing.T) {
	echo := `{"error": {"message": "bad credentials: ` + aKey + `"}}`
	for _, c := range []struct {
		name   string
		status int
		body   string
		code   int
		want   []string
	}{
		{"wrong key", 401, echo, 1, []string{
			"FAIL server HOST answers and refuses the key (401)",
			"fix: replace the key in SHIRO_API_KEY; it is wrong, expired, or another provider's",
			"note model m-large, not looked up",
		}},
		{"wrong key, called a bad request", 400, `{"error": {"message": "API key not valid"}}`, 1, []string{
			"FAIL server HOST answers and refuses the key (400)",
		}},
		{"key without that right", 403, echo, 0, []string{
			"warn server HOST does not let this key list models (403): bad credentials: *** (check the API key for HOST/v1)",
			"fix: if prompts are refused too, replace the key in SHIRO_API_KEY",
			"Perhaps ready: the model server does not tell enough to be sure.",
		}},
		{"wrong path", 404, "", 0, []string{
			"warn server HOST answers, but has no BASE/models (404)",
			"fix: correct the path of base_url, unless this server lists no models",
		}},
		{"too often", 429, "", 0, []string{"warn server HOST gets too many requests (429)", "fix: wait a little"}},
		{"no money", 402, "", 1, []string{"FAIL server HOST accepts the key, but the account is exhausted (402)"}},
		{"its own trouble", 503, "overloaded\x1b[31m" + aKey, 1, []string{
			`FAIL server HOST has trouble of its own (503): overloaded\x1b[31m***`,
			"fix: try again later; nothing here can mend it",
		}},
		{"redirect", 301, "", 1, []string{"FAIL server HOST redirects to another address (301)", "fix: make base_url the address it redirects to"}},
		{"a website", 200, "<html>" + aKey, 1, []string{
			"FAIL server HOST answers, but not with a list of models",
			"fix: correct base_url; it ends where /chat/completions begins, often in /v1",
		}},
		{"model not listed", 200, `{"data": [{"id": "unlike"}, {"id": "M-larger"}, {"id": "lab/m-large-2"}]}`, 1, []string{
			"ok server HOST answers, accepts the key and lists 3 models",
			"FAIL model m-large is not among the models of HOST",
			"fix: set provider.model, SHIRO_MODEL or --model to one that is; near: M-larger, lab/m-large-2",
		}},
		{"no model at all", 200, `{"data": []}`, 1, []string{
			"FAIL model m-large is not among the models of HOST",
			"fix: load a model into the server, or choose another server",
		}},
		{"nothing like it, and the key as a model", 200, `{"data": [{"id": "` + aKey + `"}]}`, 1, []string{
			"fix: set provider.model, SHIRO_MODEL or --model to one that is: [redacted]",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := answering(t, c.status, c.body)
			p := patient{setup: setup{env: environ("SHIRO_BASE_URL", base, "SHIRO_MODEL", "m-large", "SHIRO_API_KEY", aKey)}}
			report, code := p.examine(t)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			host := hostOf(providerConfig{BaseURL: base})
			expectLines(t, strings.NewReplacer(base, "BASE", host, "HOST").Replace(report), c.want...)
			if strings.Contains(report, aKey) {
				t.Errorf("the key is in\n%s", report)
			}
		})
	}
}

func TestDoctorFindsNoServer(t *testing.T) {
	closed := closedPort(t)
	report, code := patient{setup: setup{own: "[provider]\nbase_url = \"" + closed + "\"\n"}}.examine(t)
	host := hostOf(providerConfig{BaseURL: closed})
	expectLines(t, report,
		"ok key none, and none needed",
		"FAIL server "+host+" refuses the connection: is the server running, is the base URL right?",
		"fix: start the server on this machine, or correct base_url",
		"FAIL model none is configured, and the server cannot be asked for one",
		"fix: set provider.model, SHIRO_MODEL or --model",
		"Not ready: see 2 lines marked FAIL.",
	)
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
}

func TestDoctorSaysWhichModelIsTaken(t *testing.T) {
	base, _ := modelServer(t, `{"data": [{"id": "embed-it"}, {"id": "z-first"}, {"id": "a"}]}`)
	report, code := patient{setup: setup{env: environ("SHIRO_BASE_URL", base)}}.examine(t)
	expectLines(t, report, "ok model z-first, the server's first; none is configured")
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestDoctorDoesNotWaitLong: a server that accepts and never answers.
func TestDoctorDoesNotWaitLong(t *testing.T) {
	for name, s := range map[string]setup{
		"a chosen server": {env: environ("SHIRO_BASE_URL", "http://mute.example/v1", "SHIRO_API_KEY", aKey, "SHIRO_MODEL", "m")},
		"without a model": {env: environ("SHIRO_BASE_URL", "http://localhost/v1")},
		"nothing chosen":  {},
	} {
		t.Run(name, func(t *testing.T) {
			o := s.options(t)
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				_, code := examine(t, o, func(d *doctor) {
					d.local = localServers()
					d.client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
						<-r.Context().Done()
						return nil, r.Context().Err()
					})}
				})
				if took := time.Since(begin); took > doctorTimeout || code != 1 {
					t.Errorf("exit code %d after %v", code, took)
				}
			})
		})
	}
}

func TestModelsThatAServerLists(t *testing.T) {
	models := []string{"llama3:latest", "qwen3:8b", "claude-sonnet-4-5-20250929", "lab/m", "models/gemini-pro", "gpt-4"}
	for want, listed := range map[string]bool{
		"qwen3:8b": true, "qwen3": false, "llama3": true, "claude-sonnet-4-5": true, "claude-sonnet-4-5-latest": true, "claude-sonnet-4": false,
		"lab/m:online": true, "gemini-pro": true, "gpt-4": true, "gpt": false, "gpt-4:x": false,
	} {
		if lists(models, want) != listed {
			t.Errorf("%s: listed is %v", want, !listed)
		}
	}
}

func TestAnthropicIsAskedItsOwnWay(t *testing.T) {
	var asked string
	p := patient{setup: setup{env: environ("ANTHROPIC_API_KEY", aKey)}, change: func(d *doctor) {
		d.client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked = strings.Join([]string{r.URL.String(), r.Header.Get("X-Api-Key"), r.Header.Get("Anthropic-Version"), r.Header.Get("Authorization")}, " ")
			body := `{"data": [{"id": "claude-sonnet-4-5-20250929"}]}`
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body))}, nil
		})}
	}}
	report, code := p.examine(t)
	expectLines(t, report, "ok model claude-sonnet-4-5, which the server lists")
	if want := "https://api.anthropic.com/v1/models?limit=1000 " + aKey + " 2023-06-01 "; asked != want || code != 0 {
		t.Errorf("exit code %d after asking %q", code, asked)
	}
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"shiro/agent/provider"
)

// checkProvider goes the way of a first prompt up to the model: the provider,
// its key, the server, and whether that has the model.
func (d *doctor) checkProvider(ctx context.Context, cfg config) {
	r, err := cfg.resolveProvider(d.env)
	var missing *noKeyError
	if errors.As(err, &missing) && !missing.Chosen {
		d.note("key", "no provider is chosen and no key is set, so a server on this machine would be taken")
		d.lookAround(ctx)
		r, err = cfg.findProvider(ctx, d.env, d.client, d.local)
	}
	if err != nil {
		d.noProvider(err)
		return
	}
	d.hide(string(r.APIKey))
	d.ok("provider", "%s, %s wire, %s", r.Name, r.API, r.BaseURL)
	for _, n := range r.Notices {
		d.note("notice", "%s", n)
	}
	d.showKey(r)

	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	models, err := d.askModels(ctx, r)
	if err != nil {
		d.explain(r, err)
	} else {
		d.ok("server", "%s", answered(r, len(models)))
	}
	switch {
	case err == nil && r.Model != "":
		d.checkModel(r, models)
	case r.Model != "":
		d.note("model", "%s, not looked up", r.Model)
	default:
		d.chooseModel(ctx, cfg, err == nil)
	}
}

// noProvider explains why no server can be chosen.
func (d *doctor) noProvider(err error) {
	var missing *noKeyError
	if !errors.As(err, &missing) {
		text, fix, ok := strings.Cut(err.Error(), "; ") // as configuration errors are worded
		if !ok {
			fix = "set it, or choose another provider"
		}
		d.fail("provider", text, fix)
		return
	}
	variables := slices.DeleteFunc(slices.Clone(missing.Looked), filepath.IsAbs)
	fix := fmt.Sprintf("set %s where the editor starts, or api_key under [provider] in %s", strings.Join(variables, " or "), d.ownConfig())
	if !missing.Chosen {
		fix += "; or start Ollama, LM Studio or a llama.cpp server with a model"
	}
	d.fail("key", fmt.Sprintf("no API key for %s in %s", missing.Provider, strings.Join(missing.Looked, ", ")), fix)
}

func (d *doctor) showKey(r providerConfig) {
	if r.APIKey == "" {
		d.ok("key", "none, and none needed")
		return
	}
	d.ok("key", "present, from %s", r.KeyFrom)
}

// lookAround says what listens where local model servers do.
func (d *doctor) lookAround(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	models, errs := make([][]string, len(d.local)), make([]error, len(d.local))
	var asking sync.WaitGroup
	for i, s := range d.local {
		asking.Go(func() { models[i], errs[i] = listModels(ctx, d.client, s.BaseURL, "") })
	}
	asking.Wait()
	for i, s := range d.local {
		var silent *url.Error
		switch {
		case errors.As(errs[i], &silent):
			d.note("local", "%s: nobody answers at %s", s.Title, s.BaseURL)
		case errs[i] != nil:
			d.note("local", "%s: what answers at %s is another program", s.Title, s.BaseURL)
		case len(models[i]) == 0:
			d.warn("local", s.Title+" runs at "+s.BaseURL+" and has no model", "load a model into it")
		default:
			d.ok("local", "%s runs at %s with %s: %s", s.Title, s.BaseURL, plural(len(models[i]), "model"), d.foreignList(models[i]))
		}
	}
}

// askModels asks the server that prompts go to for its models.
func (d *doctor) askModels(ctx context.Context, r providerConfig) ([]string, error) {
	asking := *d.client
	// A prompt is a POST, which most redirects turn into something else.
	asking.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if p, ok := presetByHost(r.BaseURL); ok && p.API == apiAnthropic {
		asking.Transport = anthropicList{next: d.client.Transport, key: r.APIKey}
	}
	client := provider.New(provider.Options{API: string(r.API), BaseURL: r.BaseURL, APIKey: string(r.APIKey), HTTP: &asking})
	defer client.Close()
	return client.Models(ctx)
}

// anthropicList asks Anthropic for models in its own way: unlike its chat
// endpoint, the list takes no bearer token, and comes in pages of 20.
type anthropicList struct {
	next http.RoundTripper
	key  secret
}

func (a anthropicList) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Del("Authorization")
	r.Header.Set("X-Api-Key", string(a.key))
	r.Header.Set("Anthropic-Version", "2023-06-01")
	r.URL.RawQuery = "limit=1000"
	return cmp.Or[http.RoundTripper](a.next, http.DefaultTransport).RoundTrip(r)
}

// answered is the good news about a server that listed its models.
func answered(r providerConfig, models int) string {
	host, count := hostOf(r), plural(models, "model")
	switch {
	case r.APIKey == "":
		return host + " answers and lists " + count
	case r.Name == "openrouter":
		return host + " answers and lists " + count + "; that list is open to all, so the key was not tried"
	}
	return host + " answers, accepts the key and lists " + count
}

// explain says what a failed question for models means, and what helps.
func (d *doctor) explain(r providerConfig, err error) {
	host := hostOf(r)
	var e *provider.Error
	if !errors.As(err, &e) {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %v", listTimeout)
		}
		d.fail("server", host+": "+d.foreign(err.Error()), "see whether the server runs, and whether base_url and the network are right")
		return
	}
	said := d.foreign(e.Message)
	switch {
	case e.Code == "proxy":
		d.fail("server", said, "correct the proxy's address and credentials in HTTPS_PROXY, or name the host in NO_PROXY")
	case e.Kind == provider.KindNetwork, e.Kind == provider.KindIdle, e.Kind == provider.KindCut:
		d.fail("server", said, networkFix(r, e))
	case e.Status/100 == 3:
		d.fail("server", fmt.Sprintf("%s redirects to another address (%d)", host, e.Status), "make base_url the address it redirects to")
	case refusesKey(e):
		d.explainKey(r, e)
	case e.Kind == provider.KindQuota:
		d.fail("server", fmt.Sprintf("%s accepts the key, but the account is exhausted (%d)", host, e.Status), "top it up, or choose another provider")
	case e.Kind == provider.KindServer:
		d.fail("server", fmt.Sprintf("%s has trouble of its own (%d): %s", host, e.Status, said), "try again later; nothing here can mend it")
	case e.Kind == provider.KindBadStream:
		d.fail("server", host+" answers, but not with a list of models", "correct base_url; it ends where /chat/completions begins, often in /v1")
	default:
		d.unsure(r, e, said)
	}
}

// unsure reports answers that a server may give although it takes prompts.
func (d *doctor) unsure(r providerConfig, e *provider.Error, said string) {
	d.doubt = true
	host := hostOf(r)
	switch {
	case e.Kind == provider.KindNotFound:
		d.warn("server", fmt.Sprintf("%s answers, but has no %s/models (%d)", host, r.BaseURL, e.Status),
			"correct the path of base_url, unless this server lists no models")
	case e.Kind == provider.KindAuth:
		d.warn("server", fmt.Sprintf("%s does not let this key list models (%d): %s", host, e.Status, said),
			"if prompts are refused too, replace the key in "+cmp.Or(r.KeyFrom, "the configuration"))
	case e.Kind == provider.KindRate:
		d.warn("server", fmt.Sprintf("%s gets too many requests (%d)", host, e.Status), "wait a little")
	default:
		d.warn("server", fmt.Sprintf("%s does not like the question for models (%d): %s", host, e.Status, said),
			"try a prompt; if that is refused too, compare base_url with what the server's manual says")
	}
}

// refusesKey knows a wrong key also from servers that call it a bad request.
func refusesKey(e *provider.Error) bool {
	return e.Status == http.StatusUnauthorized ||
		e.Status == http.StatusBadRequest && strings.Contains(strings.ToLower(e.Message), "api key")
}

// explainKey does not quote the server: some repeat a part of the key.
func (d *doctor) explainKey(r providerConfig, e *provider.Error) {
	if r.APIKey == "" {
		d.fail("server", fmt.Sprintf("%s wants a key (%d)", hostOf(r), e.Status),
			"set SHIRO_API_KEY, or api_key under [provider] in "+d.ownConfig())
		return
	}
	d.fail("server", fmt.Sprintf("%s answers and refuses the key (%d)", hostOf(r), e.Status),
		"replace the key in "+r.KeyFrom+"; it is wrong, expired, or another provider's")
}

func networkFix(r providerConfig, e *provider.Error) string {
	switch e.Code {
	case "dns":
		return "correct the host in base_url, or the network"
	case "certificate":
		return "make base_url right, or name the authority's file in SSL_CERT_FILE"
	}
	if u, err := url.Parse(r.BaseURL); err == nil && isLoopback(u) {
		return "start the server on this machine, or correct base_url"
	}
	return "see whether the server runs, and whether base_url and the network are right"
}

func hostOf(r providerConfig) string {
	u, err := url.Parse(r.BaseURL)
	if err != nil {
		return r.BaseURL
	}
	return u.Host
}

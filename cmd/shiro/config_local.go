package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	discoverTimeout = 300 * time.Millisecond // for all servers together: a first prompt waits for it
	listTimeout     = 5 * time.Second        // for one server that the user named
	modelListLimit  = 1 << 20                // bytes
)

// localServer is a place where a model server may listen on this machine.
type localServer struct {
	Preset  string
	Title   string // for people
	BaseURL string
}

// localServers are the default ports of the servers people run. The address is spelled out because localhost may resolve to
// ::1, where none of them listens.
func localServers() []localServer {
	return []localServer{
		{"ollama", "Ollama", "http://127.0.0.1:11434/v1"},
		{"lmstudio", "LM Studio", "http://127.0.0.1:1234/v1"},
		{"llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1"},
	}
}

// discoverLocal asks all servers at once and takes the first of the list that has a model: want if it has that, else its
// first. It returns within discoverTimeout, and earlier once no better server can answer. No key is sent.
func discoverLocal(ctx context.Context, client *http.Client, servers []localServer, want string) (providerConfig, bool) {
	ctx, cancel := context.WithTimeout(ctx, discoverTimeout)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()

	answers := make([]chan []string, len(servers))
	for i, s := range servers {
		answers[i] = make(chan []string, 1)
		asking.Go(func() {
			models, _ := listModels(ctx, client, s.BaseURL, "") // whoever does not answer is not there
			answers[i] <- models
		})
	}
	for i, s := range servers {
		models := <-answers[i]
		if len(models) == 0 {
			continue
		}
		model := models[0]
		if slices.Contains(models, want) {
			model = want
		}
		return providerConfig{
			Name:    s.Preset,
			API:     apiChat,
			BaseURL: s.BaseURL,
			Model:   model,
			Notices: []string{fmt.Sprintf("no key is configured: using %s from %s on this machine", model, s.Title)},
		}, true
	}
	return providerConfig{}, false
}

// listModels returns the ids of the models that can hold a conversation, in the server's order. It follows no redirect, so
// that neither the question nor a key leaves for another host.
func listModels(ctx context.Context, client *http.Client, base string, key secret) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/models", nil)
	if err != nil {
		return nil, fmt.Errorf("asking for models: %w", err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+string(key))
	}
	direct := *client
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := direct.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking for models: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("asking %s/models: %s", base, resp.Status)
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, modelListLimit)).Decode(&list); err != nil {
		return nil, fmt.Errorf("reading %s/models: %w", base, err)
	}
	var models []string
	for _, m := range list.Data {
		if m.ID != "" && !strings.Contains(strings.ToLower(m.ID), "embed") {
			models = append(models, m.ID)
		}
	}
	return models, nil
}

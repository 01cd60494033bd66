package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

const setModel = "set provider.model, SHIRO_MODEL or --model"

// checkModel looks for the model in what the server lists.
func (d *doctor) checkModel(r providerConfig, models []string) {
	if lists(models, r.Model) {
		d.ok("model", "%s, which the server lists", r.Model)
		return
	}
	text := fmt.Sprintf("%s is not among the models of %s", r.Model, hostOf(r))
	fix := setModel + " to one that is"
	near := nearModels(r.Model, models)
	switch {
	case len(models) == 0:
		fix = "load a model into the server, or choose another server"
	case len(near) > 0:
		fix += "; near: " + d.foreignList(near)
	default:
		fix += ": " + d.foreignList(models)
	}
	if mayHideModels(r) {
		d.doubt = true
		d.warn("model", text+", which may take it all the same", fix)
		return
	}
	d.fail("model", text, fix)
}

// chooseModel tells which model a prompt would take when none is configured.
func (d *doctor) chooseModel(ctx context.Context, cfg config, reached bool) {
	if !reached {
		d.fail("model", "none is configured, and the server cannot be asked for one", setModel)
		return
	}
	r, err := cfg.findProvider(ctx, d.env, d.client, d.local)
	if err != nil {
		d.fail("model", "none is configured, and the server has none that can hold a conversation", setModel+", or load one into the server")
		return
	}
	d.ok("model", "%s, the server's first; none is configured", d.foreign(r.Model))
}

// mayHideModels reports whether a server is known to take models it does not
// list: llama.cpp takes any name, and a company's gateway has names of its own.
func mayHideModels(r providerConfig) bool {
	u, err := url.Parse(r.BaseURL)
	return r.Name == "llamacpp" || strings.HasPrefix(r.Name, "custom-") && err == nil && !isLoopback(u)
}

// lists reports whether a server that lists models serves want. Lists leave out
// what servers accept: Ollama's tag "latest", a router's variants after a colon,
// Google's folder before the name, and the short name of a dated model.
func lists(models []string, want string) bool {
	variant, _, _ := strings.Cut(want, ":")
	short := strings.TrimSuffix(want, "-latest")
	return slices.ContainsFunc(models, func(id string) bool {
		id = strings.TrimPrefix(id, "models/")
		date, dated := strings.CutPrefix(id, short+"-")
		return id == want || id == want+":latest" || id == variant && strings.Contains(id, "/") ||
			dated && len(date) >= 4 && strings.Trim(date, "0123456789") == ""
	})
}

// nearModels returns up to three models that want was probably meant to be,
// nearest first.
func nearModels(want string, models []string) []string {
	type candidate struct {
		id   string
		cost int
	}
	want = strings.ToLower(want)
	var near []candidate
	for _, id := range models {
		whole := strings.ToLower(id)
		name := whole[strings.LastIndexByte(whole, '/')+1:] // routers put the vendor before it
		cost := min(distance(want, whole), distance(want, name))
		if cost <= 1+len(want)/4 || strings.Contains(whole, want) || strings.Contains(want, name) {
			near = append(near, candidate{id, cost})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.cost, b.cost) })
	var ids []string
	for _, c := range near[:min(len(near), 3)] {
		ids = append(ids, c.id)
	}
	return ids
}

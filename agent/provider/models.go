package provider

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"time"
)

// Models returns the ids of the models that the server lists, sorted. It waits
// 15 seconds at most. Errors are as for Stream.
func (c *Client) Models(ctx context.Context) ([]string, error) {
	if c.unusable != nil {
		return nil, c.unusable
	}
	body, err := c.get(ctx, c.base+"/models")
	if err != nil {
		return nil, c.told(err, "")
	}
	var w struct {
		Data, Models []struct{ ID, Name string }
	}
	if !decodes(body, &w) || w.Data == nil && w.Models == nil {
		return nil, c.told(&Error{
			Kind: KindBadStream, Message: "the server answered with something other than a list of models: " + excerpt(mask(string(body), c.key)),
		}, "")
	}
	var ids []string
	for _, m := range append(w.Data, w.Models...) {
		if id := cmp.Or(m.ID, m.Name); id != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func (c *Client) get(parent context.Context, url string) ([]byte, error) {
	ctx, end := context.WithCancelCause(parent)
	defer end(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	t := &call{http: c.http, secret: c.key, wait: newPatience(15*time.Second, end)}
	res, err := t.Do(req)
	if err != nil {
		return nil, t.settle(parent, ctx, err)
	}
	defer res.Body.Close()
	t.wait.arm()
	defer t.wait.disarm()
	body, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		return nil, t.settle(parent, ctx, err)
	}
	return body, nil
}

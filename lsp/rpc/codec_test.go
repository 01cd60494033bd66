package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"go.lsp.dev/protocol"
)

// ours is a struct of our own: encoding/json's omitempty drops 0 and false.
type ours struct {
	Name string          `json:"name,omitempty"`
	N    int             `json:"n,omitempty"`
	Raw  json.RawMessage `json:"raw,omitempty"`
}

func TestEncode(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, ""},
		{json.RawMessage(`{ "a" : 1 }`), `{ "a" : 1 }`},
		{ours{}, `{}`},
		{&ours{Name: "<a&b>"}, `{"name":"<a&b>"}`},
		{[]ours{{N: 1}}, `[{"n":1}]`},
		{"\u2028", `"\u2028"`},
		{(*int)(nil), `null`},
		{protocol.Position{Line: 1}, `{"line":1,"character":0}`},
		{&protocol.Range{}, `{"start":{"line":0,"character":0},"end":{"line":0,"character":0}}`},
		{[]protocol.CommandOrCodeAction{&protocol.CodeAction{Title: "x"}}, `[{"title":"x"}]`},
		{map[string][]protocol.Position{"a": {{}}}, `{"a":[{"line":0,"character":0}]}`},
		{protocol.NewOptional("x"), `"x"`},
	} {
		got, err := encode(c.v)
		if err != nil || string(got) != c.want {
			t.Errorf("encode(%#v) = %s, %v; want %s", c.v, got, err, c.want)
		}
	}
}

func TestDecode(t *testing.T) {
	var o ours
	if err := decode([]byte(`{"name":"a","x":{},"raw":{"k":[1]}}`), &o); err != nil || o.Name != "a" || string(o.Raw) != `{"k":[1]}` {
		t.Errorf("got %+v, %v", o, err)
	}
	for _, absent := range []string{"", "null"} {
		if err := decode([]byte(absent), &o); err != nil || o.Name != "a" {
			t.Errorf("decode(%q): got %+v, %v", absent, o, err)
		}
	}
	var actions []protocol.CommandOrCodeAction
	if err := decode([]byte(`[{"title":"x","edit":{}}]`), &actions); err != nil || len(actions) != 1 {
		t.Errorf("got %v, %v", actions, err)
	}
	var init protocol.InitializeParams
	if err := decode([]byte(`{"processId":1,"rootUri":null,"capabilities":{"window":{"workDoneProgress":true}}}`), &init); err != nil {
		t.Error(err)
	}
}

func TestParamsErrorsSayWhere(t *testing.T) {
	type inner struct {
		List []struct {
			OK bool `json:"ok"`
		} `json:"list"`
		Map map[string]uint32 `json:"map"`
	}
	type outer struct {
		Inner *inner `json:"inner"`
	}
	p := dial(t, Lines, Options{Methods: Methods{
		"own":    Notification(func(context.Context, *outer) error { return nil }),
		"lsp":    Notification(func(context.Context, *protocol.DidChangeTextDocumentParams) error { return nil }),
		"nobody": Notification(func(context.Context, *struct{}) error { return nil }),
	}})
	for _, c := range []struct{ method, params, want string }{
		{"own", `[]`, "params: got array, want object"},
		{"own", `"x"`, "params: got string, want object"},
		{"own", `{"inner":3}`, "params.inner: got number, want object"},
		{"own", `{"inner":{"list":{}}}`, "params.inner.list: got object, want array"},
		{"own", `{"inner":{"list":[{"ok":"yes"}]}}`, "params.inner.list.ok: got string, want boolean"},
		{"own", `{"inner":{"map":{"a":-1}}}`, "params.inner.map: got number -1, want uint32"},
		{"lsp", `[]`, "params: invalid JSON object"},
		{"lsp", `{"textDocument":{"uri":5}}`, "params.textDocument.uri: invalid JSON string"},
		{"lsp", `{"textDocument":{"uri":"file:///a","version":1.5}}`, "params.textDocument.version: invalid JSON integer"},
		{"lsp", `{"contentChanges":7}`, "params.contentChanges: invalid JSON array"},
		{"nobody", `[]`, ""},
	} {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, c.method, c.params))
		want := `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"` + c.want + `","data":{"kind":"invalid_params","retryable":false}}}`
		if c.want == "" {
			want = `{"jsonrpc":"2.0","id":1,"result":null}`
		}
		if got := p.body(); got != want {
			t.Errorf("%s %s:\n got %s\nwant %s", c.method, c.params, got, want)
		}
	}
}

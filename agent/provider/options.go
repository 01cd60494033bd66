package provider

import (
	"encoding/json"
	"net/url"
	"strings"

	"shiro/memory/transcript"
)

// partOptions is what we read of a part's ProviderOptions. The openai member is
// the terminal tool's; shiro is ours and says which server made the part, since
// what one server encrypted another one refuses.
type partOptions struct {
	OpenAI struct {
		ItemID    string `json:"itemId"`
		Encrypted string `json:"reasoningEncryptedContent"`
		Phase     string `json:"phase"`
	} `json:"openai"`
	Shiro struct {
		Origin string `json:"origin"`
	} `json:"shiro"`
	Anthropic json.RawMessage `json:"anthropic"`
}

func readOptions(p *transcript.Part) partOptions {
	var o partOptions
	if len(p.ProviderOptions) > 0 {
		decodes(p.ProviderOptions, &o)
	}
	return o
}

// messageOptions are those of a text or a call that has an item of its own.
func messageOptions(itemID, phase string) json.RawMessage {
	if itemID == "" && phase == "" {
		return nil
	}
	b := []byte(`{"openai":{`)
	if itemID != "" {
		b = appendQuoted(append(b, `"itemId":`...), itemID)
	}
	if phase != "" {
		if itemID != "" {
			b = append(b, ',')
		}
		b = appendQuoted(append(b, `"phase":`...), phase)
	}
	return append(b, `}}`...)
}

// reasoningOptions are those of a Responses reasoning item.
func reasoningOptions(itemID, encrypted, origin string) json.RawMessage {
	if itemID == "" && encrypted == "" {
		return originOptions(origin)
	}
	b := []byte(`{"openai":{`)
	if itemID != "" {
		b = append(appendQuoted(append(b, `"itemId":`...), itemID), ',')
	}
	b = append(b, `"reasoningEncryptedContent":`...)
	if encrypted == "" {
		return append(b, `null}}`...)
	}
	b = appendQuoted(b, encrypted)
	b = appendQuoted(append(b, `},"shiro":{"origin":`...), origin)
	return append(b, `}}`...)
}

// originOptions are those of reasoning that came as plain text.
func originOptions(origin string) json.RawMessage {
	b := appendQuoted([]byte(`{"shiro":{"origin":`), origin)
	return append(b, `}}`...)
}

// originOf names a server by its address without login and query.
func originOf(base *url.URL) string {
	return strings.ToLower(base.Host) + strings.TrimRight(base.Path, "/")
}

package provider

import (
	"strings"
	"testing"

	"shiro/agent/provider/providertest"
)

// An answer that ends without its terminal signal is no answer: nothing of it
// comes back.
func TestStreamsThatEndTooEarly(t *testing.T) {
	half := providertest.Reply(providertest.Text("Some words."), providertest.Call("write_file", `{"path":"a.txt","content":"hal`)).Chunk(4)
	apis(t, func(t *testing.T, api string) {
		for name, step := range map[string]providertest.Step{
			"end inside the text":         half.Cut(2),
			"end inside the arguments":    half.Cut(7),
			"reset inside the text":       half.Reset(2),
			"reset inside the arguments":  half.Reset(7),
			"end before the first delta":  half.Cut(0),
			"reset before the first":      half.Reset(0),
			"bytewise, reset in the text": half.Reset(2).Bytewise(),
		} {
			t.Run(name, func(t *testing.T) {
				s := script(t, step, providertest.Say("whole"))
				c := newClient(t, s, Options{API: api})
				e := refused(t, c, ask("x"))
				if e.Kind != KindCut || !e.Retryable() {
					t.Errorf("kind %v, retryable %v: %v", e.Kind, e.Retryable(), e)
				}
				res, _ := stream(t, c, ask("x"))
				same(t, "the answer to the repetition", brief(res), []string{"text whole"})
			})
		}
	})
	t.Run("chat without finish_reason and done", func(t *testing.T) {
		e := refused(t, cannedClient(Chat, chatDeltas(`{"content":"x"}`)), ask("x"))
		same(t, "kind", e.Kind, KindCut)
	})
	t.Run("responses with done instead of completed", func(t *testing.T) {
		e := refused(t, cannedClient(Responses, event(textEvent(`"x"`))+event("[DONE]")), ask("x"))
		same(t, "kind", e.Kind, KindCut)
	})
	t.Run("chat with finish_reason and a reset", func(t *testing.T) {
		s := script(t, providertest.Raw(chatDeltas(`{"content":"x"}`), event(chatStop)).Reset(2))
		res, _ := stream(t, newClient(t, s, Options{API: Chat}), ask("x"))
		same(t, "parts", brief(res), []string{"text x"})
	})
}

func TestErrorsInsideAGoodAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		api, body string
		want      Error
	}{
		"code is a number": {
			Chat, chatDeltas(`{"content":"x"}`, `{"content":"y"}`) + event(`{"error":{"code":502,"message":"worker full"}}`),
			Error{Status: 502, Message: "worker full", Kind: KindServer},
		},
		"code is null": {Chat, event(`{"error":{"code":null,"message":"worker full"}}`), Error{Message: "worker full", Kind: KindServer}},
		"code is text": {
			Chat, event(`{"error":{"code":"rate_limit_exceeded","message":"slow down, try again in 1.5s"}}`),
			Error{Code: "rate_limit_exceeded", Message: "slow down, try again in 1.5s", Kind: KindRate, RetryAfter: 1500e6},
		},
		"error is text":      {Chat, event(`{"error":"worker full"}`), Error{Message: "worker full", Kind: KindServer}},
		"beside the choices": {Chat, event(`{"id":"x","choices":[{"delta":{},"finish_reason":"error"}],"error":{"code":400,"message":"bad"}}`), Error{Status: 400, Message: "bad", Kind: KindBad}},
		"event named error":  {Chat, "event: error\n" + event(`{"message":"worker full"}`), Error{Message: "worker full", Kind: KindServer}},
		"too long":           {Chat, event(`{"error":{"message":"the input is too long: maximum context length is 10 tokens"}}`), Error{Message: "the input is too long: maximum context length is 10 tokens", Kind: KindOverflow}},
		"failed": {
			Responses, event(`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"worker full"}}}`),
			Error{Code: "server_error", Message: "worker full", Kind: KindServer},
		},
		"failed, quota": {
			Responses, event(`{"type":"response.failed","response":{"error":{"code":"insufficient_quota","message":"pay"}}}`),
			Error{Code: "insufficient_quota", Message: "pay", Kind: KindQuota},
		},
		"failed, too long": {
			Responses, event(`{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"too long"}}}`),
			Error{Code: "context_length_exceeded", Message: "too long", Kind: KindOverflow},
		},
		"failed, bad": {
			Responses, event(`{"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"no"}}}`),
			Error{Code: "invalid_prompt", Message: "no", Kind: KindBad},
		},
		"failed without reason": {
			Responses, event(`{"type":"response.failed","response":{"error":null}}`),
			Error{Message: "the server ended the response as failed and gave no reason", Kind: KindServer},
		},
		"error event": {
			Responses, event(textEvent(`"x"`)) + event(`{"type":"error","code":null,"message":"worker full","param":null}`),
			Error{Message: "worker full", Kind: KindServer},
		},
		"error event, named": {
			Responses, "event: error\n" + event(`{"type":"error","code":"server_error","message":"worker full"}`),
			Error{Code: "server_error", Message: "worker full", Kind: KindServer},
		},
		"error event, nested": {
			Responses, event(`{"type":"error","error":{"type":"server_error","code":null,"message":"worker full"}}`),
			Error{Code: "server_error", Message: "worker full", Kind: KindServer},
		},
		"instead of a stream":       {Chat, `{"error":{"code":"server_error","message":"worker full"}}`, Error{Code: "server_error", Message: "worker full", Kind: KindServer}},
		"instead of a stream, flat": {Chat, "{\n \"detail\": \"worker full\"\n}\n", Error{Message: "worker full", Kind: KindServer}},
	} {
		t.Run(name, func(t *testing.T) {
			same(t, "error", *refused(t, cannedClient(c.api, c.body), ask("x")), c.want)
		})
	}
}

func TestAnswersThatAreNoStream(t *testing.T) {
	long := strings.Repeat("x", 180) + " key-0123456789 " + strings.Repeat("y", 5000)
	apis(t, func(t *testing.T, api string) {
		for name, c := range map[string]struct {
			body, says string
			kind       Kind
		}{
			"comments only":     {": wait\n\n: wait\n\n", "nothing", KindCut},
			"nothing":           {"", "nothing", KindCut},
			"a login page":      {"<!DOCTYPE html>\n<html><body>Please sign in</body></html>", "HTML instead of an event stream: <!DOCTYPE html> <html><body>Please sign in", KindBadStream},
			"plain JSON":        {`{"id":"1","choices":[{"message":{"content":"hi"}}]}`, `plain JSON instead of an event stream: {"id":"1"`, KindBadStream},
			"JSON over lines":   {"{\n  \"id\": \"1\",\n  \"object\": \"response\"\n}\n", `plain JSON`, KindBadStream},
			"text with the key": {long, "text instead", KindBadStream},
		} {
			t.Run(name, func(t *testing.T) {
				e := refused(t, cannedClient(api, c.body), ask("x"))
				if e.Kind != c.kind || !strings.Contains(e.Message, c.says) || len(e.Message) > 400 {
					t.Errorf("%v: %v", e.Kind, e)
				}
				if strings.Contains(e.Error(), "key-0") {
					t.Errorf("the key shows: %v", e)
				}
			})
		}
	})
}

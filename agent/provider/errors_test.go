package provider

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"shiro/agent/provider/providertest"
)

func TestStatusesAndBodies(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		header []string
		want   Error
		retry  bool
	}{
		"bad request": {
			status: 400, body: `{"error":{"message":"no","type":"invalid_request_error","param":"input[0].name","code":null}}`,
			want: Error{Code: "invalid_request_error", Param: "input[0].name", Message: "no", Kind: KindBad},
		},
		"wrong key":       {status: 401, body: `{"error":{"message":"no","code":"invalid_api_key"}}`, want: Error{Code: "invalid_api_key", Message: "no (check the API key for model.test/v1)", Kind: KindAuth}},
		"forbidden":       {status: 403, body: `{"message":"no"}`, want: Error{Message: "no (check the API key for model.test/v1)", Kind: KindAuth}},
		"no such model":   {status: 404, body: `{"error":"no"}`, want: Error{Message: `no (check the model "gpt-5" and the base URL, model.test/v1)`, Kind: KindNotFound}},
		"unprocessable":   {status: 422, body: `{"detail":[{"loc":["body","messages",0],"msg":"Field required","type":"missing"}]}`, want: Error{Message: "body.messages.0: Field required", Kind: KindBad}},
		"detail":          {status: 422, body: `{"detail":"no"}`, want: Error{Message: "no", Kind: KindBad}},
		"flat":            {status: 400, body: `{"object":"error","message":"no","type":"BadRequestError","param":null,"code":400}`, want: Error{Code: "BadRequestError", Message: "no", Kind: KindBad}},
		"in a list":       {status: 400, body: `[{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}]`, want: Error{Message: "no", Kind: KindBad}},
		"behind a router": {status: 400, body: `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"no"}}}`, want: Error{Message: "Provider returned error no", Kind: KindBad}},
		"HTML":            {status: 502, body: "<html>\n<h1>Bad gateway</h1>", want: Error{Message: "<html> <h1>Bad gateway</h1>", Kind: KindServer}, retry: true},
		"nothing":         {status: 503, want: Error{Message: "Service Unavailable", Kind: KindServer}, retry: true},
		"overloaded":      {status: 529, body: `{"error":{"message":"busy"}}`, want: Error{Message: "busy", Kind: KindServer}, retry: true},
		"timeout":         {status: 408, want: Error{Message: "Request Timeout", Kind: KindServer}, retry: true},
		"a redirect":      {status: 304, want: Error{Message: "Not Modified", Kind: KindBad}},
		"rate":            {status: 429, body: `{"error":{"message":"slow"}}`, want: Error{Message: "slow", Kind: KindRate}, retry: true},
		"seconds":         {status: 429, header: []string{"Retry-After", "3"}, want: Error{Message: "Too Many Requests", Kind: KindRate, RetryAfter: 3 * time.Second}, retry: true},
		"an hour":         {status: 429, header: []string{"Retry-After", "3600"}, want: Error{Message: "Too Many Requests", Kind: KindRate, RetryAfter: time.Hour}, retry: true},
		"fraction":        {status: 503, header: []string{"Retry-After", "1.5"}, want: Error{Message: "Service Unavailable", Kind: KindServer, RetryAfter: 1500 * time.Millisecond}, retry: true},
		"milliseconds":    {status: 429, header: []string{"Retry-After-Ms", "400", "Retry-After", "9"}, want: Error{Message: "Too Many Requests", Kind: KindRate, RetryAfter: 400 * time.Millisecond}, retry: true},
		"nonsense":        {status: 429, header: []string{"Retry-After", "soon"}, want: Error{Message: "Too Many Requests", Kind: KindRate}, retry: true},
		"past":            {status: 429, header: []string{"Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT"}, want: Error{Message: "Too Many Requests", Kind: KindRate}, retry: true},
		"in words":        {status: 429, body: `{"error":{"message":"Please try again in 1m2.5s."}}`, want: Error{Message: "Please try again in 1m2.5s.", Kind: KindRate, RetryAfter: 62500 * time.Millisecond}, retry: true},
		"exhausted": {
			status: 429, body: `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`,
			want: Error{Code: "insufficient_quota", Message: "You exceeded your current quota", Kind: KindQuota},
		},
		"a quota for a minute": {
			status: 429, body: `{"error":{"message":"You exceeded your current quota. Please retry in 12s."}}`,
			want: Error{Message: "You exceeded your current quota. Please retry in 12s.", Kind: KindRate, RetryAfter: 12 * time.Second}, retry: true,
		},
		"no money": {status: 402, body: `{"error":{"message":"Insufficient Balance"}}`, want: Error{Message: "Insufficient Balance", Kind: KindQuota}},
	} {
		t.Run(name, func(t *testing.T) {
			h := http.Header{}
			for i := 0; i < len(c.header); i += 2 {
				h.Set(c.header[i], c.header[i+1])
			}
			client := New(Options{API: Chat, BaseURL: "http://model.test/v1/", APIKey: "key-0123456789", HTTP: &http.Client{Transport: canned{
				status: c.status, header: h,
				body: func(context.Context) io.ReadCloser { return io.NopCloser(strings.NewReader(c.body)) },
			}}})
			e := refused(t, client, ask("x"))
			c.want.Status = c.status
			same(t, "error", *e, c.want)
			same(t, "retryable", e.Retryable(), c.retry)
		})
	}
}

func TestRetryAfterADate(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	h := http.Header{"Retry-After": {now.Add(90 * time.Second).Format(http.TimeFormat)}}
	same(t, "wait", retryAfter(h, now), 90*time.Second)
}

func TestWaitsGivenInWords(t *testing.T) {
	for words, want := range map[string]time.Duration{
		"please try again in 350ms":                     350 * time.Millisecond,
		"try again in 20 seconds.":                      20 * time.Second,
		"retry after 3 minutes":                         3 * time.Minute,
		`{"retry_after": 2}`:                            2 * time.Second,
		`"retrydelay": "12s"`:                           12 * time.Second,
		"wait 1h0m5s before":                            time.Hour + 5*time.Second,
		"available in 1.25 s":                           1250 * time.Millisecond,
		"try again in a while":                          0,
		"wait until the model is ready":                 0,
		"try again in 99999999999999999999999999 hours": 365 * 24 * time.Hour,
	} {
		if got := retryHint(words); got != want {
			t.Errorf("%q: %v, want %v", words, got, want)
		}
	}
}

// Each server has its own words for a request that is too long.
func TestOverflow(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   Kind
	}{
		"code":         {400, `{"error":{"code":"context_length_exceeded","message":"no"}}`, KindOverflow},
		"vLLM":         {400, `{"message":"This model's maximum context length is 4096 tokens. You asked for 9000 and your request has at least 8000 input tokens."}`, KindOverflow},
		"llama.cpp":    {400, `{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (4096 tokens)","type":"exceed_context_size_error"}}`, KindOverflow},
		"type alone":   {400, `{"error":{"code":400,"message":"no","type":"exceed_context_size_error"}}`, KindOverflow},
		"status":       {413, `too big`, KindOverflow},
		"Anthropic":    {400, `{"error":{"message":"prompt is too long: 9000 tokens > 4096 maximum"}}`, KindOverflow},
		"Ollama":       {400, `{"error":"prompt too long; exceeded max context length by 12 tokens"}`, KindOverflow},
		"Gemini":       {400, `[{"error":{"message":"The input token count (9000) exceeds the maximum number of tokens allowed (4096)."}}]`, KindOverflow},
		"LM Studio":    {400, `{"error":"Trying to keep the first 9000 tokens when context the overflows."}`, KindOverflow},
		"old server":   {500, `{"error":{"message":"the context size has been exceeded"}}`, KindOverflow},
		"xAI":          {400, `{"error":"This model's maximum prompt length is 4096 but the request contains 9000 tokens."}`, KindOverflow},
		"a minute":     {429, `{"error":{"message":"Request too large for gpt-4o on tokens per min: Limit 30000, Requested 45000."}}`, KindOverflow},
		"FastAPI":      {422, `{"detail":"input length and max_tokens exceed context limit"}`, KindOverflow},
		"other":        {400, `{"error":{"message":"context must be a string"}}`, KindBad},
		"other too":    {400, `{"error":{"message":"Unknown parameter: 'context_window'."}}`, KindBad},
		"output limit": {400, `{"error":{"message":"max_tokens is too large: this model supports at most 4096 completion tokens"}}`, KindBad},
		"server":       {500, `{"error":{"message":"no context available"}}`, KindServer},
		"pace":         {429, `{"error":{"message":"too many tokens, slow down"}}`, KindRate},
	} {
		t.Run(name, func(t *testing.T) {
			s := script(t, providertest.Fail(c.status, c.body))
			r := ask("x")
			e := refused(t, newClient(t, s, Options{API: Chat}), r)
			same(t, "kind", e.Kind, c.want)
			same(t, "requests", len(s.Requests()), 1)
		})
	}
}

func TestPlainRefusalsAreAskedOnce(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404} {
		s := script(t, providertest.Fail(status, `{"error":{"message":"no"}}`))
		e := refused(t, newClient(t, s, Options{API: Responses}), ask("x"))
		if e.Retryable() || e.Status != status || len(s.Requests()) != 1 {
			t.Errorf("%d: %v, retryable %v, %d requests", status, e, e.Retryable(), len(s.Requests()))
		}
	}
}

func TestTheKeyNeverShows(t *testing.T) {
	const key = "sk-secret-0123456789"
	s := startMock(t, providertest.Options{Key: "another"})
	var log strings.Builder
	c := newClient(t, s, Options{API: Chat, APIKey: " " + key + "\n", Log: debugLog(&log)})
	e := refused(t, c, ask("x"))
	if e.Kind != KindAuth || !strings.Contains(e.Message, "***") {
		t.Errorf("%v: %v", e.Kind, e)
	}
	_, err := c.Models(t.Context())
	for _, shown := range []string{e.Error(), fmt.Sprintf("%+v", e), fmt.Sprint(err), log.String()} {
		if shown == "" || strings.Contains(shown, "secret") {
			t.Errorf("shows the key: %s", shown)
		}
	}
	same(t, "sent", s.Requests()[0].Header.Get("Authorization"), "Bearer "+key)
}

func TestOptionsThatCannotBeUsed(t *testing.T) {
	for _, o := range []Options{
		{API: Chat, BaseURL: "http://model.test/v1", APIKey: "two words"},
		{API: "soap", BaseURL: "http://model.test/v1"},
		{API: Chat},
		{API: Chat, BaseURL: "model.test/v1"},
		{API: Chat, BaseURL: "ftp://x/v1"},
		{API: Chat, BaseURL: "http://"},
		{API: Chat, BaseURL: "http://a b/"},
	} {
		c := New(o)
		e := refused(t, c, ask("x"))
		if e.Retryable() || e.Message == "" {
			t.Errorf("%+v: %v", o, e)
		}
		if _, err := c.Models(t.Context()); err == nil {
			t.Errorf("%+v lists models", o)
		}
	}
}

func TestTheWholeAddressIsTakenToo(t *testing.T) {
	s := script(t)
	for api, end := range map[string]string{Chat: "/chat/completions", Responses: "/responses/"} {
		c := New(Options{API: api, BaseURL: s.URL() + end})
		stream(t, c, ask("x"))
		c.Close()
	}
}

func TestServersThatCannotBeReached(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + l.Addr().String() + "/v1"
	l.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	resets := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	}))
	defer resets.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	noNames := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.DNSError{Err: "no such host", Name: "nowhere.test", IsNotFound: true}
	}}
	nowhere := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{Resolver: noNames}).DialContext}}
	proxied := &http.Client{Transport: &http.Transport{
		Proxy:              http.ProxyURL(mustURL(t, plain.URL)),
		ProxyConnectHeader: http.Header{},
	}}
	defer proxied.CloseIdleConnections()
	for name, c := range map[string]struct {
		url   string
		http  *http.Client
		code  string
		says  []string
		retry bool
	}{
		"refused":     {url: closed, code: "refused", says: []string{"refuses the connection"}, retry: true},
		"reset":       {url: resets.URL, code: "reset", says: []string{"closed the connection"}, retry: true},
		"name":        {url: "http://nowhere.test/v1", http: nowhere, code: "dns", says: []string{"nowhere.test"}, retry: true},
		"certificate": {url: secure.URL, code: codeCertificate, says: []string{"certificate", "Acme Co", "not accepted", "SSL_CERT_FILE"}},
		"no TLS":      {url: strings.Replace(plain.URL, "http:", "https:", 1), code: codeCertificate, says: []string{"does not speak TLS"}},
		"proxy":       {url: "https://model.test/v1", http: proxied, says: []string{"Not Found"}, code: "unreachable", retry: true},
	} {
		t.Run(name, func(t *testing.T) {
			client := New(Options{API: Chat, BaseURL: c.url, APIKey: "sk-secret-0123456789", HTTP: c.http})
			defer client.Close()
			e := refused(t, client, ask("x"))
			if e.Kind != KindNetwork || e.Code != c.code || e.Retryable() != c.retry {
				t.Errorf("kind %v, code %q, retryable %v: %v", e.Kind, e.Code, e.Retryable(), e)
			}
			for _, s := range c.says {
				if !strings.Contains(e.Error(), s) {
					t.Errorf("%v does not say %q", e, s)
				}
			}
		})
	}
}

func TestOwnAuthorityIsHonoured(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, chatDeltas(`{"content":"x"}`)+event(chatStop))
	}))
	defer s.Close()
	roots := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	own := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer own.CloseIdleConnections()
	res, _ := stream(t, New(Options{API: Chat, BaseURL: s.URL, HTTP: own}), ask("x"))
	same(t, "parts", brief(res), []string{"text x"})
}

func TestModels(t *testing.T) {
	s := startMock(t, providertest.Options{Models: []string{"b", "a", "b"}})
	got, err := newClient(t, s, Options{API: Chat}).Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "models", got, []string{"a", "b"})
	for body, want := range map[string][]string{
		`{"data":[{"id":"x","created":1.5}],"object":"list"}`: {"x"},
		`{"models":[{"name":"m"}]}`:                           {"m"},
		`{"data":[]}`:                                         {},
	} {
		got, err := cannedClient(Chat, body).Models(t.Context())
		if err != nil {
			t.Errorf("%s: %v", body, err)
		}
		same(t, body, got, want)
	}
	if _, err := cannedClient(Chat, "<html>").Models(t.Context()); err == nil {
		t.Error("HTML is taken for a list")
	}
}

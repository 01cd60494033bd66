package provider

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// newHTTPClient is made for few hosts, long answers and large bodies.
func newHTTPClient() *http.Client {
	dial := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dial.DialContext,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: 15 * time.Second,
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true, // a compressing server holds deltas back
		WriteBufferSize:     64 << 10,
		ReadBufferSize:      32 << 10,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}}
}

// networkError says in plain words why req got no answer.
func networkError(req *http.Request, err error) *Error {
	host := req.URL.Host
	e := &Error{Kind: KindNetwork, Code: "unreachable"}
	if p, perr := http.ProxyFromEnvironment(req); perr == nil && p != nil {
		host += " through the proxy " + p.Host
	}
	var (
		cert   *tls.CertificateVerificationError
		record tls.RecordHeaderError
		dns    *net.DNSError
		op     *net.OpError
	)
	switch {
	case errors.As(err, &cert):
		e.Code, e.Message = codeCertificate, certificateTrouble(host, cert)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		e.Code, e.Message = codeCertificate, host+" does not speak TLS: is the base URL http:// rather than https://?"
	case errors.As(err, &op) && op.Op == "proxyconnect" || strings.Contains(err.Error(), "Proxy Authentication"):
		e.Code, e.Message = codeProxy, fmt.Sprintf("no way to %s: %v", host, inner(err))
	case errors.As(err, &dns):
		e.Code, e.Message = "dns", fmt.Sprintf("the name %s cannot be resolved", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Code, e.Message = "refused", host+" refuses the connection: is the server running, is the base URL right?"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, syscall.EPIPE):
		e.Code, e.Message = "reset", host+" closed the connection before it answered"
	default:
		e.Message = fmt.Sprintf("no answer from %s: %v", host, inner(err))
	}
	return e
}

// inner is err without the URL that net/http puts before it.
func inner(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

func certificateTrouble(host string, err *tls.CertificateVerificationError) string {
	who := "the certificate"
	if len(err.UnverifiedCertificates) > 0 {
		c := err.UnverifiedCertificates[0]
		who = fmt.Sprintf("the certificate %q, issued by %q,", either(c.Subject.CommonName, c.DNSNames), either(c.Issuer.CommonName, c.Issuer.Organization))
	}
	return fmt.Sprintf("%s of %s is not accepted: %v (a company's own authority can be named in SSL_CERT_FILE)", who, host, err.Err)
}

func either(common string, others []string) string {
	if common == "" && len(others) > 0 {
		return others[0]
	}
	return common
}

// cutError is a connection that broke while the answer arrived.
func cutError(err error) *Error {
	e := &Error{Kind: KindCut, Message: "the server ended the stream before the answer was complete"}
	switch {
	case errors.Is(err, io.EOF):
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		e.Message = "the connection broke before the answer was complete"
	default:
		e.Message += ": " + inner(err).Error()
	}
	return e
}

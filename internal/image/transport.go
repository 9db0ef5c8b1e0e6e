// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// The round trippers between a registry's client and the network, from the outside in: retry, then bounded.

const (
	// attempts is how often a request is made, and how often a download goes on that brought nothing.
	attempts = 5
	// maxWait is the longest that a registry can make us wait. Hub's limit of pulls lasts hours; nobody waits for that.
	maxWait = time.Minute
)

// newTransport connects to registries: with the proxies of the environment, and the machine's certificate authorities
// or those of SSL_CERT_FILE and SSL_CERT_DIR, as Go's standard library reads them.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   2 * downloads,
		IdleConnTimeout:       30 * time.Second,
		TLSHandshakeTimeout:   15 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
		DisableCompression:    true, // a blob is what the digest says
	}
}

// backOff is how long to wait before attempt n, from 1.
func backOff(n int) time.Duration {
	return min(250*time.Millisecond<<(n-1), 8*time.Second)
}

// retrying repeats requests that failed for reasons that pass: 429 and 5xx, and connections that broke.
type retrying struct {
	inner   http.RoundTripper
	backOff func(int) time.Duration
}

func (t *retrying) RoundTrip(r *http.Request) (*http.Response, error) {
	for n := 1; ; n++ {
		resp, err := t.inner.RoundTrip(r)
		wait, again := t.again(n, resp, err)
		if !again || n == attempts {
			return resp, err
		}
		if r.Body != nil && r.Body != http.NoBody {
			if r.GetBody == nil {
				return resp, err
			}
			body, berr := r.GetBody()
			if berr != nil {
				return resp, err
			}
			r = r.Clone(r.Context())
			r.Body = body
		}
		if resp != nil {
			_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // to use the connection again
			resp.Body.Close()
		}
		if err := sleep(r.Context(), wait); err != nil {
			return nil, err
		}
	}
}

// again says whether to try once more after attempt n, and when.
func (t *retrying) again(n int, resp *http.Response, err error) (time.Duration, bool) {
	wait := t.backOff(n)
	if err != nil {
		return wait, passing(err)
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
	default:
		return 0, false
	}
	if asked, ok := retryAfter(resp.Header.Get("Retry-After"), time.Now()); ok {
		if asked > maxWait {
			return 0, false
		}
		wait = max(wait, asked)
	}
	return wait, true
}

// retryAfter reads the header: seconds, or a time.
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}

// passing reports whether a connection broke, as opposed to never having been made: whoever cannot be resolved or
// reached is not asked again.
func passing(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// maxAnswer bounds what a registry answers, other than blobs: manifests, tokens, messages.
const maxAnswer = 8 << 20

// blobRequest marks, in the context of a request, that the answer is as long as the caller reads it.
type blobRequest struct{}

// guarded refuses plain http, except to this machine and to mirrors that were given so, and bounds answers.
type guarded struct {
	inner http.RoundTripper
	plain map[string]bool // hosts
}

// plainHTTPError says that a registry was to be talked to without encryption.
type plainHTTPError struct{ host string }

func (e *plainHTTPError) Error() string {
	return fmt.Sprintf("%s is not asked by plain http, which anybody on the way could change; if it has nothing better, say so: --registry-mirror %s=http://%s", e.host, e.host, e.host)
}

func (t *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !loopback(r.URL.Host) && !t.plain[r.URL.Host] {
		return nil, &plainHTTPError{host: r.URL.Host}
	}
	resp, err := t.inner.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	ok := resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusPartialContent
	if r.Context().Value(blobRequest{}) == nil || !ok {
		resp.Body = &boundedBody{ReadCloser: resp.Body, left: maxAnswer, host: r.URL.Host}
	}
	return resp, nil
}

type boundedBody struct {
	io.ReadCloser
	left int64
	host string
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("%s answers with more than %d bytes, where a few are expected", b.host, int64(maxAnswer))
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}

// readBounded reads everything, or fails if it is more than limit.
func readBounded(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("more than %d bytes, where less is expected", limit)
	}
	return data, err
}

// stalled gives up a body that brings nothing for a while, by cancelling its request.
type stalled struct {
	io.Reader
	timer *time.Timer
}

var errStalled = errors.New("nothing came for a minute")

func newStalled(body io.Reader, cancel context.CancelCauseFunc) *stalled {
	return &stalled{Reader: body, timer: time.AfterFunc(time.Minute, func() { cancel(errStalled) })}
}

func (s *stalled) Read(p []byte) (int, error) {
	s.timer.Reset(time.Minute)
	return s.Reader.Read(p)
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"io"
	"net/http"
	"path"
	"slices"
	"sync"
	"sync/atomic"
)

// Transport wraps the transport of all clients of a manager, as rest.Config.Wrap wants it. Creates, deletes and patches
// WithRecord pass by the rule, everything else as it is.
//
// The rule is asked twice: before the request is handed on, and when its body is first read, which is right before it
// is written to a connection. In between a connection may have to be made, or another request be waited for. A request
// that is refused then has no end, so that a server can do nothing with the beginning.
func (f *Fence) Transport(next http.RoundTripper) http.RoundTripper {
	return &transport{fence: f, next: next}
}

type transport struct {
	fence *Fence
	next  http.RoundTripper
}

// WrappedRoundTripper gives the transport below, for those who look for it (k8s.io/apimachinery/pkg/util/net).
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !startsOrEndsWork(r) {
		return t.next.RoundTrip(r)
	}
	c := &checked{fence: t.fence, decision: decisionOf(r.Context())}
	if err := c.check(); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	ctx, cancel := r.Context(), context.CancelFunc(func() {})
	if limit := t.fence.timeout(); limit > 0 {
		ctx, cancel = context.WithTimeout(ctx, limit)
	}
	end := t.fence.begin()
	resp, err := t.next.RoundTrip(c.wrap(r.WithContext(ctx)))
	refusal := c.refusal.Load()
	end(err == nil || refusal != nil)
	if err != nil {
		cancel()
		if refusal != nil {
			return nil, refusal
		}
		return nil, err
	}
	resp.Body = &answer{resp.Body, cancel}
	return resp, nil
}

// beside are the resources that are made beside the work: what is told about it, leadership itself, and questions.
var beside = []string{"events", "leases", "tokenreviews", "subjectaccessreviews", "selfsubjectaccessreviews"}

// startsOrEndsWork reports whether the rule is for the request: one that starts or ends work, or records that
// (WithRecord). A dry run changes nothing. What a decision makes is work, whatever it is called: a Timetable may start
// objects of any kind.
func startsOrEndsWork(r *http.Request) bool {
	switch r.Method {
	case http.MethodPost:
		isWork := decisionOf(r.Context()).made || !slices.Contains(beside, path.Base(r.URL.Path))
		return isWork && r.URL.Query().Get("dryRun") == ""
	case http.MethodDelete:
		return r.URL.Query().Get("dryRun") == ""
	case http.MethodPatch:
		return decisionOf(r.Context()).records
	}
	return false
}

// checked is a request that the rule was asked about.
type checked struct {
	fence    *Fence
	decision decision
	refusal  atomic.Pointer[Refusal]
}

// check asks, and counts a refusal once.
func (c *checked) check() error {
	refusal := c.fence.check(c.decision)
	if refusal == nil {
		return nil
	}
	if c.refusal.CompareAndSwap(nil, refusal) {
		refused.WithLabelValues(string(refusal.Reason)).Inc()
	}
	return refusal
}

// wrap has the rule asked again when the body is read; also when a transport sends the request once more.
func (c *checked) wrap(r *http.Request) *http.Request {
	if r.Body == nil || r.Body == http.NoBody {
		return r
	}
	r.Body = &body{ReadCloser: r.Body, before: c.check}
	if again := r.GetBody; again != nil {
		r.GetBody = func() (io.ReadCloser, error) {
			b, err := again()
			if err != nil {
				return nil, err
			}
			return &body{ReadCloser: b, before: c.check}, nil
		}
	}
	return r
}

// body is that of a request.
type body struct {
	io.ReadCloser
	before func() error
	once   sync.Once
	err    error
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	b.once.Do(func() { b.err = b.before() })
	if b.err != nil {
		return 0, b.err
	}
	return b.ReadCloser.Read(p)
}

// answer is the body of an answer; with it the request ends.
type answer struct {
	io.ReadCloser
	end context.CancelFunc
}

// Close implements io.Closer.
func (a *answer) Close() error {
	defer a.end()
	return a.ReadCloser.Close()
}

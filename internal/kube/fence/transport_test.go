// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/carillon-dev/carillon/internal/cron"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func ok(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

// The rule is for what starts or ends work, and no caller of a client can forget it: what says nothing of its decision
// is refused. Everything else passes.
func TestWhatTheRuleIsFor(t *testing.T) {
	for request, ruled := range map[string]bool{
		"POST /apis/batch/v1/namespaces/n/jobs":                   true,
		"POST /apis/batch.volcano.sh/v1alpha1/namespaces/n/jobs":  true,
		"POST /api/v1/namespaces/n/pods":                          true,
		"POST /api/v1/namespaces/events/pods":                     true,
		"POST /api/v1/namespaces/n/pods/p/eviction":               true,
		"DELETE /apis/batch/v1/namespaces/n/jobs/j":               true,
		"DELETE /api/v1/namespaces/n/pods/events":                 true,
		"DELETE /api/v1/namespaces/n/pods":                        true,
		"POST /apis/batch/v1/namespaces/n/jobs?dryRun=All":        false,
		"POST /api/v1/namespaces/n/events":                        false,
		"POST /apis/events.k8s.io/v1/namespaces/n/events":         false,
		"POST /apis/coordination.k8s.io/v1/namespaces/n/leases":   false,
		"POST /apis/authentication.k8s.io/v1/tokenreviews":        false,
		"POST /apis/authorization.k8s.io/v1/subjectaccessreviews": false,
		"PUT /apis/coordination.k8s.io/v1/namespaces/n/leases/l":  false,
		"PATCH /apis/batch/v1/namespaces/n/cronjobs/c/status":     false,
		"PUT /apis/batch/v1/namespaces/n/jobs/j/status":           false,
		"GET /apis/batch/v1/namespaces/n/jobs":                    false,
	} {
		t.Run(request, func(t *testing.T) {
			method, url, _ := strings.Cut(request, " ")
			r, err := http.NewRequestWithContext(t.Context(), method, "http://server"+url, nil)
			must(t, err)
			_, err = New(newHands().now).Transport(roundTripper(ok)).RoundTrip(r)
			var refusal *Refusal
			if got := errors.As(err, &refusal); got != ruled || got && refusal.Reason != Undecided {
				t.Errorf("refused: %v, want refused: %v", err, ruled)
			}
			r = r.WithContext(WithDecision(t.Context(), newHands().at))
			if _, err := New(newHands().now).Transport(roundTripper(ok)).RoundTrip(r); err != nil {
				t.Errorf("with a decision: %v", err)
			}
		})
	}
}

// A Timetable may start objects whose resource has the name of one that is made beside the work: those are ruled like
// any other child.
func TestChildrenWithTheNameOfWhatIsBeside(t *testing.T) {
	for _, path := range []string{"/apis/example.com/v1/namespaces/n/leases", "/apis/coordination.k8s.io/v1/namespaces/n/leases"} {
		h := newHands()
		old := WithDecision(t.Context(), h.at)
		h.at += Instant(MaxDecisionAge) + 1
		r, err := http.NewRequestWithContext(old, http.MethodPost, "http://server"+path, nil)
		must(t, err)
		var refusal *Refusal
		if _, err := New(h.now).Transport(roundTripper(ok)).RoundTrip(r); !errors.As(err, &refusal) || refusal.Reason != DecisionTooOld {
			t.Errorf("%s on an old decision: %v", path, err)
		}
	}
}

// Of patches the rule is for those that say so.
func TestRecordsAreRuled(t *testing.T) {
	h := newHands()
	f := New(h.now)
	f.Lock(nil)
	f.renew(h.at)
	send := func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPatch, "http://server/apis/batch.carillon.dev/v1alpha1/namespaces/n/timetables/t/status", nil)
		must(t, err)
		_, err = f.Transport(roundTripper(ok)).RoundTrip(r)
		return err
	}
	if err := send(WithRecord(t.Context())); err != nil {
		t.Errorf("the leader: %v", err)
	}
	h.at += Instant(MaxRenewalAge) + 1
	var refusal *Refusal
	if err := send(WithRecord(t.Context())); !errors.As(err, &refusal) || refusal.Reason != LeaseNotRenewed {
		t.Errorf("a leader that may be no more: %v", err)
	}
	if err := send(t.Context()); err != nil {
		t.Errorf("a patch that records nothing: %v", err)
	}
}

// apiServer notes the creates that it could carry out.
type apiServer struct {
	*httptest.Server
	mu   sync.Mutex
	made []string
}

func newAPIServer(t *testing.T, http2 bool) *apiServer {
	s := &apiServer{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || int64(len(body)) != r.ContentLength {
			return // the half of a request
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.made = append(s.made, string(body))
		fmt.Fprint(w, "{}")
	}))
	s.Config.ErrorLog = nil
	s.EnableHTTP2 = http2
	if http2 {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// A process that stands still after the check, while its connection is being made, sends nothing when it goes on: the
// rule is asked again when the body is about to be written. Callers see a refusal, which is a no for certain (TT-190).
func TestFrozenBeforeTheBody(t *testing.T) {
	for name, test := range map[string]struct {
		http2  bool
		frozen time.Duration
		sent   bool
	}{
		"not frozen":              {sent: true},
		"for a while":             {frozen: 5 * time.Second, sent: true},
		"for longer":              {frozen: 5*time.Second + 1},
		"not frozen, over HTTP/2": {http2: true, sent: true},
		"for longer, over HTTP/2": {http2: true, frozen: 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t, test.http2)
			clock := newHands()
			f := New(clock.now)
			f.Lock(nil)
			f.renew(clock.at)
			next := s.Client().Transport.(*http.Transport)
			next.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
				clock.pass(test.frozen)
				return new(net.Dialer).DialContext(ctx, network, addr)
			}
			c := &http.Client{Transport: f.Transport(next)}
			r, err := http.NewRequestWithContext(WithDecision(t.Context(), clock.at), http.MethodPost, s.URL+"/apis/batch/v1/namespaces/n/jobs", strings.NewReader("a job"))
			must(t, err)
			before := testutil.ToFloat64(refused.WithLabelValues(string(LeaseNotRenewed)))
			resp, err := c.Do(r)
			if err == nil {
				resp.Body.Close()
			}
			counted := testutil.ToFloat64(refused.WithLabelValues(string(LeaseNotRenewed))) - before
			s.Close() // waits for what is under way
			if got := slices.Equal(s.made, []string{"a job"}); got != test.sent || len(s.made) > 1 {
				t.Errorf("carried out: %q", s.made)
			}
			var refusal *Refusal
			if got := errors.As(err, &refusal); got == test.sent || got && (refusal.Reason != LeaseNotRenewed || counted != 1) {
				t.Errorf("error %v, counted %v", err, counted)
			}
			if !test.sent {
				if result := cron.CreateResultOf(nil, err); result.Outcome != cron.CreateRefused {
					t.Errorf("the decision takes it for outcome %d", result.Outcome)
				}
				if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsNotFound(err) {
					t.Errorf("it is taken for an answer of the server: %v", err)
				}
			}
			if left := f.settled(); left != 0 {
				t.Errorf("the lease would be kept for %s, for a request that was answered or not sent", left)
			}
		})
	}
}

// A request that is sent once more, because its connection was closed, is asked about once more.
func TestFrozenBeforeARetry(t *testing.T) {
	clock := newHands()
	f := New(clock.now)
	sent := 0
	c := f.Transport(roundTripper(func(r *http.Request) (*http.Response, error) {
		if _, err := io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		sent++
		clock.pass(time.Minute)
		again, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		if _, err := io.ReadAll(again); err != nil {
			return nil, err
		}
		sent++
		return ok(r)
	}))
	r, err := http.NewRequestWithContext(WithDecision(t.Context(), clock.at), http.MethodPost, "http://server/api/v1/namespaces/n/pods", strings.NewReader("a pod"))
	must(t, err)
	_, err = c.RoundTrip(r)
	var refusal *Refusal
	if !errors.As(err, &refusal) || refusal.Reason != DecisionTooOld || sent != 1 {
		t.Errorf("sent %d times: %v", sent, err)
	}
}

// A request of a leader ends five seconds after the check, also when the server answers slowly; nobody waits less for
// anything else.
func TestRequestTimeout(t *testing.T) {
	hanging := func(r *http.Request) (*http.Response, error) {
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(time.Minute):
			return ok(r)
		}
	}
	slow := func(r *http.Request) (*http.Response, error) {
		read, write := io.Pipe()
		context.AfterFunc(r.Context(), func() { write.CloseWithError(r.Context().Err()) })
		time.AfterFunc(time.Minute, func() { write.Close() })
		return &http.Response{StatusCode: http.StatusOK, Body: read}, nil
	}
	for name, test := range map[string]struct {
		next    roundTripper
		method  string
		elected bool
		want    time.Duration
	}{
		"of a leader":             {next: hanging, method: http.MethodPost, elected: true, want: 5 * time.Second},
		"a slow answer":           {next: slow, method: http.MethodPost, elected: true, want: 5 * time.Second},
		"a read":                  {next: hanging, method: http.MethodGet, elected: true, want: time.Minute},
		"without leader election": {next: hanging, method: http.MethodPost, want: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := New(inBubble())
				if test.elected {
					f.Lock(nil)
					f.renew(f.now())
				}
				r, err := http.NewRequestWithContext(WithDecision(t.Context(), f.now()), test.method, "http://server/api/v1/namespaces/n/pods", nil)
				must(t, err)
				begun := time.Now()
				resp, err := f.Transport(test.next).RoundTrip(r)
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					resp.Body.Close()
				}
				if took := time.Since(begun); took != test.want || (err == nil) != (test.want == time.Minute) {
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}

// Whoever has many requests to send can tell when to stop.
func TestTooOld(t *testing.T) {
	at := newHands().at
	for name, test := range map[string]struct {
		ctx  context.Context
		want bool
	}{
		"nothing is said": {ctx: t.Context()},
		"young":           {ctx: WithDecision(t.Context(), at-Instant(MaxDecisionAge))},
		"old":             {ctx: WithDecision(t.Context(), at-Instant(MaxDecisionAge)-1), want: true},
		"cleanup":         {ctx: WithCleanup(WithDecision(t.Context(), 0))},
	} {
		if got := tooOld(test.ctx, at); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if TooOld(WithDecision(t.Context(), Now())) {
		t.Error("what was decided now is too old")
	}
}

// What the rule costs one create: compare "ruled" with "bare". A create takes a millisecond.
func BenchmarkTransport(b *testing.B) {
	f := New(Now)
	f.Lock(nil)
	f.renew(f.now() + Instant(time.Hour))
	next := roundTripper(func(r *http.Request) (*http.Response, error) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
		return ok(r)
	})
	for name, transport := range map[string]http.RoundTripper{"bare": next, "ruled": f.Transport(next)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := http.NewRequestWithContext(WithDecision(b.Context(), Now()), http.MethodPost, "http://server/apis/batch/v1/namespaces/n/jobs", strings.NewReader("a job"))
				if err != nil {
					b.Fatal(err)
				}
				resp, err := transport.RoundTrip(r)
				if err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
			}
		})
	}
}

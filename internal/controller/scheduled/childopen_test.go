// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// A watch that is being opened fails by its first error while its cache is filled, and only by one that will not pass
// afterwards: a process may wait for leadership for months, and API servers are restarted meanwhile.
func TestWatchOpening(t *testing.T) {
	refused := errors.New("connection refused")
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "widgets"}, "")
	for name, test := range map[string]struct {
		// Each happens after so long; 0: never.
		filled, leads, fails, breaks, ends, cancelled time.Duration
		failure                                       error
		after                                         time.Duration
		trouble                                       string
		want                                          string
	}{
		"filled, by who leads":                        {filled: 1, leads: 1, after: 1},
		"filled, until this process leads":            {filled: 1, leads: 1000, after: 1000},
		"an error before it is filled":                {filled: 9, leads: 9, fails: 3, failure: refused, after: 3, want: "connection refused"},
		"the kind is not served":                      {filled: 9, leads: 9, fails: 3, failure: notFound, after: 3, trouble: "the API server does not serve it", want: notFound.Error()},
		"an error while it waits for leadership":      {filled: 1, leads: 1000, fails: 500, failure: refused, after: 1000},
		"a role that goes while it waits, for others": {filled: 1, leads: 1000, breaks: 500, after: 500, trouble: "broken"},
		"its cache ends":                              {filled: 9, leads: 9, ends: 3, after: 3, want: "the cache has ended: over"},
		"it is not needed any more":                   {filled: 9, leads: 9, cancelled: 3, after: 3, want: "context canceled"},
		"nor while it waits for leadership":           {filled: 1, leads: 9, cancelled: 3, after: 3, want: "context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				in := func(d time.Duration, do func()) {
					if d > 0 {
						time.AfterFunc(d, do)
					}
				}
				until := func(ctx context.Context, d time.Duration) {
					select {
					case <-ctx.Done():
					case <-time.After(d):
					}
				}
				broken, failed, ended := make(chan adapter.ChildTrouble, 1), make(chan error, 1), make(chan error, 1)
				in(test.fails, func() { failed <- test.failure })
				in(test.breaks, func() { broken <- adapter.ChildTrouble{Why: "broken"} })
				in(test.ends, func() { ended <- errors.New("over") })
				in(test.cancelled, cancel)
				begun := time.Now()
				opening := watchOpening{broken: broken, failed: failed, ended: ended,
					fill:   func(ctx context.Context) error { until(ctx, test.filled); return nil },
					follow: func(ctx context.Context) { until(ctx, test.leads-test.filled) }}
				trouble, err := opening.wait(ctx)
				got := ""
				if trouble != nil {
					got = trouble.Why
				}
				if got != test.trouble {
					t.Errorf("trouble %q, want %q", got, test.trouble)
				}
				if text := textOf(err); text != test.want {
					t.Errorf("error %q, want %q", text, test.want)
				}
				if took := time.Since(begun); took != test.after {
					t.Errorf("it took %s, want %s", took, test.after)
				}
			})
		})
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

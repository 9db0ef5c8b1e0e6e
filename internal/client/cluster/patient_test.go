// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A request waits for a server that does not listen, and nothing else is waited for.
func TestPatient(t *testing.T) {
	refused := fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		answers []error // nil is a response
		body    string
		giveUp  time.Duration
		want    error
		took    time.Duration
		told    []bool
	}{
		"it listens":                    {answers: []error{nil}},
		"it listens again":              {answers: []error{refused, refused, nil}, took: 2 * knockEvery, told: []bool{true, false}},
		"it breaks":                     {answers: []error{broken}, want: broken},
		"it breaks after it had waited": {answers: []error{refused, broken}, want: broken, took: knockEvery, told: []bool{true, false}},
		"nobody waits any more": {answers: []error{refused, refused, refused}, giveUp: knockEvery * 3 / 2, want: context.DeadlineExceeded,
			took: knockEvery * 3 / 2, told: []bool{true, false}},
		"what has a body is sent once": {answers: []error{refused}, body: "x", want: syscall.ECONNREFUSED},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				left := c.answers
				var told []bool
				p := &patient{waits: &waits{}, tell: func(waiting bool) { told = append(told, waiting) }, next: roundTrip(func(*http.Request) (*http.Response, error) {
					err := left[0]
					left = left[1:]
					if err != nil {
						return nil, err
					}
					return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
				})}
				ctx := t.Context()
				if c.giveUp > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.giveUp)
					defer cancel()
				}
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://127.0.0.1:1/", nil)
				if c.body != "" {
					request, err = http.NewRequestWithContext(ctx, http.MethodPost, "https://127.0.0.1:1/", strings.NewReader(c.body))
				}
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				response, err := p.RoundTrip(request)
				if response != nil {
					_ = response.Body.Close()
				}
				if !errors.Is(err, c.want) || (c.want == nil) != (response != nil) {
					t.Errorf("got %v, %v", response, err)
				}
				if lost := (&Server{waits: p.waits}).LastLost(); lost.IsZero() != (c.told == nil) {
					t.Errorf("last lost at %s", lost)
				}
				if took := time.Since(began); took != c.took || !slices.Equal(told, c.told) {
					t.Errorf("took %s, told %v", took, told)
				}
			})
		})
	}
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The kubelet gets its Pods when it has listed its containers, and anything else at once: a Pod that it looked at
// before would seem to have lost what runs.
func TestPodsComeAfterContainers(t *testing.T) {
	const pods = "https://server/api/v1/pods?fieldSelector=spec.nodeName%3Dme&limit=500"
	for name, tt := range map[string]struct {
		method, url string
		held        bool
	}{
		"the Pods of the node":           {"GET", pods, true},
		"the watch of them":              {"GET", pods + "&watch=true", true},
		"one Pod":                        {"GET", "https://server/api/v1/namespaces/x/pods/p", false},
		"the status of one":              {"PATCH", "https://server/api/v1/namespaces/x/pods/p/status", false},
		"the node":                       {"GET", "https://server/api/v1/nodes/me", false},
		"the Pods of everybody, by name": {"GET", "https://server/api/v1/pods?fieldSelector=metadata.name%3Dp", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listed, answered := make(chan struct{}), atomic.Bool{}
				source := &podSource{roundTrip(func(*http.Request) (*http.Response, error) {
					answered.Store(true)
					return &http.Response{}, nil
				}), listed}
				request, err := http.NewRequestWithContext(t.Context(), tt.method, tt.url, nil)
				if err != nil {
					t.Fatal(err)
				}
				go func() {
					if _, err := source.RoundTrip(request); err != nil { //nolint:bodyclose // there is none
						t.Error(err)
					}
				}()
				synctest.Wait()
				if answered.Load() == tt.held {
					t.Errorf("asked before the containers were listed: %v", answered.Load())
				}
				close(listed)
				synctest.Wait()
				if !answered.Load() {
					t.Error("not asked afterwards")
				}
			})
		})
	}
}

// Who gives up waits no longer, and asks for nothing.
func TestPodsAreNotAwaited(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	request, err := http.NewRequestWithContext(ctx, "GET", "https://server/api/v1/pods?fieldSelector=spec.nodeName%3Dme", nil)
	if err != nil {
		t.Fatal(err)
	}
	source := &podSource{roundTrip(func(*http.Request) (*http.Response, error) {
		t.Error("asked")
		return nil, nil
	}), make(chan struct{})}
	if _, err := source.RoundTrip(request); err == nil { //nolint:bodyclose // there is none
		t.Error("answered")
	}
}

// Containers count as listed with the first listing that ends after the start of the wait, in the end in any case.
func TestAwaitRelist(t *testing.T) {
	for name, tt := range map[string]struct {
		after, want time.Duration // 0: never
	}{
		"listed":       {100 * time.Millisecond, 100 * time.Millisecond},
		"never listed": {0, relistTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				count := func() uint64 {
					if tt.after > 0 && time.Since(began) >= tt.after {
						return 8
					}
					return 7
				}
				<-awaitRelist(t.Context(), logr.Discard(), count)
				if took := time.Since(began); took < tt.want || took > tt.want+relistPoll {
					t.Errorf("took %s, want %s", took, tt.want)
				}
			})
		})
	}
}

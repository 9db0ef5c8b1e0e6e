// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"net/http"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// knockEvery is how often an API server that does not listen is tried again.
const knockEvery = time.Second

// Patient is the same API server for a command that outlives it: a request while nothing listens there, as when a
// Carillon is started again, waits until something does, or until its context ends. Watches therefore go on within a
// second, which those of client-go, left alone, do in half a minute. tell hears when that begins (true) and ends
// (false); it is not called twice at once. What lists only metadata does not wait. LastLost tells when that was last.
func (s *Server) Patient(tell func(waiting bool)) (*Server, error) {
	config := rest.CopyConfig(s.Config)
	var w waits
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &patient{next: next, waits: &w, tell: tell} })
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	patient := *s
	patient.Config, patient.Client, patient.waits = config, client, &w
	return &patient, nil
}

// LastLost is when a request last found nobody listening, so that what has happened around then may not have been seen.
// It is zero if none has, and for a server that is not Patient.
func (s *Server) LastLost() time.Time {
	if s.waits == nil {
		return time.Time{}
	}
	s.waits.mu.Lock()
	defer s.waits.mu.Unlock()
	return s.waits.last
}

// waits tells how many requests wait, and when one last began to or had to go on.
type waits struct {
	mu    sync.Mutex
	count int
	last  time.Time
}

// add counts a request that begins to wait (1), or no longer does (-1), and tells of the first and of the last one.
func (w *waits) add(n int, tell func(bool)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.count
	w.count += n
	w.last = time.Now()
	if (before == 0) != (w.count == 0) {
		tell(w.count > 0)
	}
}

type patient struct {
	next  http.RoundTripper
	waits *waits
	tell  func(bool)
}

// RoundTrip implements http.RoundTripper. A request with a body is sent once: it cannot be read again.
func (p *patient) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := p.next.RoundTrip(request)
	if request.Body != nil || !errors.Is(err, syscall.ECONNREFUSED) {
		return response, err
	}
	p.waits.add(1, p.tell)
	defer p.waits.add(-1, p.tell)
	knock := time.NewTicker(knockEvery)
	defer knock.Stop()
	for errors.Is(err, syscall.ECONNREFUSED) {
		select {
		case <-request.Context().Done():
			return nil, request.Context().Err()
		case <-knock.C:
		}
		response, err = p.next.RoundTrip(request)
	}
	return response, err
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/carillon-dev/carillon/internal/ui/page"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// changing is a cache whose changes the test makes.
type changing struct {
	page.Cache

	mu      sync.Mutex
	viewers map[chan struct{}]bool
}

func (c *changing) Changes(ctx context.Context) <-chan struct{} {
	one := make(chan struct{}, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.viewers[one] = true
	context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.viewers, one)
		close(one)
	})
	return one
}

func (c *changing) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for one := range c.viewers {
		one <- struct{}{}
	}
}

func (c *changing) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.viewers)
}

func changingSite(t *testing.T) (*page.Site, *changing) {
	t.Helper()
	s := uitest.Site(t, uitest.World{})
	c := &changing{Cache: s.Cache, viewers: map[chan struct{}]bool{}}
	s.Cache = c
	return s, c
}

// written is an http.ResponseWriter whose end the test may cut.
type written struct {
	header http.Header

	mu   sync.Mutex
	text strings.Builder
	cut  bool
}

func (w *written) Header() http.Header { return w.header }
func (w *written) WriteHeader(int)     {}
func (w *written) Flush()              {}

func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		return 0, http.ErrHandlerTimeout
	}
	return w.text.Write(b)
}

func (w *written) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.text.String()
	w.text.Reset()
	return text
}

// One connection hears of changes, has heartbeats, and ends with its request; nothing of it is left.
func TestEvents(t *testing.T) {
	for name, lastID := range map[string]string{"first": "", "again": "1-7"} {
		t.Run(name, func(t *testing.T) {
			s, c := changingSite(t)
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancel(t.Context())
				defer end()
				handler := events(ctx, s)
				request, leave := context.WithCancel(t.Context())
				r := httptest.NewRequestWithContext(request, http.MethodGet, "/events", nil)
				if lastID != "" {
					r.Header.Set("Last-Event-ID", lastID)
				}
				w := &written{header: http.Header{}}
				done := make(chan error, 1)
				go func() { done <- handler(w, r) }()
				synctest.Wait()
				begin := w.take()
				if !strings.HasPrefix(begin, "retry: 2000\n\n") || w.header.Get("Content-Type") != "text/event-stream" || w.header.Get("Cache-Control") != "no-store" {
					t.Errorf("it begins with %q, %v", begin, w.header)
				}
				if missed := strings.Contains(begin, "event: changed"); missed != (lastID != "") {
					t.Errorf("it is told that something was missed: %v", missed)
				}
				c.tell()
				synctest.Wait()
				if text := w.take(); !strings.HasPrefix(text, "id: ") || !strings.HasSuffix(text, "event: changed\ndata:\n\n") {
					t.Errorf("a change is %q", text)
				}
				time.Sleep(heartbeat + time.Second)
				if text := w.take(); text != ": still here\n\n" {
					t.Errorf("without changes there is %q", text)
				}
				leave()
				if err := <-done; err != nil {
					t.Error(err)
				}
				synctest.Wait()
				if n := c.count(); n != 0 {
					t.Errorf("%d still listen", n)
				}
			})
		})
	}
}

// A connection whose other end has gone ends with the next heartbeat, all end with the site, and the test ends because
// no goroutine is left.
func TestEventsEnd(t *testing.T) {
	s, c := changingSite(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		handler := events(ctx, s)
		gone, stays := &written{header: http.Header{}, cut: false}, &written{header: http.Header{}}
		var left sync.WaitGroup
		for _, w := range []*written{gone, stays} {
			left.Go(func() {
				if err := handler(w, httptest.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, "/events", nil)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		gone.mu.Lock()
		gone.cut = true
		gone.mu.Unlock()
		time.Sleep(heartbeat + time.Second)
		synctest.Wait()
		if n := c.count(); n != 1 {
			t.Errorf("%d listen", n)
		}
		end()
		left.Wait()
		synctest.Wait()
		if n := c.count(); n != 0 {
			t.Errorf("%d listen after the end", n)
		}
	})
}

// No more pages listen than may; who comes too late is told, and can come again.
func TestEventsLimit(t *testing.T) {
	s, c := changingSite(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		handler := events(ctx, s)
		var left sync.WaitGroup
		for range mostListeners {
			left.Go(func() {
				_ = handler(&written{header: http.Header{}}, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/events", nil))
			})
		}
		synctest.Wait()
		w := &written{header: http.Header{}}
		err := handler(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/events", nil))
		fault, ok := errors.AsType[*page.Fault](err)
		if !ok || fault.Code != http.StatusServiceUnavailable || w.header.Get("Retry-After") != "2" {
			t.Errorf("%v, %v", err, w.header)
		}
		end()
		left.Wait()
		synctest.Wait()
		if n := c.count(); n != 0 {
			t.Errorf("%d listen after the end", n)
		}
	})
}

// The limits that a server sets for a request do not end it.
func TestEventsOutliveTimeouts(t *testing.T) {
	s, c := changingSite(t)
	s.Handle("GET /events", events(t.Context(), s))
	server := httptest.NewUnstartedServer(s)
	server.Config.ReadTimeout, server.Config.WriteTimeout = 300*time.Millisecond, 300*time.Millisecond
	server.Start()
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	if !lines.Scan() || lines.Text() != "retry: 2000" {
		t.Fatalf("%q, %v", lines.Text(), lines.Err())
	}
	<-time.After(time.Second) // longer than the timeouts
	c.tell()
	for lines.Scan() {
		if lines.Text() == "event: changed" {
			return
		}
	}
	t.Errorf("it has ended: %v", lines.Err())
}

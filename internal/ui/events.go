// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/carillon-dev/carillon/internal/ui/page"
)

const (
	// mostListeners is how many pages may listen at once: each holds a connection.
	mostListeners = 256
	// heartbeat is how often something is sent in any case, so that a connection whose other end has gone is noticed,
	// here and by what stands between.
	heartbeat = 10 * time.Second
	// sendWithin is how long the other end may take to accept that.
	sendWithin = 10 * time.Second
	// reconnectAfter is how long a page waits that has lost the connection.
	reconnectAfter = 2 * time.Second
)

// listeners are the pages that listen.
type listeners struct {
	count atomic.Int64
	// begun tells events of this process from those of the one before it.
	begun int64
}

// events tells an open page, by server-sent events, that something has changed. What, the page asks for by itself: so
// it sees what it shows, in its own order and language, and a page that was away misses nothing. It ends with ctx.
func events(ctx context.Context, s *page.Site) page.Handler {
	all := &listeners{begun: time.Now().UnixMilli()}
	return func(w http.ResponseWriter, r *http.Request) error {
		if all.count.Add(1) > mostListeners {
			all.count.Add(-1)
			w.Header().Set("Retry-After", strconv.Itoa(int(reconnectAfter.Seconds())))
			return &page.Fault{Code: http.StatusServiceUnavailable, Title: "Too many pages are open",
				Message: fmt.Sprintf("%d pages hear of changes already.", mostListeners), Cure: "Close some of them. This one shows what is new when it is loaded again."}
		}
		defer all.count.Add(-1)
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Accel-Buffering", "no") // a proxy is not to gather events
		stream := &stream{w: w, flusher: http.NewResponseController(w), begun: all.begun}
		life, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		// Who comes back may have missed something.
		stream.listen(life, s.Cache.Changes(life), r.Header.Get("Last-Event-ID") != "")
		return nil
	}
}

// stream is one connection that events go to.
type stream struct {
	w       http.ResponseWriter
	flusher *http.ResponseController
	begun   int64
	sent    int
}

// listen sends an event for each change until ctx ends or the other end has gone; with missed one at once.
func (s *stream) listen(ctx context.Context, changes <-chan struct{}, missed bool) {
	// The limits of the server for a request are not for one that stays. Not every connection has them.
	_ = s.flusher.SetReadDeadline(time.Time{})
	if !s.send("retry: " + strconv.FormatInt(reconnectAfter.Milliseconds(), 10) + "\n\n") {
		return
	}
	if missed && !s.changed() {
		return
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			if !s.send(": still here\n\n") {
				return
			}
		case _, open := <-changes:
			if !open || !s.changed() {
				return
			}
			beat.Reset(heartbeat)
		}
	}
}

// changed says that something has changed.
func (s *stream) changed() (sent bool) {
	s.sent++
	return s.send(fmt.Sprintf("id: %d-%d\nevent: changed\ndata:\n\n", s.begun, s.sent))
}

func (s *stream) send(text string) (sent bool) {
	_ = s.flusher.SetWriteDeadline(time.Now().Add(sendWithin)) // see listen
	if _, err := s.w.Write([]byte(text)); err != nil {
		return false
	}
	return s.flusher.Flush() == nil
}

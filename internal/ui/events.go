// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"fmt"
	"net/http"

	"github.com/carillon-dev/carillon/internal/ui/page"
)

// events tells an open page, by server-sent events, that something has changed. What, the page asks for by itself: so
// it sees what it shows, in its own order and language, and a page that was away misses nothing.
func events(ctx context.Context, s *page.Site) page.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
		flusher := http.NewResponseController(w)
		_, _ = fmt.Fprint(w, "retry: 2000\n\n") // a viewer who has gone is seen below
		if err := flusher.Flush(); err != nil {
			return err
		}
		changes := s.Cache.Changes(r.Context())
		for {
			select {
			case <-ctx.Done():
				return nil
			case _, open := <-changes:
				if !open {
					return nil
				}
				if _, err := fmt.Fprint(w, "event: changed\ndata:\n\n"); err != nil {
					return nil
				}
				if err := flusher.Flush(); err != nil {
					return nil
				}
			}
		}
	}
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/task"
	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
	"github.com/carillon-dev/carillon/internal/ui/run/output"
)

const (
	// mostStreams is how many viewers follow outputs at once.
	mostStreams = 64
	// lineQueue is how many lines wait for a viewer who is slow; then what is read waits, too.
	lineQueue = 64
	// askAgain is how often it is asked whether the run has ended, or has a further attempt.
	askAgain = time.Second
)

// stream sends the lines of a run as they are written, by server-sent events:
//
//	lines    lines, as JSON
//	attempt  a further attempt has begun, of which the lines follow
//	end      no more will come
//	changed  something else has changed, where the address asks for that too (changes=1)
//
// The ID of an event is the place behind it, from which a browser that comes again goes on.
func (h *handlers) stream(w http.ResponseWriter, r *http.Request) error {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	at, err := parsePlace(text)
	if err != nil {
		return page.BadInput("The address is at fault: %v.", err)
	}
	if h.follow == nil {
		return page.NotFound("Output cannot be followed here: no API server is known.")
	}
	found, err := h.find(r)
	if err != nil {
		return err
	}
	select {
	case h.streams <- struct{}{}:
		defer func() { <-h.streams }()
	default:
		w.Header().Set("Retry-After", "5")
		return &page.Fault{Code: http.StatusServiceUnavailable, Title: "Too many viewers", Message: fmt.Sprintf("%d outputs are followed already.", mostStreams), Cure: "Close one of them, or load the page again."}
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	defer context.AfterFunc(h.site.Life, stop)()
	s := &streaming{
		h: h, run: found.run, at: at, newest: r.URL.Query().Get("follow") == "newest" || at.Container == "", times: r.URL.Query().Get("times") != "",
		zone: page.ZoneOf(r), out: make(chan sent, lineQueue),
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	var changes <-chan struct{}
	if r.URL.Query().Get("changes") != "" {
		changes = h.site.Cache.Changes(ctx)
	}
	over := make(chan error, 1)
	var following sync.WaitGroup
	following.Go(func() {
		over <- task.Do(h.site.Log, "following an output", func() error { return s.follow(ctx) })
	})
	err = send(ctx, w, s.out, over, changes)
	if _, panicked := errors.AsType[*task.PanicError](err); err != nil && !panicked && ctx.Err() == nil {
		h.site.Log.Error("output cannot be followed", "path", r.URL.Path, "error", err)
	}
	// What it reads from is closed once no request is under way.
	stop()
	following.Wait()
	return nil // the answer has begun
}

// streaming follows a run for one viewer.
type streaming struct {
	h      *handlers
	run    run.Run
	at     place
	newest bool // further attempts are followed, too
	times  bool
	zone   *time.Location
	out    chan sent
	joiner output.Joiner
	screen output.Screens
}

// follow sends what is written until no more will come.
func (s *streaming) follow(ctx context.Context) error {
	for {
		attempts, err := s.h.site.Source.Attempts(ctx, &s.run)
		if err != nil {
			return err
		}
		k := known{run: s.run}
		k.attempts, k.numbers, k.count = run.Numbered(attempts)
		i := k.find(s.at.Container)
		if i < 0 && s.at.Container == "" {
			i = k.chosen()
		}
		if i >= 0 {
			if err := s.followAttempt(ctx, &k, i); err != nil {
				return err
			}
		}
		ended, err := s.ended(ctx)
		if err != nil {
			return err
		}
		if ended || !s.newest && i >= 0 {
			return s.put(ctx, sent{id: s.at.String(), event: "end", data: map[string]bool{"run": ended}})
		}
		if err := wait(ctx, askAgain); err != nil {
			return err
		}
	}
}

// followAttempt sends what an attempt writes, and what further ones do that have begun meanwhile.
func (s *streaming) followAttempt(ctx context.Context, k *known, i int) error {
	for {
		a := k.attempts[i]
		if s.at.Container != a.ContainerID {
			s.at = place{Container: a.ContainerID}
			s.joiner, s.screen = output.Joiner{}, output.Screens{}
			data := map[string]any{"id": a.ContainerID, "number": k.numbers[i], "pod": a.Pod, "container": a.Container}
			if err := s.put(ctx, sent{id: s.at.String(), event: "attempt", data: data}); err != nil {
				return err
			}
		}
		pass := func(p crilog.Piece) error { return s.piece(ctx, p) }
		to, complete, err := s.h.follow(ctx, a, s.at.Mark, pass)
		if err != nil {
			return err
		}
		if !complete {
			if err := s.h.rest(ctx, &a, to, pass); err != nil {
				return err
			}
		}
		if !s.newest {
			return nil
		}
		attempts, err := s.h.site.Source.Attempts(ctx, &s.run)
		if err != nil {
			return err
		}
		k.attempts, k.numbers, k.count = run.Numbered(attempts)
		i = k.after(a.ContainerID)
		if i < 0 {
			return nil
		}
	}
}

// after is the index of the next attempt worth following after one; -1 if there is none yet.
func (k *known) after(container string) int {
	at := k.find(container)
	if at < 0 {
		return -1
	}
	for i := at + 1; i < len(k.attempts); i++ {
		if a := &k.attempts[i]; a.Role != run.Sidecar && !a.Started.IsZero() {
			return i
		}
	}
	return -1
}

// piece sends a line when a piece ends it.
func (s *streaming) piece(ctx context.Context, p crilog.Piece) error {
	s.at.Mark = s.at.Mark.After(p)
	raw, whole := s.joiner.Add(0, p)
	if !whole {
		return nil
	}
	s.at.Line++
	shown := s.screen.Show(&raw, s.at.Line)
	l := line{Number: shown.Number, Stderr: shown.Stderr, Cut: shown.Cut, Parts: [][2]string{}}
	if s.times && !shown.Time.IsZero() {
		l.Time = shown.Time.In(s.zone).Format(clock)
	}
	size := 0
	for _, part := range shown.Parts {
		l.Parts = append(l.Parts, [2]string{part.Class, part.Text})
		size += len(part.Text)
	}
	return s.put(ctx, sent{id: s.at.String(), data: l, size: size})
}

// clock is how the times of lines are written.
const clock = "15:04:05.000"

// ended tells whether the run has ended, or is gone.
func (s *streaming) ended(ctx context.Context) (bool, error) {
	found, err := s.h.findRun(ctx, s.run.Namespace, s.run.Name, types.UID(s.run.UID))
	if fault, ok := errors.AsType[*page.Fault](err); ok && fault.Code == http.StatusNotFound {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	s.run = found.run
	return s.run.Outcome.Ended(), nil
}

// put hands something to the viewer, when there is room for it.
func (s *streaming) put(ctx context.Context, what sent) error {
	select {
	case s.out <- what:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

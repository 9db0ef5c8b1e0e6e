// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// await waits for the run to follow. The result, if there is one, is in its place: the run is remembered, and gone.
func (f *following) await(ctx context.Context, w *waitRun) (*waitResult, error) {
	ticks := time.NewTicker(askAgain)
	defer ticks.Stop()
	for f.pick.chosen == nil || !f.pick.synced {
		select {
		case s := <-f.sightings:
			f.pick.see(s)
			if !s.synced || f.pick.chosen != nil {
				continue
			}
			if result, over := w.absent(ctx); over {
				return &result, nil
			}
			f.logs.say(f.nextDue())
		case <-ticks.C:
			if result, over := w.ask(ctx, false); over {
				return &result, nil
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, nil
}

// nextDue says what is waited for when no run is active.
func (f *following) nextDue() string {
	text := fmt.Sprintf("no run of %s is active", f.of.ref)
	if f.pick.at != nil {
		return text + "; waiting for that of " + clockAndDistance(f.pick.at.From, f.of.zone, f.logs.clock())
	}
	s := f.of.schedule
	if tt := f.of.timetable(); tt != nil && len(tt.Status.Active) > 0 {
		begun := tt.Status.Active[0].ScheduledTime.Time
		return fmt.Sprintf("that of %s is to be tried again; waiting for it", clockAndDistance(begun, f.of.zone, f.logs.clock()))
	}
	if s == nil {
		return text
	}
	if why := f.of.held(); why != "" {
		return text + ", and none starts by itself: " + why + "; waiting for one"
	}
	if next := s.FirstAfter(f.logs.clock()); !next.IsZero() {
		return text + "; waiting for the next one, due " + clockAndDistance(next, f.of.zone, f.logs.clock())
	}
	return text + "; waiting for the next one"
}

// showEnded shows a run that has ended.
func (l *logs) showEnded(ctx context.Context, s lookup.Source, result *waitResult) error {
	if result.err != nil {
		return result.err
	}
	if result.run == nil {
		return noRun("%s is gone, and nothing is remembered of it", result.of.ref)
	}
	r := result.run
	attempts, tries, err := attemptsOfTime(ctx, s, result.of, r)
	if err != nil {
		return err
	}
	r.Sum(slices.DeleteFunc(slices.Clone(attempts), func(a run.Attempt) bool { return a.RunUID != r.UID }))
	chosen, title, err := l.chooseAttempts(r, attempts)
	if err != nil {
		return err
	}
	l.heading(r, result.of.zone, tries+title)
	if err := l.printAll(ctx, s, r, chosen); err != nil {
		return err
	}
	return exitOf(r)
}

// exitOf is how -f ends for a run.
func exitOf(r *run.Run) error {
	if r.Outcome == run.Succeeded {
		return nil
	}
	return &exitcode.Error{Code: exitcode.Failed}
}

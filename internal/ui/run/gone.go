// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// gone gives the attempts whose output is not there (any more); another failure is an error.
func gone(merged *crilog.Merger, attempts []run.Attempt) ([]run.Attempt, error) {
	var missing []run.Attempt
	for _, failure := range merged.Failures() {
		a := &attempts[failure.Log]
		if !failure.Missing() {
			return nil, fmt.Errorf("the output of container %s of Pod %s: %w", a.Container, a.Pod, failure.Err)
		}
		missing = append(missing, *a)
	}
	return missing, nil
}

// explainGone says why there is nothing to show, or not all.
func (h *handlers) explainGone(ctx context.Context, k *known, v *logView, chosen, missing []run.Attempt) {
	var lost []run.Attempt
	for i := range missing {
		if !missing[i].WroteNothing() {
			lost = append(lost, missing[i])
		}
	}
	switch {
	case len(lost) > 0 && k.stopped && !k.run.Outcome.Ended():
		v.Empty = "What it wrote is not in the journal yet. It will be when Carillon runs again."
	case len(lost) == len(chosen):
		v.Empty = "Its output is gone: " + lookup.WhyGone(ctx, h.site.Source) + "."
		v.Download, v.DownloadPlain = "", ""
	case len(lost) > 0:
		v.Notes = append(v.Notes, fmt.Sprintf("Not all is shown: the output of %s is gone; %s.", quantity.CountGrouped(len(lost), "attempt"), lookup.WhyGone(ctx, h.site.Source)))
	case len(v.Lines) == 0 && v.Empty == "" && !v.Searched:
		v.Empty = "It wrote nothing."
		if len(chosen) == 1 && chosen[0].Ended.IsZero() && !k.stopped {
			v.Empty = "It has written nothing yet."
		}
	case len(v.Lines) == 0 && v.Searched:
		v.Empty = "No line matches."
	}
}

// nothingRan says why there is no attempt.
func nothingRan(k *known) string {
	switch {
	case k.attemptsUnread:
		return "Nothing is known of what it wrote, as its attempts could not be read."
	case k.stopped && !k.run.Outcome.Ended():
		return "What it wrote is not in the journal yet. It will be when Carillon runs again."
	case !k.run.Outcome.Ended():
		return "It has written nothing yet: no container of it has begun."
	case k.run.Attempts == 0 && k.run.PodsFailed == 0 && k.run.PodsSucceeded == 0:
		return "It wrote nothing: no container of it ever ran."
	}
	return "Nothing is known of what it wrote: its Pods are gone, and no journal has kept their output."
}

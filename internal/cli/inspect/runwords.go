// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// runTitle says which run it is, and how it is, in one line: "job/backup-29 of cronjob/backup, scheduled 02:00 CET (2h
// ago), failed: exit code 3 after 12s".
func runTitle(r *run.Run, zone *time.Location, now time.Time) string {
	var b strings.Builder
	b.WriteString(runReference(r))
	if r.Owner.Name != "" {
		fmt.Fprintf(&b, " of %s/%s", strings.ToLower(r.Owner.Kind), r.Owner.Name)
	}
	switch {
	case !r.ScheduledTime.IsZero():
		fmt.Fprintf(&b, ", scheduled %s", clockAndDistance(r.ScheduledTime, zone, now))
	case r.Owner.Name != "" && !r.Created.IsZero():
		fmt.Fprintf(&b, ", started by hand %s", clockAndDistance(r.Created, zone, now))
	case !r.Created.IsZero():
		fmt.Fprintf(&b, ", created %s", clockAndDistance(r.Created, zone, now))
	}
	if r.Retry > 1 {
		fmt.Fprintf(&b, ", try %d", r.Retry)
	}
	return b.String() + ", " + outcomeText(r, now)
}

// outcomeText says how a run is: "succeeded after 12s", "failed: BackoffLimitExceeded, exit code 3, after 12s", "runs
// since 5m".
func outcomeText(r *run.Run, now time.Time) string {
	after := ""
	if d := r.Duration(now); !r.Ended.IsZero() && !r.Begun().IsZero() {
		after = " after " + took(d)
	}
	switch r.Outcome {
	case run.Succeeded:
		return "succeeded" + after
	case run.Failed:
		if r.Retrying {
			return "to be tried again; it failed" + because(r) + after
		}
		return "failed" + because(r) + after
	case run.Cancelled:
		return "cancelled" + because(r) + after
	case run.Unknown:
		return "gone; nobody saw how it ended"
	}
	switch {
	case r.Suspended:
		return "suspended"
	case r.Started.IsZero() && r.PodsRunning == 0:
		return "not begun yet"
	}
	return "running for " + duration.Short(max(time.Second, now.Sub(r.Begun())))
}

// because tells the reason of an end: the word of Kubernetes, and the exit code.
func because(r *run.Run) string {
	var words []string
	if reason := cmp.Or(r.Reason, r.Message); reason != "" {
		words = append(words, reason)
	}
	if r.ExitCode != nil && *r.ExitCode != 0 {
		words = append(words, fmt.Sprintf("exit code %d", *r.ExitCode))
	}
	if len(words) == 0 {
		return ""
	}
	return ": " + strings.Join(words, ", ")
}

// clockAndDistance is a time in a zone, with the day if that is not today, and its distance from now.
func clockAndDistance(t time.Time, zone *time.Location, now time.Time) string {
	layout := "15:04 MST"
	if t.Second() != 0 {
		layout = "15:04:05 MST"
	}
	if t.In(zone).Format(time.DateOnly) != now.In(zone).Format(time.DateOnly) {
		layout = time.DateOnly + " " + layout
	}
	return fmt.Sprintf("%s (%s)", t.In(zone).Format(layout), duration.FromNow(t, now))
}

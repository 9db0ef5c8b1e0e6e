// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/carillon-dev/carillon/internal/plan/words"
)

// Surprises of time zones, of distances, and of what an object says beside its schedule.

func clockChangeSurprise(s *subject, e *Explanation) []Surprise {
	var lost, repeated []string
	once, flows := true, false
	for _, c := range e.ClockChanges {
		if c.loses {
			lost = append(lost, c.Date)
		}
		if c.repeats {
			repeated = append(repeated, c.Date)
		}
		once, flows = once && !c.severalTimes, flows || c.flows
	}
	var what string
	switch {
	case len(lost)+len(repeated) == 0:
		return nil
	case len(repeated) == 0:
		what = "are skipped on " + dates(lost)
	case len(lost) == 0:
		what = "come twice on " + dates(repeated)
	default:
		what = "are skipped on " + dates(lost) + ", and some come twice on " + dates(repeated)
	}
	cure := "Choose a time outside of that hour, or the zone Etc/UTC"
	switch {
	case flows: // a Timetable does the same
	case s.asTimetable && once:
		cure = "Leave dst away: its defaults run once on each of these days"
	case s.asTimetable:
		cure = "Leave dst away: by its defaults one run comes in place of those that are skipped, and none comes twice"
	case once:
		cure += ", or a Timetable, which runs once on each of these days"
	default:
		cure += ", or a Timetable, in which one run comes in place of those that are skipped, and none comes twice"
	}
	return one("clock-change", "When the clocks change in the next two years, some runs "+what+".", cure+".")
}

// dates joins the first of some days.
func dates(all []string) string {
	const most = 4
	all = slices.Compact(slices.Clone(all))
	if len(all) > most {
		return strings.Join(all[:most], ", ") + fmt.Sprintf(" and %d more", len(all)-most)
	}
	if len(all) > 1 {
		return strings.Join(all[:len(all)-1], ", ") + " and " + all[len(all)-1]
	}
	return strings.Join(all, "")
}

func noTimeZone(s *subject, e *Explanation) []Surprise {
	if !s.zoneAssumed || s.all == nil || s.asTimetable {
		return nil
	}
	hours := false
	for _, i := range s.crons() {
		x := i.expression
		hours = hours || !x.Hour.All || !x.DayOfMonth.All || !x.DayOfWeek.All || !x.Month.All
	}
	switch {
	case !hours:
		return nil
	case s.object == nil:
		return one("no-time-zone", "Nobody has said a time zone; this explanation takes UTC. A CronJob without timeZone runs in the zone of its controller.",
			"Name one with --zone, and in the object with timeZone.")
	case s.group() == tutorialGroup:
		return one("no-time-zone", "This kind has no timeZone: its hours are those of the zone of the controller, here taken as "+s.zoneName()+".",
			"Run the controller in UTC (TZ=UTC), or use a CronJob of batch/v1.")
	}
	return one("no-time-zone", "It names no timeZone, so its hours are those of the controller's zone, here taken as "+s.zoneName()+": another cluster may run it at another time.",
		"Write timeZone: Etc/UTC, or the zone that you mean.")
}

func zoneInSchedule(s *subject, _ *Explanation) []Surprise {
	for _, i := range s.items {
		if i.expression == nil || !i.expression.HasZone || s.asTimetable {
			continue
		}
		rest := "; timeZone has no effect beside it"
		if stringAt(s.spec, "timeZone") == "" {
			rest = ""
		}
		return one("time-zone-in-schedule", "The zone stands in the schedule, which is not supported: API servers refuse it in new CronJobs"+rest+".",
			"Take it out of the schedule and write timeZone: "+i.expression.Zone+".")
	}
	return nil
}

func everyDrifts(s *subject, _ *Explanation) []Surprise {
	period := s.every()
	if period == 0 {
		return nil
	}
	return one("every-drifts", fmt.Sprintf("@every counts %s from the last start (at first: from the creation), not by the clock. It lands at no fixed time of day; a new object begins anew, and each late start moves all that follow.",
		words.Duration(period)), "Write the times, or use a Timetable with every, whose times stay on a grid.")
}

func everyWithoutAnchor(s *subject, _ *Explanation) []Surprise {
	var found []Surprise
	for _, i := range s.items {
		if i.spec.Every == "" || i.spec.Anchor != "" || !i.readable {
			continue
		}
		found = append(found, one("every-without-anchor", fmt.Sprintf(
			"every: %s without an anchor counts from 1970-01-01 00:00 UTC, a Thursday%s: 24h is midnight UTC, 168h is Thursday midnight UTC.", i.spec.Every, s.in(i)),
			"Give it an anchor, such as 2026-01-05T06:00, if the time of day matters.")...)
	}
	return found
}

func belowAMinute(s *subject, _ *Explanation) []Surprise {
	if period := s.every(); period == 0 || period >= time.Minute || s.group() == tutorialGroup {
		return nil
	}
	return one("below-a-minute", "Jobs of a CronJob are named by the minute, so at most one starts in each minute.",
		"Use a Timetable with every, or let one run repeat its work.")
}

// deadlineNever: with "@every" a deadline below the period moves the count along with the clock.
func deadlineNever(s *subject, _ *Explanation) []Surprise {
	deadline, set := s.deadline()
	if !set || s.asTimetable {
		return nil
	}
	if deadline == 0 {
		return one("starting-deadline-zero", fmt.Sprintf("startingDeadlineSeconds is %d: nothing ever starts.", *s.scheduled.Policy.Deadline), "Take it away; to stop a CronJob write suspend: true.")
	}
	if period := s.every(); period > deadline {
		return one("every-beyond-deadline", fmt.Sprintf("startingDeadlineSeconds (%s) is shorter than the period (%s): @every counts from no earlier than that ago, so nothing ever starts.",
			words.Duration(deadline), words.Duration(period)), "Take the deadline away, or write the times.")
	}
	return nil
}

func shortDeadline(s *subject, _ *Explanation) []Surprise {
	const short = 10 * time.Second
	deadline, set := s.deadline()
	if !set || deadline >= short || deadline == 0 {
		return nil
	}
	return one("starting-deadline-short", fmt.Sprintf("A run that cannot start within %s is lost: a restart of the controller takes longer than that.", words.Duration(deadline)),
		s.choose("Write startingDeadlineSeconds: 60 or more.", "Write startingDeadline: 1m or more."))
}

// deadline is how late a start may be.
func (s *subject) deadline() (deadline time.Duration, set bool) {
	if s.scheduled == nil || s.scheduled.Policy.Deadline == nil {
		return 0, false
	}
	seconds := min(max(*s.scheduled.Policy.Deadline, 0), int64(1<<33))
	return time.Duration(seconds) * time.Second, true
}

// overlongRuns: a run may take longer than it takes until the next.
func overlongRuns(s *subject, e *Explanation) []Surprise {
	limit, set := numberAt(s.jobSpec(), "activeDeadlineSeconds")
	field := "activeDeadlineSeconds"
	if s.scheduled != nil && s.scheduled.Policy.Timeout > 0 {
		if t := int64(s.scheduled.Policy.Timeout / time.Second); !set || t < limit {
			limit, set, field = t, true, "timeout"
		}
	}
	if !set || e.Frequency == nil || s.usual == 0 || limit <= int64(s.usual/time.Second) {
		return nil
	}
	then := "it may then still be busy (see below what that means)"
	if room := s.scheduled.Policy.Room; room.Limit == 0 {
		then = "runs may then overlap"
	}
	return one("deadline-beyond-interval", fmt.Sprintf("A run may take %s (%s), and the next time may come after %s: %s.",
		words.Duration(time.Duration(min(limit, 1<<33))*time.Second), field, words.Duration(s.usual), then),
		fmt.Sprintf("Write a shorter %s, or let it run less often.", field))
}

const (
	tutorialGroup = "batch.tutorial.kubebuilder.io"
	volcanoGroup  = "batch.volcano.sh"
	jobGroup      = batchv1.GroupName
)

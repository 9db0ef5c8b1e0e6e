// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/history"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// recent is what became of a time, or of several that follow each other and had no run for the same reason.
type recent struct {
	// At is the time, the newest if there are several, and From the oldest; Count is how many there are.
	At, From time.Time
	Count    int64
	// Run is its run, Omission says that it had none; both are nil if nothing is known. Waits: it may still start.
	Run      *run.Run
	Omission *run.Omission
	Waits    bool
	// Why says in a few words why it had no run; "" if it had one.
	Why string
	URL string
}

// How many are shown, and how long a time may wait before it counts as one without a run.
const (
	mostRecent  = 20
	mostWithout = 15
	startWithin = 90 * time.Second
)

// recentOf gives the latest times, newest first: those that the schedule names since it is as it is, and before that,
// or where these cannot be told, those of which something is known.
func recentOf(k *known) []recent {
	s := k.scheduled
	if s == nil || s.Policy.Timing.Times == nil || s.Policy.Timing.Every != 0 {
		return remembered(k)
	}
	since := s.Owner.Created
	for _, t := range []*time.Time{s.Memory.Timing.Since, &s.Owner.ScheduleUnchangedSince} {
		if t != nil && t.After(since) {
			since = *t // before that it was another schedule
		}
	}
	runs := map[int64]*run.Run{}
	for i := len(k.runs) - 1; i >= 0; i-- {
		if r := &k.runs[i]; !r.ScheduledTime.IsZero() && (runs[r.ScheduledTime.Unix()] == nil || r.Retry >= runs[r.ScheduledTime.Unix()].Retry) {
			runs[r.ScheduledTime.Unix()] = r
		}
	}
	var all []recent
	for t := s.Policy.Timing.Times.LastBetween(since, k.now); !t.IsZero() && len(all) < mostRecent; {
		one := recent{At: t.UTC(), From: t.UTC(), Count: 1, Run: runs[t.Unix()]}
		if one.Run == nil {
			one.without(k, s)
		}
		one.URL = k.subject.WhyURL(one.At.Format(time.RFC3339))
		all = append(all, one)
		t = s.Policy.Timing.Times.LastBetween(since, one.From.Add(-time.Nanosecond))
	}
	for _, one := range remembered(k) {
		if len(all) < mostRecent && !one.At.After(since) {
			all = append(all, one)
		}
	}
	return all
}

// without says why a time had no run.
func (one *recent) without(k *known, s *workload.Scheduled) {
	for i := range k.omissions {
		o := &k.omissions[i]
		last := o.ScheduledTime
		if o.Until.After(last) {
			last = o.Until
		}
		if one.At.Before(o.ScheduledTime) || one.At.After(last) {
			continue
		}
		one.Omission, one.Why = o, whyOf(o)
		if o.ScheduledTime.Before(one.At) {
			one.From = o.ScheduledTime.UTC()
			one.Count = int64(s.Policy.Timing.Times.Count(one.From.Add(-time.Nanosecond), one.At))
		}
		return
	}
	reason := held(s, k.now)
	if one.Waits = reason == "" && k.now.Sub(one.At) < startWithin; !one.Waits {
		one.Why = "no run of it is known" + reason
	}
}

// held says that nothing of a schedule starts by its times now; "" if nothing keeps it. Since when that is so its
// object does not tell.
func held(s *workload.Scheduled, now time.Time) string {
	switch {
	case s.Policy.Suspend, s.Policy.SuspendUntil != nil && now.Before(*s.Policy.SuspendUntil):
		return "; it is suspended now"
	case s.Paused():
		return "; it is paused now"
	}
	return ""
}

// remembered gives what is known, without asking the schedule.
func remembered(k *known) []recent {
	var all []recent
	for _, e := range history.Of(k.runs, k.omissions, k.now).Entries {
		if len(all) == mostRecent {
			break
		}
		if e.Run != nil && !e.Run.ScheduledTime.IsZero() {
			all = append(all, recent{At: e.Run.ScheduledTime, From: e.Run.ScheduledTime, Count: 1, Run: e.Run, URL: k.subject.WhyURL(e.Run.ScheduledTime.UTC().Format(time.RFC3339))})
		}
		if e.Omission != nil {
			all = append(all, ofOmission(k, e.Omission))
		}
	}
	return all
}

// withoutOf gives the latest times without a run, newest first.
func withoutOf(k *known) []recent {
	var all []recent
	for i := range k.omissions[:min(len(k.omissions), mostWithout)] {
		all = append(all, ofOmission(k, &k.omissions[i]))
	}
	return all
}

func ofOmission(k *known, o *run.Omission) recent {
	one := recent{At: o.ScheduledTime.UTC(), From: o.ScheduledTime.UTC(), Count: max(1, o.Count), Omission: o, Why: whyOf(o)}
	if o.Until.After(o.ScheduledTime) {
		one.At = o.Until.UTC()
	}
	one.URL = k.subject.WhyURL(one.At.Format(time.RFC3339))
	return one
}

// whyOf says in a few words why nothing was started.
func whyOf(o *run.Omission) string {
	if text := run.OmissionText(o.Reason); text != "" {
		return text
	}
	if text := strings.TrimSuffix(strings.TrimSpace(o.Message), "."); text != "" {
		return text
	}
	return o.Reason
}

// newestWithout is the newest time without a run; zero if none is known.
func newestWithout(lists ...[]recent) (newest time.Time) {
	for _, list := range lists {
		for i := range list {
			if one := &list[i]; one.Run == nil && !one.Waits && one.At.After(newest) {
				newest = one.At
			}
		}
	}
	return newest
}

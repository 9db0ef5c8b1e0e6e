// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package now

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

const (
	// minutes is one more than an hour has: the hour mostly begins within one.
	minutes = 61
	// herdFor is how long a count is shown: a page that updates each second need not count again for it.
	herdFor = 10 * time.Second
	// walked is how many times of one schedule are gone through one after the other. Of more, each minute is counted.
	walked = minutes
)

// herd is how many starts each minute of the next hour has.
type herd struct {
	// From is the minute that it begins with.
	From   time.Time
	Counts [minutes]int
	// Total are all, Most those of the minute with the most of them, and At when that is.
	Total, Most int
	At          time.Time
}

// Column is one minute of the picture, which is 40 high.
type Column struct {
	X     int
	Y, H  float64
	At    time.Time
	Count int
}

// Columns are those that have a start.
func (h *herd) Columns() []Column {
	const height = 40
	var all []Column
	for n, count := range h.Counts {
		if count == 0 {
			continue
		}
		tall := max(2, height*float64(count)/float64(h.Most))
		all = append(all, Column{X: n * 10, Y: height - tall, H: tall, At: h.From.Add(time.Duration(n) * time.Minute), Count: count})
	}
	return all
}

// Quarters are the instants that are written under the picture.
func (h *herd) Quarters() []Column {
	var all []Column
	for n := range minutes {
		if at := h.From.Add(time.Duration(n) * time.Minute); at.Minute()%15 == 0 {
			all = append(all, Column{X: n * 10, At: at})
		}
	}
	return all
}

// herdOf counts the starts of all that is due, by the minute in which they are scheduled.
func herdOf(s *status.Status, schedules []*workload.Scheduled) *herd {
	h := &herd{From: s.Now.Truncate(time.Minute)}
	byUID := make(map[types.UID]*workload.Scheduled, len(schedules))
	for _, one := range schedules {
		byUID[one.Owner.UID] = one
	}
	until := s.Now.Add(s.Within)
	for i := range s.Due {
		d := &s.Due[i]
		if one := byUID[d.UID]; one != nil {
			h.add(d, one, until)
		}
	}
	for n, count := range h.Counts {
		h.Total += count
		if count > h.Most {
			h.Most, h.At = count, h.From.Add(time.Duration(n)*time.Minute)
		}
	}
	return h
}

func (h *herd) add(d *status.Due, one *workload.Scheduled, until time.Time) {
	times := one.Policy.Timing.Times
	switch {
	case d.Count == 1:
		h.count(d.At, 1)
	case d.Every > 0:
		for at := d.At; !at.After(until); at = at.Add(max(d.Every, time.Second)) {
			h.count(at, 1)
		}
	case d.Count > walked:
		first := d.At.Add(-time.Nanosecond)
		for n := range minutes {
			begin, end := h.From.Add(time.Duration(n)*time.Minute-time.Nanosecond), h.From.Add(time.Duration(n+1)*time.Minute-time.Nanosecond)
			if begin.Before(first) {
				begin = first
			}
			if end.After(until) {
				end = until
			}
			if end.After(begin) {
				h.Counts[n] += times.Count(begin, end)
			}
		}
	default:
		for at := d.At; !at.IsZero() && !at.After(until); at = times.Next(at) {
			h.count(at, 1)
		}
	}
}

func (h *herd) count(at time.Time, starts int) {
	if n := int(at.Sub(h.From) / time.Minute); n >= 0 && n < minutes {
		h.Counts[n] += starts
	}
}

// herds keeps the last count.
type herds struct {
	mu   sync.Mutex
	last *herd
	at   time.Time
}

func (h *herds) of(s *status.Status, schedules []*workload.Scheduled, now time.Time) *herd {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil || now.Sub(h.at) >= herdFor || now.Before(h.at) {
		h.last, h.at = herdOf(s, schedules), now
	}
	return h.last
}

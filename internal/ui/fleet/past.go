// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/history"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/statistics"
)

// How far back the page looks: so many weeks the calendar has, and so many days the charts.
const (
	calendarWeeks = 53
	leastWeeks    = 18
	chartDays     = 90
)

// dateFormat is how addresses write a day.
const dateFormat = time.DateOnly

// pastKey is what runs are added up by days for: the last of these days in a zone.
type pastKey struct {
	choice
	today, zone string
}

func pastKeyOf(c choice, now time.Time, zone *time.Location) pastKey {
	return pastKey{c, now.In(zone).Format(dateFormat), zone.String()}
}

// past are runs added up by days.
type past struct {
	// Days are the midnights between them, one more than Spans has.
	Days  []time.Time
	Spans []statistics.Span
	// Origin says where they come from.
	Origin string
}

// addUp does that.
func (f *fleet) addUp(ctx context.Context, k pastKey) (*past, error) {
	zone, err := time.LoadLocation(k.zone)
	if err != nil {
		return nil, err
	}
	today, err := time.Parse(dateFormat, k.today)
	if err != nil {
		return nil, err
	}
	days := calendarDays(today, zone)
	s, err := f.site.Source.Statistics(ctx, statistics.Query{Namespace: k.Namespace, OwnerKind: k.Kind, Bounds: days, Retrying: f.retrying})
	if err != nil {
		return nil, err
	}
	return &past{days, s.Spans, f.site.Source.Origin(ctx)}, nil
}

// retrying tells whether the scheduled time of a run that failed will be tried again.
func (f *fleet) retrying(r *run.Run) bool {
	s := f.site.Cache.Owner(r.Owner.UID)
	return s != nil && !r.ScheduledTime.IsZero() && s.TriesAgain(r.ScheduledTime, r.Retry)
}

// calendarDays are the midnights of a zone from a Monday a year ago to the end of today.
func calendarDays(today time.Time, zone *time.Location) []time.Time {
	y, m, d := today.Date()
	back := (calendarWeeks-1)*7 + (int(today.Weekday())+6)%7
	var days []time.Time
	for n := -back; n <= 1; n++ {
		days = append(days, history.Midnight(y, m, d+n, zone))
	}
	return days
}

// pastView is what the page shows of the past.
type pastView struct {
	// None: there is no run in all the time.
	None bool
	// Since is the first day with a run or something missed.
	Since time.Time
	// Total is the time of the charts, and TotalDays how many days of it had runs.
	Total     statistics.Span
	TotalDays int
	Charts    []chart
	Rows      []dayRow
	Calendar  calendar
	// Origin says where the runs come from.
	Origin string
	// Today is the day to begin with when one is looked for, First the earliest one, as forms write them.
	Today, First string
}

// dayRow is a day in a table.
type dayRow struct {
	statistics.Span
	Day time.Time
	URL string
}

// Rate is the share of runs that succeeded, in words.
func (r dayRow) Rate() string { return rateText(&r.Span) }

func dayURL(c choice, day time.Time) string {
	return c.url("/fleet/day", "date", day.Format(dateFormat))
}

func pastOf(p *past, c choice, now time.Time) *pastView {
	days := len(p.Spans)
	v := &pastView{None: true, Origin: p.Origin}
	if days == 0 {
		return v
	}
	v.Today, v.First = p.Days[days-1].Format(dateFormat), p.Days[0].Format(dateFormat)
	first := days - 1
	for n := range p.Spans {
		if s := &p.Spans[n]; s.Runs() > 0 || s.Missed > 0 || s.Skipped > 0 {
			v.None, first = false, n
			break
		}
	}
	v.Since = p.Days[first]
	begin := max(0, days-chartDays)
	for n := begin; n < days; n++ {
		s := &p.Spans[n]
		v.Total.Add(s)
		if s.Runs() > 0 || s.Missed > 0 {
			v.TotalDays++
			v.Rows = append(v.Rows, dayRow{*s, p.Days[n], dayURL(c, p.Days[n])})
		}
	}
	for i, j := 0, len(v.Rows)-1; i < j; i, j = i+1, j-1 {
		v.Rows[i], v.Rows[j] = v.Rows[j], v.Rows[i]
	}
	v.Charts = chartsOf(p.Days[begin:], p.Spans[begin:], c)
	v.Calendar = calendarOf(p, first, c, now)
	return v
}

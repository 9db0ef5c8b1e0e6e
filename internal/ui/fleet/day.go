// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/history"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/statistics"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// dayKey is a day, in a zone.
type dayKey struct {
	choice
	date, zone string
}

// dayCount are the runs of a day added up by hours, as many as it has.
type dayCount struct {
	Hours []time.Time
	Spans []statistics.Span
}

func (f *fleet) countDay(ctx context.Context, k dayKey) (*dayCount, error) {
	zone, err := time.LoadLocation(k.zone)
	if err != nil {
		return nil, err
	}
	day, err := time.Parse(dateFormat, k.date)
	if err != nil {
		return nil, err
	}
	hours := hoursOf(history.Midnight(day.Year(), day.Month(), day.Day(), zone))
	s, err := f.site.Source.Statistics(ctx, statistics.Query{Namespace: k.Namespace, OwnerKind: k.Kind, Bounds: hours, Retrying: f.retrying})
	if err != nil {
		return nil, err
	}
	return &dayCount{hours, s.Spans}, nil
}

// hoursOf are the hours of the day that begins then, and its end: 24 hours, or 23 or 25 where the clock changes.
func hoursOf(day time.Time) []time.Time {
	y, m, d := day.Date()
	end := history.Midnight(y, m, d+1, day.Location())
	hours := []time.Time{day}
	for at := day.Add(time.Hour); at.Before(end); at = at.Add(time.Hour) {
		hours = append(hours, at)
	}
	return append(hours, end)
}

// dayChoice is what a viewer of a day narrows it to.
type dayChoice struct {
	day time.Time
	// hour is the number of an hour of the day, -1 for all; outcome "" is any.
	hour    int
	outcome run.Outcome
	page    int
}

// outcomes are those that the list of a day can be narrowed to.
var outcomes = []struct {
	value, text string
	outcome     run.Outcome
}{
	{"", "All", ""}, {"failed", "Failed", run.Failed}, {"succeeded", "Succeeded", run.Succeeded}, {"active", "Not ended", run.Active},
	{"cancelled", "Cancelled", run.Cancelled}, {"unknown", "Unknown", run.Unknown},
}

func dayChoiceOf(q url.Values, now time.Time, zone *time.Location) (d dayChoice, err error) {
	date := now.In(zone)
	if text := q.Get("date"); text != "" {
		if date, err = time.Parse(dateFormat, text); err != nil || date.Year() < 1970 {
			return d, page.BadInput("A day is written like 2027-03-01.")
		}
	}
	d.day = history.Midnight(date.Year(), date.Month(), date.Day(), zone)
	d.hour = -1
	if text := q.Get("hour"); text != "" {
		if d.hour, err = strconv.Atoi(text); err != nil || d.hour < 0 || d.hour >= len(hoursOf(d.day))-1 {
			return d, page.BadInput("The hours of this day have the numbers 0 to %d.", len(hoursOf(d.day))-2)
		}
	}
	known := false
	for _, o := range outcomes {
		if o.value == q.Get("outcome") {
			d.outcome, known = o.outcome, true
		}
	}
	if !known {
		return d, page.BadInput("There is no outcome %q here. It is failed, succeeded, active, cancelled or unknown.", q.Get("outcome"))
	}
	d.page, err = pageOf(q)
	return d, err
}

// url is the address of a part of a day.
func (d dayChoice) url(c choice, hour int, outcome run.Outcome, number int) string {
	pairs := []string{"date", d.day.Format(dateFormat)}
	if hour >= 0 {
		pairs = append(pairs, "hour", strconv.Itoa(hour))
	}
	for _, o := range outcomes {
		if o.outcome == outcome {
			pairs = append(pairs, "outcome", o.value)
		}
	}
	if number > 1 {
		pairs = append(pairs, "page", strconv.Itoa(number))
	}
	return c.url("/fleet/day", pairs...)
}

// dayView is what the page of one day shows.
type dayView struct {
	Choice choice
	Filter filter
	State  section
	Day    time.Time
	// Total is that of the day, or of the hour that is chosen.
	Total statistics.Span
	Hours []hourRow
	// Hour is the chosen one; nil if none is.
	Hour *hourRow
	// All is the address of all hours.
	All      string
	Outcomes []link
	Runs     []*run.Run
	Pager    page.Pager
	// Further: there are more runs than are shown page by page.
	Further   bool
	Omissions []run.Omission
	MoreOmit  bool
	Before    link
	After     *link
	Future    bool
	// RunsFault says why runs cannot be shown.
	RunsFault string
	// Timeline is the address of the timeline of the day.
	Timeline string
}

// hourRow is an hour of a day.
type hourRow struct {
	statistics.Span
	From, Until time.Time
	URL         string
	Current     bool
	// Name is its beginning on the clock; with the zone where the clock shows it twice.
	Name string
	Bars []bar
}

// Words are what was in it.
func (h hourRow) Words() string { return spanText(&h.Span) }

// lastPage is how far a list goes: what is further down is found by an hour or an outcome.
const lastPage = 100

func (f *fleet) showDay(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	c, err := choiceOf(q)
	if err != nil {
		return err
	}
	now, zone := f.site.Clock(), page.ZoneOf(r)
	d, err := dayChoiceOf(q, now, zone)
	if err != nil {
		return err
	}
	d.page = min(d.page, lastPage)
	v := &dayView{Choice: c, Day: d.day, Future: d.day.After(now), All: d.url(c, -1, d.outcome, 1), Timeline: timelineURL(c, d.day)}
	if v.Filter, err = f.filter(r, "/fleet/day", map[string]string{"date": d.day.Format(dateFormat)}); err != nil {
		return err
	}
	y, m, day := d.day.Date()
	v.Before = link{Text: "The day before", URL: dayURL(c, history.Midnight(y, m, day-1, zone))}
	if next := history.Midnight(y, m, day+1, zone); !next.After(now) {
		v.After = &link{Text: "The day after", URL: dayURL(c, next)}
	}
	if !v.Future {
		count, ready, err := f.days.get(dayKey{c, d.day.Format(dateFormat), zone.String()}, f.patience)
		if v.State = sectionOf(ready, err); ready && err == nil {
			v.fill(count, d)
			f.listDay(r.Context(), v, d, count)
		}
	}
	if v.State.Counting {
		w.Header().Set("Refresh", "1") // also where no script runs
	}
	return f.site.Render(w, r, dayPages, page.View{Title: d.day.Format("Monday, 2 January 2006"), Section: page.Fleet, Data: v, Styles: []string{"fleet.css"},
		Crumbs: []page.Crumb{{Text: "Fleet", URL: c.url("/fleet")}}})
}

// timelineURL is the address of the timeline of a day. That narrows to a namespace, and not to a kind.
func timelineURL(c choice, day time.Time) string {
	return choice{Namespace: c.Namespace}.url("/timeline", "zoom", "1d", "date", day.Format(dateFormat))
}

// fill prepares what is shown of the numbers.
func (v *dayView) fill(count *dayCount, d dayChoice) {
	most := 1
	for n := range count.Spans {
		most = max(most, count.Spans[n].Runs())
	}
	for n := range count.Spans {
		s := &count.Spans[n]
		row := hourRow{Span: *s, From: count.Hours[n], Until: count.Hours[n+1], URL: d.url(v.Choice, n, d.outcome, 1), Current: n == d.hour, Name: count.Hours[n].Format("15:04"), Bars: hourBars(s, most)}
		if len(count.Spans) != 24 && n > 0 && count.Hours[n-1].Hour() == count.Hours[n].Hour() || n+1 < len(count.Spans) && count.Hours[n+1].Hour() == count.Hours[n].Hour() {
			row.Name = count.Hours[n].Format("15:04 MST")
		}
		if d.hour < 0 || n == d.hour {
			v.Total.Add(s)
		}
		v.Hours = append(v.Hours, row)
	}
	if d.hour >= 0 {
		v.Hour = &v.Hours[d.hour]
	}
	for _, o := range outcomes {
		// Whether something failed is asked first; what else did not happen needs no word.
		if n := outcomeCount(&v.Total, o.outcome); n > 0 || o.outcome == d.outcome || o.outcome == "" || o.outcome == run.Failed {
			v.Outcomes = append(v.Outcomes, link{o.text + " " + quantity.Grouped(n), d.url(v.Choice, d.hour, o.outcome, 1), o.outcome == d.outcome})
		}
	}
}

// outcomeCount is how many runs of a span have an outcome; "" is any.
func outcomeCount(s *statistics.Span, o run.Outcome) int {
	switch o {
	case run.Failed:
		return s.Failed
	case run.Succeeded:
		return s.Succeeded
	case run.Active:
		return s.Active + s.Left
	case run.Cancelled:
		return s.Cancelled
	case run.Unknown:
		return s.Unknown
	}
	return s.Runs()
}

// hourBars are the parts of an hour's bar, as shares of 100 of the fullest hour.
func hourBars(s *statistics.Span, most int) []bar {
	var all []bar
	x := 0.0
	for _, part := range []struct {
		class string
		runs  int
	}{{"failed", s.Failed}, {"succeeded", s.Succeeded}, {"cancelled", s.Cancelled + s.Unknown + s.Left}, {"active", s.Active}} {
		if part.runs > 0 {
			width := 100 * float64(part.runs) / float64(most)
			all = append(all, bar{X: tenth(x), Width: max(tenth(width), 0.5), Class: part.class})
			x += width
		}
	}
	return all
}

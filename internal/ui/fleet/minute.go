// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/forecast"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// perPage is how many rows a list has.
const perPage = 50

// minuteView is what the page of one minute shows.
type minuteView struct {
	Choice choice
	Filter filter
	State  section
	At     time.Time
	// Outside: the minute is not in the next 24 hours. Past: it is over, and DayURL shows what ran on its day.
	Outside, Past bool
	DayURL        string
	// Starts are all of the minute, Objects those who make them, Running the runs that are active at once.
	Starts, Objects, Running int
	Rows                     []startingRow
	Pager                    page.Pager
	// Around are the minutes before and after it.
	Around []aroundRow
	// Advised tells whether a row has another schedule.
	Advised bool
	// From and Until are what the forecast spans.
	From, Until time.Time
}

// startingRow is an object that starts in the minute.
type startingRow struct {
	Kind, Namespace, Name, URL string
	Schedule                   string
	Starts                     []time.Time
	// TryURL is where its schedule can be tried, EditURL where it can be changed; "" if it cannot.
	TryURL, EditURL string
	// Advised is the schedule that the forecast would give it; "" if none.
	Advised, AdvisedURL string
}

// aroundRow is a minute near by.
type aroundRow struct {
	At     time.Time
	URL    string
	Starts int
	// Share is the length of its bar, of 100.
	Share   float64
	Current bool
}

// around is how many minutes before and after are shown.
const around = 5

// minuteOf reads the time of a minute, to the minute.
func minuteOf(q url.Values) (time.Time, error) {
	for _, layout := range []string{"2006-01-02T15:04Z07:00", time.RFC3339} {
		if at, err := time.Parse(layout, q.Get("at")); err == nil {
			return at.UTC().Truncate(time.Minute), nil
		}
	}
	return time.Time{}, page.BadInput("The time of a minute is written like 2027-03-01T00:00Z, as at=.")
}

// pageOf reads the number of a page, from 1 on.
func pageOf(q url.Values) (int, error) {
	if q.Get("page") == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(q.Get("page"))
	if err != nil || n < 1 || n > 1_000_000 {
		return 0, page.BadInput("A page has a number from 1 on.")
	}
	return n, nil
}

// pager leads through rows, of which those from first on are shown.
func pager(number, shown, total int, address func(page int) string) page.Pager {
	p := page.Pager{}
	first := (number - 1) * perPage
	if shown > 0 {
		p.Text = fmt.Sprintf("%s to %s of %s", quantity.Grouped(first+1), quantity.Grouped(first+shown), quantity.Grouped(total))
	}
	if number > 1 {
		p.Previous = address(number - 1)
	}
	if first+shown < total {
		p.Next = address(number + 1)
	}
	return p
}

func (f *fleet) showMinute(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	c, err := choiceOf(q)
	if err != nil {
		return err
	}
	at, err := minuteOf(q)
	if err != nil {
		return err
	}
	number, err := pageOf(q)
	if err != nil {
		return err
	}
	now, zone := f.site.Clock(), page.ZoneOf(r)
	v := &minuteView{Choice: c, At: at}
	if v.Filter, err = f.filter(r, "/fleet/minute", map[string]string{"at": q.Get("at")}); err != nil {
		return err
	}
	k, ready, err := f.coming.get(c, f.patience)
	if v.State = sectionOf(ready, err); ready && err == nil {
		v.fill(k, number, now, zone, f.site.Server != nil && !f.site.ReadOnly)
	}
	if v.State.Counting {
		w.Header().Set("Refresh", "1") // also where no script runs
	}
	title := "What starts at " + at.In(zone).Format("15:04 on Mon 2 Jan")
	return f.site.Render(w, r, minutes, page.View{Title: title, Section: page.Fleet, Data: v, Styles: []string{"fleet.css"},
		Crumbs: []page.Crumb{{Text: "Fleet", URL: c.url("/fleet")}}})
}

// fill prepares what is shown of a forecast.
func (v *minuteView) fill(k *coming, number int, now time.Time, zone *time.Location, edits bool) {
	f := k.Forecast
	v.From, v.Until = f.From, f.Until()
	n := int(v.At.Sub(f.From) / time.Minute)
	if v.At.Before(f.From) || n >= len(f.Starts) {
		v.Outside, v.Past = true, v.At.Before(now)
		v.DayURL = dayURL(v.Choice, v.At.In(zone))
		return
	}
	v.Starts, v.Running = int(f.Starts[n]), int(f.Running[n])
	all := f.StartingAt(v.At)
	v.Objects = len(all)
	first := min((number-1)*perPage, len(all))
	for _, s := range all[first:min(first+perPage, len(all))] {
		row := startingRowOf(&s, k, zone, edits)
		v.Advised = v.Advised || row.Advised != ""
		v.Rows = append(v.Rows, row)
	}
	v.Pager = pager(number, len(v.Rows), len(all), func(page int) string {
		return v.Choice.url("/fleet/minute", "at", v.At.Format("2006-01-02T15:04Z"), "page", strconv.Itoa(page))
	})
	most := int64(1)
	begin, end := max(n-around, 0), min(n+around+1, len(f.Starts))
	for _, starts := range f.Starts[begin:end] {
		most = max(most, starts)
	}
	for i := begin; i < end; i++ {
		at := f.From.Add(time.Duration(i) * time.Minute)
		v.Around = append(v.Around, aroundRow{at, minuteURL(v.Choice, at), int(f.Starts[i]), tenth(100 * float64(f.Starts[i]) / float64(most)), i == n})
	}
}

func startingRowOf(s *forecast.Starting, k *coming, zone *time.Location, edits bool) startingRow {
	o, info := s.Object, s.Object.Kind.Info().Owner
	row := startingRow{Kind: info.Kind, Namespace: o.Owner.Namespace, Name: o.Owner.Name, Schedule: s.Schedule, Starts: s.Starts,
		URL: page.ScheduleURL(info.GroupVersion().String(), info.Kind, o.Owner.Namespace, o.Owner.Name), Advised: k.Advised[o]}
	if edits {
		row.EditURL = page.ActURL("edit", info.GroupVersion().String(), info.Kind, o.Owner.Namespace, o.Owner.Name)
	}
	if row.Advised != "" {
		row.AdvisedURL = simulateURL(row.Advised, o.Policy.Timing.ZoneName, zone)
	}
	return row
}

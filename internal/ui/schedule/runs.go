// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/history"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// pageSize is how many runs a page of the table has.
const pageSize = 25

// asked is which page of the table somebody wants to see.
type asked struct {
	// filter is the word of the query, outcomes what it means. omitted: times without a run alone.
	filter   string
	outcomes []run.Outcome
	omitted  bool
	// until is before which the page begins; zero for the newest.
	until time.Time
	// day is what was written to jump to.
	day string
}

// filters are the choices of outcomes, in their order.
var filters = []struct {
	word, text string
	outcomes   []run.Outcome
	omitted    bool
}{
	{"", "All", nil, false},
	{"failed", "Failed", []run.Outcome{run.Failed}, false},
	{"succeeded", "Succeeded", []run.Outcome{run.Succeeded}, false},
	{"active", "Not ended", []run.Outcome{run.Active}, false},
	{"cancelled", "Cancelled, unknown", []run.Outcome{run.Cancelled, run.Unknown}, false},
	{"none", "Without a run", nil, true},
}

// askedOf reads a query: "outcome" is a filter, "before" a time, and "run" a day, or a time, to jump to. fault says
// what is wrong with what was written; "" if nothing is. Unknown words of links are taken as if they were not there.
func askedOf(r *http.Request, zone *time.Location) (a asked, fault string) {
	q := r.URL.Query()
	for _, f := range filters {
		if f.word == q.Get("outcome") {
			a.filter, a.outcomes, a.omitted = f.word, f.outcomes, f.omitted
		}
	}
	if t, err := time.Parse(time.RFC3339Nano, q.Get("before")); err == nil && sensible(t) {
		a.until = t.UTC()
	}
	a.day = strings.TrimSpace(q.Get("run"))
	if a.day == "" {
		return a, ""
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		t, err := time.ParseInLocation(layout, a.day, zone)
		if err != nil || !sensible(t) {
			continue
		}
		if a.until = t.Add(time.Minute); layout == time.DateOnly {
			a.until = t.AddDate(0, 0, 1)
		}
		return a, ""
	}
	return a, fmt.Sprintf("%q is no day: write it as 2026-11-20, or with a time, 2026-11-20 02:00.", shortened(a.day))
}

// sensible tells whether a journal can be asked about a time.
func sensible(t time.Time) bool { return t.Year() >= 1970 && t.Year() < 3000 }

func shortened(text string) string {
	if letters := []rune(text); len(letters) > 40 {
		return string(letters[:40]) + "…"
	}
	return text
}

// runsPage is one page of the table.
type runsPage struct {
	Rows    []row
	Filters []filter
	// Filter and Day are what was asked for. DayFault says what is wrong with the latter.
	Filter, Day, DayFault string
	// Asked: not just the newest of all are shown.
	Asked bool
	// Newest and Older are addresses; "" if there is nothing newer or older.
	Newest, Older string
	// From and Until are the times of the first and the last row, the oldest first.
	From, Until time.Time
}

// OmittedURL leads to the times without a run.
func (p *runsPage) OmittedURL() string { return p.Filters[len(p.Filters)-1].URL }

// filter is a choice of outcomes.
type filter struct {
	Text, URL string
	Current   bool
}

// row is a run, or a time without one.
type row struct {
	history.Entry
	// Why says why a run ended as it did, in a few words; Detail says more, and Told what its object says itself.
	Why, Detail, Told string
	// Late: it started noticeably after its time.
	Late bool
	// Long: it took longer than 95 of 100 others. WhyURL is for a time without a run.
	Long   bool
	WhyURL string
	// Earlier: it is of an earlier object of the same name.
	Earlier bool
}

func runsOf(k *known, zone *time.Location) runsPage {
	runs := k.page
	if k.scheduled != nil {
		runs = k.scheduled.MarkRetrying(runs)
	}
	present, _ := k.present()
	took := history.Summarize(present, nil, k.now).Took
	p := runsPage{Filter: k.asked.filter, Day: k.asked.day, Asked: k.asked.filter != "" || k.asked.day != "" || !k.asked.until.IsZero()}
	for _, f := range filters {
		p.Filters = append(p.Filters, filter{f.text, k.runsURL(f.word, time.Time{}), f.word == k.asked.filter})
	}
	for _, e := range history.Of(runs, k.pageOmitted, k.now).Entries {
		r := row{Entry: e}
		if o := e.Omission; o != nil {
			r.Why, r.Earlier = omissionText(o), k.earlier(o.Owner)
			r.WhyURL = k.subject.WhyURL(o.ScheduledTime.UTC().Format(time.RFC3339))
		} else {
			r.Late = e.Run.Lateness() > history.Late
			r.Why, r.Detail, r.Told = ending(e.Run)
			r.Earlier = k.earlier(e.Run.Owner)
			r.Long = !r.Earlier && took.Runs >= leastForPercentile && e.Run.Outcome == run.Succeeded && e.Run.Duration(k.now) > took.Percentile95
		}
		p.Rows = append(p.Rows, r)
	}
	if len(p.Rows) > 0 {
		p.Until, p.From = p.Rows[0].Time(), p.Rows[len(p.Rows)-1].Time()
	}
	if !k.asked.until.IsZero() {
		p.Newest = k.runsURL(k.asked.filter, time.Time{})
	}
	if !k.older.IsZero() {
		p.Older = k.runsURL(k.asked.filter, k.older)
	}
	return p
}

// runsURL is the address of a page of the table.
func (k *known) runsURL(filter string, before time.Time) string {
	u, err := url.Parse(k.subject.URL())
	if err != nil {
		return k.subject.URL() // it was made by us
	}
	q := u.Query()
	if filter != "" {
		q.Set("outcome", filter)
	}
	if !before.IsZero() {
		q.Set("before", before.UTC().Format(time.RFC3339Nano))
	}
	u.RawQuery, u.Fragment = q.Encode(), "runs"
	return u.String()
}

// signals are the ones that end programs most often.
var signals = map[int32]string{137: "killed (SIGKILL)", 143: "asked to end (SIGTERM)", 139: "crashed (SIGSEGV)", 134: "aborted (SIGABRT)"}

// ending says why a run ended as it did; told is what its object says itself.
func ending(r *run.Run) (why, detail, told string) {
	if r.ExitCode != nil && (*r.ExitCode != 0 || r.Outcome == run.Failed) {
		why = fmt.Sprintf("exit code %d", *r.ExitCode)
		if words := signals[*r.ExitCode]; words != "" {
			why += ": " + words
		}
	}
	detail, told = page.Ending(r)
	return why, detail, told
}

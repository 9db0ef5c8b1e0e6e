// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet is the page about all schedules together: what starts in the next 24 hours, and how runs went.
//
//   - fleet.go     the pages, and how long what they show is kept
//   - choice.go    what a viewer narrows it to
//   - kept.go      results that take long to make
//   - coming.go    the forecast of the next 24 hours
//   - starts.go    what it shows of that, in words and tables; picture.go draws the starts
//   - minute.go    the page of one minute: who starts in it
//   - past.go      runs added up by days
//   - chart.go     pictures of days: runs, success, durations
//   - calendar.go  a year as a calendar
//   - ranking.go   the slowest, the latest, the most retried
//   - day.go       the page of one day: the runs behind a figure; daylist.go lists them
//   - scale.go     axes and their numbers
//   - fleet.js     zoom and cursor for the picture of starts, where scripts run
package fleet

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

//go:embed *.html *.css *.js
var files embed.FS

var (
	_        = page.AddAssets(files, "fleet.css", "fleet.js")
	tmpl     = page.Parse(files, "parts.html", "fleet.html")
	minutes  = page.Parse(files, "parts.html", "minute.html")
	dayPages = page.Parse(files, "parts.html", "day.html")
)

// How long things are kept, and how long a page waits for what is not there yet, before it says that it is counted.
const (
	comingFor = time.Minute
	pastFor   = 30 * time.Second
	dayFor    = 5 * time.Second
	patience  = 220 * time.Millisecond
)

// fleet is the page, with what it keeps.
type fleet struct {
	site   *page.Site
	coming *kept[choice, *coming]
	past   *kept[pastKey, *past]
	rank   *kept[rankingKey, *ranking]
	days   *kept[dayKey, *dayCount]
	// patience is how long a page waits.
	patience time.Duration
}

// Register puts it on the site.
func Register(s *page.Site) { register(s, patience) }

func register(s *page.Site, wait time.Duration) {
	f := &fleet{site: s, patience: wait}
	f.coming = newKept(s, comingFor, f.forecast)
	f.past = newKept(s, pastFor, f.addUp)
	f.rank = newKept(s, pastFor, f.rankOwners)
	f.days = newKept(s, dayFor, f.countDay)
	s.Handle("GET /fleet", f.show)
	s.Handle("GET /fleet/starts.json", f.starts)
	s.Handle("GET /fleet/minute", f.showMinute)
	s.Handle("GET /fleet/day", f.showDay)
}

// section is one part of the page: it is there, or is being counted, or cannot be.
type section struct {
	// Counting: it is not there yet.
	Counting bool
	// Fault says why it cannot be shown; "" if it can.
	Fault string
}

func sectionOf(ready bool, err error) section {
	if errors.Is(err, context.Canceled) { // what the page looks at is opened anew: it is counted there
		return section{Counting: true}
	}
	if err != nil {
		return section{Fault: err.Error()}
	}
	return section{Counting: !ready}
}

// content is what the page shows.
type content struct {
	Choice  choice
	Filter  filter
	Windows []link
	// Reload is the address that shows the page anew.
	Reload string

	StartsState section
	Starts      *startsView
	PastState   section
	Past        *pastView
	RankState   section
	Ranking     *ranking

	// NoServer: no schedules are known, only runs. Objects: runs are those whose objects are still there.
	NoServer, Objects bool
	// Unread is what cannot be seen.
	Unread status.Unread
}

// Counting tells whether something is not there yet.
func (c *content) Counting() bool {
	return c.StartsState.Counting || c.PastState.Counting || c.RankState.Counting
}

func (f *fleet) show(w http.ResponseWriter, r *http.Request) error {
	c, err := choiceOf(r.URL.Query())
	if err != nil {
		return err
	}
	window, err := windowOf(r.URL.Query())
	if err != nil {
		return err
	}
	now, zone := f.site.Clock(), page.ZoneOf(r)
	days, owners := pastKeyOf(c, now, zone), rankingKey{c, window}
	// All of it begins at once, and the page waits once.
	f.coming.begin(c)
	f.past.begin(days)
	f.rank.begin(owners)
	until := time.After(f.patience)
	v := &content{Choice: c, Windows: windows(c, window), Reload: r.URL.RequestURI(), NoServer: f.site.Server == nil,
		Objects: !lookup.Remembers(f.site.Source), Unread: f.site.Cache.Unread()}
	if v.Filter, err = f.filter(r, "/fleet", map[string]string{"days": window.text()}); err != nil {
		return err
	}
	coming, ready, err := f.coming.wait(c, until)
	if v.StartsState = sectionOf(ready, err); ready && err == nil {
		v.Starts = startsOf(coming, c, now, zone)
	}
	past, ready, err := f.past.wait(days, until)
	if v.PastState = sectionOf(ready, err); ready && err == nil {
		v.Past = pastOf(past, c, now)
	}
	if v.Ranking, ready, err = f.rank.wait(owners, until); !ready || err != nil {
		v.Ranking = nil
	}
	v.RankState = sectionOf(ready, err)
	if v.Counting() {
		w.Header().Set("Refresh", "1") // also where no script runs
	}
	return f.site.Render(w, r, tmpl, page.View{Title: "Fleet", Section: page.Fleet, Data: v, Styles: []string{"vendor/uPlot.min.css", "fleet.css"},
		Scripts: []string{"vendor/uPlot.min.js", "fleet.js"}})
}

// starts gives the numbers behind the picture of starts, for the script that draws them with a zoom.
func (f *fleet) starts(w http.ResponseWriter, r *http.Request) error {
	c, err := choiceOf(r.URL.Query())
	if err != nil {
		return err
	}
	coming, ready, err := f.coming.get(c, f.patience)
	if err != nil {
		return err
	}
	if !ready {
		return page.NotFound("The starts are still being counted.")
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	return json.NewEncoder(w).Encode(map[string]any{"from": coming.Forecast.From.Unix(), "starts": coming.Forecast.Starts, "running": coming.Forecast.Running})
}

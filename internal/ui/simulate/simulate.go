// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulate is the page where one tries an expression: what it means, when it comes, what surprises, and what
// would become of its runs. Nothing is started for it, and all that is asked is in the address.
//
//   - simulate.go  the handler
//   - form.go      what is asked, as it was written
//   - read.go      … read, and what is wrong with it
//   - object.go    the CronJob or Timetable that is asked about
//   - outcome.go   what is answered
//   - times.go     … its next times
//   - happened.go  … what would happen, one thing after the other
//   - picture.go   … and as a picture
//   - zones.go     the time zones that are offered
package simulate

import (
	"context"
	"embed"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

//go:embed *.html *.css
var files embed.FS

var (
	tmpl = page.Parse(files, "simulate.html", "outcome.html")
	_    = page.AddAssets(files, "simulate.css")
)

// atOnce is how many are answered at the same time: whoever reloads the page again and again waits for himself.
const atOnce = 2

// longestWork is how long one answer may be worked out.
const longestWork = 700 * time.Millisecond

// content is what the template shows.
type content struct {
	Form *form
	// Outcome is the answer; nil if nothing was asked yet, or if something is wrong with it.
	Outcome *outcome
	Zones   []string
	// Unread says why what the address names cannot be read now; "" if it could.
	Unread string
}

// Register puts it on the site.
func Register(s *page.Site) {
	slots := make(chan struct{}, atOnce)
	s.Handle("GET /simulate", func(w http.ResponseWriter, r *http.Request) error {
		ctx, zone := r.Context(), page.ZoneOf(r)
		f := formOf(r.URL.Query())
		var base *workload.Scheduled
		if f.Of != "" {
			var err error
			unread := ""
			if base, unread, err = find(ctx, s, f.Of); err != nil {
				return err
			}
			if base == nil {
				c := &content{Form: &form{}, Zones: zones(zone.String()), Unread: unread}
				return s.Render(w, r, tmpl, page.View{Title: "Simulate", Section: page.Simulate, Styles: []string{"simulate.css"}, Data: c})
			}
			f.fillFrom(base)
		}
		c := &content{Form: &f, Zones: zones(zone.String())}
		v := page.View{Title: "Simulate", Section: page.Simulate, Styles: []string{"simulate.css"}, Data: c}
		if !f.Asked() {
			return s.Render(w, r, tmpl, v)
		}
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-ctx.Done():
			return ctx.Err()
		}
		until := time.Now().Add(longestWork) // work takes real time, whatever the site's clock shows
		enough := func() bool { return ctx.Err() != nil || time.Now().After(until) }
		c.Outcome = c.Form.answer(base, s.Clock(), zone, enough)
		if len(c.Form.Faults) > 0 {
			c.Outcome = nil
			return s.RenderInvalid(w, r, tmpl, v)
		}
		return s.Render(w, r, tmpl, v)
	})
}

// find gives the object that a reference with its namespace names: "cronjob/shop/backup"; nil, and why, if nobody can
// tell now whether there is one.
func find(ctx context.Context, s *page.Site, of string) (found *workload.Scheduled, unread string, err error) {
	parts := strings.Split(of, "/")
	if len(parts) != 3 {
		return nil, "", page.BadInput("%q names no schedule: it is cronjob/NAMESPACE/NAME or timetable/NAMESPACE/NAME.", of)
	}
	all, err := s.Cache.Schedules(ctx)
	if err != nil {
		return nil, "", err
	}
	for _, one := range all {
		if isKind(parts[0], one.Kind.Info().Owner) && one.Owner.Namespace == parts[1] && one.Owner.Name == parts[2] {
			if one.Unreadable != nil {
				return nil, "", page.BadInput("%s cannot be read: %s.", of, one.Unreadable.Error())
			}
			return one, "", nil
		}
	}
	if s.Server == nil {
		return nil, of + " cannot be read now: there is no API server to ask, only the journal", nil
	}
	if notes := s.UnreadSchedules(); len(notes) > 0 {
		return nil, of + " cannot be read now: " + strings.Join(notes, "; "), nil
	}
	return nil, "", page.NotFound("There is no %s %s in namespace %s.", parts[0], parts[2], parts[1])
}

// isKind tells whether the word of a reference means a kind: "cronjob", or "cronjob.batch.volcano.sh", which means no
// other one.
func isKind(word string, owner schema.GroupVersionKind) bool {
	name, group, grouped := strings.Cut(word, ".")
	return strings.EqualFold(name, owner.Kind) && (!grouped || group == owner.Group)
}

// exampleLink leads to something to try.
type exampleLink struct {
	Schedule, Text, URL string
}

// Examples are what one may try first.
func (c *content) Examples() []exampleLink {
	var all []exampleLink
	for _, e := range []struct {
		form form
		text string
	}{
		{form{Schedule: "0 7 * * 1-5", Zone: "Europe/Berlin"}, "each working day, where clocks change twice a year"},
		{form{Schedule: "30 2 * * *", Zone: "Europe/Berlin", From: "2027-03-26", For: "4d"}, "a time that the clock skips once a year"},
		{form{Schedule: "*/10 * * * *", Duration: "p50=8m,p99=25m", Policy: "Forbid"}, "runs that are sometimes longer than the distance between them"},
		{form{Schedule: "0 * * * *", Outage: "+3h..+9h", Deadline: "2h"}, "what is made up for after a night without a controller"},
		{form{Schedule: "*/45 * * * *"}, "a step that does not divide the hour"},
		{form{Schedule: "0 18 L * *\nevery 6h", Zone: "America/New_York", For: "7d"}, "two schedules in a Timetable"},
	} {
		all = append(all, exampleLink{e.form.Schedule, e.text, e.form.URL()})
	}
	return all
}

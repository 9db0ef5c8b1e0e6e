// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package page is what all pages share: what they look at, how they are laid out, how times, outcomes and names are
// written, and how faults are told.
//
//   - page.go        Site, what a page has to look at, and View, one page
//   - render.go      a View as HTML; handlers, and faults as pages
//   - recent.go      faults that have been logged already
//   - visible.go     characters that would not be seen
//   - words.go       times, durations and counts as the templates write them
//   - confine.go     which names and namespaces an address may have
//   - link.go        addresses of schedules, runs and acts
//   - subject.go     the schedule that an address names
//   - preference.go  time zone and colours, as the viewer wants them
//   - assets.go      style sheets, scripts and icons
//
// A page is a package beside this one. It registers its handlers, reads what it needs, and gives a View with a template
// of its own, which fills "content" of layout.html.
package page

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Site is what all pages look at. Its fields are not changed once it serves.
type Site struct {
	// Name says whose page it is: "this machine", or the context of a kubeconfig.
	Name string
	// Kubectl is the command that speaks to the same API server, for advice: "carillon kubectl", "kubectl --context x".
	Kubectl string
	// Server is the API server, with the credentials of the user; nil if only a journal is looked at.
	Server *cluster.Server
	// Namespace is the only one that is shown; "" for all.
	Namespace string
	// Source is where runs are looked up.
	Source lookup.Source
	// Cache knows the schedules and what runs.
	Cache Cache
	// ReadOnly: no page offers to change anything, and acts say so.
	ReadOnly bool
	// Clock gives the time, once for each request.
	Clock func() time.Time
	// Log is told of faults that are not the viewer's.
	Log *slog.Logger
	// Life ends what goes on beside requests; nil: nothing does. Beside counts that: Source is closed when it is over.
	// Only what a request does may add to it.
	Life   context.Context //nolint:containedctx // it is that of the site
	Beside sync.WaitGroup

	mux      *http.ServeMux
	patterns []string
	logged   recent
}

// Cache is what is known at once; cache.Cache is one. Its methods may be called at once and take no time, but for the
// first answer of an API server. Nobody may modify what they give.
type Cache interface {
	// Schedules are the CronJobs and Timetables, by namespace, name and kind. They are slim (workload.Scheduled.Slim):
	// Content is nil (Kind.Info().Owner tells their kind, ScheduleText the schedule of a CronJob, Written what is left of
	// the object), and Typed lacks the template of Pods. What needs all of an object reads it from the API server.
	Schedules(ctx context.Context) ([]*workload.Scheduled, error)
	// Find gives the one with this name; nil if there is none. kind is its Kind in whatever letters, group the API group
	// of a CronJob, "" for batch.
	Find(ctx context.Context, group, kind, namespace, name string) (*workload.Scheduled, error)
	// Owner gives the one with this UID; nil if it is not known.
	Owner(uid types.UID) *workload.Scheduled
	// Active are the Jobs that have not ended of the schedule with this UID, newest first; with "" those of all. What
	// else a Timetable may start only Source knows.
	Active(owner types.UID) []run.Run
	// Status is what goes on: what failed and was missed in the last 24 hours, and what is due within the next one. It
	// is at most a few seconds old.
	Status(ctx context.Context) (*status.Status, error)
	// Notes say what is not known, and why, each in one line: "CronJobs may not be read: …".
	Notes() []string
	// Unread says what cannot be seen, so that none known does not mean none.
	Unread() status.Unread
	// Changes gives a channel that has a value when something has changed since the last one was taken, at most one a
	// second, and one every 15 seconds in any case, so that ages move; it is closed when ctx ends.
	Changes(ctx context.Context) <-chan struct{}
}

// Section is a part of the site that the navigation leads to.
type Section string

// The sections, in their order.
const (
	Now       Section = "now"
	Timeline  Section = "timeline"
	Fleet     Section = "fleet"
	Schedules Section = "schedules"
	Simulate  Section = "simulate"
)

// Crumb is one step of the way to a page.
type Crumb struct{ Text, URL string }

// View is one page for one viewer. Handlers fill in the exported fields; templates call the methods, too.
type View struct {
	// Title names the page, in its heading and the window's title.
	Title string
	// Section is the one that the page belongs to; "" if none.
	Section Section
	// Crumbs are the way to the page from its section.
	Crumbs []Crumb
	// Live: the page is read again when something has changed. Where it lies open, nothing that somebody has typed or
	// opened is lost.
	Live bool
	// Outside: the viewer has no session, and sees nothing of the site but this page.
	Outside bool
	// Styles and Scripts are assets that this page needs beside the shared ones: "fleet.css".
	Styles, Scripts []string
	// Data is for the page's own template.
	Data any

	// What follows is filled in by Render.

	// Now is the time of the request, and Zone the time zone of the viewer.
	Now  time.Time
	Zone *time.Location
	// Site is what is looked at.
	Site *Site
	// URL is the address of this page, with its query.
	URL string
	// CSRF is what each form must send as the field "csrf".
	CSRF string
	// Theme is "light", "dark" or "auto".
	Theme string
	// Notice is what has just been done, once, after an act; "" if nothing was.
	Notice string
}

// New gives the handler of a site; the packages of pages register on it before it serves.
func New(s *Site) *Site {
	s.mux = http.NewServeMux()
	if s.Life == nil {
		s.Life = context.Background()
	}
	s.assets()
	s.preferences()
	return s
}

// ServeHTTP implements http.Handler.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Patterns are those that handlers were registered for.
func (s *Site) Patterns() []string { return s.patterns }

// Navigation is what leads to the sections.
func (v *View) Navigation() []NavigationItem {
	return []NavigationItem{{string(Now), "Now", "/"}, {string(Timeline), "Timeline", "/timeline"}, {string(Fleet), "Fleet", "/fleet"},
		{string(Schedules), "Schedules", "/schedules"}, {string(Simulate), "Simulate", "/simulate"}}
}

// NavigationItem leads to a section.
type NavigationItem struct{ Name, Text, URL string }

// Themes are the choices of colours.
func (v *View) Themes() []string { return []string{"auto", "light", "dark"} }

// ZoneName names the zone of the viewer.
func (v *View) ZoneName() string {
	if v.Zone == time.Local {
		name, _ := v.Now.In(v.Zone).Zone()
		return "this machine (" + name + ")"
	}
	return v.Zone.String()
}

// Pager leads to the pages before and after one of a long list, each "" if there is none. Text says where it is:
// "51 to 100 of 2,310".
type Pager struct{ Previous, Next, Text string }

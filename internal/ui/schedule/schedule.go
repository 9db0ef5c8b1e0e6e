// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedule is the page of one CronJob or Timetable: what it says in plain words, what it does now, its next
// times, what became of the last ones, and the object itself.
//
//   - schedule.go    the handler, and what the page is made of
//   - read.go        what is read for it: the object, its runs, its events
//   - standing.go    what it does now, and what is wrong with it
//   - times.go       the next times, and the days on which the clocks change
//   - runs.go        the table of runs, in pages
//   - words.go       numbers in words
//   - picture.go     the latest runs as columns
//   - events.go      what events tell, of the same kind together
//   - difference.go  what the object has otherwise than what was last applied
//   - fields.go      … by the fields that managers own
package schedule

import (
	"embed"
	"net/http"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/plan/explanation"
	"github.com/carillon-dev/carillon/internal/plan/history"
	"github.com/carillon-dev/carillon/internal/plan/paragraph"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/manifest"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

//go:embed *.html schedule.css
var files embed.FS

var tmpl = page.ParseWith(functions, files, "*.html")

var _ = page.AddAssets(files, "schedule.css")

// content is what the page shows.
type content struct {
	Subject page.Subject
	// There: the object was read.
	There bool
	// MayAct: acts are offered.
	MayAct   bool
	Standing standing
	// Explanation is nil if the object is not there; Policies are its policies by their headings.
	Explanation *explanation.Explanation
	Policies    []policies
	Next        nextTimes
	Active      []run.Run
	// Left: what is Active had not ended when Carillon stopped.
	Left bool
	// Unreadable says why the runs cannot be read; "" if they can.
	Unreadable string
	Summary    history.Summary
	Picture    picture
	Runs       runsPage
	// Known is of how many runs the summary is, and Origin where they come from.
	Known      int
	Cut        bool
	Origin     string
	Conditions []condition
	Ledger     []v1alpha1.LedgerEntry
	Counts     *v1alpha1.Counts
	Events     eventList
	// YAML is the object, and TooMuch why it is not written here; "" if it is.
	YAML, TooMuch string
	Difference    difference
}

// policies are those about one situation.
type policies struct {
	Heading string
	All     []explanation.Policy
}

// condition is one of a Timetable.
type condition struct {
	Type, Status, Words, Reason, Message string
	Since                                time.Time
	// Class is "good" or "waits".
	Class string
}

// Register puts it on the site.
func Register(s *page.Site) {
	s.Handle("GET /schedule/{kind}/{namespace}/{name}", func(w http.ResponseWriter, r *http.Request) error {
		subject, err := page.SubjectOf(r)
		if err != nil {
			return err
		}
		now, zone := s.Clock(), page.ZoneOf(r)
		asked, fault := askedOf(r, zone)
		known, err := read(r.Context(), s, subject, asked, now)
		if err != nil {
			return err
		}
		c := contentOfPage(known, zone)
		c.MayAct = !s.ReadOnly && s.Server != nil && c.There
		c.Runs.DayFault = fault
		view := page.View{
			Title: subject.Name, Section: page.Schedules, Live: true, Styles: []string{"schedule.css"}, Data: c,
			Crumbs: []page.Crumb{{Text: "Schedules", URL: "/schedules"}},
		}
		if fault != "" {
			return s.RenderInvalid(w, r, tmpl, view)
		}
		return s.Render(w, r, tmpl, view)
	})
}

// contentOfPage puts together what is shown to a viewer in a zone.
func contentOfPage(k *known, zone *time.Location) *content {
	c := &content{
		Subject: k.subject, There: k.scheduled != nil, Unreadable: k.unreadable, Active: k.active(),
		Origin: k.origin, Known: len(k.latest), Cut: k.cut, Events: eventsOf(k.events, k.eventsMissing),
	}
	if k.scheduled != nil {
		c.object(k, zone)
	}
	runs, omissions := k.present()
	h := history.Of(runs, omissions, k.now)
	c.Summary = h.Summary
	short := &page.View{Now: k.now}
	c.Picture = pictureOf(h.Entries, h.Summary.Took, k.now, func(t time.Time) string { return short.Short(t, zone) })
	c.Runs = runsOf(k, zone)
	c.Standing = standingOf(k)
	c.Left = slices.ContainsFunc(c.Active, func(r run.Run) bool { return r.Left })
	return c
}

// object adds what the object itself tells.
func (c *content) object(k *known, zone *time.Location) {
	s := k.scheduled
	c.Explanation = explanation.OfObject(s, nil, k.now)
	for _, p := range c.Explanation.Policies {
		n := len(c.Policies)
		if n == 0 || c.Policies[n-1].Heading != p.Heading() {
			c.Policies, n = append(c.Policies, policies{Heading: p.Heading()}), n+1
		}
		c.Policies[n-1].All = append(c.Policies[n-1].All, p)
	}
	c.Next = nextTimesOf(s, k.now, zone)
	if t := s.Timetable(); t != nil {
		for i := range t.Status.Conditions {
			c.Conditions = append(c.Conditions, conditionOf(&t.Status.Conditions[i]))
		}
		c.Ledger, c.Counts = t.Status.Ledger, &t.Status.Counts
	}
	c.Difference = differenceOf(s.Content)
	shown := s.Content.DeepCopy()
	shown.SetManagedFields(nil)
	if annotations := shown.GetAnnotations(); annotations[lastApplied] != "" {
		delete(annotations, lastApplied)
		shown.SetAnnotations(annotations)
	}
	var err error
	if c.YAML, err = manifest.Text(shown.Object); err != nil {
		c.TooMuch = err.Error()
	}
}

// conditionWords say what conditions of a Timetable mean, by their type and status.
var conditionWords = map[string]string{
	"Ready True": "It is understood, and served.", "Ready False": "It cannot be served as it is written.",
	"Healthy True": "Its runs succeed, and start in time.", "Healthy False": "Something needs attention.",
	"Late True": "A time that has come still waits to start.", "Late False": "No time waits too long.",
	"Paused True": "Nothing starts for now.", "Paused False": "It is not paused.",
	"Completed True": "No time will ever come again.", "Completed False": "There are times to come.",
}

func conditionOf(c *metav1.Condition) condition {
	got := condition{Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: paragraph.Sentence(c.Message), Since: c.LastTransitionTime.Time, Class: "good"}
	got.Words = conditionWords[c.Type+" "+got.Status]
	wanted := metav1.ConditionTrue
	if c.Type == v1alpha1.ConditionLate || c.Type == v1alpha1.ConditionPaused || c.Type == v1alpha1.ConditionCompleted {
		wanted = metav1.ConditionFalse
	}
	if c.Status != wanted {
		got.Class = "waits"
	}
	return got
}

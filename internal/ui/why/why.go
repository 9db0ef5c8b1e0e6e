// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package why is the page that says why a time of a CronJob or Timetable had no run, or what became of it: in words,
// with what shows it, and with what to do next. It answers as carillon why does.
//
//   - why.go      the handler, and what the page is made of
//   - ask.go      what is known of the schedule, of an API server and of a journal
//   - question.go the time that is asked about
//   - recent.go   what became of the latest times
package why

import (
	"embed"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

//go:embed *.html why.css
var files embed.FS

var tmpl = page.ParseWith(template.FuncMap{"int": func(n int64) int { return int(n) }}, files, "why.html")

var _ = page.AddAssets(files, "why.css")

// content is what the page shows.
type content struct {
	Subject page.Subject
	// There: the object was read. Absent says why not; "" if it was, or is gone.
	There  bool
	Absent string
	MayAct bool
	// At is what stands in the field, Fault what is wrong with it; "" if nothing is.
	At, Fault string
	// Zone is that of the schedule, Yours that of the viewer. InYours: the time is read in the latter. Same: their clocks
	// show the same now.
	Zone, Yours   string
	InYours, Same bool
	// Chosen: nobody has asked about a time, so the newest without a run was chosen. Present: there is none, so that the
	// answer is about the present.
	Chosen, Present bool
	// Answer is nil if there is none, because of a fault.
	Answer *answer
	// read is the time that is asked about; zero if there is none.
	read diagnosis.At
	// Recent is what became of the latest times, Without the latest without a run.
	Recent, Without []recent
	Origin          string
}

// answer is what was found out, for the page.
type answer struct {
	diagnosis.Answer
	// Headline is it in a sentence, Class and Icon are those of a notice.
	Headline    string
	Class, Icon string
	// Time is the time that it is about, zero for the present. RunURL leads to the run, "" if there is none.
	Time   time.Time
	RunURL string
	// Previous and Next are addresses of the same question about the times beside it; "" if there are none.
	Previous, Following string
	// Earlier is what the journal remembers of that time of an earlier object of the same name; "" for nothing.
	Earlier string
	// Resumes and RunsNow tell that these acts help.
	Resumes, RunsNow bool
}

// Register puts it on the site.
func Register(s *page.Site) {
	s.Handle("GET /why/{kind}/{namespace}/{name}", func(w http.ResponseWriter, r *http.Request) error {
		subject, err := page.SubjectOf(r)
		if err != nil {
			return err
		}
		now, zone := s.Clock(), page.ZoneOf(r)
		k, err := ask(r.Context(), s, subject, now)
		if err != nil {
			return err
		}
		c := k.page(r, zone)
		if c.Fault == "" {
			if c.Answer, err = k.answer(r.Context(), s, c); err != nil {
				return err
			}
		}
		c.MayAct = !s.ReadOnly && s.Server != nil && c.There
		view := page.View{
			Title: "Why had a time of " + subject.Name + " no run?", Section: page.Schedules, Styles: []string{"why.css"}, Data: c,
			Crumbs: []page.Crumb{{Text: "Schedules", URL: "/schedules"}, {Text: subject.Name, URL: subject.URL()}},
		}
		if c.Fault != "" {
			return s.RenderInvalid(w, r, tmpl, view)
		}
		return s.Render(w, r, tmpl, view)
	})
}

// classes are those of notices, and icons, by verdict. What is not among them is plain.
var classes = map[diagnosis.Verdict][2]string{
	diagnosis.RanOnTime: {"done", "check"}, diagnosis.Ran: {"done", "check"}, diagnosis.RanByHand: {"done", "check"},
	diagnosis.Succeeded: {"done", "check"}, diagnosis.RanLate: {"warns", "clock"}, diagnosis.Skipped: {"warns", "skip"},
	diagnosis.Missed: {"bad", "warning"}, diagnosis.Waits: {"warns", "clock"}, diagnosis.Suspended: {"warns", "pause"},
	diagnosis.Paused: {"bad", "pause"}, diagnosis.NotReady: {"bad", "warning"}, diagnosis.NotServed: {"bad", "warning"},
	diagnosis.Deleting: {"warns", "trash"}, diagnosis.CannotTell: {"warns", "question"}, diagnosis.Excluded: {"", "calendar"},
	diagnosis.OutsideWindow: {"", "calendar"}, diagnosis.Failed: {"bad", "cross"}, diagnosis.Running: {"", "play"},
}

// worthRunning is until when it is offered to start what had no run.
const worthRunning = 48 * time.Hour

// answerOf prepares an answer for the page.
func answerOf(subject page.Subject, a diagnosis.Answer) *answer {
	got := &answer{Answer: a, Headline: strings.TrimSuffix(a.Headline(), ".") + ".", Icon: "clock"}
	if look, ok := classes[a.Verdict]; ok {
		got.Class, got.Icon = look[0], look[1]
	}
	switch {
	case a.ScheduledTime != nil:
		got.Time = *a.ScheduledTime
	case a.Asked != nil:
		got.Time = *a.Asked
	}
	if a.Run != nil && a.Run.Name != "" {
		got.RunURL = page.ReferenceURL(subject.Namespace, "job/"+a.Run.Name)
	}
	beside := func(t *time.Time) string {
		if t == nil || a.Asked == nil {
			return ""
		}
		return subject.WhyURL(t.UTC().Format(time.RFC3339))
	}
	got.Previous, got.Following = beside(a.PreviousTime), beside(a.NextTime)
	got.Resumes = a.Verdict == diagnosis.Suspended || a.Verdict == diagnosis.Paused
	got.RunsNow = (a.Verdict == diagnosis.Missed || a.Verdict == diagnosis.Skipped) && a.Now.Sub(got.Time) < worthRunning
	return got
}

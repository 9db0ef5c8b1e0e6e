// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package now

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/paragraph"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// part is one of the lists of the page; "" is the page with all of them.
type part string

// The parts.
const (
	partFailed  part = "failed"
	partRunning part = "running"
	partLate    part = "late"
	partMissed  part = "missed"
	partDue     part = "due"
	partPaused  part = "paused"
	partBlocked part = "blocked"
)

// How many items of a part are shown beside the others, and when it is shown alone.
const (
	fewFailures = 5 // they have their output
	few         = 10
	perPage     = 50
)

// content is what the template shows.
type content struct {
	*status.Status
	Verdict status.Verdict
	// Show is the part that is shown alone, on page Page; "" if all are shown.
	Show part
	// Lead says in a sentence what the title does not.
	Lead    string
	Figures []figure
	// Wrong are the parts of Carillon that are not well; Healthy says how the others are, in one line.
	Wrong   []status.Part
	Healthy string
	// Origin says where runs are known from.
	Origin string
	// Herd is what is due in the next hour, by the minute; nil if nothing is.
	Herd *herd

	Failures list[failure]
	Runs     list[running]
	Late     list[status.Late]
	Missed   list[status.Omitted]
	Due      list[status.Due]
	Paused   list[paused]
	Blocked  list[status.Blocked]
}

// figure is one number above all, that leads to its part.
type figure struct {
	Value, Label, Class string
	// URL is "" if there is nothing to lead to.
	URL string
}

// list is a part, as far as it is shown.
type list[T any] struct {
	Items []T
	// Total is how many there are; All leads to them, "" if all are shown.
	Total int
	All   string
	Pager page.Pager
}

// Any tells whether there is one.
func (l list[T]) Any() bool { return l.Total > 0 }

// contentOf prepares what is shown: all parts, or one of them on its page number. ok is false if there is no such part.
func contentOf(s *status.Status, show part, number int, zone *time.Location) (c *content, ok bool) {
	c = &content{Status: s, Verdict: s.Verdict(), Show: show}
	c.Lead = paragraph.Capital(c.Verdict.Rest)
	c.Figures = figures(s)
	c.Wrong, c.Healthy = health(s.Health)
	c.Failures = cut(failuresOf(s), partFailed, show, number, fewFailures)
	c.Runs = cut(runningOf(s), partRunning, show, number, few)
	c.Late = cut(s.Late, partLate, show, number, few)
	c.Missed = cut(s.Missed, partMissed, show, number, few)
	c.Due = cut(s.Due, partDue, show, number, few)
	c.Paused = cut(pausedOf(s, zone), partPaused, show, number, few)
	c.Blocked = cut(s.Blocked, partBlocked, show, number, few)
	return c, show == "" || slices.Contains(parts, show)
}

var parts = []part{partFailed, partRunning, partLate, partMissed, partDue, partPaused, partBlocked}

// cut gives what is shown of a part: its first items beside the other parts, or, alone, those of a page, which is the
// first or the last one if there is no page of that number.
func cut[T any](all []T, this, show part, number, beside int) list[T] {
	l := list[T]{Total: len(all)}
	if show != this {
		l.Items = all[:min(beside, len(all))]
		if len(all) > beside {
			l.All = partURL(this, 1)
		}
		return l
	}
	pages := max(1, (len(all)+perPage-1)/perPage)
	number = min(max(number, 1), pages)
	from, to := (number-1)*perPage, min(number*perPage, len(all))
	l.Items = all[from:to]
	if number > 1 {
		l.Pager.Previous = partURL(this, number-1)
	}
	if number < pages {
		l.Pager.Next = partURL(this, number+1)
	}
	l.Pager.Text = fmt.Sprintf("%s to %s of %s", quantity.Grouped(from+1), quantity.Grouped(to), quantity.Grouped(len(all)))
	return l
}

func partURL(p part, number int) string {
	query := url.Values{"show": {string(p)}}
	if number > 1 {
		query.Set("page", fmt.Sprint(number))
	}
	return "/?" + query.Encode()
}

// Shows tells whether a part is to be seen.
func (c *content) Shows(name string) bool { return c.Show == "" || c.Show == part(name) }

// Alone tells whether one part is shown alone.
func (c *content) Alone() bool { return c.Show != "" }

// Fresh tells whether there is nothing at all yet.
func (c *content) Fresh() bool {
	return c.Served && !c.Unread.Any() && c.Schedules == 0 && len(c.Failed) == 0 && len(c.Running) == 0 && len(c.Status.Missed) == 0
}

// Well tells whether all can be seen, and nothing is wrong.
func (c *content) Well() bool { return c.Verdict.Well() && !c.Unread.Any() }

// Window says how far back failures and missed times count: "24h".
func (c *content) Window() string { return duration.Short(c.Now.Sub(c.Since)) }

// Why is the address of the page that says why an object had no run at a time.
func (c *content) Why(o status.Object, at time.Time) string {
	kind, name, _ := strings.Cut(o.Reference, "/")
	return page.WhyURL(kind, o.Namespace, name, at.UTC().Format(time.RFC3339))
}

// Times writes how often something was: "3 times".
func (c *content) Times(n int64) string { return quantity.CountGrouped(int(n), "time") }

// NextText says when the next run is due, if that is later than the next hour.
func (c *content) NextText() string {
	if c.Next.IsZero() {
		return ""
	}
	return "The next run is due " + duration.FromNow(c.Next, c.Now) + "."
}

// partTitles are the headings of parts that are shown alone.
var partTitles = map[part]string{
	partFailed: "Failed lately", partRunning: "Running now", partLate: "Late", partMissed: "Missed or skipped",
	partDue: "Due in the next hour", partPaused: "Suspended or paused", partBlocked: "Cannot run",
}

// RunningTitle is the heading of what has not ended.
func (c *content) RunningTitle() string {
	if c.Stopped {
		return paragraph.Capital(run.LeftWords)
	}
	return "Running"
}

// Title says how things stand in a few words, or names the part that is shown alone.
func (c *content) Title() string {
	switch {
	case c.Show == partRunning && c.Stopped:
		return c.RunningTitle()
	case c.Show != "":
		return partTitles[c.Show]
	case c.Fresh() && c.Well():
		return "Carillon is ready"
	case c.Well():
		return "All is well"
	}
	wrong := slices.Clone(c.Verdict.Wrong)
	if c.Unread.Any() {
		wrong = append(wrong, "not all can be seen")
	}
	if last := len(wrong) - 1; last > 0 {
		return paragraph.Capital(strings.Join(wrong[:last], ", ") + " and " + wrong[last])
	}
	return paragraph.Capital(wrong[0])
}

// figures are the numbers that stand above all.
func figures(s *status.Status) []figure {
	failing, missed := 0, int64(0)
	for i := range s.Failed {
		if s.Failed[i].Persists() {
			failing++
		}
	}
	for i := range s.Missed {
		if s.Missed[i].Missed {
			missed += s.Missed[i].Count
		}
	}
	all := []figure{
		numbered(len(s.Running), "running", "runs", "#running").unless(s.Unread.Runs),
		numbered(failing, "failing", "bad", "#failed").unless(s.Unread.Runs),
		numbered(missed, "missed in "+duration.Short(s.Now.Sub(s.Since)), "waits", "#missed").unless(cmp.Or(s.Unread.Runs, s.Unread.Schedules)),
	}
	if s.Stopped {
		all[0].Label = run.LeftWords
	}
	if !s.Served {
		return all
	}
	due := 0
	for i := range s.Due {
		due += s.Due[i].Count
	}
	unread := s.Unread.Schedules
	schedules := figure{Value: quantity.Grouped(s.Schedules), Label: plural(s.Schedules, "schedule"), URL: "/schedules"}
	if s.Schedules == 0 {
		schedules = figure{Value: "0", Label: "schedules"}.unless(unread)
	}
	return append(all, numbered(len(s.Paused), "suspended or paused", "", "#paused").unless(unread),
		numbered(due, "due in the next hour", "", "#due").unless(unread), schedules)
}

// unless gives a figure of which it is not known whether it is none, because something could not be seen; unread says
// why, "" that all could.
func (f figure) unless(unread string) figure {
	if unread == "" || f.Value != "0" {
		return f
	}
	return figure{Value: "?", Label: f.Label + ": not known"}
}

func numbered[N int | int64](n N, label, class, to string) figure {
	f := figure{Value: quantity.Grouped(n), Label: label}
	if n > 0 {
		f.Class, f.URL = class, to
	}
	return f
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// health parts what is not well from what is, or what does not tell.
func health(all []status.Part) (wrong []status.Part, healthy string) {
	var quiet []string
	for _, p := range all {
		switch p.State {
		case status.Wrong:
			wrong = append(wrong, p)
		default:
			quiet = append(quiet, p.Name+": "+p.Text)
		}
	}
	return wrong, paragraph.Capital(strings.Join(quiet, " · "))
}

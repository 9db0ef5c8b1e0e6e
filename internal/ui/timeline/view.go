// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// view is what the template shows.
type view struct {
	State
	Window window
	Now    time.Time
	Axis   axis
	Rows   []Picture
	// Total is what all rows of this page show, All how many rows there are on all pages.
	Total Counts
	All   int
	Pager page.Pager
	// Namespaces are those that one can choose.
	Namespaces []string
	// Faults say what could not be read, Origin where runs come from.
	Faults []string
	Origin string
	// Alone: there is no API server.
	Alone bool
	// Stopped: the Carillon that ran them does not run.
	Stopped bool

	words words
}

// Link is a choice that leads to an address.
type Link struct {
	Text, URL, Label string
	Current          bool
}

// Zooms are the links to all zooms.
func (v *view) Zooms() []Link {
	var all []Link
	for i := range zooms {
		all = append(all, Link{Text: zooms[i].Name, Label: zooms[i].Text, URL: v.zoomed(i, v.Window).URL(), Current: i == v.Zoom})
	}
	return all
}

// Nearer and Further are the next zooms, "" at the end.
func (v *view) Nearer() string {
	if v.Zoom == 0 {
		return ""
	}
	return v.zoomed(v.Zoom-1, v.Window).URL()
}

// Further is the next zoom out.
func (v *view) Further() string {
	if v.Zoom == len(zooms)-1 {
		return ""
	}
	return v.zoomed(v.Zoom+1, v.Window).URL()
}

// Earlier leads to the window before.
func (v *view) Earlier() string { return v.moved(v.Window, -1).URL() }

// Later leads to the window after.
func (v *view) Later() string { return v.moved(v.Window, 1).URL() }

// Today leads to the window around now.
func (v *view) Today() string {
	s := v.State
	s.From = time.Time{}
	return s.URL()
}

// Following tells that the window goes with the time.
func (v *view) Following() bool { return v.From.IsZero() }

// Other is the same as tables, or as a picture.
func (v *view) Other() string {
	s := v.State
	s.Table = !s.Table
	return s.URL()
}

// Cleared is the same without filters.
func (v *view) Cleared() string {
	s := v.State
	s.Q, s.Namespace, s.Show, s.Page = "", "", "", 1
	return s.URL()
}

// Filtered tells that not all rows are asked for.
func (v *view) Filtered() bool { return v.Q != "" || v.Namespace != "" || v.Show != "" }

// Shows and Sorts are the choices.
func (v *view) Shows() []choice {
	all := slices.Clone(shows)
	for i := range all {
		if v.Stopped && all[i].Name == "running" {
			all[i].Text = run.LeftWords
		}
	}
	return all
}

// Sorts are the orders.
func (v *view) Sorts() []choice { return sorts }

// ZoomName is the zoom in addresses, FromText the beginning in addresses; "" if it follows the time.
func (v *view) ZoomName() string { return v.Window.Zoom.Name }

// FromText is the beginning of the window in addresses; "" if it follows the time.
func (v *view) FromText() string {
	if v.From.IsZero() {
		return ""
	}
	return v.From.UTC().Format(time.RFC3339)
}

// Date is the day of the beginning.
func (v *view) Date() string { return v.Window.From.In(v.Window.Zone).Format(time.DateOnly) }

// Range writes the window.
func (v *view) Range() string { return v.words.span(v.Window.From, v.Window.Until) }

// NowSeen tells that now is in the window, NowX where.
func (v *view) NowSeen() bool { return v.Window.Contains(v.Now) }

// NowX is where now is.
func (v *view) NowX() percent { return v.Window.X(v.Now) }

// NowText tells that the word "now" does not stand on another one.
func (v *view) NowText() bool { return v.nowIsClear(dayRoom, oddDayRoom) }

// NowTextOnPhone tells it of a narrow window, where the words take more of the width.
func (v *view) NowTextOnPhone() bool { return v.nowIsClear(phoneRoom, oddPhoneRoom) }

// nowIsClear tells that now is beside the names of days and months, which take so much room, those of days that have
// not 24 hours so much.
func (v *view) nowIsClear(room, oddRoom percent) bool {
	now := v.NowX()
	return !slices.ContainsFunc(v.Axis.Bands, func(b band) bool {
		taken := room
		if b.Odd {
			taken = oddRoom
		}
		return b.Text != "" && now > b.X-nowRoom && now < b.X+taken
	})
}

// Milliseconds are for the script, which moves what moves with the time.
func (v *view) Milliseconds(t time.Time) int64 { return t.UnixMilli() }

// Up is the upper edge of a bar around a middle line.
func (v *view) Up(middle int) int { return middle - barHeight/2 }

// Due writes a time to come for a title.
func (v *view) Due(f Future) string { return v.words.future(&f) }

// nearer is the address of one row's runs around a time, in a window that shows more of it; "" if there is none.
func (v *view) nearer(t time.Time, namespace, name string) string {
	if v.Zoom == 0 {
		return ""
	}
	s := v.State
	s.Namespace, s.Q, s.Page, s.Table = namespace, name, 1, false
	to := 0
	for i := range v.Zoom { // the nearest one that has several of its cells
		if zooms[i].span >= 3*v.Window.Zoom.cell || zooms[i].days > 0 {
			to = i
			break
		}
	}
	return s.around(to, t, v.Window.Zone).URL()
}

// newView lays out what is known.
func newView(s State, w window, now time.Time, known []*Known) *view {
	v := &view{State: s, Window: w, Now: now, Axis: newAxis(w), words: words{w.Zone, now}}
	for _, k := range known {
		d := draw(k, w, now)
		v.Total.add(&d.Total)
		p := v.picture(&d)
		if s.Table {
			p.Entries = v.entries(&d)
		}
		v.Rows = append(v.Rows, p)
	}
	return v
}

// setPages fills in where in all rows the page is.
func (v *view) setPages(all, first, previous, next int) {
	v.All = all
	at := func(n int) string {
		if n == 0 {
			return ""
		}
		s := v.State
		s.Page = n
		return s.URL()
	}
	v.Pager = page.Pager{Previous: at(previous), Next: at(next),
		Text: quantity.Grouped(first+1) + " to " + quantity.Grouped(first+len(v.Rows)) + " of " + quantity.Grouped(all)}
}

// entries gives a row as a table, in the order of time.
func (v *view) entries(d *Drawn) []entry {
	var all []entry
	for i := range d.Cells {
		c := &d.Cells[i]
		url := v.nearer(c.From.Add(c.Until.Sub(c.From)/2), d.Namespace, d.Name)
		all = append(all, entry{At: c.From, Class: c.Worst(), Text: v.words.cell(c), URL: url})
	}
	for i := range d.Bars {
		b := &d.Bars[i]
		if b.Run == nil {
			all = append(all, entry{At: b.Waiting.At, Class: "waiting", Text: v.words.waiting(b.Waiting),
				URL: page.WhyURL(d.Kind, d.Namespace, d.Name, b.Waiting.At.UTC().Format(time.RFC3339))})
			continue
		}
		all = append(all, entry{At: b.Run.Time(), Run: b.Run, Text: v.words.run(b.Run), URL: page.RunURL(b.Run)})
	}
	for i := range d.Overflow {
		for n := range d.Overflow[i].Runs {
			r := &d.Overflow[i].Runs[n]
			all = append(all, entry{At: r.Time(), Run: r, Text: v.words.run(r), URL: page.RunURL(r)})
		}
	}
	for i := range d.Marks {
		o := d.Marks[i].Omission
		all = append(all, entry{At: o.ScheduledTime, Class: omittedWord(o), Text: v.words.omission(o),
			URL: page.WhyURL(d.Kind, d.Namespace, d.Name, o.ScheduledTime.UTC().Format(time.RFC3339))})
	}
	for i := range d.Future {
		all = append(all, entry{At: d.Future[i].At, Class: "due", Text: v.words.future(&d.Future[i])})
	}
	slices.SortStableFunc(all, func(a, b entry) int { return a.At.Compare(b.At) })
	return all
}

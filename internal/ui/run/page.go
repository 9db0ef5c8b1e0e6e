// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// data is what the template shows.
type data struct {
	Run    *run.Run
	Facts  facts
	Ending *ending
	// Tries are the runs of its scheduled time, if there are several.
	Tries          []*run.Run
	Previous, Next *run.Run
	// Attempts are those of a page, the newest first; More tells that there are several of them.
	Attempts []attempt
	Pager    page.Pager
	Measured bool
	Count    int
	Objects  objects
	Output   *logView
	Others   []*run.Run
	Faults   []string
	Acts     []act
	// Stopped: Carillon does not run.
	Stopped bool
	// Live: its object is still there. Stopping: it is being stopped.
	Live, Stopping bool
}

// act is what can be done.
type act struct{ Text, Icon, Class, URL string }

func (h *handlers) view(ctx context.Context, k *known, q query, zone *time.Location, again bool) (page.View, error) {
	now := h.site.Clock()
	k.now, k.viewer = now, zone
	r := &k.run
	d := &data{
		Run: r, Ending: endingOf(k), Previous: k.previous, Next: k.next, Count: k.count, Others: pointers(k.others),
		Faults: k.faults, Acts: h.acts(k), Stopped: k.stopped, Live: k.live, Stopping: !k.stopping.IsZero(),
	}
	if len(k.tries) > 1 {
		d.Tries = pointers(k.tries)
	}
	output, err := h.output(ctx, k, q, again)
	if err != nil {
		return page.View{}, err
	}
	output.zone = zone
	d.Output, d.Facts = output, factsOf(k, zone, now)
	d.Attempts, d.Pager = k.page(q, output.Attempt, now)
	d.Measured = slices.ContainsFunc(k.attempts, func(a run.Attempt) bool { return a.CPU > 0 || a.MemoryPeak > 0 })
	d.Objects = objectsOf(k, now)
	if k.morePods != "" {
		v := q.values(r)
		v.Set("pods", k.morePods)
		d.Objects.MorePods = path(r, "") + "?" + v.Encode() + "#pods"
	}
	view := page.View{
		Title: r.Name, Section: page.Schedules, Crumbs: []page.Crumb{{Text: "Schedules", URL: "/schedules"}},
		Live:   !k.stopped && (!r.Outcome.Ended() || r.Retrying),
		Styles: []string{"run.css"}, Scripts: []string{"run.js"}, Data: d,
	}
	if to := page.OwnerURL(r); to != "" {
		view.Crumbs = append(view.Crumbs, page.Crumb{Text: strings.ToLower(r.Owner.Kind) + "/" + r.Owner.Name, URL: to})
	}
	return view, nil
}

// page gives the attempts of a page, the newest first.
func (k *known) page(q query, shown string, now time.Time) ([]attempt, page.Pager) {
	n := len(k.attempts)
	pages := max(1, (n+attemptsPerPage-1)/attemptsPerPage)
	at := min(q.Page, pages)
	first := (at - 1) * attemptsPerPage
	last := min(n, first+attemptsPerPage)
	var all []attempt
	for i := first; i < last; i++ {
		v := k.attempt(n-1-i, now)
		to := q.end()
		to.Attempt, to.Page = v.ContainerID, at
		v.URL, v.Shown = to.url(&k.run), v.ContainerID == shown
		all = append(all, v)
	}
	pager := page.Pager{Text: fmt.Sprintf("%s to %s of %s", quantity.Grouped(first+1), quantity.Grouped(last), quantity.Grouped(n))}
	link := func(to int) string {
		other := q
		other.Page = to
		return path(&k.run, "") + "?" + other.values(&k.run).Encode() + "#attempts"
	}
	if at > 1 {
		pager.Previous = link(at - 1)
	}
	if at < pages {
		pager.Next = link(at + 1)
	}
	return all, pager
}

// acts are those that may make sense now, with the rights of the user.
func (h *handlers) acts(k *known) []act {
	r := &k.run
	if h.site.ReadOnly || h.site.Server == nil || k.stopped {
		return nil
	}
	to := func(name string) string { return page.ActURL(name, r.APIVersion, r.Kind, r.Namespace, r.Name) }
	switch {
	case !k.stopping.IsZero():
		return nil
	case !r.Outcome.Ended() && k.live:
		return []act{{"Stop", "stop", "danger", to("stop")}}
	case !r.Outcome.Ended() || !k.live:
		return nil
	case r.Outcome == run.Failed:
		return []act{{"Retry", "retry", "", to("retry")}, {"Delete", "trash", "danger", to("delete")}}
	}
	return []act{{"Run again", "retry", "", to("retry")}, {"Delete", "trash", "danger", to("delete")}}
}

// pointers are for templates, whose functions take these.
func pointers(runs []run.Run) []*run.Run {
	all := make([]*run.Run, len(runs))
	for i := range runs {
		all[i] = &runs[i]
	}
	return all
}

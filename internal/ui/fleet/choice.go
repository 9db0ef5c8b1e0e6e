// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// choice narrows the fleet to a namespace and a kind ("CronJob", "Timetable"); "" takes all.
type choice struct{ Namespace, Kind string }

// longestName is how long a name in Kubernetes may be.
const longestName = 253

func choiceOf(q url.Values) (choice, error) {
	c := choice{Namespace: q.Get("namespace")}
	if len(c.Namespace) > longestName {
		return choice{}, page.BadInput("No namespace has a name as long as that.")
	}
	switch kind := strings.ToLower(q.Get("kind")); kind {
	case "":
	case "cronjob":
		c.Kind = "CronJob"
	case "timetable":
		c.Kind = "Timetable"
	default:
		return choice{}, page.BadInput("There is no kind %q here. It is cronjob or timetable.", kind)
	}
	return c, nil
}

// takes tells whether an object is chosen.
func (c choice) takes(s *workload.Scheduled) bool {
	return (c.Namespace == "" || s.Owner.Namespace == c.Namespace) && (c.Kind == "" || s.Kind.Info().Owner.Kind == c.Kind)
}

// url is an address with the choice in it, and pairs of further names and values. Empty values are left out.
func (c choice) url(path string, pairs ...string) string {
	q := url.Values{}
	pairs = append(slices.Clone(pairs), "namespace", c.Namespace, "kind", strings.ToLower(c.Kind))
	for n := 0; n+1 < len(pairs); n += 2 {
		if pairs[n+1] != "" {
			q.Set(pairs[n], pairs[n+1])
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// URL is the page of the fleet, narrowed as this one is.
func (c choice) URL() string { return c.url("/fleet") }

// window is how many days back rankings look.
type window int

func windowOf(q url.Values) (window, error) {
	switch text := q.Get("days"); text {
	case "":
		return 30, nil
	case "7", "30", "90":
		n, _ := strconv.Atoi(text)
		return window(n), nil
	}
	return 0, page.BadInput("Rankings are of the last 7, 30 or 90 days.")
}

func (w window) text() string { return strconv.Itoa(int(w)) }

func (w window) duration() time.Duration { return time.Duration(w) * 24 * time.Hour }

// link is one of several choices.
type link struct {
	Text, URL string
	Current   bool
}

func windows(c choice, now window) []link {
	var all []link
	for _, w := range []window{7, 30, 90} {
		all = append(all, link{w.text() + " days", c.url("/fleet", "days", w.text()) + "#rankings", w == now})
	}
	return all
}

// filter is the form that narrows a page.
type filter struct {
	// Action is where it leads; Hidden are the other choices of the page.
	Action     string
	Hidden     map[string]string
	Namespaces []string
	Choice     choice
}

// Kinds are what can be chosen, as value and words.
func (f filter) Kinds() []link {
	return []link{{"CronJobs and Timetables", "", f.Choice.Kind == ""}, {"CronJobs", "cronjob", f.Choice.Kind == "CronJob"}, {"Timetables", "timetable", f.Choice.Kind == "Timetable"}}
}

// Narrowed tells whether something is left out.
func (f filter) Narrowed() bool { return f.Choice != choice{} }

// mostNamespaces is how many namespaces a form offers.
const mostNamespaces = 1000

func (f *fleet) filter(r *http.Request, action string, hidden map[string]string) (filter, error) {
	c, err := choiceOf(r.URL.Query())
	if err != nil {
		return filter{}, err
	}
	names := map[string]bool{}
	if schedules, err := f.site.Cache.Schedules(r.Context()); err == nil { // else the parts of the page say so
		for _, s := range schedules {
			if !names[s.Owner.Namespace] && len(names) < mostNamespaces {
				names[s.Owner.Namespace] = true
			}
		}
	}
	if c.Namespace != "" {
		names[c.Namespace] = true
	}
	made := filter{Action: action, Hidden: hidden, Choice: c}
	for name := range names {
		made.Namespaces = append(made.Namespaces, name)
	}
	slices.Sort(made.Namespaces)
	return made, nil
}

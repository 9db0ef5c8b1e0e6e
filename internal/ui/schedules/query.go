// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedules

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// state is how a schedule is. One may be in several states at once.
type state string

// The states, in the order in which they are offered.
const (
	failing state = "failing"
	running state = "running"
	late    state = "late"
	missed  state = "missed"
	paused  state = "paused"
	blocked state = "blocked"
)

// states are all of them with their words.
var states = []struct {
	State state
	Text  string
}{{"", "All"}, {failing, "Failing"}, {running, "Running"}, {late, "Late"}, {missed, "Missed"}, {paused, "Suspended or paused"}, {blocked, "Cannot run"}}

// order is by what the list is ordered.
type order string

// The orders. "" is by name, or, of a search, by how well they match.
const (
	byName     order = "name"
	byNext     order = "next"
	byLast     order = "last"
	byFailures order = "failures"
)

// longestSearch is how much of a search counts, in bytes.
const longestSearch = 500

// query is what is asked for.
type query struct {
	Text            string
	Namespace, Kind string
	State           state
	Order           order
	Page            int
	// Direct: the search comes from the head of a page, which has nothing but words; what alone matches them is shown
	// itself.
	Direct bool
}

// parseQuery reads what an address asks for. What it does not know it leaves out.
func parseQuery(v url.Values) query {
	q := query{Text: strings.TrimSpace(v.Get("q")), Namespace: v.Get("namespace"), Kind: strings.ToLower(v.Get("kind")), Page: 1}
	q.Text = strings.ToValidUTF8(q.Text[:min(len(q.Text), longestSearch)], "")
	if s := state(v.Get("state")); slices.ContainsFunc(states[1:], func(known struct {
		State state
		Text  string
	}) bool {
		return known.State == s
	}) {
		q.State = s
	}
	if o := order(v.Get("sort")); slices.Contains([]order{byName, byNext, byLast, byFailures}, o) {
		q.Order = o
	}
	if n, err := strconv.Atoi(v.Get("page")); err == nil && n > 1 {
		q.Page = n
	}
	q.Direct = q.Text != "" && len(v) == 1
	return q
}

// URL is the address that asks for it.
func (q query) URL() string {
	v := url.Values{}
	for key, value := range map[string]string{"q": q.Text, "namespace": q.Namespace, "kind": q.Kind, "state": string(q.State), "sort": string(q.Order)} {
		if value != "" {
			v.Set(key, value)
		}
	}
	if q.Page > 1 {
		v.Set("page", strconv.Itoa(q.Page))
	}
	if len(v) == 0 {
		return "/schedules"
	}
	if q.Text != "" && len(v) == 1 {
		v.Set("sort", "") // so that the list is shown, even of one
	}
	return "/schedules?" + v.Encode()
}

// InState, By and OnPage are the same question otherwise; all but OnPage begin with the first page.
func (q query) InState(s state) string {
	q.State, q.Page = s, 1
	return q.URL()
}

// By asks in another order.
func (q query) By(o order) string {
	q.Order, q.Page = o, 1
	return q.URL()
}

// OnPage asks for another page.
func (q query) OnPage(n int) string {
	q.Page = n
	return q.URL()
}

// Narrowed tells whether it leaves anything out.
func (q query) Narrowed() bool {
	return q.Text != "" || q.Namespace != "" || q.Kind != "" || q.State != ""
}

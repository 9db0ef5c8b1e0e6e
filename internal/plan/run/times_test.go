// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

func TestTimes(t *testing.T) {
	at := time.Date(2026, 5, 4, 2, 0, 0, 0, time.UTC)
	try := func(name string, retry int, scheduled time.Time, more ...func(*Run)) Run {
		r := Run{UID: types.UID(name), Name: name, Retry: retry, ScheduledTime: scheduled, Owner: Owner{Kind: "Timetable", Name: "report", UID: "1"}}
		for _, change := range more {
			change(&r)
		}
		return r
	}
	anew := func(r *Run) { r.Owner.UID = "2" }
	elsewhere := func(r *Run) { r.Namespace = "sales" }
	nobodys := func(r *Run) { r.Owner = Owner{} }
	created := func(d time.Duration) func(*Run) { return func(r *Run) { r.Created = at.Add(d) } }
	for name, test := range map[string]struct {
		runs []Run
		want string
	}{
		"nothing":                {},
		"tries of one time":      {[]Run{try("c", 3, at), try("a", 0, at), try("b", 2, at)}, "a b c"},
		"in the order of times":  {[]Run{try("b", 2, at.Add(time.Hour)), try("x", 1, at), try("a", 1, at.Add(time.Hour))}, "a b|x"},
		"in another zone":        {[]Run{try("a", 1, at), try("b", 2, at.In(time.FixedZone("", 3600)))}, "a b"},
		"by when they were made": {[]Run{try("b", 0, at, created(time.Minute)), try("a", 0, at, created(0))}, "a b"},
		"other owners":           {[]Run{try("a", 1, at), try("b", 2, at, anew), try("c", 2, at, elsewhere)}, "a|b|c"},
		"without a time":         {[]Run{try("a", 0, time.Time{}), try("b", 0, time.Time{})}, "a|b"},
		"of nobody":              {[]Run{try("a", 0, at, nobodys), try("b", 0, at, nobodys)}, "a|b"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			lasts := LastTries(test.runs)
			last := map[string]string{}
			for of, one := range lasts {
				last[of.Name] = one.Name
			}
			for _, group := range Times(test.runs) {
				var names []string
				for i := range group {
					if want := group[len(group)-1].Name; last[group[i].Name] != want {
						t.Errorf("the last try of %s is %s, not %s", group[i].Name, last[group[i].Name], want)
					}
				}
				for i := range group {
					names = append(names, group[i].Name)
					if !group[i].SameTime(&group[0]) {
						t.Errorf("%s is no try of the time of %s", group[i].Name, group[0].Name)
					}
				}
				got = append(got, strings.Join(names, " "))
			}
			if text := strings.Join(got, "|"); text != test.want {
				t.Errorf("got %q, want %q", text, test.want)
			}
			for i := range test.runs {
				for j := range test.runs {
					a, b := &test.runs[i], &test.runs[j]
					if together := sameGroup(test.want, a.Name, b.Name); a.SameTime(b) != together {
						t.Errorf("%s and %s: %t", a.Name, b.Name, !together)
					}
				}
			}
		})
	}
}

// sameGroup tells whether two names are in one group of "a b|c".
func sameGroup(groups, a, b string) bool {
	for group := range strings.SplitSeq(groups, "|") {
		if strings.Contains(group, a) && strings.Contains(group, b) {
			return true
		}
	}
	return false
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/paragraph"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/statistics"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// rankingKey is what schedules are ranked for.
type rankingKey struct {
	choice
	window window
}

// ranking are the schedules that lead in something.
type ranking struct {
	// Owners is how many schedules had runs, From when the time begins.
	Owners int
	From   time.Time
	Lists  []rankingList
}

// rankingList is one list. Without says in a clause that nobody is in it.
type rankingList struct {
	ID, Title, Measure, Without string
	Rows                        []rankingRow
}

// Filled are the lists that have somebody.
func (r *ranking) Filled() []rankingList {
	return slices.DeleteFunc(slices.Clone(r.Lists), func(l rankingList) bool { return len(l.Rows) == 0 })
}

// None says in a sentence which lists have nobody; "" if all have somebody.
func (r *ranking) None() string {
	var clauses []string
	for _, l := range r.Lists {
		if len(l.Rows) == 0 {
			clauses = append(clauses, l.Without)
		}
	}
	return paragraph.Sentence(strings.Join(clauses, "; "))
}

// rankingRow is a schedule in a list.
type rankingRow struct {
	Kind, Namespace, Name, URL string
	// Value is what it is ranked by, Share how that is to the first's, of 100, Detail more of it.
	Value, Detail string
	Share         float64
	// Run is the address of the run that it comes from; "" if it comes from many.
	Run string
	// At is when that was.
	At time.Time
}

// ranked is how many schedules a list has.
const ranked = 10

// measure is what schedules are ranked by.
type measure struct {
	id, title, measure, without string
	// value is 0 or less where a schedule does not belong to the list.
	value  func(*statistics.Owner) float64
	text   func(*statistics.Owner) (value, detail string)
	at     func(*statistics.Owner) time.Time
	matter func(*statistics.Owner, *run.Run) bool
}

// How much longer than usual is worth a word: that many times the median, and that much longer.
const (
	longTimes  = 1.5
	longAtOnce = 2 * time.Second
	// fewSucceeded is of how many runs a median says something.
	fewSucceeded = 3
)

var measures = []measure{
	{
		id: "failing", title: "Failing most", measure: "Failed", without: "no run has failed",
		value: func(o *statistics.Owner) float64 { return float64(o.Failed) },
		text: func(o *statistics.Owner) (string, string) {
			s := statistics.Span{Succeeded: o.Succeeded, Failed: o.Failed}
			return quantity.Grouped(o.Failed) + " failed", "of " + quantity.CountGrouped(o.Runs, "run") + "; " + rateText(&s) + " succeeded"
		},
	},
	{
		id: "slowest", title: "Slowest", measure: "Median", without: "no run has succeeded",
		value: func(o *statistics.Owner) float64 { return o.Median.Seconds() },
		text: func(o *statistics.Owner) (string, string) {
			return precise(o.Median), "median of " + quantity.CountGrouped(o.Succeeded, "run")
		},
	},
	{
		id: "longest", title: "Much longer than usual", measure: "Longest run", without: "no run took much longer than usual",
		value: func(o *statistics.Owner) float64 {
			if o.Succeeded < fewSucceeded || o.Median <= 0 || o.Longest-o.Median < longAtOnce || o.Longest.Seconds() < longTimes*o.Median.Seconds() {
				return 0
			}
			return o.Longest.Seconds() / o.Median.Seconds()
		},
		text: func(o *statistics.Owner) (string, string) {
			return precise(o.Longest), "usually " + precise(o.Median)
		},
		at:     func(o *statistics.Owner) time.Time { return o.LongestAt },
		matter: func(o *statistics.Owner, r *run.Run) bool { return r.Duration(r.Ended) == o.Longest },
	},
	{
		id: "latest", title: "Started latest", measure: "Late by", without: "no run was started more than a second late",
		value: func(o *statistics.Owner) float64 {
			if o.Latest <= time.Second {
				return 0 // an object tells its creation in whole seconds
			}
			return o.Latest.Seconds()
		},
		text: func(o *statistics.Owner) (string, string) {
			return precise(o.Latest), "after its scheduled time"
		},
		at:     func(o *statistics.Owner) time.Time { return o.LatestAt },
		matter: func(o *statistics.Owner, r *run.Run) bool { return r.Lateness() == o.Latest },
	},
	{
		id: "retried", title: "Retried most", measure: "Retries", without: "nothing was retried",
		value: func(o *statistics.Owner) float64 { return float64(o.Retries) },
		text: func(o *statistics.Owner) (string, string) {
			return retriesText(o.Retries), "in " + quantity.CountGrouped(o.Runs, "run")
		},
	},
}

func retriesText(n int) string {
	if n == 1 {
		return "1 retry"
	}
	return quantity.Grouped(n) + " retries"
}

// rankOwners ranks the schedules that had runs in the time, and finds the runs that put them where they are.
func (f *fleet) rankOwners(ctx context.Context, k rankingKey) (*ranking, error) {
	now := f.site.Clock()
	from := now.Add(-k.window.duration())
	// A run may be planned a little after now, by a clock that is not ours.
	s, err := f.site.Source.Statistics(ctx, statistics.Query{Namespace: k.Namespace, OwnerKind: k.Kind, Owners: true, Bounds: []time.Time{from, now.Add(time.Hour)}, Retrying: f.retrying})
	if err != nil {
		return nil, err
	}
	r := rank(s.Owners)
	r.From = from
	for l := range r.Lists {
		m := &measures[l]
		for n := range r.Lists[l].Rows {
			row := &r.Lists[l].Rows[n]
			if m.at != nil {
				row.Run = f.runAt(ctx, row, m, s.Owners)
			}
		}
	}
	return r, nil
}

// rank makes the lists. Of equals the first by name goes first.
func rank(owners []statistics.Owner) *ranking {
	r := &ranking{Owners: len(owners)}
	for i := range measures {
		m := &measures[i]
		list := rankingList{ID: m.id, Title: m.title, Measure: m.measure, Without: m.without}
		var chosen []*statistics.Owner
		for n := range owners {
			if m.value(&owners[n]) > 0 {
				chosen = append(chosen, &owners[n])
			}
		}
		slices.SortFunc(chosen, func(a, b *statistics.Owner) int {
			return cmp.Or(cmp.Compare(m.value(b), m.value(a)), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Owner.Name, b.Owner.Name), strings.Compare(a.Owner.Kind, b.Owner.Kind))
		})
		for _, o := range chosen[:min(ranked, len(chosen))] {
			row := rankingRow{Kind: o.Owner.Kind, Namespace: o.Namespace, Name: o.Owner.Name, URL: page.ScheduleURL(o.Owner.APIVersion, o.Owner.Kind, o.Namespace, o.Owner.Name),
				Share: tenth(100 * m.value(o) / m.value(chosen[0]))}
			row.Value, row.Detail = m.text(o)
			if m.at != nil {
				row.At = m.at(o)
			}
			list.Rows = append(list.Rows, row)
		}
		r.Lists = append(r.Lists, list)
	}
	return r
}

// mostAtOnce is how many runs of one schedule are looked at that have the same time.
const mostAtOnce = 20

// runAt is the address of the run that a row comes from; "" if it is gone meanwhile.
func (f *fleet) runAt(ctx context.Context, row *rankingRow, m *measure, owners []statistics.Owner) string {
	n := slices.IndexFunc(owners, func(o statistics.Owner) bool {
		return o.Namespace == row.Namespace && o.Owner.Kind == row.Kind && o.Owner.Name == row.Name
	})
	runs, err := f.site.Source.Runs(ctx, journal.Query{Namespace: row.Namespace, OwnerKind: row.Kind, OwnerName: row.Name, From: row.At, Until: row.At.Add(1), Limit: mostAtOnce})
	if err != nil || n < 0 {
		return "" // the row says it all the same
	}
	for i := range runs {
		if m.matter(&owners[n], &runs[i]) {
			return page.RunURL(&runs[i])
		}
	}
	return ""
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/ordering"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// Row is whose runs a row has: a CronJob, a Timetable, or the Jobs of a namespace that no schedule made.
type Row struct {
	Namespace, APIVersion, Kind, Name string
	// UIDs are those of the objects that had the name, as far as they are known.
	UIDs []types.UID
	// Schedule is the object; nil of Jobs of their own, and where it is gone or not known.
	Schedule *workload.Scheduled
	// Gone: it is not there any more.
	Gone bool
	// Running is how many runs it has now. Failing: the last one failed.
	Running int
	Failing bool
	// LastFailure is the time of its newest run that failed, as far back as one looks; zero if none did.
	LastFailure time.Time
	// Next is its next scheduled time; zero if there is none, or if nobody has asked.
	Next time.Time
	// Paused says why nothing starts; nil if nothing keeps it.
	Paused *status.Paused
}

// Own tells that it has the Jobs that no schedule made.
func (r *Row) Own() bool { return r.Name == "" }

// URL is the address of the schedule; "" of Jobs of their own.
func (r *Row) URL() string {
	if r.Own() {
		return ""
	}
	return page.ScheduleURL(r.APIVersion, r.Kind, r.Namespace, r.Name)
}

// Text names it.
func (r *Row) Text() string {
	if r.Own() {
		return "Jobs of their own"
	}
	return r.Name
}

// Anchor names the row within the page.
func (r *Row) Anchor() string {
	return strings.ToLower(r.Kind) + "." + r.Namespace + "." + r.Name
}

// rowKey is what makes a row one: what is made anew under its name goes on in it.
type rowKey struct{ namespace, group, kind, name string }

func keyOf(namespace string, o *run.Owner) rowKey {
	group, _, grouped := strings.Cut(o.APIVersion, "/")
	if !grouped {
		group = ""
	}
	return rowKey{namespace, group, o.Kind, o.Name}
}

// rowsInput is what rows are made of.
type rowsInput struct {
	// Schedules are those that are there; Served is false if nobody could tell.
	Schedules []*workload.Scheduled
	Served    bool
	// Owners are those of which something is remembered in the window.
	Owners []journal.OwnerIn
	// Status is what goes on; nil if it is not known.
	Status *status.Status
	// Failures are the newest runs that failed, by owner; only for an order by them.
	Failures []journal.Tally
	Now      time.Time
}

// Rows gives the rows that a viewer has asked for, in his order, all of them.
func Rows(in *rowsInput, s *State) []*Row {
	all := make([]*Row, 0, len(in.Schedules))
	byKey := make(map[rowKey]*Row, len(in.Schedules))
	byUID := make(map[types.UID]*Row, len(in.Schedules))
	for _, one := range in.Schedules {
		gvk := one.Kind.Info().Owner
		r := &Row{Namespace: one.Owner.Namespace, APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: one.Owner.Name,
			UIDs: []types.UID{one.Owner.UID}, Schedule: one}
		all = append(all, r)
		byKey[rowKey{r.Namespace, gvk.Group, r.Kind, r.Name}] = r
		byUID[one.Owner.UID] = r
	}
	for i := range in.Owners {
		o := &in.Owners[i]
		if o.Owner.UID != "" && byUID[o.Owner.UID] != nil {
			continue
		}
		k := keyOf(o.Namespace, &o.Owner)
		r := byKey[k]
		if r == nil {
			r = &Row{Namespace: o.Namespace, APIVersion: o.Owner.APIVersion, Kind: o.Owner.Kind, Name: o.Owner.Name, Gone: in.Served && o.Owner.Name != ""}
			all = append(all, r)
			byKey[k] = r
		}
		if o.Owner.UID != "" {
			r.UIDs = append(r.UIDs, o.Owner.UID)
			byUID[o.Owner.UID] = r
		}
	}
	addStatus(in, byKey, byUID)
	all = slices.DeleteFunc(all, func(r *Row) bool { return !s.matches(r) })
	sortRows(all, s.Sort, in.Now)
	return all
}

// addStatus tells rows what goes on.
func addStatus(in *rowsInput, byKey map[rowKey]*Row, byUID map[types.UID]*Row) {
	find := func(namespace string, o *run.Owner) *Row {
		if r := byUID[o.UID]; r != nil && o.UID != "" {
			return r
		}
		return byKey[keyOf(namespace, o)]
	}
	if in.Status != nil {
		for i := range in.Status.Running {
			if one := &in.Status.Running[i].Run; find(one.Namespace, &one.Owner) != nil {
				find(one.Namespace, &one.Owner).Running++
			}
		}
		for i := range in.Status.Failed {
			if f := &in.Status.Failed[i]; f.Persists() || f.Deleted && f.Recovered.IsZero() {
				if r := find(f.Run.Namespace, &f.Run.Owner); r != nil {
					r.Failing = true
				}
			}
		}
		for i := range in.Status.Paused {
			p := &in.Status.Paused[i]
			if r := byUID[p.UID]; r != nil && p.UID != "" {
				r.Paused = p
			}
		}
	}
	for i := range in.Failures {
		f := &in.Failures[i]
		if r := find(f.Namespace, &f.Owner); r != nil && f.Newest.After(r.LastFailure) {
			r.LastFailure = f.Newest
		}
	}
}

// matches tells whether a viewer wants to see a row.
func (s *State) matches(r *Row) bool {
	if s.Namespace != "" && r.Namespace != s.Namespace {
		return false
	}
	if q := strings.ToLower(s.Q); q != "" && !strings.Contains(strings.ToLower(r.Namespace+"/"+r.Text()), q) {
		return false
	}
	switch s.Show {
	case "running":
		return r.Running > 0
	case "failing":
		return r.Failing
	case "paused":
		return r.Paused != nil
	case "jobs":
		return r.Own()
	case "gone":
		return r.Gone
	}
	return true
}

// sortRows orders rows. Jobs of their own come last.
func sortRows(all []*Row, by string, now time.Time) {
	if by == "next" {
		for _, r := range all {
			r.next(now)
		}
	}
	slices.SortStableFunc(all, func(a, b *Row) int {
		first := 0
		switch by {
		case "next":
			first = cmp.Or(ordering.Bools(a.Next.IsZero(), b.Next.IsZero()), a.Next.Compare(b.Next))
		case "failure":
			first = b.LastFailure.Compare(a.LastFailure)
		default:
			first = ordering.Bools(a.Own(), b.Own())
		}
		return cmp.Or(first, cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.APIVersion, b.APIVersion))
	})
}

// next finds its next time.
func (r *Row) next(now time.Time) {
	s := r.Schedule
	if s == nil || s.Owner.Deleting || s.Obstacle() != "" {
		return
	}
	if p := r.Paused; p != nil {
		if p.Until.IsZero() {
			return
		}
		now = ordering.Later(now, p.Until.Add(-1))
	}
	r.Next = s.FirstAfter(now)
}

// rowsOfPage is how many rows a page has.
const rowsOfPage = 40

// paged gives the rows of one page, the last one if there are not so many, and the numbers of the pages before and
// after, 0 if there is none.
func paged(all []*Row, number int) (rows []*Row, first, previous, next int) {
	pages := max(1, (len(all)+rowsOfPage-1)/rowsOfPage)
	number = min(number, pages)
	first = (number - 1) * rowsOfPage
	rows = all[first:min(len(all), first+rowsOfPage)]
	if number < pages {
		next = number + 1
	}
	return rows, first, number - 1, next
}

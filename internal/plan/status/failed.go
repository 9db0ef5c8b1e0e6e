// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Failure is an object of which runs failed lately.
type Failure struct {
	Object
	// Run is the newest one that failed.
	Run run.Run
	// Count is how many runs failed lately, each attempt of a scheduled time.
	Count int
	// InARow is how many scheduled times have failed one after the other until the newest that failed; More: or more,
	// because earlier runs were not looked up or are not known any more.
	InARow int
	More   bool
	// Recovered is when a later run succeeded; zero if none did.
	Recovered time.Time
	// Deleted: the CronJob or Timetable is not there any more.
	Deleted bool
	// Output are the last lines that its last failed container wrote, filled in by who looks them up.
	Output []string
}

// Persists tells that nothing better has come since.
func (f *Failure) Persists() bool { return f.Recovered.IsZero() && !f.Deleted }

// Owners are the owners of failed runs, each once, in the order of their newest one: those whose recent runs are worth
// a look.
func Owners(failed []run.Run) []types.UID {
	var owners []types.UID
	seen := map[types.UID]bool{}
	for i := range failed {
		if uid := failed[i].Owner.UID; uid != "" && !seen[uid] {
			seen[uid] = true
			owners = append(owners, uid)
		}
	}
	return owners
}

// failed gives the objects of which runs failed lately: first those that still fail, and of these the newest.
func failed(in *Input, owners map[types.UID]*workload.Scheduled) []Failure {
	type key struct{ namespace, kind, name string }
	groups := map[key]*Failure{}
	runs := map[key][]run.Run{}
	var order []key
	for _, r := range in.Failed {
		k := key{r.Namespace, r.Owner.Kind, r.Owner.Name}
		if r.Owner.Name == "" {
			k = key{r.Namespace, "", string(r.UID)}
		}
		f := groups[k]
		if f == nil {
			f = &Failure{Object: objectOf(&r), Run: r}
			groups[k] = f
			order = append(order, k)
		}
		if r.Ended.After(f.Run.Ended) {
			f.Object, f.Run = objectOf(&r), r
		}
		f.Count++
		runs[k] = append(runs[k], r)
	}
	all := make([]Failure, 0, len(order))
	for _, k := range order {
		f := groups[k]
		owner := owners[f.UID]
		f.Deleted = in.Served && f.UID != "" && owner == nil
		recent, known := in.Recent[f.UID]
		if f.UID == "" || !known {
			recent = runs[k]
		}
		f.inARow(recent)
		if owner != nil && f.Recovered.IsZero() {
			if last := owner.Memory.LastSuccessful; last != nil && last.After(f.Run.Ended) {
				f.Recovered = last.UTC()
			}
		}
		f.More = f.More && f.UID != ""
		all = append(all, *f)
	}
	slices.SortStableFunc(all, func(a, b Failure) int {
		return cmp.Or(-compareBools(a.Persists(), b.Persists()), b.Run.Ended.Compare(a.Run.Ended), compareObjects(a.Object, b.Object))
	})
	return all
}

// inARow counts the scheduled times that failed one after the other, among recent runs, newest first.
func (f *Failure) inARow(recent []run.Run) {
	f.More = true
	times := map[time.Time]bool{}
	for i := range recent {
		r := &recent[i]
		switch {
		case r.Outcome == run.Succeeded && r.Time().After(f.Run.Time()), r.Outcome == run.Succeeded && r.Retry > f.Run.Retry && r.Time().Equal(f.Run.Time()):
			if r.Ended.After(f.Recovered) {
				f.Recovered = r.Ended
			}
			continue
		case r.Outcome == run.Failed && !r.Time().After(f.Run.Time()):
			times[r.Time()] = true
			continue
		case r.Outcome == run.Succeeded:
			f.More = false
		default: // it says neither
			continue
		}
		break
	}
	f.InARow = max(1, len(times))
}

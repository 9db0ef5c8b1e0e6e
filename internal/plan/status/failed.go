// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/ordering"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Failure is an object of which runs failed lately.
type Failure struct {
	Object
	// Run is the newest one that failed.
	Run run.Run
	// Count is how many runs failed lately, each scheduled time once, and Tries how many tries of these failed.
	Count, Tries int
	// InARow is how many scheduled times have failed one after the other until the newest that failed; More: or more,
	// because earlier runs were not looked up or are not known any more.
	InARow int
	More   bool
	// Recovered is when a later run succeeded; zero if none did.
	Recovered time.Time
	// Retrying: the one that failed is being tried again, or will be, and no other has failed: Count and InARow are 0.
	Retrying bool
	// Deleted: the CronJob or Timetable is not there any more.
	Deleted bool
	// Output are the last lines that its last failed container wrote, filled in by who looks them up.
	Output []string
}

// Persists tells that nothing better has come since.
func (f *Failure) Persists() bool { return f.Recovered.IsZero() && !f.Deleted && !f.Retrying }

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

// failed gives the objects of which runs failed lately: first those that still fail, and of these the newest. A
// scheduled time of which a later try has another end has not failed, nor has, yet, one that is tried again.
func failed(in *Input, owners map[types.UID]*workload.Scheduled) []Failure {
	groups := map[failing]*Failure{}
	runs := map[failing][]run.Run{}
	retrying := map[failing]Failure{}
	var order []failing
	for _, tries := range run.Times(in.Failed) {
		r := tries[len(tries)-1]
		k := failing{r.Namespace, r.Owner.Kind, r.Owner.Name}
		if r.Owner.Name == "" {
			k = failing{r.Namespace, "", string(r.UID)}
		}
		if again, decided := in.triedAgain(&r, owners[r.Owner.UID]); again {
			r.Retrying = true
			retrying[k] = Failure{Object: objectOf(&r), Run: r, Tries: len(tries), Retrying: true}
			continue
		} else if decided {
			continue
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
		f.Tries += len(tries)
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
	for k := range retrying {
		if groups[k] == nil {
			all = append(all, retrying[k])
		}
	}
	slices.SortStableFunc(all, func(a, b Failure) int {
		return cmp.Or(-ordering.Bools(a.Persists(), b.Persists()), b.Run.Ended.Compare(a.Run.Ended), compareObjects(a.Object, b.Object))
	})
	return all
}

// failing names what runs failed of: an object, or a Job of its own by its UID.
type failing struct{ namespace, kind, name string }

// triedAgain tells whether the scheduled time of a run that failed is being tried again or will be, and, if not,
// whether a later try of it has decided.
func (in *Input) triedAgain(r *run.Run, owner *workload.Scheduled) (again, decided bool) {
	if r.Owner.UID == "" || r.ScheduledTime.IsZero() {
		return false, false
	}
	if owner != nil && owner.TriesAgain(r.ScheduledTime, r.Retry) {
		return true, false
	}
	later := func(other run.Run) bool {
		return other.Owner.UID == r.Owner.UID && other.ScheduledTime.Equal(r.ScheduledTime) && max(1, other.Retry) > max(1, r.Retry)
	}
	if slices.ContainsFunc(in.Active, later) {
		return true, false
	}
	return false, slices.ContainsFunc(in.Recent[r.Owner.UID], later)
}

// inARow counts the scheduled times that failed one after the other, among recent runs, newest first.
func (f *Failure) inARow(recent []run.Run) {
	f.More = true
	times := 0
	for _, tries := range run.Times(recent) {
		r := &tries[len(tries)-1]
		switch {
		case r.Outcome == run.Succeeded && r.Time().After(f.Run.Time()):
			if r.Ended.After(f.Recovered) {
				f.Recovered = r.Ended
			}
			continue
		case r.Outcome == run.Failed && !r.Time().After(f.Run.Time()):
			times++
			continue
		case r.Outcome == run.Succeeded:
			f.More = false
		default: // it says neither
			continue
		}
		break
	}
	f.InARow = max(1, times)
}

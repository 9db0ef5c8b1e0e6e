// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/ordering"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Pods is what the Pods of a run do.
type Pods struct {
	// Running is how many of them run.
	Running int
	// Waits says in words what one waits for that does not run, "" if none waits: "is not placed on a node: 0/1 nodes
	// are available". Stuck: it does not go on by itself.
	Waits string
	Stuck bool
}

// Running is a run that has not ended.
type Running struct {
	Object
	Run run.Run
	// Age is how long it has run.
	Age time.Duration
	// Usual is how long others of its owner took; zero if none are known.
	Usual Usual
	// Long: it has run for longer than any of them.
	Long bool
	// Waits says what keeps it from running, "" if nothing does, or if nobody could tell. Stuck: it does not go on by
	// itself.
	Waits string
	Stuck bool
}

// leastRuns is how many runs must be known for one to be longer than usual.
const leastRuns = 3

// clockUnit is how exact the times of runs are.
const clockUnit = time.Second

// running gives the runs that have not ended: first those that are stuck, then those that take long, then the oldest.
func running(in *Input) []Running {
	all := make([]Running, 0, len(in.Active))
	stopped := in.Facts.Carillon != nil && !in.Facts.Carillon.Running // so that its age is not how long it ran
	for i := range in.Active {
		r := &in.Active[i]
		one := Running{Object: objectOf(r), Run: *r, Age: r.Duration(in.Now)}
		if stopped {
			one.Run.Left = true
			all = append(all, one)
			continue
		}
		if usual := in.Usual[r.Owner.UID]; r.Owner.UID != "" {
			one.Usual = usual
			one.Long = usual.Runs >= leastRuns && one.Age > usual.Most+clockUnit && !r.Started.IsZero()
		}
		pods, known := in.Pods[r.UID]
		switch {
		case r.Suspended:
			one.Waits = "its " + cmp.Or(r.Kind, "object") + " is suspended"
		case known && pods.Waits != "" && (pods.Running == 0 || pods.Stuck):
			one.Waits, one.Stuck = pods.Waits, pods.Stuck
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b Running) int {
		return cmp.Or(-ordering.Bools(a.Stuck, b.Stuck), -ordering.Bools(a.Long, b.Long), a.Run.Begun().Compare(b.Run.Begun()),
			compareObjects(a.Object, b.Object), cmp.Compare(a.Run.UID, b.Run.UID))
	})
	return all
}

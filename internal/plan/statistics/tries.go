// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"cmp"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// ended is what is counted of a run.
type ended struct {
	span    int32
	retry   int32
	created int64 // nanoseconds
	// outcome is Active also of what failed and is to be tried again. took is -1 if it says nothing.
	outcome run.Outcome
	took    time.Duration
	// owner is nil if owners are not asked for.
	owner *collectedOwner
}

// tries finds the last try of each scheduled time, as run.Times does, without keeping the runs.
type tries struct {
	objects map[object]int32
	last    map[triedTime]ended
}

// object is whose times they are. What was made anew under its name is another one.
type object struct {
	namespace string
	owner     run.Owner
}

// triedTime is a scheduled time of an object, by its number, in nanoseconds.
type triedTime struct {
	object int32
	at     int64
}

func newTries() tries { return tries{map[object]int32{}, map[triedTime]ended{}} }

// mayBeTriedAgain tells whether a run may be one of several tries of its scheduled time. A CronJob has one Job for each
// time, so nothing need be kept of the very many that there may be.
func mayBeTriedAgain(r *run.Run) bool {
	return !r.ScheduledTime.IsZero() && r.Owner.Name != "" && r.Owner.Kind != "CronJob"
}

// add keeps a try if no later one of its time is known.
func (t *tries) add(r *run.Run, e ended) {
	whose := object{r.Namespace, r.Owner}
	number, known := t.objects[whose]
	if !known {
		number = int32(len(t.objects))
		t.objects[whose] = number
	}
	key := triedTime{number, r.ScheduledTime.UnixNano()}
	if before, known := t.last[key]; known && cmp.Or(cmp.Compare(e.retry, before.retry), cmp.Compare(e.created, before.created)) < 0 {
		return
	}
	t.last[key] = e
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status tells on one screen what is going on: what is wrong, what runs, what failed or did not start lately,
// and what comes next.
//
//   - status.go    Input, what is known, and Status, what there is to see of it
//   - facts.go     what is known of the parts that all of it depends on, and health.go what that means
//   - running.go   what runs
//   - failed.go    whose runs failed lately, and whether they still do
//   - missed.go    scheduled times for which nothing was started, and late.go those that may still start
//   - due.go       what is due soon
//   - paused.go    what does not start because somebody or something said so, and what cannot
//   - verdict.go   all of it in one line
//   - document.go  all of it for programs
//
// Nothing here reads a clock or asks anybody: what is known comes in.
package status

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Input is what is known.
type Input struct {
	Now time.Time
	// Since is from when on failures and omissions count.
	Since time.Time
	// Within is how far ahead what is due is told.
	Within time.Duration
	// Schedules are the CronJobs and Timetables. Served is false if nobody could be asked for them.
	Schedules []*workload.Scheduled
	Served    bool
	// Active are the runs that have not ended, Failed those that failed since then, Omissions the times for which
	// nothing was started since then: each newest first.
	Active, Failed []run.Run
	Omissions      []run.Omission
	// Usual tells how long runs of an owner take, by its UID.
	Usual map[types.UID]Usual
	// Recent are the newest runs of owners of failed ones, newest first, as far as they were looked up; by the owner's
	// UID.
	Recent map[types.UID][]run.Run
	// Pods says what the Pods of active runs do, by the UID of the run. Those of others are not known.
	Pods map[types.UID]Pods
	// Facts are about what all of it depends on.
	Facts Facts
}

// Usual is how long runs of one owner take that succeed.
type Usual struct {
	Runs         int // how many it was made from
	Median, Most time.Duration
}

// Object names a CronJob or a Timetable, or a Job of its own, as commands take it.
type Object struct {
	Namespace string
	// Reference is "cronjob/backup", "timetable/sync", "job/import"; of what is none of these, its kind in small
	// letters and its name.
	Reference string
	// UID is empty where it is not known.
	UID types.UID
}

// Status is what there is to see.
type Status struct {
	Now, Since time.Time
	Within     time.Duration
	// Served is false if nobody could be asked for the schedules, so that Late, Due, Paused and Blocked are not known.
	Served bool
	// Unread says what could not be seen.
	Unread Unread
	// Stopped: it is of a Carillon of this machine that does not run, so that what is Running had not ended when it
	// stopped.
	Stopped bool
	// Schedules is how many CronJobs and Timetables there are.
	Schedules int
	// Next is the next time at which one of them is due; zero if none is.
	Next    time.Time
	Health  []Part
	Running []Running
	Failed  []Failure
	Late    []Late
	Missed  []Omitted
	Due     []Due
	Paused  []Paused
	Blocked []Blocked
}

// Unread says why something could not be seen, so that none known does not mean none: "Jobs may not be read: …". What
// is "" could be seen.
type Unread struct {
	// Schedules is about some of the CronJobs or Timetables, Runs about some of what they start.
	Schedules, Runs string
}

// Any tells whether something could not be seen.
func (u Unread) Any() bool { return u != Unread{} }

// Of makes the status of what is known. The same input gives the same status.
func Of(in *Input) *Status {
	owners := map[types.UID]*workload.Scheduled{}
	for _, s := range in.Schedules {
		owners[s.Owner.UID] = s
	}
	s := &Status{Now: in.Now, Since: in.Since, Within: in.Within, Served: in.Served, Schedules: len(in.Schedules)}
	s.Stopped = in.Facts.Carillon != nil && !in.Facts.Carillon.Running
	s.Health = in.Facts.parts(in.Now)
	s.Running = running(in)
	s.Paused, s.Blocked = paused(in), blocked(in)
	s.Failed = failed(in, owners)
	s.Late = late(in)
	s.Missed = missed(in, s.Paused)
	s.Due, s.Next = due(in)
	return s
}

// objectOf names what a run belongs to.
func objectOf(r *run.Run) Object {
	if r.Owner.Name == "" {
		return Object{r.Namespace, reference(r.Kind, r.Name), ""}
	}
	return Object{r.Namespace, reference(r.Owner.Kind, r.Owner.Name), r.Owner.UID}
}

func objectOfSchedule(s *workload.Scheduled) Object {
	return Object{s.Owner.Namespace, s.Reference(), s.Owner.UID}
}

func reference(kind, name string) string { return lower(kind) + "/" + name }

// lower is for kinds, which are ASCII.
func lower(kind string) string {
	text := []byte(cmp.Or(kind, "run"))
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			text[i] = c + 'a' - 'A'
		}
	}
	return string(text)
}

// compareObjects orders by namespace and name.
func compareObjects(a, b Object) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Reference, b.Reference), cmp.Compare(a.UID, b.UID))
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/cron"
)

// world is a server with one CronJob, a controller process in front of it whose cache lags, and time that goes by.
// Requests fail, answers get lost, the process crashes between any two steps, and the user edits.
type world struct {
	t      *rapid.T
	traits *cron.Traits
	now    time.Time
	log    []string

	// what the server holds
	owner    snapshot
	children map[string]cron.Child
	born     int

	// what the cache may still show: the past half minute, newest last, never older than the own writes of this process
	owners   []snapshot
	families []family
	seen     string

	// what the guarantees are checked against
	runs map[string]string // scheduled time -> child, for ever
}

// snapshot is the CronJob at some time.
type snapshot struct {
	at    time.Time
	owner cron.Owner
	spec  cron.Spec
	state cron.State
	rv    int
	// edited is when this schedule was set, zero for the first one.
	edited time.Time
}

type family struct {
	at       time.Time
	children map[string]cron.Child
}

// lag is how old a cache may be. It is less than the time between two scheduled times.
const lag = 30 * time.Second

func newWorld(t *rapid.T) *world {
	kind := rapid.SampledFrom([]string{"K", "V", "T"}).Draw(t, "kind")
	w := &world{t: t, traits: traits[kind], now: at("12:00:17"), children: map[string]cron.Child{}, runs: map[string]string{}}
	limit := maybe(rapid.SampledFrom([]int32{0, 1, 3}))
	w.owner = snapshot{
		owner: cron.Owner{Namespace: "batch", Name: "tick", UID: "cj-1", Generation: 1, Created: at("12:00:17"), Touched: at("12:00:17")},
		spec: cron.Spec{
			Schedules: []string{"*/2 * * * *"},
			Deadline:  maybe(rapid.SampledFrom([]int64{10, 90, 600})).Draw(t, "deadline"),
			Concurrency: rapid.SampledFrom([]batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent,
				batchv1.ReplaceConcurrent}).Draw(t, "policy"),
			KeepSuccessful: limit.Draw(t, "keep successful"), KeepFailed: limit.Draw(t, "keep failed"),
		},
	}
	w.changed()
	w.restart()
	return w
}

func (w *world) tell(format string, args ...any) {
	w.log = append(w.log, w.now.Format("15:04:05.0 ")+fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(w.log, "\n"))
}

// changed lets the cache learn, sooner or later, what the server holds now.
func (w *world) changed() {
	w.owner.at = w.now
	w.owners = append(w.owners, w.owner)
	w.families = append(w.families, family{at: w.now, children: maps.Clone(w.children)})
}

// restart is a crash and a new process: it knows what it lists, and nothing else.
func (w *world) restart() {
	w.owners, w.families, w.seen = w.owners[len(w.owners)-1:], w.families[len(w.families)-1:], ""
}

// ownWrite: the process reads what it wrote.
func (w *world) ownWrite() {
	w.owners, w.families = w.owners[len(w.owners)-1:], w.families[len(w.families)-1:]
}

// view is what the cache shows: for each type some state of the past, not older than the lag.
func (w *world) view() cron.Input {
	for len(w.owners) > 1 && w.owners[1].at.Before(w.now.Add(-lag)) {
		w.owners = w.owners[1:]
	}
	for len(w.families) > 1 && w.families[1].at.Before(w.now.Add(-lag)) {
		w.families = w.families[1:]
	}
	i := rapid.IntRange(0, len(w.owners)-1).Draw(w.t, "owner's cache")
	j := rapid.IntRange(0, len(w.families)-1).Draw(w.t, "children's cache")
	w.owners, w.families = w.owners[i:], w.families[j:] // a cache does not go back
	o := w.owners[0]
	in := cron.Input{Now: w.now, Traits: w.traits, Owner: o.owner, Spec: o.spec, State: o.state, Seen: w.seen}
	for _, name := range slices.Sorted(maps.Keys(w.families[0].children)) {
		in.Children = append(in.Children, w.families[0].children[name])
	}
	return in
}

// trouble draws what happens to a request: usually nothing; or it fails; or it succeeds and its answer is lost; or the
// process dies, before or after it.
func (w *world) trouble(what string) (effect bool, err error, crash bool) {
	switch rapid.IntRange(0, 19).Draw(w.t, what) {
	case 17:
		return false, broken, false
	case 18:
		return true, broken, false
	case 19:
		return rapid.Bool().Draw(w.t, "done before the crash"), nil, true
	default:
		return true, nil, false
	}
}

// pass is one pass of the controller. It tells whether it came to its end without an error, and the wake-up.
func (w *world) pass(faults bool) (quiet bool, wake time.Time) {
	trouble := w.trouble
	if !faults {
		trouble = func(string) (bool, error, bool) { return true, nil, false }
	}
	in := w.view()
	rv, edited := w.owners[0].rv, w.owners[0].edited
	for range 3 * maxRounds {
		plan := cron.Decide(in)
		w.seen = plan.Timetable
		switch plan.Next() {
		case cron.PhaseLook:
			for _, l := range plan.Look {
				_, err, crash := trouble("look")
				if crash {
					w.restart()
					return false, time.Time{}
				}
				if l.Owner {
					rv, edited = w.owner.rv, w.owner.edited
					in.SawOwner(w.owner.owner, w.owner.spec, w.owner.state, err)
				} else if c, ok := w.children[l.Name]; ok {
					in.SawChild(l, &c, err)
				} else {
					in.SawChild(l, nil, err)
				}
			}
		case cron.PhaseStop, cron.PhasePrune:
			steps, did := plan.Stop, in.DidStop
			if len(steps) == 0 {
				steps, did = plan.Prune, in.DidPrune
			}
			for _, s := range steps {
				effect, err, crash := trouble("delete")
				if effect {
					if deleted := w.delete(s); err == nil {
						err = deleted
					}
				}
				if crash {
					w.restart()
					return false, time.Time{}
				}
				if err == nil {
					w.families = w.families[len(w.families)-1:]
				}
				did(s, err)
			}
		case cron.PhaseStart:
			effect, err, crash := trouble("create")
			var child *cron.Child
			if effect {
				var created error
				if child, created = w.create(*plan.Start, in, edited); err == nil {
					err = created
				}
			}
			if crash {
				w.restart()
				return false, time.Time{}
			}
			if err == nil {
				w.families = w.families[len(w.families)-1:] // the process reads its own writes, if it knows of them
			}
			in.DidStart(*plan.Start, child, err)
		case cron.PhaseRecord:
			effect, err, crash := trouble("record")
			if effect {
				if written := w.record(*plan.Record, rv); err == nil {
					err = written
				}
			}
			if crash {
				w.restart()
				return false, time.Time{}
			}
			in.DidRecord(err)
		default:
			if !plan.Wake.IsZero() && !plan.Wake.After(w.now) {
				w.fail("wakes at %v", plan.Wake)
			}
			return plan.Err == nil, plan.Wake
		}
	}
	w.fail("the pass does not end")
	return false, time.Time{}
}

func (w *world) create(start cron.Start, in cron.Input, edited time.Time) (*cron.Child, error) {
	if _, taken := w.children[start.Name]; taken {
		return nil, apierrors.NewAlreadyExists(jobs, start.Name)
	}
	w.born++
	c := cron.Child{APIVersion: "batch/v1", Kind: "Job", Namespace: "batch", Name: start.Name, UID: types.UID(fmt.Sprint("child-", w.born)),
		Controller: &metav1.OwnerReference{APIVersion: w.traits.Group + "/v1", Kind: w.traits.Kind, Name: "tick", UID: "cj-1"},
		Created:    w.now, Started: new(w.now), Stamp: start.Stamp}
	w.tell("created %s (%s) for %s", c.Name, c.UID, start.Stamp)

	// Guarantee 1: at most one child per scheduled time.
	scheduled := start.Time.UTC().Format(time.RFC3339)
	if other, ok := w.runs[scheduled]; ok {
		w.fail("a second child for %s; the first was %s", scheduled, other)
	}
	w.runs[scheduled] = string(c.UID)
	// Guarantee 2: Forbid never overlaps.
	if in.Spec.Concurrency == batchv1.ForbidConcurrent {
		for _, other := range w.children {
			if other.Phase == cron.Unfinished {
				w.fail("Forbid, and %s (%s) is unfinished", other.Name, other.UID)
			}
		}
	}
	// Guarantee 4: nothing runs for a time up to the edit that set its schedule.
	if !edited.IsZero() && !start.Time.After(edited) {
		w.fail("started for %s, but the schedule was set at %v", scheduled, edited)
	}
	if start.Time.After(w.now) {
		w.fail("started early")
	}

	w.children[c.Name] = c
	w.changed()
	return &c, nil
}

func (w *world) delete(s cron.Step) error {
	c, ok := w.children[s.Name]
	if !ok || c.UID != s.UID {
		return apierrors.NewNotFound(jobs, s.Name)
	}
	w.tell("deleted %s (%s): %s", s.Name, s.UID, s.Why)
	delete(w.children, s.Name)
	w.changed()
	return nil
}

func (w *world) record(r cron.Record, rv int) error {
	if r.Status && rv != w.owner.rv {
		return conflict
	}
	w.tell("%s", r)
	state := w.owner.state
	if r.Status {
		if backwards(state.LastSchedule, r.State.LastSchedule) {
			w.fail("lastScheduleTime goes back")
		}
		timetable := state.Timetable
		state = r.State
		state.Timetable = timetable
	}
	if r.Timetable {
		state.Timetable = r.State.Timetable
	}
	w.owner.state = state
	w.owner.rv++
	w.changed()
	w.owners = w.owners[len(w.owners)-1:]
	return nil
}

// edit sets a schedule that was never there before, or the policy, or suspends and resumes.
func (w *world) edit(n int) {
	o := &w.owner
	switch rapid.IntRange(0, 3).Draw(w.t, "edit") {
	case 0:
		o.spec.Suspend = !o.spec.Suspend
	case 1:
		o.spec.Concurrency = rapid.SampledFrom([]batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent,
			batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent}).Draw(w.t, "policy")
	default:
		texts := []string{"1-59/2 * * * *", "*/3 * * * *", "0-58/4 * * * *", "* * * * *", "5,25,45 * * * *", "@every 3m", "@every 20s", "*/7 * * * *", "3-59/5 * * * *", "2-59/6 * * * *"}
		o.spec.Schedules = []string{texts[n%len(texts)]}
		o.edited = w.now
	}
	o.owner.Touched = w.now.Truncate(time.Second)
	o.owner.Generation++
	o.rv++
	w.tell("edited: %v, %s, suspended %v", o.spec.Schedules, o.spec.Concurrency, o.spec.Suspend)
	w.changed()
}

// The guarantees of the design (section 5, numbers 1, 2, 4, 7) hold through crashes, lost answers, stale caches and
// edits, and when the trouble is over the books are right.
func TestWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		edits := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				if edits < 10 { // as many schedules as there are
					w.edit(edits)
					edits++
				}
			case 1, 2, 3:
				for _, name := range slices.Sorted(maps.Keys(w.children)) {
					if c := w.children[name]; c.Phase == cron.Unfinished && rapid.Bool().Draw(t, "ends") {
						c.Phase, c.Succeeded, c.Finished = cron.Complete, true, new(w.now)
						if rapid.IntRange(0, 3).Draw(t, "how") == 0 {
							c.Phase, c.Succeeded, c.Finished = cron.Failed, false, nil
						}
						w.children[name] = c
						w.tell("%s (%s) ended: %s", name, c.UID, c.Phase)
						w.changed()
					}
				}
			case 4:
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 20*60).Draw(t, "away")) * time.Second)
				w.restart()
				w.tell("restarted after an absence")
			default:
				w.now = w.now.Add(time.Duration(rapid.IntRange(0, 900).Draw(t, "tenths")) * 100 * time.Millisecond)
			}
			w.pass(true)
			w.ownWriteSometimes()
		}
		w.settle()
	})
}

// ownWriteSometimes lets the cache catch up.
func (w *world) ownWriteSometimes() {
	if rapid.Bool().Draw(w.t, "cache catches up") {
		w.ownWrite()
	}
}

// settle ends all trouble and all children, and expects the books to be right within a few passes.
func (w *world) settle() {
	w.owner.spec.Suspend = true
	w.owner.rv++
	for name, c := range w.children {
		if c.Phase == cron.Unfinished {
			c.Phase, c.Succeeded, c.Finished = cron.Complete, true, new(w.now)
			w.children[name] = c
		}
	}
	w.changed()
	for range 6 {
		w.now = w.now.Add(time.Second)
		w.ownWrite()
		w.pass(false)
	}
	if n := len(w.owner.state.Active); n > 0 {
		w.fail("%d references are left in the active list: %v", n, w.owner.state.Active)
	}
	kept := map[cron.Phase]int32{}
	for _, c := range w.children {
		kept[c.Phase]++
	}
	for phase, limit := range map[cron.Phase]*int32{cron.Complete: w.owner.spec.KeepSuccessful, cron.Failed: w.owner.spec.KeepFailed} {
		if limit != nil && kept[phase] > *limit {
			w.fail("%d children that are %s are left, limit %d", kept[phase], phase, *limit)
		}
	}
}

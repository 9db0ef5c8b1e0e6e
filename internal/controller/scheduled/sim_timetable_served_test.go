// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// measure notes since when there is room for another run.
func (t *timetablesTruth) measure(o *timetableOwner) {
	if len(o.versions) == 0 {
		return
	}
	now := o.versions[len(o.versions)-1:]
	switch room := len(t.active(o, time.Time{}, now)) < limitOf(now[0].spec) && !t.heldByFormerChild(o); {
	case !room:
		o.roomSince = -1
	case o.roomSince < 0:
		o.roomSince = t.world.Now()
	}
}

// servedAfter is how soon a time that is due is served when nothing is in the way: status writes stand back for no more
// than a few seconds, and caches lag.
const servedAfter = 40 * time.Second

// checkServed is TG3: while nothing is in the way, the latest time that is due is started, whether or not its status can
// be written.
func (t *timetablesTruth) checkServed() {
	leader, now := t.leader(), t.world.Now()
	if leader == nil || t.world.Broken() != "" || t.troubled > now-servedAfter {
		return
	}
	until := leader.process.Clock.Now().Add(-servedAfter)
	for _, obj := range t.server.List("Timetable") {
		tt := obj.(*timetable.Object)
		o := t.owners[tt.UID]
		v := o.versions[len(o.versions)-1]
		s, spec := &tt.Status, v.spec
		if v.timing.times == nil || tt.DeletionTimestamp != nil || spec.Suspend || spec.SuspendUntil != nil || o.touched > now-2*servedAfter || t.blocked(tt) {
			continue
		}
		due := v.timing.times.LastBetween(until.Add(-90*time.Second), until)
		seen := v.set.Add(t.fastest + servedAfter) // 5.7: the edit is the pass that sees it, and what the new timing names before that is skipped
		if due.IsZero() || !due.After(o.created) || !due.After(seen) || v.timing.times.PlannedStart(due).After(until) {
			continue
		}
		if decidedBy(s, due) && t.fastest-t.slowest >= 30*time.Second {
			continue // by a clock that was ahead, in the midst of trouble
		}
		if o.runs[due.Unix()] != nil || o.roomSince < 0 || o.roomSince > now-servedAfter-2*time.Minute || spec.StartingDeadline != nil {
			continue
		}
		if due.Before(leader.process.Clock.Now().Add(-(now - t.troubled))) {
			continue // it came while there was trouble, in which anything may have become of it
		}
		if t.taken[spec.Template.Kind+"/"+timetable.RunName(o.name, due)] {
			continue
		}
		t.breaks("TG3: nothing was made for %s of %s, and there is room since %s", due.UTC().Format(time.RFC3339), o.name, o.roomSince)
	}
}

// checkTimeouts: what has not ended in time is stopped. A Job has a deadline of its own.
func (t *timetablesTruth) checkTimeouts() {
	now := t.world.Now()
	if t.leader() == nil || t.world.Broken() != "" || max(t.troubled, t.undeletable) > now-servedAfter {
		return
	}
	for _, c := range slices.SortedFunc(maps.Values(t.children), func(a, b *childTruth) int { return int(a.made - b.made) }) {
		o := t.owners[c.owner]
		if o == nil || o.obj.DeletionTimestamp != nil || o.touched > now-2*servedAfter || t.immovable(c) || !t.records(o, c) {
			continue
		}
		spec := &o.obj.Spec
		ready := conditionOf(&o.obj.Status, v1alpha1.ConditionReady)
		if spec.Timeout == nil || c.kind == "Job" || c.kind != spec.Template.Kind || ready != nil && ready.Status == "False" {
			continue
		}
		if c.made <= o.began {
			continue // it began before the first cursor, as no status could be written: it takes room, and is no run of ours (5.1)
		}
		left := c.finished || c.gone || c.meddled || c.attempt == 0 || c.last.GetDeletionTimestamp() != nil
		if limit := duration(spec.Timeout) + servedAfter + t.fastest - t.slowest; !left && now-c.made > limit {
			t.breaks("%s of %s has been running since %s, and its timeout is %s", c.name, o.name, c.made, *spec.Timeout)
		}
	}
}

// blocked tells whether something keeps a Timetable from starting anything, as the contract knows it.
func (t *timetablesTruth) blocked(tt *timetable.Object) bool {
	s := &tt.Status
	if ready := conditionOf(s, v1alpha1.ConditionReady); ready != nil && ready.Status == "False" {
		return true
	}
	if paused := conditionOf(s, v1alpha1.ConditionPaused); paused != nil && paused.Status == "True" || tt.Spec.PauseAfterFailures != nil {
		return true
	}
	unknownEnd := slices.ContainsFunc(t.server.List("Widget"), func(obj client.Object) bool {
		return metav1.IsControlledBy(obj, tt) && t.formerKind(obj) && !t.endRecorded(obj.GetUID())
	})
	return slices.ContainsFunc(s.Waiting, func(w v1alpha1.WaitingTime) bool { return unknownEnd || w.Reason != "Overlap" })
}

// heldByFormerChild tells whether a user has taken a child away that still runs: its run keeps its place (timetable.md 3.9).
func (t *timetablesTruth) heldByFormerChild(o *timetableOwner) bool {
	return slices.ContainsFunc(o.obj.Status.Active, func(a v1alpha1.ActiveRun) bool {
		run := o.runs[a.ScheduledTime.Unix()]
		if run == nil || len(run.attempts) == 0 {
			return false
		}
		c := run.newest()
		there := t.server.Get(c.kind, ns, c.name)
		return c.gone && c.meddled && !c.finished && there != nil && there.GetUID() == c.last.GetUID()
	})
}

// endRecorded tells whether a status tells how the run of a child has ended: that is so whatever spec.outcome says later.
func (t *timetablesTruth) endRecorded(child types.UID) bool {
	c := t.children[child]
	if c == nil || t.owners[c.owner] == nil {
		return false
	}
	o := t.owners[c.owner]
	return decidedBy(&o.obj.Status, c.scheduled) && slices.ContainsFunc(o.obj.Status.Ledger, func(e v1alpha1.LedgerEntry) bool {
		return e.Run != "" && e.ScheduledTime.Time.Equal(c.scheduled)
	})
}

// checkHistory is TG6: of what ended that long ago, no more is left than the limits say.
func (t *timetablesTruth) checkHistory(ago time.Duration) {
	now := t.world.Now()
	if t.world.Broken() != "" || ago > 0 && (t.unwritable > now-ago || t.undeletable > now-ago || t.leader() == nil) {
		return
	}
	for _, obj := range t.server.List("Timetable") {
		tt := obj.(*timetable.Object)
		o := t.owners[tt.UID]
		if tt.DeletionTimestamp != nil || o.touched > now-ago {
			continue
		}
		left := map[bool][]string{}
		for _, run := range o.runs {
			c := run.newest()
			if !c.finished || c.gone || c.ended > now-ago || t.immovable(c) || c.made > now-ago-time.Minute-(t.fastest-t.slowest) || !run.over || c.last.GetDeletionTimestamp() != nil {
				continue
			}
			if leader := t.leading(); c.kind != tt.Spec.Template.Kind && (leader == nil || c.ended < leader.began) {
				continue // 5.7: no status tells a process that there were runs of that kind
			}
			left[c.succeeded] = append(left[c.succeeded], c.name)
		}
		for _, class := range []bool{true, false} {
			limit := *tt.Spec.History.Failed.Limit
			if class {
				limit = *tt.Spec.History.Succeeded.Limit
			}
			if slices.Sort(left[class]); len(left[class]) > int(limit) {
				t.breaks("TG6: %s keeps %v, its limit is %d", tt.Name, left[class], limit)
			}
		}
	}
}

// checkEnd judges the statuses when all is calm.
func (t *timetablesTruth) checkEnd() {
	t.checkHistory(0)
	if t.world.Broken() != "" {
		return
	}
	for _, obj := range t.server.List("Timetable") {
		tt := obj.(*timetable.Object)
		o := t.owners[tt.UID]
		var running, active []string
		lost, started := int64(0), int64(0)
		for _, run := range o.runs {
			c := run.newest()
			if !c.finished && !c.gone {
				running = append(running, c.name)
			}
			started++
			last := t.managers[len(t.managers)-1].process.Name
			if !slices.ContainsFunc(run.attempts, func(c *childTruth) bool {
				return (!c.gone || c.recorded) && c.made > o.began && !t.unknownKind(o, c, last)
			}) {
				lost++ // gone before any status told of it (S2), or before the first cursor
			}
		}
		ready := conditionOf(&tt.Status, v1alpha1.ConditionReady)
		for _, a := range tt.Status.Active {
			if a.RetryAt != nil && ready != nil && ready.Status == "False" {
				continue // it stays due until that is mended
			}
			active = append(active, a.Name)
		}
		slices.Sort(running)
		slices.Sort(active)
		if !slices.Equal(running, active) && tt.DeletionTimestamp == nil {
			t.breaks("%s lists %v, and %v are unfinished", tt.Name, active, running)
		}
		if n := tt.Status.Counts.Started; n > started || n < started-lost {
			t.breaks("TG5: %s says that %d have started; %d have, of which %d went before that could be recorded", tt.Name, n, started, lost)
		}
	}
}

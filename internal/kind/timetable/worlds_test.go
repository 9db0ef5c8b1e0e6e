// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// Whatever happens, a name is made once, no more runs are active than may be, and each scheduled time is counted once,
// after every write (TG1, TG2, TG5; TT-186).
func TestAnyHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		spec := drawnSpec(rt)
		h := newHistory(t, rt, spec)
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			h.step(rapid.SampledFrom(slices.Sorted(maps.Keys(happenings))).Draw(rt, "happening"))
		}
	})
}

// No start is for a time at or before an edit that the timing before it did not name, too (TG4; TT-115). What a process
// saw and could not write is gone with it: the next one sees one edit, of the timing that was recorded last, or none
// (5.7).
func TestAnyEdits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(t, rt, drawnSpec(rt))
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			if rapid.IntRange(0, 3).Draw(rt, "edit") == 0 {
				h.edit(rapid.SampledFrom([]string{"*/10 * * * *", "*/5 * * * *", "5-59/10 * * * *", "7 * * * *", "*/7 * * * *"}).Draw(rt, "schedule"))
			}
			h.step(rapid.SampledFrom(slices.Sorted(maps.Keys(happenings))).Draw(rt, "happening"))
		}
	})
}

func drawnSpec(rt *rapid.T) string {
	concurrency := rapid.SampledFrom([]string{"", "{limit: 2}", "{policy: Queue, queueLimit: 3}", "{policy: Queue, limit: 2, queueLimit: 0}", "{policy: Replace}",
		"{policy: Replace, limit: 2}", "{policy: Allow}"}).Draw(rt, "concurrency")
	catchUps := []string{"", "{policy: None}", "{policy: All}", "{policy: All, limit: 2}"}
	if strings.Contains(concurrency, "Replace") {
		catchUps = catchUps[:2]
	}
	var fields []string
	draw := func(name string, values ...string) {
		if value := rapid.SampledFrom(values).Draw(rt, name); value != "" {
			fields = append(fields, name+": "+value)
		}
	}
	draw("catchUp", catchUps...)
	draw("startingDeadline", "", "", "90s", "30m")
	draw("retry", "", "{limit: 2}", "{limit: 1, delay: 5m}")
	draw("jitter", "", "", "5m")
	draw("onResume", "", "CatchUp")
	draw("pauseAfterFailures", "", "2")
	draw("history", "", "{succeeded: {limit: 0}, failed: {limit: 0}}", "{succeeded: {maxAge: 10m}, ledger: 2}")
	if concurrency != "" {
		fields = append(fields, "concurrency: "+concurrency)
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// history is a world in which anything happens.
type history struct {
	*world
	rt *rapid.T
	// first is the first cursor, made is how often each name was made, and edits are those of the timing.
	first time.Time
	made  map[string]int
	// unrecorded are the names that no status knows of yet, and forgotten those of them that the process which made them
	// did not outlive: once their children are gone, nothing tells of them (TG1, S2).
	unrecorded, forgotten map[string]bool
	edits                 []timingEdit
	// recorded is how many of them a status was written after, and served are the times of that status.
	recorded int
	served   *timeset.Set
	// forgot: edits are forgotten, and with them what named the times of runs that are adopted.
	forgot bool
	// restarted: the process has ended in the middle of a pass, and the next one has not begun any.
	restarted bool
}

// timingEdit is when the timing was another one for the first time, and the one before.
type timingEdit struct {
	at     time.Time
	before *timeset.Set
	// changed: it was another one, and not the same once more.
	changed bool
}

func newHistory(t *testing.T, rt *rapid.T, spec string) *history {
	h := &history{world: newWorld(t, spec), rt: rt, made: map[string]int{}, unrecorded: map[string]bool{}, forgotten: map[string]bool{}}
	h.fail = func(format string, args ...any) {
		rt.Fatalf("at %s: "+format, append([]any{shortTime(h.now)}, args...)...)
	}
	h.created, h.written, h.crashed = h.checkCreated, h.checkWritten, h.forget
	h.now = h.stored().CreationTimestamp.Time
	h.pass()
	return h
}

func (h *history) times() *timeset.Set {
	set, _ := h.timing().Times.(*timeset.Set)
	return set
}

func (h *history) timing() cron.Timing {
	_, policy, _, err := worldKind.Read(h.stored(), adapter.ReadOptions{})
	if err != nil {
		h.fail("%v", err)
	}
	return policy.Timing
}

func (h *history) edit(schedule string) {
	before, was := h.times(), h.timing().Fingerprint
	h.mergeSpec(fmt.Sprintf("{schedules: [{name: main, cron: %q}]}", schedule))
	h.metadata()["generation"] = h.metadata()["generation"].(int64) + 1
	h.edits = append(h.edits, timingEdit{h.now, before, h.timing().Fingerprint != was})
	if h.restarted { // no pass has seen the timing before, so this one is the edit (5.7)
		h.forget()
	}
}

// forget is what a new process does not know.
func (h *history) forget() {
	h.outlives()
	h.restarted = true
	if h.served == nil || h.recorded == len(h.edits) {
		return
	}
	h.edits, h.forgot = h.edits[:h.recorded], true
	if h.timing().Fingerprint != h.stored().Status.Timing.Fingerprint {
		// Before h.now: a pass at that very instant sees it.
		h.edits = append(h.edits, timingEdit{h.now.Add(-1), h.served, true})
	}
}

// checkMade checks that a name is made once, but for one of which nothing could tell any more.
func (h *history) checkMade(name string) {
	if h.made[name]++; h.made[name] > 1 {
		h.fail("%s is made again", name)
	}
	h.unrecorded[name] = true
}

// outlives notes which children are to be forgotten, and which are.
func (h *history) outlives() {
	maps.Copy(h.forgotten, h.unrecorded)
	for name := range h.forgotten {
		if h.children[name] == nil {
			delete(h.made, name)
		}
	}
}

func (h *history) checkCreated(name string) {
	h.checkMade(name)
	if active, limit := h.active(), h.limit(); len(active) > limit {
		h.fail("%d are active, %d may be: %v", len(active), limit, active)
	}
	annotations := h.children[name].GetAnnotations()
	if annotations["carillon.dev/attempt"] != "1" { // its run has begun
		return
	}
	scheduled, err := time.Parse(time.RFC3339, annotations["carillon.dev/scheduled-time"])
	if err != nil {
		h.fail("%v", err)
	}
	for _, e := range h.edits {
		if !scheduled.After(e.at) && !e.before.Has(scheduled) {
			h.fail("%s is started, which no timing named before %s", name, shortTime(e.at))
		}
	}
}

// active are the newest children of the runs that are active: those that have not ended, and those that have failed and
// are to be followed by another attempt (3.6) that has not been made and lost yet. Under Replace the latter end when a
// later run starts, too.
func (h *history) active() (names []string) {
	spec, newest := h.stored().Spec, map[string]*unstructured.Unstructured{}
	for _, child := range h.children {
		if at := scheduledOf(child); newest[at] == nil || attemptOf(child) > attemptOf(newest[at]) {
			newest[at] = child
		}
	}
	for at, child := range newest {
		again := spec.Retry != nil && spec.Concurrency.Policy != "Replace" && isFailed(child) && attemptOf(child) <= int(spec.Retry.Limit)
		if again {
			scheduled, _ := time.Parse(time.RFC3339, at)
			again = h.made[timetable.ChildName(timetable.RunName("tick", scheduled), int32(attemptOf(child)+1))] == 0
		}
		if !isFinished(child) || again {
			names = append(names, child.GetName())
		}
	}
	slices.Sort(names)
	return names
}

func scheduledOf(child *unstructured.Unstructured) string {
	return child.GetAnnotations()[v1alpha1.AnnotationScheduledTime]
}

func attemptOf(child *unstructured.Unstructured) int {
	n, _ := strconv.Atoi(child.GetAnnotations()[v1alpha1.AnnotationAttempt])
	return n
}

func isFailed(child *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(child.Object, "status", "conditions")
	return len(conditions) > 0 && conditions[0].(map[string]any)["type"] == "Failed"
}

func (h *history) limit() int {
	c := h.stored().Spec.Concurrency
	switch {
	case c.Policy == "Allow":
		return 100
	case c.Limit != nil:
		return int(*c.Limit)
	}
	return 1
}

func (h *history) checkWritten(tt *timetable.Object) {
	s := &tt.Status
	if !h.plan.StatusWrite.Undecided {
		clear(h.unrecorded)
		clear(h.forgotten)
	}
	if h.recordsEdits(s.Timing) {
		h.recorded, h.served = len(h.edits), h.times()
	}
	if h.first.IsZero() {
		h.first = s.Cursor.Time
	}
	h.checkWaiting(tt)
	if len(h.edits) > 0 || h.forgot {
		return
	}
	decided := int64(h.times().Count(h.first, s.Cursor.Time))
	if got := s.Counts.Started + s.Counts.Skipped + s.Counts.Missed + int64(len(s.Waiting)); got != decided {
		h.fail("%d times are counted of %d: %+v, waiting %v", got, decided, s.Counts, s.Waiting)
	}
}

// recordsEdits tells whether a status knows of all edits: one that was written while nothing could be decided does not.
func (h *history) recordsEdits(served *v1alpha1.Timing) bool {
	if served == nil || served.Fingerprint != h.timing().Fingerprint {
		return false
	}
	for _, e := range h.edits[h.recorded:] {
		if e.changed && !served.Since.After(e.at) {
			return false
		}
	}
	return true
}

// checkWaiting checks how many times wait (3.6), but for those that have started and whose answers got lost.
func (h *history) checkWaiting(tt *timetable.Object) {
	places, others := 1, 0
	if c := tt.Spec.Concurrency; c.Policy == "Queue" && c.QueueLimit != nil {
		places = max(1, int(*c.QueueLimit))
	}
	for _, w := range tt.Status.Waiting {
		if w.Trigger == v1alpha1.TriggerSchedule && h.children[timetable.RunName("tick", w.ScheduledTime.Time)] == nil {
			others++
		}
	}
	if others > places {
		h.fail("%d times wait, %d may: %v", others, places, tt.Status.Waiting)
	}
}

// step is something that happens, and a pass.
func (h *history) step(what string) {
	h.now = h.now.Add(time.Duration(rapid.SampledFrom([]int{1, 20, 61, 300, 600, 2400}).Draw(h.rt, "seconds")) * time.Second)
	happenings[what](h)
	h.restarted = false
	h.pass()
}

// happens is something that happens to the world of a history.
func (g given) happens(h *history) { g(h.world) }

// happenings are what may happen.
var happenings = map[string]func(*history){
	"nothing":     func(*history) {},
	"nothing too": func(*history) {},
	"succeeds":    func(h *history) { h.pick(succeeds) },
	"succeeds 2":  func(h *history) { h.pick(succeeds) },
	"fails":       func(h *history) { h.pick(fails) },
	"gone": func(h *history) {
		for _, name := range h.unfinished() {
			if h.children[name].GetDeletionTimestamp() != nil {
				delete(h.children, name)
				if h.forgotten[name] {
					delete(h.made, name)
				}
				return
			}
		}
	},
	"deleted by hand": func(h *history) {
		for _, a := range h.stored().Status.Active {
			if child := h.children[a.Name]; child != nil && child.GetUID() == a.UID {
				delete(h.children, a.Name)
				return
			}
		}
	},
	"crash":        func(h *history) { h.crash() },
	"dies":         func(h *history) { h.dieAfter = 1 },
	"creates fail": func(h *history) { h.failCreate = quota },
	"creates work": func(h *history) { h.failCreate = nil },
	"writes fail":  func(h *history) { h.failWrite = internal },
	"writes work":  func(h *history) { h.failWrite = nil },
	"deletes fail": func(h *history) { h.failDelete = internal },
	"deletes work": func(h *history) { h.failDelete = nil },
	"suspended":    edited("{suspend: true, suspendUntil: null}").happens,
	"resumed":      edited("{suspend: false, suspendUntil: null}").happens,
	"resumed too":  edited("{suspend: false, suspendUntil: null}").happens,
	"suspended for a while": func(h *history) {
		edited(fmt.Sprintf("{suspend: false, suspendUntil: %q}", h.now.Add(25*time.Minute).UTC().Format(time.RFC3339)))(h.world)
	},
	"another annotation":               func(h *history) { annotated(fmt.Sprint(h.version))(h.world) },
	"not granted":                      func(h *history) { h.notGranted = true },
	"granted":                          func(h *history) { h.notGranted = false },
	"granted too":                      func(h *history) { h.notGranted = false },
	"answers lost":                     func(h *history) { h.loseAnswers = true },
	"answers arrive":                   func(h *history) { h.loseAnswers = false },
	"answers lost, and the cache lags": func(h *history) { h.loseAnswers, h.hides = true, true },
	"the cache follows":                func(h *history) { h.hides, h.hidden = false, map[string]bool{} },
	"reads fail":                       func(h *history) { h.failRead = internal },
	"reads work":                       func(h *history) { h.failRead = nil },
}

func (h *history) unfinished() (names []string) {
	for name, child := range h.children {
		if !isFinished(child) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// pick ends a run.
func (h *history) pick(end func(...string) given) {
	if names := h.unfinished(); len(names) > 0 {
		end(rapid.SampledFrom(names).Draw(h.rt, "run"))(h.world)
	}
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	planned "github.com/carillon-dev/carillon/internal/plan/simulation"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/testkit/replay"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
)

// plannedChecks is how many worlds an ordinary run compares, of CronJobs and of Timetables each.
const plannedChecks = 150

// plannedLasts is how long such a world lasts: nothing happens at its very end.
const plannedLasts = 25*time.Minute + 750*time.Millisecond

// aside keeps the ends of runs from the instants at which others are due: of two things at the same instant either may
// come first.
const aside = 500 * time.Millisecond

// A plannedStory is what happened in a world, or is to happen as carillon simulate tells it, in a form that both have.
type plannedStory struct {
	// Runs are when each run was scheduled, began and ended, and how: in the order of their starts.
	Runs []string
	// NotStarted are how many scheduled times did not start, by reason.
	NotStarted map[cron.Reason]int
}

func plannedRun(scheduled, started time.Time, ended, how string) string {
	const seconds = "15:04:05"
	return fmt.Sprintf("%s began %s ended %s %s", scheduled.UTC().Format(seconds), started.UTC().Format(seconds), ended, how)
}

func plannedEnd(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("15:04:05")
}

// simulated is the story that carillon simulate tells, with reasons in the words of the kind. Runs that go on at the end have not ended.
func simulated(object *workload.Scheduled, o planned.Options, word func(cron.Reason) string) (plannedStory, *planned.Result) {
	result := planned.Simulate(object, o)
	story := plannedStory{NotStarted: map[cron.Reason]int{}}
	for _, run := range result.Runs {
		how := run.Outcome.String()
		if run.Reason != "" {
			how += " " + word(run.Reason)
		}
		if run.Attempts > 1 {
			how += fmt.Sprintf(" after %d attempts", run.Attempts)
		}
		story.Runs = append(story.Runs, plannedRun(run.Scheduled, run.Started, plannedEnd(run.Ended), how))
	}
	for _, n := range result.NotStarted {
		story.NotStarted[cron.Reason(word(n.Reason))] += n.Count + n.Again
	}
	return story, result
}

// plannedWorld is what is drawn for both.
type plannedWorld struct {
	model   planned.Model
	created time.Duration
	// outage is when no controller runs, not to the second, since what is due in that very moment may count as late or not; edit is when the object is edited. 0: there is none.
	outage [2]time.Duration
	edit   time.Duration
}

func drawPlannedWorld(t *rapid.T) plannedWorld {
	w := plannedWorld{created: time.Duration(rapid.IntRange(0, 90).Draw(t, "created")) * time.Second}
	text := rapid.SampledFrom([]string{"10s", "1m", "90s", "4m", "p50=30s,p99=5m", "p50=2m,p90=6m"}).Draw(t, "durations")
	durations, err := planned.ParseDurations(text)
	must(err)
	w.model = planned.Model{Durations: durations, Seed: rapid.Uint64Range(0, 1000).Draw(t, "seed"),
		Fail: rapid.SampledFrom([]float64{0, 0.3, 1}).Draw(t, "fails"), Overhead: aside, Stopping: time.Duration(rapid.SampledFrom([]int{0, 0, 20, 100}).Draw(t, "stopping")) * time.Second}
	if rapid.IntRange(0, 2).Draw(t, "outage") == 2 {
		from := 3*time.Minute + 300*time.Millisecond + time.Duration(rapid.IntRange(0, 600).Draw(t, "outage from"))*time.Second
		w.outage = [2]time.Duration{from, from + time.Duration(rapid.IntRange(1, 400).Draw(t, "outage for"))*time.Second}
	}
	if rapid.IntRange(0, 2).Draw(t, "edited") == 2 {
		w.edit = time.Duration(rapid.IntRange(3, 18).Draw(t, "edit"))*time.Minute + 37*time.Second
	}
	return w
}

func (w plannedWorld) options(begins time.Time) planned.Options {
	o := planned.Options{From: begins.Add(w.created), To: begins.Add(plannedLasts), KeepStatus: true, Model: w.model}
	if w.outage[1] > 0 {
		o.Outages = []planned.Span{{From: begins.Add(w.outage[0]), To: begins.Add(w.outage[1])}}
	}
	return o
}

func (w plannedWorld) String() string {
	return fmt.Sprintf("created %s, durations %s, %.0f%% fail, stopping %s, outage %v, edit %s, seed %d", w.created, w.model.Durations, 100*w.model.Fail,
		w.model.Stopping, w.outage, w.edit, w.model.Seed)
}

// wholly is how long it takes from now until something has lasted so long that began in this second, and is seen.
func wholly(now time.Time, lasts time.Duration) time.Duration {
	return lasts + aside - now.Sub(now.Truncate(time.Second))
}

// scheduledOf is what the planning commands make of an object.
func scheduledOf(k kind.Kind, obj adapter.Object) *workload.Scheduled {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	must(err)
	s := &workload.Scheduled{Object: workload.Object{Content: &unstructured.Unstructured{Object: content}}, Kind: k, Typed: obj}
	s.Owner, s.Policy, s.Memory, err = k.Read(obj, adapter.ReadOptions{Zone: time.UTC})
	must(err)
	return s
}

// timeOf is the scheduled time of a child.
func timeOf(k kind.Kind, child client.Object) time.Time {
	t, err := time.Parse(time.RFC3339, child.GetAnnotations()[k.Info().StampAnnotation])
	must(err)
	return t.UTC()
}

// What carillon simulate tells of a CronJob of any kind is what its controller does: each run begins and ends at the
// same instant and in the same way, and as many scheduled times do not start for the same reasons.
func TestSimulatedCronJobsAreServedSo(t *testing.T) {
	replay.Checks(t, plannedChecks)
	rapid.Check(t, func(rt *rapid.T) {
		drawn := drawPlannedWorld(rt)
		within := func(time.Duration, string) time.Duration { return 0 }
		cronJob := drawCronJob(rt, "c1", within)
		plan := simPlan{kind: drawKind(rt)}
		spec := &cronJob.obj.Spec
		if !plan.kind.zones {
			spec.TimeZone = nil
		}
		spec.JobTemplate.Spec.TTLSecondsAfterFinished = nil // children are there for as long as history says
		if limit := rapid.SampledFrom([]int64{0, 0, 0, 45}).Draw(rt, "limit"); limit > 0 && plan.kind.Info().ShortName != "volcano" {
			spec.JobTemplate.Spec.ActiveDeadlineSeconds = &limit
		}
		cronJob.created, cronJob.hangs, cronJob.stuck, cronJob.quiet = drawn.created, 0, 0, drawn.edit == 0
		plan.cronJobs = []simCronJob{cronJob}
		edited := spec.DeepCopy()
		switch rapid.IntRange(0, 4).Draw(rt, "what is edited") {
		case 0:
			edited.Suspend = new(true)
		case 1:
			edited.ConcurrencyPolicy = batchv1.ReplaceConcurrent
		default:
			edited.Schedule = rapid.SampledFrom(simSchedules[:often]).Draw(rt, "another schedule")
		}

		info := plan.kind.Info()
		before := notStartedSoFar(info.Name)
		var s *simulation
		var version *workload.Scheduled
		var edits []planned.Edit
		made := map[string]*plannedJob{}
		var order []*plannedJob
		plan.lives = func(c *sim.Change) {
			j, ok := c.New.(*batchv1.Job)
			switch {
			case !ok:
			case c.Gone:
				if job := made[string(j.UID)]; job.ended == "" && c.By != "gc" {
					job.ended, job.how = plannedEnd(s.server.Clock.Now().Add(drawn.model.Stopping)), "replaced replaced"
				}
			case c.Old == nil:
				job := &plannedJob{scheduled: timeOf(plan.kind, j), started: s.server.Clock.Now()}
				made[string(j.UID)], order = job, append(order, job)
				fate := drawn.model.Fate(info.Name, ns, "c1", job.scheduled, 1)
				runs, how := fate.Duration, map[bool]string{true: "failed run_failed", false: "succeeded"}[fate.Fails]
				if limit := j.Spec.ActiveDeadlineSeconds; limit != nil && runs > time.Duration(*limit)*time.Second {
					runs, how = time.Duration(*limit)*time.Second, "failed timeout"
				}
				s.world.After(0, func() { s.begin(j.Name, j.UID) })
				s.world.After(wholly(s.server.Clock.Now(), runs), func() {
					if job.ended == "" {
						job.ended, job.how = plannedEnd(s.server.Clock.Now()), how
						s.end(j.Name, j.UID, how != "succeeded")
					}
				})
			}
		}
		s = newSimulation(plan)
		s.troubled = plannedLasts // what is served in time is judged by the comparison alone: Jobs run longer here than in other worlds
		s.world.At(drawn.created, func() {
			version = scheduledOf(plan.kind.Kind, plan.kind.served(s.server.Get("CronJob", ns, "c1")).(adapter.Object))
		})
		if drawn.outage[1] > 0 {
			s.world.At(drawn.outage[0], func() { s.leading().process.Kill("by an outage") })
			s.world.At(drawn.outage[1], func() { s.start(0) })
		}
		if drawn.edit > 0 {
			s.world.At(drawn.edit, func() {
				s.change(0, "edit", func(cj *batchv1.CronJob) { cj.Spec = *edited })
				after := scheduledOf(plan.kind.Kind, plan.kind.served(s.server.Get("CronJob", ns, "c1")).(adapter.Object))
				edits = append(edits, planned.Edit{At: s.server.Clock.Now(), Object: after})
			})
		}
		s.world.Run(plannedLasts)
		for _, m := range s.managers {
			m.voice.giveBack()
		}
		if broken := s.world.Broken(); broken != "" {
			rt.Fatalf("%s\n%s\n%s", broken, plan, s.world.Story)
		}
		happened := plannedStory{NotStarted: notStartedSoFar(info.Name)}
		for reason, n := range before {
			if happened.NotStarted[reason] -= n; happened.NotStarted[reason] == 0 {
				delete(happened.NotStarted, reason)
			}
		}
		for _, job := range order {
			if job.ended == "" {
				job.ended, job.how = "-", "running"
			}
			happened.Runs = append(happened.Runs, plannedRun(job.scheduled, job.started, job.ended, job.how))
		}
		o := drawn.options(s.world.Start)
		o.Edits = edits
		told, result := simulated(version, o, func(r cron.Reason) string { return string(r) })
		if diff := gocmp.Diff(happened, told); diff != "" {
			rt.Fatalf("what happened (-) is not what was told (+): %s\n%s\n%s\nedited to %+v\n%s", diff, drawn, plan, edited, s.world.Story)
		}
		// What waited when a process ended the next one may not tell of: the one before has, as far as it knows.
		if drawn.edit == 0 && drawn.outage[1] == 0 {
			checkNext(rt, version.Policy.Timing, version.Owner.Created, result)
		}
	})
}

type plannedJob struct {
	scheduled, started time.Time
	ended, how         string
}

// notStartedSoFar are how many scheduled times did not start in this process, by reason, as the metrics count them.
func notStartedSoFar(kind string) map[cron.Reason]int {
	counts := map[cron.Reason]int{}
	for _, reason := range cron.NotStartedReasons {
		if n := testutil.ToFloat64(runs.WithLabelValues(kind, string(reason.SkippedOrMissed()), string(reason))); n > 0 {
			counts[reason] = int(n)
		}
	}
	return counts
}

// The same of Timetables, whose status tells what became of each time.
func TestSimulatedTimetablesAreServedSo(t *testing.T) {
	replay.Checks(t, plannedChecks)
	rapid.Check(t, func(rt *rapid.T) {
		drawn := drawPlannedWorld(rt)
		plan := timetablePlan{begins: rapid.SampledFrom(timetableBegins).Draw(rt, "begins")}
		within := func(time.Duration, string) time.Duration { return 0 }
		c, another := drawTimetable(rt, "t1", plan.begins, within), drawTimetable(rt, "t1", plan.begins, within)
		for _, spec := range []*v1alpha1.TimetableSpec{&c.obj.Spec, &another.obj.Spec} {
			setKind(spec, "Job") // the ends of other kinds are not told in seconds
			spec.Exclude = slices.DeleteFunc(spec.Exclude, func(e v1alpha1.Exclusion) bool { return e.Calendar != nil })
		}
		if rapid.Bool().Draw(rt, "suspends") {
			another.obj.Spec = *c.obj.Spec.DeepCopy()
			another.obj.Spec.Suspend = true
		}
		c.created, c.hangs, c.stuck, c.quiet = drawn.created, 0, 0, drawn.edit == 0
		c.lingers = time.Hour // until lives lets go
		plan.timetables = []simTimetable{c}

		var s *timetableWorld
		firsts := map[string]time.Time{}
		plan.lives = func(change *sim.Change) {
			child, ok := change.New.(*unstructured.Unstructured)
			switch {
			case !ok || change.Gone:
			case change.Old == nil:
				attempt, err := strconv.Atoi(child.GetAnnotations()[v1alpha1.AnnotationAttempt])
				must(err)
				at := timeOf(simTimetableKind, child)
				if attempt == 1 {
					firsts[at.Format("15:04:05")] = s.server.Clock.Now()
				}
				s.world.After(0, func() { s.hold(child, &c) })
				fate := drawn.model.Fate(simTimetableKind.Info().Name, ns, "t1", at, attempt)
				how := map[bool]string{true: "Broken", false: "Done"}[fate.Fails]
				if seconds, limited, _ := unstructured.NestedInt64(child.Object, "spec", "activeDeadlineSeconds"); limited && fate.Duration > time.Duration(seconds)*time.Second {
					fate.Duration, how = time.Duration(seconds)*time.Second, "DeadlineExceeded"
				}
				s.world.After(wholly(s.server.Clock.Now(), fate.Duration), func() {
					if now := s.server.Get("Job", ns, child.GetName()); now != nil && now.GetDeletionTimestamp() == nil {
						s.end(child, how)
						s.letGo(child)
					}
				})
			case child.GetDeletionTimestamp() != nil && change.Old.GetDeletionTimestamp() == nil && slices.Contains(child.GetFinalizers(), slowFinalizer):
				s.world.After(wholly(s.server.Clock.Now(), drawn.model.Stopping), func() { s.letGo(child) })
			}
		}
		s = newTimetableWorld(plan)
		var version *workload.Scheduled
		var edits []planned.Edit
		now := func() *workload.Scheduled {
			return scheduledOf(simTimetableKind, s.server.Get("Timetable", ns, "t1").DeepCopyObject().(adapter.Object))
		}
		s.world.At(drawn.created, func() { version = now() })
		if drawn.outage[1] > 0 {
			s.world.At(drawn.outage[0], func() { s.managers[0].process.Kill("by an outage") })
			s.world.At(drawn.outage[1], func() { s.start(0) })
		}
		if drawn.edit > 0 {
			s.world.At(drawn.edit, func() {
				s.change("t1", "edit", func(tt *timetable.Object) { tt.Spec = *another.obj.Spec.DeepCopy() })
				edits = append(edits, planned.Edit{At: s.server.Clock.Now(), Object: now()})
			})
		}
		s.world.Run(plannedLasts)
		for _, m := range s.managers {
			m.voice.hear()
			m.voice.giveBack()
		}
		if broken := s.world.Broken(); broken != "" {
			rt.Fatalf("%s\n%s\n%s", broken, plan, s.world.Story)
		}
		status := &s.server.Get("Timetable", ns, "t1").(*timetable.Object).Status
		o := drawn.options(s.world.Start)
		o.Edits = edits
		told, result := simulated(version, o, simTimetableKind.Info().Traits.ReasonWord)
		happened := recordedStory(status, firsts)
		last := result.Span.To.Add(-time.Nanosecond)
		if excluded := now().Policy.Timing.Excluded; excluded != nil { // which the next sync would tell
			if n := excluded.Count(status.Cursor.Time, last); n > 0 {
				happened.NotStarted["Excluded"] += n
			}
		}
		if h := result.Held; h != nil { // a sync for another reason, such as a child that may go, decides about some of them
			why := cron.Reason("Paused")
			if strings.HasPrefix(h.Why, "suspended") {
				why = "Suspended"
			}
			told.NotStarted[why] += h.Count
			happened.NotStarted[why] += now().Policy.Timing.Times.Count(status.Cursor.Time, last)
		}
		if diff := gocmp.Diff(happened, told); diff != "" {
			rt.Fatalf("what happened (-) is not what was told (+): %s\n%s\n%s\nedited to %s\n%s", diff, drawn, plan, jsonOf(&another.obj.Spec), s.world.Story)
		}
		if drawn.edit == 0 {
			checkNext(rt, version.Policy.Timing, version.Owner.Created, result)
		}
	})
}

// recordedStory is what a status tells of all runs so far. firsts are when they began, by their scheduled times.
func recordedStory(status *v1alpha1.TimetableStatus, firsts map[string]time.Time) plannedStory {
	story := plannedStory{NotStarted: map[cron.Reason]int{}}
	type run struct {
		began time.Time
		text  string
	}
	var all []run
	add := func(scheduled, ended time.Time, how string, attempts int32) {
		if attempts > 1 {
			how += fmt.Sprintf(" after %d attempts", attempts)
		}
		began := firsts[scheduled.UTC().Format("15:04:05")]
		all = append(all, run{began, plannedRun(scheduled, began, plannedEnd(ended), how)})
	}
	for _, a := range status.Active {
		add(a.ScheduledTime.Time, time.Time{}, "running", a.Attempt)
	}
	for _, e := range status.Ledger {
		switch reason := cron.Reason(e.Reason); e.Result {
		case v1alpha1.ResultSucceeded:
			add(e.ScheduledTime.Time, e.EndTime.Time, "succeeded", e.Attempts)
		case v1alpha1.ResultFailed:
			add(e.ScheduledTime.Time, e.EndTime.Time, "failed "+string(reason), e.Attempts)
		case v1alpha1.ResultCancelled:
			add(e.ScheduledTime.Time, e.EndTime.Time, "replaced "+string(reason), e.Attempts)
		default:
			story.NotStarted[reason] += int(max(1, e.Count))
		}
	}
	slices.SortStableFunc(all, func(a, b run) int { return cmp.Or(a.began.Compare(b.began), strings.Compare(a.text, b.text)) })
	for _, r := range all {
		story.Runs = append(story.Runs, r.text)
	}
	return story
}

// checkNext checks that runs are of the times that carillon next lists, and that each of these ran, did not start for a
// reason, or waits.
func checkNext(rt *rapid.T, timing cron.Timing, created time.Time, result *planned.Result) {
	if timing.Times == nil || timing.Every != 0 { // else a time depends on the one before
		return
	}
	putOff := func(at time.Time) bool { // by jitter, beyond the end
		late, ok := timing.Times.(interface{ PlannedStart(time.Time) time.Time })
		return ok && !late.PlannedStart(at).Before(result.Span.To)
	}
	var listed, decided []time.Time
	for at := timing.Times.Next(created); !at.IsZero() && at.Before(result.Span.To) && !putOff(at); at = timing.Times.Next(at) {
		listed = append(listed, at.UTC())
	}
	for _, run := range result.Runs {
		decided = append(decided, run.Scheduled)
	}
	for _, w := range result.Waiting {
		decided = append(decided, w.Scheduled)
	}
	for _, n := range result.NotStarted {
		if n.Reason == cron.NotStartedExcluded || n.Count == 0 { // which next does not list
			continue
		}
		found := 0
		for at := timing.Times.Next(n.First.Add(-time.Nanosecond)); !at.IsZero() && !at.After(n.Last); at = timing.Times.Next(at) {
			if ran := slices.ContainsFunc(result.Runs, func(r planned.Run) bool { return r.Scheduled.Equal(at) }); !ran {
				decided, found = append(decided, at.UTC()), found+1
			}
		}
		if found != n.Count {
			rt.Fatalf("%d times did not start from %s to %s, and next lists %d", n.Count, n.First, n.Last, found)
		}
	}
	if h := result.Held; h != nil {
		for at := h.First; !at.IsZero() && !at.After(h.Last); at = timing.Times.Next(at) {
			if !putOff(at) {
				decided = append(decided, at.UTC())
			}
		}
	}
	slices.SortFunc(decided, time.Time.Compare)
	if diff := gocmp.Diff(listed, decided); diff != "" {
		rt.Fatalf("what next lists (-) is not what was decided (+): %s", diff)
	}
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
)

// A story is a Job's life: what the kubelet and users do, step by step. After each step the controller comes to rest.
type story struct {
	job     *batchv1.Job
	options Options
	steps   []func(*world)
	// want is what is there at the end, as in factsOf.
	want string
	more func(*testing.T, *world)
}

func startAll(w *world) {
	for _, uid := range w.alive() {
		w.start(uid)
	}
}

// endNth ends the nth pod that is alive (0 is the oldest).
func endNth(n int, code int32) func(*world) {
	return func(w *world) {
		if alive := w.alive(); n < len(alive) {
			w.end(alive[n], code)
		}
	}
}

// endIndex ends the pod that works on an index.
func endIndex(index string, code int32) func(*world) {
	return func(w *world) {
		for _, uid := range w.alive() {
			if w.pods[uid].Annotations[indexKey] == index {
				w.end(uid, code)
				return
			}
		}
	}
}

// restartAll restarts a container of every pod that runs, as a kubelet does with restartPolicy OnFailure.
func restartAll(w *world) {
	for _, uid := range w.alive() {
		w.restartContainer(uid)
	}
}

func endAll(code int32) func(*world) {
	return func(w *world) {
		for _, uid := range w.alive() {
			w.end(uid, code)
		}
	}
}

// untilDone ends everything that runs, again and again.
func untilDone(code int32) func(*world) {
	return func(w *world) {
		for range 200 {
			if Finished(w.job) {
				return
			}
			endAll(code)(w)
			w.finishDeletions()
			w.settle(time.Hour)
		}
	}
}

func edited(edit func(*batchv1.Job)) func(*world) { return func(w *world) { w.edit(edit) } }

func finishDeletions(w *world) { w.finishDeletions() }

func deleteNth(n int) func(*world) {
	return func(w *world) {
		if alive := w.alive(); n < len(alive) {
			w.remove(alive[n])
		}
	}
}

func resize(n int32) func(*world) {
	return edited(func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = &n, ptr.To(n) })
}

func parallel(n int32) func(*world) {
	return edited(func(j *batchv1.Job) { j.Spec.Parallelism = &n })
}

func suspend(on bool) func(*world) {
	return edited(func(j *batchv1.Job) { j.Spec.Suspend = &on })
}

// play tells the story; prepare may make the world a harder place.
func (s story) play(prepare func(*world)) *world {
	w := newWorld(s.job.DeepCopy())
	w.options = s.options
	w.options.Standalone = true
	if prepare != nil {
		prepare(w)
	}
	w.settle(time.Hour)
	for _, step := range s.steps {
		step(w)
		w.settle(time.Hour)
	}
	return w
}

// check compares the end of the story with want, and what must hold in every world.
func (s story) check(t *testing.T, w *world) {
	t.Helper()
	got := factsOf(w.job, Plan{}, StatusPlan{})
	if got["completion"] == "now" {
		got["completion"] = "other" // some time or other
	}
	for word := range strings.FieldsSeq(s.want) {
		key, want, _ := strings.Cut(word, "=")
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
	for _, b := range w.broken {
		t.Errorf("broken: %s", b)
	}
	if Finished(w.job) && w.holders() > 0 {
		t.Errorf("the Job has ended and %d pods hold the finalizer", w.holders())
	}
	if s.more != nil {
		s.more(t, w)
	}
	if t.Failed() {
		t.Logf("the story:\n%s", strings.Join(w.log, "\n"))
	}
}

const completed = " conds=SuccessCriteriaMet:CompletionsReached,Complete:CompletionsReached active=0 ready=0 term=0 usucc=- ufail=- completion=other "

func failedBy(reason string) string {
	return fmt.Sprintf(" conds=FailureTarget:%s,Failed:%s active=0 ready=0 term=0 usucc=- ufail=- completion=none ", reason, reason)
}

var stories = map[string]story{
	"JOB-003 four successes, two at a time": {
		job: aJob("p2 c4"), steps: []func(*world){startAll, endAll(0), startAll, endAll(0)}, want: "succ=4 fail=0" + completed,
		more: func(t *testing.T, w *world) {
			if len(w.pods) != 4 || w.mostRunning != 2 {
				t.Errorf("%d pods are left, at most %d ran; want 4 and 2", len(w.pods), w.mostRunning)
			}
		},
	},
	"JOB-010 a work queue drains after its first success": {
		job:   aJob("p5 c-"),
		steps: []func(*world){endNth(0, 1), endNth(0, 1), endNth(0, 0), endNth(0, 1), endNth(0, 1), endNth(0, 0), endNth(0, 0)},
		want:  "succ=3 fail=4" + completed,
	},
	"JOB-012 many pods, few at a time": {
		job: aJob("p54 c56"), options: Options{MaxPodChanges: 10, MaxUncounted: 10},
		steps: []func(*world){startAll, endNth(0, 1), endNth(0, 1), untilDone(0)}, want: "succ=56 fail=2" + completed,
	},
	"JOB-013 a work queue is resized": {
		job: aJob("p5 c- bl2"), steps: []func(*world){startAll, parallel(2), finishDeletions, parallel(4)}, want: "active=4 fail=0 conds=-",
	},
	"JOB-078 one failure of ten is too many": {
		job: aJob("p10 c10 bl0"), steps: []func(*world){startAll, endNth(9, 1), untilDone(0)}, want: failedBy("BackoffLimitExceeded"),
	},
	"JOB-079 JOB-135 a failure, then a success": {
		job: aJob(""), steps: []func(*world){startAll, endNth(0, 1), endNth(0, 0)}, want: "succ=1 fail=1" + completed,
	},
	"JOB-086 a pod deleted before anybody saw that it succeeded": {
		job: aJob("prp=Failed"), steps: []func(*world){startAll, func(w *world) { u := w.alive()[0]; w.end(u, 0); w.remove(u) }}, want: "succ=1 fail=0" + completed,
		more: func(t *testing.T, w *world) {
			if len(w.pods) != 0 {
				t.Error("the pod stays although it is counted")
			}
		},
	},
	"JOB-110 a hundred pods stopped, ten recorded at a time": {
		job: aJob("p100 c100 bl0"), options: Options{MaxUncounted: 10}, steps: []func(*world){startAll, endNth(50, 1), finishDeletions}, want: "fail=100" + failedBy("BackoffLimitExceeded"),
	},
	"JOB-122 both tries fail": {
		job: aJob("bl1"), steps: []func(*world){endNth(0, 1), endNth(0, 1)}, want: "fail=2" + failedBy("BackoffLimitExceeded"),
		more: func(t *testing.T, w *world) {
			if len(w.pods) != 2 || w.events[len(w.events)-1] != "BackoffLimitExceeded" {
				t.Errorf("%d pods, events %v", len(w.pods), w.events)
			}
		},
	},
	"JOB-123 siblings are stopped and count": {
		job: aJob("p3 c3 bl0"), steps: []func(*world){startAll, endNth(2, 1)}, want: "active=0 ready=0 fail=3 term=2 conds=FailureTarget:BackoffLimitExceeded",
	},
	"JOB-127 each failure doubles the wait": {
		job: aJob("bl3", func(j *batchv1.Job) {}), steps: []func(*world){endNth(0, 1), endNth(0, 1), endNth(0, 0)}, want: "succ=1 fail=2" + completed,
		more: func(t *testing.T, w *world) {
			var made []time.Duration
			for _, uid := range w.order {
				made = append(made, w.pods[uid].CreationTimestamp.Sub(now))
			}
			if want := []time.Duration{0, 10 * time.Second, 30 * time.Second}; !slices.Equal(made, want) {
				t.Errorf("pods made after %v, want %v", made, want)
			}
		},
	},
	"JOB-134 containers are restarted in place": {
		job: aJob("p2 c4 bl6 onfailure"), steps: []func(*world){startAll, restartAll, endAll(0), startAll, restartAll, endAll(0)}, want: "succ=4 fail=0" + completed,
		more: func(t *testing.T, w *world) {
			if len(w.order) != 4 {
				t.Errorf("%d pods made for 4 completions", len(w.order))
			}
		},
	},
	"JOB-144 batches": {
		job: aJob("p1200 c1200"), steps: nil, want: "active=1200 conds=-",
	},
	"JOB-153 the deadline passes while pods run": {
		job: aJob("p2 c2 ads5"), steps: []func(*world){startAll, finishDeletions}, want: "succ=0 fail=2" + failedBy("DeadlineExceeded"),
		more: func(t *testing.T, w *world) {
			if at := w.job.Status.Conditions[0].LastTransitionTime.Sub(now); at != 5*time.Second {
				t.Errorf("JOB-155: failed after %s", at)
			}
		},
	},
	"JOB-156 the deadline is taken away": {
		job: aJob("ads7200"), steps: []func(*world){startAll, edited(func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = nil }), func(w *world) { w.now = w.now.Add(5 * time.Hour) }}, want: "active=1 conds=-",
	},
	"JOB-158 time spent suspended does not count": {
		job: aJob("ads20000"),
		steps: []func(*world){startAll, func(w *world) { w.now = w.now.Add(15000 * time.Second) }, suspend(true), finishDeletions, func(w *world) { w.now = w.now.Add(15000 * time.Second) }, suspend(false),
			func(w *world) { w.now = w.now.Add(time.Hour) }, endAll(0)}, want: "succ=1 fail=0 conds=Suspended=False,SuccessCriteriaMet:CompletionsReached,Complete:CompletionsReached",
	},
	"JOB-170 created suspended, then resumed": {
		job: aJob("p2 c2 suspend"), steps: []func(*world){suspend(false), startAll, endAll(0)}, want: "succ=2 conds=Suspended=False,SuccessCriteriaMet:CompletionsReached,Complete:CompletionsReached",
		more: func(t *testing.T, w *world) {
			if got := strings.Join(w.events, ","); got != "Suspended,SuccessfulCreate,SuccessfulCreate,Resumed,Completed" {
				t.Errorf("events %s", got)
			}
		},
	},
	"JOB-171 JOB-186 suspended while running, then resumed": {
		job: aJob("p2 c2"), steps: []func(*world){startAll, suspend(true), finishDeletions, suspend(false), startAll}, want: "active=2 ready=2 term=0 fail=0 conds=Suspended=False",
	},
	"JOB-171 suspended": {
		job: aJob("p2 c2"), steps: []func(*world){startAll, suspend(true), finishDeletions}, want: "active=0 ready=0 term=0 fail=0 start=none conds=Suspended:JobSuspended",
	},
	"JOB-187 resumed while old pods are still going": {
		job: aJob("p2 c2 prp=Failed"), steps: []func(*world){startAll, suspend(true), suspend(false)}, want: "active=0 term=2 fail=0 conds=Suspended=False",
	},
	"JOB-187 resumed and they are gone": {
		job: aJob("p2 c2 prp=Failed"), steps: []func(*world){startAll, suspend(true), suspend(false), finishDeletions}, want: "active=2 term=0 fail=0",
	},
	"JOB-212 indexes follow one another": {
		job: aJob("p3 c4 indexed"), steps: []func(*world){startAll, endIndex("1", 0), endIndex("2", 1), endAll(0)}, want: "completed=0-3 succ=4 fail=1" + completed,
	},
	"JOB-213 scaled up": {
		job: aJob("p3 c3 indexed"), steps: []func(*world){startAll, resize(4), endAll(0)}, want: "completed=0-3 succ=4" + completed,
	},
	"JOB-214 scaled down": {
		job: aJob("p3 c3 indexed"), steps: []func(*world){startAll, endIndex("1", 0), endIndex("2", 1), resize(1), finishDeletions, endAll(0)}, want: "completed=0 succ=1 fail=1" + completed,
	},
	"JOB-215 an index that was cut off is done again": {
		job: aJob("p3 c3 indexed"), steps: []func(*world){startAll, endIndex("2", 0), resize(2), resize(3), endAll(0)}, want: "completed=0-2 succ=3 fail=0" + completed,
		more: func(t *testing.T, w *world) {
			if w.everMade["2"] != 2 {
				t.Errorf("index 2 ran %d times", w.everMade["2"])
			}
		},
	},
	"JOB-216 scaled down to nothing": {
		job: aJob("p2 c2 indexed"), steps: []func(*world){startAll, resize(0), finishDeletions}, want: "completed=- succ=0 fail=0" + completed,
	},
	"JOB-218 scaled down to what is done, a pod goes slowly": {
		job: aJob("p2 c2 indexed"), steps: []func(*world){startAll, endIndex("0", 0), resize(1)}, want: "completed=0 term=1 conds=SuccessCriteriaMet:CompletionsReached",
	},
	"JOB-219 parallelism alone is changed after scaling down": {
		job: aJob("p3 c3 indexed"), steps: []func(*world){startAll, endIndex("2", 0),
			func(w *world) {
				w.edit(func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = ptr.To[int32](2), ptr.To[int32](2) })
				w.edit(func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](1) })
			}, finishDeletions, parallel(2)}, want: "succ=0 completed=- active=2",
	},
	"JOB-230 odd indexes fail": {
		job:   aJob("p2 c4 indexed blpi1"),
		steps: []func(*world){endIndex("0", 0), endIndex("1", 1), endIndex("2", 0), endIndex("1", 1), endIndex("3", 1), endIndex("3", 1)},
		want:  "completed=0,2 failedidx=1,3 succ=2 fail=4" + failedBy("FailedIndexes"),
	},
	"JOB-232 every try fails": {
		job: aJob("p2 c2 indexed blpi1"), steps: []func(*world){endAll(1), endAll(1)}, want: "failedidx=0,1 fail=4" + failedBy("FailedIndexes"),
	},
	"JOB-238 the third failure stops all": {
		job: aJob("p3 c3 indexed blpi1 bl2"), steps: []func(*world){startAll, endIndex("0", 1), endIndex("1", 1), endIndex("2", 1), finishDeletions}, want: "failedidx=- fail=5" + failedBy("BackoffLimitExceeded"),
	},
	"JOB-238 the third failure is the second of an index": {
		job: aJob("p3 c3 indexed blpi1 bl2"), steps: []func(*world){startAll, endIndex("0", 1), endIndex("0", 1), endIndex("1", 1), finishDeletions}, want: "failedidx=0 fail=4" + failedBy("BackoffLimitExceeded"),
	},
	"JOB-242 each index waits for itself": {
		job: aJob("p2 c2 indexed blpi5"), steps: []func(*world){startAll, endIndex("0", 1), endIndex("0", 1), endIndex("0", 0), endIndex("1", 0)}, want: "completed=0,1 fail=2" + completed,
	},
	"JOB-260 replaced only when failed": {
		job: aJob("p1 c1 bl1 prp=Failed"), steps: []func(*world){startAll, deleteNth(0)}, want: "active=0 fail=0 term=1",
	},
	"JOB-260 then replaced": {
		job: aJob("p1 c1 bl1 prp=Failed"), steps: []func(*world){startAll, deleteNth(0), finishDeletions}, want: "active=1 fail=1 term=0",
	},
	"JOB-261 replaced at once": {
		job: aJob("p2 c2"), steps: []func(*world){startAll, func(w *world) { deleteNth(0)(w); deleteNth(0)(w) }}, want: "active=2 fail=2 term=2",
	},
	"JOB-261 and counted once": {
		job: aJob("p2 c2 indexed"), steps: []func(*world){startAll, func(w *world) { deleteNth(0)(w); deleteNth(0)(w) }, finishDeletions}, want: "active=2 fail=2 term=0",
	},
	"JOB-262 only failed pods are replaced": {
		job: aJob("p2 c2 indexed prp=Failed"), steps: []func(*world){startAll, func(w *world) { deleteNth(0)(w); deleteNth(0)(w) }, finishDeletions}, want: "active=2 fail=2 term=0",
	},
	"JOB-267 terminating pods are to be replaced after all": {
		job: aJob("prp=Failed"), want: "active=1 fail=1 term=1",
		steps: []func(*world){startAll, deleteNth(0), edited(func(j *batchv1.Job) { j.Spec.PodReplacementPolicy = ptr.To(batchv1.TerminatingOrFailed) })},
		more: func(t *testing.T, w *world) {
			if len(w.order) != 2 {
				t.Errorf("%d pods made, want one and its replacement", len(w.order))
			}
		},
	},
	"JOB-266 a pod that never reached a node waits until somebody says that it failed": {
		job: aJob("prp=Failed"), steps: []func(*world){deleteNth(0)}, want: "active=0 fail=0 term=1",
	},
	"JOB-266 then it is replaced": { // the pod garbage collector says so
		job: aJob("prp=Failed"), steps: []func(*world){deleteNth(0), finishDeletions}, want: "active=1 fail=1 term=0",
	},
	"JOB-294 FailJob stops the sibling": {
		job:   aJob("p2 c2", failurePolicy(onExit(batchv1.PodFailurePolicyActionFailJob, 3))),
		steps: []func(*world){startAll, endNth(0, 3), finishDeletions}, want: "fail=2" + failedBy("PodFailurePolicy"),
	},
	"JOB-282 ignored failures are retried": {
		job:   aJob("p1 c1 bl0 indexed", failurePolicy(onExit(batchv1.PodFailurePolicyActionIgnore, 42))),
		steps: []func(*world){endNth(0, 42), endNth(0, 42), endNth(0, 0)}, want: "succ=1 fail=0" + completed,
	},
	"JOB-311 one success is enough, the others are stopped": {
		job:   aJob("p5 c5 indexed bl0", successPolicy(batchv1.SuccessPolicyRule{SucceededIndexes: ptr.To("0")})),
		steps: []func(*world){startAll, endIndex("0", 0), finishDeletions}, want: "completed=0 succ=1 fail=0 conds=SuccessCriteriaMet:SuccessPolicy,Complete:SuccessPolicy term=0",
	},
	"JOB-039 JOB-040 adopted again, then released": {
		job: aJob("p2 c2"), steps: []func(*world){startAll,
			func(w *world) { w.pods[w.order[0]].OwnerReferences = nil; w.changed(w.order[0]) },
			func(w *world) { w.pods[w.order[0]].Labels = nil; w.changed(w.order[0]) }}, want: "active=2 conds=-",
		more: func(t *testing.T, w *world) {
			if p := w.pods[w.order[0]]; len(p.OwnerReferences)+len(p.Finalizers) != 0 || len(w.order) != 3 {
				t.Errorf("released pod: %v %v, %d pods made", p.OwnerReferences, p.Finalizers, len(w.order))
			}
		},
	},
	"JOB-067 five hundred and two successes": {
		job: aJob("p502 c502"), steps: []func(*world){untilDone(0)}, want: "succ=502 fail=0" + completed,
	},
	"JOB-068 the same, Indexed": {
		job: aJob("p502 c502 indexed"), steps: []func(*world){untilDone(0)}, want: "completed=0-501 succ=502" + completed,
	},
	"JOB-376 a chain of a hundred": {
		job: aJob("p1 c100"), steps: []func(*world){untilDone(0)}, want: "succ=100" + completed,
	},
}

func TestStories(t *testing.T) {
	t.Parallel()
	for name, s := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.check(t, s.play(nil))
		})
	}
}

// JOB-014: a node on which only four pods fit at a time works off ninety; the others wait in phase Pending and are left
// alone.
func TestMorePodsThanFit(t *testing.T) {
	t.Parallel()
	w := newWorld(aJob("p90 c90"))
	w.settle(time.Hour)
	for range 90 {
		waiting := w.alive()
		if len(waiting) == 0 {
			break
		}
		for _, uid := range waiting[:min(4, len(waiting))] {
			w.start(uid)
			w.end(uid, 0)
		}
		w.settle(time.Minute)
	}
	if got := factsOf(w.job, Plan{}, StatusPlan{}); got["succ"] != "90" || got["fail"] != "0" || !hasTrue(w.job.Status.Conditions, batchv1.JobComplete) {
		t.Errorf("%v", got)
	}
	if len(w.order) != 90 || w.holders() > 0 || len(w.broken) > 0 {
		t.Errorf("%d pods made, %d hold the finalizer, broken %v", len(w.order), w.holders(), w.broken)
	}
}

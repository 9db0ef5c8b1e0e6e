// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/journal/ended"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// memory is a journal and its past that fail as told.
type memory struct {
	mu        sync.Mutex
	fail      func(runs []run.Run) error // nil: nothing fails
	runs      map[types.UID]run.Run
	history   []string // "name Outcome", as they come
	omissions []run.Omission
	attempts  []run.Attempt
	logs      map[string]string
}

func newMemory() *memory {
	return &memory{runs: map[types.UID]run.Run{}, logs: map[string]string{}}
}

func (m *memory) Record(_ context.Context, runs []run.Run, omissions []run.Omission) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		if err := m.fail(runs); err != nil {
			return err
		}
	}
	for _, r := range runs {
		m.runs[r.UID] = r
		m.history = append(m.history, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Name, r.Outcome, r.Reason)))
	}
	m.omissions = append(m.omissions, omissions...)
	return nil
}

func (m *memory) RecordAttempt(_ context.Context, a run.Attempt, log io.Reader) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		if err := m.fail(nil); err != nil {
			return err
		}
	}
	if log != nil {
		text, err := io.ReadAll(log)
		if err != nil {
			return err
		}
		m.logs[a.ContainerID] = string(text)
	}
	m.attempts = append(m.attempts, a)
	return nil
}

func (m *memory) Runs(_ context.Context, q journal.Query) ([]run.Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []run.Run
	for _, r := range m.runs {
		if (q.UID == "" || r.UID == q.UID) && (q.Namespace == "" || r.Namespace == q.Namespace) && (len(q.Outcomes) == 0 || slices.Contains(q.Outcomes, r.Outcome)) {
			found = append(found, r)
		}
	}
	return found, nil
}

func (m *memory) Attempts(_ context.Context, uid types.UID) ([]run.Attempt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []run.Attempt
	for _, a := range m.attempts {
		if a.RunUID == uid {
			found = append(found, a)
		}
	}
	return found, nil
}

func (m *memory) setFail(fail func([]run.Run) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = fail
}

func (m *memory) told() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.history)
}

// directory is what a node leaves, in memory.
type directory struct {
	mu      sync.Mutex
	added   chan struct{}
	entries []ended.Container
	logs    map[string]string
	damaged []string
}

func newDirectory() *directory {
	return &directory{added: make(chan struct{}, 1), logs: map[string]string{}}
}

func (d *directory) add(c ended.Container, log string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, c)
	d.logs[c.ID] = log
	signal(d.added)
}

func (d *directory) Added() <-chan struct{} { return d.added }

func (d *directory) List() (ids []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.entries {
		ids = append(ids, c.ID)
	}
	return ids
}

func (d *directory) Read(id string) (ended.Container, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.entries {
		switch {
		case c.ID == id && c.Name == "damaged":
			return ended.Container{}, errors.New("its record is damaged")
		case c.ID == id:
			return c, nil
		}
	}
	return ended.Container{}, fs.ErrNotExist
}

func (d *directory) Log(id string) (io.ReadCloser, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.logs[id] == "" {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(strings.NewReader(d.logs[id])), nil
}

func (d *directory) Remove(id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = slices.DeleteFunc(d.entries, func(c ended.Container) bool { return c.ID == id })
	return nil
}

func (d *directory) SetAside(id string, _ error) {
	_ = d.Remove(id)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.damaged = append(d.damaged, id)
}

// scene is a Recorder that runs beside an API server that is none.
type scene struct {
	*testing.T
	client   client.WithWatch
	journal  *memory
	ended    *directory
	recorder *Recorder
	warned   []string
	stop     func()
}

// begin makes a scene with objects that are there already; prepare may change what the Recorder is given.
func begin(t *testing.T, m *memory, prepare func(*Options), objects ...client.Object) *scene {
	t.Helper()
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(jobKind, meta.RESTScopeNamespace)
	mapper.Add(podKind, meta.RESTScopeNamespace)
	mapper.Add(timetableKind, meta.RESTScopeNamespace)
	s := &scene{T: t, journal: m, ended: newDirectory()}
	s.client = fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(objects...).Build()
	o := Options{Client: s.client, Journal: m, Past: m, Ended: s.ended, Warn: func(line string) { s.warned = append(s.warned, line) }}
	if prepare != nil {
		prepare(&o)
	}
	if s.recorder, err = New(o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.recorder.Run(ctx)
	}()
	s.stop = func() { cancel(); <-done }
	synctest.Wait()
	return s
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
	synctest.Wait()
}

func (s *scene) want(history ...string) {
	s.Helper()
	if diff := cmp.Diff(history, s.journal.told()); diff != "" {
		s.Errorf("recorded (-want +got):\n%s", diff)
	}
}

var backup = metav1.OwnerReference{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "cj", Controller: new(true)}

func job(name string, conditions ...batchv1.JobConditionType) *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), OwnerReferences: []metav1.OwnerReference{backup}}}
	end(j, conditions...)
	return j
}

func end(j *batchv1.Job, conditions ...batchv1.JobConditionType) {
	for _, c := range conditions {
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
	}
}

// A run is recorded when it is seen, when it starts and when it ends, and not when its Pods come and go.
func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, newMemory(), nil, job("old", batchv1.JobComplete))
		s.want("old Succeeded")
		j := job("a")
		s.must(s.client.Create(t.Context(), j))
		s.want("old Succeeded", "a Active")
		j.Status.StartTime, j.Status.Active = new(metav1.Now()), 1
		s.must(s.client.Status().Update(t.Context(), j))
		s.want("old Succeeded", "a Active", "a Active")
		j.Status.Active = 2
		s.must(s.client.Status().Update(t.Context(), j))
		s.want("old Succeeded", "a Active", "a Active")
		end(j, batchv1.JobFailed)
		s.must(s.client.Status().Update(t.Context(), j))
		s.must(s.client.Delete(t.Context(), j))
		s.want("old Succeeded", "a Active", "a Active", "a Failed")
		s.stop()
		s.want("old Succeeded", "a Active", "a Active", "a Failed")
	})
}

// A run that goes before it has ended is cancelled, for the reason that a controller gives.
func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := job("a"), job("b"), job("c")
		s := begin(t, newMemory(), nil, a, b, c)
		defer s.stop()
		s.recorder.Stopping(b.UID, cron.RunReplaced)
		s.recorder.Stopping(c.UID, cron.RunTimeout)
		for _, j := range []*batchv1.Job{a, b, c} {
			s.must(s.client.Delete(t.Context(), j))
		}
		s.want("a Active", "b Active", "c Active", "a Cancelled Deleted", "b Cancelled Replaced", "c Failed Timeout")
	})
}

// What fails because it was deleted is cancelled, too, as soon as it has failed; what had failed before it was deleted has
// failed.
func TestFailedByStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const finalizer = metav1.FinalizerDeleteDependents
		a, b, c := job("a"), job("b"), job("c")
		for _, j := range []*batchv1.Job{a, b, c} {
			j.Finalizers = []string{finalizer}
		}
		s := begin(t, newMemory(), nil, a, b, c)
		defer s.stop()
		fail := func(name string) {
			j := &batchv1.Job{}
			s.must(s.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, j))
			end(j, batchv1.JobFailed)
			s.must(s.client.Status().Update(t.Context(), j))
		}
		s.recorder.Stopping(b.UID, cron.RunReplaced)
		s.must(s.client.Delete(t.Context(), a))
		s.must(s.client.Delete(t.Context(), b))
		fail("c")
		s.must(s.client.Delete(t.Context(), c))
		s.want("a Active", "b Active", "c Active", "c Failed")
		fail("a")
		fail("b")
		want := []string{"a Active", "b Active", "c Active", "c Failed", "a Cancelled Deleted", "b Cancelled Replaced"}
		s.want(want...)
		for _, name := range []string{"a", "b", "c"} {
			j := &batchv1.Job{}
			s.must(s.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, j))
			j.Finalizers = nil
			s.must(s.client.Update(t.Context(), j))
		}
		s.want(want...)
	})
}

// A deletion waits until the journal has the end of the run, for some seconds at most, and for nothing else.
func TestMayPrune(t *testing.T) {
	unavailable := fmt.Errorf("full: %w", journal.ErrUnavailable)
	synctest.Test(t, func(t *testing.T) {
		j := job("a")
		s := begin(t, newMemory(), nil, j)
		if s.recorder.MayPrune(j.UID) {
			t.Error("it may be deleted, and its end has not been seen")
		}
		hold := make(chan struct{})
		s.journal.setFail(func(runs []run.Run) error { <-hold; return nil }) // a slow disk
		end(j, batchv1.JobComplete)
		s.must(s.client.Status().Update(t.Context(), j))
		if s.recorder.MayPrune(j.UID) {
			t.Error("it may be deleted, and its end is not in the journal")
		}
		close(hold)
		synctest.Wait()
		if !s.recorder.MayPrune(j.UID) {
			t.Error("its end is in the journal, and it may not be deleted")
		}
		for range 2 { // each time anew
			if s.recorder.MayPrune("unknown") {
				t.Error("what was never seen may be deleted at once")
			}
			time.Sleep(holdTimeout - time.Millisecond)
			if s.recorder.MayPrune("unknown") {
				t.Error("what was never seen may be deleted early")
			}
			time.Sleep(time.Millisecond)
			if !s.recorder.MayPrune("unknown") {
				t.Error("what was never seen may never be deleted")
			}
		}
		s.journal.setFail(func([]run.Run) error { return unavailable })
		s.must(s.client.Create(t.Context(), job("b", batchv1.JobComplete)))
		if !s.recorder.MayPrune("uid-b") {
			t.Error("the journal cannot be written to, and a deletion waits for it")
		}
		s.stop()
		if !s.recorder.MayPrune("another") {
			t.Error("nothing is recorded any more, and a deletion waits for it")
		}
	})
}

// While the journal cannot be written to everything waits, each run in its last state; then all of it is written, in
// order.
func TestUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, newMemory(), nil)
		defer s.stop()
		s.journal.setFail(func([]run.Run) error { return journal.ErrUnavailable })
		a, b := job("a"), job("b")
		s.must(s.client.Create(t.Context(), a))
		s.must(s.client.Create(t.Context(), b))
		end(a, batchv1.JobComplete)
		s.must(s.client.Status().Update(t.Context(), a))
		s.must(s.client.Delete(t.Context(), a))
		pod := ended.Pod{Labels: map[string]string{"batch.kubernetes.io/controller-uid": "uid-a"}}
		s.ended.add(ended.Container{ID: "c1", Pod: pod, Ended: time.Now()}, "2026-11-23T12:00:00Z stdout F hello\n")
		s.ended.add(ended.Container{ID: "c2", Pod: pod, Ended: time.Now()}, "")
		time.Sleep(time.Hour)
		s.want()
		if got := s.ended.List(); len(got) != 2 {
			t.Errorf("left in the directory: %q", got)
		}
		s.journal.setFail(nil)
		time.Sleep(time.Minute)
		s.want("a Succeeded", "b Active")
		if got := s.ended.List(); len(got) != 0 || s.journal.logs["c1"] == "" || len(s.journal.attempts) != 2 {
			t.Errorf("left in the directory: %q; in the journal: %+v %q", got, s.journal.attempts, s.journal.logs)
		}
	})
}

// What the journal refuses for itself keeps nothing else from being written.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.fail = func(runs []run.Run) error {
			for _, r := range runs {
				if r.Name == "bad" {
					return errors.New("a name that nobody likes")
				}
			}
			return nil
		}
		s := begin(t, m, nil, job("a"), job("bad"), job("c"))
		defer s.stop()
		s.want("a Active", "c Active")
	})
}

// So much waits and no more; when the journal can be written to again, what is still there is recorded all the same,
// and the user knows.
func TestTooMuchWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there := job("there")
		m := newMemory()
		m.fail = func([]run.Run) error { return journal.ErrUnavailable }
		s := begin(t, m, nil, there)
		defer s.stop()
		s.recorder.mu.Lock()
		for i := range maxPending + 10 {
			s.recorder.enqueue(run.Run{UID: types.UID(fmt.Sprint(i)), Name: fmt.Sprint(i)})
		}
		waiting := len(s.recorder.pending.runs)
		s.recorder.mu.Unlock()
		if waiting != maxPending {
			t.Errorf("%d wait", waiting)
		}
		time.Sleep(time.Minute)
		if len(s.warned) != 1 || !strings.Contains(s.warned[0], "are not recorded") {
			t.Errorf("warned: %q", s.warned)
		}
		s.journal.setFail(nil)
		time.Sleep(time.Minute)
		if len(m.runs) != maxPending+1 || m.runs[there.UID].Name != "there" {
			t.Errorf("%d are recorded, the one that is there as %+v", len(m.runs), m.runs[there.UID])
		}
	})
}

// Runs that the journal has as active and that are gone when it is looked again have ended, as their attempts tell.
func TestFoundGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		known := func(name string, outcome run.Outcome) {
			r := run.FromJob(job(name))
			r.Outcome, r.Completions = outcome, 1
			m.runs[r.UID] = r
		}
		known("there", run.Active)
		known("gone", run.Active)
		known("done", run.Active)
		known("before", run.Succeeded)
		r := run.Run{UID: "w", APIVersion: "example.com/v1", Kind: "Workflow", Namespace: "ns", Name: "workflow", Outcome: run.Active}
		m.runs[r.UID] = r
		m.attempts = []run.Attempt{{ContainerID: "c", RunUID: "uid-done", PodUID: "p", Container: "main", Role: run.Main, Mains: 1, Ended: time.Now()}}
		s := begin(t, m, nil, job("there"))
		defer s.stop()
		for name, want := range map[types.UID]run.Outcome{"uid-there": run.Active, "uid-gone": run.Unknown, "uid-done": run.Succeeded,
			"uid-before": run.Succeeded, "w": run.Unknown} {
			if got := m.runs[name].Outcome; got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
	})
}

// Containers that have ended are attempts of their runs, but for those of Pods that are nobody's.
func TestContainers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, newMemory(), nil)
		defer s.stop()
		now := time.Now()
		of := func(id, name string, labels ...string) ended.Container {
			c := ended.Container{ID: id, Name: name, Pod: ended.Pod{Namespace: "ns", Name: "p", UID: "pod-uid", Labels: map[string]string{}}, Ended: now}
			for i := 0; i < len(labels); i += 2 {
				c.Pod.Labels[labels[i]] = labels[i+1]
			}
			return c
		}
		s.recorder.seen(&wanted{podsByName: true}, run.Run{UID: "volcano-uid", Namespace: "ns", Name: "v", Outcome: run.Active}, run.Containers{})
		s.ended.add(of("a", "main", "batch.kubernetes.io/controller-uid", "job-uid"), "x\n")
		s.ended.add(of("b", "main"), "x\n")
		s.ended.add(of("c", "main", v1alpha1.LabelTimetableUID, "tt"), "")
		s.ended.add(of("d", "main", volcanoJob, "v"), "")
		s.ended.add(of("e", "main", volcanoJob, "unknown"), "")
		s.ended.add(of("f", "damaged", "batch.kubernetes.io/controller-uid", "job-uid"), "")
		synctest.Wait()
		got := map[string]types.UID{}
		for _, a := range s.journal.attempts {
			got[a.ContainerID] = a.RunUID
		}
		if diff := cmp.Diff(map[string]types.UID{"a": "job-uid", "c": "pod-uid", "d": "volcano-uid"}, got); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]string{"a": "x\n"}, s.journal.logs); diff != "" {
			t.Errorf("logs (-want +got):\n%s", diff)
		}
		if len(s.ended.List()) != 0 || !slices.Equal(s.ended.damaged, []string{"f"}) {
			t.Errorf("left: %q, set aside: %q", s.ended.List(), s.ended.damaged)
		}
	})
}

// A Timetable's status tells what was not started, each time once; what it starts is followed, Pods too.
func TestTimetables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tt := &timetable.Object{}
		tt.Namespace, tt.Name, tt.UID = "ns", "sync", "tt"
		tt.Spec.Template.APIVersion, tt.Spec.Template.Kind = "v1", "Pod"
		noon := metav1.NewTime(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC))
		skipped := v1alpha1.LedgerEntry{ScheduledTime: noon, Result: v1alpha1.ResultSkipped, Reason: "Overlap"}
		tt.Status.Ledger = []v1alpha1.LedgerEntry{skipped}
		s := begin(t, newMemory(), nil, tt)
		defer s.stop()
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "sync-20261123-120000", UID: "pod", Labels: map[string]string{v1alpha1.LabelTimetableUID: "tt"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Timetable", Name: "sync", UID: "tt", Controller: new(true)}},
		}}
		s.must(s.client.Create(t.Context(), pod))
		pod.Status.Phase = corev1.PodSucceeded
		s.must(s.client.Status().Update(t.Context(), pod))
		s.want("sync-20261123-120000 Active", "sync-20261123-120000 Succeeded")
		tt.Status.Ledger = append(tt.Status.Ledger, v1alpha1.LedgerEntry{ScheduledTime: metav1.NewTime(noon.Add(time.Hour)), Result: v1alpha1.ResultMissed, Reason: "Outage"})
		s.must(s.client.Update(t.Context(), tt))
		var got []string
		for _, o := range s.journal.omissions {
			got = append(got, o.ScheduledTime.Format("15:04 ")+o.Reason)
		}
		if diff := cmp.Diff([]string{"12:00 Overlap", "13:00 Outage"}, got); diff != "" {
			t.Errorf("omissions (-want +got):\n%s", diff)
		}
	})
}

// What controllers say of CronJobs' times is recorded.
func TestOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, newMemory(), nil)
		defer s.stop()
		now := time.Now()
		s.recorder.Outcomes(kind.All[0].Info(), cron.Owner{Namespace: "ns", Name: "backup", UID: "cj"}, []cron.RunOutcome{
			{Result: cron.Started, Count: 1, First: now, Last: now},
			{Result: cron.Skipped, Reason: cron.NotStartedForbidden, Count: 1, First: now, Last: now},
		})
		synctest.Wait()
		if len(s.journal.omissions) != 1 || s.journal.omissions[0].Reason != "Overlap" || s.journal.omissions[0].Owner.Name != "backup" {
			t.Errorf("omissions: %+v", s.journal.omissions)
		}
	})
}

// Where the node leaves nothing, Pods tell of their containers, and the API server gives their logs; deletions wait for
// them.
func TestLogsThroughAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan struct{})
		var previous []bool
		s := begin(t, newMemory(), func(o *Options) {
			o.Ended = nil
			o.LogsThroughAPI = func(_ context.Context, namespace, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
				<-asked
				previous = append(previous, o.Previous)
				text := fmt.Sprintf("2026-11-23T12:00:00.5Z %s/%s/%s\nno time\n", namespace, pod, o.Container)
				return io.NopCloser(strings.NewReader(text)), nil
			}
		})
		defer s.stop()
		j := job("a", batchv1.JobComplete)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "pod",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "a", UID: j.UID, Controller: new(true)}}}}
		terminated := func(id string) corev1.ContainerState {
			return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ContainerID: "x://" + id, FinishedAt: metav1.Now()}}
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: 1, LastTerminationState: terminated("c0"), State: terminated("c1")}}
		s.must(s.client.Create(t.Context(), pod))
		s.must(s.client.Create(t.Context(), j))
		if s.recorder.MayPrune(j.UID) {
			t.Error("the run may be deleted, and its logs are not in the journal")
		}
		close(asked)
		synctest.Wait()
		if !s.recorder.MayPrune(j.UID) {
			t.Error("the run may not be deleted, and all of it is in the journal")
		}
		const want = "2026-11-23T12:00:00.5Z stdout F ns/p/main\n2026-11-23T12:00:00.5Z stdout F no time\n"
		if diff := cmp.Diff(map[string]string{"c0": want, "c1": want}, s.journal.logs); diff != "" {
			t.Errorf("logs (-want +got):\n%s", diff)
		}
		slices.SortFunc(previous, func(a, b bool) int { return bytes.Compare([]byte(fmt.Sprint(a)), []byte(fmt.Sprint(b))) })
		if !slices.Equal(previous, []bool{false, true}) || len(s.recorder.unwritten) != 0 {
			t.Errorf("asked for previous logs: %v; waits for %v", previous, s.recorder.unwritten)
		}
		pod.Labels = map[string]string{"changed": "true"}
		s.must(s.client.Update(t.Context(), pod))
		if len(s.journal.attempts) != 2 {
			t.Errorf("recorded again: %+v", s.journal.attempts)
		}
	})
}

// forbidding is a client whose lists and watches of some kinds fail.
type forbidding struct {
	client.WithWatch
	mu   sync.Mutex
	fail func(list client.ObjectList) error
}

func (f *forbidding) error(list client.ObjectList) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fail(list)
}

func (f *forbidding) set(fail func(client.ObjectList) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

func (f *forbidding) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	if err := f.error(list); err != nil {
		return err
	}
	return f.WithWatch.List(ctx, list, o...)
}

// What may not be read is told once and left out until it may be; all else is recorded. So is an API server that does
// not answer told once, and when it does again.
func TestForbiddenAndAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		no := apierrors.NewForbidden(schema.GroupResource{Resource: "timetables"}, "", errors.New("no rights"))
		withoutTimetables := func(list client.ObjectList) error {
			if _, ok := list.(*timetable.ObjectList); ok {
				return no
			}
			return nil
		}
		f := &forbidding{fail: withoutTimetables}
		var reached []string
		s := begin(t, newMemory(), func(o *Options) {
			f.WithWatch, o.Client = o.Client, f
			o.LookForKinds = time.Minute
			o.Reached = func(err error) { reached = append(reached, fmt.Sprint(err)) }
		}, job("a"))
		defer s.stop()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		s.want("a Active")
		if len(s.warned) != 1 || !strings.Contains(s.warned[0], "Timetable.batch.carillon.dev may not be read and are left out") {
			t.Errorf("warned of %q", s.warned)
		}
		f.set(func(client.ObjectList) error { return errors.New("connection refused") })
		s.recorder.kinds.lookAgain()
		time.Sleep(10 * time.Minute)
		f.set(func(client.ObjectList) error { return nil })
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if want := []string{"connection refused", "<nil>"}; !slices.Equal(reached, want) {
			t.Errorf("reached: %q, want %q", reached, want)
		}
		f.set(withoutTimetables)
		s.recorder.kinds.lookAgain()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if len(s.warned) != 2 {
			t.Errorf("what may not be read any more: warned of %q", s.warned)
		}
	})
}

// Of one namespace alone nothing else is read, nor taken for gone.
func TestOneNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		other := job("b")
		other.Namespace = "other"
		m.runs["elsewhere"] = run.Run{UID: "elsewhere", Namespace: "other", Name: "c", APIVersion: "batch/v1", Kind: "Job", Outcome: run.Active}
		s := begin(t, m, func(o *Options) { o.Namespace, o.LookForKinds = "ns", time.Minute }, job("a"), other)
		defer s.stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		s.want("a Active")
	})
}

// Logs that may not be read are told once; their containers are recorded without.
func TestForbiddenLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := job("a")
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "pod",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "a", UID: j.UID, Controller: new(true)}}}}
		for _, id := range []string{"c0", "c1"} {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: id,
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ContainerID: "x://" + id, FinishedAt: metav1.Now()}}})
		}
		asked := 0
		s := begin(t, newMemory(), func(o *Options) {
			o.Ended, o.LookForKinds = nil, time.Minute
			o.LogsThroughAPI = func(context.Context, string, string, *corev1.PodLogOptions) (io.ReadCloser, error) {
				asked++
				return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods/log"}, "p", errors.New("no rights"))
			}
		}, j, pod)
		defer s.stop()
		if len(s.journal.attempts) != 2 || len(s.warned) != 1 || !strings.Contains(s.warned[0], "logs may not be read") || asked != 2 {
			t.Errorf("%d attempts, asked %d times, warned of %q", len(s.journal.attempts), asked, s.warned)
		}
	})
}

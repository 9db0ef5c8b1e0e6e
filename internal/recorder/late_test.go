// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/journal/ended"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// left is a container that has ended of a Pod with these labels.
func left(id string, code int32, labels map[string]string) ended.Container {
	return ended.Container{ID: id, Name: "main", ExitCode: code, Started: time.Now().Add(-time.Minute), Ended: time.Now(),
		Pod: ended.Pod{Namespace: "ns", Name: "pod-" + id, UID: "uid-pod-" + types.UID(id), Labels: labels}}
}

func ofJob(name string) map[string]string {
	return map[string]string{batchv1.ControllerUidLabel: "uid-" + name, batchv1.JobNameLabel: name}
}

// A run that nobody saw before it was gone is known from what the node left of it.
func TestUnseenRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owner := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "backup", UID: "cj"}}
		d := newDirectory()
		d.add(left("a", 3, ofJob("backup-29412345")), "x\n")
		d.add(left("b", 0, ofJob("by-hand")), "")
		d.add(left("c", 0, ofJob("there")), "")
		d.add(left("d", 1, map[string]string{v1alpha1.LabelTimetableUID: "tt", v1alpha1.LabelTimetableName: "sync"}), "")
		m := newMemory()
		s := begin(t, m, func(o *Options) { o.Ended = d }, owner, job("there"))
		defer s.stop()
		a := m.runs["uid-backup-29412345"]
		if a.Name != "backup-29412345" || a.Kind != "Job" || a.Outcome != run.Failed || a.Owner.Name != "backup" || a.Owner.UID != "cj" ||
			a.ScheduledTime.IsZero() || a.Started.IsZero() {
			t.Errorf("one that failed: %+v", a)
		}
		if b := m.runs["uid-by-hand"]; b.Outcome != run.Unknown || b.Owner != (run.Owner{}) || !b.Ended.IsZero() {
			t.Errorf("one of which nobody knows whether that was all: %+v", b)
		}
		if c := m.runs["uid-there"]; c.Outcome != run.Active || c.Owner.Name != "backup" {
			t.Errorf("one that is there: %+v", c)
		}
		if p := m.runs["uid-pod-d"]; p.Kind != "Pod" || p.Name != "pod-d" || p.Outcome != run.Failed || p.Owner.Name != "sync" {
			t.Errorf("a Timetable's Pod: %+v", p)
		}
	})
}

// What is there of a run when it is found gone counts, although it was not in the journal then; and what comes later,
// too.
func TestFoundGoneWithWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, d := newMemory(), newDirectory()
		for _, name := range []string{"before", "after"} {
			r := run.FromJob(job(name))
			m.runs[r.UID] = r
		}
		d.add(left("a", 3, ofJob("before")), "")
		s := begin(t, m, func(o *Options) { o.Ended = d })
		defer s.stop()
		if got := m.runs["uid-before"]; got.Outcome != run.Failed {
			t.Errorf("what was left is not known: %+v", got)
		}
		if got := m.runs["uid-after"]; got.Outcome != run.Unknown || !got.Ended.IsZero() {
			t.Errorf("of which nothing is left: %+v", got)
		}
		d.add(left("b", 4, ofJob("after")), "")
		synctest.Wait()
		if got := m.runs["uid-after"]; got.Outcome != run.Failed || got.Ended.IsZero() {
			t.Errorf("what came later is not known: %+v", got)
		}
	})
}

// A run whose object is gone and whose Pods are not has not ended.
func TestGoneWithPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		r := run.FromJob(job("a"))
		m.runs[r.UID] = r
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "p", Labels: ofJob("a")}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		s := begin(t, m, nil, pod)
		defer s.stop()
		if got := m.runs[r.UID]; got.Outcome != run.Active {
			t.Errorf("it ended while its Pod runs: %+v", got)
		}
		s.must(s.client.Delete(t.Context(), pod))
		s.ended.add(left("a", 1, ofJob("a")), "")
		time.Sleep(goneAgain)
		synctest.Wait()
		if got := m.runs[r.UID]; got.Outcome != run.Failed {
			t.Errorf("it did not end with its Pod: %+v", got)
		}
	})
}

// Attempts know what they are from the object of their run.
func TestRoles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := job("a")
		j.Spec.Template.Spec = corev1.PodSpec{InitContainers: []corev1.Container{{Name: "init"}}, Containers: []corev1.Container{{Name: "main"}, {Name: "other"}}}
		s := begin(t, newMemory(), nil, j)
		defer s.stop()
		s.ended.add(left("a", 0, ofJob("a")), "")
		synctest.Wait()
		if got := s.journal.attempts; len(got) != 1 || got[0].Role != run.Main || got[0].Mains != 2 {
			t.Errorf("recorded: %+v", got)
		}
	})
}

// listsLater is an API server that does not answer yet.
type listsLater struct {
	client.WithWatch
	answers *bool
}

func (c listsLater) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	if !*c.answers {
		return errors.New("not yet")
	}
	return c.WithWatch.List(ctx, list, o...)
}

// What the node has left waits until it is known which runs there are: Pods of Volcano tell no UID.
func TestLeftBeforeLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, answers := newDirectory(), false
		d.add(left("a", 0, map[string]string{volcanoJob: "v"}), "x\n")
		m := newMemory()
		s := begin(t, m, func(o *Options) { o.Ended, o.Client = d, listsLater{o.Client, &answers} })
		defer s.stop()
		if len(d.List()) != 1 {
			t.Error("it was thrown away before anything was known")
		}
		of := &wanted{podsByName: true}
		v := run.Run{UID: "volcano-uid", Kind: "Job", APIVersion: "batch.volcano.sh/v1alpha1", Namespace: "ns", Name: "v", Outcome: run.Active}
		s.recorder.seen(of, v, run.Containers{})
		answers = true
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(m.attempts) != 1 || m.attempts[0].RunUID != "volcano-uid" {
			t.Errorf("recorded: %+v", m.attempts)
		}
		s.recorder.gone(of, v)
		d.add(left("b", 0, map[string]string{volcanoJob: "v"}), "x\n") // the last of one that was deleted
		synctest.Wait()
		if len(m.attempts) != 2 || m.attempts[1].RunUID != "volcano-uid" {
			t.Errorf("recorded: %+v", m.attempts)
		}
	})
}

// What went unseen is forgotten whole, and what nobody waits for any more makes room.
func TestForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, newMemory(), nil)
		defer s.stop()
		r, of := s.recorder, &wanted{podsByName: true}
		r.seen(of, run.Run{UID: "v", Namespace: "ns", Name: "v", Outcome: run.Active}, run.Containers{})
		r.Stopping("v", cron.RunReplaced)
		r.listing(of)
		r.listed(of)
		if len(r.known)+len(r.stopping) != 0 {
			t.Errorf("kept: %v %v", r.known, r.stopping)
		}
		time.Sleep(namedWithin)
		r.seen(of, run.Run{UID: "w", Namespace: "ns", Name: "w", Outcome: run.Active}, run.Containers{})
		r.gone(of, run.Run{UID: "w", Namespace: "ns", Name: "w", Outcome: run.Active})
		if len(r.jobNames) != 1 {
			t.Errorf("names kept: %v", r.jobNames)
		}
		for i := range maxPending {
			r.MayPrune(types.UID(fmt.Sprint(i)))
			r.Stopping(types.UID(fmt.Sprint(i)), cron.RunReplaced)
		}
		time.Sleep(stoppingWithin)
		if r.MayPrune("one more") || len(r.asked) != 1 {
			t.Errorf("%d are asked for, and nothing is held", len(r.asked))
		}
		if r.Stopping("one more", cron.RunReplaced); len(r.stopping) != 1 {
			t.Errorf("%d are being stopped", len(r.stopping))
		}
	})
}

// A journal that cannot be read keeps what the node left where it is.
func TestLeftWithoutJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, d := newMemory(), newDirectory()
		m.fail = func([]run.Run) error { return journal.ErrUnavailable }
		d.add(left("a", 3, ofJob("gone")), "x\n")
		s := begin(t, m, func(o *Options) { o.Ended = d })
		defer s.stop()
		if len(d.List()) != 1 || len(m.runs) != 0 {
			t.Error("it was taken into a journal that cannot be written to")
		}
		m.setFail(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(d.List()) != 0 || m.runs["uid-gone"].Outcome != run.Failed {
			t.Errorf("left: %q; recorded: %+v", d.List(), m.runs)
		}
	})
}

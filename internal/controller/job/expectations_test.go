// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// A finalizer that this process removed is waited for until a watch shows the pod
// without it, or no pod; an event that shows the pod with it, whatever else it
// says, changes nothing (JOB-082).
func TestWhatEndsTheWaitForAFinalizer(t *testing.T) {
	now := metav1.NewTime(start)
	j := make.Job(ns, "j").Obj()
	pod := func(name string, finalizer, deleting bool) *corev1.Pod {
		b := make.Pod(ns, name).Of(j).UID(types.UID(name)).Succeeded(start)
		if !finalizer {
			b = b.NoFinalizers()
		}
		p := b.Obj()
		if deleting {
			p.DeletionTimestamp = &now
		}
		return p
	}
	e := newExpectations(func() string { return "" })
	for _, uid := range []types.UID{"1", "2", "3", "4"} {
		e.update(j.UID, func(j *jobExpectations) { j.unfinalizing.Insert(uid) })
	}
	for _, event := range []struct {
		pod       *corev1.Pod
		gone, own bool
	}{
		{pod("1", false, false), false, true},
		{pod("2", false, true), false, true},
		{pod("3", true, true), false, false},
		{pod("4", true, true), true, true},
	} {
		if own, wake := e.observePod(j.UID, event.pod, event.gone); own != event.own || wake {
			t.Errorf("pod %s: own %t, wakes the Job %t", event.pod.Name, own, wake)
		}
	}
	if d := cmp.Diff(sets.New[types.UID]("3"), e.recall(j.UID).Unfinalizing); d != "" {
		t.Errorf("still waited for (-want +got):\n%s", d)
	}
}

// What a list shows ends a wait as an event does, so that a lost event is
// harmless. What is not listed proves nothing, because a cache that lags may never
// have had the pod; and what was not expected when the list began is left alone,
// because the list may be older than it.
func TestListsEndWaitsToo(t *testing.T) {
	now := metav1.NewTime(start)
	j := make.Job(ns, "j").Obj()
	e := newExpectations(func() string { return "" })
	e.expectCreation(j.UID, "seen", expectedPod{sent: start})
	e.expectCreation(j.UID, "unseen", expectedPod{sent: start})
	for _, uid := range []types.UID{"going", "gone", "here"} {
		e.update(j.UID, func(j *jobExpectations) { j.deleting[uid] = start; j.unfinalizing.Insert(uid) })
	}
	before := e.recall(j.UID)
	e.update(j.UID, func(j *jobExpectations) { j.deleting["later"] = start; j.unfinalizing.Insert("later") })
	going := make.Pod(ns, "a").Of(j).UID("going").NoFinalizers().Obj()
	going.DeletionTimestamp = &now
	e.observeCache(j.UID, before, []*corev1.Pod{
		make.Pod(ns, "seen").Of(j).UID("x").Obj(), make.Pod(ns, "b").Of(j).UID("here").Obj(), going,
	})
	after := e.recall(j.UID)
	type left struct {
		Creating               []string
		Deleting, Unfinalizing sets.Set[types.UID]
	}
	got := left{Deleting: sets.KeySet(after.Deleting), Unfinalizing: after.Unfinalizing}
	for name := range after.Creating {
		got.Creating = append(got.Creating, name)
	}
	want := left{[]string{"unseen"}, sets.New[types.UID]("here", "gone", "later"), sets.New[types.UID]("here", "gone", "later")}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("still waited for (-want +got):\n%s", d)
	}
	e.observeCache(j.UID, job.Expectations{}, nil)
	if d := cmp.Diff(after, e.recall(j.UID)); d != "" {
		t.Errorf("a list from before anything was expected ended a wait:\n%s", d)
	}
}

// Names of pods are used again. What is heard late of the last pod of a name does
// not end the wait for the next one; nor does a list of a cache that still has it.
func TestNamesakesEndNoWait(t *testing.T) {
	j := make.Job(ns, "j").Obj()
	pod := func(uid types.UID, version string) *corev1.Pod {
		p := make.Pod(ns, "j-x").Of(j).UID(uid).Obj()
		p.ResourceVersion = version
		return p
	}
	for name, test := range map[string]struct {
		asked expectedPod
		pod   *corev1.Pod
		want  bool
	}{
		"in flight: one that is not newer than the call": {expectedPod{after: "100"}, pod("old", "100"), false},
		"in flight: one that is newer":                   {expectedPod{after: "100"}, pod("new", "101"), true},
		"in flight: who knows":                           {expectedPod{}, pod("new", "101"), true},
		"answered: another one":                          {expectedPod{after: "100", uid: "new"}, pod("old", "102"), false},
		"answered: the one that was made":                {expectedPod{after: "100", uid: "new"}, pod("new", "101"), true},
	} {
		t.Run(name, func(t *testing.T) {
			for way, show := range map[string]func(*expectations){
				"a change": func(e *expectations) { e.observePod(j.UID, test.pod, false) },
				"its end":  func(e *expectations) { e.observePod(j.UID, test.pod, true) },
				"a list":   func(e *expectations) { e.observeCache(j.UID, e.recall(j.UID), []*corev1.Pod{test.pod}) },
			} {
				e := newExpectations(func() string { return "" })
				e.expectCreation(j.UID, "j-x", test.asked)
				show(e)
				if ended := len(e.recall(j.UID).Creating) == 0; ended != test.want {
					t.Errorf("%s ends the wait: %t, want %t", way, ended, test.want)
				}
			}
		})
	}
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A Pod is looked at again and again from its deletion until it is gone, and
// nobody is looked at otherwise.
func TestRelisterLooksUntilGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := map[types.UID]int{}
		r := newRelister(func(pod types.UID) { looks[pod]++ })
		go r.run(t.Context())

		time.Sleep(time.Minute)
		synctest.Wait()
		if len(looks) != 0 {
			t.Errorf("looked without a cause: %v", looks)
		}
		r.tell(t.Context(), deletion{pod: "a"})
		r.tell(t.Context(), deletion{pod: "a"}) // a second update of the same Pod
		time.Sleep(10*relistEvery + relistEvery/2)
		synctest.Wait()
		if looks["a"] != 10 {
			t.Errorf("looked %d times in 10 periods", looks["a"])
		}
		r.tell(t.Context(), deletion{pod: "a", over: true})
		time.Sleep(time.Minute)
		synctest.Wait()
		if looks["a"] != 10 {
			t.Errorf("looked %d times at what is gone", looks["a"]-10)
		}
	})
}

// Of many Pods each has its turn, and no period has more looks than allowed.
func TestRelisterTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pods = 3 * relistsAtOnce
		looks := map[types.UID]int{}
		total := 0
		r := newRelister(func(pod types.UID) { looks[pod]++; total++ })
		go r.run(t.Context())
		for i := range pods {
			r.tell(t.Context(), deletion{pod: types.UID(fmt.Sprint(i))})
		}
		time.Sleep(6*relistEvery + relistEvery/2)
		synctest.Wait()
		if total != 6*relistsAtOnce {
			t.Errorf("%d looks in 6 periods", total)
		}
		for pod, n := range looks {
			if n != 2 {
				t.Errorf("pod %s was looked at %d times, not 2", pod, n)
			}
		}
	})
}

// The copy that is kept of a Pod has what tells its deletion and no more.
func TestOnlyDeletion(t *testing.T) {
	now := metav1.Now()
	got, err := onlyDeletion(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u", DeletionTimestamp: &now, Annotations: map[string]string{"a": "b"}},
		Spec:       corev1.PodSpec{NodeName: "n"},
	})
	if err != nil {
		t.Fatal(err)
	}
	pod := got.(*corev1.Pod)
	if pod.UID != "u" || pod.DeletionTimestamp == nil || pod.Annotations != nil || pod.Spec.NodeName != "" {
		t.Errorf("got %+v", pod)
	}
	if got, err := onlyDeletion("something else"); err != nil || got != "something else" {
		t.Errorf("got %v, %v", got, err)
	}
}

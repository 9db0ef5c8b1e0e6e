// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/kube/loadgate"
)

// A tenant whose ten thousand Timetables are all to be looked at, because what they wait for has changed, holds up nobody
// else: what is due is taken out of the queue before them (TT-212).
func TestDueBeforeWhatWaits(t *testing.T) {
	var q queue = priorityqueue.New[reconcile.Request]("tenants")
	defer q.ShutDown()
	r := &reconciler{gate: loadgate.New(clock.RealClock{})}
	r.queue.Store(&q)
	const waiting = 10_000
	for i := range waiting {
		q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "many", Name: fmt.Sprint(i)}})
	}
	due := []types.NamespacedName{{Namespace: "other", Name: "a"}, {Namespace: "other", Name: "b"}}
	r.ring(due)
	for range due {
		got, _ := q.Get()
		if got.Namespace != "other" || !r.dueKeys.take(got.NamespacedName) {
			t.Errorf("%s comes before what is due", got)
		}
		q.Done(got)
	}
	if left := q.Len(); left != waiting {
		t.Errorf("%d are left", left)
	}
}

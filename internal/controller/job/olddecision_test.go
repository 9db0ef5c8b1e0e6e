// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"net/url"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/kube/fence"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// A sync that has become too old begins no more creations and deletions, and the Job is synced anew (timetable.md F1).
func TestOldDecision(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").Parallelism(3).Completions(3).Obj())
	w.run()
	j, pods := w.job("j"), w.pods()
	k := &work{controller: w.ctl, key: keyOf(j), job: j, carry: w.ctl.expectations.carry(j.UID), now: w.clock.Now()}
	old := fence.WithDecision(t.Context(), fence.Now()-fence.Instant(fence.MaxDecisionAge)-1)
	w.resetCalls()
	created, err := k.create(old, []job.Creation{{Pod: make.Pod(ns, "more").Of(j).Obj()}})
	if err != nil || created[0].Outcome != job.NotCreated || k.next.more.IsZero() {
		t.Errorf("created %v, %v; next sync %v", created, err, k.next.more)
	}
	deleted, err := k.delete(old, []job.Deletion{{PodRef: refTo(&pods[0]), Unfinalize: true}})
	if err != nil || deleted[0].Outcome != job.NotDeleted {
		t.Errorf("deleted %v, %v", deleted, err)
	}
	if n := w.writes(); n != 0 {
		t.Errorf("%d writes", n)
	}
}

// What was not sent is a no for certain: the Pod is not waited for, it is created by the next sync, which comes with
// back-off.
func TestNotSent(t *testing.T) {
	refusal := &url.Error{Op: "Post", URL: "https://server/api/v1/namespaces/n/pods", Err: &fence.Refusal{Reason: fence.LeaseNotRenewed, Age: 7 * time.Second}}
	if result, refused := createResult(refusal); result != job.CreateFailed || refused {
		t.Errorf("result %v, refused by the server: %v", result, refused)
	}
	w := newWorld(t)
	w.add(make.Job(ns, "j").Obj())
	refusals := 1
	w.ctl.client = interceptor.NewClient(w.faulty, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
		if refusals > 0 {
			refusals--
			return refusal
		}
		return c.Create(ctx, obj, opts...)
	}})
	w.deliver()
	if err := w.syncJob("j"); err == nil {
		t.Error("a Pod that was not sent is no error")
	}
	if n := len(w.ctl.expectations.recall(w.job("j").UID).Creating); n != 0 {
		t.Errorf("%d Pods are waited for", n)
	}
	w.pass(5 * time.Second)
	if n := len(w.pods()); n != 1 {
		t.Errorf("%d Pods, want 1", n)
	}
}

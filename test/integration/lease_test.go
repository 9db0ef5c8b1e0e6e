// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	jobcontroller "github.com/carillon-dev/carillon/internal/controller/job"
	"github.com/carillon-dev/carillon/internal/manager"
	build "github.com/carillon-dev/carillon/internal/testkit/make"
)

// A manager that loses its lease in the middle of a sync ends, and what the sync had not written by then is never
// written: a call that waits is given up, and none is begun (JOB-378).
func TestLeaseLostInASync(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	var seen traffic
	reached, end := make(chan struct{}, 100), make(chan struct{})
	seen.interfere(func(r *http.Request, w write) error {
		if w.verb != "create" || w.resource != "pods" || w.namespace != j.namespace {
			return nil
		}
		reached <- struct{}{}
		select {
		case <-end:
			return nil
		case <-r.Context().Done():
			return r.Context().Err()
		}
	})
	m, err := manager.New(manager.Options{
		Config: seen.on(j.plane.Config()), Controllers: []string{manager.Job}, Logger: logr.Discard(),
		LeaderElect: true, LeaderElectionNamespace: j.namespace,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	select {
	case <-m.Ready():
	case <-time.After(patience):
		t.Fatal("the manager does not become ready")
	}
	j.managedBy = jobcontroller.ManagedBy
	j.create(build.Job("", "orphaned").Parallelism(4).Completions(4))
	select {
	case <-reached:
	case <-time.After(patience):
		t.Fatal("no pod is made")
	}

	leases := j.client.CoordinationV1().Leases(j.namespace)
	j.eventually("the lease is somebody else's", func(ctx context.Context) error {
		lease, err := leases.Get(ctx, manager.LeaseName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new("thief"), new(int32(3600))
		lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		return err
	})
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the manager lost its lease and ended as if it had been told to")
		}
	case <-time.After(patience):
		t.Fatal("the manager goes on without a lease")
	}
	close(end)

	accepted := seen.in(j.namespace, func(w write) bool { return w.accepted() && w.resource != "leases" })
	for _, w := range accepted {
		if w.resource == "pods" {
			t.Errorf("written after the loss: %v", w)
		}
	}
	job := j.get(t.Context(), "orphaned")
	j.edit("orphaned", func(job *batchv1.Job) { job.Spec.Parallelism = new(int32(2)) })
	// Whoever takes over finds the Job as if nothing had been tried, and runs it.
	j.run(manager.Options{Config: j.plane.Config(), Controllers: []string{manager.Job}})
	j.until("orphaned", "complete", func(s *batchv1.JobStatus) bool {
		return has(s, batchv1.JobComplete) && s.Succeeded == 4 && s.Failed == 0
	})
	if n := len(j.pods(t.Context())); n != 4 {
		t.Errorf("%d pods, want 4", n)
	}
	if now := seen.in(j.namespace, func(w write) bool { return w.accepted() && w.resource != "leases" }); len(now) != len(accepted) {
		t.Errorf("the one without a lease went on writing: %s", verbs(now))
	}
	if job.Status.Active != 0 {
		t.Errorf("after the loss the status said %+v", job.Status)
	}
	j.noFinalizers()
}

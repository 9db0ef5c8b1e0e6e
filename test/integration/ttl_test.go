// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"testing"

	"github.com/carillon-dev/carillon/internal/controller/job"
	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// A Job whose time to live is over in the instant in which it succeeds is gone before anybody can ask for it, and yet
// its CronJob knows of the success (TTL-004, CJ-100).
func TestSuccessOfAJobWithoutTimeToLive(t *testing.T) {
	w := newWorld(t, manager.Options{Controllers: []string{manager.CronJob, manager.TTLAfterFinished}})
	cj := w.createCronJob(make.CronJob(w.namespace, "brief").Schedule("* * * * *").
		Template(make.Job(w.namespace, "x").ManagedBy(job.ManagedBy).TTL(0)))
	for range 3 {
		w.pass(1)
		j := w.runs(cj, 1, 1)[0]
		w.complete(&j)
		w.runs(cj, 0, 0)
		w.eventually("the success is recorded", func(ctx context.Context) error {
			if at := w.cronJob(ctx, cj.Name).Status.LastSuccessfulTime; at == nil || at.Unix() != w.clock.Now().Unix() {
				return fmt.Errorf("lastSuccessfulTime %v, the clock shows %v", at, w.clock.Now())
			}
			return nil
		})
	}
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	kindk "github.com/carillon-dev/carillon/internal/kind/batchv1"
)

// A CronJob is due, and the Job of ten minutes ago still runs.
func ExampleDecide() {
	now := time.Date(2026, 5, 4, 12, 10, 0, 0, time.UTC)
	info := kindk.Kind{}.Info()
	before := now.Add(-10 * time.Minute)
	in := cron.Input{
		Now:    now,
		Traits: info.Traits,
		Owner:  cron.Owner{Namespace: "batch", Name: "tick", UID: "cj-1", Created: now.Add(-time.Hour)},
		Policy: cron.Policy{Timing: adapter.CronTiming("*/10 * * * *", nil, info, adapter.ReadOptions{})},
		Stored: cron.Memory{LastSchedule: &before,
			Active: adapter.Runs([]corev1.ObjectReference{{Namespace: "batch", Name: "tick-29631600", UID: "job-1"}})},
		Children: []cron.Child{{Namespace: "batch", Name: "tick-29631600", UID: "job-1", Stamp: "2026-05-04T12:00:00Z",
			Controller: &metav1.OwnerReference{APIVersion: "batch/v1", Kind: "CronJob", Name: "tick", UID: "cj-1"}}},
	}

	in.Policy.Room = adapter.Room(batchv1.ForbidConcurrent)
	forbid := cron.Decide(in)
	fmt.Println("Forbid starts:", len(forbid.Starts) > 0)

	in.Policy.Room = adapter.Room(batchv1.AllowConcurrent)
	plan := cron.Decide(in)
	fmt.Println("Allow starts:", plan.Starts[0].Name, "for", plan.Starts[0].Stamp)

	in.AddStartResult(plan.Starts[0], cron.CreateResultOf(&cron.Child{Namespace: "batch", Name: plan.Starts[0].Name, UID: "job-2"}, nil))
	plan = cron.Decide(in)
	for _, ref := range plan.StatusWrite.Memory.Active {
		fmt.Println("then status.active has:", ref.Name)
	}
	fmt.Println("and the next sync is at:", plan.Wake.Format(time.TimeOnly))
	// Output:
	// Forbid starts: false
	// Allow starts: tick-29631610 for 2026-05-04T12:10:00Z
	// then status.active has: tick-29631600
	// then status.active has: tick-29631610
	// and the next sync is at: 12:20:00
}

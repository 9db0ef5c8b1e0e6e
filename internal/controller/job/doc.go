// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package job is the shell around the Job core (package internal/job): it reads Jobs and pods, lets the core decide,
// and carries out what it decided.
//
// One sync of one Job is a straight line, [job.Snapshot] to [job.Plan] to effects:
//
//	controller.go   options, set-up, and Reconcile: one sync from end to end
//	gather.go       the snapshot: caches and expectations
//	stale.go        when a cache is too old to decide on, and the server is asked
//	apply.go        the effects in their order
//	claim.go        adopt and release pods
//	pods.go         delete and create pods; how the answer to a creation is judged
//	status.go       write the status, or leave it out, and what goes with it
//	finalizers.go   remove tracking finalizers, now or a little later
//	patch.go        the patches of pods
//
// and the rest says when:
//
//	statuswrite.go  until when a status write may be put off
//	wakeup.go       when a Job is synced: now, soon, later, and again
//	handlers.go     which watch events of Jobs and pods ask for a sync
//	expectations.go what this process did and the caches do not show yet
//	orphan.go       tracking finalizers of pods whose Job is gone or deleted with orphan propagation: a queue of its own
//
// index.go finds pods and Jobs in the caches without walking a namespace, trim.go and trimjob.go say what of them the
// caches keep, metrics.go what is measured.
//
// Behaviour is that of pkg/controller/job of Kubernetes 1.36, with the differences that docs/contract/job.md lists.
package job

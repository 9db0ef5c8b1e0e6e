// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cronjob is the controller that starts children of CronJobs on time: one instance for each kind whose API the
// server offers. It judges nothing: package cron decides, a kind (package kind) translates, and this shell reads,
// writes and wakes.
//
// What happens in one pass over one CronJob:
//
//	gather.go   everything the decision wants to know, from the cache and from our own writes
//	pass.go     decide, do the next step, decide again
//	apply.go    the steps: look, stop, start, record, prune, speak
//
// A pass has two halves. The first one, up to and including the start, runs on the controller's workers. What is left
// then (record, prune, speak) goes to a second, smaller crew (books.go), which stands back while other CronJobs are due.
// So no start ever waits for a status write, not even for one that hangs (cronjob.md B4). A crash between the halves
// leaves a child without a record; the next pass finds the child and writes the record.
//
// Wakes are kept in an alarm of our own and not in the work queue, because they name instants of the wall clock (B5).
//
//	others.go   stands back while another controller works on the kind (package serving decides)
//	unreadable.go what is told of objects that cannot be read
//	handlers.go   which watch events call for a pass
//	controller.go set-up; kinds whose API appears later start by themselves
//	trim.go       what of an object is worth keeping in the cache
//	metrics.go    what is measured
package cronjob

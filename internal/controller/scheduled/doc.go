// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scheduled is the controller that starts children of CronJobs and Timetables on time: one instance for each
// kind whose API the server offers. It judges nothing: package cron decides, a kind (package kind) translates, and this
// shell reads, writes and wakes. Where the comments say CronJob, they mean an object of any of these kinds.
//
// What happens in one sync of one CronJob:
//
//	gather.go   everything the decision wants to know, from the cache and from our own writes
//	sync.go     decide, do the next step, decide again
//	apply.go    the steps: read, stop, start, record, prune, publish
//	templatecheck.go  between start and record: a dry run of what a new template makes
//
// A sync has two halves. The first one, up to and including the start, runs on the controller's workers. What is left
// then (record, prune, publish) goes to a second queue with fewer workers (statusqueue.go), which waits while other
// CronJobs are due. So no start ever waits for a status write, not even for one that hangs (cronjob.md B4). A crash
// between the halves leaves a child without a record; the next sync finds the child and writes the record.
//
// Wake-ups are kept in timers of our own (package wallclock) and not in the work queue, because they name instants of
// the wall clock (B5).
//
// While the kind is paused, because another controller works on it, a sync ends before it deletes or creates; only what
// an earlier sync started is still recorded (B11).
//
// Objects of K, V and T have children of one kind, which is watched all the time. Objects of an adapter.ChildChooser
// choose what they start. Then the kinds are watched that some object needs, each by itself, and restricted to what
// carries the owner's label; a kind that cannot be watched is an obstacle for the objects that ask for it, and for no
// others.
//
//	childkind.go    the kinds in which one object may have children
//	childwatch.go   which kinds are watched, from when to when
//	childopen.go    how a watch is opened, and whether the kind may be a child at all
//	dependencies.go other objects that CronJobs are read together with; dependencywatch.go how their caches are filled
//
//	witness.go    who remembers runs is told what it cannot see, and asked before a finished child is deleted
//	tracked.go    what one sync leaves for the next one of the same CronJob
//	duekeys.go    which CronJobs are due and not begun: everything else waits for them
//	takeover.go   a new leader waits until its caches are as new as its leadership
//	othercontroller.go  the pause of a kind (package othercontroller decides)
//	toolarge.go   what becomes of a status that is too large for the server
//	unreadable.go what is reported of objects that cannot be read
//	handlers.go   which watch events call for a sync
//	controller.go set-up; kinds whose API appears later start by themselves
//	sources.go    what is watched beside the CronJobs
//	informer.go   how those that are custom resources are watched themselves
//	trim.go       what of an object is worth keeping in the cache
//	metrics.go    what is measured
//	timetablemetrics.go  the metrics of Timetables, whose status holds what became of scheduled times
package scheduled

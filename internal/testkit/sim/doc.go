// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sim is a cluster in one goroutine: an API server, nodes, users and
// the processes of controllers, in which everything that may go wrong does, and
// all of it again when the same world is made again.
//
// A test builds a world out of parts and lets time go by:
//
//	world.go      time, the agenda of what happens when, and what was found to be broken
//	dice.go       chance: one seed, and an answer for each question by its name
//	story.go      what happened, a line each
//	clock.go      the clocks on the walls, which may be wrong, step and sleep
//
//	store.go      objects, their versions, and the log of all changes
//	server.go     what the API server does with a create, an update, a delete
//	patch.go      and with a patch
//	admission.go  what it fills in
//	client.go     a controller-runtime client that speaks to it, and takes its time
//	faults.go     what can become of a request
//
//	garbage.go    the garbage collector: background, foreground, orphan
//	kubelet.go    scheduler, nodes and pod garbage collector: the life of a pod
//
//	process.go    a controller process that can be paused and killed
//	cache.go      its caches, which follow the log, in order and late
//	queue.go      its queues
//
// # How time goes by
//
// Nothing runs at the same time and nothing waits. What will happen stands on
// the agenda with its time, and [World.Run] takes it from there, one by one. A
// request of a controller takes time, too: while it is under way the agenda
// goes on, so that a pod ends, a cache catches up, a user edits, another process
// or another worker of the same process does a whole sync, between any two calls
// of one sync. Requests nest like calls do; that is less than threads can do
// and enough for what two parties can do to each other.
//
// # How chance works
//
// [Dice] answers each question from the seed and from what the question is
// about ("how late does this process see change 17?"), not from how many
// questions were asked before. So a test can take a fault, an edit or a Job out
// of a world and the rest stays as it was, which is what makes failures shrink:
// a test draws the dice's seed and the list of everything that is out of the
// ordinary with pgregory.net/rapid before the world begins, and rapid takes away
// what the failure does not need.
//
// # What is real and what is not
//
// Resource versions, UIDs, generations, preconditions, conflicts, finalizers,
// graceful deletion, owner references and the three ways of deletion are the
// server's. Objects are validated as far as a test asks for it
// ([Server.Validate]). What is stored is never changed but replaced, so caches
// may share it, as informers do; and as with informers nobody may change what
// comes out of a cache. Times are stored in whole seconds, as JSON does.
package sim

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recorder writes what happens to runs into a journal: it watches their objects, and takes in what the node
// leaves of containers that have ended.
//
// After a kill it takes in what the node has left first, before it asks how runs ended whose objects are gone. Of these
// the attempts tell, if they leave no doubt; otherwise the run is Unknown, until more comes to light. A run that nobody
// saw while its object was there is made from what the node left: its name and its schedule are those of the Pod's
// labels.
//
// It delays no run. What it cannot write it keeps for a while and tries again; controllers ask it before they delete
// what has ended (MayPrune), and it says no for some seconds at most.
//
//   - recorder.go   the life of a Recorder, and what it is given
//   - kinds.go      the kinds that are followed, as they come and go
//   - wanted.go     which kinds of objects are runs, and how each is read
//   - timetables.go what Timetables start, and what their status tells of times that were not started
//   - follower.go   all objects of one kind, page by page and then as they change, none of which is kept
//   - reach.go      whether the API server answers
//   - runs.go       what was last seen of each run, and whether it is in the journal
//   - writer.go     runs and omissions on their way into the journal
//   - containers.go containers that have ended, from the node's directory into the journal
//   - podlogs.go    the same through the API server, where the node leaves nothing
//   - gone.go       runs whose objects went while nobody looked
//   - past.go       what the journal has
//   - witness.go    what controllers tell and ask
package recorder

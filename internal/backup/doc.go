// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backup writes the whole state of a Carillon of this machine into one file, while it runs, and makes a data
// directory of such a file.
//
// A backup is taken at one moment: the journal is kept from being written while the snapshot of the store begins, which
// takes a fraction of a second. So a run that has ended in the journal has ended in the store. Restored, what had ended
// stays ended; what was active is as after a loss of the machine.
//
// A tour:
//
//   - manifest.go  what a backup says of itself, and whether this program can read it
//   - archive.go   which parts there are, and how large they may be
//   - write.go     an archive is written
//   - read.go      an archive is read, and refused if anything about it is wrong
//   - create.go    a backup, step by step: copies.go copies the store and the journal, parts.go lists what is written
//   - cut.go       the moment
//   - ended.go     containers that have ended and are not in the journal yet
//   - contents.go  what is in a snapshot of the store
//   - output.go    the file that is written; input.go the one that is read
//   - work.go      directories for what is not finished, and what a kill leaves of them
//   - restore.go   a restore, step by step
//   - target.go    what there is where a backup is restored, and who uses it
//   - place.go     the restored state comes into its place at once
//   - place_linux.go, place_other.go
//     two directories are exchanged
//   - history.go   only the history comes back
//   - settle.go    what the restored store says of Pods that ran elsewhere; pod.go says how they ended
//   - suspend.go   a restored store in which nothing starts by itself
//   - objects.go   objects as they stand in the store
//   - containers_linux.go, containers_other.go
//     whether containers of a killed Carillon still run
package backup

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e drives the built program as its users do: as a process, through
// its flags, its output, its exit codes, and the API that it serves.
//
// The program is built once per run of the tests, or is the file that
// CARILLON_BIN names. Every test has a data directory and a Carillon of its
// own, and ends with a look at what is left behind: there must be no mount, no
// process and no cgroup. Tests wait for conditions, with a deadline that is
// only there to end a test which would wait for ever; how long something took
// is never asserted, except where a promise says so (a clean stop within five
// seconds).
//
// Run them with
//
//	go test ./test/e2e
//
// They are skipped with -short.
package e2e

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package planted proves that the simulations find bugs.
//
// The controllers live in a whole simulated cluster (internal/testkit/sim): a
// server, caches that lag, requests that fail or lose their answers, crashes
// between any two steps, and users who interfere. Thousands of random histories
// per run have to keep the guarantees. A simulation that always passes could also be one that
// looks away, so this package breaks the code on purpose, one small bug at a
// time, and expects the simulation to fail:
//
//	planted_test.go  how a bug is planted and judged
//	cron_test.go     the bugs planted in internal/cron, judged by TestSimulation of the controller of CronJobs; and
//	                 those that take more coincidences, by the tables of internal/cron
//	cronshell_test.go
//	                 the bugs planted in the controller of CronJobs, judged by TestSimulation
//	chosenkinds_test.go
//	                 the bugs planted in what serves objects that choose what they start, judged by the tables of
//	                 internal/controller/scheduled
//	timetables_test.go
//	                 the bugs planted in the decisions about Timetables, their kind and their controller, judged by
//	                 TestSimulationOfTimetables
//	job_test.go      the bugs planted in internal/job and in the controller of Jobs, both judged by
//	                 TestSimulation of the latter, and in the controller of their time to live
//	fence_test.go    the bugs planted in what keeps a former leader from working, judged by the tables of
//	                 internal/kube/fence, and by processes on a real API server (test/integration)
//
// A bug is a replacement of some text in a source file. The text has to be
// there exactly once: when the code has moved on, the test says so, and the bug
// is to be planted anew. The file itself stays as it is; the compiler gets the
// changed copy through its -overlay flag. A planted bug that does not compile,
// or makes the code panic, proves nothing and fails the test.
//
// Every bug costs a compilation and a link, so the tests run only on demand:
//
//	CARILLON_PLANTED=1 go test -timeout 30m ./test/planted
//	CARILLON_PLANTED=1 go test -run 'TestCron/no_edit_guard' -v ./test/planted
//
// With -v each bug tells after how many histories it was found, or by which table.
package planted

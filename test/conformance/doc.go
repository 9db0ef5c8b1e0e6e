// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conformance holds Carillon's own copies of Kubernetes' rules against
// Kubernetes itself.
//
// A few packages of Carillon know rules that an API server enforces, so that
// they never send what it would refuse. They know them as their own code,
// because the code of the API server is too heavy to link into a controller.
// Here, where it may be linked, both are asked the same random questions and
// have to give the same answers. When Kubernetes is upgraded in go.mod, these
// tests say which rule changed.
//
//	jobstatus_test.go   what a Job's status may look like, and change to
//
// Run them with
//
//	go test ./test/conformance
//
// Every failure prints the seed that replays it, to be given back as
// -rapid.seed; -rapid.checks asks for more questions.
package conformance

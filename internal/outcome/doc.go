// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package outcome tells whether an object that a Timetable started has ended, how and when (timetable.md 3.9).
//
// Of four kinds it knows that itself; of any other kind two CEL expressions say it. Everything here is a function of
// the object alone.
//
//	outcome.go      what is told, and of which kinds it is known
//	job.go          Job and JobSet: by their conditions; also of a typed Job
//	pod.go          Pod: by its phase
//	volcano.go      Volcano Job: by its phase
//	fields.go       fields of an object that may hold anything
//	expressions.go  CEL: compile, evaluate, and what errors mean
//	environment.go  CEL: which variables and functions there are
//	evaluation.go   CEL: an evaluation, which counts what it costs
//	cost.go         CEL: what calls cost
//	cache.go        CEL: the expressions that were compiled lately
package outcome

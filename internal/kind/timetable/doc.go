// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package timetable is the kind Timetable of batch.carillon.dev/v1alpha1: what its objects say, and what is made of
// them. Its contract is docs/contract/timetable.md.
//
//	names.go        the names of runs and of their objects (section 7)
//	proof.go        which objects are a Timetable's own, and which run one was made for
//	timing.go       schedules, zone, window, exclusions and jitter, as package timeset takes them
//	calendar.go     Calendars, read once each
//	template.go     the template, read once for a generation of the spec, and the objects made from it
//	canonical.go    JSON that would not change if it were read and written
//	typedjob.go     Jobs by their Go type
//	outcome.go      the rule by which an object's end is told
//	obstacle.go     what keeps a spec from being served, and what that stops
//	object.go       a Timetable as the controller reads it; decodestatus.go what of a status can be read
//	spectext.go     the text of a spec, compressed
//	compact.go      a Timetable as caches hold it; compilation.go what is made of a spec, kept for the next pass
//	next.go         the scheduled times that are to come
//	conditions.go   the conditions, from the facts of a pass
//	limits.go       how much a status holds; message.go messages of a bounded length
//	templatecheck.go what a dry run of a create says of the template
//	statuspatch.go  the write of a status
//	byhand.go       a run that a person starts
//	accounts.go     results, conditions and reasons as metrics name them
//	kind.go         the adapter: what distinguishes the kind
//	read.go         a spec; memory.go and pause.go a status; words.go their words
//	child.go        what is started, and what it says; patches.go the status that a pass leaves; facts.go its conditions
package timetable

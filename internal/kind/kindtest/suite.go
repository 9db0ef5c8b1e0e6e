// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kindtest holds the suite that every kind of CronJob passes. A kind declares what its API cannot do;
// everything else must work.
//
//	suite.go    what a kind declares, and the list of what is tested
//	types.go    the Go types and their names
//	read.go     from API objects to the words of package cron
//	unreadable.go what no Go type takes
//	build.go    from a start to a child
//	write.go    from a record to patches, and a whole pass
//	compact.go  the form for caches, for kinds that have one
//	objects.go  the objects that the suite works on; jobs.go: children of batch/v1
//	server.go   one object behind an API; crd.go: what a CRD makes of it
package kindtest

import (
	"testing"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// Suite describes a kind to the suite.
type Suite struct {
	Kind adapter.Kind
	// Names are the names of fields of spec and status that batch/v1 calls otherwise, by their names there.
	Names map[string]string
	// Stamp is the annotation that holds a child's scheduled time.
	Stamp string
	// Template is the spec of a child as JSON, with a field that no Go type knows if the kind keeps those.
	Template string
	// Children are statuses of children as JSON, by a sentence that says what they mean.
	Children map[string]Meaning
	// Cannot is what the kind's API has no place for.
	Cannot Cannot
}

// Cannot is the list of what a kind may leave out.
type Cannot struct {
	// TimeZone: there is no spec.timeZone.
	TimeZone bool
	// LastSuccessful: there is no status.lastSuccessfulTime.
	LastSuccessful bool
	// Conditions: there are no status.conditions.
	Conditions bool
	// RideAlong: a status write takes no metadata.
	RideAlong bool
	// UnknownFields: fields of the child's spec that the Go types do not know are lost.
	UnknownFields bool
	// BeUnreadable: the server has types of its own for all of it, and ChildBeUnreadable: for the child.
	BeUnreadable, ChildBeUnreadable bool
}

// Meaning is a child's status, and what it means.
type Meaning struct {
	Status    string
	Phase     cron.ChildPhase
	Succeeded bool
	// Suspended: it runs nothing until somebody resumes it.
	Suspended bool
	// Finished is the completion instant, "" for none.
	Finished string
}

// Run runs the suite.
func Run(t *testing.T, s Suite) {
	t.Run("its parts agree about its name", s.info)
	t.Run("its types are registered and copy deeply", s.types)
	t.Run("a CronJob is read whole", s.read)
	t.Run("an edit of the schedule is dated", s.edited)
	t.Run("an empty CronJob is read as it is", s.readEmpty)
	t.Run("objects of other types are refused", s.wrong)
	t.Run("a CronJob that cannot be read harms only itself", s.unreadable)
	t.Run("a child that cannot be read is unfinished", s.unreadableChild)
	t.Run("children mean what their status says", s.children)
	t.Run("CJ-009 CJ-011 a child is built from the template, and the stamp wins", s.build)
	t.Run("a template without metadata and spec makes a child too", s.buildEmpty)
	t.Run("a record becomes patches", s.write)
	t.Run("a pass starts a child, records it and knows it again", s.pass)
	t.Run("the form for caches tells the same as the CronJob", s.compact)
}

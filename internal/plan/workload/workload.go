// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload holds what the planning commands look at: CronJobs of all kinds, Timetables, Jobs and Calendars, as
// manifests or an API server give them, read into the terms of the decisions.
//
//	workload.go  Objects: all that was given, and Read, which sorts it
//	scheduled.go Scheduled: a CronJob or Timetable with its policy
//	typed.go     the same from objects in the Go types of their kinds
//	reader.go    Reader: the same one by one, for those who watch objects
//	slim.go      a Scheduled in little memory, and what it still tells of its spec
//	defaults.go  what an API server would fill in
//	starts.go    what else its starts follow from: deadline, pause, the count of @every, jitter
//	calendar.go  the Calendars that Timetables name
//	unreadable.go Unreadable: what is no object of its API
//
// Nothing here reads a file, a clock or an API server.
package workload

import (
	"cmp"
	"fmt"
	"runtime"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kube/fanout"
)

// An Object is one API object, as it was written.
type Object struct {
	// Content is the object: without what an API server would fill in if it comes from a manifest.
	Content *unstructured.Unstructured
	// Source says where it was written, as messages name it: "jobs.yaml: document 2 (line 14)"; "" for one that an API
	// server gave.
	Source string
	// File and Line are the file of Source and the first line of the object in it, from 1; "" and 0 for one that an API
	// server gave.
	File string
	Line int
}

// String names the object for messages: "jobs.yaml: document 2 (line 14), CronJob backup", or "CronJob default/backup".
func (o Object) String() string {
	kind, name := o.Content.GetKind(), cmp.Or(o.Content.GetName(), o.Content.GetGenerateName()+"…")
	if o.Source != "" {
		return fmt.Sprintf("%s, %s %s", o.Source, kind, name)
	}
	if ns := o.Content.GetNamespace(); ns != "" {
		name = ns + "/" + name
	}
	return kind + " " + name
}

// Options say how objects are read.
type Options struct {
	// Namespace is that of objects that name none; "" is default.
	Namespace string
	// Zone is the zone of CronJobs that name none: that of the process which serves them. Nil means UTC.
	Zone *time.Location
	// CalendarsUnread says in words why the Calendars of the API server are not known; "" if they are, or if there is
	// no API server.
	CalendarsUnread string
	// KeepUnreadable puts what is no object of its API at all into Objects.Unreadable, in place of the error.
	KeepUnreadable bool
}

// Objects are all that a command was given, each in the order in which it was given.
type Objects struct {
	// Scheduled are the CronJobs and Timetables.
	Scheduled []*Scheduled
	// Jobs are the Jobs of batch/v1 and of Volcano.
	Jobs []Object
	// Others are all other objects, Calendars among them.
	Others []Object
	// Unreadable are those that are no objects of their APIs, if Options.KeepUnreadable asks for them.
	Unreadable []Unreadable
}

// Read sorts objects, and reads those that have a schedule. One whose schedule or spec cannot be read is among them,
// too, and says so (Scheduled.Unreadable, Policy.Timing.Obstacle). The error is for what is no object of its API at
// all.
func Read(objects []Object, options Options) (*Objects, error) {
	options.Namespace = cmp.Or(options.Namespace, "default")
	calendars, unread := calendarsOf(objects, options)
	done := readAll(objects, calendars, options)
	all := &Objects{}
	for n, object := range objects {
		err := done[n].err
		if err == nil {
			err = unread[n]
		}
		switch r := done[n]; {
		case err != nil && options.KeepUnreadable:
			all.Unreadable = append(all.Unreadable, unreadable(object, err))
		case err != nil:
			return nil, fmt.Errorf("%s: %w", object, unreadable(object, err))
		case r.scheduled != nil:
			all.Scheduled = append(all.Scheduled, r.scheduled)
		case isJob(object.Content.GroupVersionKind()):
			all.Jobs = append(all.Jobs, object)
		default:
			all.Others = append(all.Others, object)
		}
	}
	return all, nil
}

// readObject is an object that was read; nothing of it if it has no schedule.
type readObject struct {
	scheduled *Scheduled
	err       error
}

// readAll reads the objects that have a schedule, in the order of the objects, on all processors: a fleet has many.
func readAll(objects []Object, known calendars, options Options) []readObject {
	done := make([]readObject, len(objects))
	fanout.All(runtime.GOMAXPROCS(0), len(objects), func(n int) {
		if k, ok := kindOf(objects[n].Content.GroupVersionKind()); ok {
			done[n].scheduled, done[n].err = read(k, objects[n], known, options)
		}
	})
	return done
}

var calendarKind = v1alpha1.GroupVersion.WithKind("Calendar")

func kindOf(gvk schema.GroupVersionKind) (kind.Kind, bool) {
	for _, k := range kind.Owners {
		if gvk == k.Info().Owner {
			return k, true
		}
	}
	return nil, false
}

func isJob(gvk schema.GroupVersionKind) bool {
	for _, k := range kind.All {
		if gvk == k.Info().Child {
			return true
		}
	}
	return false
}

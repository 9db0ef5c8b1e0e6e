// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
)

// server is the truth: at most one CronJob of the name tick, and the objects of its namespace. It keeps every version
// of both, because a cache may show any of them.
type server struct {
	version  int
	cronJob  cronJob
	children map[string]object
	uids     int

	// cronJobs and families are all versions, oldest first.
	cronJobs []cronJob
	families []family
	// gone is told of each object that is no more.
	gone func(object)
}

// cronJob is one version of the CronJob; without a UID there is none.
type cronJob struct {
	owner   cron.Owner
	spec    cron.Spec
	state   cron.Status
	version int
	// edited is when its schedule and zone were set, zero for the first ones.
	edited time.Time
	// undated: the entry in managed fields of whoever set them is gone.
	undated bool
	// previous is the schedule that it had before.
	previous string
}

// family is one version of the namespace.
type family struct {
	children map[string]object
	version  int
}

// object is a child, or something that looks like one.
type object struct {
	cron.Child
	version int
	// of is the CronJob that it was made for, and maker who made it.
	of    types.UID
	maker string
	// scheduled is the time that it was started for, zero if the schedule did not start it.
	scheduled time.Time
	// stubborn: nobody can delete it. held: it has a finalizer, so that it stays for a while when it is deleted.
	// doomed: the garbage collector is on its way.
	stubborn, held, doomed bool
}

// running: it is there and has not finished.
func (o object) running() bool { return o.UID != "" && o.Phase == cron.Unfinished }

// byHand: somebody made it, and nobody can take it for a run of the schedule.
func (o object) byHand() bool { return o.maker == "user" && o.Name == "by-hand" }

// rests: it is a manual run that runs nothing.
func (o object) rests() bool { return o.Suspended && o.scheduled.IsZero() }

// put stores an object.
func (s *server) put(o object) object {
	s.version++
	o.version = s.version
	s.children[o.Name] = o
	s.families = append(s.families, family{maps.Clone(s.children), s.version})
	return o
}

// drop removes an object.
func (s *server) drop(name string) {
	s.version++
	s.gone(s.children[name])
	delete(s.children, name)
	s.families = append(s.families, family{maps.Clone(s.children), s.version})
}

// set stores the CronJob.
func (s *server) set(c cronJob) {
	s.version++
	c.version = s.version
	s.cronJob = c
	s.cronJobs = append(s.cronJobs, c)
}

// names are the names of all objects, in order.
func (s *server) names() []string { return slices.Sorted(maps.Keys(s.children)) }

// find is the object with the UID.
func (s *server) find(uid types.UID) (object, bool) {
	for _, o := range s.children {
		if o.UID == uid {
			return o, true
		}
	}
	return object{}, false
}

func (s *server) uid(prefix string) types.UID {
	s.uids++
	return types.UID(fmt.Sprintf("%s-%d", prefix, s.uids))
}

// create makes an object, unless its name is taken: the name is the lock.
func (s *server) create(o object) (object, error) {
	if _, taken := s.children[o.Name]; taken {
		return object{}, apierrors.NewAlreadyExists(jobs, o.Name)
	}
	o.UID = s.uid("child")
	return s.put(o), nil
}

// delete removes the object of that name if it has the UID. One with a finalizer stays, marked.
func (s *server) delete(name string, uid types.UID) error {
	o, ok := s.children[name]
	switch {
	case !ok || o.UID != uid:
		return apierrors.NewNotFound(jobs, name)
	case o.stubborn:
		return broken
	case o.held:
		if !o.Deleting {
			o.Deleting = true
			s.put(o)
		}
	default:
		s.drop(name)
	}
	return nil
}

// record writes the status on top of the version that it was decided on, and the timetable. A kind whose timetable
// does not ride on the status needs two writes, of which the second is not bound to a version and may fail alone.
func (s *server) record(base cronJob, r cron.Record, rides bool, second error) error {
	if s.cronJob.owner.UID != base.owner.UID {
		return notFound
	}
	if (r.StatusChanged || rides) && s.cronJob.version != base.version {
		return conflict
	}
	next := s.cronJob
	if r.StatusChanged {
		next.state = r.Status
		next.state.Timetable = s.cronJob.state.Timetable
	}
	if r.TimetableChanged && (rides || second == nil) {
		next.state.Timetable = r.Status.Timetable
	}
	s.set(next)
	if r.TimetableChanged && !rides {
		return second
	}
	return nil
}

// finish ends an object.
func (s *server) finish(o object, now time.Time, phase cron.ChildPhase) object {
	o.Phase = phase
	if phase == cron.Complete {
		o.Succeeded, o.Finished = true, new(now)
	}
	return s.put(o)
}

// controlledBy is a controller reference to the CronJob with the UID.
func controlledBy(traits *cron.KindTraits, uid types.UID) *metav1.OwnerReference {
	return &metav1.OwnerReference{APIVersion: traits.Group + "/v1", Kind: traits.Kind, Name: "tick", UID: uid, Controller: new(true)}
}

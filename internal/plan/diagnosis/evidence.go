// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Evidence is all that is known of one CronJob, Timetable or Job. Explain does not modify it.
type Evidence struct {
	// Now is the present, by the clock of whoever asks.
	Now time.Time
	// Kubectl is the command that speaks to the same API server; "" is kubectl.
	Kubectl string
	// Scheduled is what is asked about, or what made the Job that is asked about; nil if there is none.
	Scheduled *workload.Scheduled
	// Job is the Job that is asked about; nil if the question is about Scheduled.
	Job *batchv1.Job
	// Runs are what Scheduled has started, and what somebody started by hand from it, by creation.
	Runs []Run
	// Pods are those of its Jobs, Events are about it, its Jobs and their Pods, by time.
	Pods   []corev1.Pod
	Events []Event
	// Namespace is nil if it is not known.
	Namespace *corev1.Namespace
	Quotas    []corev1.ResourceQuota
	// Leases are those of controllers.
	Leases []coordinationv1.Lease

	// Journal is what is remembered (Remember); its runs are in Runs, too.
	Journal Journal

	// Read says which kinds of evidence were looked for: of others nothing follows from their absence.
	Read Kinds
	// Standalone: the API server is that of a Carillon of this machine, in whose process the controllers run.
	Standalone bool
	// Unread says in words what else was not looked at, and why.
	Unread []string
}

// Kinds are kinds of evidence.
type Kinds struct{ Jobs, Pods, Events, Leases bool }

// Zone is the zone in which the schedule is read, and in which times are told. UTC if nothing says another one.
func (e *Evidence) Zone() *time.Location {
	if e.Scheduled != nil {
		if zone := e.Scheduled.Policy.Timing.Zone; zone != nil {
			return zone
		}
		if set, ok := e.Scheduled.Policy.Timing.Times.(interface{ Location() *time.Location }); ok && set.Location() != nil {
			return set.Location()
		}
	}
	return time.UTC
}

// object names what the question is about.
func (e *Evidence) object() Object {
	switch {
	case e.Journal.Gone != nil:
		return Object{Kind: e.Journal.Gone.Kind, Namespace: e.Journal.Gone.Namespace, Name: e.Journal.Gone.Name}
	case e.Journal.Only != nil:
		return *e.Journal.Only
	case e.Job != nil:
		return Object{Kind: "Job", Namespace: cmp.Or(e.Job.Namespace, "default"), Name: e.Job.Name}
	case e.Scheduled != nil:
		return Object{Kind: e.Scheduled.Kind.Info().Owner.Kind, Namespace: e.Scheduled.Owner.Namespace, Name: e.Scheduled.Owner.Name}
	}
	return Object{}
}

func (e *Evidence) kubectl() string { return cmp.Or(e.Kubectl, "kubectl") }

// timetable is the Timetable that is asked about; nil if it is a CronJob.
func (e *Evidence) timetable() *v1alpha1.Timetable { return e.Scheduled.Timetable() }

// resource is how commands name what Scheduled is: "cronjob/backup".
func (e *Evidence) resource() string {
	switch group := e.Scheduled.Kind.Info().OwnerResource.Group; {
	case e.timetable() != nil:
		return "timetable/" + Quoted(e.Scheduled.Owner.Name)
	case group != batchv1.GroupName:
		return "cronjobs." + group + "/" + Quoted(e.Scheduled.Owner.Name)
	}
	return "cronjob/" + Quoted(e.Scheduled.Owner.Name)
}

// namespaceEnds is since when the namespace is being deleted; ok is false if it is not.
func (e *Evidence) namespaceEnds() (since time.Time, ok bool) {
	if e.Namespace == nil {
		return time.Time{}, false
	}
	if t := e.Namespace.DeletionTimestamp; t != nil {
		return t.Time, true
	}
	return time.Time{}, e.Namespace.Status.Phase == corev1.NamespaceTerminating
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

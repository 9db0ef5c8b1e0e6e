// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/schedule"
)

// subject is what a reference names: a CronJob or a Timetable with its runs, or a Job.
type subject struct {
	ref       reference.Reference
	namespace string
	// schedule is the CronJob or Timetable; nil for a Job, and for one that is only remembered.
	schedule *workload.Scheduled
	// job is the Job as it is; nil for a schedule, and for one that is only remembered.
	job *run.Run
	// zone is that in which its times are read and written.
	zone *time.Location
}

// parseReference reads an argument.
func parseReference(text string) (reference.Reference, error) {
	ref, ok := reference.Parse(text)
	if !ok {
		return ref, exitcode.UsageError("%q names no object: write cronjob/NAME, timetable/NAME (tt/NAME) or job/NAME", text)
	}
	return ref, nil
}

// findSubject looks up what a reference names, at the API server (nil if there is none now) and among the runs that are
// remembered. One that is in neither is an error, which says what there is.
func findSubject(ctx context.Context, s lookup.Source, server *cluster.Server, ref reference.Reference, namespace string) (*subject, error) {
	found := &subject{ref: ref, namespace: namespace, zone: time.UTC}
	if server != nil && ref.Kind != "job" {
		schedule, err := getSchedule(ctx, server, ref, namespace)
		if err != nil {
			return nil, err
		}
		if found.schedule = schedule; schedule != nil {
			found.zone = zoneOf(schedule)
			return found, nil
		}
	}
	if server != nil && ref.Kind == "job" {
		job, err := getJob(ctx, server, ref, namespace)
		if found.job = job; err != nil || job != nil {
			return found, err
		}
	}
	q := found.query()
	q.Limit = 1
	runs, err := s.Runs(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(runs) > 0 {
		return found, nil
	}
	names, err := lookup.NamesOf(ctx, s, server, ref.Kind, namespace)
	switch {
	case len(names) > 0: // what could not be read only makes advice worse
	case err != nil:
		return nil, err
	case server == nil:
		return nil, exitcode.UsageError("there is no %s among what is remembered in namespace %s: %s", ref, namespace, s.Origin(ctx))
	}
	return nil, reference.NotThere(ref, namespace, names)
}

// getJob reads a Job from the API server; nil if it is not there.
func getJob(ctx context.Context, server *cluster.Server, ref reference.Reference, namespace string) (*run.Run, error) {
	resource, err := server.Resource(batchv1.SchemeGroupVersion.WithKind("Job"), namespace)
	if err != nil {
		return nil, err
	}
	content, err := resource.Get(ctx, ref.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ref, err)
	}
	r := run.FromObject(content, nil)
	return &r, nil
}

// getSchedule reads a CronJob or Timetable from the API server; nil if it is not there.
func getSchedule(ctx context.Context, server *cluster.Server, ref reference.Reference, namespace string) (*workload.Scheduled, error) {
	for _, gvk := range reference.KindsOf(ref.Kind) {
		resource, err := server.Resource(gvk, namespace)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		content, err := resource.Get(ctx, ref.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", ref, err)
		}
		all, err := workload.Read([]workload.Object{{Content: content}}, workload.Options{CalendarsUnread: "they were not asked for"})
		if err != nil {
			return nil, err
		}
		if len(all.Scheduled) != 1 {
			return nil, fmt.Errorf("%s is a %s, which has no schedule", ref, gvk.Kind)
		}
		return all.Scheduled[0], nil
	}
	return nil, nil
}

// zoneOf is the zone of a schedule; UTC if it names none.
func zoneOf(s *workload.Scheduled) *time.Location {
	if zone := s.Policy.Timing.Zone; zone != nil {
		return zone
	}
	if set, ok := s.Policy.Timing.Times.(interface{ Location() *time.Location }); ok && set.Location() != nil {
		return set.Location()
	}
	name, _, _ := unstructured.NestedString(s.Content.Object, "spec", "timeZone")
	if zone, err := schedule.LoadZone(name); name != "" && err == nil {
		return zone
	}
	return time.UTC
}

// timetable is the Timetable; nil if it is none, and for one that is only remembered.
func (of *subject) timetable() *v1alpha1.Timetable {
	if of.schedule == nil {
		return nil
	}
	return of.schedule.Timetable()
}

// held says why no run of it starts by itself for now; "" if one does, as far as is known.
func (of *subject) held() string {
	switch s := of.schedule; {
	case s == nil:
		return ""
	case s.Obstacle() != "":
		return s.Obstacle()
	case s.Policy.Suspend:
		return "it is suspended"
	case s.Paused():
		return "it is paused, after too many runs that failed"
	}
	return ""
}

// query chooses its runs.
func (of *subject) query() journal.Query {
	switch q := (journal.Query{Namespace: of.namespace}); of.ref.Kind {
	case "cronjob":
		q.OwnerKind, q.OwnerName = "CronJob", of.ref.Name
		return q
	case "timetable":
		q.OwnerKind, q.OwnerName = "Timetable", of.ref.Name
		return q
	default:
		q.Name = of.ref.Name
		return q
	}
}

// kindWord is what references call a kind: "job", "pod", "job.batch.volcano.sh".
func kindWord(r *run.Run) string {
	group, _, found := strings.Cut(r.APIVersion, "/")
	word := strings.ToLower(r.Kind)
	if !found || group == "batch" {
		return word
	}
	return word + "." + group
}

// runReference names a run: "job/backup-29412345".
func runReference(r *run.Run) string { return kindWord(r) + "/" + r.Name }

// interruptible is the error of a command. One that somebody has interrupted has nothing to say.
func interruptible(ctx context.Context, err error) error {
	if e := (*exitcode.Error)(nil); errors.As(err, &e) && e.Err == nil {
		return err
	}
	if err != nil && ctx.Err() != nil {
		return &exitcode.Error{Code: exitcode.Interrupted}
	}
	return err
}

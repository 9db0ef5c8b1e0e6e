// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
)

// make is a user who creates a CronJob.
func (s *simulation) make(i int) {
	cj := s.plan.cronJobs[i].obj.DeepCopy()
	s.sign(cj)
	_ = s.server.Create("user", cj) // one of this name may still be there
}

// sign is what the server notes of who wrote the schedule, and when.
func (s *simulation) sign(cj *batchv1.CronJob) {
	now := metav1.NewTime(s.server.Clock.Now().Truncate(time.Second))
	cj.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "batch/v1", FieldsType: "FieldsV1", Time: &now,
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:schedule":{},"f:timeZone":{}}}`),
	}}
}

// change is a user who changes the spec of a CronJob.
func (s *simulation) change(i int, what string, edit func(*batchv1.CronJob)) {
	sim.Edit(s.server, "user", what, ns, s.plan.cronJobs[i].obj.Name, func(cj *batchv1.CronJob) {
		edit(cj)
		s.sign(cj)
	})
}

// edit is what a user does to a CronJob or to a Job of it.
func (s *simulation) edit(e simEdit) {
	planned := s.plan.cronJobs[e.cronJob]
	name := planned.obj.Name
	if planned.quiet || s.calm {
		return
	}
	if e.what == "recreate" {
		s.make(e.cronJob)
		return
	}
	cj, _ := s.server.Get("CronJob", ns, name).(*batchv1.CronJob)
	if cj == nil {
		return
	}
	change := func(edit func(*batchv1.CronJob)) { s.change(e.cronJob, e.what, edit) }
	if !s.kind.zones && (e.what == "zone" || e.what == "break the zone") {
		return
	}
	// Nobody goes back to a timetable: what the controller did not see, and was undone, it cannot know of.
	retime := func(schedule string, zone *string) {
		if !s.truth.used(cj.UID, schedule, ptr.Deref(zone, "")) {
			change(func(cj *batchv1.CronJob) { cj.Spec.Schedule, cj.Spec.TimeZone = schedule, zone })
		}
	}
	switch e.what {
	case "schedule":
		retime(simSchedules[e.arg%len(simSchedules)], cj.Spec.TimeZone)
	case "zone":
		retime(cj.Spec.Schedule, new(simZones[1+e.arg%(len(simZones)-1)]))
	case "break the schedule":
		retime([]string{"61 * * * *", "nonsense", "TZ=", "0 0 30 2 *"}[e.arg%4], cj.Spec.TimeZone)
	case "break the zone":
		retime(cj.Spec.Schedule, new([]string{"Mars/Olympus", "Local"}[e.arg%2]))
	case "policy":
		policies := []batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent}
		change(func(cj *batchv1.CronJob) { cj.Spec.ConcurrencyPolicy = policies[e.arg%3] })
	case "deadline":
		deadlines := []*int64{nil, new(int64(0)), new(int64(15)), new(int64(60)), new(int64(9223372037))}
		change(func(cj *batchv1.CronJob) { cj.Spec.StartingDeadlineSeconds = deadlines[e.arg%len(deadlines)] })
	case "limits":
		limits := []*int32{new(int32(0)), new(int32(1)), new(int32(2)), nil}
		change(func(cj *batchv1.CronJob) {
			cj.Spec.SuccessfulJobsHistoryLimit, cj.Spec.FailedJobsHistoryLimit = limits[e.arg%4], limits[e.arg/4%4]
		})
	case "suspend", "resume":
		change(func(cj *batchv1.CronJob) { cj.Spec.Suspend = new(e.what == "suspend") })
	case "template":
		change(func(cj *batchv1.CronJob) {
			cj.Spec.JobTemplate.Labels = map[string]string{"edit": s.world.Now().String()}
		})
	case "annotate":
		change(func(cj *batchv1.CronJob) { annotate(cj, "example.com/note", s.world.Now().String()) })
	case "garbage":
		change(func(cj *batchv1.CronJob) { annotate(cj, adapter.AnnotationTimetable, "nonsense") })
	case "nonsense": // the status is not only ours
		sim.Edit(s.server, "user", e.what, ns, name, func(cj *batchv1.CronJob) {
			refs := slices.Clone(cj.Status.Active)
			cj.Status.Active = append(append(refs, refs[:min(3, len(refs))]...),
				corev1.ObjectReference{Kind: "Job", Namespace: "other", Name: "elsewhere", UID: types.UID("elsewhere-" + name)},
				corev1.ObjectReference{Kind: "Job", Namespace: ns, Name: "no-such", UID: types.UID("no-such-" + name)})
		})
	case "delete":
		how := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}
		_ = s.server.Delete("user", "CronJob", ns, name, sim.Deletion{Propagation: how[e.arg%len(how)]})
		// Most users who delete a CronJob want another one.
		s.world.After(time.Duration(e.arg)*time.Second, func() { s.make(e.cronJob) })
	case "run by hand", "run by hand, suspended":
		j := make.Job(ns, fmt.Sprintf("%s-manual-%d", name, s.world.Now()/time.Millisecond)).New()
		j.Spec = *cj.Spec.JobTemplate.Spec.DeepCopy()
		j.Annotations = map[string]string{"cronjob.kubernetes.io/instantiate": "manual"}
		j.OwnerReferences = s.kind.controlledBy(cj)
		j.Spec.Suspend = new(e.what != "run by hand")
		_ = s.server.Create("user", j)
	case "squat":
		minute := s.server.Clock.Now().Truncate(time.Minute).Add(time.Duration(1+e.arg%3) * time.Minute)
		_ = s.server.Create("stranger", make.Job(ns, s.truth.nameOf(name, minute)).New())
	default:
		s.editJob(e, cj)
	}
}

func annotate(cj *batchv1.CronJob, key, value string) {
	if cj.Annotations == nil {
		cj.Annotations = map[string]string{}
	}
	cj.Annotations[key] = value
}

// editJob is what a user does to one of the Jobs of a CronJob.
func (s *simulation) editJob(e simEdit, cj *batchv1.CronJob) {
	var names []string
	for _, obj := range s.server.List("Job") {
		if ref := metav1.GetControllerOfNoCopy(obj); ref != nil && ref.UID == cj.UID {
			names = append(names, obj.GetName())
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	name := names[e.arg%len(names)]
	s.truth.touch(cj.UID)
	switch e.what {
	case "delete the latest Job":
		name = names[len(names)-1]
		fallthrough
	case "delete a Job":
		how := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}
		_ = s.server.Delete("user", "Job", ns, name, sim.Deletion{Propagation: how[e.arg%len(how)]})
	case "orphan a Job":
		sim.Edit(s.server, "user", e.what, ns, name, func(j *batchv1.Job) { j.OwnerReferences = nil })
	}
}

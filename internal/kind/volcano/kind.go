// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package volcano adapts the CronJob of batch.volcano.sh/v1alpha1 (kind V of cronjob.md), which starts Volcano Jobs.
//
// Behaviour follows pkg/controllers/cronjob of volcano.sh/volcano and its design document, except where cronjob.md
// decides otherwise.
package volcano

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// StampAnnotation holds the scheduled time of a Job.
const StampAnnotation = "volcano.sh/cronjob-scheduled-timestamp"

// Kind is the adapter; its zero value is ready for use.
type Kind struct{}

var _ adapter.Kind = Kind{}

var info = adapter.Info{
	Name:              "cronjobs.batch.volcano.sh",
	ShortName:         "volcano",
	Owner:             GroupVersion.WithKind("CronJob"),
	Child:             GroupVersion.WithKind("Job"),
	OwnerResource:     GroupVersion.WithResource("cronjobs"),
	ChildResource:     GroupVersion.WithResource("jobs"),
	ScheduleFields:    []string{"schedule", "timeZone"},
	LastScheduleField: "lastScheduleTime",
	LastSuccessField:  "lastSuccessfulTime",
	TemplateField:     "jobTemplate",
	StampAnnotation:   StampAnnotation,
	MessageField:      []string{"status", "state", "message"},
	RunBy:             "Volcano",
	Install:           "install Volcano first (its definitions, its scheduler, and its controllers without their cron gate)",
	SwitchOff:         "switch Volcano's own controller off (vc-controller-manager --feature-gates=CronVolcanoJobSupport=false)",
	Traits: &cron.KindTraits{
		Group:     GroupVersion.Group,
		Kind:      "CronJob",
		ChildKind: "Job",

		NameUnit: time.Minute,

		StartChecks:        []cron.StartCheck{cron.CheckNotSuspended, cron.CheckZoneLoads, cron.CheckScheduleFires},
		BadZoneRetries:     true,
		BadScheduleRetries: true,
		NeverFiresRetries:  true,

		Durable:          cron.PartActive | cron.PartLastSchedule | cron.PartLastSuccessful | cron.PartTiming,
		DeletedIsIgnored: true,

		ManualAside:      true,
		ReadBeforeStop:   true,
		ChecksController: true,

		History: cron.ByCreation,

		ResyncIgnored: true,

		EventSource: "vc-controller-manager",
		Events: cron.EventReasons{
			Created:              adapter.Normal("SuccessfulCreate"),
			Deleted:              adapter.Normal("SuccessfulDelete"),
			Completed:            adapter.Normal("SawCompletedJob"),
			Missing:              adapter.Warning("StaleReference"),
			Unexpected:           adapter.Warning("OrphanedJob"),
			Forbidden:            adapter.Warning("ForbidConcurrent"),
			Replacing:            adapter.Warning("ReplaceConcurrent"),
			ManualActive:         adapter.Normal("ManualJobActive"),
			NotStarted:           adapter.Warning("MissSchedule"),
			TooManyMissed:        adapter.Warning("TooManyMissedTimes"),
			UnknownZone:          adapter.Warning("InvalidTimeZone"),
			ZoneInSchedule:       adapter.Warning("UnsupportedSchedule"),
			BadSchedule:          adapter.Warning("UnParseableCronJobSchedule"), // Volcano speaks only of an edit
			BadEdit:              adapter.Warning("UnParseableCronJobSchedule"),
			NeverFires:           adapter.Warning("InvalidSchedule"),
			TooFine:              adapter.Warning("UnsupportedSchedule"),
			FailedGet:            adapter.Warning("FailedGet"),
			FailedDelete:         adapter.Warning("FailedDelete"),
			FailedCreate:         adapter.Warning("FailedCreate"),
			NamespaceTerminating: adapter.Warning("NamespaceTerminating"),
			Foreign:              adapter.Warning("ForeignJob"),
			BadTimetable:         adapter.Warning("InvalidAnnotation"),
		},
	},
}

// Info implements adapter.Kind.
func (Kind) Info() adapter.Info { return info }

// AddToScheme implements adapter.Kind.
func (Kind) AddToScheme(scheme *runtime.Scheme) error { return AddToScheme(scheme) }

// Read implements adapter.Kind.
func (Kind) Read(obj adapter.Object, options adapter.ReadOptions) (cron.Owner, cron.Policy, cron.Memory, error) {
	cj, ok := obj.(*CronJob)
	if !ok || cj == nil {
		return cron.Owner{}, cron.Policy{}, cron.Memory{}, adapter.Wrong(info, cj, obj)
	}
	if cj.trouble != nil {
		return adapter.Owner(cj, info), cron.Policy{}, cron.Memory{}, cj.trouble
	}
	policy, status := cj.Spec.Cron(cj.Spec.TimeZone, info, options), cj.Status.Cron()
	status.Timing = adapter.ServedTiming(cj.Annotations[adapter.AnnotationTimetable], policy.Timing, info, options)
	status.LastSuccessful = adapter.Time(cj.Status.LastSuccessfulTime)
	return adapter.Owner(cj, info), policy, status, nil
}

// ReadChild implements adapter.Kind.
func (Kind) ReadChild(obj adapter.Object, _ schema.GroupVersionKind, _ adapter.Object) (cron.Child, error) {
	job, ok := obj.(*Job)
	if !ok || job == nil {
		return cron.Child{}, adapter.Wrong(info, job, obj)
	}
	child := adapter.Child(job, info.Child, info)
	if job.trouble != nil { // unfinished, as far as anybody knows
		child.Status = "Unreadable"
		return child, nil
	}
	child.Status = job.Status.State.Phase
	if s := child.Status; s != "" && s != "Pending" && s != "Inqueue" { // no field says since when
		child.Started = new(child.Created)
	}
	child.Phase = phase(child.Status)
	child.Suspended = child.Status == "Aborted"
	child.Succeeded = child.Phase == cron.Complete
	if child.Phase != cron.Unfinished {
		child.Finished = adapter.Time(job.Status.State.LastTransitionTime)
	}
	return child, nil
}

// phase sorts the phases of a Volcano Job (cronjob.md 1.6). Terminated counts as failed, so that it is pruned (Q3);
// Aborted is a pause, from which a Job can be resumed (Q8).
func phase(word string) cron.ChildPhase {
	switch word {
	case "Completed":
		return cron.Complete
	case "Failed", "Terminated":
		return cron.Failed
	default:
		return cron.Unfinished
	}
}

// Build implements adapter.Kind.
func (Kind) Build(obj adapter.Object, start adapter.Start) (adapter.Object, error) {
	cj, ok := obj.(*CronJob)
	if !ok || cj == nil {
		return nil, adapter.Wrong(info, cj, obj)
	}
	template := cj.Spec.JobTemplate
	job := &Job{ObjectMeta: adapter.ChildMeta(cj, info, template.Metadata, start)}
	template.Spec.DeepCopyInto(&job.Spec)
	job.SetGroupVersionKind(info.Child)
	return job, nil
}

// Patches implements adapter.Kind. A custom resource's status write takes no metadata, so an edit needs a second patch.
func (Kind) Patches(obj adapter.Object, record cron.StatusWrite) ([]adapter.CronJobPatch, error) {
	return adapter.Patches(obj, record, info)
}

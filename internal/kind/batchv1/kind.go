// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package batchv1 adapts the CronJob of batch/v1 (kind K of cronjob.md), which starts Jobs of batch/v1.
//
// Behaviour follows k8s.io/kubernetes/pkg/controller/cronjob of 1.36, except where cronjob.md decides otherwise.
package batchv1

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// Kind is the adapter; its zero value is ready for use.
type Kind struct{}

var _ adapter.Kind = Kind{}

var background = metav1.DeletePropagationBackground

var info = adapter.Info{
	Name:              "cronjobs.batch",
	ShortName:         "batch",
	Owner:             batchv1.SchemeGroupVersion.WithKind("CronJob"),
	Child:             batchv1.SchemeGroupVersion.WithKind("Job"),
	OwnerResource:     batchv1.SchemeGroupVersion.WithResource("cronjobs"),
	ChildResource:     batchv1.SchemeGroupVersion.WithResource("jobs"),
	ScheduleFields:    []string{"schedule", "timeZone"},
	LastScheduleField: "lastScheduleTime",
	LastSuccessField:  "lastSuccessfulTime",
	TemplateField:     "jobTemplate",
	StampAnnotation:   batchv1.CronJobScheduledTimestampAnnotation,
	SwitchOff:         "switch the cluster's own controller off (kube-controller-manager --controllers=*,-cronjob-controller)",
	Traits: &cron.KindTraits{
		Group:     batchv1.GroupName,
		Kind:      "CronJob",
		ChildKind: "Job",

		NameUnit: time.Minute,

		StartChecks: []cron.StartCheck{cron.CheckZoneLoads, cron.CheckNotSuspended, cron.CheckScheduleFires},

		Durable:                 cron.PartActive | cron.PartLastSchedule | cron.PartLastSuccessful | cron.PartTiming,
		RecordDespiteError:      true,
		StatusCarriesAnnotation: true,

		ManualAside:             true,
		ReadBeforeStop:          true,
		AdoptionReports:         true,
		PruneSilencesCompletion: true,

		History:     cron.ByStart,
		Propagation: &background,

		CreationSkew: true,
		EventSource:  "cronjob-controller",
		Events: cron.EventReasons{
			Created:        adapter.Normal("SuccessfulCreate"),
			Deleted:        adapter.Normal("SuccessfulDelete"),
			Completed:      adapter.Normal("SawCompletedJob"),
			Missing:        adapter.Normal("MissingJob"),
			Unexpected:     adapter.Warning("UnexpectedJob"),
			Forbidden:      adapter.Normal("JobAlreadyActive"),
			ManualActive:   adapter.Normal("ManualJobActive"),
			NotStarted:     adapter.Warning("MissSchedule"),
			TooManyMissed:  adapter.Warning("TooManyMissedTimes"),
			UnknownZone:    adapter.Warning("UnknownTimeZone"),
			ZoneInSchedule: adapter.Warning("UnsupportedSchedule"),
			BadSchedule:    adapter.Warning("UnparseableSchedule"),
			BadEdit:        adapter.Warning("UnParseableCronJobSchedule"),
			NeverFires:     adapter.Warning("InvalidSchedule"),
			TooFine:        adapter.Warning("UnsupportedSchedule"),
			FailedGet:      adapter.Warning("FailedGet"),
			FailedDelete:   adapter.Warning("FailedDelete"),
			FailedCreate:   adapter.Warning("FailedCreate"),
			Foreign:        adapter.Warning("FailedCreate"),
			BadTimetable:   adapter.Warning("InvalidAnnotation"),
		},
	},
}

// Info implements adapter.Kind.
func (Kind) Info() adapter.Info { return info }

// AddToScheme implements adapter.Kind.
func (Kind) AddToScheme(scheme *runtime.Scheme) error { return batchv1.AddToScheme(scheme) }

// Read implements adapter.Kind.
func (Kind) Read(obj adapter.Object, options adapter.ReadOptions) (cron.Owner, cron.Policy, cron.Memory, error) {
	c, ok := contentsOf(obj)
	if !ok {
		return cron.Owner{}, cron.Policy{}, cron.Memory{}, adapter.Wrong(info, &batchv1.CronJob{}, obj)
	}
	policy := cron.Policy{
		Timing:    adapter.CronTiming(c.spec.Schedule, c.spec.TimeZone, info, options),
		Deadline:  c.spec.StartingDeadlineSeconds,
		Room:      adapter.Room(c.spec.ConcurrencyPolicy),
		Suspend:   c.spec.Suspend != nil && *c.spec.Suspend,
		Succeeded: cron.Retention{Limit: c.spec.SuccessfulJobsHistoryLimit},
		Failed:    cron.Retention{Limit: c.spec.FailedJobsHistoryLimit},
	}
	status := cron.Memory{
		Active:         adapter.Runs(c.status.Active),
		LastSchedule:   adapter.Time(c.status.LastScheduleTime),
		LastSuccessful: adapter.Time(c.status.LastSuccessfulTime),
		Timing:         adapter.ServedTiming(c.timetable, policy.Timing, info, options),
	}
	return adapter.Owner(c.meta, info), policy, status, nil
}

// ReadChild implements adapter.Kind.
func (Kind) ReadChild(obj adapter.Object, _ schema.GroupVersionKind, _ adapter.Object) (cron.Child, error) {
	job, ok := obj.(*batchv1.Job)
	if !ok || job == nil {
		return cron.Child{}, adapter.Wrong(info, job, obj)
	}
	return adapter.JobChild(job, info), nil
}

// Build implements adapter.Kind.
func (Kind) Build(obj adapter.Object, start adapter.Start) (adapter.Object, error) {
	template, ok, err := templateOf(obj)
	if !ok {
		return nil, adapter.Wrong(info, &batchv1.CronJob{}, obj)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest("spec.jobTemplate cannot be read: " + err.Error())
	}
	return &batchv1.Job{
		ObjectMeta: adapter.ChildMeta(obj, info, adapter.TemplateMeta{Labels: template.Labels, Annotations: template.Annotations}, start),
		Spec:       template.Spec,
	}, nil
}

// Patches implements adapter.Kind. One patch: the status of this API accepts metadata too.
func (Kind) Patches(obj adapter.Object, record cron.StatusWrite) ([]adapter.CronJobPatch, error) {
	return adapter.Patches(obj, record, info)
}

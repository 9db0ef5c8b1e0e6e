// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tutorial adapts the CronJob of batch.tutorial.kubebuilder.io/v1 (kind T of cronjob.md), which starts Jobs of
// batch/v1. It is the API that the kubebuilder book builds; deploy/crds has its CRD.
//
// Behaviour follows the CronJob tutorial of the kubebuilder book, except where cronjob.md decides otherwise. The book's
// controller speaks no events. Ours warns of what a user has to mend, under the reasons of batch/v1. The conditions
// that the book added later are kept for CronJobs that ask for them (ConditionsAnnotation).
package tutorial

import (
	"encoding/json"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// StampAnnotation holds the scheduled time of a Job.
const StampAnnotation = "batch.tutorial.kubebuilder.io/scheduled-at"

// ConditionsAnnotation asks for status.conditions when its value is "true". Without it they are left as they are.
const ConditionsAnnotation = "carillon.dev/conditions"

// maxActive is how many references the book's schema takes in status.active.
const maxActive = 10

// Kind is the adapter; its zero value is ready for use.
type Kind struct{}

var _ adapter.Kind = Kind{}

var background = metav1.DeletePropagationBackground

var info = adapter.Info{
	Name:              "cronjobs.batch.tutorial.kubebuilder.io",
	ShortName:         "tutorial",
	Owner:             GroupVersion.WithKind("CronJob"),
	Child:             batchv1.SchemeGroupVersion.WithKind("Job"),
	OwnerResource:     GroupVersion.WithResource("cronjobs"),
	ChildResource:     batchv1.SchemeGroupVersion.WithResource("jobs"),
	ScheduleFields:    []string{"schedule"},
	LastScheduleField: "lastScheduleTime",
	TemplateField:     "jobTemplate",
	StampAnnotation:   StampAnnotation,
	SwitchOff:         "remove the Deployment of the other controller",
	Traits: &cron.KindTraits{
		Group:     GroupVersion.Group,
		Kind:      "CronJob",
		ChildKind: "Job",

		NameUnit:    time.Second,
		StampInZone: true,
		TrustStamp:  true,

		StartChecks: []cron.StartCheck{cron.CheckNotSuspended, cron.CheckScheduleFires},
		ManyRefused: true,

		Durable:            cron.PartActive | cron.PartLastSchedule | cron.PartConditions | cron.PartTiming,
		ActiveRebuilt:      true,
		MaxActive:          maxActive,
		RecordDespiteError: true,

		ManualAside:   true,
		GoneIsStopped: true,
		ExistsFails:   true,

		History:     cron.ByStartUnstartedFirst,
		FailedFirst: true,
		Propagation: &background,

		Conditions: conditions,

		EventSource: "cronjob",
		Events: cron.EventReasons{
			ManualActive:         adapter.Normal("ManualJobActive"),
			NotStarted:           adapter.Warning("MissSchedule"),
			TooManyMissed:        adapter.Warning("TooManyMissedTimes"),
			BadSchedule:          adapter.Warning("UnparseableSchedule"),
			BadEdit:              adapter.Warning("UnParseableCronJobSchedule"),
			NeverFires:           adapter.Warning("InvalidSchedule"),
			FailedDelete:         adapter.Warning("FailedDelete"),
			FailedCreate:         adapter.Warning("FailedCreate"),
			NamespaceTerminating: adapter.Warning("NamespaceTerminating"),
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
	policy, status := cj.Spec.Cron(nil, info, options), cj.Status.Cron()
	status.Timing = adapter.ServedTiming(cj.Annotations[adapter.AnnotationTimetable], policy.Timing, info, options)
	if policy.Conditions = cj.Annotations[ConditionsAnnotation] == "true"; policy.Conditions {
		status.Conditions = cj.Status.Conditions
	}
	return adapter.Owner(cj, info), policy, status, nil
}

// ReadChild implements adapter.Kind.
func (Kind) ReadChild(obj adapter.Object, _ schema.GroupVersionKind, _ adapter.Object) (cron.Child, error) {
	job, ok := obj.(*batchv1.Job)
	if !ok || job == nil {
		return cron.Child{}, adapter.Wrong(info, job, obj)
	}
	return adapter.JobChild(job, info), nil
}

// Build implements adapter.Kind. The template's spec is read as a Job of batch/v1; fields of a newer batch/v1 than this
// program was built with are lost, as they would be in any client of that age.
func (Kind) Build(obj adapter.Object, start adapter.Start) (adapter.Object, error) {
	cj, ok := obj.(*CronJob)
	if !ok || cj == nil {
		return nil, adapter.Wrong(info, cj, obj)
	}
	template := cj.Spec.JobTemplate
	job := &batchv1.Job{ObjectMeta: adapter.ChildMeta(cj, info, template.Metadata, start)}
	if raw := template.Spec.Raw; len(raw) > 0 {
		if err := json.Unmarshal(raw, &job.Spec); err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("spec.jobTemplate.spec is no Job spec of batch/v1: %v", err))
		}
	}
	return job, nil
}

// Patches implements adapter.Kind. A custom resource's status write takes no metadata, so an edit needs a second patch.
func (Kind) Patches(obj adapter.Object, record cron.StatusWrite) ([]adapter.CronJobPatch, error) {
	return adapter.Patches(obj, record, info)
}

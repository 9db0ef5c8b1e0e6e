// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// Kind is the adapter; its zero value is ready for use.
type Kind struct {
	// MinInterval is how close two times of one schedule may be; 0 is no limit.
	MinInterval time.Duration
	// Compilations keep what specs were made into from one pass to the next; nil: each pass makes it anew.
	Compilations *Compilations
}

var (
	_ adapter.TypedChildren = Kind{}
	_ adapter.Dependent     = Kind{}

	_ adapter.TemplateChecker = Kind{}
)

// foreground keeps an object until what it runs is gone, so that its successor does not overlap (timetable.md 3.6).
var foreground = metav1.DeletePropagationForeground

var info = adapter.Info{
	Name:              "timetables.batch.carillon.dev",
	ShortName:         "timetable",
	Owner:             ownerKind,
	OwnerResource:     v1alpha1.GroupVersion.WithResource("timetables"),
	LastScheduleField: "lastScheduleTime",
	LastSuccessField:  "lastSuccessfulTime",
	TemplateField:     "template",
	OwnerLabel:        v1alpha1.LabelTimetableUID,
	StampAnnotation:   v1alpha1.AnnotationScheduledTime,
	SwitchOff:         "remove the Deployment of the other controller",
	Traits: &cron.KindTraits{
		Group:     ownerKind.Group,
		Kind:      ownerKind.Kind,
		ChildKind: "run",

		TemplateField: "template",

		NameUnit: time.Second,
		RunName:  RunName,

		StartChecks: []cron.StartCheck{cron.CheckScheduleFires, cron.CheckChildKind, cron.CheckNotSuspended},

		Durable: cron.PartActive | cron.PartLastSchedule | cron.PartLastSuccessful | cron.PartConditions | cron.PartTiming |
			cron.PartCursor | cron.PartWaiting | cron.PartResults | cron.PartGates | cron.PartTemplate,
		RecordDespiteError: true,

		GoneIsStopped:    true,
		ChecksController: true,
		AdoptionReports:  true,

		History:     cron.ByCreation,
		Propagation: &foreground,

		Conditions:     conditions,
		CausesToldOnce: true,
		MaxBackoff:     maxBackoff,
		ConditionEvents: map[string]cron.EventReason{
			v1alpha1.ConditionLate:      adapter.Warning("RunLate"),
			v1alpha1.ConditionCompleted: adapter.Normal("Completed"),
		},

		ResyncIgnored:    true,
		ResumeAnnotation: v1alpha1.AnnotationResume,
		EventSource:      "timetable-controller",
		ReasonWord:       writtenReason,
		ReasonTexts:      missedTexts,
		Events: cron.EventReasons{
			Created:      adapter.Normal("RunStarted"),
			RunSucceeded: adapter.Normal("RunSucceeded"),
			RunFailed:    adapter.Warning("RunFailed"),
			RunCancelled: adapter.Normal("RunCancelled"),
			RunRetrying:  adapter.Normal("RunRetrying"),
			NotStarted:   adapter.Warning("TimesMissed"),
			Skipped:      adapter.Normal("TimesSkipped"),
			FailedDelete: adapter.Warning("CleanupFailed"),
			FailedCreate: adapter.Warning("CreateFailed"),
			Foreign:      adapter.Warning("NameTaken"),

			PausedAfterFailures: adapter.Warning("PausedAfterFailures"),
			Resumed:             adapter.Normal("Resumed"),
			ClockWentBack:       adapter.Warning("ClockWentBack"),
			OwnerRemoved:        adapter.Warning(string(OwnerRemoved)),
			TemplateRejected:    adapter.Warning(string(TemplateRejected)),
			FieldsLeftOut:       adapter.Warning("UnknownFields"),
		},
	},
}

// Info implements adapter.Kind.
func (Kind) Info() adapter.Info { return info }

// AddToScheme implements adapter.Kind.
func (Kind) AddToScheme(scheme *runtime.Scheme) error { return AddToScheme(scheme) }

// Read implements adapter.Kind. A timing is another one only when its fingerprint is: managed fields date nothing here.
func (k Kind) Read(obj adapter.Object, options adapter.ReadOptions) (cron.Owner, cron.Policy, cron.Memory, error) {
	tt, ok := k.object(obj)
	if !ok {
		return cron.Owner{}, cron.Policy{}, cron.Memory{}, adapter.Wrong(info, tt, obj)
	}
	owner := adapter.Owner(tt, info)
	owner.ScheduleUnchangedSince = time.Time{}
	if tt.trouble != nil {
		return owner, cron.Policy{}, cron.Memory{}, tt.trouble
	}
	policy := k.policy(tt, options)
	return owner, policy, memory(tt, policy.Timing), nil
}

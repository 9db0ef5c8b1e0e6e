// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package kindtest_test

import (
	"encoding/json"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/kindtest"
)

// almanacs is a made-up kind, whose API has names of its own for what batch/v1 has too.
type almanacs struct{}

var groupVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}

var info = adapter.Info{
	Name:              "almanacs.example.com",
	ShortName:         "almanac",
	Owner:             groupVersion.WithKind("Almanac"),
	Child:             batchv1.SchemeGroupVersion.WithKind("Job"),
	OwnerResource:     groupVersion.WithResource("almanacs"),
	ChildResource:     batchv1.SchemeGroupVersion.WithResource("jobs"),
	ScheduleFields:    []string{"timetable", "place"},
	LastScheduleField: "lastStart",
	TemplateField:     "work",
	StampAnnotation:   "example.com/start",
	SwitchOff:         "remove its controller",
	Traits: &cron.KindTraits{
		Group: "example.com", Kind: "Almanac", ChildKind: "Job",
		NameUnit:    time.Minute,
		StartChecks: []cron.StartCheck{cron.CheckZoneLoads, cron.CheckNotSuspended, cron.CheckScheduleFires},
		ManualAside: true,
		Durable:     cron.PartActive | cron.PartLastSchedule | cron.PartTiming,
	},
}

type almanac struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Timetable   string                    `json:"timetable"`
		Place       *string                   `json:"place"`
		Deadline    *int64                    `json:"startingDeadlineSeconds"`
		Concurrency batchv1.ConcurrencyPolicy `json:"concurrencyPolicy"`
		Suspend     bool                      `json:"suspend"`
		Succeeded   *int32                    `json:"successfulJobsHistoryLimit"`
		Failed      *int32                    `json:"failedJobsHistoryLimit"`
		Work        adapter.Template          `json:"work"`
	} `json:"spec"`
	Status struct {
		Active    []corev1.ObjectReference `json:"active"`
		LastStart *metav1.Time             `json:"lastStart"`
	} `json:"status"`
}

type almanacList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []almanac `json:"items"`
}

func (a *almanac) DeepCopyObject() runtime.Object     { return copied(a) }
func (l *almanacList) DeepCopyObject() runtime.Object { return copied(l) }

func copied[T any](in *T) *T {
	out := new(T)
	data, err := json.Marshal(in)
	if err == nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

func (almanacs) Info() adapter.Info { return info }

func (almanacs) AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypeWithName(info.Owner, &almanac{})
	scheme.AddKnownTypeWithName(groupVersion.WithKind("AlmanacList"), &almanacList{})
	return batchv1.AddToScheme(scheme)
}

func (almanacs) Read(obj adapter.Object, options adapter.ReadOptions) (cron.Owner, cron.Policy, cron.Memory, error) {
	a, ok := obj.(*almanac)
	if !ok {
		return cron.Owner{}, cron.Policy{}, cron.Memory{}, adapter.Wrong(info, a, obj)
	}
	timing := adapter.CronTiming(a.Spec.Timetable, a.Spec.Place, info, options)
	policy := cron.Policy{Timing: timing, Deadline: a.Spec.Deadline, Room: adapter.Room(a.Spec.Concurrency),
		Suspend: a.Spec.Suspend, Succeeded: cron.Retention{Limit: a.Spec.Succeeded}, Failed: cron.Retention{Limit: a.Spec.Failed}}
	state := cron.Memory{Active: adapter.Runs(a.Status.Active), LastSchedule: adapter.Time(a.Status.LastStart),
		Timing: adapter.ServedTiming(a.Annotations[adapter.AnnotationTimetable], timing, info, options)}
	return adapter.Owner(a, info), policy, state, nil
}

func (almanacs) ReadChild(obj adapter.Object, _ schema.GroupVersionKind, _ adapter.Object) (cron.Child, error) {
	job, ok := obj.(*batchv1.Job)
	if !ok {
		return cron.Child{}, adapter.Wrong(info, job, obj)
	}
	return adapter.JobChild(job, info), nil
}

func (almanacs) Build(obj adapter.Object, start adapter.Start) (adapter.Object, error) {
	a, ok := obj.(*almanac)
	if !ok {
		return nil, adapter.Wrong(info, a, obj)
	}
	job := &batchv1.Job{ObjectMeta: adapter.ChildMeta(a, info, a.Spec.Work.Metadata, start)}
	if raw := a.Spec.Work.Spec.Raw; len(raw) > 0 {
		if err := json.Unmarshal(raw, &job.Spec); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	return job, nil
}

func (almanacs) Patches(obj adapter.Object, record cron.StatusWrite) ([]adapter.CronJobPatch, error) {
	return adapter.Patches(obj, record, info)
}

// A kind is known by its description alone: one whose fields have other names than those of batch/v1 needs nothing
// else.
func TestKindWithNamesOfItsOwn(t *testing.T) {
	kindtest.Run(t, kindtest.Suite{
		Kind:     almanacs{},
		Names:    map[string]string{"schedule": "timetable", "timeZone": "place", "jobTemplate": "work", "lastScheduleTime": "lastStart"},
		Stamp:    "example.com/start",
		Template: kindtest.JobTemplate,
		Children: kindtest.JobChildren,
		Cannot: kindtest.Cannot{LastSuccessful: true, Conditions: true, RideAlong: true, UnknownFields: true,
			BeUnreadable: true, ChildBeUnreadable: true},
	})
}

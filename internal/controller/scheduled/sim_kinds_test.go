// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"encoding/json"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	kinds "github.com/carillon-dev/carillon/internal/kind/batchv1"
	"github.com/carillon-dev/carillon/internal/kind/tutorial"
	"github.com/carillon-dev/carillon/internal/kind/volcano"
)

// simKind is the kind that a simulated world serves: what its API looks like, and what the contract says of it alone.
//
// The server stores every kind in the types of batch/v1, which have all fields of the others. So users, the truth and
// the story know these types only, and served and stored are the way to the controller and back.
type simKind struct {
	kind.Kind
	scheme         *runtime.Scheme
	served, stored func(client.Object) client.Object
	// custom are those of CronJob and Job that are custom resources.
	custom []string
	// nameUnit is by how many seconds names differ; scheduled times within it share one (cronjob.md 1.5, B7).
	nameUnit int64
	// zones: there is a spec.timeZone. successes: there is a status.lastSuccessfulTime.
	zones, successes bool
	// rebuilt: status.active holds what the children show and nothing else, at most so many (T5, 2.3b).
	rebuilt   bool
	maxActive int
	// mistakesFail: a schedule or zone that nobody can read fails the sync (V11 to V14). failuresWriteNothing: a failed
	// sync writes only what a prune waits for (V26, guarantee 6), and one that fails over a mistake nothing at all.
	mistakesFail, failuresWriteNothing bool
	// existsFails: a create that finds its name taken is an error like any other (T17).
	existsFails bool
}

var simKinds = func() []*simKind {
	same := func(obj client.Object) client.Object { return obj }
	all := []*simKind{{
		Kind: kinds.Kind{}, served: same, stored: same,
		nameUnit: 60, zones: true, successes: true,
	}, {
		Kind: volcano.Kind{}, served: volcanoServed, stored: volcanoStored, custom: []string{"CronJob", "Job"},
		nameUnit: 60, zones: true, successes: true, mistakesFail: true, failuresWriteNothing: true,
	}, {
		Kind: tutorial.Kind{}, served: tutorialServed, stored: same, custom: []string{"CronJob"},
		nameUnit: 1, rebuilt: true, maxActive: 10, existsFails: true,
	}}
	for _, k := range all {
		k.scheme = runtime.NewScheme()
		if err := k.AddToScheme(k.scheme); err != nil {
			panic(err)
		}
	}
	return all
}()

// simKindNames are their names in a plan.
var simKindNames = func() (names []string) {
	for _, k := range simKinds {
		names = append(names, k.Info().ShortName)
	}
	return names
}()

// trim is what caches keep of a stored object.
func (k *simKind) trim() func(client.Object) client.Object {
	trim := Trim(k.Kind)
	return func(obj client.Object) client.Object {
		trimmed, err := trim(k.served(obj))
		if err != nil {
			panic(err)
		}
		return trimmed.(client.Object)
	}
}

// refuses is what the schema of the kind says of a status.
func (k *simKind) refuses(_, obj client.Object) string {
	if cj, ok := obj.(*batchv1.CronJob); ok && k.maxActive > 0 && len(cj.Status.Active) > k.maxActive {
		return "status.active has too many items"
	}
	return ""
}

func tutorialServed(obj client.Object) client.Object {
	cj, ok := obj.(*batchv1.CronJob)
	if !ok {
		return obj
	}
	return &tutorial.CronJob{ObjectMeta: cj.ObjectMeta, Spec: slimSpec(&cj.Spec), Status: tutorial.CronJobStatus{CronJobStatus: slimStatus(&cj.Status)}}
}

func volcanoServed(obj client.Object) client.Object {
	switch o := obj.(type) {
	case *batchv1.CronJob:
		return &volcano.CronJob{
			ObjectMeta: o.ObjectMeta, Spec: volcano.CronJobSpec{CronJobSpec: slimSpec(&o.Spec), TimeZone: o.Spec.TimeZone},
			Status: volcano.CronJobStatus{CronJobStatus: slimStatus(&o.Status), LastSuccessfulTime: o.Status.LastSuccessfulTime},
		}
	case *batchv1.Job:
		return &volcano.Job{ObjectMeta: o.ObjectMeta, Spec: raw(&o.Spec), Status: volcano.JobStatus{State: volcanoState(o)}}
	}
	return obj
}

func volcanoState(j *batchv1.Job) volcano.JobState {
	for _, c := range j.Status.Conditions {
		switch c.Type {
		case batchv1.JobComplete:
			return volcano.JobState{Phase: "Completed", LastTransitionTime: &c.LastTransitionTime}
		case batchv1.JobFailed:
			return volcano.JobState{Phase: "Failed", LastTransitionTime: &c.LastTransitionTime}
		}
	}
	switch {
	case j.Spec.Suspend != nil && *j.Spec.Suspend:
		return volcano.JobState{Phase: "Aborted"}
	case j.Status.StartTime != nil:
		return volcano.JobState{Phase: "Running", LastTransitionTime: j.Status.StartTime}
	}
	return volcano.JobState{Phase: "Pending"}
}

func volcanoStored(obj client.Object) client.Object {
	o, ok := obj.(*volcano.Job)
	if !ok {
		return obj
	}
	j := &batchv1.Job{ObjectMeta: o.ObjectMeta}
	if err := json.Unmarshal(o.Spec.Raw, &j.Spec); err != nil {
		panic(err)
	}
	return j
}

func slimSpec(s *batchv1.CronJobSpec) adapter.CronJobSpec {
	return adapter.CronJobSpec{
		Schedule: s.Schedule, StartingDeadlineSeconds: s.StartingDeadlineSeconds, ConcurrencyPolicy: s.ConcurrencyPolicy, Suspend: s.Suspend,
		SuccessfulJobsHistoryLimit: s.SuccessfulJobsHistoryLimit, FailedJobsHistoryLimit: s.FailedJobsHistoryLimit,
		JobTemplate: adapter.Template{
			Metadata: adapter.TemplateMeta{Labels: s.JobTemplate.Labels, Annotations: s.JobTemplate.Annotations}, Spec: raw(&s.JobTemplate.Spec),
		},
	}
}

func slimStatus(s *batchv1.CronJobStatus) adapter.CronJobStatus {
	return adapter.CronJobStatus{Active: s.Active, LastScheduleTime: s.LastScheduleTime}
}

func raw(s *batchv1.JobSpec) runtime.RawExtension {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return runtime.RawExtension{Raw: data}
}

// controlledBy is the reference that makes a Job one of the CronJob's.
func (k *simKind) controlledBy(cj *batchv1.CronJob) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(cj, k.Info().Owner)}
}

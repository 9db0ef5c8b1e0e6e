// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	kinds "github.com/carillon-dev/carillon/internal/kind/batchv1"
)

// series is a kind whose objects choose what they start, as Timetables do: CronJobs of batch/v1 whose annotations say the
// kinds of their children, when one of those has succeeded, and on which ConfigMap they depend.
type series struct{ batch kinds.Kind }

var (
	_ adapter.ChildChooser = series{}
	_ adapter.Dependent    = series{}
)

const (
	seriesChildren = "example.com/children" // "Widget.v1.example.com Job.v1.batch", the present one first
	seriesSuccess  = "example.com/success"  // the phase of a Widget that has succeeded
	seriesCalendar = "example.com/calendar" // without that ConfigMap nothing is scheduled
	seriesLabel    = "example.com/owner-uid"
)

var seriesInfo = func() adapter.Info {
	info := kinds.Kind{}.Info()
	traits := *info.Traits
	traits.StartChecks = append(append([]cron.StartCheck{}, traits.StartChecks...), cron.CheckChildKind)
	traits.ChildKind = "child"
	info.Child, info.ChildResource = schema.GroupVersionKind{}, schema.GroupVersionResource{}
	info.OwnerLabel, info.Traits = seriesLabel, &traits
	return info
}()

func (series) Info() adapter.Info { return seriesInfo }

func (s series) AddToScheme(scheme *runtime.Scheme) error {
	if err := corev1.AddToScheme(scheme); err != nil {
		return err
	}
	return s.batch.AddToScheme(scheme)
}

func (s series) Read(obj adapter.Object, options adapter.ReadOptions) (cron.Owner, cron.Policy, cron.Memory, error) {
	owner, policy, memory, err := s.batch.Read(obj, options)
	for _, d := range s.Dependencies(obj) {
		if _, there := options.Dependency(obj.GetNamespace(), d); !there {
			policy.Timing.Times = nil
			policy.Timing.Obstacle = &cron.Obstacle{Check: cron.CheckScheduleFires, Remark: cron.Remark{
				Event: adapter.Warning("CalendarNotFound"), Key: d.Name, Message: "there is no ConfigMap " + d.Name}}
		}
	}
	return owner, policy, memory, err
}

func (series) ReadChild(obj adapter.Object, kind schema.GroupVersionKind, owner adapter.Object) (cron.Child, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return cron.Child{}, adapter.Wrong(seriesInfo, u, obj)
	}
	if kind == jobKind {
		var job batchv1.Job
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &job); err != nil {
			return cron.Child{}, err
		}
		return adapter.JobChild(&job, seriesInfo), nil
	}
	child := adapter.Child(u, kind, seriesInfo)
	if phase, _, _ := unstructured.NestedString(u.Object, "status", "phase"); owner != nil && phase != "" && phase == owner.GetAnnotations()[seriesSuccess] {
		child.Phase, child.Succeeded, child.Finished = cron.Complete, true, new(child.Created)
	}
	return child, nil
}

func (s series) Build(obj adapter.Object, start adapter.Start) (adapter.Object, error) {
	if start.Timing.Times == nil || start.Memory.Active == nil && start.Memory.LastSchedule == nil {
		return nil, fmt.Errorf("a start without what was known when it was decided: %+v", start)
	}
	child := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	child.SetGroupVersionKind(s.ChildKinds(obj)[0])
	meta := adapter.ChildMeta(obj, seriesInfo, adapter.TemplateMeta{}, start)
	child.SetName(meta.Name)
	child.SetNamespace(meta.Namespace)
	child.SetLabels(map[string]string{seriesLabel: string(obj.GetUID())})
	child.SetAnnotations(meta.Annotations)
	child.SetOwnerReferences(meta.OwnerReferences)
	return child, nil
}

func (s series) Patches(obj adapter.Object, record cron.StatusWrite) ([]adapter.CronJobPatch, error) {
	return s.batch.Patches(obj, record)
}

func (series) ChildKinds(obj adapter.Object) []schema.GroupVersionKind {
	var chosen []schema.GroupVersionKind
	for _, text := range strings.Fields(obj.GetAnnotations()[seriesChildren]) {
		gvk, _ := schema.ParseKindArg(text)
		chosen = append(chosen, *gvk)
	}
	return chosen
}

func (series) TrimChild(child adapter.Object, _ schema.GroupVersionKind) adapter.Object {
	if u, ok := child.(*unstructured.Unstructured); ok {
		unstructured.RemoveNestedField(u.Object, "spec")
	}
	return child
}

func (series) MayBeChild(kind schema.GroupVersionKind) bool {
	return kind.Group != "series.example.com"
}

func (series) ChildObstacle(kind schema.GroupVersionKind, trouble adapter.ChildTrouble) *cron.Obstacle {
	reason := "KindNotAllowed"
	if trouble.NotServed {
		reason = "KindNotFound"
	}
	return &cron.Obstacle{Check: cron.CheckChildKind, Remark: cron.Remark{Event: adapter.Warning(reason), Key: kind.String(),
		Message: kind.Kind + ": " + trouble.Why}}
}

func (series) DependencyKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("ConfigMap")}
}

func (series) Dependencies(obj adapter.Object) []adapter.Dependency {
	if name := obj.GetAnnotations()[seriesCalendar]; name != "" {
		return []adapter.Dependency{{Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Name: name}}
	}
	return nil
}

// controlledBy is the owner reference of a child.
func controlledBy(uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: string(uid), UID: uid, Controller: new(true), BlockOwnerDeletion: new(true)}}
}

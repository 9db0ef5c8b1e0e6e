// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/outcome"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

var (
	jobKind        = batchv1.SchemeGroupVersion.WithKind("Job")
	podKind        = corev1.SchemeGroupVersion.WithKind("Pod")
	timetableKind  = kind.Timetable{}.Info().Owner
	definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
)

// wanted is a kind to be followed.
type wanted struct {
	gvk    schema.GroupVersionKind
	list   func() client.ObjectList
	choose []client.ListOption
	// read reads an object as a run; false: it is none.
	read func(ctx context.Context, object client.Object) (run.Run, bool)
	// containers reads the containers of the object's Pods; nil where that is not known.
	containers func(client.Object) run.Containers
	// podsByName: Pods tell the name of the run that they belong to, and no UID.
	podsByName bool
	// seen and gone are called instead of read for objects that are no runs.
	seen, gone func(client.Object)

	// follower is nil while nobody follows the kind. kinds.mu guards it.
	follower *follower
	// listedOnce: it has been listed, or is not served any more. kinds.mu guards it.
	listedOnce bool
	// round counts the lists. Recorder.mu guards it.
	round uint32
}

// atOnce are the kinds that are followed in any case.
func (k *kinds) atOnce(ctx context.Context) []*wanted {
	all := []*wanted{
		{
			gvk: jobKind, list: func() client.ObjectList { return &batchv1.JobList{} },
			read: func(_ context.Context, object client.Object) (run.Run, bool) {
				job, ok := object.(*batchv1.Job)
				if !ok {
					return run.Run{}, false
				}
				return run.FromJob(job), true
			},
			containers: func(object client.Object) run.Containers {
				job, ok := object.(*batchv1.Job)
				if !ok {
					return run.Containers{}
				}
				return run.ContainersOf(&job.Spec.Template.Spec)
			},
		},
		{gvk: timetableKind, list: func() client.ObjectList { return &timetable.ObjectList{} }, seen: k.timetableSeen, gone: k.timetableGone},
	}
	for _, of := range kind.All {
		if info := of.Info(); info.Child != jobKind {
			all = append(all, k.unstructured(info.Child, nil))
		}
	}
	if k.recorder.o.LookForKinds == 0 {
		all = append(all, &wanted{
			gvk: definitionKind, list: metadataList(definitionKind),
			seen: func(client.Object) { signal(k.changed) }, gone: func(client.Object) {},
		})
	}
	if pods := k.recorder.newPodLogs(); pods != nil {
		all = append(all, pods.wanted(ctx))
	}
	return all
}

// unstructured is a kind of which only those objects are runs that a schedule controls.
func (k *kinds) unstructured(gvk schema.GroupVersionKind, choose []client.ListOption) *wanted {
	return &wanted{
		gvk: gvk, choose: choose, podsByName: gvk.Group == "batch.volcano.sh",
		list: func() client.ObjectList {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(listKind(gvk))
			return list
		},
		read: func(ctx context.Context, object client.Object) (run.Run, bool) {
			content, ok := object.(*unstructured.Unstructured)
			if !ok {
				return run.Run{}, false
			}
			state := run.FromObject(content, k.recorder.ownerOf(ctx, content))
			return state, state.Owner != run.Owner{}
		},
	}
}

// ownerOf is the Timetable that controls an object, where only that knows how to tell its end; nil if that is not so,
// or it is not there.
func (r *Recorder) ownerOf(ctx context.Context, object *unstructured.Unstructured) adapter.Object {
	gvk := object.GroupVersionKind()
	ref := metav1.GetControllerOfNoCopy(object)
	if ref == nil || ref.Kind != timetableKind.Kind || outcome.Known(gvk.GroupVersion().String(), gvk.Kind) != nil {
		return nil
	}
	owner := &timetable.Object{}
	if err := r.o.Client.Get(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: ref.Name}, owner); err != nil || owner.UID != ref.UID {
		return nil
	}
	return owner
}

func (k *kinds) pods() *wanted {
	return &wanted{
		gvk: podKind, list: func() client.ObjectList { return &corev1.PodList{} }, choose: ofTimetables(),
		read: func(_ context.Context, object client.Object) (run.Run, bool) {
			pod, ok := object.(*corev1.Pod)
			if !ok {
				return run.Run{}, false
			}
			state := run.FromPod(pod)
			return state, state.Owner != run.Owner{}
		},
		containers: func(object client.Object) run.Containers {
			pod, ok := object.(*corev1.Pod)
			if !ok {
				return run.Containers{}
			}
			return run.ContainersOf(&pod.Spec)
		},
	}
}

func ofTimetables() []client.ListOption {
	return []client.ListOption{client.HasLabels{v1alpha1.LabelTimetableUID}}
}

func metadataList(gvk schema.GroupVersionKind) func() client.ObjectList {
	return func() client.ObjectList {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(listKind(gvk))
		return list
	}
}

func listKind(gvk schema.GroupVersionKind) schema.GroupVersionKind {
	gvk.Kind += "List"
	return gvk
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/carillon-dev/carillon/internal/job"
)

// The caches are read through these indexes alone; no sync and no event ever walks a namespace (OPT-14). Objects that
// come out of them are shared: they are read, never changed.
const (
	// podsByJob: pods by the UID of the Job that controls them.
	podsByJob = "carillon.dev/pods-by-job"
	// heldByJob: the same, only pods that hold the tracking finalizer.
	heldByJob = "carillon.dev/held-pods-by-job"
	// orphanPods: pods without a controller, by every selectorTerm they could be found with.
	orphanPods = "carillon.dev/orphan-pods"
	// jobsByTerm: Jobs by the one selectorTerm that every pod they select has.
	jobsByTerm = "carillon.dev/jobs-by-selector-term"
)

func podIndexers() toolscache.Indexers {
	return toolscache.Indexers{
		podsByJob: func(obj any) ([]string, error) {
			if uid := controllingJob(obj); uid != "" {
				return []string{string(uid)}, nil
			}
			return nil, nil
		},
		heldByJob: func(obj any) ([]string, error) {
			if uid := controllingJob(obj); uid != "" && job.HasFinalizer(obj.(*corev1.Pod)) {
				return []string{string(uid)}, nil
			}
			return nil, nil
		},
		orphanPods: func(obj any) ([]string, error) {
			pod, ok := obj.(*corev1.Pod)
			if !ok || metav1.GetControllerOfNoCopy(pod) != nil {
				return nil, nil
			}
			return podTerms(pod), nil
		},
	}
}

func jobIndexers() toolscache.Indexers {
	return toolscache.Indexers{
		jobsByTerm: func(obj any) ([]string, error) {
			j, ok := obj.(*batchv1.Job)
			if !ok {
				return nil, nil
			}
			return jobTerms(j), nil
		},
	}
}

// jobRef is the controller reference of the pod if it names a batch/v1 Job, else nil.
func jobRef(pod *corev1.Pod) *metav1.OwnerReference {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil || ref.Kind != "Job" || ref.APIVersion != batchv1.SchemeGroupVersion.String() {
		return nil
	}
	return ref
}

func controllingJob(obj any) types.UID {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return ""
	}
	if ref := jobRef(pod); ref != nil {
		return ref.UID
	}
	return ""
}

// A selectorTerm is a fact about a pod's labels that a selector can demand: "namespace", "namespace key" or "namespace
// key=value". A selector is filed under the narrowest term that it demands of every pod; a pod is filed under all of
// its terms. So the two meet wherever they match, and a full match is only tried on the few that met.
func term(namespace, key, value string) string { return namespace + " " + key + "=" + value }

func termOfKey(namespace, key string) string { return namespace + " " + key }

func podTerms(pod *corev1.Pod) []string {
	terms := make([]string, 0, 1+2*len(pod.Labels))
	terms = append(terms, pod.Namespace)
	for k, v := range pod.Labels {
		terms = append(terms, termOfKey(pod.Namespace, k), term(pod.Namespace, k, v))
	}
	return terms
}

// jobTerms are the terms one of which every pod selected by the Job has; most often the one that demands the Job's UID.
// A Job without a usable selector selects nothing and has none.
func jobTerms(j *batchv1.Job) []string {
	s := j.Spec.Selector
	if s == nil {
		return nil
	}
	if uid, ok := s.MatchLabels[batchv1.ControllerUidLabel]; ok {
		return []string{term(j.Namespace, batchv1.ControllerUidLabel, uid)}
	}
	if len(s.MatchLabels) > 0 {
		keys := make([]string, 0, len(s.MatchLabels))
		for k := range s.MatchLabels {
			keys = append(keys, k)
		}
		k := slices.Min(keys)
		return []string{term(j.Namespace, k, s.MatchLabels[k])}
	}
	exists := ""
	for _, e := range s.MatchExpressions {
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			terms := make([]string, 0, len(e.Values))
			for _, v := range e.Values {
				terms = append(terms, term(j.Namespace, e.Key, v))
			}
			return terms
		case metav1.LabelSelectorOpExists:
			exists = e.Key
		}
	}
	if exists != "" {
		return []string{termOfKey(j.Namespace, exists)}
	}
	return []string{j.Namespace}
}

// selects reports whether the Job's selector matches the pod.
func selects(j *batchv1.Job, pod *corev1.Pod) bool {
	if j.Spec.Selector == nil || j.Namespace != pod.Namespace {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(j.Spec.Selector)
	return err == nil && selector.Matches(labels.Set(pod.Labels))
}

// caches are the two caches that the controller reads.
type caches struct {
	jobs, pods toolscache.Indexer
}

// job returns the Job of this name, nil if the cache has none.
func (c caches) job(key types.NamespacedName) *batchv1.Job {
	obj, ok, err := c.jobs.GetByKey(storeKey(key))
	if err != nil || !ok {
		return nil
	}
	j, _ := obj.(*batchv1.Job)
	return j
}

// pod returns the pod of this name, nil if the cache has none.
func (c caches) pod(key types.NamespacedName) *corev1.Pod {
	obj, ok, err := c.pods.GetByKey(storeKey(key))
	if err != nil || !ok {
		return nil
	}
	pod, _ := obj.(*corev1.Pod)
	return pod
}

// owner returns the Job that controls the pod: found by name, and the same by UID. nil if there is none.
func (c caches) owner(pod *corev1.Pod) *batchv1.Job {
	ref := jobRef(pod)
	if ref == nil {
		return nil
	}
	j := c.job(types.NamespacedName{Namespace: pod.Namespace, Name: ref.Name})
	if j == nil || j.UID != ref.UID {
		return nil
	}
	return j
}

// podsOf returns the pods that the Job controls.
func (c caches) podsOf(uid types.UID) []*corev1.Pod {
	return find[*corev1.Pod](c.pods, podsByJob, string(uid))
}

// heldOf returns the pods that the Job controls and that hold the tracking finalizer.
func (c caches) heldOf(uid types.UID) []*corev1.Pod {
	return find[*corev1.Pod](c.pods, heldByJob, string(uid))
}

// orphanPods returns the pods without a controller that the Job may select.
func (c caches) orphanPods(j *batchv1.Job) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, t := range jobTerms(j) {
		pods = append(pods, find[*corev1.Pod](c.pods, orphanPods, t)...)
	}
	return pods
}

// matchingJobs returns the Jobs that select the pod.
func (c caches) matchingJobs(pod *corev1.Pod) []*batchv1.Job {
	var matching []*batchv1.Job
	for _, t := range podTerms(pod) {
		for _, j := range find[*batchv1.Job](c.jobs, jobsByTerm, t) {
			if selects(j, pod) {
				matching = append(matching, j)
			}
		}
	}
	return matching
}

func find[T any](in toolscache.Indexer, index, value string) []T {
	objs, err := in.ByIndex(index, value)
	if err != nil {
		// Only a missing index gives an error, and Add made them all.
		panic(fmt.Sprintf("job controller: %v", err))
	}
	found := make([]T, 0, len(objs))
	for _, obj := range objs {
		if t, ok := obj.(T); ok {
			found = append(found, t)
		}
	}
	return found
}

func storeKey(key types.NamespacedName) string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.Namespace + "/" + key.Name
}

func keyOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

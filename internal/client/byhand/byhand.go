// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package byhand makes the objects of runs that somebody starts by hand: from a CronJob, or once more from a run that
// was there before. Those of Timetables are made by package timetable.
package byhand

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind"
)

// instantiate marks a Job that somebody started by hand from a CronJob, as kubectl does.
const instantiate = "cronjob.kubernetes.io/instantiate"

// longestName is what the name of a Job, and of a Pod that is to have it as its host name, can have.
const longestName = 63

// Name is the name of the run that a request asks for: the same for the same request, and none that a schedule gives.
func Name(of, request string) string {
	const digits = 10
	sum := sha256.Sum256([]byte(request))
	suffix := "-m-" + hex.EncodeToString(sum[:])[:digits]
	if most := longestName - len(suffix); len(of) > most {
		of = strings.TrimRight(of[:most], "-.")
	}
	return of + suffix
}

// FromCronJob makes the Job that the CronJob would start, under that name, as kubectl create job --from does. The
// CronJob owns it. An error says which field of the template cannot be read.
func FromCronJob(k kind.Kind, cronJob *unstructured.Unstructured, name string) (*unstructured.Unstructured, error) {
	template, _, err := unstructured.NestedMap(cronJob.Object, "spec", k.Info().TemplateField)
	if err != nil {
		return nil, err
	}
	labels, _, err := unstructured.NestedStringMap(template, "metadata", "labels")
	if err != nil {
		return nil, err
	}
	annotations, _, err := unstructured.NestedStringMap(template, "metadata", "annotations")
	if err != nil {
		return nil, err
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[instantiate] = "manual"
	job := &unstructured.Unstructured{Object: map[string]any{}}
	if spec, ok := template["spec"]; ok {
		job.Object["spec"] = spec
	}
	job.SetGroupVersionKind(k.Info().Child)
	job.SetNamespace(cronJob.GetNamespace())
	job.SetName(name)
	job.SetLabels(labels)
	job.SetAnnotations(annotations)
	job.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(cronJob, k.Info().Owner)})
	return job, nil
}

// generatedLabels are those that an API server or a controller gives to one Job and its Pods.
var generatedLabels = []string{"controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"}

// generatedAnnotations are those that are about one object, and would be wrong on a copy.
var generatedAnnotations = []string{corev1.LastAppliedConfigAnnotation, "batch.kubernetes.io/job-tracking"}

// Again makes an object that does what another one did, under another name: with its spec, its labels and annotations,
// and its owner. It is a run by hand, for no scheduled time; k is the kind of the owner, nil if no schedule owns it.
func Again(k kind.Kind, from *unstructured.Unstructured, name string) *unstructured.Unstructured {
	again := &unstructured.Unstructured{Object: map[string]any{}}
	again.SetGroupVersionKind(from.GroupVersionKind())
	again.SetNamespace(from.GetNamespace())
	again.SetName(name)
	again.SetOwnerReferences(from.GetOwnerReferences())
	if spec, ok, err := unstructured.NestedMap(from.Object, "spec"); ok && err == nil {
		if manual, _, _ := unstructured.NestedBool(spec, "manualSelector"); !manual {
			unstructured.RemoveNestedField(spec, "selector")
			if labels, ok, _ := unstructured.NestedStringMap(spec, "template", "metadata", "labels"); ok {
				without(labels, generatedLabels)
				_ = unstructured.SetNestedStringMap(spec, labels, "template", "metadata", "labels") // it was there
			}
		}
		delete(spec, "suspend")
		again.Object["spec"] = spec
	}
	labels, annotations := maps.Clone(from.GetLabels()), maps.Clone(from.GetAnnotations())
	without(labels, generatedLabels)
	without(annotations, generatedAnnotations)
	if k == nil {
		again.SetLabels(labels)
		again.SetAnnotations(annotations)
		return again
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	if labels == nil {
		labels = map[string]string{}
	}
	if _, timetable := k.(kind.Timetable); timetable {
		labels[v1alpha1.LabelTrigger] = "manual" // its scheduled time stays: it is that of the work
		annotations[v1alpha1.AnnotationAttempt] = "1"
	} else {
		delete(annotations, k.Info().StampAnnotation)
		annotations[instantiate] = "manual"
	}
	again.SetLabels(labels)
	again.SetAnnotations(annotations)
	return again
}

func without(m map[string]string, names []string) {
	for _, name := range names {
		delete(m, name)
	}
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// jobSpec is the spec of a Job of batch/v1.
type jobSpec struct {
	path Path
	spec batchv1.JobSpec
	// alone: it is that of a Job that stands by itself, and is not made from a template.
	alone bool
}

// podSpec is a Pod template.
type podSpec struct {
	path Path // of its spec
	spec corev1.PodSpec
	// job is the Job of batch/v1 whose template it is; nil for others.
	job *jobSpec
}

// runKind is the kind of what an object starts, or of itself if it is a Job, and the path of that one's spec.
func (s *Subject) runKind() (schema.GroupKind, Path) {
	switch {
	case s.timetable != nil:
		kind := schema.FromAPIVersionAndKind(s.timetable.Spec.Template.APIVersion, s.timetable.Spec.Template.Kind)
		if kind.Kind == "" {
			kind.Kind = "Job"
		}
		if s.timetable.Spec.Template.APIVersion == "" {
			kind.Group = batchv1.GroupName
		}
		return kind.GroupKind(), at("spec", "template", "spec")
	case s.scheduled != nil:
		return s.scheduled.Kind.Info().Child.GroupKind(), at("spec", "jobTemplate", "spec")
	}
	return s.Content.GroupVersionKind().GroupKind(), at("spec")
}

// isBatchJob tells whether what is started is a Job of batch/v1.
func (s *Subject) isBatchJob() bool {
	kind, _ := s.runKind()
	return kind == schema.GroupKind{Group: batchv1.GroupName, Kind: "Job"}
}

// readTemplates finds the Job specs and Pod templates of the object. What has other types than its API is left out:
// another rule tells of it.
func (s *Subject) readTemplates() {
	kind, path := s.runKind()
	spec, _ := get(s.Content.Object, path)
	fields, ok := spec.(map[string]any)
	if !ok {
		return
	}
	switch kind.String() {
	case "Job.batch":
		s.addJob(path, fields, s.scheduled == nil)
	case "Pod":
		s.addPod(path, fields, nil)
	case "JobSet.jobset.x-k8s.io":
		jobs, _ := fields["replicatedJobs"].([]any)
		for i := range jobs {
			below := at("replicatedJobs", i, "template", "spec")
			if job, ok := get(spec, below); ok {
				s.addJob(path.and(below...), job, false)
			}
		}
	case "Job.batch.volcano.sh":
		tasks, _ := fields["tasks"].([]any)
		for i := range tasks {
			below := at("tasks", i, "template", "spec")
			if pod, ok := get(spec, below); ok {
				s.addPod(path.and(below...), pod, nil)
			}
		}
	}
}

func (s *Subject) addJob(path Path, written any, alone bool) {
	job := jobSpec{path: path, alone: alone}
	if !convert(written, &job.spec) {
		return
	}
	s.jobs = append(s.jobs, job)
	if pod, ok := get(written, at("template", "spec")); ok {
		s.addPod(path.and("template", "spec"), pod, &job)
	}
}

func (s *Subject) addPod(path Path, written any, job *jobSpec) {
	pod := podSpec{path: path, job: job}
	if convert(written, &pod.spec) {
		s.pods = append(s.pods, pod)
	}
}

func convert(written, into any) bool {
	fields, ok := written.(map[string]any)
	return ok && runtime.DefaultUnstructuredConverter.FromUnstructured(fields, into) == nil
}

// eachJob asks about each Job.
func eachJob(check func(*Subject, *jobSpec) []problem) func(*Subject) []problem {
	return func(s *Subject) []problem {
		var found []problem
		for i := range s.jobs {
			found = append(found, check(s, &s.jobs[i])...)
		}
		return found
	}
}

// eachPod asks about each Pod template.
func eachPod(check func(*Subject, *podSpec) []problem) func(*Subject) []problem {
	return func(s *Subject) []problem {
		var found []problem
		for i := range s.pods {
			found = append(found, check(s, &s.pods[i])...)
		}
		return found
	}
}

// container is a container of a Pod template with its path.
type container struct {
	corev1.Container
	path Path
	init bool
}

func (p *podSpec) containers() []container {
	var all []container
	for i, c := range p.spec.InitContainers {
		all = append(all, container{c, p.path.and("initContainers", i), true})
	}
	for i, c := range p.spec.Containers {
		all = append(all, container{c, p.path.and("containers", i), false})
	}
	return all
}

// eachContainer asks about each container of each Pod template.
func eachContainer(check func(*Subject, container) []problem) func(*Subject) []problem {
	return eachPod(func(s *Subject, p *podSpec) []problem {
		var found []problem
		for _, c := range p.containers() {
			found = append(found, check(s, c)...)
		}
		return found
	})
}

// restartPolicy is that of a Pod template, "Always" if none is written, as the API reads it.
func (p *podSpec) restartPolicy() corev1.RestartPolicy {
	if p.spec.RestartPolicy == "" {
		return corev1.RestartPolicyAlways
	}
	return p.spec.RestartPolicy
}

// backoffLimit is that of a Job, and whether it is written.
func (j *jobSpec) backoffLimit() (limit int32, written bool) {
	if j.spec.BackoffLimit == nil {
		return defaultBackoffLimit, false
	}
	return *j.spec.BackoffLimit, true
}

const defaultBackoffLimit = 6

// listWords reads as "a, b and 3 more".
func listWords(words []string, most int) string {
	if len(words) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	words = slices.Clone(words)
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

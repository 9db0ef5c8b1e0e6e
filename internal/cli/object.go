// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/carillon-dev/carillon/deploy/crds"
	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/client/byhand"
	"github.com/carillon-dev/carillon/internal/kind"
)

// isCronJob and isJob tell what run can run beside Timetables: the CronJobs that Carillon serves, and what they start.
func isCronJob(gvk schema.GroupVersionKind) bool { _, ok := kindOf(gvk); return ok }

func isJob(gvk schema.GroupVersionKind) bool {
	for _, k := range kind.All {
		if gvk == k.Info().Child {
			return true
		}
	}
	return false
}

// kindOf is the kind of a CronJob.
func kindOf(gvk schema.GroupVersionKind) (kind.Kind, bool) {
	for _, k := range kind.All {
		if gvk == k.Info().Owner {
			return k, true
		}
	}
	return nil, false
}

// runBy names the system that runs the Jobs of an API, "" when it is Carillon.
func runBy(gvk schema.GroupVersionKind) string {
	for _, k := range kind.All {
		if info := k.Info(); gvk == info.Owner || gvk == info.Child {
			return info.RunBy
		}
	}
	return ""
}

// definitionOf is the CustomResourceDefinition that Carillon ships for a CronJob; none for others. Those of Timetables
// and Calendars every plane of Carillon has.
func definitionOf(target *manifest.Object) ([]manifest.Object, error) {
	if target == nil {
		return nil, nil
	}
	k, ok := kindOf(target.GroupVersionKind())
	if !ok {
		return nil, nil
	}
	_, text, shipped := crds.Find(k.Info().Name)
	if !shipped {
		return nil, nil
	}
	return manifest.Parse(k.Info().Name, text, func(string) {})
}

// prepare returns the Job to create. Its source is that of what it was made from, so that a refusal names the file.
// others are the other objects of the files; tell is told what the user should know of the Job.
func (o *runOptions) prepare(ctx context.Context, applier *manifest.Applier, namespace string, target *manifest.Object, others []manifest.Object, tell func(string)) (manifest.Object, error) {
	if target == nil {
		return o.jobFromExisting(ctx, applier, namespace, tell)
	}
	if ns := target.GetNamespace(); ns != "" {
		namespace = ns
	}
	if k, ok := kindOf(target.GroupVersionKind()); ok {
		cronJob := manifest.Object{Unstructured: target.DeepCopy(), Source: target.Source}
		cronJob.SetNamespace(namespace)
		return fromTemplate(k, cronJob, false)
	}
	if isTimetable(target.GroupVersionKind()) {
		tt := manifest.Object{Unstructured: target.DeepCopy(), Source: target.Source}
		tt.SetNamespace(namespace)
		return fromTimetable(tt, false, calendarsAmong(ctx, applier, namespace, others), tell)
	}
	job := manifest.Object{Unstructured: target.DeepCopy(), Source: target.Source}
	job.SetNamespace(namespace)
	unstructured.RemoveNestedField(job.Object, "status")
	if job.GetName() == "" {
		job.SetName(job.GetGenerateName() + rand.String(5))
		job.SetGenerateName("")
	}
	jobs, err := applier.Resource(job.GroupVersionKind(), namespace)
	if err != nil {
		return manifest.Object{}, manifest.AsFault(job, err)
	}
	if _, err := jobs.Get(ctx, job.GetName(), metav1.GetOptions{}); err == nil {
		return manifest.Object{}, usage("job %s/%s exists already, and a Job runs only once: delete it, or give the new one another name", namespace, job.GetName())
	}
	return job, nil
}

// jobFromExisting makes the Job of a CronJob, of whatever kind, or of a Timetable that the API server holds.
func (o *runOptions) jobFromExisting(ctx context.Context, applier *manifest.Applier, namespace string, tell func(string)) (manifest.Object, error) {
	var found []manifest.Object
	var names []string
	for _, k := range kind.Owners {
		cronJobs, err := applier.Resource(k.Info().Owner, namespace)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return manifest.Object{}, err
		}
		live, err := cronJobs.Get(ctx, o.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || (apierrors.IsForbidden(err) && k.Info().Owner.Group != batchv1.GroupName) {
			continue
		}
		if err != nil {
			return manifest.Object{}, err
		}
		owner := manifest.Object{Unstructured: live, Source: manifest.Source{File: k.Info().Owner.Kind + " " + namespace + "/" + o.name}}
		var job manifest.Object
		if isTimetable(k.Info().Owner) {
			job, err = fromTimetable(owner, true, calendarsAmong(ctx, applier, namespace, nil), tell)
		} else {
			job, err = fromTemplate(k, owner, true)
		}
		if err != nil {
			return manifest.Object{}, err
		}
		found, names = append(found, job), append(names, k.Info().Name)
	}
	switch len(found) {
	case 0:
		return manifest.Object{}, usage("there is no CronJob or Timetable %s/%s", namespace, o.name)
	case 1:
		return found[0], nil
	}
	return manifest.Object{}, usage("%s/%s is the name of several objects (%s); start the one that is meant with its manifest, -f FILE", namespace, o.name, strings.Join(names, ", "))
}

// fromTemplate is the Job that somebody starts by hand from a CronJob. Only a CronJob that exists on
// the API server can own it.
func fromTemplate(k kind.Kind, cronJob manifest.Object, exists bool) (manifest.Object, error) {
	job, err := byhand.FromCronJob(k, cronJob.Unstructured, cronJob.GetName()+"-"+rand.String(5))
	if err != nil {
		return manifest.Object{}, &manifest.Fault{Where: cronJob.String(), What: strings.TrimPrefix(err.Error(), ".")}
	}
	if !exists {
		job.SetOwnerReferences(nil)
	}
	return manifest.Object{Unstructured: job, Source: cronJob.Source}, nil
}

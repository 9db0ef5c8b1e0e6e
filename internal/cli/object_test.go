// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/kind"
)

func cronJobOf(t *testing.T, k kind.Kind, template string) manifest.Object {
	t.Helper()
	text := "apiVersion: " + k.Info().Owner.GroupVersion().String() + "\nkind: " + k.Info().Owner.Kind + "\nmetadata: {name: nightly, namespace: batch, uid: u-1}\nspec: {" + k.Info().TemplateField + ": " + template + "}\n"
	objects, err := manifest.Parse("f.yaml", []byte(text), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return objects[0]
}

// A Job that is started by hand has the template of its CronJob, whatever the kind, and says that it was; the CronJob
// owns it only where it exists.
func TestFromTemplate(t *testing.T) {
	for _, k := range kind.All {
		t.Run(k.Info().Name, func(t *testing.T) {
			cronJob := cronJobOf(t, k, "{metadata: {labels: {tier: batch}, annotations: {note: x}}, spec: {parallelism: 2}}")
			for _, exists := range []bool{false, true} {
				job, err := fromTemplate(k, cronJob, exists)
				if err != nil {
					t.Fatal(err)
				}
				if job.GroupVersionKind() != k.Info().Child || job.GetNamespace() != "batch" || !strings.HasPrefix(job.GetName(), "nightly-") {
					t.Errorf("made %s %s/%s", job.GroupVersionKind(), job.GetNamespace(), job.GetName())
				}
				if job.GetLabels()["tier"] != "batch" || job.GetAnnotations()["note"] != "x" || job.GetAnnotations()["cronjob.kubernetes.io/instantiate"] != "manual" {
					t.Errorf("labels %v, annotations %v", job.GetLabels(), job.GetAnnotations())
				}
				if n, _, _ := unstructured.NestedInt64(job.Object, "spec", "parallelism"); n != 2 {
					t.Errorf("spec %v", job.Object["spec"])
				}
				if owner := metav1.GetControllerOf(job); (owner != nil) != exists || (exists && (owner.UID != "u-1" || owner.APIVersion != k.Info().Owner.GroupVersion().String())) {
					t.Errorf("owner %v of one that exists: %v", owner, exists)
				}
			}
			if n, _, _ := unstructured.NestedInt64(cronJob.Object, "spec", k.Info().TemplateField, "spec", "parallelism"); n != 2 || len(cronJob.GetOwnerReferences()) != 0 {
				t.Error("the CronJob was changed")
			}
		})
	}
}

// A template that is no template is a fault of the manifest. The API server of a custom resource may have taken it.
func TestFromBadTemplate(t *testing.T) {
	k := kind.All[len(kind.All)-1]
	for _, template := range []string{"{metadata: {labels: {tier: [1]}}}", "{metadata: {annotations: 7}}", "text"} {
		var fault *manifest.Fault
		if _, err := fromTemplate(k, cronJobOf(t, k, template), false); !errors.As(err, &fault) || !strings.Contains(err.Error(), "f.yaml: document 1 (line 1), "+k.Info().Owner.Kind+" nightly") {
			t.Errorf("%s: got %v", template, err)
		}
	}
}

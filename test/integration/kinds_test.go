// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/deploy/crds"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/volcano"
	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/plane"
)

// anything is a CRD whose objects may hold what they like and have a status.
func anything(group, version, kind, plural string) *apiextensionsv1.CustomResourceDefinition {
	open := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: plural, Singular: plural[:len(plural)-1]},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &open,
				}},
			}},
		},
	}
}

// definitions are the CRDs of a kind: ours where we have one, and else those that take anything.
func definitions(t *testing.T, k kind.Kind) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var list []*apiextensionsv1.CustomResourceDefinition
	info := k.Info()
	for resource, gvk := range map[schema.GroupVersionResource]schema.GroupVersionKind{info.OwnerResource: info.Owner, info.ChildResource: info.Child} {
		if gvk.Group == batchv1.GroupName {
			continue
		}
		crd := anything(gvk.Group, gvk.Version, gvk.Kind, resource.Resource)
		if _, text, shipped := crds.Find(resource.GroupResource().String()); shipped {
			crd = &apiextensionsv1.CustomResourceDefinition{}
			if err := yaml.UnmarshalStrict(text, crd); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, crd)
	}
	return list
}

// customKinds are those that are custom resources.
func customKinds() []kind.Kind {
	return slices.DeleteFunc(slices.Clone(kind.All), func(k kind.Kind) bool { return k.Info().Owner.Group == batchv1.GroupName })
}

// customCronJob is a CronJob of such a kind.
func customCronJob(k kind.Kind, namespace, name, schedule string) *unstructured.Unstructured {
	info := k.Info()
	template := map[string]any{"spec": map[string]any{"minAvailable": int64(1), "unknownToUs": "kept"}}
	if info.Child.Group == batchv1.GroupName {
		template = map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "containers": []any{map[string]any{"name": "c", "image": "i"}},
		}}}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": info.Owner.GroupVersion().String(), "kind": info.Owner.Kind,
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec":     map[string]any{info.ScheduleFields[0]: schedule, info.TemplateField: template},
	}}
}

// childName is the name of the child for a scheduled time.
func childName(k kind.Kind, owner string, due time.Time) string {
	return fmt.Sprintf("%s-%d", owner, due.Unix()/int64(k.Info().Traits.NameUnit/time.Second))
}

// install creates the CRDs, unless an earlier test did. They stay: one that is deleted may take minutes to go.
func install(t *testing.T, list []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	crds := apiextensions.NewForConfigOrDie(plane.Start(t).Config()).ApiextensionsV1().CustomResourceDefinitions()
	for _, crd := range list {
		if _, err := crds.Create(t.Context(), crd.DeepCopy(), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}

// A kind whose API appears while the manager runs is served from then on: its CronJobs start their own kind of child,
// with their own annotation and owner, and keep their own status.
func TestKindAppears(t *testing.T) {
	for _, k := range customKinds() {
		info := k.Info()
		t.Run(info.ShortName, func(t *testing.T) {
			w := newWorld(t, manager.Options{Controllers: []string{manager.CronJob}, Kinds: kind.All, Discovery: 50 * time.Millisecond})
			install(t, definitions(t, k))
			dyn := dynamic.NewForConfigOrDie(w.plane.Config())
			owners, children := dyn.Resource(info.OwnerResource).Namespace(w.namespace), dyn.Resource(info.ChildResource).Namespace(w.namespace)
			var owner *unstructured.Unstructured
			w.eventually("the API is served", func(ctx context.Context) error {
				var err error
				owner, err = owners.Create(ctx, customCronJob(k, w.namespace, "tick", "* * * * *"), metav1.CreateOptions{})
				return err
			})
			w.pass(1)
			due := w.clock.Now().Truncate(time.Minute)
			var child *unstructured.Unstructured
			w.eventually("the child is started", func(ctx context.Context) error {
				var err error
				child, err = children.Get(ctx, childName(k, "tick", due), metav1.GetOptions{})
				return err
			})
			if got, want := child.GetAnnotations()[info.StampAnnotation], due.UTC().Format(time.RFC3339); got != want {
				t.Errorf("scheduled time %q, want %q", got, want)
			}
			if ref := metav1.GetControllerOf(child); ref == nil || ref.UID != owner.GetUID() || ref.APIVersion != info.Owner.GroupVersion().String() {
				t.Errorf("controlled by %v", ref)
			}
			if info.Child.Group != batchv1.GroupName {
				if kept, _, _ := unstructured.NestedString(child.Object, "spec", "unknownToUs"); kept != "kept" {
					t.Error("a field of the template that we do not know was lost")
				}
			}
			w.eventually("the status is written", func(ctx context.Context) error {
				got, err := owners.Get(ctx, "tick", metav1.GetOptions{})
				if err != nil {
					return err
				}
				active, _, _ := unstructured.NestedSlice(got.Object, "status", "active")
				last, _, _ := unstructured.NestedString(got.Object, "status", info.LastScheduleField)
				if len(active) != 1 || last != due.UTC().Format(time.RFC3339) {
					return fmt.Errorf("%d active, last %q", len(active), last)
				}
				return nil
			})
			if got, err := owners.Get(t.Context(), "tick", metav1.GetOptions{}); err != nil {
				t.Error(err)
			} else if schedule, _, _ := unstructured.NestedString(got.Object, "spec", info.ScheduleFields[0]); schedule != "* * * * *" {
				t.Errorf("the spec was changed: schedule %q", schedule)
			}
		})
	}
}

// A kind that is installed, but that the manager may not read, harms no other one.
func TestForbiddenKindHarmsNobody(t *testing.T) {
	install(t, definitions(t, volcano.Kind{}))
	w := newWorld(t, manager.Options{Config: limitedUser(t, plane.Start(t), "limited"), Kinds: kind.All, Discovery: 50 * time.Millisecond})
	cj := w.createCronJob(make.CronJob(w.namespace, "tick").Schedule("* * * * *"))
	w.pass(1)
	w.runs(cj, 1, 1)
}

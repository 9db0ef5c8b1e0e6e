// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/deploy/crds"
	"github.com/carillon-dev/carillon/internal/testkit/plane"
	"github.com/carillon-dev/carillon/internal/testkit/vectors"
)

var (
	timetables = v1alpha1.GroupVersion.WithResource("timetables")
	calendars  = v1alpha1.GroupVersion.WithResource("calendars")
)

// newTimetableAPI installs the CRDs of the API and waits until they are served.
func newTimetableAPI(t *testing.T) *world {
	t.Helper()
	p := plane.Start(t)
	w := &world{T: t, plane: p, client: p.Client(), namespace: p.Namespace(t)}
	for _, resource := range []schema.GroupVersionResource{timetables, calendars} {
		_, text, shipped := crds.Find(resource.GroupResource().String())
		if !shipped {
			t.Fatalf("deploy/crds has no %s", resource.Resource)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			t.Fatal(err)
		}
		install(t, []*apiextensionsv1.CustomResourceDefinition{crd})
		w.eventually("the API is served", func(ctx context.Context) error {
			_, err := w.objects(resource).List(ctx, metav1.ListOptions{})
			return err
		})
	}
	return w
}

// objects are those of a resource in the world's namespace.
func (w *world) objects(resource schema.GroupVersionResource) dynamic.ResourceInterface {
	return dynamic.NewForConfigOrDie(w.plane.Config()).Resource(resource).Namespace(w.namespace)
}

// as is what a user sees of the Timetables.
func (w *world) as(user string) dynamic.ResourceInterface {
	return dynamic.NewForConfigOrDie(w.plane.ConfigFor(user, "system:authenticated")).Resource(timetables).Namespace(w.namespace)
}

// here gives an object in the world's namespace, with a name of its own if name is given.
func (w *world) here(obj map[string]any, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(obj)}
	u.SetNamespace(w.namespace)
	if name != "" {
		u.SetName(name)
	}
	return u
}

// What the contract refuses at admission the API server refuses, with the words of the contract, and it stores the
// rest.
func TestTimetableAPIValidation(t *testing.T) {
	w := newTimetableAPI(t)
	for _, v := range vectors.ReadValidation(t, "../../docs/contract/timetable-vectors.json") {
		t.Run(v.ID+" "+v.Fragment, func(t *testing.T) {
			resource := timetables
			if v.Kind == "Calendar" {
				resource = calendars
			}
			_, err := w.objects(resource).Create(t.Context(), w.here(v.Object(t), ""),
				metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
			switch {
			case v.Accepted && err != nil:
				t.Errorf("refused: %v", err)
			case !v.Accepted && err == nil:
				t.Error("accepted")
			case err != nil && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
				t.Errorf("refused for another reason: %v", err)
			}
			for _, part := range v.Says {
				if err != nil && !strings.Contains(err.Error(), part) {
					t.Errorf("%v\ndoes not say: %s", err, part)
				}
			}
		})
	}
}

// What is applied twice, by one who writes YAML and by one who uses the Go types, is stored once and not changed
// again.
func TestTimetableAPIServerSideApply(t *testing.T) {
	w := newTimetableAPI(t)
	for i, v := range vectors.ReadValidation(t, "../../docs/contract/timetable-vectors.json") {
		if !v.Accepted {
			continue
		}
		t.Run(v.ID+" "+v.Fragment, func(t *testing.T) {
			applied := w.here(v.Object(t), fmt.Sprintf("apply-%d", i))
			options := metav1.ApplyOptions{FieldManager: "gitops"}
			first, err := w.objects(timetables).Apply(t.Context(), applied.GetName(), applied, options)
			if err != nil {
				t.Fatal(err)
			}
			again, err := w.objects(timetables).Apply(t.Context(), applied.GetName(), applied, options)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(first.Object, again.Object); diff != "" {
				t.Errorf("applied again (-first +second):\n%s", diff)
			}

			typed := &v1alpha1.Timetable{}
			if err := json.Unmarshal(w.json(first), typed); err != nil {
				t.Fatal(err)
			}
			typed.ManagedFields, typed.ResourceVersion, typed.UID, typed.Generation, typed.CreationTimestamp = nil, "", "", 0, metav1.Time{}
			through := &unstructured.Unstructured{Object: vectors.Decode(t, string(w.json(typed)))}
			after, err := w.objects(timetables).Apply(t.Context(), applied.GetName(), through, metav1.ApplyOptions{FieldManager: "program"})
			if err != nil { // a conflict would say that a value has changed on its way through the types
				t.Fatal(err)
			}
			if after.GetGeneration() != 1 {
				t.Errorf("generation %d", after.GetGeneration())
			}
			if diff := cmp.Diff(first.Object["spec"], after.Object["spec"]); diff != "" {
				t.Errorf("spec through the Go types (-before +after):\n%s", diff)
			}
		})
	}
}

// TT-184, TT-185: the largest status is stored, and kubectl get shows the columns of the contract.
func TestTimetableAPIStatus(t *testing.T) {
	w := newTimetableAPI(t)
	obj, err := w.objects(timetables).Create(t.Context(), w.here(vectors.Timetable(t), ""), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	worst := vectors.WorstTimetableStatus(obj.GetCreationTimestamp().Time)
	obj.Object["status"] = vectors.Decode(t, string(w.json(worst)))
	stored, err := w.objects(timetables).UpdateStatus(t.Context(), obj, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(obj.Object["status"], stored.Object["status"]); diff != "" {
		t.Errorf("status (-sent +stored):\n%s", diff)
	}
	t.Logf("status of %d bytes", len(w.json(worst)))

	u := newUser(w)
	t.Log(u.kubectl("get", "tt"))
	if head, _, _ := strings.Cut(u.kubectl("get", "tt"), "\n"); strings.Join(strings.Fields(head), " ") != "NAME READY HEALTHY ACTIVE NEXT LAST SUCCESS AGE" {
		t.Errorf("columns: %s", head)
	}
	for _, field := range []string{"timetable.spec.concurrency", "timetable.spec.schedules.cron", "calendars.spec.periods.period"} {
		said := u.kubectl("explain", field)
		t.Log(said)
		if strings.Contains(said, "<empty>") || !strings.Contains(said, "DESCRIPTION") {
			t.Errorf("%s is not explained", field)
		}
	}
}

// applyTimetableManifests applies the shipped files of deploy/timetable.
func (w *world) applyTimetableManifests(files ...string) {
	w.Helper()
	dyn := dynamic.NewForConfigOrDie(w.plane.Config())
	resources := map[string]string{
		"ValidatingAdmissionPolicy": "validatingadmissionpolicies", "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
		"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings",
	}
	for _, name := range files {
		file, err := os.Open("../../deploy/timetable/" + name)
		if err != nil {
			w.Fatal(err)
		}
		defer file.Close()
		for reader := yamlutil.NewYAMLReader(bufio.NewReader(file)); ; {
			document, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				w.Fatal(err)
			}
			obj := &unstructured.Unstructured{Object: vectors.Decode(w.T, string(document))}
			resource, known := resources[obj.GetKind()]
			if !known {
				w.Fatalf("%s has a %s, which this test does not know", name, obj.GetKind())
			}
			api := dyn.Resource(obj.GroupVersionKind().GroupVersion().WithResource(resource))
			if _, err := api.Apply(w.Context(), obj.GetName(), obj, metav1.ApplyOptions{FieldManager: "test", Force: true}); err != nil {
				w.Fatalf("%s: %v", obj.GetName(), err)
			}
		}
	}
}

// grant lets a user of the namespace do something.
func (w *world) grant(user string, rules ...rbacv1.PolicyRule) {
	w.Helper()
	if _, err := w.client.RbacV1().Roles(w.namespace).Create(w.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules}, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	w.bind(user, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user})
}

func (w *world) bind(user string, role rbacv1.RoleRef) {
	w.Helper()
	if _, err := w.client.RbacV1().RoleBindings(w.namespace).Create(w.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: role,
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}}, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// Nobody writes a Timetable that starts what he could not create himself (TT-201, TT-226).
func TestTimetableAPIAdmissionPolicy(t *testing.T) {
	w := newTimetableAPI(t)
	w.applyTimetableManifests("admission.yaml", "rbac.yaml", "users.yaml")
	own := rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"timetables"}, Verbs: []string{"get", "create", "update", "patch"}}
	w.grant("scheduler", own)
	w.grant("author", own, rbacv1.PolicyRule{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"create"}})
	w.bind("editor", rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"})
	w.bind("viewer", rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"})
	const refusedJobs = "you may not create jobs.batch in this namespace, so your Timetable may not either"
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	create := func(ctx context.Context, user string, spec string) error {
		obj := vectors.Timetable(t)
		for field, value := range vectors.Decode(t, spec) {
			obj["spec"].(map[string]any)[field] = value
		}
		_, err := w.as(user).Create(ctx, w.here(obj, ""), dryRun)
		return err
	}
	w.eventually("the policy works", func(ctx context.Context) error {
		if err := create(ctx, "scheduler", "{}"); err == nil || !strings.Contains(err.Error(), refusedJobs) {
			return fmt.Errorf("not yet: %w", err)
		}
		return nil
	})
	w.eventually("the roles are aggregated", func(ctx context.Context) error {
		_, err := w.as("viewer").List(ctx, metav1.ListOptions{})
		return errors.Join(err, create(ctx, "editor", "{}"))
	})

	for name, c := range map[string]struct{ user, spec, says string }{
		"TT-201 may create Timetables but not Jobs": {"scheduler", `{}`, refusedJobs},
		"may create Jobs":                    {"author", `{}`, ""},
		"may not create Pods":                {"author", `{template: {apiVersion: v1, kind: Pod, spec: {containers: []}}}`, "you may not create pods in this namespace"},
		"another group with Jobs of its own": {"author", `{template: {apiVersion: batch.volcano.sh/v1alpha1, kind: Job, spec: {}}}`, "you may not create jobs.batch.volcano.sh in this namespace"},
		"a RoleBinding, as an editor": {"editor", `{outcome: {succeeded: "true", failed: "false"},
			template: {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, spec: {}}}`, "you may not create rolebindings.rbac.authorization.k8s.io"},
		"an editor":          {"editor", `{}`, ""},
		"a Pod of an editor": {"editor", `{template: {apiVersion: v1, kind: Pod, spec: {containers: []}}}`, ""},
		"a viewer":           {"viewer", `{}`, "cannot create resource"},
	} {
		t.Run(name, func(t *testing.T) { refusedWith(t, create(t.Context(), c.user, c.spec), c.says) })
	}

	if _, err := w.as("author").Create(t.Context(), w.here(vectors.Timetable(t), ""), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const command = `[{"op": "add", "path": "/spec/template/spec/template/spec/containers/0/args", "value": ["x"]}]`
	const parameters = `[{"op": "add", "path": "/spec/parameters", "value": [{"name": "mode", "default": "full"}]}]`
	for name, c := range map[string]struct{ user, patch, says string }{
		"TT-226 changes only parameters":               {"scheduler", parameters, refusedJobs},
		"changes the template":                         {"scheduler", command, refusedJobs},
		"suspends":                                     {"scheduler", `[{"op": "add", "path": "/spec/suspend", "value": true}]`, ""},
		"labels":                                       {"scheduler", `[{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]`, ""},
		"TT-226 whoever may create Jobs passes":        {"author", parameters, ""},
		"whoever may create Jobs changes the template": {"author", command, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.as(c.user).Patch(t.Context(), "tick", "application/json-patch+json", []byte(c.patch), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
			refusedWith(t, err, c.says)
		})
	}
}

// refusedWith checks that a request was forbidden in these words; "" is that it was not.
func refusedWith(t *testing.T, err error, says string) {
	t.Helper()
	switch {
	case says == "" && err != nil:
		t.Errorf("refused: %v", err)
	case says != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), says)):
		t.Errorf("%v, want that it is forbidden: %s", err, says)
	}
}

// The manager may start what the roles with the label grant: Jobs as shipped, and more by an overlay.
func TestTimetableAPIChildrenRole(t *testing.T) {
	w := newTimetableAPI(t)
	t.Cleanup(func() { // what another run of this test in the same control plane begins with
		for _, overlay := range []string{"jobsets", "pods", "volcano-jobs"} {
			if err := w.client.RbacV1().ClusterRoles().Delete(context.Background(), "carillon-timetable-children-"+overlay, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}
	})
	granted := func(ctx context.Context) (resources []string, err error) {
		role, err := w.client.RbacV1().ClusterRoles().Get(ctx, "carillon-timetable-children", metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				resources = append(resources, strings.TrimSuffix(resource+"."+rule.APIGroups[0], "."))
			}
		}
		return resources, nil
	}
	for _, step := range []struct {
		files []string
		want  string
	}{
		{[]string{"rbac.yaml"}, "[jobs.batch]"},
		{[]string{"children/jobsets.yaml", "children/pods.yaml", "children/volcano-jobs.yaml"},
			"[jobs.batch jobsets.jobset.x-k8s.io pods jobs.batch.volcano.sh]"},
	} {
		w.applyTimetableManifests(step.files...)
		w.eventually("the roles are aggregated", func(ctx context.Context) error {
			got, err := granted(ctx)
			if err == nil && fmt.Sprint(got) != step.want {
				err = fmt.Errorf("%v, want %s", got, step.want)
			}
			return err
		})
	}
}

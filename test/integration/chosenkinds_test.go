// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	batchkind "github.com/carillon-dev/carillon/internal/kind/batchv1"
	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/plane"
)

// choosing is a kind whose objects choose what they start, as Timetables do: CronJobs of batch/v1 with an annotation.
type choosing struct{ batch batchkind.Kind }

var _ adapter.ChildChooser = choosing{}

const (
	chosenKind  = "example.com/child" // "Gadget.v1.example.com"
	chosenLabel = "example.com/owner-uid"
)

var choosingInfo = func() adapter.Info {
	info := batchkind.Kind{}.Info()
	traits := *info.Traits
	traits.StartChecks = append(append([]cron.StartCheck{}, traits.StartChecks...), cron.CheckChildKind)
	info.Child, info.ChildResource = schema.GroupVersionKind{}, schema.GroupVersionResource{}
	info.OwnerLabel, info.Traits = chosenLabel, &traits
	return info
}()

func (choosing) Info() adapter.Info                           { return choosingInfo }
func (c choosing) AddToScheme(scheme *runtime.Scheme) error   { return c.batch.AddToScheme(scheme) }
func (choosing) MayBeChild(kind schema.GroupVersionKind) bool { return true }

func (c choosing) Read(obj adapter.Object, options adapter.ReadOptions) (cron.Owner, cron.Policy, cron.Memory, error) {
	return c.batch.Read(obj, options)
}

func (c choosing) Patches(obj adapter.Object, record cron.StatusWrite) ([]adapter.CronJobPatch, error) {
	return c.batch.Patches(obj, record)
}

func (choosing) ReadChild(obj adapter.Object, kind schema.GroupVersionKind, _ adapter.Object) (cron.Child, error) {
	child := adapter.Child(obj, kind, choosingInfo)
	if u, ok := obj.(*unstructured.Unstructured); !ok {
		return child, adapter.Wrong(choosingInfo, u, obj)
	} else if phase, _, _ := unstructured.NestedString(u.Object, "status", "phase"); phase == "Done" {
		child.Phase, child.Succeeded, child.Finished = cron.Complete, true, new(child.Created)
	}
	return child, nil
}

func (c choosing) Build(obj adapter.Object, start adapter.Start) (adapter.Object, error) {
	meta := adapter.ChildMeta(obj, choosingInfo, adapter.TemplateMeta{}, start)
	child := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"restartPolicy": "Never", "containers": []any{map[string]any{"name": "c", "image": "i"}},
	}}}}}
	child.SetGroupVersionKind(c.ChildKinds(obj)[0])
	child.SetName(meta.Name)
	child.SetNamespace(meta.Namespace)
	child.SetLabels(map[string]string{chosenLabel: string(obj.GetUID())})
	child.SetAnnotations(meta.Annotations)
	child.SetOwnerReferences(meta.OwnerReferences)
	return child, nil
}

func (choosing) ChildKinds(obj adapter.Object) []schema.GroupVersionKind {
	if gvk, _ := schema.ParseKindArg(obj.GetAnnotations()[chosenKind]); gvk != nil {
		return []schema.GroupVersionKind{*gvk}
	}
	return nil
}

func (choosing) TrimChild(child adapter.Object, _ schema.GroupVersionKind) adapter.Object {
	return child
}

func (choosing) ChildObstacle(kind schema.GroupVersionKind, trouble adapter.ChildTrouble) *cron.Obstacle {
	reason := "KindNotAllowed"
	if trouble.NotServed {
		reason = "KindNotFound"
	}
	return &cron.Obstacle{Check: cron.CheckChildKind,
		Remark: cron.Remark{Event: adapter.Warning(reason), Key: reason + kind.String(), Message: kind.Kind + ": " + trouble.Why}}
}

// limitedUser is a client of a user with the rights of the manager's role.
func limitedUser(t *testing.T, p *plane.Plane, name string) *rest.Config {
	t.Helper()
	applyRBAC(t, p, "rbac.yaml")
	bindCluster(t, p, name, "carillon-manager")
	config := p.ConfigFor(name, "system:authenticated")
	limited := kubernetes.NewForConfigOrDie(config)
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		_, err := limited.Discovery().ServerGroups() // a new plane is still making its default roles
		if err == nil {
			_, err = limited.BatchV1().CronJobs("").List(ctx, metav1.ListOptions{})
		}
		return err == nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// bindCluster gives a user a role in all namespaces.
func bindCluster(t *testing.T, p *plane.Plane, user, role string) {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user + "-" + role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if _, err := p.Client().RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// Objects choose the kind of what they start. One whose kind is not served, and then not granted, is told so, holds up
// no other, and is served when both are mended. A child that has lost its label is in the way until it has ended
// (TT-200, TT-240).
func TestChosenKinds(t *testing.T) {
	p := plane.Start(t)
	w := newWorld(t, manager.Options{Config: limitedUser(t, p, "chooser"), Controllers: []string{manager.CronJob}, Kinds: []kind.Kind{choosing{}}})
	build := func(name, child string) *batchv1.CronJob {
		return w.createCronJob(make.CronJob(w.namespace, name).Schedule("* * * * *").Policy(batchv1.ForbidConcurrent).Annotation(chosenKind, child))
	}
	group := w.namespace + ".example.com" // of this run's own: definitions stay
	gadgets := dynamic.NewForConfigOrDie(p.Config()).
		Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "gadgets"}).Namespace(w.namespace)

	chooses, other := build("chooses", "Gadget.v1."+group), build("other", "Job.v1.batch")
	w.said(chooses, "KindNotFound")
	w.pass(1)
	w.runs(other, 1, 1)

	install(t, []*apiextensionsv1.CustomResourceDefinition{anything(group, "v1", "Gadget", "gadgets")})
	w.step("the kind is served, and is not granted", func(ctx context.Context) error { return w.saidOnce(ctx, chooses, "KindNotAllowed") })
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: group}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{group}, Resources: []string{"gadgets"}, Verbs: []string{"create", "delete", "get", "list", "watch"}}}}
	if _, err := p.Client().RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	bindCluster(t, p, "chooser", group)
	var child *unstructured.Unstructured
	count := func(ctx context.Context, want int) error {
		list, err := gadgets.List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) != want {
			return fmt.Errorf("%d Gadgets, want %d: %w", len(list.Items), want, err)
		}
		child = &list.Items[0]
		return nil
	}
	w.step("the kind is granted, and a child is started", func(ctx context.Context) error { return count(ctx, 1) })
	if got := child.GetLabels()[chosenLabel]; got != string(chooses.UID) {
		t.Errorf("label %q, want %q", got, chooses.UID)
	}
	recorded := func(ctx context.Context, name string) error {
		if active := w.cronJob(ctx, "chooses").Status.Active; len(active) != 1 || active[0].Kind != "Gadget" || active[0].Name != name {
			return fmt.Errorf("active: %v, want %s", active, name)
		}
		return nil
	}
	w.eventually("it is recorded", func(ctx context.Context) error { return recorded(ctx, child.GetName()) })

	if _, err := gadgets.Patch(t.Context(), child.GetName(), types.JSONPatchType,
		[]byte(`[{"op": "remove", "path": "/metadata/labels"}]`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.pass(1)
	w.said(chooses, "JobAlreadyActive")
	if err := recorded(t.Context(), child.GetName()); err != nil {
		t.Error(err)
	}
	first := child.GetName()
	if _, err := gadgets.Patch(t.Context(), first, types.MergePatchType, []byte(`{"status": {"phase": "Done"}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	w.step("its end is seen although no watch tells of it", func(ctx context.Context) error {
		if err := count(ctx, 2); err != nil {
			return err
		}
		if w.cronJob(ctx, "chooses").Status.LastSuccessfulTime == nil {
			return fmt.Errorf("no success is recorded")
		}
		return nil
	})
}

// A process that has taken over starts children of kinds that objects choose, too, once their caches show what the one
// before it did (timetable.md F2): those of an object that was there before, and those of a new one.
func TestChosenKindsAfterTakeover(t *testing.T) {
	w := newWorld(t, manager.Options{Controllers: []string{manager.TTLAfterFinished}}) // only for its namespace and clock
	options := manager.Options{Config: w.plane.Config(), Clock: w.clock, Zone: time.UTC, Controllers: []string{manager.CronJob},
		Kinds: []kind.Kind{choosing{}}, LeaderElect: true, LeaderElectionNamespace: w.namespace}
	stop := w.run(options)
	build := func(name string, policy batchv1.ConcurrencyPolicy) *batchv1.CronJob {
		return w.createCronJob(make.CronJob(w.namespace, name).Schedule("* * * * *").Policy(policy).Annotation(chosenKind, "Job.v1.batch"))
	}
	first := build("first", batchv1.AllowConcurrent)
	w.pass(1)
	w.runs(first, 1, 1)

	next, _ := w.launch(options) // it waits for the lease
	stop()
	select {
	case <-next.Ready():
	case <-time.After(patience):
		t.Fatal("the next manager does not become ready")
	}
	w.pass(1)
	w.runs(first, 2, 2)
	second := build("second", batchv1.ForbidConcurrent)
	w.pass(1)
	w.runs(second, 1, 1)
}

// step lets the clock run until check returns nil.
func (w *world) step(what string, check func(ctx context.Context) error) {
	w.Helper()
	w.eventually(what, func(ctx context.Context) error {
		w.clock.Step(time.Second)
		return check(ctx)
	})
}

// saidOnce looks for an event about the object.
func (w *world) saidOnce(ctx context.Context, about metav1.Object, reason string) error {
	events, err := w.client.CoreV1().Events(w.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, e := range events.Items {
		if e.InvolvedObject.UID == about.GetUID() && e.Reason == reason {
			return nil
		}
	}
	return fmt.Errorf("no event %s", reason)
}

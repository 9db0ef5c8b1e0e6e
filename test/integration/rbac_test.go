// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/controller/job"
	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/plane"
	"github.com/carillon-dev/carillon/internal/testkit/vectors"
)

// rights is what deploy/rbac.yaml, or another file, grants the manager: "verb group/resource".
type rights struct {
	cluster, lease sets.Set[string]
}

// applyRBAC creates what a file of deploy/ says and returns the rights in it.
func applyRBAC(t *testing.T, p *plane.Plane, file string) rights {
	t.Helper()
	data, err := os.ReadFile("../../deploy/" + file)
	if err != nil {
		t.Fatal(err)
	}
	r := rights{cluster: sets.New[string](), lease: sets.New[string]()}
	ctx := t.Context()
	reader := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return r
		}
		if err != nil {
			t.Fatal(err)
		}
		var meta metav1.TypeMeta
		decode(t, doc, &meta, false)
		client := p.Client()
		switch meta.Kind {
		case "Namespace":
			_, err = client.CoreV1().Namespaces().Create(ctx, decode(t, doc, &corev1.Namespace{}, true), metav1.CreateOptions{})
		case "ServiceAccount":
			_, err = client.CoreV1().ServiceAccounts("carillon").Create(ctx, decode(t, doc, &corev1.ServiceAccount{}, true), metav1.CreateOptions{})
		case "ClusterRole":
			role := decode(t, doc, &rbacv1.ClusterRole{}, true)
			// Those of other kinds of CronJob are left out, and what an aggregating role will hold stands elsewhere.
			if slices.Contains([]string{"carillon-manager", "carillon-manager-timetable", "carillon-timetable-children-jobs"}, role.Name) {
				r.cluster = r.cluster.Union(granted(t, role.Rules))
			}
			_, err = client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
		case "ClusterRoleBinding":
			_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, decode(t, doc, &rbacv1.ClusterRoleBinding{}, true), metav1.CreateOptions{})
		case "Role":
			role := decode(t, doc, &rbacv1.Role{}, true)
			r.lease = r.lease.Union(granted(t, role.Rules))
			_, err = client.RbacV1().Roles("carillon").Create(ctx, role, metav1.CreateOptions{})
		case "RoleBinding":
			_, err = client.RbacV1().RoleBindings("carillon").Create(ctx, decode(t, doc, &rbacv1.RoleBinding{}, true), metav1.CreateOptions{})
		default:
			t.Fatalf("deploy/%s has a %s, which this test does not know", file, meta.Kind)
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}

func decode[T any](t *testing.T, doc []byte, into *T, strict bool) *T {
	t.Helper()
	unmarshal := func() error { return yaml.Unmarshal(doc, into) }
	if strict {
		unmarshal = func() error { return yaml.UnmarshalStrict(doc, into) }
	}
	if err := unmarshal(); err != nil {
		t.Fatal(err)
	}
	return into
}

func granted(t *testing.T, rules []rbacv1.PolicyRule) sets.Set[string] {
	t.Helper()
	all := sets.New[string]()
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					if slices.Contains([]string{group, resource, verb}, "*") {
						t.Errorf("a wildcard in %v", rule)
					}
					all.Insert(fmt.Sprintf("%s %s/%s", verb, group, resource))
				}
			}
		}
	}
	return all
}

// calls notes every request for a resource, and those that were forbidden.
type calls struct {
	rest            http.RoundTripper
	namespace       atomic.Pointer[string]
	mu              sync.Mutex
	made, forbidden sets.Set[string]
}

var infos = request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

func (c *calls) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.rest.RoundTrip(r)
	info, infoErr := infos.NewRequestInfo(r)
	if err != nil || infoErr != nil || !info.IsResourceRequest {
		return resp, err
	}
	resource := info.Resource
	if info.Subresource != "" {
		resource += "/" + info.Subresource
	}
	call := fmt.Sprintf("%s %s/%s", info.Verb, info.APIGroup, resource)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made.Insert(call)
	// In namespaces of earlier tests, which are going, creating is forbidden to everybody.
	if own := c.namespace.Load(); resp.StatusCode == http.StatusForbidden &&
		(!strings.HasPrefix(info.Namespace, "test-") || own != nil && info.Namespace == *own) {
		c.forbidden.Insert(call)
	}
	return resp, err
}

// served waits until the user of the configuration may find out what is served: a new plane is still making its default
// roles.
func served(t *testing.T, config *rest.Config) {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(config)
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		_, last = client.Discovery().ServerGroups()
		return last == nil, nil
	})
	if err != nil {
		t.Fatal(errors.Join(err, last))
	}
}

// rare are rights that are used only in situations which this test does not make, with the reason for each.
var rare = map[string]string{
	"update batch/cronjobs/finalizers": "asked for by an admission plugin, never requested",
	"update batch/jobs/finalizers":     "asked for by an admission plugin, never requested",
	"list batch/cronjobs":              "servers that do not stream lists as watches are asked for them",
	"list batch/jobs":                  "servers that do not stream lists as watches are asked for them",
	"list /pods":                       "the same; and pods without an owner that a Job could adopt are listed live",
	"get /pods":                        "a pod that exists when it is to be created, or whose patch met a conflict, is read live",
}

// rareForTimetables are those of the controller of Timetables.
var rareForTimetables = map[string]string{
	"update batch.carillon.dev/timetables/finalizers": "asked for by an admission plugin, never requested",
	"get batch.carillon.dev/calendars":                "informers are asked for it, and never use it",
	"get batch/jobs":                                  "a Job that exists when it is to be created, or that is gone from the cache, is read live",
	"get batch.carillon.dev/timetables":               "a Timetable is read live before a start that is late",
	"list batch.carillon.dev/timetables":              "servers that do not stream lists as watches are asked for them",
	"list batch.carillon.dev/calendars":               "servers that do not stream lists as watches are asked for them",
	"list batch/jobs":                                 "servers that do not stream lists as watches are asked for them",
}

// The shipped roles are enough for everything that the controllers do, and hold nothing that they do not use.
func TestLeastPrivilege(t *testing.T) {
	p := plane.Start(t)
	granted := applyRBAC(t, p, "rbac.yaml")
	// A lease of an earlier run would not have to be created.
	if err := p.Client().CoordinationV1().Leases("carillon").Delete(t.Context(), manager.LeaseName, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	config := p.ConfigFor("system:serviceaccount:carillon:carillon-manager", "system:serviceaccounts", "system:authenticated")
	served(t, config)
	seen := &calls{made: sets.New[string](), forbidden: sets.New[string]()}
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		seen.rest = rt
		return seen
	})
	metrics := freeAddr(t)
	w := newWorld(t, manager.Options{
		Config: config, Clock: clock.RealClock{}, Controllers: []string{manager.CronJob, manager.Job, manager.TTLAfterFinished},
		LeaderElect: true, LeaderElectionNamespace: "carillon", MetricsAddr: metrics,
	})

	seen.namespace.Store(&w.namespace)
	// Who reads the metrics is asked for.
	token := w.reader("prometheus", true)
	w.eventually("the metrics are read", func(context.Context) error {
		status, body, err := scrape(metrics, token)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d: %.200s", status, body)
		}
		return err
	})

	// A CronJob whose Jobs are ours from the start to the removal by time to live.
	template := make.Job(w.namespace, "x").ManagedBy(job.ManagedBy).TTL(0)
	w.createCronJob(make.CronJob(w.namespace, "tick").Schedule("@every 1s").Template(template).History(0, 0))
	w.finishPods("tick-", corev1.PodSucceeded)
	// One that replaces, and is looked at because of a run by hand.
	replaced := w.createCronJob(make.CronJob(w.namespace, "replace").Schedule("@every 1s").Policy(batchv1.ReplaceConcurrent))
	manual := make.Job(w.namespace, "by-hand").ManagedBy(job.ManagedBy).Of(replaced).New()
	if _, err := w.client.BatchV1().Jobs(w.namespace).Create(t.Context(), manual, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.said(replaced, "UnexpectedJob")
	// Jobs are named by the minute of their time: the first one may have nearly a minute to go before the next.
	patient := w.in(t)
	patient.patience = 2 * time.Minute
	patient.said(replaced, "SuccessfulDelete")
	// A Job that loses its pods by suspension and says the same again.
	suspended, err := w.client.BatchV1().Jobs(w.namespace).Create(t.Context(), make.Job(w.namespace, "paused").ManagedBy(job.ManagedBy).TTL(0).New(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.said(suspended, "SuccessfulCreate")
		w.suspend("paused", true)
		w.podsGone("paused-")
		w.suspend("paused", false)
	}
	w.finishPods("paused-", corev1.PodSucceeded)
	w.eventually("everything is cleaned up", func(ctx context.Context) error {
		_, err := w.client.BatchV1().Jobs(w.namespace).Get(ctx, "paused", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("Job paused is still there"), err)
	})

	w.usesItsRights(seen, granted.cluster.Union(granted.lease), rare)
}

// usesItsRights: every right but the rare ones is used in the end, and none is missing.
func (w *world) usesItsRights(seen *calls, want sets.Set[string], rare map[string]string) {
	w.Helper()
	for right := range rare {
		if !want.Has(right) {
			w.Errorf("%s is listed as rare, but not granted", right)
		}
		want.Delete(right)
	}
	w.eventually("every right is used", func(context.Context) error {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		if unused := want.Difference(seen.made); len(unused) > 0 {
			return fmt.Errorf("granted, but not used: %s", strings.Join(sets.List(unused), ", "))
		}
		return nil
	})
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if len(seen.forbidden) > 0 {
		w.Errorf("used, but not granted: %s", strings.Join(sets.List(seen.forbidden), ", "))
	}
}

// The roles of deploy/timetable are enough for a manager that serves Timetables alone, and hold nothing that it does
// not use. Beside them it has the rights to events, the lease, and the review of its own rights, which everybody has.
func TestLeastPrivilegeOfTimetables(t *testing.T) {
	p := plane.Start(t)
	w := newTimetableAPI(t)
	_ = applyRBAC(t, p, "rbac.yaml")
	granted := applyRBAC(t, p, "timetable/rbac.yaml")
	account := "system:serviceaccount:carillon:carillon-timetables" // without the roles for CronJobs
	w.bindCluster(account, "carillon-manager-timetable", "carillon-timetable-children")
	config := p.ConfigFor(account, "system:serviceaccounts", "system:authenticated")
	served(t, config)
	seen := &calls{made: sets.New[string](), forbidden: sets.New[string]()}
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		seen.rest = rt
		return seen
	})
	seen.namespace.Store(&w.namespace)
	w.clock = nil
	w.run(manager.Options{Config: config, Clock: clock.RealClock{}, Controllers: []string{manager.Timetable}, TimetableMinInterval: time.Second})

	// Each run replaces the one before, which nobody ends; and a Calendar is read.
	obj := w.here(vectors.Timetable(t), "tick")
	spec := obj.Object["spec"].(map[string]any)
	spec["schedules"] = []any{map[string]any{"cron": "* * * * * *"}}
	spec["concurrency"] = map[string]any{"policy": "Replace"}
	if _, err := w.objects(timetables).Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.usesItsRights(seen, granted.cluster, rareForTimetables)
}

// bindCluster binds ClusterRoles, and the right to events, to a user.
func (w *world) bindCluster(user string, roles ...string) {
	w.Helper()
	events := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "events-of-" + w.namespace},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}}},
	}
	if _, err := w.client.RbacV1().ClusterRoles().Create(w.Context(), events, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	for _, role := range append(roles, events.Name) {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role + "-" + w.namespace},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
		}
		if _, err := w.client.RbacV1().ClusterRoleBindings().Create(w.Context(), binding, metav1.CreateOptions{}); err != nil {
			w.Fatal(err)
		}
	}
}

// finishPods plays the kubelet for the pods with this prefix, at least one: they run and end.
func (w *world) finishPods(prefix string, phase corev1.PodPhase) {
	w.Helper()
	w.eventually("pods of "+prefix, func(ctx context.Context) error {
		pods, err := w.client.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		done := 0
		for _, pod := range pods.Items {
			if !strings.HasPrefix(pod.Name, prefix) || pod.DeletionTimestamp != nil {
				continue
			}
			if pod.Status.Phase != phase {
				pod.Status.Phase = phase
				if _, err := w.client.CoreV1().Pods(w.namespace).UpdateStatus(ctx, &pod, metav1.UpdateOptions{}); err != nil {
					return err
				}
			}
			done++
		}
		if done == 0 {
			return fmt.Errorf("none")
		}
		return nil
	})
}

// podsGone plays the kubelet for pods that are to end: it lets them go.
func (w *world) podsGone(prefix string) {
	w.Helper()
	now := int64(0)
	w.eventually("no pods of "+prefix, func(ctx context.Context) error {
		pods, err := w.client.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		left := 0
		for _, pod := range pods.Items {
			if !strings.HasPrefix(pod.Name, prefix) {
				continue
			}
			left++
			if pod.DeletionTimestamp != nil {
				err := w.client.CoreV1().Pods(w.namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
				if err != nil && !apierrors.IsNotFound(err) {
					return err
				}
			}
		}
		if left > 0 {
			return fmt.Errorf("%d left", left)
		}
		return nil
	})
}

func (w *world) suspend(name string, v bool) {
	w.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"suspend":%v}}`, v)
	if _, err := w.client.BatchV1().Jobs(w.namespace).Patch(w.Context(), name, "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
		w.Fatal(err)
	}
}

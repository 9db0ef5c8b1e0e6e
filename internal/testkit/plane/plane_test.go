// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func TestMain(m *testing.M) { Main(m) }

// Each test gets a namespace of its own on one shared plane, and Jobs and Pods can be made in it.
func TestNamespacesAreSeparate(t *testing.T) {
	p := Start(t)
	if again := Start(t); again != p {
		t.Error("a second Start gave another plane")
	}
	one, two := p.Namespace(t), p.Namespace(t)
	pod := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "main", Image: "none"}},
	}}
	for _, ns := range []string{one, two} {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "same"}, Spec: batchv1.JobSpec{Template: pod}}
		if _, err := p.Client().BatchV1().Jobs(ns).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
			t.Errorf("make a Job in %s: %v", ns, err)
		}
		if _, err := p.Client().CoreV1().Pods(ns).Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "same"}, Spec: pod.Spec}, metav1.CreateOptions{}); err != nil {
			t.Errorf("make a Pod in %s: %v", ns, err)
		}
	}
}

// A client for a user without any role may do nothing.
func TestImpersonationMeetsRBAC(t *testing.T) {
	p := Start(t)
	client, err := kubernetes.NewForConfig(p.ConfigFor("nobody"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Pods(p.Namespace(t)).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("listing Pods as nobody gave %v, want Forbidden", err)
	}
}

// What is implanted is served as it is, although the API server would refuse to create it.
func TestImplantPassesValidation(t *testing.T) {
	p := Start(t)
	bad := &batchv1.CronJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"},
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace(t), Name: "bad"},
		Spec:       batchv1.CronJobSpec{Schedule: "whenever"},
	}
	cronJobs := p.Client().BatchV1().CronJobs(bad.Namespace)
	if _, err := cronJobs.Create(t.Context(), bad.DeepCopy(), metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Fatalf("creating it gave %v, want Invalid", err)
	}
	watch, err := cronJobs.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	uid := p.Implant(t, schema.GroupResource{Group: "batch", Resource: "cronjobs"}, bad)
	got, err := cronJobs.Get(t.Context(), bad.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.UID != uid || got.Spec.Schedule != bad.Spec.Schedule || got.CreationTimestamp.IsZero() {
		t.Errorf("served is %+v", got)
	}
	select {
	case e := <-watch.ResultChan():
		if seen, ok := e.Object.(*batchv1.CronJob); !ok || seen.UID != uid {
			t.Errorf("the watch tells of %+v", e)
		}
	case <-time.After(startTimeout):
		t.Error("the watch tells nothing")
	}
}

// The kubeconfig leads to the plane.
func TestKubeconfig(t *testing.T) {
	p := Start(t)
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), p.Namespace(t), metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/recorder"
	"github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/plane"
)

// rareForRecorder are rights of the recorder that are used only in situations which this test does not make.
var rareForRecorder = map[string]string{
	"get /pods":                         "a run of a Timetable that is a Pod, and may have been deleted unseen, is asked for",
	"get batch.carillon.dev/timetables": "the owner of a run tells its end, where its kind does not",
	"get /namespaces":                   "carillon record asks for kube-system before it begins",
}

// The shipped role is enough for recording a cluster, and holds nothing that is not used.
func TestRecorderLeastPrivilege(t *testing.T) {
	p := plane.Start(t)
	applyRBAC(t, p, "recorder/rbac.yaml")
	role, err := p.Client().RbacV1().ClusterRoles().Get(t.Context(), "carillon-recorder", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := p.ConfigFor("system:serviceaccount:carillon:carillon-recorder", "system:serviceaccounts", "system:authenticated")
	served(t, config)
	w := newTimetableAPI(t)
	seen := &calls{made: sets.New[string](), forbidden: sets.New[string]()}
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		seen.rest = rt
		return seen
	})
	client, err := recorder.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	logs, err := recorder.Logs(config)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "journal")
	j, err := journal.Open(dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	// One that was deleted unseen.
	lost := run.Run{UID: "lost", APIVersion: "batch/v1", Kind: "Job", Namespace: w.namespace, Name: "lost", Outcome: run.Active}
	if err := j.Record(t.Context(), []run.Run{lost}, nil); err != nil {
		t.Fatal(err)
	}
	past := recorder.NewJournalPast(dir)
	defer past.Close()
	r, err := recorder.New(recorder.Options{Client: client, Journal: j, Past: past, LogsThroughAPI: logs, LookForKinds: time.Minute,
		Warn: func(text string) { t.Errorf("it warns: %s", text) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	defer running.Wait()
	defer cancel()

	created, err := w.client.BatchV1().Jobs(w.namespace).Create(ctx, make.Job(w.namespace, "a").New(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a-1", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(created, batchv1.SchemeGroupVersion.WithKind("Job"))}},
		Spec:       created.Spec.Template.Spec,
	}
	if pod, err = w.client.CoreV1().Pods(w.namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ContainerID: "x://a", FinishedAt: metav1.Now()}}}}
	if _, err := w.client.CoreV1().Pods(w.namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	want := granted(t, role.Rules)
	for right := range rareForRecorder {
		if !want.Has(right) {
			t.Errorf("%s is not granted", right)
		}
		want.Delete(right)
	}
	w.eventually("every right is used", func(context.Context) error {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		if unused := want.Difference(seen.made); unused.Len() > 0 {
			return fmt.Errorf("nothing has used %q", sets.List(unused))
		}
		return nil
	})
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if seen.forbidden.Len() > 0 {
		t.Errorf("forbidden: %q", sets.List(seen.forbidden))
	}
	for _, rule := range role.Rules {
		for _, verb := range rule.Verbs {
			if !sets.New("get", "list", "watch").Has(verb) {
				t.Errorf("it may do more than read: %v", rule)
			}
		}
	}
}

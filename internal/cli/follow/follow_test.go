// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/tutorial"
	"github.com/carillon-dev/carillon/internal/kind/volcano"
)

// page is what a console wrote.
type page struct {
	mu  sync.Mutex
	got bytes.Buffer
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got.Write(b)
}

func (p *page) lines(t *testing.T) []console.Line {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []console.Line
	for text := range strings.Lines(p.got.String()) {
		var l console.Line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	return lines
}

// until asks again and again until the answer is yes.
func until(t *testing.T, what string, answer func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !answer() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// started runs a Follower on fake API servers until the test ends.
func started(t *testing.T, opts Options) (*Follower, *fake.Clientset, *page) {
	t.Helper()
	client, p := fake.NewClientset(), &page{}
	opts.Client = client
	opts.Console = console.New(p, console.Options{Format: console.JSON})
	f := New(opts)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	// The fake server tells a watch only of what happens after it began.
	watched := map[string]bool{"jobs": true, "pods": true, "events": true, "cronjobs": opts.Job.Name == ""}
	until(t, "the watches", func() bool {
		for _, action := range client.Actions() {
			if action.GetVerb() == "watch" {
				delete(watched, action.GetResource().Resource)
			}
		}
		return !watched["jobs"] && !watched["pods"] && !watched["events"] && !watched["cronjobs"]
	})
	return f, client, p
}

func (f *Follower) remembered() (jobs, pods, events, due int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.jobs), len(f.pods), len(f.events), len(f.due)
}

func jobOf(i int) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("j-%d", i), UID: types.UID(fmt.Sprintf("job-%d", i))},
		Status: batchv1.JobStatus{StartTime: &metav1.Time{Time: time.Now()}}}
}

func podOf(job *batchv1.Job) *corev1.Pod {
	now := metav1.Now()
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: job.Name + "-x", UID: "pod-" + job.UID,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}},
		Status: corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{Name: "c", ContainerID: "id-" + job.Name,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ContainerID: "id-" + job.Name, StartedAt: now, FinishedAt: now}}}}},
	}
}

func warningOf(kindName, name, message string, count int32) *corev1.Event {
	return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name + ".e", UID: types.UID("event-" + name)},
		InvolvedObject: corev1.ObjectReference{APIVersion: "batch/v1", Kind: kindName, Namespace: "default", Name: name},
		Type:           corev1.EventTypeWarning, Reason: "Because", Message: message, Count: count, LastTimestamp: metav1.Now()}
}

// Of what is gone nothing is remembered, in whatever order Jobs and their Pods go.
func TestForgets(t *testing.T) {
	f, client, _ := started(t, Options{})
	ctx := t.Context()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const many = 50
	must(client.BatchV1().CronJobs("default").Create(ctx, &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: "default", UID: "c"}, Spec: batchv1.CronJobSpec{Schedule: "@daily"}}, metav1.CreateOptions{}))
	for i := range many {
		job := jobOf(i)
		must(client.BatchV1().Jobs("default").Create(ctx, job, metav1.CreateOptions{}))
		must(client.CoreV1().Pods("default").Create(ctx, podOf(job), metav1.CreateOptions{}))
		must(client.CoreV1().Events("default").Create(ctx, warningOf("Job", job.Name, "m", 1), metav1.CreateOptions{}))
	}
	until(t, "all to be known", func() bool {
		jobs, pods, events, due := f.remembered()
		return jobs == many && pods == many && events == many && due == 1
	})
	for i := range many {
		job := jobOf(i)
		first := func() { must(nil, client.BatchV1().Jobs("default").Delete(ctx, job.Name, metav1.DeleteOptions{})) }
		then := func() { must(nil, client.CoreV1().Pods("default").Delete(ctx, job.Name+"-x", metav1.DeleteOptions{})) }
		if i%2 == 1 {
			first, then = then, first
		}
		first()
		then()
		must(nil, client.CoreV1().Events("default").Delete(ctx, job.Name+".e", metav1.DeleteOptions{}))
	}
	must(nil, client.BatchV1().CronJobs("default").Delete(ctx, "c", metav1.DeleteOptions{}))
	until(t, "all to be forgotten", func() bool {
		jobs, pods, events, due := f.remembered()
		return jobs == 0 && pods == 0 && events == 0 && due == 0
	})
}

// A container that restarts for ever is remembered by its last two instances, and each is read once.
func TestRestartsAreBounded(t *testing.T) {
	f := New(Options{Console: console.New(&page{}, console.Options{}), Client: fake.NewClientset()})
	ctx, stop := context.WithCancel(t.Context())
	job := jobOf(1)
	pod := podOf(job)
	for i := range 1000 {
		s := &pod.Status.ContainerStatuses[0]
		s.LastTerminationState, s.RestartCount, s.ContainerID = s.State, int32(i), fmt.Sprint("id-", i)
		now := metav1.Now()
		s.State.Terminated = &corev1.ContainerStateTerminated{ContainerID: fmt.Sprint("id-", i), StartedAt: now, FinishedAt: now}
		for range 3 {
			f.pod(ctx, pod)
		}
	}
	stop()
	f.reading.Wait()
	if ids := f.pods[pod.UID].containers["c"].ids; ids != [2]string{"id-998", "id-999"} {
		t.Errorf("remembered %v", ids)
	}
	if n := len(f.pods[pod.UID].containers); n != 1 {
		t.Errorf("%d containers", n)
	}
}

// An event of a CronJob is told each time that it happens, one of a Pod when it says something new.
func TestEvents(t *testing.T) {
	aged := func(age time.Duration) []*corev1.Event {
		e := warningOf("CronJob", "c", "x", 1)
		e.LastTimestamp = metav1.NewTime(time.Now().Add(-age).Truncate(time.Second)) // as the API gives it
		return []*corev1.Event{e}
	}
	for name, test := range map[string]struct {
		kind  string
		say   []*corev1.Event
		since time.Duration // how long ago what is followed began to start
		want  string
	}{
		"missed times, each":          {kind: "CronJob", say: []*corev1.Event{warningOf("CronJob", "c", "missed", 1), warningOf("CronJob", "c", "missed", 2), warningOf("CronJob", "c", "missed", 3)}, want: "missed missed missed"},
		"the same look twice":         {kind: "CronJob", say: []*corev1.Event{warningOf("CronJob", "c", "missed", 1), warningOf("CronJob", "c", "missed", 1)}, want: "missed"},
		"a kubelet repeats itself":    {kind: "Pod", say: []*corev1.Event{warningOf("Pod", "p", "back-off", 1), warningOf("Pod", "p", "back-off", 2)}, want: "back-off"},
		"a kubelet says more":         {kind: "Pod", say: []*corev1.Event{warningOf("Pod", "p", "a", 1), warningOf("Pod", "p", "b", 2)}, want: "a b"},
		"other objects are silent":    {kind: "Node", say: []*corev1.Event{warningOf("Node", "n", "x", 1)}, want: ""},
		"before this Carillon began":  {kind: "CronJob", say: aged(time.Hour)},
		"while this Carillon started": {kind: "CronJob", say: aged(4 * time.Second), since: 5 * time.Second, want: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &page{}
			out := console.New(p, console.Options{Format: console.JSON})
			f := New(Options{Console: out, Since: time.Now().Add(-test.since)})
			for _, e := range test.say {
				f.event(e)
			}
			if err := out.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range p.lines(t) {
				got = append(got, l.Message)
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("told %q, want %q", got, test.want)
			}
		})
	}
}

func custom(group, version, kindName, name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"uid": "uid-" + group + kindName + name, "creationTimestamp": time.Now().UTC().Format(time.RFC3339)}}}
	for key, value := range fields {
		u.Object[key] = value
	}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kindName})
	u.SetNamespace("default")
	u.SetName(name)
	return u
}

func crd(name string) *unstructured.Unstructured {
	u := custom("apiextensions.k8s.io", "v1", "CustomResourceDefinition", name, map[string]any{
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}})
	u.SetNamespace("")
	return u
}

// CronJobs of the tutorial and of Volcano, and Volcano's Jobs, are told like those of batch/v1 as soon as their
// definition is there, and go with it.
func TestKinds(t *testing.T) {
	lists := map[schema.GroupVersionResource]string{definitions: "CustomResourceDefinitionList", volcano.Kind{}.Info().ChildResource: "JobList"}
	for _, k := range kind.All {
		lists[k.Info().OwnerResource] = k.Info().Owner.Kind + "List"
	}
	api := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
	f, _, p := started(t, Options{Dynamic: api})
	create := func(resource schema.GroupVersionResource, u *unstructured.Unstructured) {
		t.Helper()
		var err error
		if u.GetNamespace() == "" {
			_, err = api.Resource(resource).Create(t.Context(), u, metav1.CreateOptions{})
		} else {
			_, err = api.Resource(resource).Namespace(u.GetNamespace()).Create(t.Context(), u, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	told := func(what string, kindOf console.Type, object string) console.Line {
		t.Helper()
		var found console.Line
		until(t, what, func() bool {
			for _, l := range p.lines(t) {
				if l.Type == kindOf && l.Object == object {
					found = l
					return true
				}
			}
			return false
		})
		return found
	}
	create(tutorial.Kind{}.Info().OwnerResource, custom("batch.tutorial.kubebuilder.io", "v1", "CronJob", "t", map[string]any{"spec": map[string]any{"schedule": "TZ=Europe/Rome 0 6 * * *"}}))
	create(volcano.Kind{}.Info().OwnerResource, custom("batch.volcano.sh", "v1alpha1", "CronJob", "v", map[string]any{"spec": map[string]any{"schedule": "@daily", "timeZone": "Asia/Tokyo"}}))
	create(volcano.Kind{}.Info().ChildResource, custom("batch.volcano.sh", "v1alpha1", "Job", "vj", map[string]any{
		"status": map[string]any{"state": map[string]any{"phase": "Failed", "lastTransitionTime": time.Now().Add(time.Second).UTC().Format(time.RFC3339), "message": "task broke"}}}))
	for _, name := range []string{"cronjobs.batch.tutorial.kubebuilder.io", "cronjobs.batch.volcano.sh", "jobs.batch.volcano.sh"} {
		create(definitions, crd(name))
	}
	if due := told("the next run of kind T", console.Due, "cronjob.batch.tutorial.kubebuilder.io/default/t"); due.Due == nil || due.Due.UTC().Minute() != 0 {
		t.Errorf("told %+v", due)
	}
	if due := told("the next run of kind V", console.Due, "cronjob.batch.volcano.sh/default/v"); due.Due == nil || due.Message != "Asia/Tokyo" {
		t.Errorf("told %+v", due)
	}
	told("the start of a Volcano Job", console.Started, "job.batch.volcano.sh/default/vj")
	if end := told("the end of a Volcano Job", console.Finished, "job.batch.volcano.sh/default/vj"); end.Outcome != console.Failed || end.Reason != "Failed" || end.Message != "task broke" {
		t.Errorf("told %+v", end)
	}
	if _, _, _, due := f.remembered(); due != 2 {
		t.Errorf("%d CronJobs are remembered", due)
	}
	if err := api.Resource(tutorial.Kind{}.Info().OwnerResource).Namespace("default").Delete(t.Context(), "t", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the CronJob to be forgotten", func() bool { _, _, _, due := f.remembered(); return due == 1 })
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"
)

// fleetServer is as much of an API server as the page asks for: CronJobs that are as large as usual, which it lists and
// streams in protobuf as a real one does, and Jobs of them that come and go.
type fleetServer struct {
	count int

	mu       sync.Mutex
	version  int
	watchers map[chan frame]string // the resource that each is of
}

// frame is one event of a watch.
type frame struct {
	kind   string
	object runtime.Object
}

func newFleetServer(count int) *fleetServer {
	return &fleetServer{count: count, version: 1000, watchers: map[chan frame]string{}}
}

// cronJob is the n-th one. Its managed fields and template are what makes most of an object.
func (s *fleetServer) cronJob(n int) *batchv1.CronJob {
	labels := map[string]string{"app": fmt.Sprintf("job-%06d", n), "team": fmt.Sprintf("team-%d", n%40)}
	fields := `{"f:spec":{"f:concurrencyPolicy":{},"f:failedJobsHistoryLimit":{},"f:jobTemplate":{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:args":{},"f:env":{},"f:image":{},"f:name":{},"f:resources":{}}},"f:restartPolicy":{}}}}},"f:schedule":{},"f:successfulJobsHistoryLimit":{},"f:suspend":{}}}`
	at := metav1.NewTime(time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC))
	return &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fleetNamespace(n), Name: fmt.Sprintf("job-%06d", n), UID: types.UID(fleetUID(n)), Labels: labels, CreationTimestamp: at,
			ResourceVersion: "1", Generation: 1,
			Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: strings.Repeat("x", 700)},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: "Apply", APIVersion: "batch/v1", Time: &at, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}},
		},
		Spec: batchv1.CronJobSpec{
			Schedule: fmt.Sprintf("%d %d * * *", n%60, n/60%24), ConcurrencyPolicy: batchv1.ForbidConcurrent, Suspend: new(n%97 == 0),
			SuccessfulJobsHistoryLimit: new(int32(3)), FailedJobsHistoryLimit: new(int32(1)),
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "main", Image: "registry.example/team/program:2026-11-01", Args: []string{"run", "--verbose"}, Env: []corev1.EnvVar{{Name: "REGION", Value: "eu"}}}},
			}}}},
		},
		Status: batchv1.CronJobStatus{LastScheduleTime: &at, LastSuccessfulTime: &at},
	}
}

func fleetNamespace(n int) string { return fmt.Sprintf("team-%d", n%40) }
func fleetUID(n int) string       { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// job is one of the n-th CronJob, in its attempt-th state: it runs, or has ended.
func (s *fleetServer) job(n int, ended bool) *batchv1.Job {
	now := metav1.Now()
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: fleetNamespace(n), Name: fmt.Sprintf("job-%06d-now", n), UID: types.UID(fmt.Sprintf("10000000-0000-4000-8000-%012d", n)),
			CreationTimestamp: now, OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: fmt.Sprintf("job-%06d", n), UID: types.UID(fleetUID(n)), Controller: new(true)}}},
		Status: batchv1.JobStatus{StartTime: &now, Active: 1},
	}
	if ended {
		j.Status = batchv1.JobStatus{StartTime: &now, Succeeded: 1, CompletionTime: &now, Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now}}}
	}
	return j
}

// tell sends an event to those who watch the resource.
func (s *fleetServer) tell(resource, kind string, object runtime.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	object.(metav1.Object).SetResourceVersion(fmt.Sprint(s.version))
	for w, of := range s.watchers {
		if of == resource {
			w <- frame{kind, object}
		}
	}
}

// change makes that many changes a second, as a fleet that works does: Jobs that begin and end, and the status of their
// CronJobs.
func (s *fleetServer) change(perSecond int, until <-chan struct{}) {
	ticks := time.NewTicker(time.Second / time.Duration(perSecond))
	defer ticks.Stop()
	for n := 0; ; n++ {
		select {
		case <-until:
			return
		case <-ticks.C:
		}
		of := n / 4 % s.count
		switch n % 4 {
		case 0:
			s.tell("jobs", "ADDED", s.job(of, false))
		case 1, 3:
			cj := s.cronJob(of)
			cj.Status.LastScheduleTime = new(metav1.Now())
			s.tell("cronjobs", "MODIFIED", cj)
		case 2:
			s.tell("jobs", "MODIFIED", s.job(of, true))
		}
	}
}

func (s *fleetServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(code int, content any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(content)
	}
	switch path := r.URL.Path; {
	case r.URL.Query().Get("watch") != "" && strings.HasSuffix(path, "/cronjobs"):
		s.watch(w, r, "cronjobs")
	case r.URL.Query().Get("watch") != "" && strings.HasSuffix(path, "/jobs"):
		s.watch(w, r, "jobs")
	case path == "/version":
		answer(http.StatusOK, version.Info{GitVersion: "v1.36.3"})
	case path == "/readyz":
		_, _ = w.Write([]byte("ok"))
	case path == "/api":
		answer(http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case path == "/api/v1":
		answer(http.StatusOK, metav1.APIResourceList{GroupVersion: "v1"})
	case path == "/apis":
		batch := metav1.GroupVersionForDiscovery{GroupVersion: "batch/v1", Version: "v1"}
		answer(http.StatusOK, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
			Groups: []metav1.APIGroup{{Name: "batch", Versions: []metav1.GroupVersionForDiscovery{batch}, PreferredVersion: batch}}})
	case path == "/apis/batch":
		batch := metav1.GroupVersionForDiscovery{GroupVersion: "batch/v1", Version: "v1"}
		answer(http.StatusOK, metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: "batch", Versions: []metav1.GroupVersionForDiscovery{batch}, PreferredVersion: batch})
	case path == "/apis/batch/v1":
		verbs := metav1.Verbs{"get", "list", "watch", "create", "patch", "delete"}
		answer(http.StatusOK, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "batch/v1", APIResources: []metav1.APIResource{
			{Name: "cronjobs", SingularName: "cronjob", Kind: "CronJob", Namespaced: true, Verbs: verbs}, {Name: "jobs", SingularName: "job", Kind: "Job", Namespaced: true, Verbs: verbs}}})
	case strings.Contains(path, "/cronjobs/"):
		var n int
		if _, err := fmt.Sscanf(path[strings.LastIndex(path, "/"):], "/job-%06d", &n); err != nil || n >= s.count {
			answer(http.StatusNotFound, metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
			return
		}
		cj := s.cronJob(n)
		cj.TypeMeta = metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"}
		answer(http.StatusOK, cj)
	case strings.HasSuffix(path, "/jobs"):
		answer(http.StatusOK, batchv1.JobList{TypeMeta: metav1.TypeMeta{Kind: "JobList", APIVersion: "batch/v1"}})
	case strings.HasSuffix(path, "/pods"):
		answer(http.StatusOK, corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}})
	case strings.HasSuffix(path, "/events"):
		answer(http.StatusOK, corev1.EventList{TypeMeta: metav1.TypeMeta{Kind: "EventList", APIVersion: "v1"}})
	case strings.HasSuffix(path, "/nodes"):
		answer(http.StatusOK, corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}, Items: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "tower"},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}}})
	default:
		answer(http.StatusNotFound, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
	}
}

// watch streams what is there, if that is asked for, and then what changes.
func (s *fleetServer) watch(w http.ResponseWriter, r *http.Request, resource string) {
	w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")
	flusher := http.NewResponseController(w)
	encoder := streaming.NewEncoder(protobuf.LengthDelimitedFramer.NewFrameWriter(w), protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme))
	inner := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	send := func(f frame) error {
		var b bytes.Buffer
		if err := inner.Encode(f.object, &b); err != nil {
			return err
		}
		return encoder.Encode(&metav1.WatchEvent{Type: f.kind, Object: runtime.RawExtension{Raw: b.Bytes()}})
	}
	events := make(chan frame, 10_000)
	s.mu.Lock()
	s.watchers[events] = resource
	version := fmt.Sprint(s.version)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, events)
	}()
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		var bookmark metav1.Object = &batchv1.Job{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}}
		if resource == "cronjobs" {
			for n := range s.count {
				cj := s.cronJob(n)
				cj.TypeMeta = metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"}
				if send(frame{"ADDED", cj}) != nil {
					return
				}
			}
			bookmark = &batchv1.CronJob{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"}}
		}
		bookmark.SetResourceVersion(version)
		bookmark.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		if send(frame{"BOOKMARK", bookmark.(runtime.Object)}) != nil {
			return
		}
	}
	for {
		if flusher.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case f := <-events:
			switch o := f.object.(type) {
			case *batchv1.CronJob:
				o.TypeMeta = metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"}
			case *batchv1.Job:
				o.TypeMeta = metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}
			}
			if send(f) != nil {
				return
			}
		}
	}
}

// kubeconfigFor writes a kubeconfig for a server, and gives its path.
func kubeconfigFor(t *testing.T, url string) string {
	t.Helper()
	return write(t, "{apiVersion: v1, kind: Config, clusters: [{name: a, cluster: {server: '"+url+"'}}], contexts: [{name: a, context: {cluster: a, namespace: team-0}}], current-context: a}")
}

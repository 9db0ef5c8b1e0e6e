// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/statistics"
)

// plane is an API server that has Jobs, Pods and events, which it gives in pages, and which it may forbid.
type plane struct {
	jobs      []batchv1.Job
	pods      []corev1.Pod
	events    []corev1.Event
	forbidden []string          // resources
	logs      map[string]string // by Pod, container and "previous" if so
	asked     []string          // the lists that were asked for, with their selectors
}

// kubeconfigOf serves the handler, and writes a kubeconfig for it.
func kubeconfigOf(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a, namespace: shop}}],
clusters: [{name: a, cluster: {server: %q}}], users: [{name: a, user: {}}]}`, server.URL)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// start serves it and gives a Source for it.
func (p *plane) start(t *testing.T, namespace string) *apiSource {
	t.Helper()
	to := Target{Cluster: cluster.Flags{Kubeconfig: kubeconfigOf(t, http.HandlerFunc(p.serve)), Namespace: namespace}, AllNamespaces: namespace == ""}
	s, _, err := to.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made, ok := s.(*apiSource)
	if !ok {
		t.Fatalf("a %T", s)
	}
	return made
}

func (p *plane) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	write := func(content any) { _ = json.NewEncoder(w).Encode(content) } // a client that is gone needs nothing
	fail := func(code int, reason metav1.StatusReason) {
		w.WriteHeader(code)
		write(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: reason, Code: int32(code), Message: "no: " + string(reason)})
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	resource := func(name, kind string) metav1.APIResource {
		return metav1.APIResource{Name: name, Kind: kind, Namespaced: true, Verbs: []string{"list", "get"}}
	}
	switch r.URL.Path {
	case "/api":
		write(metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
		return
	case "/api/v1":
		write(metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{resource("pods", "Pod"), resource("events", "Event")}})
		return
	case "/apis":
		version := metav1.GroupVersionForDiscovery{GroupVersion: "batch/v1", Version: "v1"}
		write(metav1.APIGroupList{Groups: []metav1.APIGroup{{Name: "batch", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}}})
		return
	case "/apis/batch/v1":
		write(metav1.APIResourceList{GroupVersion: "batch/v1", APIResources: []metav1.APIResource{resource("jobs", "Job")}})
		return
	}
	namespace := ""
	if i := slices.Index(parts, "namespaces"); i >= 0 && len(parts) > i+2 {
		namespace, parts = parts[i+1], parts[i+2:]
	} else {
		parts = parts[len(parts)-1:]
	}
	if slices.Contains(p.forbidden, parts[0]) {
		fail(http.StatusForbidden, metav1.StatusReasonForbidden)
		return
	}
	switch {
	case len(parts) == 3 && parts[2] == "log":
		key := parts[1] + "/" + r.URL.Query().Get("container")
		if r.URL.Query().Get("previous") == "true" {
			key += "/previous"
		}
		log, ok := p.logs[key]
		if !ok {
			fail(http.StatusBadRequest, metav1.StatusReasonBadRequest)
			return
		}
		lines := slices.Collect(strings.Lines(log))
		if tail, err := strconv.Atoi(r.URL.Query().Get("tailLines")); err == nil {
			lines = lines[max(0, len(lines)-tail):]
		}
		_, _ = io.WriteString(w, strings.Join(lines, "")) // as above
	case len(parts) == 2:
		for _, o := range p.all(parts[0]) {
			if o.GetNamespace() == namespace && o.GetName() == parts[1] {
				write(o)
				return
			}
		}
		fail(http.StatusNotFound, metav1.StatusReasonNotFound)
	default:
		p.asked = append(p.asked, parts[0]+" "+r.URL.Query().Get("labelSelector")+r.URL.Query().Get("fieldSelector"))
		write(p.page(parts[0], namespace, r))
	}
}

func (p *plane) all(resource string) []metav1.Object {
	var objects []metav1.Object
	switch resource {
	case "jobs":
		for i := range p.jobs {
			objects = append(objects, &p.jobs[i])
		}
	case "pods":
		for i := range p.pods {
			objects = append(objects, &p.pods[i])
		}
	case "events":
		for i := range p.events {
			objects = append(objects, &p.events[i])
		}
	}
	return objects
}

// page gives the objects that a list asks for.
func (p *plane) page(resource, namespace string, r *http.Request) map[string]any {
	byLabels, _ := labels.Parse(r.URL.Query().Get("labelSelector"))
	byFields, _ := fields.ParseSelector(r.URL.Query().Get("fieldSelector"))
	var chosen []metav1.Object
	for _, o := range p.all(resource) {
		set := fields.Set{"metadata.name": o.GetName()}
		switch typed := o.(type) {
		case *batchv1.Job:
			set["status.successful"] = fmt.Sprint(typed.Status.Succeeded)
		case *corev1.Pod:
			set["status.phase"] = string(typed.Status.Phase)
		case *corev1.Event:
			set["reason"], set["involvedObject.kind"], set["involvedObject.name"] = typed.Reason, typed.InvolvedObject.Kind, typed.InvolvedObject.Name
		}
		if (namespace == "" || o.GetNamespace() == namespace) && byLabels.Matches(labels.Set(o.GetLabels())) && byFields.Matches(set) {
			chosen = append(chosen, o)
		}
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	until := min(from+limit, len(chosen))
	meta := map[string]any{}
	if until < len(chosen) {
		meta["continue"] = strconv.Itoa(until)
		if byLabels.Empty() && byFields.Empty() {
			meta["remainingItemCount"] = len(chosen) - until
		}
	}
	kinds := map[string][2]string{"jobs": {"batch/v1", "JobList"}, "pods": {"v1", "PodList"}, "events": {"v1", "EventList"}}
	return map[string]any{"apiVersion": kinds[resource][0], "kind": kinds[resource][1], "metadata": meta, "items": append([]metav1.Object{}, chosen[from:until]...)}
}

// hour is the scheduled time of the n-th run, the first at midnight.
func hour(n int) time.Time {
	return time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Hour)
}

// jobOf makes the n-th Job of a CronJob, which took a minute.
func jobOf(namespace, owner string, n int, condition batchv1.JobConditionType) batchv1.Job {
	at := metav1.NewTime(hour(n))
	j := batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("%s-%d", owner, at.Unix()/60), Namespace: namespace, UID: types.UID(fmt.Sprintf("%s-%s-%d", namespace, owner, n)), CreationTimestamp: at,
		Annotations:     map[string]string{batchv1.CronJobScheduledTimestampAnnotation: at.UTC().Format(time.RFC3339)},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: owner, UID: types.UID(namespace + owner), Controller: new(true)}},
	}, Status: batchv1.JobStatus{StartTime: &at}}
	end := metav1.NewTime(hour(n).Add(time.Minute))
	switch condition {
	case batchv1.JobComplete:
		j.Status.Succeeded, j.Status.CompletionTime = 1, &end
	case batchv1.JobFailed:
		j.Status.Failed = 1
	default:
		j.Status.Active = 1
		return j
	}
	j.Status.Conditions = []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue, Reason: "R", LastTransitionTime: end}}
	return j
}

func podOf(j *batchv1.Job, phase corev1.PodPhase, statuses ...corev1.ContainerStatus) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: j.Name + "-p", Namespace: j.Namespace, UID: "pod-" + j.UID, Labels: map[string]string{batchv1.ControllerUidLabel: string(j.UID)},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: j.Name, UID: j.UID, Controller: new(true)}},
	}, Status: corev1.PodStatus{Phase: phase, ContainerStatuses: statuses}}
}

func terminated(id string, code int32, at time.Time) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{ContainerID: "x://" + id, ExitCode: code, StartedAt: metav1.NewTime(at), FinishedAt: metav1.NewTime(at.Add(time.Second))}
}

// fleet is a plane with 1300 Jobs in two namespaces: more than two pages each.
func fleet() *plane {
	p := &plane{}
	for n := range 650 {
		condition := batchv1.JobComplete
		if n%100 == 7 {
			condition = batchv1.JobFailed
		}
		p.jobs = append(p.jobs, jobOf("shop", []string{"a", "b"}[n%2], n, condition), jobOf("web", "a", n, batchv1.JobComplete))
	}
	p.jobs = append(p.jobs, jobOf("shop", "a", 650, ""))
	running := &p.jobs[len(p.jobs)-1]
	p.pods = append(p.pods, podOf(running, corev1.PodRunning, corev1.ContainerStatus{Name: "main", RestartCount: 1, ContainerID: "x://now",
		State:                corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(hour(650).Add(2 * time.Second))}},
		LastTerminationState: corev1.ContainerState{Terminated: terminated("before", 3, hour(650))},
	}))
	return p
}

func TestAPISourceRuns(t *testing.T) {
	for name, test := range map[string]struct {
		namespace string
		q         journal.Query
		want      int
		newest    string
	}{
		"all":                {"", journal.Query{}, 1301, "shop-a-650"},
		"a namespace":        {"shop", journal.Query{Namespace: "shop"}, 651, "shop-a-650"},
		"an owner":           {"shop", journal.Query{Namespace: "shop", OwnerKind: "CronJob", OwnerName: "b"}, 325, "shop-b-649"},
		"an object":          {"shop", journal.Query{Namespace: "shop", OwnerUID: "shopb"}, 325, "shop-b-649"},
		"another kind":       {"shop", journal.Query{Namespace: "shop", OwnerKind: "Timetable", OwnerName: "b"}, 0, ""},
		"failed":             {"", journal.Query{Outcomes: []run.Outcome{run.Failed}}, 7, "shop-b-607"},
		"active":             {"", journal.Query{Outcomes: []run.Outcome{run.Active}}, 1, "shop-a-650"},
		"the newest":         {"", journal.Query{Limit: 3}, 3, "shop-a-650"},
		"a span":             {"", journal.Query{Namespace: "web", From: hour(10), Until: hour(20)}, 10, "web-a-19"},
		"ended since":        {"", journal.Query{Namespace: "web", EndedFrom: hour(640).Add(time.Minute)}, 10, "web-a-649"},
		"a name":             {"shop", journal.Query{Namespace: "shop", Name: fmt.Sprintf("b-%d", hour(3).Unix()/60)}, 1, "shop-b-3"},
		"a name that is not": {"shop", journal.Query{Namespace: "shop", Name: "x,y=z"}, 0, ""},
		"a UID":              {"", journal.Query{UID: "web-a-5"}, 1, "web-a-5"},
	} {
		t.Run(name, func(t *testing.T) {
			runs, err := fleet().start(t, test.namespace).Runs(t.Context(), test.q)
			if err != nil || len(runs) != test.want {
				t.Fatalf("%d runs, %v", len(runs), err)
			}
			if len(runs) > 0 && string(runs[0].UID) != test.newest {
				t.Errorf("the newest is %s", runs[0].UID)
			}
			if !slices.IsSortedFunc(runs, NewestFirst) {
				t.Error("not newest first")
			}
		})
	}
}

// Of very many Jobs those are read that failed or run, and the answer says so; about one schedule all are.
func TestAPISourceBounds(t *testing.T) {
	p := fleet()
	half := jobOf("shop", "c", 1, "") // one of two Pods has succeeded
	half.Status.Succeeded = 1
	p.jobs = append(p.jobs, half)
	p.pods = append(p.pods, podOf(&half, corev1.PodRunning))
	s := p.start(t, "")
	s.most = 1000
	runs, err := s.Runs(t.Context(), journal.Query{})
	if err != nil || len(runs) != 9 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	if origin := s.Origin(t.Context()); !strings.Contains(origin, "of 1,302 Jobs only those were read that run or have failed") {
		t.Error(origin)
	}
	if runs, err = s.Runs(t.Context(), journal.Query{Namespace: "web", OwnerName: "a"}); err != nil || len(runs) != 650 {
		t.Errorf("of one schedule %d runs, %v", len(runs), err)
	}
	s = p.start(t, "")
	s.most = 1302
	if runs, err = s.Runs(t.Context(), journal.Query{}); err != nil || len(runs) != 1302 || strings.Contains(s.Origin(t.Context()), "only those") {
		t.Errorf("at the bound %d runs, %v: %s", len(runs), err, s.Origin(t.Context()))
	}
}

// What may not be read is left out and told; the rest is there.
func TestAPISourceForbidden(t *testing.T) {
	for resource, test := range map[string]struct {
		runs int
		told string
	}{
		"jobs":   {0, "Jobs are left out: no: Forbidden"},
		"pods":   {1301, "Pods are left out: no: Forbidden"},
		"events": {1301, "events are left out: no: Forbidden"},
	} {
		p := fleet()
		p.forbidden = []string{resource}
		s := p.start(t, "")
		runs, err := s.Runs(t.Context(), journal.Query{})
		if err != nil || len(runs) != test.runs {
			t.Errorf("%s: %d runs, %v", resource, len(runs), err)
		}
		if _, err := s.Omissions(t.Context(), journal.Query{}); err != nil {
			t.Errorf("%s: %v", resource, err)
		}
		r := run.FromJob(&p.jobs[len(p.jobs)-1])
		if _, err := s.Attempts(t.Context(), &r); err != nil {
			t.Errorf("%s: %v", resource, err)
		}
		if tail, err := s.Tail(t.Context(), &run.Attempt{Namespace: "shop", Pod: "none"}, 3); err != nil || tail != nil {
			t.Errorf("%s: %q, %v", resource, tail, err)
		}
		if origin := s.Origin(t.Context()); !strings.Contains(origin, test.told) {
			t.Errorf("%s: %s", resource, origin)
		}
	}
}

// A command that asks several times reads the Jobs once; one that watches reads them again.
func TestAPISourceAsksOnce(t *testing.T) {
	p := fleet()
	s := p.start(t, "")
	now := hour(700)
	s.now = func() time.Time { return now }
	lists := func() (n int) {
		for _, asked := range p.asked {
			if strings.HasPrefix(asked, "jobs") {
				n++
			}
		}
		return n
	}
	for _, q := range []journal.Query{{}, {Outcomes: []run.Outcome{run.Active}}, {Limit: 5}} {
		if _, err := s.Runs(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Usual(t.Context(), []types.UID{"shopa"}); err != nil {
		t.Fatal(err)
	}
	if lists() != 4 { // one to count them, three pages
		t.Errorf("%d lists: %q", lists(), p.asked)
	}
	now = now.Add(fresh)
	if _, err := s.Runs(t.Context(), journal.Query{}); err != nil || lists() != 8 {
		t.Errorf("%d lists, %v", lists(), err)
	}
}

func TestAPISourceUsual(t *testing.T) {
	usual, err := fleet().start(t, "").Usual(t.Context(), []types.UID{"shopa", "shopb", "nobody", ""})
	want := journal.Usual{Runs: 20, Median: time.Minute, Most: time.Minute}
	if err != nil || len(usual) != 2 || usual["shopa"] != want || usual["shopb"] != want {
		t.Errorf("%v, %v", usual, err)
	}
}

func TestAPISourceStatistics(t *testing.T) {
	s := fleet().start(t, "")
	runs, err := s.Runs(t.Context(), journal.Query{})
	if err != nil || len(runs) == 0 {
		t.Fatal(len(runs), err)
	}
	oldest, newest := runs[len(runs)-1].Time(), runs[0].Time()
	q := statistics.Query{Owners: true, Bounds: []time.Time{oldest, newest, newest.Add(time.Second)}}
	all, err := s.Statistics(t.Context(), q)
	if err != nil || all.Spans[0].Runs()+all.Spans[1].Runs() != len(runs) || all.Spans[1].Runs() == 0 || len(all.Owners) == 0 {
		t.Errorf("%+v, %v", all, err)
	}
	q.Namespace = "shop"
	own, err := s.Statistics(t.Context(), q)
	if err != nil || own.Spans[0].Runs() == 0 || own.Spans[0].Runs() >= all.Spans[0].Runs() {
		t.Errorf("%+v of %+v, %v", own, all, err)
	}
	if none, err := s.Statistics(t.Context(), statistics.Query{}); err != nil || len(none.Spans) != 0 {
		t.Errorf("%+v, %v", none, err)
	}
}

// A run is as long as what its Pods tell, also for what is usual: its Job has whole seconds.
func TestAPISourceDurations(t *testing.T) {
	p := &plane{jobs: []batchv1.Job{jobOf("shop", "a", 1, batchv1.JobComplete), jobOf("shop", "a", 2, "")}}
	ended := terminated("x", 0, hour(1).Add(-time.Second))
	ended.FinishedAt = metav1.NewTime(hour(1).Add(59 * time.Second))
	p.pods = []corev1.Pod{podOf(&p.jobs[0], corev1.PodSucceeded, corev1.ContainerStatus{Name: "main", State: corev1.ContainerState{Terminated: ended}})}
	late := metav1.NewTime(hour(1).Add(3 * time.Second))
	p.jobs[0].Status.StartTime = &late
	s := p.start(t, "")
	runs, err := s.Runs(t.Context(), journal.Query{Outcomes: []run.Outcome{run.Succeeded}})
	if err != nil || len(runs) != 1 || runs[0].Duration(hour(9)) != time.Minute || !runs[0].Started.Equal(ended.StartedAt.Time) {
		t.Errorf("%+v, %v", runs, err)
	}
	usual, err := s.Usual(t.Context(), []types.UID{"shopa"})
	if want := (journal.Usual{Runs: 1, Median: time.Minute, Most: time.Minute}); err != nil || usual["shopa"] != want {
		t.Errorf("%+v, %v", usual, err)
	}
}

func TestAPISourceAttemptsAndLogs(t *testing.T) {
	p := fleet()
	stamp := "2026-11-01T00:00:00.5Z "
	p.logs = map[string]string{
		"a-" + fmt.Sprint(hour(650).Unix()/60) + "-p/main":          stamp + "one\n" + stamp + "two\n" + stamp + "three\n",
		"a-" + fmt.Sprint(hour(650).Unix()/60) + "-p/main/previous": stamp + "before\n",
	}
	s := p.start(t, "shop")
	runs, err := s.Runs(t.Context(), journal.Query{Namespace: "shop", Outcomes: []run.Outcome{run.Active}})
	if err != nil || len(runs) != 1 || runs[0].Attempts != 1 || runs[0].ExitCode == nil || *runs[0].ExitCode != 3 {
		t.Fatalf("%+v, %v", runs, err)
	}
	attempts, err := s.Attempts(t.Context(), &runs[0])
	if err != nil || len(attempts) != 2 || attempts[0].ContainerID != "before" || attempts[1].ContainerID != "now" || attempts[1].RunUID != runs[0].UID {
		t.Fatalf("%+v, %v", attempts, err)
	}
	for i, want := range []string{"2026-11-01T00:00:00.5Z stdout F before\n", "2026-11-01T00:00:00.5Z stdout F one\n2026-11-01T00:00:00.5Z stdout F two\n2026-11-01T00:00:00.5Z stdout F three\n"} {
		log, err := s.Log(t.Context(), &attempts[i])
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(log); err != nil || string(got) != want {
			t.Errorf("log %d: %q, %v", i, got, err)
		}
		_ = log.Close()
	}
	if tail, err := s.Tail(t.Context(), &attempts[1], 1); err != nil || string(tail) != "2026-11-01T00:00:00.5Z stdout F three\n" {
		t.Errorf("%q, %v", tail, err)
	}
	for name, a := range map[string]run.Attempt{
		"another container": {Namespace: "shop", Pod: attempts[0].Pod, PodUID: attempts[0].PodUID, Container: "main", ContainerID: "older"},
		"another Pod":       {Namespace: "shop", Pod: attempts[0].Pod, PodUID: "other", Container: "main", ContainerID: "now"},
		"no Pod":            {Namespace: "shop", Pod: "gone", Container: "main", ContainerID: "now"},
	} {
		if _, err := s.Log(t.Context(), &a); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
		if tail, err := s.Tail(t.Context(), &a, 3); tail != nil || err != nil {
			t.Errorf("%s: %q, %v", name, tail, err)
		}
	}
	p.logs["a-"+fmt.Sprint(hour(650).Unix()/60)+"-p/main"] = "unable to retrieve container logs for x://now"
	if _, err := s.Log(t.Context(), &attempts[1]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a kubelet says of a lost log: %v", err)
	}
}

func TestAPISourceOmissions(t *testing.T) {
	p := fleet()
	tell := func(owner, reason, message string, seen time.Time) {
		p.events = append(p.events, corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("e", len(p.events))}, Reason: reason, Message: message, LastTimestamp: metav1.NewTime(seen),
			InvolvedObject: corev1.ObjectReference{APIVersion: "batch/v1", Kind: "CronJob", Namespace: "shop", Name: owner, UID: types.UID("shop" + owner)}})
	}
	half := func(n int) string { return hour(n).Add(30 * time.Minute).Format(time.RFC3339) }
	tell("a", "MissSchedule", "The scheduled time "+half(3)+" was not started, reason deadline: too late", hour(4))
	tell("a", "MissSchedule", "3 scheduled times from "+half(5)+" to "+half(7)+" were not started, reason outage: nobody looked", hour(8))
	tell("b", "MissSchedule", "Missed scheduled time to start a job: Sun, 01 Nov 2026 09:30:00 +0000", hour(10))
	tell("a", "JobAlreadyActive", "Not starting the run of "+half(11)+": Job a-1 is not finished and concurrencyPolicy is Forbid", hour(11))
	tell("a", "JobAlreadyActive", "Not starting the run of "+half(11)+": Job a-1 is not finished, nor are 2 more", hour(11))
	tell("a", "JobAlreadyActive", "Not starting the run of "+hour(12).Format(time.RFC3339)+": it came late", hour(12)) // and has a run
	tell("a", "JobAlreadyActive", "Not starting the run of "+half(900)+": it may still come", hour(900))
	tell("a", "JobAlreadyActive", "Not starting job because prior execution is running", hour(13))
	tell("a", "SawCompletedJob", "Saw completed job at "+half(3), hour(3))
	for name, test := range map[string]struct {
		q    journal.Query
		want []string
	}{
		"all":             {journal.Query{}, []string{"a 11:30 Overlap false 1", "b 09:30 Deadline true 1", "a 05:30 Outage true 3", "a 03:30 Deadline true 1"}},
		"an owner":        {journal.Query{Namespace: "shop", OwnerKind: "CronJob", OwnerName: "b"}, []string{"b 09:30 Deadline true 1"}},
		"a span":          {journal.Query{From: hour(5), Until: hour(9)}, []string{"a 05:30 Outage true 3"}},
		"the newest":      {journal.Query{Limit: 1}, []string{"a 11:30 Overlap false 1"}},
		"of a Job":        {journal.Query{Name: "a"}, nil},
		"of Timetables":   {journal.Query{OwnerKind: "Timetable"}, nil},
		"since":           {journal.Query{EndedFrom: hour(11)}, []string{"a 11:30 Overlap false 1"}},
		"another place":   {journal.Query{Namespace: "web"}, nil},
		"of some outcome": {journal.Query{Outcomes: []run.Outcome{run.Failed}}, nil},
	} {
		found, err := p.start(t, "").Omissions(t.Context(), test.q)
		var got []string
		for _, o := range found {
			got = append(got, fmt.Sprintf("%s %s %s %t %d", o.Owner.Name, o.ScheduledTime.Format("15:04"), o.Reason, o.Missed, o.Count))
		}
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

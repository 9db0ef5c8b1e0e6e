// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

var (
	jobResource       = batchv1.SchemeGroupVersion.WithResource("jobs")
	timetableResource = v1alpha1.GroupVersion.WithResource("timetables")
)

// waitPlane is an API server with objects, in a bubble of testing/synctest.
type waitPlane struct {
	t      *testing.T
	client *fake.FakeDynamicClient
	server *cluster.Server
}

func newWaitPlane(t *testing.T, objects ...runtime.Object) *waitPlane {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{batchv1.AddToScheme, corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{batchv1.SchemeGroupVersion, v1alpha1.GroupVersion})
	mapper.Add(batchv1.SchemeGroupVersion.WithKind("Job"), meta.RESTScopeNamespace)
	mapper.Add(batchv1.SchemeGroupVersion.WithKind("CronJob"), meta.RESTScopeNamespace)
	mapper.Add(v1alpha1.GroupVersion.WithKind("Timetable"), meta.RESTScopeNamespace)
	client := fake.NewSimpleDynamicClient(scheme, objects...)
	names := metadatafake.NewSimpleMetadataClient(scheme)
	names.PrependReactor("list", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		list, err := client.Resource(a.GetResource()).Namespace(a.GetNamespace()).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return true, nil, err
		}
		named := &metav1.List{}
		for i := range list.Items {
			o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: list.Items[i].GetName()}}
			named.Items = append(named.Items, runtime.RawExtension{Object: o})
		}
		return true, named, nil
	})
	return &waitPlane{t, client, &cluster.Server{Client: client, Metadata: names, Mapper: mapper, Namespace: "default"}}
}

// job is a Job of cronjob/backup, or of timetable/report, in a state: "", "Complete" or "Failed".
func (p *waitPlane) job(name, owner, state string) *unstructured.Unstructured {
	p.t.Helper()
	j := &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name), CreationTimestamp: metav1.Now()},
	}
	controller := true
	switch owner {
	case "backup":
		j.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: owner, UID: "backup", Controller: &controller}}
	case "report":
		j.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Timetable", Name: owner, UID: "report", Controller: &controller}}
		j.Labels = map[string]string{v1alpha1.LabelTimetableUID: "report"}
		j.Annotations = map[string]string{v1alpha1.AnnotationScheduledTime: logsNow.Format(time.RFC3339)}
	}
	if state != "" {
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobConditionType(state), Status: corev1.ConditionTrue, Reason: "Because", LastTransitionTime: metav1.Now()}}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(j)
	if err != nil {
		p.t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}

func (p *waitPlane) must(_ *unstructured.Unstructured, err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	synctest.Wait()
}

func (p *waitPlane) create(name, owner string) {
	p.t.Helper()
	p.must(p.client.Resource(jobResource).Namespace("default").Create(p.t.Context(), p.job(name, owner, ""), metav1.CreateOptions{}))
}

func (p *waitPlane) end(name, owner, state string) {
	p.t.Helper()
	p.must(p.client.Resource(jobResource).Namespace("default").Update(p.t.Context(), p.job(name, owner, state), metav1.UpdateOptions{}))
}

func (p *waitPlane) remove(name string) {
	p.t.Helper()
	p.must(nil, p.client.Resource(jobResource).Namespace("default").Delete(p.t.Context(), name, metav1.DeleteOptions{}))
}

// decide makes a Timetable as it is given.
func (p *waitPlane) decide(tt *v1alpha1.Timetable) {
	p.t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(tt)
	if err != nil {
		p.t.Fatal(err)
	}
	p.must(p.client.Resource(timetableResource).Namespace("default").Update(p.t.Context(), &unstructured.Unstructured{Object: content}, metav1.UpdateOptions{}))
}

func waitCronJob() runtime.Object {
	return &batchv1.CronJob{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"},
		ObjectMeta: metav1.ObjectMeta{Name: "backup", Namespace: "default", UID: "backup"}, Spec: batchv1.CronJobSpec{Schedule: "0 2 * * *"}}
}

// waitTimetable tries again what fails. active: its scheduled time has no result.
func waitTimetable(active bool) *v1alpha1.Timetable {
	tt := &v1alpha1.Timetable{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Timetable"},
		ObjectMeta: metav1.ObjectMeta{Name: "report", Namespace: "default", UID: "report"},
	}
	tt.Spec.Schedules = []v1alpha1.Schedule{{Cron: "0 12 * * *"}}
	tt.Spec.Retry = &v1alpha1.Retry{Limit: 1}
	tt.Spec.Template.Spec.Raw = []byte(`{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}`)
	if active {
		tt.Status.Active = []v1alpha1.ActiveRun{{Name: "report-1", ScheduledTime: metav1.NewTime(logsNow), Attempt: 1}}
	}
	return tt
}

// heldTimetable is one of which no run starts by itself.
func heldTimetable() *v1alpha1.Timetable {
	tt := waitTimetable(false)
	tt.Name, tt.UID, tt.Spec.Suspend = "held", "held", true
	return tt
}

// What waiting ends with, and what is said then.
func TestWait(t *testing.T) {
	for name, test := range map[string]struct {
		args    string
		objects []runtime.Object
		memory  []run.Run
		set     func(w *wait)
		then    func(p *waitPlane, m *runMemory)
		code    int
		said    string
		notice  string // while it waits
		result  string // of all, and of each
	}{
		"a Job that becomes complete": {
			args: "job/a", then: func(p *waitPlane, _ *runMemory) { p.end("a", "", "Complete") }, result: "Succeeded Succeeded",
		},
		"a Job that fails": {
			args: "job/a", then: func(p *waitPlane, _ *runMemory) { p.end("a", "", "Failed") },
			code: 1, said: "job/a failed: Because after 0s", result: "Failed Failed",
		},
		"a Job that is deleted as soon as it has ended": {
			args: "job/a", then: func(p *waitPlane, _ *runMemory) { p.end("a", "", "Complete"); p.remove("a") }, result: "Succeeded Succeeded",
		},
		"a Job that is deleted before": {
			args: "job/a", then: func(p *waitPlane, _ *runMemory) { p.remove("a"); <-time.After(time.Minute) },
			code: 1, said: "job/a was deleted before it had ended", result: "Gone Gone",
		},
		"a Job that is deleted, and whose end is remembered": {
			args: "job/a", then: func(p *waitPlane, m *runMemory) {
				p.remove("a")
				m.remember(run.Run{UID: "a", APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: "a", Outcome: run.Succeeded})
				<-time.After(time.Minute)
			}, result: "Succeeded Succeeded",
		},
		"a Job that is gone already": {
			args: "job/b", memory: []run.Run{{UID: "b", APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: "b", Outcome: run.Failed, Reason: "Because"}},
			code: 1, said: "job/b failed: Because", result: "Failed Failed",
		},
		"a Job that is not there": {args: "job/x", code: 2, said: "there is no job/x in namespace default; did you mean job/a or job/b?"},
		"the time is up": {
			args: "job/a", set: func(w *wait) { w.timeout = time.Minute }, then: func(*waitPlane, *runMemory) { <-time.After(2 * time.Minute) },
			code: 124, said: "gave up after 1m0s: job/a has not ended (not begun yet)", result: "Timeout Timeout",
		},
		"two, of which one fails": {
			args: "job/a job/b", then: func(p *waitPlane, _ *runMemory) { p.end("b", "", "Failed"); p.end("a", "", "Complete") },
			code: 1, said: "job/b failed: Because after 0s", result: "Failed Succeeded Failed",
		},
		"two, of which one ends in time": {
			args: "job/a job/b", set: func(w *wait) { w.timeout = time.Minute },
			then: func(p *waitPlane, _ *runMemory) { p.end("b", "", "Complete"); <-time.After(2 * time.Minute) },
			code: 124, said: "gave up after 1m0s: job/a has not ended (not begun yet)", result: "Timeout Timeout Succeeded",
		},
		"the first of two": {
			args: "job/a job/b", set: func(w *wait) { w.any = true },
			then: func(p *waitPlane, _ *runMemory) { p.end("b", "", "Complete") }, result: "Succeeded Waiting Succeeded",
		},
		"the next run of a CronJob, gone at once": {
			args: "cronjob/backup", then: func(p *waitPlane, _ *runMemory) {
				p.create("backup-1", "backup")
				p.end("backup-1", "backup", "Failed")
				p.remove("backup-1")
			},
			code: 1, said: "job/backup-1 of cronjob/backup failed: Because after 0s", result: "Failed Failed",
		},
		"not a Job of somebody else's": {
			args: "cronjob/backup", set: func(w *wait) { w.timeout = time.Minute },
			then: func(p *waitPlane, _ *runMemory) { p.end("a", "", "Complete"); <-time.After(2 * time.Minute) },
			code: 124, said: "gave up after 1m0s: cronjob/backup has not ended (no run has begun)", result: "Timeout Timeout",
		},
		"a Timetable that is suspended": {
			args: "timetable/held", objects: []runtime.Object{heldTimetable()}, set: func(w *wait) { w.timeout = time.Minute },
			then: func(*waitPlane, *runMemory) { <-time.After(2 * time.Minute) }, notice: "no run of timetable/held starts by itself: it is suspended; waiting for one\n",
			code: 124, said: "gave up after 1m0s: timetable/held has not ended (no run has begun, and none starts by itself: it is suspended)", result: "Timeout Timeout",
		},
		"a scheduled time that is remembered": {
			args: "cronjob/backup", set: func(w *wait) { w.at = "2026-05-02 02:00" }, memory: []run.Run{backupRun(2, run.Succeeded)}, result: "Succeeded Succeeded",
		},
		"a run that is tried again": {
			args: "timetable/report", then: func(p *waitPlane, _ *runMemory) {
				p.create("report-1", "report")
				p.end("report-1", "report", "Failed")
				<-time.After(time.Minute)
				p.create("report-1-r2", "report")
				p.decide(waitTimetable(false))
				p.end("report-1-r2", "report", "Complete")
			}, result: "Succeeded Succeeded",
		},
		"interrupted": {args: "job/a", then: func(*waitPlane, *runMemory) {}, code: 130, result: "Interrupted Interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newWaitPlane(t, append(test.objects, waitCronJob(), waitTimetable(true))...)
				p.create("a", "")
				if name != "a Job that is gone already" {
					p.create("b", "")
				}
				m := &runMemory{runs: test.memory}
				var out, said bytes.Buffer
				w := &wait{streams: Streams{Out: &out, Err: &said}, clock: time.Now}
				w.output.JSON = true
				if test.set != nil {
					test.set(w)
				}
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				done := make(chan error, 1)
				go func() { done <- w.runOn(ctx, m, p.server, strings.Fields(test.args)) }()
				synctest.Wait()
				if test.then != nil {
					test.then(p, m)
				}
				synctest.Wait()
				if test.code == exitcode.Interrupted {
					interrupt()
				}
				err := <-done
				var e *exitcode.Error
				text := ""
				if errors.As(err, &e) && e.Err != nil {
					text = e.Error()
				}
				if (err == nil) != (test.code == 0) || e != nil && e.Code != test.code || text != test.said {
					t.Errorf("got %+v, %q; want exit code %d, %q", err, text, test.code, test.said)
				}
				if got := resultsIn(t, &out); got != test.result {
					t.Errorf("results %q, want %q", got, test.result)
				}
				if said.String() != test.notice {
					t.Errorf("said %q", &said)
				}
			})
		})
	}
}

// resultsIn are the words of a document.
func resultsIn(t *testing.T, out *bytes.Buffer) string {
	t.Helper()
	if out.Len() == 0 {
		return ""
	}
	var doc struct {
		Result string
		Items  []struct{ Result string }
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	words := []string{doc.Result}
	for _, item := range doc.Items {
		words = append(words, item.Result)
	}
	return strings.Join(words, " ")
}

func TestWaitRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"":                               "name what to wait for: job/NAME, cronjob/NAME or timetable/NAME",
		"job/a nothing":                  `"nothing" names no object: write cronjob/NAME, timetable/NAME (tt/NAME) or job/NAME`,
		"job/a --next":                   "--next and --run are for CronJobs and Timetables: a Job runs once",
		"cronjob/a --next --run 02:00":   "--run names one run; leave out --next",
		"cronjob/a --timeout -1s":        "--timeout is a time, such as 10m",
		"cronjob/a job/a --run tomorrow": "--next and --run are for CronJobs and Timetables: a Job runs once",
	} {
		cmd := newWaitAt(Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}, time.Now)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(strings.Fields(args))
		err := cmd.ExecuteContext(t.Context())
		var e *exitcode.Error
		if !errors.As(err, &e) || e.Code != exitcode.Usage || e.Error() != want {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// now is the present of most scenes: a Monday, a quarter past nine in Rome.
var now = instant("2026-11-23T08:15:00Z")

func instant(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t.UTC()
}

func at(text string) metav1.Time { return metav1.NewTime(instant(text)) }

func atp(text string) *metav1.Time { return new(at(text)) }

// cronJob is a backup at two every night in Rome, which has run for long, and last this night, by one who changes it.
func cronJob(change func(*batchv1.CronJob)) *batchv1.CronJob {
	c := &batchv1.CronJob{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"},
		ObjectMeta: metav1.ObjectMeta{Name: "backup", Namespace: "data", UID: "backup-uid", Generation: 1, CreationTimestamp: at("2026-06-01T10:00:00Z"),
			ManagedFields: []metav1.ManagedFieldsEntry{managed("kubectl-client-side-apply", "2026-06-01T10:00:00Z", "", `{"f:spec":{"f:schedule":{},"f:timeZone":{},"f:suspend":{},"f:concurrencyPolicy":{}}}`)}},
		Spec: batchv1.CronJobSpec{
			Schedule: "0 2 * * *", TimeZone: new("Europe/Rome"), ConcurrencyPolicy: batchv1.AllowConcurrent, Suspend: new(false),
			SuccessfulJobsHistoryLimit: new(int32(3)), FailedJobsHistoryLimit: new(int32(1)),
		},
		Status: batchv1.CronJobStatus{LastScheduleTime: atp("2026-11-23T01:00:00Z"), LastSuccessfulTime: atp("2026-11-23T01:04:10Z")},
	}
	if change != nil {
		change(c)
	}
	return c
}

func managed(manager, when, subresource, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "batch/v1", Time: atp(when),
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields), Subresource: subresource}
}

// run is a Job of the backup, made for a scheduled time at an instant.
func run(scheduled, created string, change func(*batchv1.Job)) *batchv1.Job {
	t := instant(scheduled)
	j := &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("backup-%d", t.Unix()/60), Namespace: "data", CreationTimestamp: at(created),
			Annotations:     map[string]string{batchv1.CronJobScheduledTimestampAnnotation: t.Format(time.RFC3339)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "backup-uid", Controller: new(true)}},
		},
		Spec:   batchv1.JobSpec{Parallelism: new(int32(1)), Completions: new(int32(1)), BackoffLimit: new(int32(6))},
		Status: batchv1.JobStatus{StartTime: atp(created), Active: 1},
	}
	j.UID = types.UID(j.Name + "-uid")
	if change != nil {
		change(j)
	}
	return j
}

func complete(when string) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Status.Active, j.Status.Succeeded, j.Status.CompletionTime = 0, 1, atp(when)
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: at(when)}}
	}
}

func failed(when, reason, message string) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Status.Active, j.Status.Failed = 0, 1
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, LastTransitionTime: at(when), Reason: reason, Message: message}}
	}
}

func both(changes ...func(*batchv1.Job)) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		for _, change := range changes {
			change(j)
		}
	}
}

func byHand(j *batchv1.Job) {
	j.Name, j.UID = "backup-now", "backup-now-uid"
	j.Annotations = map[string]string{"cronjob.kubernetes.io/instantiate": "manual"}
}

// podOf is a Pod of a Job.
func podOf(j *batchv1.Job, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: j.Name + "-x7k2p", Namespace: j.Namespace, UID: types.UID(j.Name + "-pod-uid"), CreationTimestamp: j.CreationTimestamp,
			Labels:          map[string]string{batchv1.JobNameLabel: j.Name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: j.Name, UID: j.UID, Controller: new(true)}}},
		Spec:   corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "main", Image: "registry.example/backup:1"}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	change(p)
	return p
}

func waiting(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}
	}
}

func exited(code int32, reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodFailed
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message, FinishedAt: p.CreationTimestamp}}}}
	}
}

func running(p *corev1.Pod) {
	p.Status.Phase, p.Status.StartTime = corev1.PodRunning, new(p.CreationTimestamp)
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: p.CreationTimestamp}}}}
}

func unschedulable(p *corev1.Pod) {
	p.Spec.NodeName = ""
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		Message: "0/3 nodes are available: 3 Insufficient memory.", LastTransitionTime: p.CreationTimestamp}}
}

// said is an event about an object.
func said(kind, name, when, eventType, reason, message string) *corev1.Event {
	return &corev1.Event{
		TypeMeta:       metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta:     metav1.ObjectMeta{Name: name + "." + reason + when, Namespace: "data", UID: types.UID("event-" + reason + when + name), CreationTimestamp: at(when)},
		InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name, Namespace: "data"},
		Type:           eventType, Reason: reason, Message: message, FirstTimestamp: at(when), LastTimestamp: at(when), Count: 1,
	}
}

func leaseOf(name, namespace, holder, renewed string) *coordinationv1.Lease {
	return &coordinationv1.Lease{TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new(holder), LeaseDurationSeconds: new(int32(15)), RenewTime: new(metav1.NewMicroTime(instant(renewed)))}}
}

var (
	kubernetesWorks = leaseOf("kube-controller-manager", "kube-system", "control-plane-1", "2026-11-23T08:14:58Z")
	nobodyWorks     = leaseOf("kube-controller-manager", "kube-system", "control-plane-1", "2026-11-22T22:00:00Z")
	carillonWorks   = leaseOf("carillon-manager", "carillon", "carillon-0", "2026-11-23T08:14:58Z")
)

// timetableOf is an hourly report.
func timetableOf(change func(*v1alpha1.Timetable)) *v1alpha1.Timetable {
	t := &v1alpha1.Timetable{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch.carillon.dev/v1alpha1", Kind: "Timetable"},
		ObjectMeta: metav1.ObjectMeta{Name: "report", Namespace: "data", UID: "report-uid", Generation: 2, CreationTimestamp: at("2026-06-01T10:00:00Z")},
		Spec: v1alpha1.TimetableSpec{
			Schedules: []v1alpha1.Schedule{{Cron: "0 * * * *"}}, TimeZone: "Europe/Rome",
			Template: v1alpha1.RunTemplate{Spec: runtime.RawExtension{Raw: []byte(`{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"registry.example/report:1"}]}}}`)}},
		},
		Status: v1alpha1.TimetableStatus{ObservedGeneration: 2, Cursor: atp("2026-11-23T08:00:00Z"), LastScheduleTime: atp("2026-11-23T08:00:00Z"),
			Counts: v1alpha1.Counts{Started: 4000, Succeeded: 3990, Failed: 10, Skipped: 12, Missed: 3}},
	}
	if change != nil {
		change(t)
	}
	return t
}

// reportRun is a Job of the report.
func reportRun(scheduled, created, trigger string, attempt int, change func(*batchv1.Job)) *batchv1.Job {
	t := instant(scheduled)
	return run(scheduled, created, func(j *batchv1.Job) {
		j.Name = "report-" + t.Format("20060102-150405")
		if attempt > 1 {
			j.Name += fmt.Sprintf("-r%d", attempt)
		}
		j.UID = types.UID(j.Name + "-uid")
		j.Annotations = map[string]string{v1alpha1.AnnotationScheduledTime: t.Format(time.RFC3339), v1alpha1.AnnotationAttempt: fmt.Sprint(attempt)}
		j.Labels = map[string]string{v1alpha1.LabelTimetableUID: "report-uid", v1alpha1.LabelTimetableName: "report", v1alpha1.LabelTrigger: trigger}
		j.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch.carillon.dev/v1alpha1", Kind: "Timetable", Name: "report", UID: "report-uid", Controller: new(true)}}
		if change != nil {
			change(j)
		}
	})
}

// volcano is an object of Volcano; a Job is controlled by the CronJob train.
func volcano(kind, name string, spec, status map[string]any) map[string]any {
	metadata := map[string]any{"name": name, "namespace": "data", "uid": name + "-uid", "creationTimestamp": "2026-11-23T08:00:00Z"}
	if kind == "Job" {
		metadata["annotations"] = map[string]any{"volcano.sh/cronjob-scheduled-timestamp": "2026-11-23T08:00:00Z"}
		metadata["ownerReferences"] = []any{map[string]any{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "CronJob", "name": "train", "uid": "train-uid", "controller": true}}
	}
	return map[string]any{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec, "status": status}
}

// content makes an object as an API server gives it.
func content(object any) *unstructured.Unstructured {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		panic(err)
	}
	return u
}

func read(tb interface{ Fatal(...any) }, objects ...any) *workload.Objects {
	var all []workload.Object
	for _, o := range objects {
		all = append(all, workload.Object{Content: content(o)})
	}
	read, err := workload.Read(all, workload.Options{Namespace: "data"})
	if err != nil {
		tb.Fatal(err)
	}
	return read
}

// evidence is what there is of the first CronJob or Timetable, or of a Job, if all that is kept was looked at.
func evidence(tb testing.TB, job string, objects ...any) *diagnosis.Evidence {
	tb.Helper()
	all := read(tb, objects...)
	var scheduled *workload.Scheduled
	if job == "" {
		scheduled = all.Scheduled[0]
	}
	e := diagnosis.Gather(all, scheduled, "data", job)
	e.Now, e.Read = now, diagnosis.Kinds{Jobs: true, Pods: true, Events: true, Leases: true}
	return e
}

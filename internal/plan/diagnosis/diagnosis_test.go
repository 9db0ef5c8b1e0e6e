// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	runs "github.com/carillon-dev/carillon/internal/plan/run"
)

var update = flag.Bool("update", false, "write the golden files")

type objects = []any

// scene is a situation and a question about it.
type scene struct {
	objects objects
	job     string // the Job that is asked about
	at      string
	change  func(*diagnosis.Evidence)
	verdict diagnosis.Verdict
	reason  string
}

func forbid(c *batchv1.CronJob) { c.Spec.ConcurrencyPolicy = batchv1.ForbidConcurrent }

func every10(c *batchv1.CronJob) {
	forbid(c)
	c.Spec.Schedule, c.Spec.TimeZone = "*/10 * * * *", nil
	c.Status.LastScheduleTime = atp("2026-11-23T08:00:00Z")
}

var (
	night     = run("2026-11-23T01:00:00Z", "2026-11-23T01:00:01Z", complete("2026-11-23T01:04:10Z"))
	nightOOM  = run("2026-11-23T01:00:00Z", "2026-11-23T01:00:01Z", failed("2026-11-23T01:40:00Z", "BackoffLimitExceeded", "Job has reached the specified backoff limit"))
	stuck     = run("2026-11-23T08:00:00Z", "2026-11-23T08:00:00Z", nil)
	lateNight = run("2026-11-23T01:00:00Z", "2026-11-23T01:25:10Z", complete("2026-11-23T01:30:00Z"))
	quota     = &corev1.ResourceQuota{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuota"}, ObjectMeta: metav1.ObjectMeta{Name: "small", Namespace: "data"},
		Status: corev1.ResourceQuotaStatus{Hard: corev1.ResourceList{"count/jobs.batch": resource.MustParse("5")}, Used: corev1.ResourceList{"count/jobs.batch": resource.MustParse("5")}}}
)

func lastNight(c *batchv1.CronJob) {
	c.Status.LastScheduleTime, c.Status.LastSuccessfulTime = atp("2026-11-22T01:00:00Z"), atp("2026-11-22T01:04:00Z")
}

func condition(kind, status, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message, ObservedGeneration: 2, LastTransitionTime: at("2026-11-23T06:00:00Z")}
}

func ledger(entries ...v1alpha1.LedgerEntry) func(*v1alpha1.Timetable) {
	return func(t *v1alpha1.Timetable) { t.Status.Ledger = entries }
}

// counted is an event that stands for several.
func counted(e *corev1.Event, last string, count int32) *corev1.Event {
	e.LastTimestamp, e.Count = at(last), count
	return e
}

// everyTen has run last at seven, UTC.
func everyTen(c *batchv1.CronJob) {
	every10(c)
	c.Status.LastScheduleTime = atp("2026-11-23T07:00:00Z")
}

const alreadyActive = "Not starting job because prior execution is running and concurrency policy is Forbid"

var scenes = map[string]scene{
	"late, long after overlap": {objects: objects{cronJob(forbid), run("2026-11-22T01:00:00Z", "2026-11-22T01:00:00Z", complete("2026-11-23T01:01:00Z")), lateNight}, at: "02:00", verdict: diagnosis.RanLate, reason: "Unknown"},
	"timetable, made up for, and not held up": {objects: objects{timetableOf(nil), reportRun("2026-11-23T06:00:00Z", "2026-11-23T06:00:00Z", "schedule", 1, complete("2026-11-23T07:39:50Z")), reportRun("2026-11-23T07:00:00Z", "2026-11-23T07:40:00Z", "catch-up", 1, complete("2026-11-23T07:41:00Z"))},
		at: "08:00", verdict: diagnosis.RanLate, reason: "CatchUp"},
	"skipped, an event was counted twice":      {objects: objects{cronJob(everyTen), counted(said("CronJob", "backup", "2026-11-23T06:00:00Z", "Normal", "JobAlreadyActive", alreadyActive), "2026-11-23T06:50:00Z", 2)}, at: "06:20", verdict: diagnosis.Skipped, reason: "Overlap"},
	"skipped, an event was counted each time":  {objects: objects{cronJob(everyTen), counted(said("CronJob", "backup", "2026-11-23T06:00:00Z", "Normal", "JobAlreadyActive", alreadyActive), "2026-11-23T06:50:00Z", 6)}, at: "06:20", verdict: diagnosis.Skipped, reason: "Overlap"},
	"now, too late, and what runs began later": {objects: objects{cronJob(func(c *batchv1.CronJob) { every10(c); c.Spec.StartingDeadlineSeconds = new(int64(60)) }), run("2026-11-23T08:00:00Z", "2026-11-23T08:12:00Z", nil), kubernetesWorks}, verdict: diagnosis.Missed, reason: "Deadline"},
	"now, too late, after what ended since":    {objects: objects{cronJob(func(c *batchv1.CronJob) { every10(c); c.Spec.StartingDeadlineSeconds = new(int64(60)) }), run("2026-11-23T08:00:00Z", "2026-11-23T08:00:00Z", complete("2026-11-23T08:14:00Z")), kubernetesWorks}, verdict: diagnosis.Missed, reason: "Deadline"},
	"now, a run by hand blocks Carillon":       {objects: objects{cronJob(every10), run("2026-11-23T07:30:00Z", "2026-11-23T08:05:20Z", byHand), carillonWorks}, verdict: diagnosis.Waits, reason: "Overlap"},
	"forgotten, no failure":                    {objects: objects{cronJob(func(c *batchv1.CronJob) { c.Spec.SuccessfulJobsHistoryLimit = new(int32(0)) }), run("2026-11-20T01:00:00Z", "2026-11-20T01:00:01Z", failed("2026-11-20T01:40:00Z", "BackoffLimitExceeded", ""))}, at: "2026-11-22 02:00", verdict: diagnosis.CannotTell, reason: "Forgotten"},
	"forgotten, no older run":                  {objects: objects{cronJob(nil), night}, at: "2026-11-22 02:00", verdict: diagnosis.CannotTell, reason: "Forgotten"},
	"missed, suspended only later": {objects: objects{cronJob(func(c *batchv1.CronJob) {
		lastNight(c)
		c.Spec.Suspend = new(true)
		c.ManagedFields = append(c.ManagedFields, managed("kubectl-patch", "2026-11-23T08:00:00Z", "", `{"f:spec":{"f:suspend":{}}}`))
	})}, at: "02:00", verdict: diagnosis.Suspended, reason: "Suspended"},
	"gone, an event without times": {objects: objects{cronJob(every10), func() *corev1.Event {
		e := said("CronJob", "backup", "2026-11-23T08:00:00Z", "Normal", "SuccessfulCreate", "Created job backup-29923680")
		e.FirstTimestamp, e.LastTimestamp, e.CreationTimestamp = metav1.Time{}, metav1.Time{}, metav1.Time{}
		return e
	}()}, at: "08:00", verdict: diagnosis.Ran},
	"job, written by several": {objects: objects{run("2026-11-23T07:30:00Z", "2026-11-23T07:30:20Z", func(j *batchv1.Job) {
		complete("2026-11-23T07:31:00Z")(j)
		j.Name, j.OwnerReferences, j.Annotations = "import", nil, nil
		j.ManagedFields = []metav1.ManagedFieldsEntry{managed("kubectl-edit", "2026-11-23T07:30:40Z", "", `{}`), managed("argocd", "2026-11-23T07:30:20Z", "", `{}`)}
	})}, job: "import", verdict: diagnosis.Succeeded},
	"now, a name that a shell reads": {objects: objects{cronJob(func(c *batchv1.CronJob) { c.Name, c.Namespace = "back up;id", "da'ta" })}, verdict: diagnosis.NotDue},
	"on time":                        {objects: objects{cronJob(nil), night}, at: "02:00", verdict: diagnosis.RanOnTime},
	"late, nothing tells":            {objects: objects{cronJob(nil), lateNight}, at: "02:00", verdict: diagnosis.RanLate, reason: "Unknown"},
	"late, after overlap":            {objects: objects{cronJob(forbid), run("2026-11-22T01:00:00Z", "2026-11-22T01:00:00Z", complete("2026-11-23T01:25:08Z")), lateNight}, at: "02:00", verdict: diagnosis.RanLate, reason: "Overlap"},
	"late, after a resume": {objects: objects{cronJob(func(c *batchv1.CronJob) {
		c.ManagedFields = append(c.ManagedFields, managed("kubectl-patch", "2026-11-23T01:25:09Z", "", `{"f:spec":{"f:suspend":{}}}`))
	}), lateNight}, at: "02:00", verdict: diagnosis.RanLate, reason: "Suspended"},
	"late, creates refused": {objects: objects{cronJob(nil), lateNight,
		said("CronJob", "backup", "2026-11-23T01:00:01Z", "Warning", "FailedCreate", `Job backup-29923260 cannot be created: exceeded quota: small, requested: count/jobs.batch=1`)}, at: "02:00", verdict: diagnosis.RanLate, reason: "CreateFailed"},
	"by hand":                   {objects: objects{cronJob(nil), night, run("2026-11-23T07:30:00Z", "2026-11-23T07:30:20Z", both(byHand, complete("2026-11-23T07:31:00Z")))}, at: "08:30", verdict: diagnosis.RanByHand, reason: "Manual"},
	"gone, an event tells":      {objects: objects{cronJob(every10), said("CronJob", "backup", "2026-11-23T08:00:00Z", "Normal", "SuccessfulCreate", "Created job backup-29923680"), said("CronJob", "backup", "2026-11-23T08:02:00Z", "Normal", "SawCompletedJob", "Saw completed job: backup-29923680, condition: Complete")}, at: "08:00", verdict: diagnosis.RanOnTime},
	"gone, the status tells":    {objects: objects{cronJob(nil)}, at: "02:00", verdict: diagnosis.Ran},
	"skipped, overlap by event": {objects: objects{cronJob(func(c *batchv1.CronJob) { every10(c); c.Status.LastScheduleTime = atp("2026-11-23T08:10:00Z") }), said("CronJob", "backup", "2026-11-23T08:00:00Z", "Normal", "JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid")}, at: "08:00", verdict: diagnosis.Skipped, reason: "Overlap"},
	"skipped, overlap inferred": {objects: objects{cronJob(func(c *batchv1.CronJob) { every10(c); c.Status.LastScheduleTime = atp("2026-11-23T06:30:00Z") }), run("2026-11-23T06:00:00Z", "2026-11-23T06:00:00Z", complete("2026-11-23T06:25:00Z")), run("2026-11-23T06:20:00Z", "2026-11-23T06:25:00Z", complete("2026-11-23T06:26:00Z"))}, at: "06:10", verdict: diagnosis.Skipped, reason: "Overlap"},
	"missed, an event tells":    {objects: objects{cronJob(every10), said("CronJob", "backup", "2026-11-23T08:00:01Z", "Warning", "MissSchedule", "3 scheduled times from 2026-11-23T07:30:00Z to 2026-11-23T07:50:00Z were not started, reason outage: nobody looked before the next one was due")}, at: "07:40", verdict: diagnosis.Missed, reason: "Outage"},
	"missed, it would be kept":  {objects: objects{cronJob(nil), run("2026-11-21T01:00:00Z", "2026-11-21T01:00:01Z", complete("2026-11-21T01:04:10Z")), night, kubernetesWorks}, at: "2026-11-22 02:00", verdict: diagnosis.Missed, reason: "Unknown"},
	"forgotten":                 {objects: objects{cronJob(nil), night, run("2026-11-22T01:00:00Z", "2026-11-22T01:00:01Z", complete("2026-11-22T01:04:10Z")), run("2026-11-21T01:00:00Z", "2026-11-21T01:00:01Z", complete("2026-11-21T01:04:10Z"))}, at: "2026-11-10 02:00", verdict: diagnosis.CannotTell, reason: "Forgotten"},
	"forgotten, no success":     {objects: objects{cronJob(nil), nightOOM, run("2026-11-21T01:00:00Z", "2026-11-21T01:00:01Z", complete("2026-11-21T01:04:10Z"))}, at: "2026-11-22 02:00", verdict: diagnosis.CannotTell, reason: "Forgotten"},
	"jobs were not looked at":   {objects: objects{cronJob(nil)}, at: "2026-11-22 02:00", change: func(e *diagnosis.Evidence) { e.Read = diagnosis.Kinds{} }, verdict: diagnosis.CannotTell, reason: "Forgotten"},
	"edited since": {objects: objects{cronJob(func(c *batchv1.CronJob) {
		c.ManagedFields = append(c.ManagedFields, managed("kubectl-edit", "2026-11-22T15:00:00Z", "", `{"f:spec":{"f:schedule":{}}}`))
	}), night}, at: "2026-11-22 02:00", verdict: diagnosis.CannotTell, reason: "Edited"},
	"before it was created":    {objects: objects{cronJob(nil), night}, at: "2026-05-22 02:00", verdict: diagnosis.Skipped, reason: "NotYetCreated"},
	"not a scheduled time":     {objects: objects{cronJob(nil), night}, at: "03:30", verdict: diagnosis.NotScheduled},
	"a gap of daylight saving": {objects: objects{cronJob(nil), night}, at: "2026-03-29 02:00", verdict: diagnosis.NotScheduled},
	"an hour that comes twice": {objects: objects{cronJob(nil), night}, at: "2026-10-25 02:00", verdict: diagnosis.CannotTell, reason: "Forgotten"},
	"to come":                  {objects: objects{cronJob(nil), night}, at: "tomorrow 02:00", verdict: diagnosis.NotDue},
	"to come, while suspended": {objects: objects{cronJob(func(c *batchv1.CronJob) { c.Spec.Suspend = new(true) }), night}, at: "tomorrow 02:00", verdict: diagnosis.NotDue},
	"a schedule that is wrong": {objects: objects{cronJob(func(c *batchv1.CronJob) { c.Spec.Schedule = "0 25 * * *" })}, at: "02:00", verdict: diagnosis.NotReady, reason: "InvalidSchedule"},
	"now, all is well":         {objects: objects{cronJob(nil), night}, verdict: diagnosis.NotDue},
	"now, suspended": {objects: objects{cronJob(func(c *batchv1.CronJob) {
		c.Spec.Suspend = new(true)
		lastNight(c)
		c.ManagedFields = append(c.ManagedFields, managed("kubectl-patch", "2026-11-22T17:00:00Z", "", `{"f:spec":{"f:suspend":{}}}`))
	})}, verdict: diagnosis.Suspended, reason: "Suspended"},
	"now, suspended by someone":  {objects: objects{cronJob(func(c *batchv1.CronJob) { c.Spec.Suspend, c.ManagedFields = new(true), nil })}, verdict: diagnosis.Suspended, reason: "Suspended"},
	"now, forbid and image pull": {objects: objects{cronJob(every10), stuck, podOf(stuck, waiting("ImagePullBackOff", `Back-off pulling image "registry.example/backup:1"`)), kubernetesWorks}, verdict: diagnosis.Waits, reason: "Overlap"},
	"now, forbid and deadline":   {objects: objects{cronJob(func(c *batchv1.CronJob) { every10(c); c.Spec.StartingDeadlineSeconds = new(int64(400)) }), stuck, podOf(stuck, running)}, verdict: diagnosis.Waits, reason: "Overlap"},
	"now, too late":              {objects: objects{cronJob(func(c *batchv1.CronJob) { every10(c); c.Spec.StartingDeadlineSeconds = new(int64(60)) }), stuck, podOf(stuck, running)}, verdict: diagnosis.Missed, reason: "Deadline"},
	"now, creates refused":       {objects: objects{cronJob(every10), quota, said("CronJob", "backup", "2026-11-23T08:10:01Z", "Warning", "FailedCreate", `Error creating job: jobs.batch "backup-29923690" is forbidden: exceeded quota: small, requested: count/jobs.batch=1, used: count/jobs.batch=5, limited: count/jobs.batch=5`)}, verdict: diagnosis.Waits, reason: "CreateFailed"},
	"now, no controller":         {objects: objects{cronJob(lastNight), nobodyWorks}, verdict: diagnosis.NotServed, reason: "NoController"},
	"now, a controller is there": {objects: objects{cronJob(lastNight), kubernetesWorks}, verdict: diagnosis.NotServed, reason: "Unknown"},
	"now, never fires":           {objects: objects{cronJob(func(c *batchv1.CronJob) { c.Spec.Schedule = "0 2 30 2 *" })}, verdict: diagnosis.NotReady, reason: "InvalidSchedule"},
	"now, zone unknown":          {objects: objects{cronJob(func(c *batchv1.CronJob) { c.Spec.TimeZone = new("Europe/Atlantis") })}, verdict: diagnosis.NotReady, reason: "UnknownTimeZone"},
	"now, deleting": {objects: objects{cronJob(func(c *batchv1.CronJob) {
		c.DeletionTimestamp, c.Finalizers = atp("2026-11-23T08:00:00Z"), []string{"foregroundDeletion"}
	})}, verdict: diagnosis.Deleting, reason: "Deleting"},
	"now, namespace terminating": {objects: objects{cronJob(lastNight), &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "data", DeletionTimestamp: atp("2026-11-23T08:00:00Z")}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating}}}, verdict: diagnosis.Deleting, reason: "NamespaceTerminating"},
	"now, the clock is behind":   {objects: objects{cronJob(func(c *batchv1.CronJob) { c.Status.LastScheduleTime = atp("2026-11-25T01:00:00Z") })}, verdict: diagnosis.NotDue, reason: "Clock"},
	"now, the last run failed":   {objects: objects{cronJob(nil), nightOOM, podOf(nightOOM, exited(137, "OOMKilled", ""))}, verdict: diagnosis.NotDue},
	"now, just come":             {objects: objects{cronJob(every10), kubernetesWorks}, change: func(e *diagnosis.Evidence) { e.Now = instant("2026-11-23T08:10:02Z") }, verdict: diagnosis.Waits, reason: "Starting"},

	"job, complete":          {objects: objects{cronJob(nil), night}, job: night.Name, verdict: diagnosis.Succeeded},
	"job, out of memory":     {objects: objects{cronJob(nil), nightOOM, podOf(nightOOM, exited(137, "OOMKilled", ""))}, job: nightOOM.Name, verdict: diagnosis.Failed, reason: "OOMKilled"},
	"job, command not found": {objects: objects{cronJob(nil), nightOOM, podOf(nightOOM, exited(127, "Error", "sh: pg_dumpp: not found"))}, job: nightOOM.Name, verdict: diagnosis.Failed, reason: "BackoffLimitExceeded"},
	"job, too long":          {objects: objects{cronJob(nil), run("2026-11-23T01:00:00Z", "2026-11-23T01:00:01Z", failed("2026-11-23T02:00:01Z", "DeadlineExceeded", "Job was active longer than specified deadline"))}, job: night.Name, verdict: diagnosis.Failed, reason: "DeadlineExceeded"},
	"job, a policy ended it": {objects: objects{cronJob(nil), run("2026-11-23T01:00:00Z", "2026-11-23T01:00:01Z", failed("2026-11-23T01:02:01Z", "PodFailurePolicy", "Container main for pod data/backup-x failed with exit code 42 matching FailJob rule at index 0"))}, job: night.Name, verdict: diagnosis.Failed, reason: "PodFailurePolicy"},
	"job, runs":              {objects: objects{cronJob(nil), stuck, podOf(stuck, running)}, job: stuck.Name, verdict: diagnosis.Running},
	"job, no node fits":      {objects: objects{cronJob(nil), stuck, podOf(stuck, unschedulable)}, job: stuck.Name, verdict: diagnosis.Pending, reason: "Unschedulable"},
	"job, suspended":         {objects: objects{cronJob(nil), run("2026-11-23T08:00:00Z", "2026-11-23T08:00:00Z", func(j *batchv1.Job) { j.Spec.Suspend, j.Status.Active = new(true), 0 })}, job: stuck.Name, verdict: diagnosis.Suspended, reason: "Suspended"},
	"job, managed by Kueue":  {objects: objects{cronJob(nil), run("2026-11-23T08:00:00Z", "2026-11-23T08:00:00Z", func(j *batchv1.Job) { j.Spec.ManagedBy = new("kueue.x-k8s.io/multikueue") })}, job: stuck.Name, verdict: diagnosis.NotServed, reason: "ManagedBy"},
	"job, no parallelism":    {objects: objects{cronJob(nil), run("2026-11-23T08:00:00Z", "2026-11-23T08:00:00Z", func(j *batchv1.Job) { j.Spec.Parallelism, j.Status.Active = new(int32(0)), 0 })}, job: stuck.Name, verdict: diagnosis.Pending, reason: "ParallelismZero"},
	"job, quota":             {objects: objects{cronJob(nil), run("2026-11-23T08:00:00Z", "2026-11-23T08:00:00Z", func(j *batchv1.Job) { j.Status.Active = 0 }), said("Job", stuck.Name, "2026-11-23T08:00:01Z", "Warning", "FailedCreate", `Error creating: pods "backup-x" is forbidden: exceeded quota: small, requested: pods=1`)}, job: stuck.Name, verdict: diagnosis.Pending, reason: "FailedCreate"},
	"job, nobody looked":     {objects: objects{cronJob(nil), run("2026-11-23T08:00:00Z", "2026-11-23T08:00:00Z", func(j *batchv1.Job) { j.Status = batchv1.JobStatus{} }), nobodyWorks}, job: stuck.Name, verdict: diagnosis.NotServed, reason: "NoController"},
	"job, on its own": {objects: objects{run("2026-11-23T07:30:00Z", "2026-11-23T07:30:20Z", both(complete("2026-11-23T07:31:00Z"), func(j *batchv1.Job) {
		j.Name, j.OwnerReferences, j.Annotations = "migrate", nil, nil
		j.ManagedFields = []metav1.ManagedFieldsEntry{managed("helm", "2026-11-23T07:30:20Z", "", `{"f:spec":{}}`)}
	}))}, job: "migrate", verdict: diagnosis.Succeeded},
	"job, second attempt": {objects: objects{timetableOf(nil), reportRun("2026-11-23T08:00:00Z", "2026-11-23T08:05:00Z", "schedule", 2, nil)}, job: "report-20261123-080000-r2", verdict: diagnosis.Pending, reason: "NoPods"},

	"timetable, all is well": {objects: objects{timetableOf(nil), reportRun("2026-11-23T08:00:00Z", "2026-11-23T08:00:00Z", "schedule", 1, complete("2026-11-23T08:01:00Z"))}, verdict: diagnosis.NotDue},
	"timetable, in the ledger": {objects: objects{timetableOf(ledger(v1alpha1.LedgerEntry{ScheduledTime: at("2026-11-23T06:00:00Z"), Result: "Failed", Reason: "Timeout", Run: "report-20261123-060000", Attempts: 1, Trigger: "Schedule", StartTime: atp("2026-11-23T06:00:00Z"), EndTime: atp("2026-11-23T06:30:00Z"), Message: "it took longer than 30m"}))},
		at: "07:00", verdict: diagnosis.RanOnTime, reason: "Timeout"},
	"timetable, made up for": {objects: objects{timetableOf(ledger(v1alpha1.LedgerEntry{ScheduledTime: at("2026-11-23T06:00:00Z"), Result: "Succeeded", Run: "report-20261123-060000", Trigger: "CatchUp", StartTime: atp("2026-11-23T06:40:00Z"), EndTime: atp("2026-11-23T06:42:00Z")}))},
		at: "07:00", verdict: diagnosis.RanLate, reason: "CatchUp"},
	"timetable, queue full": {objects: objects{timetableOf(ledger(v1alpha1.LedgerEntry{ScheduledTime: at("2026-11-23T06:00:00Z"), Result: "Skipped", Reason: "QueueFull"}))}, at: "07:00", verdict: diagnosis.Skipped, reason: "QueueFull"},
	"timetable, outage":     {objects: objects{timetableOf(ledger(v1alpha1.LedgerEntry{ScheduledTime: at("2026-11-23T01:00:00Z"), Until: atp("2026-11-23T06:00:00Z"), Count: 6, Result: "Missed", Reason: "Outage"})), carillonWorks}, at: "05:00", verdict: diagnosis.Missed, reason: "Outage"},
	"timetable, forgotten":  {objects: objects{timetableOf(ledger(v1alpha1.LedgerEntry{ScheduledTime: at("2026-11-23T06:00:00Z"), Result: "Succeeded"}))}, at: "2026-11-20 07:00", verdict: diagnosis.CannotTell, reason: "Forgotten"},
	"timetable, excluded": {objects: objects{timetableOf(func(t *v1alpha1.Timetable) {
		t.Spec.Exclude = []v1alpha1.Exclusion{{Period: new(v1alpha1.Period("12-24/01-02"))}}
	})}, at: "2026-12-25 07:00", verdict: diagnosis.Excluded, reason: "Excluded"},
	"timetable, window": {objects: objects{timetableOf(func(t *v1alpha1.Timetable) { t.Spec.Window = &v1alpha1.Window{NotBefore: atp("2026-11-20T00:00:00Z")} })}, at: "2026-11-10 07:00", verdict: diagnosis.OutsideWindow, reason: "NotBefore"},
	"timetable, queue": {objects: objects{timetableOf(func(t *v1alpha1.Timetable) {
		t.Spec.Concurrency.Policy = "Queue"
		t.Status.LastScheduleTime = atp("2026-11-23T06:00:00Z")
		t.Status.Waiting = []v1alpha1.WaitingTime{{ScheduledTime: at("2026-11-23T07:00:00Z"), StartsAt: at("2026-11-23T07:00:00Z"), Trigger: "Schedule", Reason: "Overlap", Since: atp("2026-11-23T07:00:00Z"), Message: "waits for report-20261123-060000"}, {ScheduledTime: at("2026-11-23T08:00:00Z"), StartsAt: at("2026-11-23T08:00:00Z"), Trigger: "Schedule", Reason: "Overlap"}}
		t.Status.Active = []v1alpha1.ActiveRun{{Name: "report-20261123-060000", UID: "report-20261123-060000-uid", ScheduledTime: at("2026-11-23T06:00:00Z"), Trigger: "Schedule", Attempt: 1, StartTime: at("2026-11-23T06:00:00Z")}}
	}), reportRun("2026-11-23T06:00:00Z", "2026-11-23T06:00:00Z", "schedule", 1, nil)}, verdict: diagnosis.Waits, reason: "Overlap"},
	"timetable, paused": {objects: objects{timetableOf(func(t *v1alpha1.Timetable) {
		t.Spec.PauseAfterFailures = new(int32(3))
		t.Status.ConsecutiveFailures = 3
		t.Status.Conditions = []metav1.Condition{condition("Paused", "True", "Failures", "3 scheduled runs in a row failed")}
		t.Status.Ledger = []v1alpha1.LedgerEntry{{ScheduledTime: at("2026-11-23T05:00:00Z"), Result: "Failed", Reason: "RunFailed", Run: "report-20261123-050000", EndTime: atp("2026-11-23T05:10:00Z")}}
	})}, verdict: diagnosis.Paused, reason: "Failures"},
	"timetable, suspended until": {objects: objects{timetableOf(func(t *v1alpha1.Timetable) { t.Spec.SuspendUntil = atp("2026-11-24T08:00:00Z") })}, verdict: diagnosis.Suspended, reason: "SuspendedUntil"},
	"timetable, no calendar": {objects: objects{timetableOf(func(t *v1alpha1.Timetable) {
		t.Spec.Exclude = []v1alpha1.Exclusion{{Calendar: new("holidays")}}
		t.Status.Conditions = []metav1.Condition{condition("Ready", "False", "CalendarNotFound", "calendar holidays does not exist in this namespace; create it, or take it out of exclude")}
	})}, verdict: diagnosis.NotReady, reason: "CalendarNotFound"},
	"timetable, completed": {objects: objects{timetableOf(func(t *v1alpha1.Timetable) {
		t.Spec.Schedules = []v1alpha1.Schedule{{At: []v1alpha1.Moment{"2026-11-20T10:00"}}}
	})}, verdict: diagnosis.Completed, reason: "NoMoreTimes"},
	"timetable, not looked at": {objects: objects{timetableOf(func(t *v1alpha1.Timetable) { t.Status = v1alpha1.TimetableStatus{} })}, verdict: diagnosis.NotServed, reason: "NotSeen"},
	"timetable, retry comes": {objects: objects{timetableOf(func(t *v1alpha1.Timetable) {
		t.Status.Active = []v1alpha1.ActiveRun{{Name: "report-20261123-080000", ScheduledTime: at("2026-11-23T08:00:00Z"), Trigger: "Schedule", Attempt: 1, StartTime: at("2026-11-23T08:00:00Z"), RetryAt: atp("2026-11-23T08:16:00Z")}}
	})}, at: "09:00", verdict: diagnosis.RanOnTime},
	"forgotten, replaced":        {objects: objects{cronJob(func(c *batchv1.CronJob) { every10(c); c.Spec.ConcurrencyPolicy = batchv1.ReplaceConcurrent }), run("2026-11-23T07:30:00Z", "2026-11-23T07:30:00Z", complete("2026-11-23T07:31:00Z"))}, at: "07:40", verdict: diagnosis.CannotTell, reason: "Forgotten"},
	"missed, Kubernetes says so": {objects: objects{cronJob(every10), said("CronJob", "backup", "2026-11-23T07:41:00Z", "Warning", "MissSchedule", "Missed scheduled time to start a job: Mon, 23 Nov 2026 07:40:00 +0000")}, at: "07:40", verdict: diagnosis.Missed, reason: "Unknown"},
	"missed, creates refused":    {objects: objects{cronJob(every10), said("CronJob", "backup", "2026-11-23T07:41:00Z", "Warning", "FailedCreate", `Error creating job: jobs.batch "backup-29923660" is forbidden: exceeded quota: small`), quota}, at: "07:40", verdict: diagnosis.Missed, reason: "CreateFailed"},
	"missed, suspended since": {objects: objects{cronJob(func(c *batchv1.CronJob) {
		lastNight(c)
		c.Spec.Suspend = new(true)
		c.ManagedFields = append(c.ManagedFields, managed("kubectl-patch", "2026-11-22T17:00:00Z", "", `{"f:spec":{"f:suspend":{}}}`))
	})}, at: "02:00", verdict: diagnosis.Suspended, reason: "Suspended"},
	"missed, and later ones too": {objects: objects{cronJob(func(c *batchv1.CronJob) { every10(c); c.Status.LastScheduleTime = atp("2026-11-23T07:00:00Z") }), nobodyWorks}, at: "07:30", verdict: diagnosis.Missed, reason: "NoController"},
	"an interval": {objects: objects{cronJob(func(c *batchv1.CronJob) {
		c.Spec.Schedule, c.Spec.TimeZone = "@every 1h", nil
		c.Status.LastScheduleTime = atp("2026-11-23T07:40:30Z")
	}), run("2026-11-23T07:40:30Z", "2026-11-23T07:40:31Z", complete("2026-11-23T07:41:00Z"))}, at: "07:40", verdict: diagnosis.RanOnTime},
	"an interval, long ago": {objects: objects{cronJob(func(c *batchv1.CronJob) {
		c.Spec.Schedule, c.Spec.TimeZone = "@every 1h", nil
		c.Status.LastScheduleTime = atp("2026-11-23T07:40:30Z")
	})}, at: "03:40", verdict: diagnosis.NotScheduled},
	"under a former schedule": {objects: objects{cronJob(func(c *batchv1.CronJob) { c.Spec.Schedule = "0 3 * * *" }), night}, at: "02:00", verdict: diagnosis.RanOnTime},
	"a manifest without status": {objects: objects{cronJob(func(c *batchv1.CronJob) {
		c.Status, c.ObjectMeta = batchv1.CronJobStatus{}, metav1.ObjectMeta{Name: "backup"}
	})}, at: "02:00", change: func(e *diagnosis.Evidence) { e.Read = diagnosis.Kinds{} }, verdict: diagnosis.CannotTell},
	"now, it has just started": {objects: objects{cronJob(func(c *batchv1.CronJob) {
		every10(c)
		c.Status.Active = []corev1.ObjectReference{{APIVersion: "batch/v1", Kind: "Job", Name: "backup-29923690", UID: "x"}}
	})}, verdict: diagnosis.NotDue},
	"now, in a process of ours": {objects: objects{cronJob(lastNight)}, change: func(e *diagnosis.Evidence) { e.Standalone, e.Kubectl = true, "carillon kubectl" }, verdict: diagnosis.NotServed, reason: "Unknown"},
	"now, a run by hand blocks": {objects: objects{cronJob(every10), run("2026-11-23T07:30:00Z", "2026-11-23T08:05:20Z", byHand)}, verdict: diagnosis.Waits, reason: "Overlap"},
	"job, crash loop": {objects: objects{cronJob(nil), stuck, podOf(stuck, func(p *corev1.Pod) {
		waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container")(p)
		p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}
	})}, job: stuck.Name, verdict: diagnosis.Pending, reason: "CrashLoopBackOff"},
	"job, evicted": {objects: objects{cronJob(nil), nightOOM, podOf(nightOOM, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: ephemeral-storage."
	})}, job: nightOOM.Name, verdict: diagnosis.Failed, reason: "BackoffLimitExceeded"},
	"job, waits to try again": {objects: objects{cronJob(nil), run("2026-11-23T08:00:00Z", "2026-11-23T08:00:00Z", func(j *batchv1.Job) { j.Status.Active, j.Status.Failed = 0, 2 }), podOf(stuck, exited(1, "Error", ""))}, job: stuck.Name, verdict: diagnosis.Pending, reason: "Backoff"},
	"job, deleting": {objects: objects{cronJob(nil), run("2026-11-23T08:00:00Z", "2026-11-23T08:00:00Z", func(j *batchv1.Job) {
		j.DeletionTimestamp, j.Finalizers = atp("2026-11-23T08:10:00Z"), []string{"foregroundDeletion"}
	})}, job: stuck.Name, verdict: diagnosis.Deleting},
	"job, owner is gone": {objects: objects{night}, job: night.Name, verdict: diagnosis.Succeeded},
	"job, late":          {objects: objects{cronJob(forbid), run("2026-11-22T01:00:00Z", "2026-11-22T01:00:00Z", complete("2026-11-23T01:25:08Z")), lateNight}, job: lateNight.Name, verdict: diagnosis.Succeeded},
	"timetable, by hand": {objects: objects{timetableOf(nil), reportRun("2026-11-23T07:20:00Z", "2026-11-23T07:20:03Z", "manual", 1, complete("2026-11-23T07:21:00Z"))}, at: "08:20", verdict: diagnosis.RanByHand, reason: "Manual"},
	"timetable, jitter":  {objects: objects{timetableOf(func(t *v1alpha1.Timetable) { t.Spec.Jitter = new(v1alpha1.Duration("20m")) })}, at: "today 11:00", verdict: diagnosis.NotDue},
	"timetable, clock went back": {objects: objects{timetableOf(func(t *v1alpha1.Timetable) {
		t.Status.Cursor = atp("2026-11-23T12:00:00Z")
		t.Status.Conditions = []metav1.Condition{condition("Healthy", "Unknown", "ClockWentBack", "the clock is behind")}
	})}, verdict: diagnosis.NotDue, reason: "Clock"},
	"timetable, create fails": {objects: objects{timetableOf(func(t *v1alpha1.Timetable) {
		t.Status.Waiting = []v1alpha1.WaitingTime{{ScheduledTime: at("2026-11-23T08:00:00Z"), StartsAt: at("2026-11-23T08:00:00Z"), Trigger: "Schedule", Reason: "CreateFailed", Since: atp("2026-11-23T08:00:00Z"), Message: "raise quota small or delete what counts for it: exceeded quota: small, requested: count/jobs.batch=1"}}
	}), quota}, at: "09:00", verdict: diagnosis.Waits, reason: "CreateFailed"},
	"Volcano, forbid": {objects: objects{volcano("CronJob", "train", map[string]any{"schedule": "*/10 * * * *", "concurrencyPolicy": "Forbid", "jobTemplate": map[string]any{"spec": map[string]any{}}}, map[string]any{"lastScheduleTime": "2026-11-23T08:00:00Z"}),
		volcano("Job", "train-29923680", nil, map[string]any{"state": map[string]any{"phase": "Running", "lastTransitionTime": "2026-11-23T08:00:05Z"}}),
		said("CronJob", "train", "2026-11-23T08:10:00Z", "Warning", "ForbidConcurrent", "another Job is running")}, verdict: diagnosis.Waits, reason: "Overlap"},
	"Volcano, completed": {objects: objects{volcano("CronJob", "train", map[string]any{"schedule": "0 * * * *", "jobTemplate": map[string]any{"spec": map[string]any{}}}, map[string]any{"lastScheduleTime": "2026-11-23T08:00:00Z"}),
		volcano("Job", "train-29923680", nil, map[string]any{"state": map[string]any{"phase": "Completed", "lastTransitionTime": "2026-11-23T08:05:00Z"}})}, at: "08:00", verdict: diagnosis.RanOnTime},
	"journal, ran": {objects: objects{cronJob(nil), night}, at: "2026-11-10 02:00", change: withJournal(
		remembered("2026-11-10T01:00:00Z", "2026-11-10T01:00:01Z", "2026-11-10T01:04:10Z", runs.Succeeded, nil)), verdict: diagnosis.RanOnTime},
	"journal, failed late": {objects: objects{cronJob(forbid), night}, at: "2026-11-10 02:00", change: withJournal(
		remembered("2026-11-10T01:00:00Z", "2026-11-10T03:00:05Z", "2026-11-10T03:40:00Z", runs.Failed, failedRemembered),
		remembered("2026-11-09T01:00:00Z", "2026-11-09T01:00:01Z", "2026-11-10T03:00:00Z", runs.Succeeded, nil)), verdict: diagnosis.RanLate, reason: "Overlap"},
	"journal, missed": {objects: objects{cronJob(nil), night}, at: "2026-11-10 02:00", change: withJournal(omitted("2026-11-10T01:00:00Z", "", 1, true, "Outage")), verdict: diagnosis.Missed, reason: "Outage"},
	"journal, skipped, overlap": {objects: objects{cronJob(func(c *batchv1.CronJob) { every10(c) })}, at: "05:20", change: withJournal(
		omitted("2026-11-23T05:10:00Z", "2026-11-23T05:40:00Z", 4, false, "Overlap"),
		remembered("2026-11-23T05:00:00Z", "2026-11-23T05:00:01Z", "2026-11-23T05:50:00Z", runs.Succeeded, nil)), verdict: diagnosis.Skipped, reason: "Overlap"},
	"journal, silent":    {objects: objects{cronJob(nil), night}, at: "2026-11-10 02:00", change: withJournal(), verdict: diagnosis.Missed, reason: "Unknown"},
	"journal, too young": {objects: objects{cronJob(nil), night}, at: "2026-08-10 02:00", change: withJournal(), verdict: diagnosis.CannotTell, reason: "Forgotten"},
	"journal, now": {objects: objects{cronJob(nil)}, change: withJournal(
		remembered("2026-11-23T01:00:00Z", "2026-11-23T01:00:01Z", "2026-11-23T01:04:10Z", runs.Failed, failedRemembered)), verdict: diagnosis.NotDue},
	"journal, by hand": {objects: objects{cronJob(nil), night}, at: "2026-11-10 14:30", change: withJournal(
		remembered("2026-11-10T13:30:00Z", "2026-11-10T13:30:20Z", "2026-11-10T13:35:00Z", runs.Succeeded, func(r *runs.Run) { r.Trigger, r.ScheduledTime, r.Name = runs.Manual, time.Time{}, "try" })), verdict: diagnosis.RanByHand, reason: "Manual"},
	"journal, timetable, left the ledger": {objects: objects{timetableOf(ledger(v1alpha1.LedgerEntry{ScheduledTime: at("2026-11-23T06:00:00Z"), Result: "Succeeded"}))}, at: "2026-11-20 07:00",
		change: withJournal(omitted("2026-11-20T06:00:00Z", "", 1, false, "QueueFull")), verdict: diagnosis.Skipped, reason: "QueueFull"},
}

// Each situation is told as a golden file says, which somebody has read.
func TestExplain(t *testing.T) {
	for name, s := range scenes {
		t.Run(name, func(t *testing.T) {
			e := evidence(t, s.job, s.objects...)
			if s.change != nil {
				s.change(e)
			}
			question := diagnosis.Question{}
			if s.at != "" {
				at, err := diagnosis.ParseAt(s.at, e.Now, e.Zone())
				if err != nil {
					t.Fatal(err)
				}
				question.At = &at
			}
			answer := diagnosis.Explain(e, question)
			if answer.Verdict != s.verdict || answer.Reason != s.reason {
				t.Errorf("it is %s/%s, not %s/%s", answer.Verdict, answer.Reason, s.verdict, s.reason)
			}
			text := answer.Text(80)
			golden := filepath.Join("testdata", strings.NewReplacer(", ", "-", " ", "-").Replace(name)+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if text != string(want) {
				t.Errorf("the answer is not that of %s:\n%s", golden, text)
			}
			tooWide(t, text)
		})
	}
}

// tooWide refuses lines that a terminal of 80 columns breaks, but for commands and long words, which are not to be
// broken.
func tooWide(t *testing.T, text string) {
	t.Helper()
	commands := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		commands = commands || line == "Next:"
		if utf8.RuneCountInString(line) > 80 && !commands && strings.Contains(strings.TrimSpace(line), " ") {
			t.Errorf("more than 80 columns: %s", line)
		}
	}
}

// There are no golden files that nothing compares.
func TestGoldenFilesHaveScenes(t *testing.T) {
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for name := range maps.Keys(scenes) {
		names[strings.NewReplacer(", ", "-", " ", "-").Replace(name)+".txt"] = true
	}
	for _, file := range files {
		if !file.IsDir() && !names[file.Name()] {
			t.Errorf("no scene has the golden file %s", file.Name())
		}
	}
	if got := len(slices.Collect(maps.Keys(scenes))); got < 40 {
		t.Errorf("there are %d scenes", got)
	}
}

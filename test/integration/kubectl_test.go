// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubectl "k8s.io/kubectl/pkg/cmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// user runs kubectl's own code as somebody who works in the namespace of a world. Tests with a user cannot run in
// parallel: kubectl has one idea of its environment and of what to do after an error.
type user struct {
	*world
	dir string
}

func newUser(w *world) *user {
	u := &user{world: w, dir: w.TempDir()}
	w.Setenv("HOME", u.dir)
	w.Setenv("KUBECACHEDIR", filepath.Join(u.dir, "cache"))
	w.Setenv("KUBERC", "off")
	return u
}

// fatal is kubectl's end after an error.
type fatal struct{ message string }

// try runs a command and gives what it wrote, and its error.
func (u *user) try(stdin string, args ...string) (out string, err error) {
	u.Helper()
	cmdutil.BehaviorOnFatal(func(message string, _ int) { panic(fatal{message}) })
	defer cmdutil.DefaultBehaviorOnFatal()
	var stdout, stderr bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: &stdout, ErrOut: &stderr}
	defer func() {
		out = stdout.String()
		if r := recover(); r != nil {
			end, ok := r.(fatal)
			if !ok {
				panic(r)
			}
			err = errors.New(end.message + stderr.String())
		}
	}()
	args = append([]string{"--kubeconfig", u.plane.Kubeconfig(), "--namespace", u.namespace}, args...)
	root := kubectl.NewKubectlCommand(kubectl.KubectlOptions{
		IOStreams: streams, Arguments: append([]string{"kubectl"}, args...),
		ConfigFlags: genericclioptions.NewConfigFlags(true).WithDiscoveryBurst(300).WithDiscoveryQPS(300),
	})
	root.SetArgs(args)
	root.SetIn(streams.In)
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	return "", root.ExecuteContext(u.Context())
}

// kubectl runs a command that must succeed.
func (u *user) kubectl(args ...string) string {
	u.Helper()
	out, err := u.try("", args...)
	if err != nil {
		u.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// file writes a manifest.
func (u *user) file(obj any) string {
	u.Helper()
	data, err := yaml.Marshal(obj)
	if err != nil {
		u.Fatal(err)
	}
	path := filepath.Join(u.dir, "manifest.yaml")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		u.Fatal(err)
	}
	return path
}

// daily is a schedule that fires once a day, so many minutes from now by the test's clock.
func (w *world) daily(minutes int) (schedule string, at time.Time) {
	at = w.clock.Now().UTC().Truncate(time.Minute).Add(time.Duration(minutes) * time.Minute)
	return fmt.Sprintf("%d %d * * *", at.Minute(), at.Hour()), at
}

// A CronJob that kubectl makes runs, and kubectl shows what it does.
func TestKubectlCreateCronJob(t *testing.T) {
	w := newWorld(t, cronOnly)
	u := newUser(w)
	if out := u.kubectl("create", "cronjob", "tick", "--image=i", "--schedule=* * * * *", "--", "echo", "hello"); !strings.Contains(out, "cronjob.batch/tick created") {
		t.Errorf("kubectl says %q", out)
	}
	cj := w.cronJob(t.Context(), "tick")
	w.pass(1)
	job := w.runs(cj, 1, 1)[0]
	if got := job.Spec.Template.Spec.Containers[0].Command; strings.Join(got, " ") != "echo hello" {
		t.Errorf("the Job runs %q", got)
	}
	if out := u.kubectl("get", "cronjob", "tick", "--no-headers"); len(strings.Fields(out)) < 7 || !strings.Contains(out, "* * * * *") {
		t.Errorf("kubectl get says %q", out)
	}
	w.said(cj, "SuccessfulCreate")
	if out := u.kubectl("describe", "cronjob", "tick"); !strings.Contains(out, job.Name) || !strings.Contains(out, "SuccessfulCreate") {
		t.Errorf("kubectl describe says %q", out)
	}
}

// A run by hand counts for what it does: while it runs Forbid waits for it, and the run that it held up starts late;
// when it is finished it counts for lastSuccessfulTime and for the history. It never becomes a scheduled run: it is not
// in status.active and moves no lastScheduleTime. A Job that only looks like one of the CronJob's is nobody's (B1, Q6,
// B7).
func TestKubectlCreateJobFrom(t *testing.T) {
	w := newWorld(t, cronOnly)
	u := newUser(w)
	cj := w.createCronJob(make.CronJob(w.namespace, "tick").Schedule("* * * * *").Policy(batchv1.ForbidConcurrent).History(1, 1))
	u.kubectl("create", "job", "by-hand", "--from=cronjob/tick")
	u.kubectl("create", "job", "tick-stranger", "--image=i")
	byHand := w.job("by-hand")
	if byHand.Annotations["cronjob.kubernetes.io/instantiate"] != "manual" || !metav1.IsControlledBy(byHand, cj) {
		t.Fatalf("kubectl made %+v", byHand.ObjectMeta)
	}
	w.said(cj, "UnexpectedJob")
	w.pass(1)
	due := w.clock.Now().Truncate(time.Minute)
	w.said(cj, "JobAlreadyActive")
	if s := w.cronJob(t.Context(), "tick").Status; len(s.Active) != 0 || s.LastScheduleTime != nil {
		t.Errorf("a run by hand is taken for a scheduled one: %+v", s)
	}

	w.complete(byHand)
	late := w.job(fmt.Sprintf("tick-%d", due.Unix()/60))
	w.eventually("the success of the run by hand is noted", func(ctx context.Context) error {
		s := w.cronJob(ctx, "tick").Status
		if s.LastSuccessfulTime == nil || s.LastScheduleTime == nil || !s.LastScheduleTime.Time.Equal(due) || len(s.Active) != 1 {
			return fmt.Errorf("status %+v", s)
		}
		return nil
	})
	w.clock.Step(time.Second) // Jobs start at whole seconds, by which the history is ordered
	w.complete(late)
	kept := w.runs(cj, 1, 0)
	if kept[0].UID != late.UID {
		t.Errorf("history of one keeps %s, want the newer %s", kept[0].Name, late.Name)
	}
	stranger := w.job("tick-stranger")
	w.clock.Step(time.Second)
	w.complete(stranger)
	w.pass(1)
	w.runs(cj, 2, 1)
	w.job("tick-stranger")
}

// job waits for a Job by name.
func (w *world) job(name string) *batchv1.Job {
	w.Helper()
	var job *batchv1.Job
	w.eventually("Job "+name, func(ctx context.Context) (err error) {
		job, err = w.client.BatchV1().Jobs(w.namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	return job
}

// Replace leaves a run by hand alone, starts beside it and says so; a suspended CronJob can be run by hand and keeps
// its history short (B1, CJ-074, CJ-120).
func TestKubectlCreateJobFromReplaceAndSuspended(t *testing.T) {
	w := newWorld(t, cronOnly)
	u := newUser(w)
	replacing := w.createCronJob(make.CronJob(w.namespace, "replacing").Schedule("* * * * *").Policy(batchv1.ReplaceConcurrent))
	u.kubectl("create", "job", "byhand", "--from=cronjob/replacing")
	w.said(replacing, "UnexpectedJob")
	w.pass(1)
	w.said(replacing, "ManualJobActive")
	w.eventually("the scheduled run beside the one by hand", func(ctx context.Context) error {
		jobs := w.jobsOf(ctx, replacing)
		if len(jobs) != 2 || !slices.ContainsFunc(jobs, func(j batchv1.Job) bool { return j.Name == "byhand" && j.DeletionTimestamp == nil }) {
			return fmt.Errorf("%d Jobs", len(jobs))
		}
		return nil
	})

	paused := w.createCronJob(make.CronJob(w.namespace, "paused").Schedule("* * * * *").Suspend(true).History(1, 1))
	for _, name := range []string{"first", "second"} {
		u.kubectl("create", "job", name, "--from=cronjob/paused")
		w.clock.Step(time.Second)
		w.complete(w.job(name))
	}
	if kept := w.runs(paused, 1, 0); kept[0].Name != "second" {
		t.Errorf("kept %s", kept[0].Name)
	}
}

// kubectl patch suspends and resumes: nothing starts in between, and the latest run that was missed starts at the end,
// once (CJ-120, CJ-121).
func TestKubectlPatchSuspend(t *testing.T) {
	w := newWorld(t, cronOnly)
	u := newUser(w)
	cj := w.createCronJob(make.CronJob(w.namespace, "tick").Schedule("* * * * *"))
	witness := w.createCronJob(make.CronJob(w.namespace, "witness").Schedule("* * * * *").Suspend(true))
	w.pass(1)
	w.runs(cj, 1, 1)
	u.kubectl("patch", "cronjob", "tick", "-p", `{"spec":{"suspend":true}}`)
	// What the controller does for a second CronJob, edited later, proves what it has seen of the first.
	u.kubectl("patch", "cronjob", "witness", "-p", `{"spec":{"suspend":false}}`)
	w.runs(witness, 1, 1)
	w.pass(5)
	w.runs(witness, 2, 2)
	w.runs(cj, 1, 1)
	u.kubectl("patch", "cronjob", "tick", "--type=merge", "-p", `{"spec":{"suspend":false}}`)
	due := w.clock.Now().Truncate(time.Minute)
	if jobs, want := w.runs(cj, 2, 2), fmt.Sprintf("tick-%d", due.Unix()/60); jobs[1].Name != want {
		t.Errorf("resumed with %s, want %s", jobs[1].Name, want)
	}
}

// kubectl edit changes the schedule, and the zone, of a CronJob in an editor: times before the edit start nothing, the
// next time of the new schedule does; an edit that the API server refuses changes nothing (B2, CJ-153).
func TestKubectlEdit(t *testing.T) {
	w := newWorld(t, cronOnly)
	u := newUser(w)
	cj := w.createCronJob(make.CronJob(w.namespace, "tick").Schedule("* * * * *"))
	w.pass(1)
	w.runs(cj, 1, 1)
	edit := func(schedule, zone string) error {
		script := filepath.Join(u.dir, "editor")
		text := fmt.Sprintf("#!/bin/sh\nexec sed -i -e '/^  timeZone:/d' -e 's|^  schedule:.*|  schedule: \"%s\"\\n  timeZone: %s|' \"$1\"\n", schedule, zone)
		if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("KUBE_EDITOR", script)
		_, err := u.try("", "edit", "cronjob", "tick")
		return err
	}
	past, _ := w.daily(-10)
	if err := edit(past, "UTC"); err != nil {
		t.Fatal(err)
	}
	w.noted("tick", past)
	if err := edit("TZ=UTC "+past, "UTC"); err == nil || !strings.Contains(err.Error(), "is invalid") {
		t.Errorf("an invalid edit ended with %v", err)
	}
	w.runs(cj, 1, 1)
	soon, at := w.daily(3)
	if err := edit(soon, "UTC"); err != nil {
		t.Fatal(err)
	}
	w.noted("tick", soon)
	w.pass(3)
	if jobs, want := w.runs(cj, 2, 2), fmt.Sprintf("tick-%d", at.Unix()/60); jobs[1].Name != want {
		t.Errorf("started %s, want %s", jobs[1].Name, want)
	}
}

// Server-side apply meets no conflict with the controller, which owns status and one annotation and nothing else: the
// same manifest can be applied again and changed at will, and what the controller wrote stays. Two appliers conflict
// with each other alone. One who insists on an old copy of the annotation is told whose it is, and with force gets no
// run for the past.
func TestKubectlServerSideApply(t *testing.T) {
	w := newWorld(t, cronOnly)
	u := newUser(w)
	manifest := make.CronJob(w.namespace, "tick").Schedule("* * * * *").New()
	apply := func(obj *batchv1.CronJob, flags ...string) error {
		_, err := u.try("", append([]string{"apply", "--server-side", "-f", u.file(obj)}, flags...)...)
		return err
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(apply(manifest))
	cj := w.cronJob(t.Context(), "tick")
	w.pass(1)
	w.runs(cj, 1, 1)
	must(apply(manifest))
	if again := w.cronJob(t.Context(), "tick"); again.Generation != 1 || len(again.Status.Active) != 1 {
		t.Errorf("applied again: generation %d, status %+v", again.Generation, again.Status)
	}

	past, _ := w.daily(-10)
	manifest.Spec.Schedule = past
	must(apply(manifest))
	old := w.noted("tick", past)
	earlier, _ := w.daily(-5)
	manifest.Spec.Schedule = earlier
	must(apply(manifest))
	current := w.noted("tick", earlier)
	w.runs(cj, 1, 1)

	for _, f := range w.cronJob(t.Context(), "tick").ManagedFields {
		if f.Manager == "kubectl" {
			continue
		}
		var fields struct {
			Metadata struct {
				Annotations map[string]any `json:"f:annotations"`
			} `json:"f:metadata"`
			Spec map[string]any `json:"f:spec"`
		}
		if err := yaml.Unmarshal(f.FieldsV1.GetRawBytes(), &fields); err != nil {
			t.Fatal(err)
		}
		for annotation := range fields.Metadata.Annotations {
			if annotation != "f:"+adapter.AnnotationTimetable && annotation != "." {
				t.Errorf("%s owns the annotation %s", f.Manager, annotation)
			}
		}
		if fields.Spec != nil || f.Subresource != "status" {
			t.Errorf("%s writes to %q and owns %s", f.Manager, f.Subresource, f.FieldsV1.GetRawString())
		}
	}

	other := manifest.DeepCopy()
	other.Spec.Schedule, _ = w.daily(-3)
	err := apply(other, "--field-manager=other")
	if err == nil || !strings.Contains(err.Error(), "conflict with \"kubectl\"") || !strings.Contains(err.Error(), ".spec.schedule") || strings.Contains(err.Error(), adapter.AnnotationTimetable) {
		t.Errorf("a second applier is told %v", err)
	}
	if again := w.cronJob(t.Context(), "tick").Annotations[adapter.AnnotationTimetable]; again != current {
		t.Errorf("the refused apply changed the annotation from %q to %q", current, again)
	}

	stale := manifest.DeepCopy()
	stale.Annotations = map[string]string{adapter.AnnotationTimetable: old}
	if err := apply(stale); err == nil || !strings.Contains(err.Error(), adapter.AnnotationTimetable) {
		t.Errorf("one who applies an old annotation is told %v", err)
	}
	must(apply(stale, "--force-conflicts"))
	must(apply(other, "--field-manager=other", "--force-conflicts"))
	w.noted("tick", other.Spec.Schedule)
	w.runs(cj, 1, 1)
	next, at := w.daily(2)
	manifest.Spec.Schedule = next
	must(apply(manifest, "--force-conflicts"))
	w.noted("tick", next)
	w.pass(2)
	if jobs, want := w.runs(cj, 2, 2), fmt.Sprintf("tick-%d", at.Unix()/60); jobs[1].Name != want {
		t.Errorf("started %s, want %s", jobs[1].Name, want)
	}
}

// kubectl apply of the other sort, and replace, which know nothing of field managers, keep what the controller wrote
// too, or at least start nothing for the past.
func TestKubectlApplyAndReplace(t *testing.T) {
	w := newWorld(t, cronOnly)
	u := newUser(w)
	manifest := make.CronJob(w.namespace, "tick").Schedule("* * * * *").New()
	u.kubectl("apply", "-f", u.file(manifest))
	cj := w.cronJob(t.Context(), "tick")
	w.pass(1)
	w.runs(cj, 1, 1)
	for verb, minutes := range map[string]int{"apply": -10, "replace": -7} {
		manifest.Spec.Schedule, _ = w.daily(minutes)
		u.kubectl(verb, "-f", u.file(manifest))
		w.noted("tick", manifest.Spec.Schedule)
		w.runs(cj, 1, 1)
	}
}

// kubectl delete takes Jobs and Pods along, or leaves them running, as it is told; no Pod keeps the tracking finalizer;
// and a CronJob that is made again under the name starts afresh, with nothing of the old one.
func TestKubectlDelete(t *testing.T) {
	for _, cascade := range []string{"background", "foreground", "orphan"} {
		t.Run(cascade, func(t *testing.T) {
			w := newWorld(t, cronOnly)
			u := newUser(w)
			j := &jobs{world: w, managedBy: "test.carillon.dev/" + w.namespace, kubelet: startKubelet(w)}
			j.kubelet.keepRunning()
			j.control()
			template := make.Job(w.namespace, "x").ManagedBy(j.managedBy).Parallelism(2).Completions(2)
			manifest := make.CronJob(w.namespace, "tick").Schedule("* * * * *").Template(template).History(0, 0).New()
			u.kubectl("apply", "-f", u.file(manifest))
			cj := w.cronJob(t.Context(), "tick")
			w.pass(1)
			first := w.runs(cj, 1, 1)[0]
			j.until(first.Name, "two running pods", func(s *batchv1.JobStatus) bool { return s.Active == 2 && *s.Ready == 2 })

			if out := u.kubectl("delete", "cronjob", "tick", "--cascade="+cascade); !strings.Contains(out, `"tick" deleted`) {
				t.Errorf("kubectl says %q", out)
			}
			if _, err := w.client.BatchV1().CronJobs(w.namespace).Get(t.Context(), "tick", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("after kubectl has returned: %v", err)
			}
			if cascade == "foreground" { // what it waited for
				if _, err := w.client.BatchV1().Jobs(w.namespace).Get(t.Context(), first.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
					t.Errorf("the CronJob went before its Job: %v", err)
				}
			}
			if cascade != "orphan" {
				w.eventually("Job and Pods are gone", func(ctx context.Context) error {
					_, err := w.client.BatchV1().Jobs(w.namespace).Get(ctx, first.Name, metav1.GetOptions{})
					if n := len(j.pods(ctx)); n > 0 || !apierrors.IsNotFound(err) {
						return errors.Join(fmt.Errorf("%d Pods are left", n), err)
					}
					return nil
				})
			}

			u.kubectl("apply", "-f", u.file(manifest))
			again := w.cronJob(t.Context(), "tick")
			if again.UID == cj.UID {
				t.Error("the CronJob is the old one")
			}
			// It may have a run already, since the clock, ahead of the server's, has passed its first minute; then its own.
			for _, ref := range again.Status.Active {
				if job := w.job(ref.Name); job.UID == first.UID || !metav1.IsControlledBy(job, again) {
					t.Errorf("the new CronJob lists %s of another one", ref.Name)
				}
			}
			if again.Status.LastScheduleTime != nil && len(again.Status.Active) == 0 {
				t.Errorf("the new CronJob has a scheduled time and no run: %+v", again.Status)
			}
			w.pass(1)
			second := w.job(fmt.Sprintf("tick-%d", w.clock.Now().Unix()/60))
			if !metav1.IsControlledBy(second, again) {
				t.Errorf("the new run belongs to %v", second.OwnerReferences)
			}
			if cascade == "orphan" {
				left := w.job(first.Name)
				if left.UID != first.UID || left.DeletionTimestamp != nil || len(left.OwnerReferences) > 0 {
					t.Errorf("the orphaned Job is %+v", left.ObjectMeta)
				}
			}
			j.kubelet.endWith(corev1.PodSucceeded, 0)
			w.eventually("the new run is done and, with a history of none, gone", func(ctx context.Context) error {
				_, err := w.client.BatchV1().Jobs(w.namespace).Get(ctx, second.Name, metav1.GetOptions{})
				if !apierrors.IsNotFound(err) {
					return errors.Join(errors.New("it is there"), err)
				}
				return nil
			})
			if cascade == "orphan" {
				j.until(first.Name, "complete, and in nobody's history", func(s *batchv1.JobStatus) bool { return has(s, batchv1.JobComplete) && s.Succeeded == 2 })
			}
			j.noFinalizers()
		})
	}
}

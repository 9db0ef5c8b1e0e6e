// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	build "github.com/carillon-dev/carillon/internal/testkit/make"
)

// Jobs of some size, and Jobs whose containers fail and are started again in their pods, end with exact counts
// (JOB-014, JOB-134).
func TestJobsOfSomeSizeComplete(t *testing.T) {
	for name, c := range map[string]struct {
		job      build.JobBuilder
		restarts int32
		pods     int
	}{
		"JOB-014 ninety at once":           {job: build.Job("", "j").Parallelism(90).Completions(90), pods: 90},
		"JOB-134 containers are restarted": {job: build.Job("", "j").Parallelism(2).Completions(4).BackoffLimit(6).RestartPolicy(corev1.RestartPolicyOnFailure), restarts: 1, pods: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJobs(t)
			j.kubelet.change(func() { j.kubelet.restarts = c.restarts })
			j.control()
			j.create(c.job)
			j.until("j", "complete", func(s *batchv1.JobStatus) bool {
				return has(s, batchv1.JobComplete) && int(s.Succeeded) == c.pods && s.Failed == 0
			})
			j.noFinalizers()
			if n := len(j.pods(t.Context())); n != c.pods {
				t.Errorf("%d pods, want %d", n, c.pods)
			}
		})
	}
}

// Pods that are evicted do not count when the policy says so: a Job with as many evictions as pods, more than its
// backoff limit, completes (JOB-281).
func TestEvictionsDoNotCount(t *testing.T) {
	t.Parallel()
	const n = 3
	j := newJobs(t)
	j.kubelet.keepRunning()
	j.control()
	j.create(build.Job("", "evicted").Parallelism(n).Completions(n).BackoffLimit(n - 1).FailurePolicy(batchv1.PodFailurePolicyRule{
		Action:          batchv1.PodFailurePolicyActionIgnore,
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
	}))
	j.until("evicted", "running", func(s *batchv1.JobStatus) bool { return s.Active == n && *s.Ready == n })
	first := j.pods(t.Context())
	for _, pod := range first {
		if err := j.client.PolicyV1().Evictions(j.namespace).Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: j.namespace, Name: pod.Name}}); err != nil {
			t.Fatal(err)
		}
	}
	j.eventually("all are replaced", func(ctx context.Context) error {
		running := 0
		for _, pod := range j.pods(ctx) {
			if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil && !slices.ContainsFunc(first, func(f corev1.Pod) bool { return f.UID == pod.UID }) {
				running++
			}
		}
		if running != n {
			return fmt.Errorf("%d new pods run", running)
		}
		return nil
	})
	j.kubelet.endWith(corev1.PodSucceeded, 0)
	j.until("evicted", "complete", func(s *batchv1.JobStatus) bool {
		return has(s, batchv1.JobComplete) && s.Succeeded == n && s.Failed == 0
	})
	j.noFinalizers()
}

// A Job goes the way that queueing systems send it: made suspended, labelled, edited and released, found by its label,
// completed and removed with others of its label (JOB-351).
func TestJobLifecycle(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	j.control()
	api := j.client.BatchV1().Jobs(j.namespace)
	j.create(build.Job("", "queued").Suspend(true).Parallelism(2).Completions(2))
	j.create(build.Job("", "other"))
	j.until("queued", "suspended", func(s *batchv1.JobStatus) bool { return has(s, batchv1.JobSuspended) })
	if _, err := api.Patch(t.Context(), "queued", types.StrategicMergePatchType, []byte(`{"metadata":{"labels":{"queue":"q"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	j.edit("queued", func(job *batchv1.Job) {
		job.Annotations = map[string]string{"released": "true"}
		job.Spec.Suspend = new(false)
	})
	list, err := api.List(t.Context(), metav1.ListOptions{LabelSelector: "queue=q"})
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != "queued" {
		t.Fatalf("found %d by the label, %v", len(list.Items), err)
	}
	job := j.until("queued", "complete", func(s *batchv1.JobStatus) bool { return has(s, batchv1.JobComplete) })
	if job.Labels["queue"] != "q" || job.Annotations["released"] != "true" {
		t.Errorf("metadata was lost: %+v", job.ObjectMeta)
	}
	background := metav1.DeletePropagationBackground
	if err := api.DeleteCollection(t.Context(), metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{LabelSelector: "queue=q"}); err != nil {
		t.Fatal(err)
	}
	j.eventually("it is gone with its pods", func(ctx context.Context) error {
		_, err := api.Get(ctx, "queued", metav1.GetOptions{})
		if n := len(j.pods(ctx)); !apierrors.IsNotFound(err) || n != 1 {
			return errors.Join(fmt.Errorf("%d pods, want that of the other Job", n), err)
		}
		return nil
	})
	j.until("other", "complete", func(s *batchv1.JobStatus) bool { return has(s, batchv1.JobComplete) })
}

// While a Job is suspended and nothing of it is active its template can be changed where the API server allows it, and
// the pods that follow are made from the new one: also resources, also of a Job that has run before, and scheduling
// also before the controller ever saw the Job (JOB-179, JOB-180).
func TestTemplateOfSuspendedJob(t *testing.T) {
	t.Parallel()
	more := resource.MustParse("20Mi")
	resources := func(job *batchv1.Job) {
		job.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: more}
	}
	node := func(job *batchv1.Job) { job.Spec.Template.Spec.NodeSelector = map[string]string{"zone": "a"} }
	for name, c := range map[string]struct {
		ran, unseen bool
		change      func(*batchv1.Job)
		want        func(*corev1.Pod) bool
	}{
		"JOB-179 resources, never started":      {change: resources, want: func(pod *corev1.Pod) bool { return pod.Spec.Containers[0].Resources.Requests.Memory().Cmp(more) == 0 }},
		"JOB-179 resources, started before":     {change: resources, ran: true, want: func(pod *corev1.Pod) bool { return pod.Spec.Containers[0].Resources.Requests.Memory().Cmp(more) == 0 }},
		"JOB-180 scheduling, before we were up": {change: node, unseen: true, want: func(pod *corev1.Pod) bool { return pod.Spec.NodeSelector["zone"] == "a" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJobs(t)
			j.kubelet.keepRunning()
			if !c.unseen {
				j.control()
			}
			j.create(build.Job("", "paused").Suspend(!c.ran).Parallelism(2).Completions(2))
			if c.ran {
				j.until("paused", "running", func(s *batchv1.JobStatus) bool { return s.Active == 2 })
				j.edit("paused", func(job *batchv1.Job) { job.Spec.Suspend = new(true) })
			}
			if !c.unseen {
				j.until("paused", "suspended", func(s *batchv1.JobStatus) bool { return has(s, batchv1.JobSuspended) && s.Active == 0 })
			}
			if c.ran {
				j.eventually("its pods are gone", func(ctx context.Context) error {
					if n := len(j.pods(ctx)); n > 0 {
						return fmt.Errorf("%d pods", n)
					}
					return nil
				})
			}
			job := j.get(t.Context(), "paused")
			c.change(job)
			if _, err := j.client.BatchV1().Jobs(j.namespace).Update(t.Context(), job, metav1.UpdateOptions{}); err != nil && !apierrors.IsConflict(err) {
				t.Fatalf("the template is refused: %v", err)
			} else if err != nil {
				j.edit("paused", c.change)
			}
			if c.unseen {
				j.control()
			}
			j.kubelet.endWith(corev1.PodSucceeded, 0)
			j.edit("paused", func(job *batchv1.Job) { job.Spec.Suspend = new(false) })
			j.until("paused", "complete", func(s *batchv1.JobStatus) bool {
				return has(s, batchv1.JobComplete) && s.Succeeded == 2 && s.Failed == 0
			})
			for _, pod := range j.pods(t.Context()) {
				if !c.want(&pod) {
					t.Errorf("pod %s is made from the old template: %+v", pod.Name, pod.Spec)
				}
			}
		})
	}
}

// events gives how often each reason was told about an object, and the messages.
func (w *world) events(ctx context.Context, uid types.UID) (count map[string]int, messages map[string][]string, err error) {
	events, err := w.client.CoreV1().Events(w.namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(uid)})
	if err != nil {
		return nil, nil, err
	}
	count, messages = map[string]int{}, map[string][]string{}
	for _, e := range events.Items {
		count[e.Reason] += int(max(1, e.Count))
		messages[e.Reason] = append(messages[e.Reason], e.Message)
	}
	return count, messages, nil
}

// Each pod's creation is told once, and the end of the Job once: as Completed, or as a Warning with the reason
// (JOB-373).
func TestJobEvents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		job  build.JobBuilder
		end  corev1.PodPhase
		want map[string]int
	}{
		"complete": {build.Job("", "j").Parallelism(3).Completions(5), corev1.PodSucceeded, map[string]int{"SuccessfulCreate": 5, "Completed": 1}},
		"failed":   {build.Job("", "j").BackoffLimit(0), corev1.PodFailed, map[string]int{"SuccessfulCreate": 1, "BackoffLimitExceeded": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJobs(t)
			j.kubelet.endWith(c.end, 1)
			stop := j.control()
			job := j.create(c.job)
			j.until("j", "finished", func(s *batchv1.JobStatus) bool { return has(s, batchv1.JobComplete) || has(s, batchv1.JobFailed) })
			j.noFinalizers()
			stop() // tells all that there is to tell
			got, messages, err := j.events(t.Context(), job.UID)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			for _, pod := range j.pods(t.Context()) {
				if !slices.Contains(messages["SuccessfulCreate"], "Created pod: "+pod.Name) {
					t.Errorf("nothing is said about pod %s: %q", pod.Name, messages["SuccessfulCreate"])
				}
			}
		})
	}
}

// A user who edits the Job all the time costs conflicts, and no pod, no count and no index is lost (JOB-354).
func TestEditsAtEveryWrite(t *testing.T) {
	t.Parallel()
	const n = 24
	var seen traffic
	j := newJobs(t)
	j.control(seenBy(&seen))
	j.create(build.Job("", "busy").Indexed(n).Parallelism(4))
	done := make(chan struct{})
	var editing sync.WaitGroup
	editing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"edit":"%d"}},"spec":{"parallelism":%d}}`, i, 3+i%3)
			if _, err := j.client.BatchV1().Jobs(j.namespace).Patch(j.Context(), "busy", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	j.until("busy", "complete", func(s *batchv1.JobStatus) bool {
		return has(s, batchv1.JobComplete) && s.Succeeded == n && s.CompletedIndexes == fmt.Sprintf("0-%d", n-1)
	})
	close(done)
	editing.Wait()
	j.noFinalizers()
	for _, w := range seen.in(j.namespace, func(w write) bool { return !w.accepted() }) {
		if w.code != http.StatusConflict && w.code != http.StatusNotFound {
			t.Errorf("an edit led to %v", w)
		}
	}
	// Pods that a smaller parallelism stopped never count.
	if job := j.get(t.Context(), "busy"); job.Status.Failed != 0 {
		t.Errorf("%d failed", job.Status.Failed)
	}
}

// metric is the sum of a counter of ours over all series with these labels.
func metric(t *testing.T, name string, labels ...string) float64 {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return sum(families, name, labels...)
}

func sum(families []*dto.MetricFamily, name string, labels ...string) (total float64) {
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.Metric {
			has := map[string]string{}
			for _, l := range m.Label {
				has[l.GetName()] = l.GetValue()
			}
			matches := true
			for i := 0; i+1 < len(labels); i += 2 {
				matches = matches && has[labels[i]] == labels[i+1]
			}
			if matches {
				total += m.GetCounter().GetValue()
			}
		}
	}
	return total
}

// A call that fails is repeated, and once is enough: one error, one retry, nothing twice (JOB-371). Other tests must
// not run meanwhile: it counts for the whole process.
func TestFailedCallIsRepeated(t *testing.T) {
	var seen traffic
	j := newJobs(t)
	j.control(seenBy(&seen))
	for name, call := range map[string]string{"pod": "create pods", "status": "update jobs/status"} {
		var once sync.Once
		seen.interfere(func(_ *http.Request, w write) (err error) {
			if w.verb+" "+w.resource == call {
				once.Do(func() { err = apierrors.NewInternalError(errors.New("broken for once")) })
			}
			return err
		})
		errorsBefore := metric(t, "job_controller_job_syncs_total", "result", "error")
		j.create(build.Job("", name))
		j.until(name, "complete", func(s *batchv1.JobStatus) bool {
			return has(s, batchv1.JobComplete) && s.Succeeded == 1 && s.Failed == 0
		})
		j.noFinalizers()
		if n := metric(t, "job_controller_job_syncs_total", "result", "error") - errorsBefore; n != 1 {
			t.Errorf("%s: %v syncs ended with an error, want 1", call, n)
		}
	}
	if n := seen.count(j.namespace, "create", "pods"); n != 3 {
		t.Errorf("%d tries to make two pods, one of which failed", n)
	}
	if n := len(j.pods(t.Context())); n != 2 {
		t.Errorf("%d pods of two Jobs", n)
	}
	failed := seen.in(j.namespace, func(w write) bool { return w.code == http.StatusInternalServerError })
	if len(failed) != 2 {
		t.Errorf("%d calls failed: %s", len(failed), verbs(failed))
	}
}

// A cache of pods that is behind makes no pod twice: however often the Job is edited meanwhile, no more pods are made
// than asked for, others are served, and when the cache has caught up the Job goes on (JOB-372).
func TestStalePodCacheMakesNoPodTwice(t *testing.T) {
	t.Parallel()
	var seen traffic
	j := newJobs(t)
	j.kubelet.keepRunning()
	j.control(seenBy(&seen))
	j.create(build.Job("", "witness"))
	j.until("witness", "running", func(s *batchv1.JobStatus) bool { return s.Active == 1 && *s.Ready == 1 })

	seen.pods.shut()
	defer seen.pods.open()
	j.create(build.Job("", "stale").Parallelism(1).Completions(4))
	made := func(prefix string) (n int) {
		for _, pod := range j.pods(t.Context()) {
			if strings.HasPrefix(pod.Name, prefix) {
				n++
			}
		}
		return n
	}
	some := func(name string) {
		j.eventually("a pod of "+name, func(context.Context) error {
			if made(name+"-") == 0 {
				return errors.New("none")
			}
			return nil
		})
	}
	some("stale")
	for p := int32(2); p <= 3; p++ {
		j.edit("stale", func(job *batchv1.Job) { job.Spec.Parallelism = &p })
		// Whoever comes later is served: the edit has been looked at, or waits for the cache.
		name := fmt.Sprintf("passer-by-%d", p)
		j.create(build.Job("", name))
		some(name)
		if n := made("stale-"); n > int(p) {
			t.Errorf("%d pods were made while the cache was behind, want at most %d", n, p)
		}
	}
	seen.pods.open()
	j.kubelet.endWith(corev1.PodSucceeded, 0)
	for name, n := range map[string]int32{"stale": 4, "witness": 1} {
		j.until(name, "complete", func(s *batchv1.JobStatus) bool {
			return has(s, batchv1.JobComplete) && s.Succeeded == n && s.Failed == 0
		})
	}
	if n := made("stale-"); n != 4 {
		t.Errorf("%d pods for 4 completions", n)
	}
	j.noFinalizers()
}

// A status that the server refuses as invalid is told in a Warning, counted, and not written in a loop; the Job goes on
// by itself when the server takes it again (JOB-355).
func TestRefusedStatus(t *testing.T) {
	t.Parallel()
	var seen traffic
	j := newJobs(t)
	j.control(seenBy(&seen), func(c *controls) { c.job.RetryMax = 200 * time.Millisecond })
	lift := j.refuse(refusal{name: "status", group: "batch", resource: "jobs/status", operation: "UPDATE", object: "object.metadata.name == 'refused'"}, func(ctx context.Context) error {
		probe := build.Job(j.namespace, "refused").ManagedBy("nobody.test/x").New()
		if _, err := j.client.BatchV1().Jobs(j.namespace).Create(ctx, probe, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		_, err := j.client.BatchV1().Jobs(j.namespace).Patch(ctx, "refused", types.MergePatchType, []byte(`{"status":{"ready":0}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
		return err
	})
	background := metav1.DeletePropagationBackground
	if err := j.client.BatchV1().Jobs(j.namespace).Delete(t.Context(), "refused", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		t.Fatal(err)
	}
	rejected := metric(t, "carillon_job_controller_status_rejected_total", "by", "server")
	begun := time.Now()
	job := j.create(build.Job("", "refused"))
	j.said(job, "InvalidStatus")
	j.create(build.Job("", "witness").Parallelism(2).Completions(4))
	j.until("witness", "complete", func(s *batchv1.JobStatus) bool { return has(s, batchv1.JobComplete) })
	if metric(t, "carillon_job_controller_status_rejected_total", "by", "server") <= rejected {
		t.Error("the metric does not count it")
	}
	lift()
	j.until("refused", "complete", func(s *batchv1.JobStatus) bool { return has(s, batchv1.JobComplete) && s.Succeeded == 1 })
	j.noFinalizers()
	tries := len(seen.in(j.namespace, func(w write) bool { return w.name == "refused" && w.code == http.StatusUnprocessableEntity }))
	// One try for each thing that happens to the Job and its pod, and one for each RetryMax.
	if most := 8 + int(time.Since(begun)/(200*time.Millisecond)); tries == 0 || tries > most {
		t.Errorf("%d tries to write the status, want at most %d", tries, most)
	}
	if got, _, err := j.events(t.Context(), job.UID); err != nil || got["InvalidStatus"] > 3 {
		t.Errorf("told %d times, %v", got["InvalidStatus"], err)
	}
}

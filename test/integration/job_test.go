// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	jobcontroller "github.com/carillon-dev/carillon/internal/controller/job"
	ttlcontroller "github.com/carillon-dev/carillon/internal/controller/ttl"
	build "github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/plane"
)

// jobs is a namespace whose Jobs are run by controllers of the test's own (each
// test has its own spec.managedBy) and whose pods are run by a kubelet that only
// writes statuses.
type jobs struct {
	*world
	managedBy string
	kubelet   *kubelet
}

func newJobs(t *testing.T) *jobs {
	t.Helper()
	p := plane.Start(t)
	w := &world{T: t, plane: p, client: p.Client(), namespace: p.Namespace(t)}
	j := &jobs{world: w, managedBy: "test.carillon.dev/" + w.namespace}
	j.kubelet = startKubelet(w)
	return j
}

// controls are what tests may change of their controllers.
type controls struct {
	config *rest.Config
	job    jobcontroller.Options
	ttl    ttlcontroller.Options
	noTTL  bool
}

// control runs the Job and TTL controllers until stop or the end of the test.
func (j *jobs) control(change ...func(*controls)) (stop func()) {
	j.Helper()
	c := controls{
		config: j.plane.Config(),
		job:    jobcontroller.Options{ManagedBy: j.managedBy, BackoffBase: 50 * time.Millisecond, RetryBase: retryBase},
		ttl:    ttlcontroller.Options{ManagedBy: j.managedBy},
	}
	for _, f := range change {
		f(&c)
	}
	c.config.QPS = -1
	mgr, err := ctrl.NewManager(c.config, ctrl.Options{
		Scheme:                 clientgoscheme.Scheme,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Logger:                 testr.NewWithInterface(quiet{j.world}, testr.Options{}),
	})
	if err != nil {
		j.Fatal(err)
	}
	if err = jobcontroller.Add(mgr, c.job); err == nil && !c.noTTL {
		err = ttlcontroller.Add(mgr, c.ttl)
	}
	if err != nil {
		j.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			j.Errorf("the manager ended with: %v", err)
		}
	})
	j.Cleanup(stop)
	return stop
}

// seenBy has the requests of the controllers noted.
func seenBy(t *traffic) func(*controls) { return func(c *controls) { t.on(c.config) } }

// retryBase is the first delay after an error of the Job controller in these tests.
const retryBase = 50 * time.Millisecond

func (j *jobs) create(b build.JobBuilder) *batchv1.Job {
	j.Helper()
	obj := b.ManagedBy(j.managedBy).New()
	obj.Namespace = j.namespace
	created, err := j.client.BatchV1().Jobs(j.namespace).Create(j.Context(), obj, metav1.CreateOptions{})
	if err != nil {
		j.Fatal(err)
	}
	return created
}

func (j *jobs) get(ctx context.Context, name string) *batchv1.Job {
	j.Helper()
	job, err := j.client.BatchV1().Jobs(j.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		j.Fatal(err)
	}
	return job
}

// until waits until the status of the Job is as wanted.
func (j *jobs) until(name, what string, want func(s *batchv1.JobStatus) bool) *batchv1.Job {
	j.Helper()
	var found *batchv1.Job
	j.eventually(what, func(ctx context.Context) error {
		if found = j.get(ctx, name); !want(&found.Status) {
			return fmt.Errorf("status is %+v", found.Status)
		}
		return nil
	})
	return found
}

func (j *jobs) edit(name string, change func(*batchv1.Job)) {
	j.Helper()
	j.eventually("edit of Job "+name, func(ctx context.Context) error {
		job := j.get(ctx, name)
		change(job)
		_, err := j.client.BatchV1().Jobs(j.namespace).Update(ctx, job, metav1.UpdateOptions{})
		return err
	})
}

func (j *jobs) pods(ctx context.Context) []corev1.Pod {
	j.Helper()
	list, err := j.client.CoreV1().Pods(j.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		j.Fatal(err)
	}
	return list.Items
}

// noFinalizers waits until no pod of the namespace holds the tracking finalizer.
func (j *jobs) noFinalizers() {
	j.Helper()
	j.eventually("no tracking finalizers", func(ctx context.Context) error {
		for _, pod := range j.pods(ctx) {
			if tracked(&pod) {
				return fmt.Errorf("pod %s, %s, still has it", pod.Name, pod.Status.Phase)
			}
		}
		return nil
	})
}

func tracked(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
}

func has(s *batchv1.JobStatus, kind batchv1.JobConditionType) bool { return reason(s, kind) != "" }

func reason(s *batchv1.JobStatus, kind batchv1.JobConditionType) string {
	for _, c := range s.Conditions {
		if c.Type == kind && c.Status == corev1.ConditionTrue {
			return c.Reason
		}
	}
	return ""
}

func index(pod *corev1.Pod) string { return pod.Annotations[batchv1.JobCompletionIndexAnnotation] }

// A Job runs its pods as often as asked, no more of them at once than allowed,
// and all of them stay, free, when it is complete (JOB-003, JOB-101).
func TestJobCompletes(t *testing.T) {
	j := newJobs(t)
	j.control()
	j.create(build.Job("", "plain").Parallelism(2).Completions(4))
	job := j.until("plain", "complete", func(s *batchv1.JobStatus) bool { return has(s, batchv1.JobComplete) })
	want := batchv1.JobStatus{
		StartTime: job.Status.StartTime, CompletionTime: job.Status.CompletionTime, Conditions: job.Status.Conditions,
		Succeeded: 4, Ready: ptr.To[int32](0), Terminating: ptr.To[int32](0), UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{},
	}
	if diff := cmp.Diff(want, job.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		if r := reason(&job.Status, kind); r != batchv1.JobReasonCompletionsReached {
			t.Errorf("reason of %s is %q", kind, r)
		}
	}
	j.noFinalizers()
	if n := len(j.pods(t.Context())); n != 4 {
		t.Errorf("%d pods, want 4", n)
	}
	j.said(job, "Completed")
	if e := j.said(job, "SuccessfulCreate"); e.Source.Component != "job-controller" {
		t.Errorf("the event comes from %q", e.Source.Component)
	}
}

// Each index runs in a pod that knows it (JOB-032, JOB-033, JOB-036).
func TestIndexedJobCompletes(t *testing.T) {
	j := newJobs(t)
	j.control()
	j.create(build.Job("", "indexed").Indexed(4).Parallelism(2))
	j.until("indexed", "complete", func(s *batchv1.JobStatus) bool {
		return has(s, batchv1.JobComplete) && s.CompletedIndexes == "0-3" && s.Succeeded == 4
	})
	j.noFinalizers()
	seen := map[string]bool{}
	for _, pod := range j.pods(t.Context()) {
		i := index(&pod)
		seen[i] = true
		if pod.Spec.Hostname != "indexed-"+i || !strings.HasPrefix(pod.Name, "indexed-"+i+"-") || pod.Labels[batchv1.JobCompletionIndexAnnotation] != i {
			t.Errorf("pod %s of index %s: hostname %s, labels %v", pod.Name, i, pod.Spec.Hostname, pod.Labels)
		}
	}
	if len(seen) != 4 {
		t.Errorf("indexes %v", seen)
	}
}

// A failed pod is replaced, and counted once (JOB-079, JOB-135).
func TestFailedPodIsReplaced(t *testing.T) {
	j := newJobs(t)
	var failed types.UID
	j.kubelet.end(func(pod *corev1.Pod) (corev1.PodPhase, int32) {
		if failed == "" || failed == pod.UID {
			failed = pod.UID
			return corev1.PodFailed, 1
		}
		return corev1.PodSucceeded, 0
	})
	j.control()
	j.create(build.Job("", "retry").BackoffLimit(2))
	j.until("retry", "complete after one failure", func(s *batchv1.JobStatus) bool {
		return has(s, batchv1.JobComplete) && s.Succeeded == 1 && s.Failed == 1
	})
	j.noFinalizers()
}

// Too many failures end the Job; the pods that still run are stopped, counted,
// and gone before the Job has failed (JOB-122, JOB-123, JOB-124).
func TestBackoffLimitExceeded(t *testing.T) {
	j := newJobs(t)
	var failed types.UID
	j.kubelet.beSlow(true)
	j.kubelet.end(func(pod *corev1.Pod) (corev1.PodPhase, int32) {
		if failed == "" || failed == pod.UID {
			failed = pod.UID
			return corev1.PodFailed, 1
		}
		return "", 0
	})
	j.control()
	job := j.create(build.Job("", "fails").Parallelism(3).Completions(3).BackoffLimit(0))
	j.until("fails", "failing, with two pods on their way out", func(s *batchv1.JobStatus) bool {
		return has(s, batchv1.JobFailureTarget) && !has(s, batchv1.JobFailed) && s.Active == 0 && *s.Terminating == 2
	})
	j.kubelet.beSlow(false)
	j.until("fails", "failed", func(s *batchv1.JobStatus) bool {
		return reason(s, batchv1.JobFailed) == batchv1.JobReasonBackoffLimitExceeded && s.Failed == 3 && *s.Terminating == 0
	})
	j.noFinalizers()
	j.said(job, "BackoffLimitExceeded")
}

// A Job that takes too long fails (JOB-153).
func TestDeadlineExceeded(t *testing.T) {
	j := newJobs(t)
	j.kubelet.keepRunning()
	j.control()
	j.create(build.Job("", "slow").ActiveDeadline(1).Parallelism(2).Completions(2))
	job := j.until("slow", "failed", func(s *batchv1.JobStatus) bool {
		return reason(s, batchv1.JobFailed) == batchv1.JobReasonDeadlineExceeded && s.Failed == 2
	})
	for _, c := range job.Status.Conditions {
		if after := c.LastTransitionTime.Sub(job.Status.StartTime.Time); after < time.Second {
			t.Errorf("%s came %v after the start", c.Type, after)
		}
	}
	j.noFinalizers()
}

// A work queue starts as many pods as may run at once, and is printed as one (JOB-002).
func TestWorkQueueIsPrinted(t *testing.T) {
	j := newJobs(t)
	j.kubelet.keepRunning()
	j.control()
	j.create(build.Job("", "queue").Parallelism(5).WorkQueue())
	j.until("queue", "running", func(s *batchv1.JobStatus) bool { return s.Active == 5 })
	if n := len(j.pods(t.Context())); n != 5 {
		t.Errorf("%d pods, want 5", n)
	}
	if got := j.printed("jobs", "queue")["Completions"]; got != "0/1 of 5" {
		t.Errorf("COMPLETIONS is %q, want 0/1 of 5", got)
	}
}

// Suspending stops and forgets the pods, and opens the template for edits;
// resuming runs new pods, and closes it (JOB-170, JOB-171, JOB-176, JOB-178).
func TestSuspendResume(t *testing.T) {
	j := newJobs(t)
	j.kubelet.keepRunning()
	j.control()
	job := j.create(build.Job("", "pause").Parallelism(2).Completions(2).BackoffLimit(0))
	j.until("pause", "running", func(s *batchv1.JobStatus) bool { return s.Active == 2 })
	j.edit("pause", func(job *batchv1.Job) { job.Spec.Suspend = ptr.To(true) })
	j.until("pause", "suspended", func(s *batchv1.JobStatus) bool {
		return has(s, batchv1.JobSuspended) && s.Active == 0 && s.Failed == 0 && s.StartTime == nil
	})
	j.eventually("pods are gone", func(ctx context.Context) error {
		if n := len(j.pods(ctx)); n > 0 {
			return fmt.Errorf("%d pods", n)
		}
		return nil
	})
	j.kubelet.endWith(corev1.PodSucceeded, 0)
	j.edit("pause", func(job *batchv1.Job) {
		job.Spec.Template.Spec.NodeSelector = map[string]string{"zone": "a"}
		job.Spec.Suspend = ptr.To(false)
	})
	_, err := j.client.BatchV1().Jobs(j.namespace).Patch(t.Context(), "pause", types.MergePatchType,
		[]byte(`{"spec":{"template":{"spec":{"nodeSelector":{"zone":"b"}}}}}`), metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) {
		t.Errorf("JOB-178: a change after the resumption: %v, want a refusal", err)
	}
	j.until("pause", "complete", func(s *batchv1.JobStatus) bool {
		return has(s, batchv1.JobComplete) && !has(s, batchv1.JobSuspended) && s.Succeeded == 2 && s.Failed == 0
	})
	for _, pod := range j.pods(t.Context()) {
		if pod.Spec.NodeSelector["zone"] != "a" {
			t.Errorf("pod %s does not have the new node selector", pod.Name)
		}
	}
	j.noFinalizers()
	j.said(job, "Suspended")
	j.said(job, "Resumed")
}

// However a running Job is deleted, no pod keeps the finalizer, and the garbage
// collector can do its work (JOB-102, JOB-104, JOB-105, CP-12, CP-13, CP-14).
// The same when nobody was there to see the deletion (JOB-103).
func TestDeletedJobLeavesNothing(t *testing.T) {
	for _, how := range []metav1.DeletionPropagation{metav1.DeletePropagationOrphan, metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		for _, absent := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/absent=%v", how, absent), func(t *testing.T) {
				j := newJobs(t)
				j.kubelet.keepRunning()
				stop := j.control()
				j.create(build.Job("", "doomed").Parallelism(2).Completions(2))
				j.eventually("two running pods", func(ctx context.Context) error {
					n := 0
					for _, pod := range j.pods(ctx) {
						if pod.Status.Phase == corev1.PodRunning && tracked(&pod) {
							n++
						}
					}
					if n != 2 {
						return fmt.Errorf("%d pods run", n)
					}
					return nil
				})
				if absent {
					stop()
				}
				if err := j.client.BatchV1().Jobs(j.namespace).Delete(j.Context(), "doomed", metav1.DeleteOptions{PropagationPolicy: &how}); err != nil {
					t.Fatal(err)
				}
				if absent {
					j.eventually("the garbage collector has begun", func(ctx context.Context) error {
						for _, pod := range j.pods(ctx) {
							if how == metav1.DeletePropagationOrphan && len(pod.OwnerReferences) > 0 || how != metav1.DeletePropagationOrphan && pod.DeletionTimestamp == nil {
								return fmt.Errorf("pod %s is untouched", pod.Name)
							}
						}
						return nil
					})
					j.control()
				}
				j.noFinalizers()
				j.eventually("the Job is gone", func(ctx context.Context) error {
					_, err := j.client.BatchV1().Jobs(j.namespace).Get(ctx, "doomed", metav1.GetOptions{})
					if !apierrors.IsNotFound(err) {
						return errors.Join(errors.New("it is still there"), err)
					}
					return nil
				})
				left := 0
				if how == metav1.DeletePropagationOrphan {
					left = 2
				}
				j.eventually("pods", func(ctx context.Context) error {
					if n := len(j.pods(ctx)); n != left {
						return fmt.Errorf("%d pods, want %d", n, left)
					}
					return nil
				})
			})
		}
	}
}

// A pod that lost its owner is taken back with its finalizer; one that lost its
// labels is let go and replaced (JOB-039, JOB-040).
func TestAdoptAndRelease(t *testing.T) {
	j := newJobs(t)
	j.kubelet.keepRunning()
	j.control()
	job := j.create(build.Job("", "keeper").Parallelism(2).Completions(2))
	j.until("keeper", "two ready pods", func(s *batchv1.JobStatus) bool { return s.Active == 2 && *s.Ready == 2 })
	name := j.pods(t.Context())[0].Name
	patch := func(body string) {
		t.Helper()
		if _, err := j.client.CoreV1().Pods(j.namespace).Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	read := func(ctx context.Context) *corev1.Pod {
		pod, err := j.client.CoreV1().Pods(j.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return pod
	}
	patch(`{"metadata":{"ownerReferences":null}}`)
	j.eventually("adopted", func(ctx context.Context) error {
		if pod := read(ctx); !metav1.IsControlledBy(pod, job) || !tracked(pod) {
			return fmt.Errorf("owners %v, finalizers %v", pod.OwnerReferences, pod.Finalizers)
		}
		return nil
	})
	patch(`{"metadata":{"labels":null}}`)
	j.eventually("released", func(ctx context.Context) error {
		if pod := read(ctx); metav1.GetControllerOf(pod) != nil || tracked(pod) {
			return fmt.Errorf("owners %v, finalizers %v", pod.OwnerReferences, pod.Finalizers)
		}
		return nil
	})
	j.eventually("replaced", func(ctx context.Context) error {
		if n := len(j.pods(ctx)); n != 3 {
			return fmt.Errorf("%d pods", n)
		}
		return nil
	})
	j.kubelet.endWith(corev1.PodSucceeded, 0)
	j.until("keeper", "complete", func(s *batchv1.JobStatus) bool {
		return has(s, batchv1.JobComplete) && s.Succeeded == 2 && s.Failed == 0
	})
	j.noFinalizers()
}

// A finished Job goes when its time to live is over, and its pods with it; a Job
// without one stays (TTL-001, TTL-004).
func TestTimeToLive(t *testing.T) {
	j := newJobs(t)
	j.control()
	j.create(build.Job("", "stays"))
	j.create(build.Job("", "goes-at-once").TTL(0))
	j.create(build.Job("", "goes-later").TTL(2))
	later := j.until("goes-later", "complete", func(s *batchv1.JobStatus) bool { return has(s, batchv1.JobComplete) })
	for _, name := range []string{"goes-at-once", "goes-later"} {
		j.eventually(name+" is gone", func(ctx context.Context) error {
			_, err := j.client.BatchV1().Jobs(j.namespace).Get(ctx, name, metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				return errors.Join(errors.New("it is still there"), err)
			}
			return nil
		})
	}
	if lived := time.Since(later.Status.CompletionTime.Time); lived < 2*time.Second {
		t.Errorf("it was deleted %v after its end", lived)
	}
	j.until("stays", "complete", func(s *batchv1.JobStatus) bool { return has(s, batchv1.JobComplete) })
	j.eventually("only its pod is left", func(ctx context.Context) error {
		if n := len(j.pods(ctx)); n != 1 {
			return fmt.Errorf("%d pods", n)
		}
		return nil
	})
}

// A Job of somebody else is not touched in any way (JOB-330, JOB-334, JOB-337).
func TestForeignJobIsUntouched(t *testing.T) {
	j := newJobs(t)
	j.control()
	foreign := build.Job("", "foreign").ManagedBy(j.managedBy + "x").New()
	foreign.Namespace = j.namespace
	if _, err := j.client.BatchV1().Jobs(j.namespace).Create(t.Context(), foreign, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	j.create(build.Job("", "ours"))
	j.until("ours", "complete", func(s *batchv1.JobStatus) bool { return has(s, batchv1.JobComplete) })
	if diff := cmp.Diff(batchv1.JobStatus{}, j.get(t.Context(), "foreign").Status); diff != "" {
		t.Errorf("status of the foreign Job:\n%s", diff)
	}
	if n := len(j.pods(t.Context())); n != 1 {
		t.Errorf("%d pods", n)
	}
}

// The policies, as upstream's conformance tests check them: JOB-230, JOB-231,
// JOB-233, JOB-280, JOB-310, JOB-311, JOB-312 (JOB-281: TestEvictionsDoNotCount).
func TestPolicies(t *testing.T) {
	onExit := func(action batchv1.PodFailurePolicyAction, codes ...int32) batchv1.PodFailurePolicyRule {
		return batchv1.PodFailurePolicyRule{Action: action, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: codes,
		}}
	}
	oddFail := func(pod *corev1.Pod) (corev1.PodPhase, int32) {
		if i := index(pod); i == "1" || i == "3" {
			return corev1.PodFailed, 1
		}
		return corev1.PodSucceeded, 0
	}
	allFail := func(*corev1.Pod) (corev1.PodPhase, int32) { return corev1.PodFailed, 1 }
	allSucceed := func(*corev1.Pod) (corev1.PodPhase, int32) { return corev1.PodSucceeded, 0 }
	zeroSucceeds := func(pod *corev1.Pod) (corev1.PodPhase, int32) {
		if index(pod) == "0" {
			return corev1.PodSucceeded, 0
		}
		return "", 0
	}
	for name, c := range map[string]struct {
		job  build.JobBuilder
		ends func(*corev1.Pod) (corev1.PodPhase, int32)
		want func(s *batchv1.JobStatus) bool
	}{
		"JOB-230 every index runs although some fail": {
			build.Job("", "j").Indexed(4).Parallelism(2).BackoffLimitPerIndex(1), oddFail,
			func(s *batchv1.JobStatus) bool {
				return reason(s, batchv1.JobFailed) == batchv1.JobReasonFailedIndexes && *s.FailedIndexes == "1,3" && s.CompletedIndexes == "0,2" && s.Failed == 4 && s.Succeeded == 2
			},
		},
		"JOB-231 too many failed indexes": {
			build.Job("", "j").Indexed(4).Parallelism(1).BackoffLimitPerIndex(0).MaxFailedIndexes(0), allFail,
			func(s *batchv1.JobStatus) bool {
				return reason(s, batchv1.JobFailed) == batchv1.JobReasonMaxFailedIndexesExceeded && *s.FailedIndexes == "0" && s.Failed == 1
			},
		},
		"JOB-233 FailIndex": {
			build.Job("", "j").Indexed(2).Parallelism(2).BackoffLimitPerIndex(1).RestartPolicy(corev1.RestartPolicyNever).FailurePolicy(onExit(batchv1.PodFailurePolicyActionFailIndex, 1)), oddFail,
			func(s *batchv1.JobStatus) bool {
				return has(s, batchv1.JobFailed) && *s.FailedIndexes == "1" && s.CompletedIndexes == "0" && s.Failed == 1 && s.Succeeded == 1
			},
		},
		"JOB-280 FailJob": {
			build.Job("", "j").Parallelism(2).Completions(2).RestartPolicy(corev1.RestartPolicyNever).FailurePolicy(onExit(batchv1.PodFailurePolicyActionFailJob, 1)), allFail,
			func(s *batchv1.JobStatus) bool {
				return reason(s, batchv1.JobFailed) == batchv1.JobReasonPodFailurePolicy
			},
		},
		"JOB-310 success by the count of all": {
			build.Job("", "j").Indexed(2).Parallelism(2).SuccessPolicy(batchv1.SuccessPolicyRule{SucceededCount: ptr.To[int32](2)}), allSucceed,
			func(s *batchv1.JobStatus) bool {
				return reason(s, batchv1.JobComplete) == batchv1.JobReasonSuccessPolicy && s.CompletedIndexes == "0,1" && s.Failed == 0
			},
		},
		"JOB-312 success by count of some": {
			build.Job("", "j").Indexed(5).Parallelism(5).SuccessPolicy(batchv1.SuccessPolicyRule{SucceededIndexes: ptr.To("0-3"), SucceededCount: ptr.To[int32](1)}), zeroSucceeds,
			func(s *batchv1.JobStatus) bool {
				return reason(s, batchv1.JobComplete) == batchv1.JobReasonSuccessPolicy && s.CompletedIndexes == "0" && s.Failed == 0 && s.Succeeded == 1
			},
		},
		"JOB-311 success by index": {
			build.Job("", "j").Indexed(5).Parallelism(5).SuccessPolicy(batchv1.SuccessPolicyRule{SucceededIndexes: ptr.To("0")}), zeroSucceeds,
			func(s *batchv1.JobStatus) bool {
				return reason(s, batchv1.JobComplete) == batchv1.JobReasonSuccessPolicy && s.CompletedIndexes == "0" && s.Failed == 0 && s.Succeeded == 1
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJobs(t)
			j.kubelet.end(c.ends)
			j.control()
			j.create(c.job)
			j.until("j", "as wanted", c.want)
			j.noFinalizers()
		})
	}
}

// What users write into the status and metadata of a running Job stays (JOB-350).
func TestForeignConditionsStay(t *testing.T) {
	j := newJobs(t)
	j.kubelet.keepRunning()
	j.control()
	j.create(build.Job("", "shared"))
	j.until("shared", "running", func(s *batchv1.JobStatus) bool { return s.Active == 1 })
	j.eventually("the user's condition is written", func(ctx context.Context) error {
		job := j.get(ctx, "shared")
		job.Annotations = map[string]string{"who": "me"}
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: "Mine", Status: corev1.ConditionTrue, Reason: "Because", LastTransitionTime: metav1.Now()})
		_, err := j.client.BatchV1().Jobs(j.namespace).UpdateStatus(ctx, job, metav1.UpdateOptions{})
		return err
	})
	j.kubelet.endWith(corev1.PodSucceeded, 0)
	job := j.until("shared", "complete", func(s *batchv1.JobStatus) bool { return has(s, batchv1.JobComplete) })
	if reason(&job.Status, "Mine") != "Because" || job.Annotations["who"] != "me" {
		t.Errorf("annotations %v, conditions %v", job.Annotations, job.Status.Conditions)
	}
}

// With podReplacementPolicy Failed nothing replaces a pod that still goes down (JOB-260).
func TestReplaceOnlyWhatHasFailed(t *testing.T) {
	j := newJobs(t)
	j.kubelet.keepRunning()
	j.control()
	j.create(build.Job("", "careful").ReplaceOnlyFailed().BackoffLimit(1))
	j.until("careful", "running", func(s *batchv1.JobStatus) bool { return s.Active == 1 && *s.Ready == 1 })
	j.kubelet.beSlow(true)
	if err := j.client.CoreV1().Pods(j.namespace).Delete(t.Context(), j.pods(t.Context())[0].Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	j.until("careful", "terminating", func(s *batchv1.JobStatus) bool { return s.Active == 0 && *s.Terminating == 1 && s.Failed == 0 })
	j.kubelet.beSlow(false)
	j.until("careful", "replaced", func(s *batchv1.JobStatus) bool { return s.Active == 1 && *s.Terminating == 0 && s.Failed == 1 })
}

// What the API server answers to a call about a pod that was replaced under its
// name: the shell takes these answers for "gone".
func TestAnswersAboutReplacedPods(t *testing.T) {
	p := plane.Start(t)
	ns := p.Namespace(t)
	pod := build.Pod(ns, "p").Orphan().NoFinalizers().New()
	pod, err := p.Client().CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Client().CoreV1().Pods(ns).Patch(t.Context(), pod.Name, types.StrategicMergePatchType,
		[]byte(`{"metadata":{"uid":"another","$deleteFromPrimitiveList/finalizers":["x/y"]}}`), metav1.PatchOptions{})
	t.Logf("patch: %v", err)
	if !apierrors.IsConflict(err) && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "metadata.uid")) {
		t.Errorf("patch of a pod with another UID: %v", err)
	}
	err = p.Client().CoreV1().Pods(ns).Delete(t.Context(), pod.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("another")})
	if !apierrors.IsConflict(err) {
		t.Errorf("delete of a pod with another UID: %v", err)
	}
	_, err = p.Client().CoreV1().Pods(ns).Patch(t.Context(), pod.Name, types.StrategicMergePatchType,
		[]byte(`{"metadata":{"uid":"`+string(pod.UID)+`","resourceVersion":"1","$deleteFromPrimitiveList/finalizers":["x/y"]}}`), metav1.PatchOptions{})
	if !apierrors.IsConflict(err) {
		t.Errorf("patch of a pod at an old resource version: %v", err)
	}
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	builtinjob "k8s.io/kubernetes/pkg/controller/job"
	builtinttl "k8s.io/kubernetes/pkg/controller/ttlafterfinished"

	jobcontroller "github.com/carillon-dev/carillon/internal/controller/job"
	build "github.com/carillon-dev/carillon/internal/testkit/make"
)

// startBuiltin runs Kubernetes' own Job and TTL controllers, as kube-controller-manager does, and has what they write
// noted. They serve the whole plane, so no other test may run meanwhile.
func startBuiltin(w *world, seen *traffic) {
	w.Helper()
	// Shorter delays than in production; its decisions are the same.
	batch, backoff := builtinjob.SyncJobBatchPeriod, builtinjob.DefaultJobPodFailureBackOff
	builtinjob.SyncJobBatchPeriod, builtinjob.DefaultJobPodFailureBackOff = 20*time.Millisecond, 20*time.Millisecond
	config := seen.on(w.plane.Config())
	config.QPS = -1
	client := kubernetes.NewForConfigOrDie(config)
	factory := informers.NewSharedInformerFactory(client, 0)
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	jobs, err := builtinjob.NewController(ctx, client, factory.Core().V1().Pods(), factory.Batch().V1().Jobs(), nil, nil)
	if err != nil {
		cancel()
		w.Fatal(err)
	}
	ttl := builtinttl.New(ctx, factory.Batch().V1().Jobs(), client)
	factory.Start(ctx.Done())
	var running sync.WaitGroup
	running.Go(func() { jobs.Run(ctx, 5) })
	running.Go(func() { ttl.Run(ctx, 5) })
	w.Cleanup(func() {
		cancel()
		running.Wait()
		factory.Shutdown()
		builtinjob.SyncJobBatchPeriod, builtinjob.DefaultJobPodFailureBackOff = batch, backoff
	})
	factory.WaitForCacheSync(ctx.Done())
}

// Names of the two sides, with which their Jobs begin.
const oursSide, builtinSide = "ours-", "builtin-"

// beside is a namespace in which Carillon's manager and Kubernetes' own controllers run Jobs side by side.
type beside struct {
	*jobs
	ours, builtin *traffic
	// sides are the Jobs that are one side's alone, by UID.
	sides map[types.UID]string
}

// newBeside starts both. ttl: our TTL controller runs too, for all Jobs.
func newBeside(t *testing.T, ttl bool) *beside {
	t.Helper()
	b := &beside{jobs: newJobs(t), ours: &traffic{}, builtin: &traffic{}, sides: map[types.UID]string{}}
	b.managedBy = jobcontroller.ManagedBy
	b.control(seenBy(b.ours), func(c *controls) {
		c.job.ManagedBy, c.ttl.ManagedBy, c.noTTL = b.managedBy, "", !ttl
	})
	startBuiltin(b.world, b.builtin)
	return b
}

// make creates a Job on a side.
func (b *beside) make(side, name string, job build.JobBuilder) *batchv1.Job {
	b.Helper()
	if side == oursSide {
		job = job.ManagedBy(jobcontroller.ManagedBy)
	}
	obj := job.New()
	obj.Namespace, obj.Name = b.namespace, name
	created, err := b.client.BatchV1().Jobs(b.namespace).Create(b.Context(), obj, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.sides[created.UID] = side
	return created
}

// apart checks that each side wrote to its own Jobs and to their pods alone. allowed are exceptions.
func (b *beside) apart(allowed func(write) bool) {
	b.Helper()
	for side, seen := range map[string]*traffic{oursSide: b.ours, builtinSide: b.builtin} {
		writes := seen.in(b.namespace, nil)
		if len(writes) == 0 {
			b.Errorf("nothing was seen of %s", side)
		}
		for _, w := range writes {
			whose, known := b.sides[w.uid]
			if w.resource == "pods" {
				whose, known = b.sides[w.owner]
			}
			if !known { // the answer does not say: a refusal, or a deletion
				known = strings.HasPrefix(w.name, oursSide) || strings.HasPrefix(w.name, builtinSide)
				if whose = builtinSide; strings.HasPrefix(w.name, oursSide) {
					whose = oursSide
				}
			}
			if (!known || whose != side) && (allowed == nil || !allowed(w)) {
				b.Errorf("%s controller: %v, of a Job of %q", side, w, whose)
			}
		}
	}
}

// Beside a kube-controller-manager a Job that names us in spec.managedBy is ours alone, from its first pod to its last
// condition, and every other Job is the built-in controller's alone. Both bring the same Job to the same end (JOB-331,
// JOB-332, JOB-335, JOB-338, and with managedBy set: JOB-003, JOB-032, JOB-123, JOB-170, JOB-230, JOB-231, JOB-233,
// JOB-280, JOB-310, JOB-311).
func TestBesideTheBuiltinController(t *testing.T) {
	b := newBeside(t, false)
	foreignBefore := metric(t, "job_controller_jobs_by_external_controller_total", "controller_name", "acme.io/jobs")
	odd := func(pod *corev1.Pod) bool { return index(pod) == "1" || index(pod) == "3" }
	b.kubelet.end(func(pod *corev1.Pod) (corev1.PodPhase, int32) {
		switch pod.Labels["ends"] {
		case "fails":
			return corev1.PodFailed, 1
		case "odd-fails":
			if odd(pod) {
				return corev1.PodFailed, 1
			}
		case "zero-only":
			if index(pod) != "0" {
				return "", 0
			}
		case "runs":
			return "", 0
		}
		return corev1.PodSucceeded, 0
	})
	onOne := func(action batchv1.PodFailurePolicyAction) batchv1.PodFailurePolicyRule {
		return batchv1.PodFailurePolicyRule{Action: action, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1},
		}}
	}
	ends := func(how string) build.JobBuilder { return build.Job("", "x").TemplateLabel("ends", how) }
	scenarios := map[string]build.JobBuilder{
		"completes":      ends("well").Parallelism(2).Completions(3),
		"indexed":        ends("well").Indexed(4).Parallelism(2),
		"fails":          ends("fails").BackoffLimit(0),
		"fails-later":    ends("fails").BackoffLimit(2),
		"suspended":      ends("well").Suspend(true),
		"per-index":      ends("odd-fails").Indexed(4).Parallelism(2).BackoffLimitPerIndex(1),
		"too-many":       ends("fails").Indexed(4).Parallelism(1).BackoffLimitPerIndex(0).MaxFailedIndexes(0),
		"fail-index":     ends("odd-fails").Indexed(4).Parallelism(4).BackoffLimitPerIndex(1).FailurePolicy(onOne(batchv1.PodFailurePolicyActionFailIndex)),
		"fail-job":       ends("fails").Parallelism(2).Completions(2).FailurePolicy(onOne(batchv1.PodFailurePolicyActionFailJob)),
		"success-count":  ends("well").Indexed(2).Parallelism(2).SuccessPolicy(batchv1.SuccessPolicyRule{SucceededCount: new(int32(2))}),
		"success-index":  ends("zero-only").Indexed(3).Parallelism(3).SuccessPolicy(batchv1.SuccessPolicyRule{SucceededIndexes: new("0")}),
		"no-completions": ends("well").Completions(0),
		"too-slow":       ends("runs").ActiveDeadline(0),
	}
	for name, job := range scenarios {
		b.make(oursSide, oursSide+name, job)
		b.make(builtinSide, builtinSide+name, job)
	}
	b.make(builtinSide, builtinSide+"by-name", ends("well").ManagedBy("kubernetes.io/job-controller"))
	b.make("nobody", "foreign", ends("well").ManagedBy("acme.io/jobs").Suspend(true))

	for _, side := range []string{oursSide, builtinSide} {
		b.until(side+"suspended", "suspended", func(s *batchv1.JobStatus) bool { return has(s, batchv1.JobSuspended) })
		b.edit(side+"suspended", func(job *batchv1.Job) { job.Spec.Suspend = new(false) })
	}
	b.until(builtinSide+"by-name", "complete", func(s *batchv1.JobStatus) bool { return has(s, batchv1.JobComplete) })
	finished := func(s *batchv1.JobStatus) bool { return has(s, batchv1.JobComplete) || has(s, batchv1.JobFailed) }
	for name := range scenarios {
		t.Run(name, func(t *testing.T) {
			b := &beside{jobs: &jobs{world: b.in(t)}}
			ours := b.until(oursSide+name, "finished", finished)
			builtin := b.until(builtinSide+name, "finished", finished)
			if ours.Status.StartTime == nil || (ours.Status.CompletionTime == nil) != (builtin.Status.CompletionTime == nil) {
				t.Errorf("started %v, completed %v; the built-in's: %v", ours.Status.StartTime, ours.Status.CompletionTime, builtin.Status.CompletionTime)
			}
			ignore := []cmp.Option{
				cmpopts.IgnoreTypes(metav1.Time{}, &metav1.Time{}),
				cmpopts.SortSlices(func(a, b batchv1.JobCondition) bool { return a.Type < b.Type }),
				// Pods have names of their own in messages, and how far the others had come when a Job failed is
				// chance.
				cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Conditions.Message" && name == "fail-job" }, cmp.Ignore()),
			}
			if diff := cmp.Diff(builtin.Status, ours.Status, ignore...); diff != "" {
				t.Errorf("status (-built-in +ours):\n%s", diff)
			}
		})
	}
	b.noFinalizers()
	b.apart(nil)
	if diff := cmp.Diff(batchv1.JobStatus{}, b.get(t.Context(), "foreign").Status); diff != "" {
		t.Errorf("somebody wrote to the Job of a third controller:\n%s", diff)
	}

	if n := metric(t, "job_controller_jobs_by_external_controller_total", "controller_name", "acme.io/jobs") - foreignBefore; n != 1 {
		t.Errorf("we counted %v appearances of the Job of a third controller, want 1", n)
	}
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if n := sum(families, "job_controller_jobs_by_external_controller_total", "controller_name", jobcontroller.ManagedBy); int(n) != len(scenarios) {
		t.Errorf("the built-in controller has seen %v Jobs of ours, want %d", n, len(scenarios))
	}
}

// A Job of ours that is finished goes, after its time to live, by one deletion: that of the cluster's own TTL
// controller, or of ours where it is asked for too, and whoever is first (JOB-336, TTL-018).
func TestTimeToLiveBesideTheBuiltin(t *testing.T) {
	for name, both := range map[string]bool{"JOB-336 ours is off, as by default": false, "JOB-336 both": true} {
		t.Run(name, func(t *testing.T) {
			b := newBeside(t, both)
			jobs := map[string]*batchv1.Job{}
			for i := range 6 {
				side := []string{oursSide, builtinSide}[i%2]
				name := fmt.Sprintf("%s%d", side, i)
				jobs[name] = b.make(side, name, build.Job("", "x").TTL(0))
			}
			for name := range jobs {
				b.eventually(name+" is gone", func(ctx context.Context) error {
					_, err := b.client.BatchV1().Jobs(b.namespace).Get(ctx, name, metav1.GetOptions{})
					if !apierrors.IsNotFound(err) {
						return errors.Join(errors.New("it is there"), err)
					}
					return nil
				})
				deletes := 0
				for _, seen := range []*traffic{b.ours, b.builtin} {
					deletes += len(seen.in(b.namespace, func(w write) bool {
						return w.verb == "delete" && w.resource == "jobs" && w.name == name && w.accepted()
					}))
				}
				// The built-in's may be accepted for a Job that is on its way out already; ours looks at the version.
				if deletes < 1 || deletes > 1 && !both {
					t.Errorf("%s was deleted by %d calls", name, deletes)
				}
			}
			ttl := func(w write) bool { return w.verb == "delete" && w.resource == "jobs" }
			b.apart(ttl)
			if n := len(b.ours.in(b.namespace, ttl)); n > 0 && !both {
				t.Errorf("we deleted %d Jobs", n)
			}
			b.eventually("no pods", func(ctx context.Context) error {
				if n := len(b.pods(ctx)); n > 0 {
					return fmt.Errorf("%d left", n)
				}
				return nil
			})
		})
	}
}

// A Job that is replaced, under its name, by one of the other side while a sync of it is under way is not touched by
// the side that had the old one (JOB-333).
func TestJobChangesSides(t *testing.T) {
	b := newBeside(t, false)
	b.kubelet.keepRunning()
	background := metav1.DeletePropagationBackground
	const name = "swapped"
	const last = 6 // one of ours: the built-in controller remembers by name, and a Job made again may wait for minutes
	for i := range last + 1 {
		side := []string{oursSide, builtinSide}[i%2]
		b.make(side, name, build.Job("", "x").Parallelism(2).Completions(2))
		if i%4 == 0 { // else it is replaced while it starts
			b.until(name, "running", func(s *batchv1.JobStatus) bool { return s.Active == 2 })
		}
		if i < last {
			if err := b.client.BatchV1().Jobs(b.namespace).Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.kubelet.endWith(corev1.PodSucceeded, 0)
	b.until(name, "complete", func(s *batchv1.JobStatus) bool {
		return has(s, batchv1.JobComplete) && s.Succeeded == 2 && s.Failed == 0
	})
	b.noFinalizers()
	// Of a Job that is gone the pods are freed by whoever comes first (job.md 1.10); refused writes changed nothing.
	b.apart(func(w write) bool {
		return !w.accepted() || w.verb == "patch" && w.resource == "pods"
	})
}

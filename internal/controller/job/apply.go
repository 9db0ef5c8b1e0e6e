// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/job"
)

// work is one sync of one Job under way.
type work struct {
	*controller
	key types.NamespacedName
	// job is the Job as last read or written.
	job *batchv1.Job
	mem *memory
	now time.Time
	// wake is when to look again; zero: when something happens.
	wake time.Time
}

// apply carries a plan out in the order that makes a crash after any step
// harmless: claim, delete or create, record, remove finalizers.
func (w *work) apply(ctx context.Context, plan job.Plan) error {
	w.wakeAt(plan.Wake)
	if plan.LookAgain {
		w.mem.floor = w.job.ResourceVersion
		w.wakeIn(w.pace.window(0))
	}
	if changed, err := w.claim(ctx, plan.Claim); err != nil || changed {
		w.wakeIn(w.options.SyncPeriod)
		return err
	}
	var results job.Results
	var podErr error
	results.Delete, podErr = w.delete(ctx, plan.Delete)
	if podErr == nil {
		results.Create, podErr = w.create(ctx, plan.Create)
	}
	record := plan.Record(results)
	w.speak(record.Notes)
	countCreations(record.PodsCreation)
	if err := w.record(ctx, record); err != nil {
		return errors.Join(err, podErr)
	}
	if len(plan.Create) >= w.options.MaxPodChanges && !w.memory.block(w.job.UID) {
		w.wakeIn(w.pace.window(w.memory.size(w.job.UID)))
	}
	return podErr
}

// record writes down what a sync found, and removes the finalizers that may go
// after it. Pods that lost theirs are counted by the next sync.
func (w *work) record(ctx context.Context, record job.Record) error {
	write := record.Write
	if until := w.putOff(write); until.After(w.now) {
		w.wakeAt(until)
		if !write.Lazy {
			return nil
		}
		w.memory.wrote(w.job.UID, write.Backoff, false)
	} else if err := w.write(ctx, write); err != nil {
		return err
	}
	w.wakeAt(record.Wake)
	_, err := w.unfinalize(ctx, record.Unfinalize)
	return err
}

// putOff is until when a write can wait; zero: it is due. What nothing hangs on
// waits for company: a lazy write for a while, and mere progress the longer the
// larger the Job is, since each write carries the whole Job to the server and to
// everybody who watches. To put a write off is what a crash before it would do,
// the next sync finds everything again and more. What changes how the Job goes
// on, and what others wait for, is never put off.
func (w *work) putOff(write job.Write) time.Time {
	uid := w.job.UID
	switch {
	case write.Status == nil:
		w.memory.reported(uid)
		return time.Time{}
	case urgent(w.job, write):
		return time.Time{}
	case write.Lazy:
		return w.memory.unreported(uid, w.now).Add(w.options.SyncPeriod)
	}
	every := time.Duration(w.memory.size(uid)-1) * w.options.ReportPerPod
	return w.memory.unreported(uid, w.now).Add(min(max(0, every), w.options.ReportMost))
}

func urgent(j *batchv1.Job, write job.Write) bool {
	old, status := &j.Status, write.Status
	if write.Finished || j.DeletionTimestamp != nil || ptr.Deref(j.Spec.Suspend, false) ||
		!old.StartTime.Equal(status.StartTime) || len(old.Conditions) != len(status.Conditions) {
		return true
	}
	for i := range old.Conditions {
		if old.Conditions[i].Type != status.Conditions[i].Type || old.Conditions[i].Status != status.Conditions[i].Status {
			return true
		}
	}
	return false
}

// write sends one status. Nothing that it reports is spoken or counted before
// the server took it.
func (w *work) write(ctx context.Context, write job.Write) error {
	uid := w.job.UID
	if write.Status == nil {
		w.memory.wrote(uid, write.Backoff, false)
		w.countFacts(write.Facts)
		w.speak(write.Notes)
		return nil
	}
	// The whole Job goes, though the server takes nothing but status and metadata from it: of metadata
	// all that counts, and not the managed fields, which the cache may have trimmed.
	next := w.job.DeepCopy()
	next.Status = *write.Status
	if broken := job.CheckStatus(w.job, next); len(broken) > 0 {
		w.rejected("check", fmt.Sprint(broken))
		return errRejected
	}
	err := w.client.Status().Update(ctx, next)
	switch {
	case err == nil:
		statusWrites.WithLabelValues("success").Inc()
	case apierrors.IsConflict(err):
		statusWrites.WithLabelValues("conflict").Inc()
		return fmt.Errorf("Job %s changed while its status was written: %w", w.key, err)
	case apierrors.IsNotFound(err):
		statusWrites.WithLabelValues("error").Inc()
		return errGone
	case apierrors.IsInvalid(err):
		statusWrites.WithLabelValues("error").Inc()
		w.rejected("server", err.Error())
		return errRejected
	default:
		statusWrites.WithLabelValues("error").Inc()
		return fmt.Errorf("writing the status of Job %s: %w", w.key, err)
	}
	w.wrote.Updated(uid, next)
	w.memory.wrote(uid, write.Backoff, write.Finished)
	w.memory.reported(uid)
	w.mem.known, w.mem.complaint = &next.Status, ""
	w.countFacts(write.Facts)
	w.job = next
	w.speak(write.Notes)
	return nil
}

var (
	// errRejected: the status is invalid. It was reported; trying the same again helps nobody.
	errRejected = errors.New("the status is invalid")
	// errGone: the Job does not exist any more.
	errGone = errors.New("the Job is gone")
)

// rejected reports a status that must not, or could not, be written. That is
// always a bug of ours, so it is told loudly, but once.
func (w *work) rejected(by, why string) {
	statusRejected.WithLabelValues(by).Inc()
	if w.mem.complaint == why {
		return
	}
	w.mem.complaint = why
	w.speak([]job.Note{{
		Type:    corev1.EventTypeWarning,
		Reason:  "InvalidStatus",
		Message: "The status computed for this Job is invalid, so the Job does not go on; please report this: " + why,
	}})
}

// claim adopts and releases pods. changed tells that one of them, or the Job,
// is not what it was when the plan was made.
func (w *work) claim(ctx context.Context, claim job.Claim) (changed bool, err error) {
	if len(claim.Adopt) == 0 && len(claim.Release) == 0 {
		return false, nil
	}
	if len(claim.Adopt) > 0 {
		if err = w.mayAdopt(ctx); err != nil {
			// Releases are tried all the same: one error delays no other pod.
			claim.Adopt = nil
		}
	}
	var vanished atomic.Bool
	adopted := w.each(ctx, len(claim.Adopt), func(ctx context.Context, i int) error {
		ref := claim.Adopt[i]
		err := w.client.Patch(ctx, target(ref), adopt(w.job, ref.UID))
		podWrites.WithLabelValues("adopt", outcome(err, "success", "error")).Inc()
		switch {
		case err == nil:
			return nil
		case w.podGone(ctx, ref, err):
			vanished.Store(true)
			return nil
		}
		return fmt.Errorf("adopting pod %s/%s: %w", ref.Namespace, ref.Name, err)
	})
	released := w.each(ctx, len(claim.Release), func(ctx context.Context, i int) error {
		ref := claim.Release[i]
		err := w.client.Patch(ctx, target(ref), release(w.job.UID, ref.UID))
		podWrites.WithLabelValues("release", outcome(err, "success", "error")).Inc()
		if err == nil || apierrors.IsInvalid(err) || w.podGone(ctx, ref, err) {
			return nil
		}
		return fmt.Errorf("releasing pod %s/%s: %w", ref.Namespace, ref.Name, err)
	})
	return vanished.Load(), errors.Join(err, tell(adopted), tell(released))
}

// mayAdopt asks the server, once per sync, whether the Job is still there and
// wanted: a pod must not be given to a Job that is being deleted.
func (w *work) mayAdopt(ctx context.Context) error {
	var live batchv1.Job
	if err := w.live.Get(ctx, w.key, &live); err != nil {
		return fmt.Errorf("reading Job %s before it adopts pods: %w", w.key, err)
	}
	if live.UID != w.job.UID {
		return fmt.Errorf("Job %s was replaced by another one of this name: not adopting pods", w.key)
	}
	if live.DeletionTimestamp != nil {
		return fmt.Errorf("Job %s is being deleted: not adopting pods", w.key)
	}
	return nil
}

// delete stops pods. A pod that must not count gives up its finalizer first; a
// crash in between leaves a surplus pod that the next sync deletes.
func (w *work) delete(ctx context.Context, deletions []job.Deletion) ([]job.DeleteResult, error) {
	results := make([]job.DeleteResult, len(deletions))
	uid := w.job.UID
	errs := w.each(ctx, len(deletions), func(ctx context.Context, i int) error {
		d := deletions[i]
		failed := func(err error) error {
			w.memory.notDeleting(uid, d.UID)
			results[i] = job.DeleteResult{Outcome: job.DeleteFailed, Message: err.Error()}
			return fmt.Errorf("deleting pod %s/%s: %w", d.Namespace, d.Name, err)
		}
		if d.Unfinalize {
			gone, err := w.untrack(ctx, d.PodRef)
			if err != nil {
				return failed(err)
			}
			if gone {
				results[i].Outcome = job.Vanished
				return nil
			}
		}
		w.memory.deleting(uid, d.UID, w.now)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name}}
		err := w.client.Delete(ctx, pod, client.Preconditions{UID: &d.UID})
		podWrites.WithLabelValues("delete", outcome(client.IgnoreNotFound(err), "success", "error")).Inc()
		switch {
		case err == nil:
			results[i].Outcome = job.Deleted
		case apierrors.IsNotFound(err), apierrors.IsConflict(err) && w.podGone(ctx, d.PodRef, err):
			w.memory.notDeleting(uid, d.UID)
			results[i].Outcome = job.Vanished
		default:
			return failed(err)
		}
		return nil
	})
	return results, tell(errs)
}

// create makes pods in growing batches, each awaited, so that a quota or a
// webhook that refuses them refuses a few and not all. The size reached is kept
// for the next sync, and starts again at one after a failure.
func (w *work) create(ctx context.Context, creations []job.Creation) ([]job.CreateResult, error) {
	results := make([]job.CreateResult, len(creations))
	for begin := 0; begin < len(creations) && ctx.Err() == nil; {
		n := min(max(1, w.mem.window), len(creations)-begin)
		var failed atomic.Bool
		errs := w.each(ctx, n, func(ctx context.Context, i int) (err error) {
			results[begin+i], err = w.createOne(ctx, creations[begin+i])
			if o := results[begin+i].Outcome; o != job.Created && o != job.Existed {
				failed.Store(true)
			}
			return err
		})
		if failed.Load() {
			w.mem.window = 1
			return results, tell(errs)
		}
		begin += n
		w.mem.window = max(w.mem.window, min(2*n, maxWindow))
	}
	return results, ctx.Err()
}

// maxWindow bounds the batches of creations, and with them the calls that are
// in vain when a quota is reached.
const maxWindow = 64

func (w *work) createOne(ctx context.Context, creation job.Creation) (job.CreateResult, error) {
	pod := creation.Pod
	uid, name := w.job.UID, pod.Name
	w.memory.creating(uid, name, w.now)
	err := w.client.Create(ctx, pod)
	if apierrors.IsAlreadyExists(err) {
		ours, lookErr := w.isOurs(ctx, creation.Pod.Namespace, name)
		switch {
		case lookErr != nil:
			w.memory.notCreating(uid, name)
			return job.CreateResult{Outcome: job.CreateFailed, Message: lookErr.Error()}, lookErr
		case ours:
			podWrites.WithLabelValues("create", "existed").Inc()
			return job.CreateResult{Outcome: job.Existed}, nil
		}
		// Somebody else's pod sits on the name: let the server choose one.
		w.memory.notCreating(uid, name)
		pod.Name, pod.ResourceVersion, pod.UID = "", "", ""
		if err = w.client.Create(ctx, pod); err == nil {
			w.expect(uid, pod)
		}
	}
	podWrites.WithLabelValues("create", outcome(err, "success", "error")).Inc()
	if err == nil {
		return job.CreateResult{Outcome: job.Created, Name: pod.Name}, nil
	}
	failed := fmt.Errorf("creating a pod for Job %s: %w", w.key, err)
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		w.memory.notCreating(uid, name)
		return job.CreateResult{Outcome: job.NamespaceTerminating}, nil
	case unanswered(err):
		return job.CreateResult{Outcome: job.CreateUnknown, Message: err.Error()}, failed
	default:
		w.memory.notCreating(uid, name)
		return job.CreateResult{Outcome: job.CreateFailed, Message: err.Error()}, failed
	}
}

// expect notes a pod whose name was not known before the call, unless the cache
// already shows it.
func (w *work) expect(uid types.UID, pod *corev1.Pod) {
	w.memory.creating(uid, pod.Name, w.now)
	if w.cache.pod(keyOf(pod)) != nil {
		w.memory.notCreating(uid, pod.Name)
	}
}

// isOurs reads a pod whose name is taken: this Job controls it if an earlier call made it.
func (w *work) isOurs(ctx context.Context, namespace, name string) (bool, error) {
	var pod corev1.Pod
	err := w.live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &pod)
	if apierrors.IsNotFound(err) {
		return false, fmt.Errorf("pod %s/%s existed a moment ago and is gone: trying again", namespace, name)
	}
	if err != nil {
		return false, fmt.Errorf("reading pod %s/%s, whose name is taken: %w", namespace, name, err)
	}
	return metav1.IsControlledBy(&pod, w.job), nil
}

// unanswered reports whether it is unknown what became of a call.
func unanswered(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	return apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsUnexpectedServerError(err) || apierrors.IsServiceUnavailable(err)
}

// unfinalize takes the tracking finalizer off pods that are accounted for, and
// returns those that have it no more.
func (w *work) unfinalize(ctx context.Context, refs []job.PodRef) (removed []types.UID, err error) {
	errs := w.each(ctx, len(refs), func(ctx context.Context, i int) error {
		if _, err := w.untrack(ctx, refs[i]); err != nil {
			return fmt.Errorf("removing the tracking finalizer of pod %s/%s: %w", refs[i].Namespace, refs[i].Name, err)
		}
		return nil
	})
	for i, ref := range refs {
		if errs[i] == nil {
			removed = append(removed, ref.UID)
		}
	}
	return removed, tell(errs)
}

// untrack takes the finalizer off one pod. It is noted before the call: an event
// that comes before the answer must not make the pod look unaccounted for.
func (w *work) untrack(ctx context.Context, ref job.PodRef) (gone bool, err error) {
	uid := w.job.UID
	w.memory.unfinalizing(uid, ref.UID)
	err = w.client.Patch(ctx, target(ref), untrack(ref.UID, ""))
	podWrites.WithLabelValues("untrack", outcome(client.IgnoreNotFound(err), "success", "error")).Inc()
	if err == nil {
		return false, nil
	}
	if w.podGone(ctx, ref, err) {
		return true, nil
	}
	w.memory.notUnfinalizing(uid, ref.UID)
	return false, err
}

// podGone reports whether err means that this very pod is no more. A conflict can mean
// that, and also that the pod changed too often under the server's hands: then
// the pod itself is asked for.
func (c *controller) podGone(ctx context.Context, ref job.PodRef, err error) bool {
	if !gone(err) {
		return false
	}
	if !apierrors.IsConflict(err) {
		return true
	}
	pod := target(ref)
	err = c.live.Get(ctx, client.ObjectKeyFromObject(pod), pod)
	return apierrors.IsNotFound(err) || err == nil && pod.UID != ref.UID
}

func (w *work) wakeAt(at time.Time) {
	if !at.IsZero() && (w.wake.IsZero() || at.Before(w.wake)) {
		w.wake = at
	}
}

func (w *work) wakeIn(d time.Duration) { w.wakeAt(w.now.Add(d)) }

// told is how many errors of many calls are told in full.
const told = 3

// tell makes one error of those of many calls; nil if there is none.
func tell(errs []error) error {
	var some []error
	more := 0
	for _, err := range errs {
		switch {
		case err == nil:
		case len(some) < told:
			some = append(some, err)
		default:
			more++
		}
	}
	if more > 0 {
		some = append(some, fmt.Errorf("and %d more errors", more))
	}
	return errors.Join(some...)
}

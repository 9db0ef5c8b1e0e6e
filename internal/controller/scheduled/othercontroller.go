// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kube/events"
	"github.com/carillon-dev/carillon/internal/othercontroller"
)

// otherController watches for another controller that works on the same kind. All replicas do, so that who takes over
// knows.
type otherController struct {
	mu    sync.Mutex
	pause othercontroller.Pause
	about corev1.ObjectReference
	// leading: this process is the one that serves, and so the one that publishes events.
	leading bool
}

// paused reports whether another controller is at work.
func (o *otherController) paused() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pause.Paused
}

// lookForOtherController looks at a CronJob that is new to the cache, or has changed, for the traces of another
// controller: the managed fields that Trim keeps (trim.go). What was there when the cache was filled counts only if it
// is fresh: somebody was at work shortly before us.
func (r *reconciler) lookForOtherController(before, after client.Object) {
	for _, e := range after.GetManagedFields() {
		if e.Subresource != "status" || before != nil && showsWrite(before, e) {
			continue
		}
		now := r.clock.Now()
		seen := now
		if before == nil {
			if now.Sub(e.Time.Time) >= r.takeoverAfter {
				continue
			}
			if e.Time.Time.Before(now) {
				seen = e.Time.Time
			}
		}
		r.sawOtherController(after, othercontroller.Sign{Manager: e.Manager, Object: client.ObjectKeyFromObject(after).String(), Seen: seen})
	}
}

// showsWrite reports whether obj shows the same write.
func showsWrite(obj client.Object, write metav1.ManagedFieldsEntry) bool {
	for _, e := range obj.GetManagedFields() {
		if e.Subresource == write.Subresource && e.Manager == write.Manager && e.Time.Equal(write.Time) {
			return true
		}
	}
	return false
}

func (r *reconciler) sawOtherController(obj client.Object, sign othercontroller.Sign) {
	r.other.mu.Lock()
	defer r.other.mu.Unlock()
	first := !r.other.pause.Paused
	r.other.pause = r.other.pause.AfterSign(sign)
	if !first {
		return
	}
	r.other.about = events.About(obj, r.info.Owner)
	pausedKinds.WithLabelValues(r.info.Name).Set(1)
	if r.pauseChanged != nil {
		r.pauseChanged(r.info.Name, r.pauseText(sign))
	}
	r.log.Error(nil, "Another controller works on this kind of CronJob: nothing is started or deleted until it is gone; "+r.info.SwitchOff,
		"manager", sign.Manager, "object", sign.Object)
	r.reportPause()
}

func (r *reconciler) pauseText(sign othercontroller.Sign) string {
	return fmt.Sprintf("%s works on %s too (it wrote the status of %s): nothing of this kind is started or deleted until it has let a start "+
		"that was due pass for %v in silence; %s, or leave the kind out of --kinds", sign.Manager, r.info.Name, sign.Object, r.takeoverAfter, r.info.SwitchOff)
}

// reportPause publishes an event on the CronJob that gave it away, once, and only if this process leads.
func (r *reconciler) reportPause() {
	o := &r.other
	if !o.leading || !o.pause.Paused {
		return
	}
	r.recorder.Event(events.Event{About: o.about, Type: corev1.EventTypeWarning, Reason: "AnotherController", Message: r.pauseText(o.pause.Last),
		DedupKey: o.pause.Since.UTC().Format(time.RFC3339Nano)})
}

// lead is called when this process begins to serve.
func (r *reconciler) lead() {
	r.other.mu.Lock()
	defer r.other.mu.Unlock()
	r.other.leading = true
	r.reportPause()
}

// syncPaused is the sync over a CronJob while another controller works on its kind: it only looks whether a start is
// due. It returns false when that shows that the other one is gone, and an ordinary sync is to follow.
//
// What is decided on an edit is remembered as ever, so that the edit is dated right when the kind is served again; but
// not while a start is open, which would count as made.
func (r *reconciler) syncPaused(ctx context.Context, s *ongoingSync) bool {
	plan, _ := r.run(ctx, s, cron.StepRead)
	recheck, paused := r.stillPaused(s.in.Now, r.tracked.leftToOther(s.key, s.in.Owner.UID, plan.Starts))
	if !paused {
		return false
	}
	if len(plan.Starts) == 0 {
		r.tracked.setCarried(s.key, s.in.Owner.UID, plan.Carried)
	}
	if plan.Wake.IsZero() || !recheck.IsZero() && recheck.Before(plan.Wake) {
		plan.Wake = recheck
	}
	r.arm(s, plan)
	if plan.Err != nil {
		r.fail(s.key, plan.Err)
	} else {
		r.backoff.Forget(s.key)
	}
	return true
}

// stillPaused decides; when the other controller is gone it says so, and has all CronJobs looked at again.
func (r *reconciler) stillPaused(now, due time.Time) (recheck time.Time, paused bool) {
	o := &r.other
	o.mu.Lock()
	defer o.mu.Unlock()
	was := o.pause
	o.pause, recheck = o.pause.At(now, due, r.takeoverAfter)
	if o.pause.Paused || !was.Paused {
		return recheck, o.pause.Paused
	}
	pausedKinds.WithLabelValues(r.info.Name).Set(0)
	if r.pauseChanged != nil {
		r.pauseChanged(r.info.Name, "")
	}
	r.log.Info("The other controller is gone; this kind of CronJob is served again", "manager", was.Last.Manager, "since", was.Since.String())
	if o.leading {
		r.recorder.Event(events.Event{About: o.about, Type: corev1.EventTypeNormal, Reason: "NoOtherController",
			Message: fmt.Sprintf("%s is gone: %s are served again", was.Last.Manager, r.info.Name)})
	}
	for _, key := range r.tracked.keys() {
		r.enqueue(reconcile.Request{NamespacedName: key}, 0)
	}
	return time.Time{}, false
}

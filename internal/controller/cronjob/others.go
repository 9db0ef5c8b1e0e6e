// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cronjob

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
	"github.com/carillon-dev/carillon/internal/serving"
)

// others watches for another controller that works on the same kind. All replicas do, so that who takes over knows.
type others struct {
	mu    sync.Mutex
	state serving.State
	about corev1.ObjectReference
	// leading: this process is the one that serves, and so the one that speaks.
	leading bool
}

// back reports whether another controller is at work.
func (o *others) back() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.state.Back
}

// lookForOthers looks at a CronJob that is new to the cache, or has changed, for the traces of another controller. What
// was there when the cache was filled counts only if it is fresh: somebody was at work shortly before us.
func (r *reconciler) lookForOthers(before, after client.Object) {
	for _, e := range after.GetManagedFields() {
		if e.Subresource != "status" || before != nil && showsWrite(before, e) {
			continue
		}
		now := r.clock.Now()
		seen := now
		if before == nil {
			if now.Sub(e.Time.Time) >= r.quiet {
				continue
			}
			if e.Time.Time.Before(now) {
				seen = e.Time.Time
			}
		}
		r.sawOther(after, serving.Sign{Manager: e.Manager, Object: client.ObjectKeyFromObject(after).String(), Seen: seen})
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

func (r *reconciler) sawOther(obj client.Object, sign serving.Sign) {
	r.others.mu.Lock()
	defer r.others.mu.Unlock()
	first := !r.others.state.Back
	r.others.state = r.others.state.Saw(sign)
	if !first {
		return
	}
	r.others.about = events.About(obj, r.info.Owner)
	standingBack.WithLabelValues(r.info.Name).Set(1)
	if r.stoodBack != nil {
		r.stoodBack(r.info.Name, r.whyBack(sign))
	}
	r.log.Error(nil, "Another controller works on this kind of CronJob: nothing is started or deleted until it is gone; "+r.info.SwitchOff,
		"manager", sign.Manager, "object", sign.Object)
	r.tellBack()
}

func (r *reconciler) whyBack(sign serving.Sign) string {
	return fmt.Sprintf("%s works on %s too (it wrote the status of %s): nothing of this kind is started or deleted until it has let a start "+
		"that was due pass for %v in silence; %s, or leave the kind out of --kinds", sign.Manager, r.info.Name, sign.Object, r.quiet, r.info.SwitchOff)
}

// tellBack speaks on the CronJob that gave it away, once, and only if this process leads.
func (r *reconciler) tellBack() {
	o := &r.others
	if !o.leading || !o.state.Back {
		return
	}
	r.recorder.Event(events.Event{About: o.about, Type: corev1.EventTypeWarning, Reason: "AnotherController", Message: r.whyBack(o.state.Last),
		Cause: o.state.Since.UTC().Format(time.RFC3339Nano)})
}

// lead is called when this process begins to serve.
func (r *reconciler) lead() {
	r.others.mu.Lock()
	defer r.others.mu.Unlock()
	r.others.leading = true
	r.tellBack()
}

// standBack is the sync over a CronJob while another controller works on its kind: it only looks whether a start is
// due. It returns false when that shows that the other one is gone, and an ordinary sync is to follow.
//
// What is decided on an edit is remembered as ever, so that the edit is dated right when the kind is served again; but
// not while a start is open, which would count as made.
func (r *reconciler) standBack(ctx context.Context, s *syncing) bool {
	plan, _ := r.run(ctx, s, cron.StepRead)
	again, back := r.stillBack(s.in.Now, r.tracked.leftToOther(s.key, s.in.Owner.UID, plan.Start))
	if !back {
		return false
	}
	if plan.Start == nil {
		r.tracked.setCarry(s.key, s.in.Owner.UID, plan.Carry)
	}
	if plan.Wake.IsZero() || !again.IsZero() && again.Before(plan.Wake) {
		plan.Wake = again
	}
	r.arm(s, plan)
	if plan.Err != nil {
		r.fail(s.key, plan.Err)
	} else {
		r.backoff.Forget(s.key)
	}
	return true
}

// stillBack decides; when the other controller is gone it says so, and has all CronJobs looked at again.
func (r *reconciler) stillBack(now, due time.Time) (again time.Time, back bool) {
	o := &r.others
	o.mu.Lock()
	defer o.mu.Unlock()
	was := o.state
	o.state, again = o.state.At(now, due, r.quiet)
	if o.state.Back || !was.Back {
		return again, o.state.Back
	}
	standingBack.WithLabelValues(r.info.Name).Set(0)
	if r.stoodBack != nil {
		r.stoodBack(r.info.Name, "")
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

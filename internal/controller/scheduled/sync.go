// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kube/fence"
)

// maxSteps bounds the decisions of one sync. A sync needs about six; more would be a fault of the decision, which must
// not become a busy loop.
const maxSteps = 50

// ongoingSync is one sync of one CronJob under way: the input that grows with each answer.
type ongoingSync struct {
	key types.NamespacedName
	// owner is the object that in was read from; templates come from it and records are written on top of it.
	owner client.Object
	in    cron.Input
	steps int
	// kinds are those in which there may be children, first that of what is started. found are the kinds of children that
	// were met, where there are several.
	kinds []*childKind
	found map[types.UID]*childKind
	// unwatched: a child was read live that has lost the owner's label, so that no watch tells of its end.
	unwatched bool
	// decided is when in was read.
	decided fence.Instant
	// ownerRead: the CronJob of in is the server's, or could not be read there.
	ownerRead bool
}

// Reconcile makes the first half of a sync: everything up to the start. It never returns an error: failures are
// logged, counted and repeated by fail, in one place for both halves.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	key := request.NamespacedName
	if due := r.dueKeys.take(key); due {
		defer r.gate.EndUrgent()
	} else if r.statusQueue.pending(key) {
		// The second half of an earlier sync is still to come. A sync now would decide on a picture without it and
		// ask for the same again; the status queue calls for one when it is done.
		return reconcile.Result{}, nil
	}
	if !r.takeover.wait(ctx) {
		return reconcile.Result{}, nil
	}
	s := r.gather(key)
	if s == nil {
		return reconcile.Result{}, nil
	}
	if r.other.paused() && r.syncPaused(ctx, s) {
		return reconcile.Result{}, nil
	}
	plan, open := r.run(ctx, s, cron.StepStart)
	// Nothing that the next sync has to know, and no outcome, depends on the second half, which may end after the first
	// half of the next sync.
	r.tracked.setCarried(key, s.in.Owner.UID, plan.Carried)
	r.countOutcomes(plan.Outcomes)
	r.tellOutcomes(s, plan.Outcomes)
	r.setMisconfigured(key, s.in.Owner.UID, plan.Misconfigured)
	r.arm(s, plan)
	if open {
		waiting.WithLabelValues(r.info.Name).Inc()
		r.statusQueue.add(s)
		return reconcile.Result{}, nil
	}
	r.finish(s, plan)
	return reconcile.Result{}, nil
}

// conclude makes the second half of a sync. When another controller has been seen meanwhile, what was started is
// recorded all the same, but nothing is deleted.
func (r *reconciler) conclude(ctx context.Context, s *ongoingSync) {
	defer waiting.WithLabelValues(r.info.Name).Dec()
	last := cron.StepPrune
	if r.other.paused() {
		last = cron.StepWriteStatus
	}
	plan, _ := r.run(ctx, s, last)
	r.arm(s, plan)
	r.finish(s, plan)
}

// run decides and does the next step, until nothing is left that belongs to a step up to last. open tells that later
// steps before the last one remain.
func (r *reconciler) run(ctx context.Context, s *ongoingSync, last cron.Step) (plan cron.Plan, open bool) {
	for ; ; s.steps++ {
		plan = cron.Decide(s.in)
		step := plan.NextStep()
		if step == cron.StepPublish {
			return plan, false
		}
		if s.steps == maxSteps {
			plan.Err = fmt.Errorf("no end after %d steps, next one would be: %s", maxSteps, plan)
			return plan, false
		}
		if step > last {
			return plan, true
		}
		if r.late(s, plan) {
			r.readOwnerFirst(ctx, s)
			continue
		}
		switch step {
		case cron.StepRead:
			r.readLive(ctx, s, plan.Read)
		case cron.StepStop:
			r.tellStops(plan.Stop)
			r.remove(fence.WithDecision(ctx, s.decided), s, plan.Stop, s.in.AddStopResult)
		case cron.StepStart:
			r.startAll(fence.WithDecision(ctx, s.decided), s, plan)
		case cron.StepCheckTemplate:
			r.checkTemplate(ctx, s, *plan.CheckTemplate)
		case cron.StepWriteStatus:
			r.record(ctx, s, plan)
		case cron.StepPrune:
			r.remove(fence.WithCleanup(ctx), s, r.mayPrune(s, plan.Prune), s.in.AddPruneResult)
		}
	}
}

// lateStart is how late a start is that is not decided on a cache. A cache of a process that stood still, or works
// beside another one without a lease, may be older than a run that has come and gone since, and then nothing but
// lastScheduleTime on the server tells of it (guarantee 1). Who takes over by a lease waits for its caches
// (takeover.go). In ordinary operation starts are in time and cost no read, but for those of Timetables that are put off
// (by jitter, or for a retry).
const lateStart = 10 * time.Second

// late reports whether the plan starts something late, and the live CronJob has not been read.
func (r *reconciler) late(s *ongoingSync, plan cron.Plan) bool {
	return !s.ownerRead && slices.ContainsFunc(plan.Starts, func(start cron.Start) bool { return s.in.Now.Sub(start.Time) > lateStart })
}

// readOwnerFirst reads the live CronJob although the decision has not asked for it.
func (r *reconciler) readOwnerFirst(ctx context.Context, s *ongoingSync) {
	r.readLive(ctx, s, []cron.ReadRequest{{Owner: true, Namespace: s.key.Namespace, Name: s.key.Name, Why: "it is late"}})
}

// unwatchedRecheck is how often a child is looked for that no watch tells of.
const unwatchedRecheck = 30 * time.Second

// arm sets the timer as soon as the time is known: the next start must not wait for the second half of this sync.
func (r *reconciler) arm(s *ongoingSync, plan cron.Plan) {
	wake := plan.Wake
	if recheck := s.in.Now.Add(unwatchedRecheck); s.unwatched && (wake.IsZero() || recheck.Before(wake)) {
		wake = recheck
	}
	if wake.IsZero() {
		r.timers.Cancel(s.key)
		return
	}
	r.timers.Wake(s.key, wake)
}

// finish publishes the events, and has a failed sync repeated.
func (r *reconciler) finish(s *ongoingSync, plan cron.Plan) {
	r.publish(s, plan.Events)
	if plan.Err != nil {
		r.fail(s.key, plan.Err)
		return
	}
	r.backoff.Forget(s.key)
}

// fail has the key tried again: after 5 ms, then twice as long each time, 1000 s at most (cronjob.md 1.0), or what the kind
// says.
func (r *reconciler) fail(key types.NamespacedName, err error) {
	if _, ok := r.owners.Get(key); !ok {
		return // deleted meanwhile
	}
	r.countFailure()
	request := reconcile.Request{NamespacedName: key}
	after := r.backoff.When(key)
	if limit := r.info.Traits.MaxBackoff; limit > 0 {
		after = min(after, limit)
	}
	if conflict := apierrors.IsConflict(err); !conflict && r.tracked.worthLogging(key, err.Error(), r.clock.Now()) {
		r.log.Error(err, "Sync failed and is tried again", "object", key.String(), "after", after.String())
	} else {
		r.log.V(1).Info("Sync failed and is tried again", "object", key.String(), "after", after.String(), "error", err.Error())
	}
	r.enqueue(request, after)
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cronjob

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/cron"
)

// maxSteps bounds the decisions of one pass. A pass needs about six; more would be a fault of the decision, which must
// not become a busy loop.
const maxSteps = 50

// pass is one sync of one CronJob: the input that grows with each answer.
type pass struct {
	key types.NamespacedName
	// owner is the object that in was read from; templates come from it and records are written on top of it.
	owner client.Object
	in    cron.Input
	steps int
	// looked: the CronJob of in is the server's, or could not be read there.
	looked bool
}

// Reconcile makes the first half of a pass: everything up to the start. It never returns an error: failures are
// logged, counted and repeated by fail, in one place for both halves.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	key := request.NamespacedName
	if due := r.due.take(key); due {
		defer r.gate.Leave()
	} else if r.books.pending(key) {
		// The second half of an earlier pass is still to come. A pass now would decide on a picture without it and
		// ask for the same again; the bookkeeper calls for one when it is done.
		return reconcile.Result{}, nil
	}
	p := r.gather(key)
	if p == nil {
		return reconcile.Result{}, nil
	}
	if r.others.back() && r.standBack(ctx, p) {
		return reconcile.Result{}, nil
	}
	plan, open := r.run(ctx, p, cron.PhaseStart)
	// Nothing that the next pass has to know, and no outcome, depends on the second half, which may end after the first
	// half of the next pass.
	r.memory.decided(key, p.in.Owner.UID, plan.Timetable)
	r.count(plan.Outcomes)
	r.shows(key, p.in.Owner.UID, plan.Misconfigured)
	r.arm(p, plan)
	if open {
		waiting.WithLabelValues(r.info.Name).Inc()
		r.books.add(p)
		return reconcile.Result{}, nil
	}
	r.finish(p, plan)
	return reconcile.Result{}, nil
}

// conclude makes the second half of a pass. When another controller has been seen meanwhile, what was started is recorded
// all the same, but nothing is deleted.
func (r *reconciler) conclude(ctx context.Context, p *pass) {
	defer waiting.WithLabelValues(r.info.Name).Dec()
	last := cron.PhasePrune
	if r.others.back() {
		last = cron.PhaseRecord
	}
	plan, _ := r.run(ctx, p, last)
	r.arm(p, plan)
	r.finish(p, plan)
}

// run decides and does the next step, until nothing is left that belongs to a phase up to last. open tells that later
// phases before the last one remain.
func (r *reconciler) run(ctx context.Context, p *pass, last cron.PlanPhase) (plan cron.Plan, open bool) {
	for ; ; p.steps++ {
		plan = cron.Decide(p.in)
		phase := plan.Next()
		if phase == cron.PhaseSpeak {
			return plan, false
		}
		if p.steps == maxSteps {
			plan.Err = fmt.Errorf("no end after %d steps, next one would be: %s", maxSteps, plan)
			return plan, false
		}
		if phase > last {
			return plan, true
		}
		if r.late(p, plan) {
			r.lookAtOwner(ctx, p)
			continue
		}
		switch phase {
		case cron.PhaseLook:
			r.look(ctx, p, plan.Look)
		case cron.PhaseStop:
			r.remove(ctx, p, plan.Stop, p.in.DidStop)
		case cron.PhaseStart:
			r.start(ctx, p, *plan.Start)
		case cron.PhaseRecord:
			r.record(ctx, p, *plan.Record)
		case cron.PhasePrune:
			r.remove(ctx, p, plan.Prune, p.in.DidPrune)
		}
	}
}

// lateStart is how late a start is that is not decided on a cache. A cache of a process that has just taken over, or
// stood still, may be older than a run that has come and gone since, and then nothing but lastScheduleTime on the server
// tells of it (guarantee 1). A leader that falls silent is given up after 15 s, so whoever takes over from it is later
// than this; after one that steps down in good order, caches that have not followed for 10 s could still mislead. In
// ordinary operation starts are in time and cost no read.
const lateStart = 10 * time.Second

// late reports whether the plan starts something late, and the live CronJob has not been looked at.
func (r *reconciler) late(p *pass, plan cron.Plan) bool {
	return plan.Start != nil && !p.looked && p.in.Now.Sub(plan.Start.Time) > lateStart
}

// lookAtOwner reads the live CronJob although the decision has not asked for it.
func (r *reconciler) lookAtOwner(ctx context.Context, p *pass) {
	r.look(ctx, p, []cron.Look{{Owner: true, Namespace: p.key.Namespace, Name: p.key.Name, Why: "it is late"}})
}

// arm sets the alarm as soon as the time is known: the next start must not wait for the second half of this pass.
func (r *reconciler) arm(p *pass, plan cron.Plan) {
	if plan.Wake.IsZero() {
		r.alarm.Cancel(p.key)
		return
	}
	r.alarm.Wake(p.key, plan.Wake)
}

// finish speaks, and has a failed pass repeated.
func (r *reconciler) finish(p *pass, plan cron.Plan) {
	r.speak(p, plan.Speak)
	if plan.Err != nil {
		r.fail(p.key, plan.Err)
		return
	}
	r.backoff.Forget(p.key)
}

// fail has the key tried again: after 5 ms, then twice as long each time, 1000 s at most (cronjob.md 1.0).
func (r *reconciler) fail(key types.NamespacedName, err error) {
	if _, ok := r.owners.Get(key); !ok {
		return // deleted meanwhile
	}
	failures.WithLabelValues(r.info.Name).Inc()
	request := reconcile.Request{NamespacedName: key}
	after := r.backoff.When(key)
	if conflict := apierrors.IsConflict(err); !conflict && r.memory.complain(key, err.Error(), r.clock.Now()) {
		r.log.Error(err, "Sync failed and is tried again", "object", key.String(), "after", after.String())
	} else {
		r.log.V(1).Info("Sync failed and is tried again", "object", key.String(), "after", after.String(), "error", err.Error())
	}
	r.enqueue(request, after)
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planted_test

import "testing"

// The simulated cluster of internal/controller/job finds each of these in the decisions.
func TestJob(t *testing.T) {
	t.Parallel()
	simulate(t, simulation{dir: "internal/controller/job", bugs: "internal/job", test: "TestSimulation", histories: "8000"}, map[string]bug{
		"finalizer removed before recording": {
			file: "accounting.go", old: "\t\tif !a.recorded.Has(v.uid()) {\n", new: "\t\tif !a.recorded.Has(v.uid()) && v.succeeded() {\n",
			breaks: "a failed pod loses its finalizer and is counted nowhere",
		},
		"counted while the finalizer is on": {
			file: "accounting.go", old: "case v != nil && v.tracked:", new: "case v != nil && v.tracked && v.active():",
			breaks: "a recorded pod goes into the counter, and is recorded and counted again",
		},
		"recorded pod is fresh again": {
			file: "accounting.go", old: "return v.tracked && !s.settled.recorded.Has(v.uid()) && ", new: "return v.tracked && ",
			breaks: "a pod counts twice while it is recorded",
		},
		"recorded twice": {
			file: "accounting.go", old: "\t\tif !a.recorded.Has(v.uid()) {\n", new: "\t\tif true {\n",
			breaks: "a UID is recorded twice",
		},
		"invalid index completed": {
			file: "indexes.go", old: "if v.finalizer && v.succeeded() && x.valid(v) {", new: "if v.finalizer && v.succeeded() && v.index >= 0 {",
			breaks: "an index that the Job no longer wants counts as completed",
		},
		"unsettled UIDs forgotten": {
			file: "accounting.go", old: "\t\tdefault:\n\t\t\t*counter++\n", new: "\t\tdefault:\n",
			breaks: "a pod whose finalizer is gone is dropped uncounted",
		},
		"limit of recorded pods ignored": {
			file:   "accounting.go",
			old:    "\t\t\tif !byIndex && len(a.uncountedSucceeded)+len(a.uncountedFailed) >= s.options.MaxUncounted {\n",
			new:    "\t\t\tif !byIndex && false {\n",
			breaks: "the list of UIDs outgrows the object",
		},
		"ended while terminating": {
			file: "status.go", old: "a.active == 0 && a.terminating == 0 &&", new: "a.active == 0 &&",
			breaks: "a Job is finished while pods of it are on their way out",
		},
		"ended while creating": {
			file: "status.go", old: "!s.creationsPending && !acc.podsStale", new: "!acc.podsStale",
			breaks: "a Job is finished while a pod of it is being made",
		},
		"ended before all is counted": {
			file: "accounting.go", old: "\tfor _, v := range w.postponed {\n", new: "\tfor _, v := range w.postponed[:0] {\n",
			breaks: "a Job is finished with pods that are counted nowhere",
		},
		"own removals in flight ignored": {
			file: "pods.go", old: "tracked := finalizer && !e.Unfinalizing.Has(pod.UID)", new: "tracked := finalizer",
			breaks: "a pod whose finalizer is off counts once more while the cache lags",
		},
		"own creations in flight ignored": {
			file: "pods.go", old: "if len(snapshot.Expectations.Creating) == 0 {", new: "if len(snapshot.Expectations.Creating) < 100 {",
			breaks: "more pods are made than are wanted while the cache lags",
		},
		"own deletions in flight ignored": {
			file: "pods.go", old: "deleting = deleting && now.Sub(sent) < timeout", new: "deleting = deleting && now.Sub(sent) < 0",
			breaks: "a pod that was deleted is taken for one that runs while the cache lags",
		},
		"stopped before the outcome is stored": {
			file: "decide.go", old: "\tcase s.verdict.Stored:\n", new: "\tcase s.verdict.Outcome != Undecided:\n",
			breaks: "a crash right after the stop changes how the Job ends",
		},
		"outcome reconsidered": {
			file: "verdict.go", old: "\tstoredSuccess,\n", new: "",
			breaks: "a Job of which the success is stored may fail after all",
		},
		"interim condition left out": {
			file: "status.go", old: "\tsetInterim(status, s.verdict, s.stamp())\n", new: "",
			breaks: "the end comes without the condition that announces it",
		},
		"one pod too many": {
			file: "podplan.go", old: "\t\tmissing -= s.pods.terminating\n", new: "\t\tmissing -= s.pods.terminating - min(1, s.pods.terminating)\n",
			breaks: "a Job that replaces only failed pods replaces one that has not ended",
		},
		"completions overrun": {
			file: "podplan.go", old: "int(*s.job.Spec.Completions)-s.succeeded))", new: "int(*s.job.Spec.Completions)))",
			breaks: "pods are made although enough succeeded",
		},
		"backoffLimit one too low": {
			file: "backofflimit.go", old: "if s.failed > limit {", new: "if s.failed >= limit && s.failed > 0 {",
			breaks: "a Job fails one try early",
		},
		"backoffLimit one too high": {
			file: "backofflimit.go", old: "if s.failed > limit {", new: "if s.failed > limit+1 {",
			breaks: "a Job gets a try more than it was given",
		},
		"completedIndexes dropped": {
			file: "indexes.go", old: "\tx.completed = x.stored\n", new: "\tx.completed = interval.Set{}\n",
			breaks: "an index that is done is done again",
		},
		"failedIndexes dropped": {
			file: "indexes.go", old: "x.failed = x.storedFailed.Add(failing...)", new: "x.failed = interval.Set{}.Add(failing...)",
			breaks: "an index that was given up is tried again",
		},
		"stopped pods fail their index": {
			file: "indexes.go", old: "(!ends || !v.deletionRequested()) && ", new: "(!ends || true) && ",
			breaks: "an index that was not given up counts as failed when the Job ends",
		},
		"failure count forgotten": {
			file: "accounting.go", old: "return s.indexes == nil || s.indexes.delayed[v.index] != v", new: "return true",
			breaks: "the pod that carries an index's failure count is let go before its replacement exists",
		},
		"two pods for one index": {
			file: "indexes.go", old: "(v.active() || s.replacesOnlyFailed && v.terminating())", new: "v.active()",
			breaks: "a Job that replaces only failed pods runs an index twice at once",
		},
		"index beyond completions": {
			file: "indexes.go", old: "Missing(x.completions, n)", new: "Missing(x.completions+1, n)",
			breaks: "an index is run that the Job has not",
		},
		"runs while suspended": {
			file: "podplan.go", old: "\tif suspended(s.job) {\n\t\tp.Action", new: "\tif suspended(s.job) && len(s.pods.active) > 0 {\n\t\tp.Action",
			breaks: "a suspended Job makes pods",
		},
		"work queue refilled": {
			file: "podplan.go", old: "\t\tif s.succeeded > 0 {\n", new: "\t\tif s.succeeded > 1 {\n",
			breaks: "a work queue makes pods after one said that there is nothing left",
		},
		"surplus pod counted": {
			file: "podplan.go", old: "Unfinalize: v.tracked, Why: why", new: "Unfinalize: false, Why: why",
			breaks: "a pod that we removed ourselves counts as failed",
		},
		"pods of a finished Job": {
			file: "decide.go", old: "Plan{Skip: SkipFinished, Forget: true, Cleanup: podsWithFinalizer(snapshot)}", new: "Plan{Skip: SkipFinished, Forget: true}",
			breaks: "a crash at the end leaves pods that can never be deleted",
		},
		"success counts as failure": {
			file: "pods.go", old: "\t\tcase pod.Status.Phase == corev1.PodSucceeded:\n\t\t\tv.state = podSucceeded\n", new: "\t\tcase pod.Status.Phase == corev1.PodSucceeded && pod.DeletionTimestamp == nil:\n\t\t\tv.state = podSucceeded\n\t\tcase pod.Status.Phase == corev1.PodSucceeded:\n\t\t\tv.state = podFailed\n",
			breaks: "a pod that succeeded and is being deleted counts as failed",
		},
		"Ignore counts": {
			file: "failurepolicy.go", old: "return m.action != batchv1.PodFailurePolicyActionIgnore", new: "return true",
			breaks: "a failure that is to be ignored uses up the limit",
		},
		"wake now": {
			file:   "status.go",
			old:    "\t\treturn s.now.Add(continueDelay), RemainderUncounted\n\tcase !ends && s.verdict.Outcome != Undecided && !s.verdict.Stored && a.active > 0:\n\t\treturn s.now.Add(continueDelay), RemainderNone\n",
			new:    "\t\treturn s.now, RemainderUncounted\n\tcase !ends && s.verdict.Outcome != Undecided && !s.verdict.Stored && a.active > 0:\n\t\treturn s.now, RemainderNone\n",
			breaks: "the controller spins",
		},
	})
}

// The simulated cluster of internal/controller/job finds each of these in the shell.
func TestJobShell(t *testing.T) {
	t.Parallel()
	simulate(t, simulation{dir: "internal/controller/job", test: "TestSimulation", histories: "8000"}, map[string]bug{
		"finalizer removed before the status is written": {
			file:   "status.go",
			old:    "\t\tif err := w.writeStatus(ctx, write); err != nil {\n\t\t\treturn err\n\t\t}\n",
			new:    "\t\tif err := w.writeStatus(ctx, write); err != nil {\n\t\t\t_, _ = w.unfinalize(ctx, plan.Unfinalize)\n\t\t\treturn err\n\t\t}\n",
			breaks: "a write that fails leaves pods that are in no book and that nothing holds",
		},
		"conflict taken for success": {
			file: "status.go", old: "\t\treturn fmt.Errorf(\"Job %s changed while its status was written: %w\", w.key, err)\n", new: "",
			breaks: "what another write left out is taken for written",
		},
		"lost answer taken for success": {
			file: "status.go", old: "\t\treturn fmt.Errorf(\"writing the status of Job %s: %w\", w.key, err)\n", new: "",
			breaks: "finalizers go though nobody knows whether the status was written",
		},
		"status without resource version": {
			file: "status.go", old: "\tnext.Status = *write.Status\n", new: "\tnext.Status = *write.Status\n\tnext.ResourceVersion = \"\"\n",
			breaks: "a second leader overwrites what the first one counted",
		},
		"published before it is written": {
			file: "status.go", old: "\tanswered := w.gate.BeginCall()\n", new: "\tw.publish(write.Events)\n\tanswered := w.gate.BeginCall()\n",
			breaks: "events tell of what did not happen, again and again",
		},
		"own removals in flight not remembered": {
			file: "finalizers.go", old: "{ e.unfinalizing.Insert(ref.UID) }", new: "{}",
			breaks: "a pod that lost its finalizer counts once more while the cache lags",
		},
		"own creations in flight not remembered": {
			file: "expectations.go", old: "{ j.creating[name] = pod }", new: "{}",
			breaks: "a Job ends while a pod of it is being made",
		},
		"delete without UID": {
			file: "pods.go", old: "w.client.Delete(ctx, pod, client.Preconditions{UID: &d.UID})", new: "w.client.Delete(ctx, pod)",
			breaks: "another pod that took over the name is deleted",
		},
		"eviction of a pod that changed": {
			file: "pods.go", old: "w.untrack(ctx, d.PodRef, d.ResourceVersion)", new: "w.untrack(ctx, d.PodRef, \"\")",
			breaks: "a pod that succeeded at the moment of a suspend loses its success",
		},
		"what is left of an ended Job": {
			file: "finalizers.go", old: "\trefs := plan.Cleanup\n", new: "\trefs := plan.Cleanup[:0]\n",
			breaks: "a crash at the end leaves pods that can never be deleted",
		},
		"finalizers put off for ever": {
			file: "finalizers.go", old: " || age >= finalizerMaxDefer ||\n", new: " ||\n",
			breaks: "pods that are accounted for can never be deleted",
		},
		"wake-ups forgotten": {
			file: "wakeup.go", old: "\tif !at.IsZero() {\n", new: "\tif false {\n",
			breaks: "a Job that waits for its backoff waits for ever",
		},
		"errors not tried again": {
			file: "wakeup.go", old: "\t\tw.timers.Wake(w.key, at)\n\t}\n\treturn err\n", new: "\t\tw.timers.Wake(w.key, at)\n\t}\n\treturn nil\n",
			breaks: "a pod that was refused once is never made",
		},
		"in-flight accounting forgotten by a restart": {
			file: "stale.go", old: "if carry.status == nil && !pristine(j) || carry.status != nil && !sameCounts(carry.status, &j.Status) {", new: "if carry.status != nil && !sameCounts(carry.status, &j.Status) {",
			breaks: "a new process believes a cache that still shows pods as uncounted that were counted",
		},
		"counts of another leader taken for known": {
			file: "stale.go", old: "if carry.status == nil && !pristine(j) || carry.status != nil && !sameCounts(carry.status, &j.Status) {", new: "if carry.status == nil && !pristine(j) {",
			breaks: "pods that another leader counted count once more while the cache lags",
		},
		"waiting given up": {
			file: "gather.go", old: "if caughtUp && len(creating)+len(deleting) == 0 {", new: "if caughtUp {",
			breaks: "a Job ends with pods that a late cache does not show",
		},
		"back to an older view": {
			file: "stale.go", old: "minPodVersion = list.ResourceVersion", new: "minPodVersion = \"\"",
			breaks: "a pod that was seen to end runs again in the next sync",
		},
		"pods older than what is known of the cache": {
			file: "gather.go", old: "\t\towned, progress = c.list(&s) //", new: "\t\t_, progress = c.list(&s) //",
			breaks: "a view is believed that is older than the counts of another leader",
		},
		"own write forgotten by a live read": {
			file: "stale.go", old: "s.Job = &live //", new: "s.Job, _ = c.expectations.ownWrites.Latest(j) //",
			breaks: "the next sync decides on a status that this process has long replaced",
		},
		"let go in another state than it was seen in": {
			file: "finalizers.go", old: "w.untrack(ctx, ref, ref.ResourceVersion)", new: "w.untrack(ctx, ref, \"\")",
			breaks: "a pod that ended after it was looked at counts nowhere",
		},
		"going by our own hand wakes nobody": {
			file: "handlers.go", old: "return !job.PodFinished(pod) || job.HasFinalizer(pod) && !own", new: "return !own && (!job.PodFinished(pod) || job.HasFinalizer(pod))",
			breaks: "a Job waits for ever for a pod that is gone",
		},
		"end of a pod of ours not noticed": {
			file: "handlers.go", old: "return !own || job.PodFinished(pod) || pod.DeletionTimestamp != nil || !job.HasFinalizer(pod) || restarts(pod) > 0", new: "return !own",
			breaks: "a Job does not hear of pods of which the end is the first that is seen",
		},
		"orphan of a deleted Job": {
			file: "orphan.go", old: "return pod.DeletionTimestamp != nil && jobRef(pod) != nil && c.cache.owner(pod) == nil", new: "return false",
			breaks: "pods of a Job that is gone keep the finalizer for ever",
		},
		"pods of a Job that went before them": {
			file: "orphan.go", old: "\tfor _, pod := range c.cache.heldOf(j.UID) {\n", new: "\tfor _, pod := range c.cache.heldOf(j.UID)[:0] {\n",
			breaks: "pods that were deleted before their Job keep the finalizer for ever",
		},
		"finalizer of a pod whose Job is not in the cache yet": {
			file: "orphan.go", old: "if err != nil || !gone {", new: "if err != nil || !gone && false {",
			breaks: "a pod of a living Job is let go uncounted",
		},
	})
}

// The simulated cluster of internal/controller/ttl finds each of these.
func TestTTLShell(t *testing.T) {
	t.Parallel()
	simulate(t, simulation{dir: "internal/controller/ttl", test: "TestSimulation", histories: "5000"}, map[string]bug{
		"delete without version": {
			file: "apply.go", old: "client.Preconditions{UID: &j.UID, ResourceVersion: &j.ResourceVersion}", new: "client.Preconditions{UID: &j.UID}",
			breaks: "an edit between the reading and the deletion is lost",
		},
		"too early": {
			file: "controller.go", old: "\treturn d.Action == ttl.Delete, d.Err\n", new: "\treturn d.Action != ttl.Keep, d.Err\n",
			breaks: "Jobs go before their time",
		},
		"no timer": {
			file: "controller.go", old: "\tcase d.Action == ttl.Wait && !d.FinishedInFuture:\n\t\tc.timers.Wake(key, d.ExpireAt)\n", new: "\tcase d.Action == ttl.Wait && !d.FinishedInFuture:\n",
			breaks: "Jobs stay for ever",
		},
		"errors not tried again": {
			file: "controller.go", old: "\tif err := c.remove(ctx, j); err != nil {\n\t\treturn reconcile.Result{}, err\n", new: "\tif err := c.remove(ctx, j); err != nil {\n\t\treturn reconcile.Result{}, nil\n",
			breaks: "a Job of which the deletion failed once stays for ever",
		},
	})
}

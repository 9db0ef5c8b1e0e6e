// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planted_test

import "testing"

// The simulated world of internal/controller/scheduled finds each of these.
func TestCronShell(t *testing.T) {
	t.Parallel()
	simulate(t, simulation{dir: "internal/controller/scheduled", test: "TestSimulation", histories: "2000"}, map[string]bug{
		"delete without a UID": {
			file: "apply.go", old: "\t\t\tPreconditions:     &metav1.Preconditions{UID: &steps[i].UID},\n", new: "",
			breaks: "a Job that took the name meanwhile is deleted",
		},
		"record without a version": {
			file: "../../kind/adapter/patch.go",
			old:  `metadata := map[string]any{"resourceVersion": obj.GetResourceVersion(), "uid": obj.GetUID()}`, new: `metadata := map[string]any{"uid": obj.GetUID()}`,
			breaks: "an old picture overwrites what a newer one holds",
		},
		"own creates forgotten": {
			file: "apply.go", old: "\tk.writes.Created(s.in.Owner.UID, k.kept(obj))\n\tchild, err :=", new: "\tchild, err :=",
			breaks: "a run that the cache does not show yet is unknown to the next sync",
		},
		"own deletes forgotten": {
			file: "apply.go", old: "\t\tcase errs[i] == nil:\n\t\t\twrites.Deleted(s.in.Owner.UID, step.UID)\n", new: "\t\tcase errs[i] == nil:\n",
			breaks: "what is gone is deleted again while the cache lags",
		},
		"own records forgotten": {
			file: "apply.go", old: "\tr.ownWrites.Updated(s.in.Owner.UID, answer)\n", new: "",
			breaks: "the status is written again on top of an old version, which is a conflict",
		},
		"own record not seen by the next sync": {
			file: "gather.go", old: "r.ownWrites.Latest(cached); own {", new: "r.ownWrites.Latest(cached); own && false {",
			breaks: "the next sync decides on the status before the last one",
		},
		"deleted child counts": {
			file: "gather.go", old: "\t\treturn // gone; only the cache does not know yet\n", new: "\t\tdeleted = false\n",
			breaks: "Replace stops again what it has stopped",
		},
		"end of a gone child forgotten": {
			file: "gather.go", old: "r.tracked.goneChildren(key, uid, s.in.LacksEnd)", new: "r.tracked.goneChildren(key, uid, func(cron.Child) bool { return false })",
			breaks: "a success is never recorded if its Job was deleted before a sync looked at it",
		},
		"sync carries nothing": {
			file: "sync.go", old: "\tr.tracked.setCarried(key, s.in.Owner.UID, plan.Carried)\n", new: "",
			breaks: "a run that was deleted before it could be recorded starts again",
		},
		"timer set after the status write": {
			file: "sync.go", old: "\tr.arm(s, plan)\n\tif open {", new: "\tif open {",
			breaks: "a status write that hangs delays the next start",
		},
		"sync overtakes its status write": {
			file: "statusqueue.go", old: "\to.asked = true\n\treturn true", new: "\treturn false",
			breaks: "what is about to be written is decided and written once more",
		},
		"failed sync not repeated": {
			file: "sync.go", old: "\tr.enqueue(request, after)\n", new: "\t_ = request\n",
			breaks: "a run that was refused once is lost",
		},
		"adopted by name": {
			file:   "apply.go",
			old:    "\tchild, err := r.kind.ReadChild(live, k.gvk, s.owner)\n\ts.in.AddReadChildResult(request, &child, err)",
			new:    "\tchild, err := r.kind.ReadChild(live, k.gvk, s.owner)\n\tchild.Controller = metav1.NewControllerRef(s.owner, r.info.Owner)\n\ts.in.AddReadChildResult(request, &child, err)",
			breaks: "a stranger's Job passes for a run",
		},
		"end of a child does not matter": {
			file: "handlers.go", old: "a.Phase != b.Phase || a.Succeeded != b.Succeeded || ", new: "",
			breaks: "what has ended stays active until the next scheduled time",
		},
	})
}

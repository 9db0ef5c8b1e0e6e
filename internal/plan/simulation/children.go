// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/plan/ordering"
)

// mould is what all children of one version of the object have in common: the template is built once, and not for each
// of half a million runs.
type mould struct {
	made  bool
	child cron.Child
	// limit is how long a child may run before it fails by itself, 0 for ever; rests: it runs nothing until somebody
	// resumes it; err is why no child can be made.
	limit time.Duration
	rests bool
	err   error
}

// shape builds the child of a start, for what all have in common.
func (w *world) shape(start cron.Start) {
	if w.mould.made {
		return
	}
	k := w.result.Object.Kind
	w.mould = mould{made: true, child: cron.Child{Namespace: w.owner.Namespace, Controller: metav1.NewControllerRef(w.typed, k.Info().Owner)}}
	gvk := k.Info().Child
	if chooser, ok := k.(adapter.ChildChooser); ok {
		if kinds := chooser.ChildKinds(w.typed); len(kinds) > 0 {
			gvk = kinds[0]
		}
	}
	built, err := k.Build(w.typed, adapter.Start{Start: start, Timing: w.policy.Timing, Memory: w.stored})
	if err == nil {
		w.mould.child, err = k.ReadChild(built, gvk, w.typed)
	}
	if err != nil {
		w.mould.err = err
		w.hinder("no run can be made: " + err.Error())
		return
	}
	if gvk == batchv1.SchemeGroupVersion.WithKind("Job") {
		w.mould.limit, w.mould.rests = limitOf(built)
	}
	w.result.Limit, w.result.LimitField = w.mould.limit, "activeDeadlineSeconds"
	if w.policy.Timeout > 0 && w.policy.Timeout == w.mould.limit {
		w.result.LimitField = "timeout"
	}
}

// limitOf reads how long a Job may run, and whether it is suspended from the beginning.
func limitOf(job adapter.Object) (limit time.Duration, rests bool) {
	text, err := json.Marshal(job)
	var read struct {
		Spec struct {
			ActiveDeadlineSeconds int64 `json:"activeDeadlineSeconds"`
			Suspend               bool  `json:"suspend"`
		} `json:"spec"`
	}
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		return 0, false
	}
	return min(longest, time.Duration(min(read.Spec.ActiveDeadlineSeconds, int64(longest/time.Second)))*time.Second), read.Spec.Suspend
}

// start creates the child that a decision asks for.
func (w *world) start(start cron.Start) cron.CreateResult {
	w.shape(start)
	if w.mould.err != nil {
		return cron.CreateResultOf(nil, w.mould.err)
	}
	if w.named(start.Name) >= 0 {
		return cron.CreateResultOf(nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "runs"}, start.Name))
	}
	c := w.mould.child
	c.Name, c.UID, c.Stamp, c.Created = start.Name, types.UID(start.Name), start.Stamp, w.now.Truncate(time.Second).UTC()
	if w.traits.Durable.Has(cron.PartResults) {
		c.Attempt, c.Trigger = start.Attempt, start.Trigger
	}
	w.enter(c, start.Time, max(1, start.Attempt))
	w.begun(start)
	return cron.CreateResult{Outcome: cron.CreateSucceeded, Child: &c}
}

// enter puts a child on the server, and what will become of it on the agenda.
func (w *world) enter(c cron.Child, scheduled time.Time, attempt int) {
	created := c.Created
	c.Started = &created
	if w.mould.rests {
		c.Suspended, c.Status = true, "Suspended"
	}
	children := make([]cron.Child, 0, len(w.children)+2)
	at, _ := slices.BinarySearchFunc(w.children, c.Name, func(c cron.Child, name string) int { return cmp.Compare(c.Name, name) })
	w.children = append(append(append(children, w.children[:at]...), c), w.children[at:]...)
	w.runs[c.UID] = scheduled
	if w.mould.rests {
		return
	}
	fate := w.options.Model.fate(w.chance, scheduled, attempt)
	end := happening{at: created.Add(fate.Duration), uid: c.UID, failed: fate.Fails}
	if limit := w.mould.limit; limit > 0 && fate.Duration > limit {
		end.at, end.failed, end.overdue = created.Add(limit), true, true
	}
	end.at = end.at.Add(w.options.Model.Overhead)
	if end.at.Before(w.now) { // one that was there before, and has run for longer than the model says
		end.at = w.now.Add(time.Second).Truncate(time.Second)
	}
	w.agenda.add(end)
}

// happens lets something happen to a child.
func (w *world) happens(h happening) {
	i := slices.IndexFunc(w.children, func(c cron.Child) bool { return c.UID == h.uid })
	if i < 0 {
		return // it was stopped, and is gone
	}
	if h.gone {
		w.remove(i)
		return
	}
	if w.children[i].Deleting {
		return // it is being stopped
	}
	now, seconds := w.now.UTC(), w.now.UTC().Truncate(time.Second) // which is what objects hold
	w.children = slices.Clone(w.children)
	c := &w.children[i]
	c.Phase, c.Succeeded, c.TimedOut = cron.Complete, !h.failed, h.overdue
	if h.failed {
		c.Phase = cron.Failed
	}
	ofKind := w.traits.Durable.Has(cron.PartResults) // else only an end that is a success tells when it was
	if !h.failed || ofKind {
		c.Finished = &seconds
	}
	if !ofKind {
		reason := cron.Reason("")
		switch {
		case h.overdue:
			reason = cron.RunTimeout
		case h.failed:
			reason = cron.RunChildFailed
		}
		w.ended(w.runs[c.UID], now, outcomeOf(h.failed), reason)
	}
}

func outcomeOf(failed bool) Outcome {
	if failed {
		return Failed
	}
	return Succeeded
}

// stop deletes a child that runs. Where deletion waits for what it runs, it is there until that has ended.
func (w *world) stop(d cron.Deletion) {
	i := slices.IndexFunc(w.children, func(c cron.Child) bool { return c.UID == d.UID })
	if i < 0 {
		return
	}
	over := w.now.Add(w.options.Model.Stopping).UTC()
	if p := w.traits.Propagation; p != nil && *p == metav1.DeletePropagationForeground {
		w.children = slices.Clone(w.children)
		w.children[i].Deleting = true
		w.agenda.add(happening{at: w.now.Truncate(time.Second).Add(w.options.Model.Stopping + w.options.Model.Overhead), uid: d.UID, gone: true})
		return
	}
	w.ended(w.runs[d.UID], over, Stopped, cron.RunReplaced)
	w.remove(i)
}

// prune deletes children that have ended.
func (w *world) prune(deletions []cron.Deletion) {
	for _, d := range deletions {
		if i := slices.IndexFunc(w.children, func(c cron.Child) bool { return c.UID == d.UID }); i >= 0 {
			w.remove(i)
		}
	}
}

func (w *world) remove(i int) {
	delete(w.runs, w.children[i].UID)
	children := make([]cron.Child, 0, len(w.children))
	w.children = append(append(children, w.children[:i]...), w.children[i+1:]...)
}

// named is the index of the child of that name, -1 if there is none.
func (w *world) named(name string) int {
	at, found := slices.BinarySearchFunc(w.children, name, func(c cron.Child, name string) int { return cmp.Compare(c.Name, name) })
	if !found {
		return -1
	}
	return at
}

// meetChildren makes the children that the status says are active: nothing else tells of them.
func (w *world) meetChildren() {
	if len(w.stored.Active) == 0 {
		return
	}
	for _, run := range w.stored.Active {
		if run.RetryAt != nil {
			continue
		}
		scheduled := run.Time
		if scheduled.IsZero() {
			scheduled = w.timeInName(run.Name)
		}
		created := run.Started
		if created.IsZero() {
			created = ordering.Earlier(scheduled, w.now)
		}
		w.shape(cron.Start{Name: run.Name, Run: run.Name, Attempt: 1, Trigger: cron.TriggerSchedule, Time: scheduled, Stamp: w.stamp(scheduled)})
		c := w.mould.child
		c.APIVersion, c.Kind, c.Name, c.UID = run.APIVersion, run.Kind, run.Name, run.UID
		c.Stamp, c.Created = w.stamp(scheduled), created.Truncate(time.Second).UTC()
		if w.traits.Durable.Has(cron.PartResults) {
			c.Attempt, c.Trigger = run.Attempt, run.Trigger
		}
		w.enter(c, scheduled, max(1, run.Attempt))
		w.open[scheduled.Unix()] = len(w.result.Runs)
		w.result.Runs = append(w.result.Runs, Run{Scheduled: scheduled.UTC(), Started: c.Created, Attempts: int32(max(1, run.Attempt))})
	}
	slices.SortFunc(w.children, func(a, b cron.Child) int { return cmp.Compare(a.Name, b.Name) })
}

// timeInName is the scheduled time that the name of a child holds; the last one that the status knows of for a name
// that holds none.
func (w *world) timeInName(name string) time.Time {
	if number, ok := strings.CutPrefix(name, w.owner.Name+"-"); ok {
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && n > 0 && n < 1<<40 {
			return time.Unix(n*int64(max(time.Second, w.traits.NameUnit)/time.Second), 0).UTC()
		}
	}
	if w.stored.LastSchedule != nil {
		return *w.stored.LastSchedule
	}
	return w.now
}

func (w *world) stamp(t time.Time) string {
	zone := w.policy.Timing.Zone
	if zone == nil {
		zone = time.UTC
	}
	return t.In(zone).Format(time.RFC3339)
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/words"
)

var podKind = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// volcanoJobLabel names the Job of a Pod of Volcano.
const volcanoJobLabel = "volcano.sh/job-name"

// pods are those of a run.
type pods struct {
	// known: they could be read. all are how many there are, running those that have not ended; more of them may be
	// there if some is true.
	known        bool
	all, running int
	some         bool
	// grace is how long they may take to end.
	grace time.Duration
	// first names the one that runs, if there is one only.
	first string
}

// pods reads those of the run that the request is about. That they may not be read is no error.
func (r *request) pods(ctx context.Context) (pods, error) {
	if r.gvk == podKind {
		return countPods([]unstructured.Unstructured{*r.live}, false), nil
	}
	label := batchv1.JobNameLabel
	if r.gvk.Group != batchv1.GroupName {
		label = volcanoJobLabel
	}
	resource, err := r.server.Resource(podKind, r.live.GetNamespace())
	if err != nil {
		return pods{}, err
	}
	const most = 1000
	found, err := resource.List(ctx, metav1.ListOptions{LabelSelector: label + "=" + r.live.GetName(), Limit: most})
	if apierrors.IsForbidden(err) {
		return pods{}, nil
	}
	if err != nil {
		return pods{}, err
	}
	return countPods(found.Items, found.GetContinue() != ""), nil
}

func countPods(items []unstructured.Unstructured, some bool) pods {
	const defaultGrace = 30
	p := pods{known: true, all: len(items), some: some}
	for i := range items {
		phase, _, _ := unstructured.NestedString(items[i].Object, "status", "phase")
		if phase == "Succeeded" || phase == "Failed" {
			continue
		}
		p.running++
		p.first = items[i].GetName()
		seconds, set := numberAt(&items[i], "spec", "terminationGracePeriodSeconds")
		if !set {
			seconds = defaultGrace
		}
		p.grace = max(p.grace, time.Duration(min(max(seconds, 0), 1<<31))*time.Second)
	}
	return p
}

// end says that those which run are ended, and how.
func (p pods) end() string {
	switch {
	case !p.known:
		return "Its Pods, which you may not see, end: they get SIGTERM, and SIGKILL when their grace period is over."
	case p.running == 0:
		return "None of its Pods runs now, so none has to end."
	}
	who := "Its Pod " + p.first + " ends: its containers get"
	if p.running > 1 || p.some {
		who = fmt.Sprintf("%s end: their containers get", quantity.CountGrouped(p.running, "Pod"))
		if p.some {
			who = "At least " + who
		}
	}
	if p.grace == 0 {
		return who + " SIGKILL at once."
	}
	return fmt.Sprintf("%s SIGTERM, and SIGKILL after %s if they have not ended by then.", who, words.Duration(p.grace))
}

// ended says how the run ended.
func (r *request) ended() string {
	text := string(r.run.Outcome)
	if r.run.Outcome == run.Failed && r.run.Reason != "" {
		text += " (" + r.run.Reason + ")"
	}
	if !r.run.Ended.IsZero() {
		text += " at " + r.short(r.run.Ended)
	}
	return text
}

func askStop(ctx context.Context, r *request) (*confirmation, error) {
	if r.run == nil {
		return nil, page404(r, "stopped", "To start nothing more suspend it; to end a run choose the run.")
	}
	c := &confirmation{Title: "Stop " + r.live.GetName(), Button: "Stop it", Danger: true, Refused: r.mayNot(ctx, "delete"),
		Command: fmt.Sprintf("%s -n %s delete %s %s --cascade=foreground", r.site.Kubectl, r.live.GetNamespace(), r.kindWord(), r.live.GetName())}
	switch {
	case r.run.Outcome.Ended():
		c.Idle = "It has ended already: " + r.ended() + "."
		return c, nil
	case r.live.GetDeletionTimestamp() != nil:
		c.Idle = "It is being stopped already, since " + r.short(r.live.GetDeletionTimestamp().Time) + "."
		return c, nil
	}
	found, err := r.pods(ctx)
	if err != nil {
		return nil, err
	}
	c.Will = []string{found.end(), fmt.Sprintf("The %s is deleted with them: a %s that has been stopped cannot go on.", r.gvk.Kind, r.gvk.Kind), r.fate()}
	if r.gvk == jobKind && !r.run.Suspended {
		c.Instead = &link{"Suspend it instead: its Pods end, the Job stays and can be resumed", r.act("suspend")}
	}
	c.Will = append(c.Will, r.successor(ctx)...)
	c.Not = append(r.remains(), r.notAgain()...)
	return c, nil
}

// fate says how a run counts that is deleted before its end.
func (r *request) fate() string {
	if r.owner != nil && r.owner.Timetable() != nil {
		return "It counts as cancelled, which is no failure, and is not tried again."
	}
	return "It counts as cancelled, which is neither a success nor a failure."
}

// successor says what starts because there is room again.
func (r *request) successor(ctx context.Context) []string {
	if r.owner == nil || r.owner.Policy.Room.Limit == 0 {
		return nil
	}
	others := 0
	for _, other := range activeRuns(ctx, r.site, r.owner) {
		if other.UID != r.run.UID {
			others++
		}
	}
	for _, a := range retriesOf(r.owner) {
		if !a.Time.Equal(r.run.ScheduledTime) {
			others++
		}
	}
	if others >= r.owner.Policy.Room.Limit {
		return nil
	}
	if waiting := r.owner.Memory.Waiting; len(waiting) > 0 {
		return []string{fmt.Sprintf("The time of %s, which waits for it, starts when it is gone.", r.short(waiting[0].Time))}
	}
	last := r.owner.Memory.LastSchedule
	times := r.owner.Policy.Timing.Times
	if r.owner.Timetable() == nil && last != nil && times != nil && times.Count(*last, r.now) > 0 {
		return []string{fmt.Sprintf("A time of %s has passed while it ran: the latest one starts when it is gone.", r.owner.Reference())}
	}
	return nil
}

// remains says what is still to be seen of a run that is deleted.
func (r *request) remains() []string {
	if lookup.Remembers(r.site.Source) {
		return []string{"What it wrote and how it ended stay in the journal: its page goes on to show them."}
	}
	return []string{"Its output is not kept: there is no journal here, and it goes with the Pods."}
}

// notAgain says that its schedule goes on.
func (r *request) notAgain() []string {
	if r.owner == nil {
		return nil
	}
	text := "The schedule goes on."
	if next := r.owner.FirstAfter(r.now); !next.IsZero() {
		text = "The schedule goes on: its next time is " + r.short(next) + "."
	}
	if !r.run.ScheduledTime.IsZero() {
		text += " The time of " + r.short(r.run.ScheduledTime) + " does not start once more."
	}
	return []string{text}
}

func doStop(ctx context.Context, r *request) (done, error) {
	if r.run == nil {
		return done{}, page404(r, "stopped", "")
	}
	if r.live.GetDeletionTimestamp() != nil {
		return done{r.live.GetName() + " is being stopped already.", r.url()}, nil
	}
	if err := r.unchanged(); err != nil {
		return done{}, err
	}
	if r.run.Outcome.Ended() {
		return done{}, errChanged
	}
	return done{"Stopped: " + r.live.GetName() + ". Its Pods end now.", r.url()}, r.delete(ctx, metav1.DeletePropagationForeground)
}

// delete deletes the object, if it is the one that was read.
func (r *request) delete(ctx context.Context, how metav1.DeletionPropagation) error {
	resource, err := r.resource()
	if err != nil {
		return err
	}
	uid := r.live.GetUID()
	err = resource.Delete(ctx, r.live.GetName(), metav1.DeleteOptions{PropagationPolicy: &how, Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsNotFound(err) {
		return nil // somebody else was faster
	}
	return err
}

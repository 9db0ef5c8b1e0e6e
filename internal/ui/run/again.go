// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// due is the scheduled time that it is for: its own, or that of the run that it repeats; zero if there is none.
func (k *known) due() time.Time {
	if k.run.ScheduledTime.IsZero() {
		return k.repeats
	}
	return k.run.ScheduledTime
}

// startedAtOnce is how soon after its scheduled time a run is made that is for the moment of its start.
const startedAtOnce = 5 * time.Second

// repeatedTime is the scheduled time of the run that one by hand repeats; zero if it repeats none. A run by hand of a
// Timetable that repeats none has the moment of its start there.
func repeatedTime(object *unstructured.Unstructured) time.Time {
	at, err := time.Parse(time.RFC3339, object.GetAnnotations()[v1alpha1.AnnotationScheduledTime])
	if err != nil || object.GetCreationTimestamp().Sub(at) < startedAtOnce {
		return time.Time{}
	}
	return at.UTC()
}

// mostRepetitions is how many runs by hand of a Timetable are looked through.
const mostRepetitions = 500

// repetitions adds to the tries of its time those that somebody started by hand, as long as their objects are there.
func (h *handlers) repetitions(ctx context.Context, k *known) error {
	r := &k.run
	if !k.repeats.IsZero() {
		k.tries = append(k.tries, *r)
	}
	if _, timetable := run.KindOfOwner(r.Owner).(kind.Timetable); !timetable || h.site.Server == nil {
		return nil
	}
	resource, err := h.site.Server.Resource(schema.FromAPIVersionAndKind(r.APIVersion, r.Kind), r.Namespace)
	if absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	labels := v1alpha1.LabelTimetableUID + "=" + string(r.Owner.UID) + "," + v1alpha1.LabelTrigger + "=manual"
	found, err := resource.List(ctx, metav1.ListOptions{LabelSelector: labels, Limit: mostRepetitions})
	if err != nil {
		return err
	}
	for i := range found.Items {
		other := run.FromObject(&found.Items[i], nil)
		if other.Trigger == run.Manual && other.Owner.UID == r.Owner.UID && other.UID != r.UID && repeatedTime(&found.Items[i]).Equal(k.due()) {
			k.tries = append(k.tries, other)
		}
	}
	slices.SortStableFunc(k.tries, func(a, b run.Run) int { return a.Created.Compare(b.Created) })
	return nil
}

// triedAgain says that the Timetable has tried the time of a run that failed again, or will; "" if it does not.
func (k *known) triedAgain() string {
	r := &k.run
	var next, last *run.Run
	for i := range k.tries {
		t := &k.tries[i]
		if t.Trigger == run.Manual || t.Retry <= max(1, r.Retry) {
			continue
		}
		if next == nil || t.Retry < next.Retry {
			next = t
		}
		if last == nil || t.Retry > last.Retry {
			last = t
		}
	}
	at := k.retryAt()
	switch {
	case next == nil && !r.Retrying:
		return ""
	case next == nil && at.IsZero():
		return "Its Timetable tries this time again."
	case next == nil:
		return "Its Timetable tries this time again at " + k.clock(at) + "."
	}
	text := fmt.Sprintf("Its Timetable tried this time again as %s at %s", next.Name, k.clock(next.Created))
	if next == last {
		text += ", which " + became(last)
	} else {
		text += fmt.Sprintf("; the last try, %s, %s", last.Name, became(last))
	}
	if last.Outcome == run.Failed && !at.IsZero() {
		text += ", and is followed by another one at " + k.clock(at)
	}
	return text + "."
}

// became says how a run ended.
func became(r *run.Run) string {
	switch r.Outcome {
	case run.Succeeded:
		return "succeeded"
	case run.Failed:
		return "failed"
	case run.Cancelled:
		return "was stopped"
	case run.Unknown:
		return "ended unseen"
	}
	return "has not ended yet"
}

// retryAt is when its time is to be tried again; zero if it is not, or nobody says when.
func (k *known) retryAt() time.Time {
	if k.schedule == nil {
		return time.Time{}
	}
	for i := range k.schedule.Memory.Active {
		if a := &k.schedule.Memory.Active[i]; a.Time.Equal(k.run.ScheduledTime) && a.RetryAt != nil {
			return *a.RetryAt
		}
	}
	return time.Time{}
}

// clock writes a time as all pages do.
func (k *known) clock(t time.Time) string {
	return (&page.View{Now: k.now, Zone: k.viewer}).Short(t, k.viewer)
}

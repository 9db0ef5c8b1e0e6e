// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/manifest"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// page404 says that an act is not for an object like this.
func page404(r *request, participle, cure string) *page.Fault {
	f := page.BadInput("A %s cannot be %s.", r.gvk.Kind, participle)
	f.Cure = cure
	return f
}

// ways are how an object can be deleted that has others below it.
func (r *request) ways(below string) *choices {
	c := &choices{Name: "propagation", Legend: "What becomes of " + below, Options: []option{
		{Value: "Background", Text: "Deleted with it", Hint: "It is gone at once, and they follow within seconds."},
		{Value: "Foreground", Text: "Deleted before it", Hint: "They go first. Until then it stays, marked as being deleted."},
		{Value: "Orphan", Text: "They stay", Hint: "They lose their owner: what is active goes on to its end, and nobody cleans them up afterwards."},
	}}
	return c.choose(r.form.Get("propagation"))
}

func askDelete(ctx context.Context, r *request) (*confirmation, error) {
	c := &confirmation{Title: "Delete " + r.live.GetName(), Button: "Delete it", Danger: true, Refused: r.mayNot(ctx, "delete"),
		Command: r.kubectl("delete")}
	if at := r.live.GetDeletionTimestamp(); at != nil {
		c.Idle = "It is being deleted already, since " + r.short(at.Time) + "."
		if waits := r.live.GetFinalizers(); len(waits) > 0 {
			c.Idle += " It waits for " + strings.Join(waits, ", ") + "."
		}
		return c, nil
	}
	if r.run != nil {
		return c, r.askDeleteRun(ctx, c)
	}
	var err error
	if c.Manifest, err = manifest.Text(clean(r.live.Object)); err != nil {
		c.TooMuch, c.Save = err.Error(), r.kubectl("get")+" -o yaml"
	}
	below, err := r.children(ctx)
	if err != nil {
		return nil, err
	}
	if !below.known || below.all > 0 || below.some {
		c.Choices = r.ways("its runs")
	}
	c.Will = append([]string{fmt.Sprintf("The %s is deleted: it starts nothing more.", r.gvk.Kind), below.goWithIt()}, r.retries(r.scheduled, "that is lost")...)
	if next := r.scheduled.FirstAfter(r.now); !next.IsZero() && !r.scheduled.Policy.Suspend {
		c.Will[0] = fmt.Sprintf("The %s is deleted: it starts nothing more. Its next time would have been %s.", r.gvk.Kind, r.short(next))
	}
	if r.scheduled.Timetable() != nil {
		c.Will = append(c.Will, "Its status goes with it: counts, ledger, and how far it had come. One that is created again begins anew.")
	}
	c.Not = r.keeps()
	for _, a := range appliers(r.live) {
		c.Warnings = append(c.Warnings, a.createsAgain())
	}
	return c, nil
}

// kubectl is the command that does something to the object.
func (r *request) kubectl(verb string) string {
	return fmt.Sprintf("%s -n %s %s %s %s", r.site.Kubectl, r.live.GetNamespace(), verb, r.kindWord(), r.live.GetName())
}

// keeps says what of a schedule is still to be seen.
func (r *request) keeps() []string {
	if lookup.Remembers(r.site.Source) {
		return []string{"Its history stays in the journal: what ran, how it ended, and what it wrote."}
	}
	return []string{"Nothing of its history is kept: there is no journal here, and what ran is known by its objects alone."}
}

// askDeleteRun asks about a run.
func (r *request) askDeleteRun(ctx context.Context, c *confirmation) error {
	found, err := r.pods(ctx)
	if err != nil {
		return err
	}
	if r.gvk != podKind && (!found.known || found.all > 0) {
		c.Choices = r.ways("its Pods")
	}
	switch {
	case !r.run.Outcome.Ended():
		c.Warnings = append(c.Warnings, "It has not ended: to delete it is to stop it.")
		c.Will = []string{found.end(), r.fate()}
		c.Will = append(c.Will, r.successor(ctx)...)
	case !found.known:
		c.Will = []string{"Its Pods, which you may not see, go with it."}
	default:
		c.Will = []string{upper(quantity.CountGrouped(found.all, "Pod")) + " of it, which have ended, go with it, and what the cluster keeps of their output."}
		if found.all == 0 {
			c.Will = []string{"It has no Pods any more: the " + r.gvk.Kind + " alone goes."}
		}
		if found.all == 1 {
			c.Will = []string{"Its one Pod, which has ended, goes with it, and what the cluster keeps of its output."}
		}
	}
	c.Not = append(r.remains(), r.notAgain()...)
	if r.owner != nil && r.run.Outcome == run.Failed {
		c.Not = append(c.Not, "That it failed is not undone.")
	}
	return nil
}

func doDelete(ctx context.Context, r *request) (done, error) {
	to := "/schedules"
	if r.run != nil {
		to = r.url()
	}
	if r.live.GetDeletionTimestamp() != nil {
		return done{r.live.GetName() + " is being deleted already.", to}, nil
	}
	if err := r.unchanged(); err != nil {
		return done{}, err
	}
	how := metav1.DeletionPropagation(r.form.Get("propagation"))
	switch how {
	case metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan:
	default:
		how = metav1.DeletePropagationBackground
	}
	return done{fmt.Sprintf("Deleted: %s %s.", r.gvk.Kind, r.live.GetName()), to}, r.delete(ctx, how)
}

// children are what a schedule has started and is still there.
type children struct {
	known       bool
	all, active int
	// some: there may be more.
	some bool
	kind string
}

// children counts those of the schedule.
func (r *request) children(ctx context.Context) (children, error) {
	kind := r.scheduled.Kind.Info().Child
	options := metav1.ListOptions{Limit: 500}
	if tt := r.scheduled.Timetable(); tt != nil {
		kind = timetable.ChildKind(tt)
		options.LabelSelector = v1alpha1.LabelTimetableUID + "=" + string(r.live.GetUID())
	}
	c := children{known: true, kind: kind.Kind}
	resource, err := r.server.Resource(kind, r.live.GetNamespace())
	if meta.IsNoMatchError(err) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	const pages = 10 // of a namespace with more objects it is told how many there are at least
	for range pages {
		list, err := resource.List(ctx, options)
		if apierrors.IsForbidden(err) {
			return children{kind: kind.Kind}, nil
		}
		if err != nil {
			return c, err
		}
		for i := range list.Items {
			item := &list.Items[i]
			if controller := metav1.GetControllerOfNoCopy(item); controller == nil || controller.UID != r.live.GetUID() {
				continue
			}
			c.all++
			if known := run.FromObject(item, r.scheduled.Typed); !known.Outcome.Ended() {
				c.active++
			}
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return c, nil
		}
	}
	c.some = true
	return c, nil
}

// goWithIt says that they go with it.
func (c children) goWithIt() string {
	switch {
	case !c.known:
		return "Its runs, which you may not see, go with it, and those that are active are stopped."
	case c.all == 0 && !c.some:
		return "No run of it is there any more, so nothing else goes with it."
	}
	text := quantity.CountGrouped(c.all, c.kind)
	verb := "go"
	if c.all == 1 {
		verb = "goes"
	}
	if c.some {
		text, verb = "At least "+text, "go"
	}
	text += " that it has started " + verb + " with it, and their Pods"
	switch c.active {
	case 0:
		return text + ". None of them runs now."
	case 1:
		return text + ". One is active, and is stopped."
	}
	return fmt.Sprintf("%s. %s are active, and are stopped.", text, upper(quantity.Grouped(c.active)))
}

// clean gives an object without what an API server and its controllers add to it.
func clean(object map[string]any) map[string]any {
	cleaned := map[string]any{}
	for key, value := range object {
		if key != "status" && key != "metadata" {
			cleaned[key] = value
		}
	}
	metadata, _ := object["metadata"].(map[string]any)
	kept := map[string]any{}
	for _, key := range []string{"name", "namespace", "labels", "annotations"} {
		if value, ok := metadata[key]; ok {
			kept[key] = value
		}
	}
	if annotations, ok := kept["annotations"].(map[string]any); ok {
		own := map[string]any{}
		for key, value := range annotations {
			if !isBookkeeping(key) {
				own[key] = value
			}
		}
		if kept["annotations"] = own; len(own) == 0 {
			delete(kept, "annotations")
		}
	}
	cleaned["metadata"] = kept
	return cleaned
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/byhand"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// again plans a run that does what the run of the request did.
func (r *request) again(request string) *planned {
	var of kind.Kind
	base := r.live.GetName()
	if r.run.Owner.Name != "" {
		of, base = run.KindOfOwner(r.run.Owner), r.run.Owner.Name
	}
	name := byhand.Name(base, request)
	if _, ok := of.(kind.Timetable); ok {
		name = timetable.ManualRunName(base, types.UID(request))
	}
	p := &planned{child: byhand.Again(of, r.live, name)}
	if r.owner == nil { // what owned it is gone: nobody must delete the new one with it
		p.child.SetOwnerReferences(nil)
	}
	p.values, p.changed = containerValues(p.child, r.form)
	return p
}

func askRetry(ctx context.Context, r *request) (*confirmation, error) {
	if r.run == nil {
		return nil, page404(r, "retried", "Run it now, or choose a run of it that failed.")
	}
	c := &confirmation{Title: "Retry " + r.live.GetName(), Button: "Start it again", Refused: refused(ctx, r.server, "create", r.gvk, r.live.GetNamespace(), "")}
	var err error
	if c.Request, err = r.request(); err != nil {
		return nil, err
	}
	switch {
	case r.gvk == podKind || len(containersOf(r.live)) == 0:
		c.Idle = fmt.Sprintf("A %s cannot be started again from itself: what starts it makes another one.", r.gvk.Kind)
		if r.owner != nil {
			c.Instead = &link{"Run " + r.owner.Owner.Name + " now", page.ActURL("run-now", r.run.Owner.APIVersion, r.run.Owner.Kind, r.run.Namespace, r.run.Owner.Name)}
		}
		return c, nil
	case !r.run.Outcome.Ended():
		c.Idle, c.Instead = "It has not ended: it runs, or tries again by itself.", &link{"Stop it", r.act("stop")}
		return c, nil
	}
	p := r.again(c.Request)
	c.Values = p.values
	c.Will = []string{fmt.Sprintf("A new %s, %s, starts now and does what %s did: with its template and its values, whatever its schedule says by now.", r.gvk.Kind, p.child.GetName(), r.live.GetName())}
	if r.run.Outcome != run.Failed {
		c.Title, c.Warnings = "Run "+r.live.GetName()+" again", []string{"It did not fail: " + r.ended() + ". What it did is done once more."}
	}
	c.Not = []string{r.live.GetName() + " stays as it is: " + r.ended() + "."}
	if r.owner == nil {
		return c, nil
	}
	c.Will = append(c.Will, r.beside(ctx, r.owner, r.gvk.Kind)...)
	if r.owner.Timetable() != nil && !r.run.ScheduledTime.IsZero() {
		c.Will = append(c.Will, "It is for the same scheduled time and the same data interval: "+r.short(r.run.ScheduledTime)+".")
		c.Not = append(c.Not, "Its success does not undo the failure: the Timetable is healthy again after the next scheduled run that succeeds.")
		if retrying := r.retrying(r.owner); retrying != "" {
			c.Warnings = append(c.Warnings, retrying)
		}
	}
	c.Not = append(c.Not, r.scheduleStays(r.owner)...)
	return c, nil
}

// retrying says that the schedule will try a time again by itself.
func (r *request) retrying(s *workload.Scheduled) string {
	for _, a := range s.Memory.Active {
		if a.Time.Equal(r.run.ScheduledTime) && a.RetryAt != nil {
			return "It is tried again by itself at " + r.short(*a.RetryAt) + ": this would be one more."
		}
	}
	return ""
}

func doRetry(ctx context.Context, r *request) (done, error) {
	if r.run == nil {
		return done{}, page404(r, "retried", "")
	}
	if r.form.Get("request") == "" {
		return done{}, page.BadInput("The form is not one that this page has made.")
	}
	request, err := r.request()
	if err != nil {
		return done{}, err
	}
	if !r.run.Outcome.Ended() || len(containersOf(r.live)) == 0 {
		return done{}, errChanged
	}
	var owner types.UID
	if r.owner != nil {
		owner = r.owner.Owner.UID
	}
	return r.start(ctx, r.again(request), owner)
}

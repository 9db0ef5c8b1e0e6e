// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/client/byhand"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// planned is a run that can be started by hand.
type planned struct {
	child *unstructured.Unstructured
	// values are those that it has, and changed the words for those that are its own.
	values  *values
	changed []string
	// remark is what else is to be known; "" for nothing.
	remark string
}

// requestID is what tells one wish from another.
var requestID = regexp.MustCompile(`^[0-9a-f-]{8,40}$`)

// request gives the wish that was sent, or a new one.
func (r *request) request() (string, error) {
	sent := r.form.Get("request")
	switch {
	case sent == "":
		return string(uuid.NewUUID()), nil
	case !requestID.MatchString(sent):
		return "", page.BadInput("The form is not one that this page has made.")
	}
	return sent, nil
}

// plan makes the run that a request asks for. The error says why none can be made.
func (r *request) plan(request string) (*planned, error) {
	s := r.scheduled
	tt, ok := s.Typed.(*timetable.Object)
	if !ok {
		child, err := byhand.FromCronJob(s.Kind, r.live, byhand.Name(s.Owner.Name, request))
		if err != nil {
			return nil, page.BadInput("Its template cannot be read: %v.", err)
		}
		p := &planned{child: child.DeepCopy()}
		p.values, p.changed = containerValues(p.child, r.form)
		return p, nil
	}
	p := &planned{}
	var given map[string]string
	p.values, given = parameterValues(&tt.Spec, r.form)
	for _, each := range tt.Spec.Parameters {
		if value, ok := given[each.Name]; ok {
			p.changed = append(p.changed, each.Name+"="+value)
		}
	}
	if p.values.Faulty() {
		given = nil // the form says what is wrong
	}
	child, unread, err := timetable.BuildByHand(tt, timetable.ByHand{Request: types.UID(request), Now: r.now, Parameters: given,
		Calendar: func(name string) *v1alpha1.Calendar { return s.Calendars[name] }})
	if err != nil {
		return nil, err
	}
	p.child = child
	if unread != nil {
		p.remark = "The scheduled times before and after this run, which its template may ask for, are left empty: " + unread.Message + "."
	}
	return p, nil
}

func askRunNow(ctx context.Context, r *request) (*confirmation, error) {
	if r.scheduled == nil {
		f := page404(r, "run once more", "A run that has ended can be retried.")
		return nil, f
	}
	c := &confirmation{Title: "Run " + r.live.GetName() + " now", Button: "Run it now"}
	var err error
	if c.Request, err = r.request(); err != nil {
		return nil, err
	}
	if r.live.GetDeletionTimestamp() != nil {
		c.Idle = "It is being deleted: what it would start now would be deleted with it."
		return c, nil
	}
	p, err := r.plan(c.Request)
	if err != nil {
		if _, fault := errors.AsType[*page.Fault](err); fault {
			return nil, err
		}
		c.Idle, c.Instead = "No run of it can be made: "+err.Error()+".", &link{"Mend it", r.act("edit")}
		return c, nil
	}
	kind := p.child.GroupVersionKind()
	c.Refused = refused(ctx, r.server, "create", kind, r.live.GetNamespace(), "")
	c.Values = p.values
	c.Will = append([]string{fmt.Sprintf("A new %s, %s, starts now, from the template as it is now.", kind.Kind, p.child.GetName())}, r.beside(ctx, r.scheduled, kind.Kind)...)
	c.Not = r.scheduleStays(r.scheduled)
	if r.scheduled.Timetable() != nil {
		c.Will = append(c.Will, "Its scheduled time, $(carillon.scheduledTime), is the moment at which it starts.")
		c.Not = append(c.Not, "It is one attempt: retry is for scheduled runs.")
	} else {
		c.Command = fmt.Sprintf("%s -n %s create job %s --from=%s/%s", r.site.Kubectl, r.live.GetNamespace(), p.child.GetName(), r.kindWord(), r.live.GetName())
		if r.gvk.Group != "batch" {
			c.Command = ""
		}
	}
	if len(c.Values.Groups) > 0 {
		c.Not = append(c.Not, "What you change below is for this run alone: the schedule keeps its own values.")
	}
	if p.remark != "" {
		c.Warnings = append(c.Warnings, p.remark)
	}
	if why := r.scheduled.Kind.Info().RunBy; why != "" {
		c.Warnings = append(c.Warnings, "Jobs of "+why+" are run by "+why+": it must be there.")
	}
	return c, nil
}

// beside says what a run by hand has to do with those that are active, and with the next time.
func (r *request) beside(ctx context.Context, s *workload.Scheduled, kind string) []string {
	var told []string
	active, room := activeRuns(ctx, r.site, s), s.Policy.Room
	retries := r.retries(s, "this starts beside it")
	policy, _, _ := unstructured.NestedString(s.Content.Object, "spec", "concurrencyPolicy")
	if s.Timetable() != nil {
		policy = cmp.Or(string(s.Timetable().Spec.Concurrency.Policy), string(v1alpha1.ForbidConcurrent))
	}
	switch {
	case len(active) == 0 && len(retries) > 0:
	case len(active) == 0:
		told = append(told, "No other run is active now, so it runs alone.")
	case room.Limit > 0 && !room.Stops:
		told = append(told, fmt.Sprintf("It starts beside what is active: %s. The policy %s holds scheduled times back, not a run by hand: if two at once do harm, wait.", theseRuns(active, r.now), policy))
	default:
		told = append(told, fmt.Sprintf("It starts beside what is active: %s. Nothing is stopped for it.", theseRuns(active, r.now)))
	}
	told = append(told, retries...)
	next := s.FirstAfter(r.now)
	switch {
	case next.IsZero() || room.Limit == 0 || resumptionOf(s, r.now) != (resumption{}):
	case s.Timetable() != nil && room.Limit > len(active)+len(retries)+1:
	case room.Stops && s.Timetable() == nil:
		told = append(told, fmt.Sprintf("If it still runs at the next time, %s, that starts beside it: a run by hand is not replaced.", r.short(next)))
	case policy == string(v1alpha1.ForbidConcurrent):
		told = append(told, fmt.Sprintf("If it still runs at the next time, %s, that waits until this %s has ended; a later time takes its place.", r.short(next), kind))
	default:
		told = append(told, fmt.Sprintf("If it still runs at the next time, %s, that waits until this %s has ended.", r.short(next), kind))
	}
	return told
}

// scheduleStays says what a run by hand leaves as it is.
func (r *request) scheduleStays(s *workload.Scheduled) []string {
	p := resumptionOf(s, r.now)
	next := s.FirstAfter(r.now)
	switch {
	case p.suspended:
		return []string{"The schedule stays suspended."}
	case p.paused:
		return []string{"The schedule stays paused: the success of a run by hand does not end that."}
	case next.IsZero():
		return []string{"The schedule stays as it is."}
	}
	return []string{"The schedule stays as it is: its next time is " + r.short(next) + "."}
}

func doRunNow(ctx context.Context, r *request) (done, error) {
	if r.scheduled == nil {
		return done{}, page404(r, "run once more", "")
	}
	if r.form.Get("request") == "" {
		return done{}, page.BadInput("The form is not one that this page has made.")
	}
	request, err := r.request()
	if err != nil {
		return done{}, err
	}
	p, err := r.plan(request)
	if err != nil {
		return done{}, errChanged
	}
	return r.start(ctx, p, r.scheduled.Owner.UID)
}

// start creates what was planned, once: a form that is sent again finds it there.
func (r *request) start(ctx context.Context, p *planned, owner types.UID) (done, error) {
	kind := p.child.GroupVersionKind()
	there, err := r.startedAlready(ctx, kind, p.child.GetName(), owner)
	if err != nil || there.to != "" {
		return there, err
	}
	if err := r.unchanged(); err != nil {
		return done{}, err
	}
	if r.live.GetDeletionTimestamp() != nil {
		return done{}, errChanged
	}
	if p.values.Faulty() {
		return done{}, errInput
	}
	resource, err := r.server.Resource(kind, p.child.GetNamespace())
	if err != nil {
		return done{}, err
	}
	created, err := resource.Create(ctx, p.child, metav1.CreateOptions{FieldManager: manager})
	if apierrors.IsAlreadyExists(err) { // the same form, at the same time
		if there, again := r.startedAlready(ctx, kind, p.child.GetName(), owner); again == nil && there.to != "" {
			return there, nil
		}
	}
	if err != nil {
		return done{}, err
	}
	begun := run.FromObject(created, nil)
	notice := "Started: " + created.GetName()
	if len(p.changed) > 0 {
		notice += ", with " + shortened(strings.Join(p.changed, ", "))
	}
	return done{notice + ".", page.RunURL(&begun)}, nil
}

// shortened keeps a notice short.
func shortened(text string) string {
	const most = 200
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most]) + "…"
	}
	return text
}

// startedAlready finds what the same wish has started before.
func (r *request) startedAlready(ctx context.Context, kind schema.GroupVersionKind, name string, owner types.UID) (done, error) {
	there, err := get(ctx, r.server, kind, r.live.GetNamespace(), name)
	if apierrors.IsForbidden(err) || there == nil {
		return done{}, nil
	}
	if err != nil {
		return done{}, err
	}
	var controller types.UID
	if ref := metav1.GetControllerOfNoCopy(there); ref != nil {
		controller = ref.UID
	}
	if cmp.Or(controller, owner) != owner {
		return done{}, nil
	}
	known := run.FromObject(there, nil)
	return done{"It was started already: the form was sent twice, and this is its one run.", page.RunURL(&known)}, nil
}

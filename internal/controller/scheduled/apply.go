// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kube/events"
	"github.com/carillon-dev/carillon/internal/kube/fanout"
	"github.com/carillon-dev/carillon/internal/kube/fence"
)

const (
	// requestTimeout bounds one call. A call that hangs longer counts as failed; its outcome is found out by the next
	// sync, because names are locks and deletes and writes carry preconditions.
	requestTimeout = 15 * time.Second
	// removals is how many children of one CronJob are deleted at the same time.
	removals = 8
)

// readLive reads past every cache.
func (r *reconciler) readLive(ctx context.Context, s *ongoingSync, requests []cron.ReadRequest) {
	for _, request := range requests {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		if request.Owner {
			s.ownerRead = true
			r.readOwner(ctx, s)
		} else {
			r.readChild(ctx, s, request)
		}
		cancel()
	}
}

func (r *reconciler) readOwner(ctx context.Context, s *ongoingSync) {
	live := r.newOwner()
	err := r.live.Get(ctx, s.key, live)
	if err == nil && live.GetUID() != s.in.Owner.UID {
		err = apierrors.NewNotFound(r.info.OwnerResource.GroupResource(), s.key.Name)
	}
	if err != nil {
		s.in.AddReadOwnerResult(cron.Owner{}, cron.Policy{}, cron.Memory{}, err)
		return
	}
	owner, policy, status, err := r.kind.Read(live, r.readOptions)
	if err == nil && r.choosesOtherKind(s, live) {
		err = apierrors.NewConflict(r.info.OwnerResource.GroupResource(), s.key.Name, errChildKindChanged)
	}
	s.in.AddReadOwnerResult(owner, policy, status, err)
	if err == nil {
		s.owner = r.trimmed(live)
		r.countUnanswered(s)
		r.ownWrites.Updated(owner.UID, s.owner) // as good as an own write: the cache will come to it
	}
}

func (r *reconciler) readChild(ctx context.Context, s *ongoingSync, request cron.ReadRequest) {
	live, k, err := r.find(ctx, s, request.Name)
	if err != nil || live == nil {
		s.in.AddReadChildResult(request, nil, err)
		return
	}
	child, err := r.kind.ReadChild(live, k.gvk, s.owner)
	s.in.AddReadChildResult(request, &child, err)
}

// find reads a child live, if there are several kinds the one that is the CronJob's; nil without an error means that
// there is none. A child of ours that the cache does not show yet is remembered like an own write, which it may be, its
// answer lost: the cache will come to it.
func (r *reconciler) find(ctx context.Context, s *ongoingSync, name string) (found client.Object, of *childKind, err error) {
	key := types.NamespacedName{Namespace: s.key.Namespace, Name: name}
	for _, k := range s.kinds {
		live := k.new()
		err := r.live.Get(ctx, key, live)
		if apierrors.IsNotFound(err) || r.noSuchKind(k, err) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if ref := metav1.GetControllerOfNoCopy(live); ref != nil && ref.UID == s.in.Owner.UID {
			s.note(live.GetUID(), k)
			r.expectInCache(s, k, live)
			return live, k, nil
		}
		if found == nil {
			found, of = live, k
		}
	}
	return found, of, nil
}

// noSuchKind reports whether err says that the server does not have the kind, in any version: then it has no object of
// it. What is served in another version only may still have what it had in this one.
func (r *reconciler) noSuchKind(k *childKind, err error) bool {
	if _, said := errors.AsType[*meta.NoKindMatchError](err); !said {
		return false
	}
	_, err = r.writer.RESTMapper().RESTMappings(k.gvk.GroupKind())
	_, said := errors.AsType[*meta.NoKindMatchError](err)
	return said
}

// expectInCache remembers a child that was read live, if the cache will come to it.
func (r *reconciler) expectInCache(s *ongoingSync, k *childKind, live client.Object) {
	if label := r.info.OwnerLabel; label != "" && live.GetLabels()[label] != string(s.in.Owner.UID) {
		s.unwatched = true
		return
	}
	if _, cached := k.cache.Get(client.ObjectKeyFromObject(live)); !cached {
		k.writes.Created(s.in.Owner.UID, k.kept(live))
	}
}

// remove deletes children, each only if it still has the UID that was decided on.
func (r *reconciler) remove(ctx context.Context, s *ongoingSync, steps []cron.Deletion, did func(cron.Deletion, error)) {
	errs := fanout.Each(ctx, r.removals, len(steps), func(ctx context.Context, i int) error {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		k := s.kindOf(steps[i].UID)
		child := k.new()
		child.SetNamespace(steps[i].Namespace)
		child.SetName(steps[i].Name)
		options := client.DeleteOptions{
			Preconditions:     &metav1.Preconditions{UID: &steps[i].UID},
			PropagationPolicy: r.info.Traits.Propagation,
		}
		err := r.writer.Delete(ctx, child, &options)
		if apierrors.IsConflict(err) && r.nameReused(ctx, k, steps[i]) {
			err = apierrors.NewNotFound(k.resource, steps[i].Name)
		}
		return err
	})
	for i, step := range steps {
		writes := s.kindOf(step.UID).writes
		switch {
		case errs[i] == nil:
			writes.Deleted(s.in.Owner.UID, step.UID)
		case apierrors.IsNotFound(errs[i]):
			writes.Gone(s.in.Owner.UID, step.UID)
			writes.Deleted(s.in.Owner.UID, step.UID)
		}
		did(step, errs[i])
	}
}

// nameReused finds out whether another object has the name now. It is asked when a delete met a conflict, which an
// admission webhook may also answer with.
func (r *reconciler) nameReused(ctx context.Context, k *childKind, step cron.Deletion) bool {
	holder := k.new()
	err := r.live.Get(ctx, types.NamespacedName{Namespace: step.Namespace, Name: step.Name}, holder)
	return apierrors.IsNotFound(err) || err == nil && holder.GetUID() != step.UID
}

// startAll creates the children that a plan asks for, one after the other.
func (r *reconciler) startAll(ctx context.Context, s *ongoingSync, plan cron.Plan) {
	start := adapter.Start{Timing: s.in.Policy.Timing, Memory: s.in.Stored}
	if plan.StatusWrite != nil {
		start.Memory = plan.StatusWrite.Memory
	}
	for _, start.Start = range plan.Starts {
		r.start(ctx, s, start)
	}
}

// start creates the child of a scheduled time. A crash right after it leaves a child without a record, which the next
// sync adopts.
func (r *reconciler) start(ctx context.Context, s *ongoingSync, start adapter.Start) {
	r.gate.BeginUrgent(1)
	defer r.gate.EndUrgent()
	obj, err := r.kind.Build(s.owner, start)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		err = r.writer.Create(ctx, obj)
	}
	if err != nil {
		s.in.AddStartResult(start.Start, cron.CreateResultOf(nil, err))
		return
	}
	r.backoff.Forget(s.key) // what failed before is over; what fails from here on is tried again soon
	k := s.kinds[0]
	s.note(obj.GetUID(), k)
	k.writes.Created(s.in.Owner.UID, k.kept(obj))
	child, err := r.kind.ReadChild(obj, k.gvk, s.owner)
	s.in.AddStartResult(start.Start, cron.CreateResultOf(&child, err))
	r.countStart(s, start.Start, child)
}

// record writes the status by patches that are bound to what was read: a conflict is the server's answer and changes
// nothing.
func (r *reconciler) record(ctx context.Context, s *ongoingSync, plan cron.Plan) {
	on := s.owner.GetResourceVersion()
	if r.info.Traits.Durable.Has(cron.PartResults) { // of which each has one, whoever leads
		ctx = fence.WithRecord(ctx)
	}
	write := *plan.StatusWrite
	err := r.write(ctx, s, write)
	for less, more := withoutOldest(write); more && isTooLarge(err); less, more = withoutOldest(less) {
		r.tellTooLarge(s)
		err = r.write(ctx, s, less)
	}
	s.in.AddStatusWriteResult(err)
	r.recorded(s, on, plan, err)
}

func (r *reconciler) write(ctx context.Context, s *ongoingSync, write cron.StatusWrite) error {
	patches, err := r.kind.Patches(s.owner, write)
	for i := 0; err == nil && i < len(patches); i++ {
		err = r.patch(ctx, s, patches[i])
	}
	return err
}

func (r *reconciler) patch(ctx context.Context, s *ongoingSync, patch kind.CronJobPatch) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	answer := r.newOwner()
	answer.SetNamespace(s.key.Namespace)
	answer.SetName(s.key.Name)
	raw := client.RawPatch(patch.Type, patch.Data)
	var err error
	if patch.Subresource == "" {
		err = r.writer.Patch(ctx, answer, raw)
	} else {
		err = r.writer.SubResource(patch.Subresource).Patch(ctx, answer, raw)
	}
	if err != nil {
		return err
	}
	answer = r.trimmed(answer)
	r.ownWrites.Updated(s.in.Owner.UID, answer)
	s.owner = answer
	return nil
}

// trimmed is what a cache would keep of a CronJob that the server answered with.
func (r *reconciler) trimmed(obj client.Object) client.Object {
	trimmed, err := r.trim(obj)
	if kept, ok := trimmed.(client.Object); ok && err == nil {
		return kept
	}
	return obj
}

// publish queues the events about the CronJob, each cause once. A CronJob that went during the second half of
// its last sync is not talked about: what was said of it before is forgotten already.
func (r *reconciler) publish(s *ongoingSync, list []cron.Event) {
	if len(list) == 0 || !r.tracked.has(s.key, s.in.Owner.UID) {
		return
	}
	about := events.About(s.owner, r.info.Owner)
	for _, e := range list {
		isNew := r.recorder.EventIfNew(events.Event{About: about, Type: e.Type, Reason: e.Reason, Message: e.Message, DedupKey: e.DedupKey})
		if isNew && e.Reason == adapter.OutcomeErrorReason {
			timetableOutcomeErrors.Inc()
		}
	}
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cronjob

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kube/events"
	"github.com/carillon-dev/carillon/internal/kube/fanout"
)

const (
	// requestTimeout bounds one call. A call that hangs longer counts as failed; its outcome is found out by the next
	// pass, because names are locks and deletes and writes carry preconditions.
	requestTimeout = 15 * time.Second
	// removals is how many children of one CronJob are deleted at the same time.
	removals = 8
)

// look reads live, past every cache.
func (r *reconciler) look(ctx context.Context, p *pass, looks []cron.Look) {
	for _, l := range looks {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		if l.Owner {
			p.looked = true
			r.lookOwner(ctx, p)
		} else {
			r.lookChild(ctx, p, l)
		}
		cancel()
	}
}

func (r *reconciler) lookOwner(ctx context.Context, p *pass) {
	live := r.newOwner()
	err := r.live.Get(ctx, p.key, live)
	if err == nil && live.GetUID() != p.in.Owner.UID {
		err = apierrors.NewNotFound(r.info.OwnerResource.GroupResource(), p.key.Name)
	}
	if err != nil {
		p.in.SawOwner(cron.Owner{}, cron.Spec{}, cron.State{}, err)
		return
	}
	owner, spec, state, err := r.kind.Read(live)
	p.in.SawOwner(owner, spec, state, err)
	if err == nil {
		p.owner = live
		r.ownWrites.Updated(owner.UID, live) // as good as an own write: the cache will come to it
	}
}

func (r *reconciler) lookChild(ctx context.Context, p *pass, l cron.Look) {
	live, err := r.find(ctx, p, l.Name)
	if err != nil || live == nil {
		p.in.SawChild(l, nil, err)
		return
	}
	child, err := r.kind.ReadChild(live)
	p.in.SawChild(l, &child, err)
}

// find reads a child live; nil without an error means that there is none. A child of ours that the cache does not show
// yet is remembered like an own write, which it may be, its answer lost: the cache will come to it.
func (r *reconciler) find(ctx context.Context, p *pass, name string) (client.Object, error) {
	live, key := r.newChild(), types.NamespacedName{Namespace: p.key.Namespace, Name: name}
	err := r.live.Get(ctx, key, live)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if ref := metav1.GetControllerOfNoCopy(live); ref != nil && ref.UID == p.in.Owner.UID {
		if _, cached := r.children.Get(key); !cached {
			r.childWrites.Created(p.in.Owner.UID, live)
		}
	}
	return live, nil
}

// remove deletes children, each only if it still has the UID that was decided on.
func (r *reconciler) remove(ctx context.Context, p *pass, steps []cron.Step, did func(cron.Step, error)) {
	errs := fanout.Each(ctx, r.removals, len(steps), func(ctx context.Context, i int) error {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		child := r.newChild()
		child.SetNamespace(steps[i].Namespace)
		child.SetName(steps[i].Name)
		options := client.DeleteOptions{
			Preconditions:     &metav1.Preconditions{UID: &steps[i].UID},
			PropagationPolicy: r.info.Traits.Propagation,
		}
		err := r.writer.Delete(ctx, child, &options)
		if apierrors.IsConflict(err) && r.replaced(ctx, steps[i]) {
			err = apierrors.NewNotFound(r.info.ChildResource.GroupResource(), steps[i].Name)
		}
		return err
	})
	for i, step := range steps {
		switch {
		case errs[i] == nil:
			r.childWrites.Deleted(p.in.Owner.UID, step.UID)
		case apierrors.IsNotFound(errs[i]):
			r.childWrites.Gone(p.in.Owner.UID, step.UID)
			r.childWrites.Deleted(p.in.Owner.UID, step.UID)
		}
		did(step, errs[i])
	}
}

// replaced finds out whether another object has the name now. It is asked when a delete met a conflict, which an
// admission webhook may also answer with.
func (r *reconciler) replaced(ctx context.Context, step cron.Step) bool {
	holder := r.newChild()
	err := r.live.Get(ctx, types.NamespacedName{Namespace: step.Namespace, Name: step.Name}, holder)
	return apierrors.IsNotFound(err) || err == nil && holder.GetUID() != step.UID
}

// start creates the child of a scheduled time. A crash right after it leaves a child without a record, which the next
// pass adopts.
func (r *reconciler) start(ctx context.Context, p *pass, start cron.Start) {
	r.gate.Enter(1)
	defer r.gate.Leave()
	obj, err := r.kind.Build(p.owner, start)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		err = r.writer.Create(ctx, obj)
	}
	if err != nil {
		p.in.DidStart(start, nil, err)
		return
	}
	r.backoff.Forget(p.key) // what failed before is over; what fails from here on is tried again soon
	r.childWrites.Created(p.in.Owner.UID, obj)
	child, err := r.kind.ReadChild(obj)
	p.in.DidStart(start, &child, err)

	late := max(0, r.clock.Now().Sub(start.Time)).Seconds()
	startLateness.WithLabelValues(r.info.Name).Observe(late)
	lastLateness.WithLabelValues(r.info.Name).Set(late)
	if r.info.Traits.CreationSkew {
		creationSkew.Observe(child.Created.Sub(start.Time).Seconds())
	}
}

// record writes the state by patches that are bound to what was read: a conflict is the server's answer and changes
// nothing.
func (r *reconciler) record(ctx context.Context, p *pass, record cron.Record) {
	patches, err := r.kind.Write(p.owner, record)
	for i := 0; err == nil && i < len(patches); i++ {
		err = r.patch(ctx, p, patches[i])
	}
	p.in.DidRecord(err)
}

func (r *reconciler) patch(ctx context.Context, p *pass, patch kind.Patch) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	answer := r.newOwner()
	answer.SetNamespace(p.key.Namespace)
	answer.SetName(p.key.Name)
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
	if _, err := Trim(answer); err != nil {
		return err
	}
	r.ownWrites.Updated(p.in.Owner.UID, answer)
	p.owner = answer
	return nil
}

// speak publishes what there is to say about the CronJob, each cause once. A CronJob that went during the second half of
// its last pass is not talked about: what was said of it before is forgotten already.
func (r *reconciler) speak(p *pass, notes []cron.Note) {
	if len(notes) == 0 || !r.memory.knows(p.key, p.in.Owner.UID) {
		return
	}
	about := events.About(p.owner, r.info.Owner)
	for _, n := range notes {
		r.notes.Event(events.Event{About: about, Type: n.Type, Reason: n.Reason, Message: n.Message, Once: n.Key})
	}
}

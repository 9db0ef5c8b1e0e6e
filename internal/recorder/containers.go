// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/journal/ended"
	"github.com/carillon-dev/carillon/internal/kube/fanout"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

const (
	// together is how many containers are taken into the journal at once: it makes several durable in one go.
	together = 8
	// mostTries is how often the journal is asked to take a container that it refuses for a reason that lies in it.
	mostTries = 3
)

// takeContainers takes containers that have ended into the journal until ctx ends, from when it is known which runs
// there are. What cannot be written now stays where it is.
func (r *Recorder) takeContainers(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-r.listedOnce:
	}
	var wait backoff
	for first := true; ; first = false {
		if !first {
			select {
			case <-ctx.Done():
				return
			case <-r.o.Ended.Added():
			case <-r.named:
			}
		}
		for {
			err := r.takeAll(ctx)
			if err == nil {
				wait.reset()
				if first {
					close(r.takenOnce)
				}
				break
			}
			if ctx.Err() == nil {
				r.o.Logger.V(1).Info("Containers that have ended cannot be recorded now and wait", "reason", err.Error())
			}
			if !pause(ctx, wait.after()) {
				return
			}
		}
	}
}

// takeAll takes in all that is there, in the order in which the containers ended, until the journal cannot be written
// to.
func (r *Recorder) takeAll(ctx context.Context) error {
	ids := r.o.Ended.List()
	for len(ids) > 0 {
		n := min(together, len(ids))
		if err := errors.Join(fanout.Each(ctx, together, n, func(ctx context.Context, i int) error { return r.take(ctx, ids[i]) })...); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// take takes in one container. The error says that it is worth another try.
func (r *Recorder) take(ctx context.Context, id string) error {
	c, err := r.o.Ended.Read(id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // it was dropped, because there were too many
	case err != nil:
		r.o.Ended.SetAside(id, err)
		return nil
	}
	attempt, whose := r.attempt(&c)
	switch whose {
	case nobodys:
		return r.o.Ended.Remove(id)
	case unknown:
		return nil
	}
	if err := r.recordRunOf(ctx, &c, attempt.RunUID); err != nil {
		return err
	}
	for try := 1; ; try++ {
		err = r.recordContainer(ctx, id, attempt)
		if err == nil {
			return r.o.Ended.Remove(id)
		}
		if later(ctx, err) {
			return err
		}
		if try == mostTries {
			r.o.Ended.SetAside(id, err)
			return nil
		}
	}
}

func (r *Recorder) recordContainer(ctx context.Context, id string, attempt run.Attempt) error {
	log, err := r.o.Ended.Log(id)
	if err != nil { // nothing is kept of it, or it has said so itself
		return r.o.Journal.RecordAttempt(ctx, attempt, nil)
	}
	defer log.Close()
	return r.o.Journal.RecordAttempt(ctx, attempt, log)
}

// volcanoJob is the label with the name of the Job that a Pod of Volcano's belongs to.
const volcanoJob = "volcano.sh/job-name"

// whose tells to what a container that has ended belongs.
type whose int

const (
	nobodys whose = iota // its Pod was made by hand
	aRuns
	unknown // a run whose name may become known
)

// namedWithin is how long a container waits for its run to become known by its name, and how long the name of one that
// was deleted is remembered.
const namedWithin = 10 * time.Minute

// named is a run that is known by its name.
type named struct {
	uid  types.UID
	gone time.Time // zero while its object is there
}

// attempt reads a container as an attempt.
func (r *Recorder) attempt(c *ended.Container) (run.Attempt, whose) {
	a := c.Attempt()
	served := r.kinds.followsNames()
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.Pod.JobUID() == "" {
		name := c.Pod.Labels[volcanoJob]
		switch {
		case name == "" && c.Pod.Labels[v1alpha1.LabelTimetableUID] == "":
			return a, nobodys
		case name != "":
			a.RunUID = r.jobNames[types.NamespacedName{Namespace: c.Pod.Namespace, Name: name}].uid
		}
		switch {
		case a.RunUID != "":
		case served && time.Since(c.Ended) < namedWithin:
			return a, unknown
		default:
			return a, nobodys
		}
	}
	if k := r.known[a.RunUID]; k != nil {
		k.containers.Place(&a)
	}
	return a, aRuns
}

// recordRunOf records the run of a container as active if neither the API server nor the journal has told of it: it
// went before anybody saw it. How it ended is found out then as with others that are gone.
func (r *Recorder) recordRunOf(ctx context.Context, c *ended.Container, uid types.UID) error {
	if r.isKnown(uid) {
		return nil
	}
	state := run.Run{UID: uid, Namespace: c.Pod.Namespace, Outcome: run.Active, Created: c.Started, Started: c.Started}
	switch {
	case c.Pod.JobUID() != "" && c.Pod.JobName() != "":
		state.APIVersion, state.Kind = jobKind.ToAPIVersionAndKind()
		state.Name = c.Pod.JobName()
	case uid == c.Pod.UID:
		state.APIVersion, state.Kind = podKind.ToAPIVersionAndKind()
		state.Name, state.Completions = c.Pod.Name, 1
	default:
		return nil
	}
	had, err := r.o.Past.Runs(ctx, journal.Query{UID: uid})
	if err != nil {
		return err
	}
	r.mu.Lock()
	if len(had) == 0 || had[0].Outcome == run.Unknown {
		if len(r.late) < maxPending {
			r.late[uid] = true
		}
		signal(r.look)
	}
	r.mu.Unlock()
	if len(had) > 0 || r.isKnown(uid) {
		return nil
	}
	if state.Owner, err = r.ownerByName(ctx, &state, c.Pod.Labels); err != nil {
		return err
	}
	if of := run.KindOfOwner(state.Owner); of != nil {
		if t, ok := run.TimeInName(of, state.Owner.Name, state.Name); ok {
			state.ScheduledTime, state.Trigger = t, run.Schedule
		}
	}
	err = r.o.Journal.Record(ctx, []run.Run{state}, nil)
	if err != nil && !later(ctx, err) {
		r.o.Logger.Error(err, "The journal refuses a run that went unseen", "run", state)
		return nil
	}
	return err
}

// ownerByName is the CronJob or Timetable that has made a run, as the labels of its Pod or its name tell; none if it is
// not there any more, or has not made it.
func (r *Recorder) ownerByName(ctx context.Context, state *run.Run, labels map[string]string) (run.Owner, error) {
	gvk, name, uid := timetableKind, labels[v1alpha1.LabelTimetableName], types.UID(labels[v1alpha1.LabelTimetableUID])
	if uid == "" {
		end := strings.LastIndexByte(state.Name, '-')
		if end < 1 || state.Kind != jobKind.Kind {
			return run.Owner{}, nil
		}
		gvk, name = batchv1.SchemeGroupVersion.WithKind("CronJob"), state.Name[:end]
	}
	owner := run.Owner{Name: name, UID: uid}
	owner.APIVersion, owner.Kind = gvk.ToAPIVersionAndKind()
	if of := run.KindOfOwner(owner); of == nil || name == "" {
		return run.Owner{}, nil
	} else if _, named := run.TimeInName(of, name, state.Name); !named && uid == "" {
		return run.Owner{}, nil
	}
	if uid != "" {
		return owner, nil
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(gvk)
	err := r.o.Client.Get(ctx, client.ObjectKey{Namespace: state.Namespace, Name: name}, object)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return run.Owner{}, nil
	}
	if err != nil {
		return run.Owner{}, err
	}
	owner.UID = object.UID
	return owner, nil
}

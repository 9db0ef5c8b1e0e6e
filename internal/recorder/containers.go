// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"context"
	"errors"
	"io/fs"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/api/v1alpha1"
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

// takeContainers takes containers that have ended into the journal until ctx ends. What cannot be written now stays where
// it is.
func (r *Recorder) takeContainers(ctx context.Context) {
	var wait backoff
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.o.Ended.Added():
		}
		for {
			err := r.takeAll(ctx)
			if err == nil {
				wait.reset()
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

// takeAll takes in all that is there, in the order in which the containers ended, until the journal cannot be written to.
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
	attempt, ofRun := r.attempt(&c)
	if !ofRun {
		return r.o.Ended.Remove(id)
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

// attempt reads a container as an attempt; false if it belongs to no run: its Pod was made by hand.
func (r *Recorder) attempt(c *ended.Container) (run.Attempt, bool) {
	a := c.Attempt()
	if c.Pod.JobUID() != "" {
		return a, true
	}
	if name := c.Pod.Labels[volcanoJob]; name != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		uid := r.jobNames[types.NamespacedName{Namespace: c.Pod.Namespace, Name: name}]
		if uid != "" {
			a.RunUID = uid
		}
		return a, uid != ""
	}
	return a, c.Pod.Labels[v1alpha1.LabelTimetableUID] != ""
}

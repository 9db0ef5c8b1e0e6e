// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package standalone

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// closeTimeout bounds Close where its context does not: what has not ended by then ends with the process. DrainEstimate
// adds its grace.
const closeTimeout = 5 * time.Second

// Close stops every part: controllers, Pods, node, control plane, within five seconds unless Options.DrainTimeout. It
// returns when that is done or ctx is, and then goes on by itself. Pods that end by it are recorded at the next start,
// where their restart rules apply. Calling it again waits for the first call.
func (s *Standalone) Close(ctx context.Context) error {
	s.closeOnce.Do(func() {
		go func() {
			defer close(s.closed)
			s.lifecycle.Lock()
			defer s.lifecycle.Unlock()
			if s.ended {
				return
			}
			s.ended = true
			stopCtx, cancel := context.WithTimeout(context.Background(), closeTimeout+s.options.DrainTimeout)
			defer cancel()
			s.closeErr = s.stop(stopCtx)
		}()
	})
	select {
	case <-s.closed:
		return s.closeErr
	case <-ctx.Done():
		return fmt.Errorf("standalone: still stopping: %w", context.Cause(ctx))
	}
}

// stop ends what runs, in the reverse order of dependence. The controllers end first, so that they do not take the end
// of the Pods for failures; the node keeps that to itself until the next start.
func (s *Standalone) stop(ctx context.Context) error {
	s.cancel()
	var errs []error
	if s.manager != nil {
		select {
		case err := <-s.manager:
			if err != nil {
				errs = append(errs, fmt.Errorf("stop the controllers: %w", err))
			}
		case <-ctx.Done():
			errs = append(errs, errors.New("the controllers did not stop in time"))
		}
	}
	if n := s.node.Load(); n != nil {
		if err := n.Close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop the node: %w", err))
		}
	}
	if err := s.journal.close(ctx); err != nil { // it has the end of what the node has stopped now
		errs = append(errs, err)
	}
	if s.plane != nil {
		if err := s.plane.Close(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	if s.lock != nil && s.options.Ephemeral {
		// With the lock still held: nobody else may take the directory for abandoned.
		if err := removeEphemeral(s.DataDir()); err != nil {
			errs = append(errs, fmt.Errorf("remove what the plane left: %w", err))
		}
	}
	if s.lock != nil {
		s.lock.Release()
	}
	return errors.Join(errs...)
}

// DrainEstimate says what a Close with Options.DrainTimeout will wait for: how many Pods run, and the longest of their
// grace periods within that timeout.
func (s *Standalone) DrainEstimate() (pods int, longest time.Duration) {
	if n := s.node.Load(); n != nil {
		return n.DrainEstimate()
	}
	return 0, 0
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// watch waits for the end of a container whose shim lives, a child of ours or
// one of an earlier Runtime, and makes it known.
func (r *Runtime) watch(c *container) {
	if !c.createdHere {
		r.spawn(func() { r.awaitGone(c) })
	}
	gone := c.gone
	for {
		w, err := shim.OpenWatch(c.dir)
		if err == nil {
			ended := make(chan struct{})
			var once sync.Once
			closeWatch := func() { once.Do(w.Close) }
			go func() {
				select {
				case <-r.done:
					closeWatch()
				case <-ended:
				}
			}()
			w.Wait()
			close(ended)
			closeWatch()
		}
		if r.closed() || !r.known(c) {
			return
		}
		switch exit, what := r.inspect(c); what {
		case ended:
			r.finish(c, exit)
			return
		case neverRan:
			r.lockAndUndoCreate(c)
			return
		}
		// The shim lives but does not answer: it is starting, or ending, or
		// stuck. Its lock tells when it is gone.
		select {
		case <-r.done:
			return
		case <-gone:
			gone = nil // looked at without delay once, not for ever
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// awaitExecuted makes known that a shim which an earlier Runtime left in the
// middle of its start has executed the command. It returns when that is decided
// either way, or done is closed.
func (r *Runtime) awaitExecuted(c *container, done <-chan struct{}) {
	for {
		if shim.MayHaveRun(c.dir) {
			r.mu.Lock()
			c.executed, c.startedAt = true, startTime(c)
			if s := r.sandboxes[c.rec.Sandbox]; s != nil {
				r.emit(runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT, s, c.rec.ID)
				r.refresh(s)
			}
			r.mu.Unlock()
			return
		}
		switch _, what := r.inspect(c); what {
		case ended:
			return // watch makes it known
		case neverRan:
			r.lockAndUndoCreate(c)
			return
		}
		if !r.known(c) {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-done:
			return
		case <-r.done:
			return
		}
	}
}

// startTime is when the command of a container was started, as well as that is
// known.
func startTime(c *container) int64 {
	if st, err := shim.ReadStarted(c.dir); err == nil && st.StartedAt > 0 {
		return st.StartedAt
	}
	if m, err := shim.ReadStartMark(c.dir); err == nil && m.StartedAt > 0 {
		return m.StartedAt
	}
	return c.rec.CreatedAt
}

// awaitGone closes c.gone when the shim's process has ended. It serves for
// shims that an earlier Runtime started; our own are reaped.
func (r *Runtime) awaitGone(c *container) {
	if r.awaitUnlocked(c.dir) {
		r.closeGone(c)
	}
}

// awaitUnlocked waits until the process that holds the lock of dir has ended,
// or dir was removed. It returns false when the Runtime is closed first.
func (r *Runtime) awaitUnlocked(dir string) bool {
	for {
		// Who it is may not have been written yet, and what is there be of a
		// shim before it.
		if id, err := shim.ReadIdentity(dir); err == nil && !id.Wait(r.done) {
			return false
		}
		lock, err := shim.Lock(dir)
		if err == nil {
			lock.Close()
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return true
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-r.done:
			return false
		}
	}
}

func (r *Runtime) closed() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// What became of a container.
type runState int

const (
	alive    runState = iota // its shim lives, or its lock cannot be had
	ended                    // its end is on record
	neverRan                 // it was not executed, and no shim is left that could do it
)

// inspect finds out what became of a container, writing its end when the shim died
// without.
func (r *Runtime) inspect(c *container) (shim.Exit, runState) {
	if exit, err := shim.ReadExit(c.dir); err == nil {
		return exit, ended
	}
	lock, err := shim.Lock(c.dir)
	if err != nil {
		return shim.Exit{}, alive
	}
	defer lock.Close()
	exit, ran := r.recoverEnd(c)
	if !ran {
		return exit, neverRan
	}
	return exit, ended
}

// recoverEnd decides about a container that no shim supervises: how it ended, or
// that it was never executed. The caller holds the container's lock, so a
// decision is final: what is not executed now will not be by anybody else.
func (r *Runtime) recoverEnd(c *container) (exit shim.Exit, ran bool) {
	exit, err := shim.RecoverExit(c.dir)
	switch {
	case err == nil:
		return exit, true
	case errors.Is(err, fs.ErrNotExist) && !shim.MayHaveRun(c.dir):
		return shim.Exit{}, false
	case !errors.Is(err, fs.ErrNotExist):
		r.log.Error(err, "the exit record can not be read; the container counts as lost", "container", c.rec.ID)
	}
	return r.declareLost(c), true
}

// undoCreate takes a container back that was never executed, as if it had not been
// created: the kubelet, which finds none, creates it anew, under the same
// number of attempt. Had it been left as created, or as ended, the kubelet would
// count a restart, or a failure, that was ours alone. It closes lock, the
// container's.
func (r *Runtime) undoCreate(c *container, lock *os.File) {
	defer lock.Close()
	_ = r.removeFiles(c) // logged; the next Runtime forgets it again
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unregister(c)
}

// unregister makes a container unknown. The caller holds the lock of the Runtime.
func (r *Runtime) unregister(c *container) {
	delete(r.containers, c.rec.ID)
	c.releaseImages()
	if c.state != stateExited {
		c.state = stateExited
		close(c.exited)
		if s := r.sandboxes[c.rec.Sandbox]; s != nil {
			r.refresh(s)
		}
	}
	c.closeGone()
}

// known reports whether the container was neither removed nor forgotten.
func (r *Runtime) known(c *container) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.containers[c.rec.ID] == c
}

// lockAndUndoCreate forgets a container that an earlier Runtime was starting and that was
// never executed.
func (r *Runtime) lockAndUndoCreate(c *container) {
	if lock, err := r.lockFor(c); err == nil {
		r.undoCreate(c, lock)
	}
}

func (r *Runtime) hasExited(c *container) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return c.state == stateExited
}

// finish makes the end of a container known.
func (r *Runtime) finish(c *container, exit shim.Exit) {
	if r.hasExited(c) {
		return
	}
	r.tell(c, exit)
	r.mu.Lock()
	if c.state == stateExited {
		r.mu.Unlock()
		return
	}
	c.state, c.exit = stateExited, exit
	if exit.StartedAt != 0 {
		c.startedAt = exit.StartedAt
	}
	close(c.exited)
	if s := r.sandboxes[c.rec.Sandbox]; s != nil {
		r.emit(runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT, s, c.rec.ID)
		r.repeatStopped(s, c)
	}
	r.mu.Unlock()
	r.spawn(func() {
		// The layer is in use until the shim's mounts are gone.
		select {
		case <-c.gone:
			r.removeLayer(c)
		case <-r.done: // the next Runtime does it
		}
	})
}

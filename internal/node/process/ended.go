// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// ContainerEnd is the end of a container, as Options.Ended is told.
type ContainerEnd struct {
	// ID is the container's, without the name of the runtime.
	ID                            string
	PodNamespace, PodName, PodUID string
	PodLabels                     map[string]string // not to be changed
	Container                     string
	Restart                       int       // how many containers of that name were in the Pod before
	Started, Ended                time.Time // UTC
	ExitCode                      int       // 128+n when killed by signal n
	Signal                        int       // that signal, or 0
	Reason                        string    // Completed, Error, OOMKilled, StartError, ContainerStatusUnknown
	Message                       string
	CPU                           time.Duration // 0 where nobody measured, as the next two
	MemoryPeak                    int64         // bytes; see shim.Measures for what that is without a cgroup
	OutputBytes                   int64
	LogPath                       string // the file it wrote to last; rotated ones lie beside it. "" without a log
}

// toldFile says that Options.Ended was told of the container's end and has kept
// it, so that not all that ended is told again at each start.
const toldFile = "told"

// tell tells of the end of a container before anybody else can see it. It is
// called without the lock of the Runtime, and more than once if need be.
func (r *Runtime) tell(c *container, exit shim.Exit) {
	if r.opts.Ended == nil {
		return
	}
	c.telling.Do(func() {
		told := filepath.Join(c.dir, toldFile)
		if _, err := os.Lstat(told); !errors.Is(err, fs.ErrNotExist) {
			return
		}
		end, ok := r.endOf(c, exit)
		if !ok {
			return
		}
		shim.FailPoint("end-telling")
		if err := r.opts.Ended(end); err != nil {
			r.log.V(1).Info("the end of a container was not kept; it is told again at the next start", "container", c.rec.ID, "reason", err.Error())
			return
		}
		shim.FailPoint("end-kept")
		// Not waited for: without it the same is told once more, which changes
		// nothing. With a full disk there is none.
		if f, err := os.OpenFile(told, os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			f.Close()
		}
		shim.FailPoint("end-told")
	})
}

// endOf puts together what is known of the end of a container. It is false when
// nobody knows any more which Pod it belonged to.
func (r *Runtime) endOf(c *container, exit shim.Exit) (ContainerEnd, bool) {
	r.mu.Lock()
	s := r.sandboxes[c.rec.Sandbox]
	r.mu.Unlock()
	if s == nil && c.rec.SandboxRecord != nil {
		s, _ = newSandbox(*c.rec.SandboxRecord) // nil is what an error means here
	}
	if s == nil {
		return ContainerEnd{}, false
	}
	pod, meta := s.config.GetMetadata(), c.config.GetMetadata()
	started := exit.StartedAt
	if started == 0 {
		started = startTime(c)
	}
	return ContainerEnd{
		ID: c.rec.ID, PodNamespace: pod.GetNamespace(), PodName: pod.GetName(), PodUID: pod.GetUid(), PodLabels: s.config.GetLabels(),
		Container: meta.GetName(), Restart: int(meta.GetAttempt()),
		Started: time.Unix(0, started).UTC(), Ended: time.Unix(0, exit.FinishedAt).UTC(),
		ExitCode: exit.ExitCode, Signal: exit.Signal, Reason: exit.Reason, Message: exit.Message,
		CPU: exit.CPU, MemoryPeak: exit.MemoryPeak, OutputBytes: exit.OutputBytes, LogPath: c.rec.LogPath,
	}, true
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/carillon-dev/carillon/internal/controlplane"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

// heldJournal is the directory of a journal of which this process has the sole use.
type heldJournal struct {
	path string
	dir  *privatedir.Dir
	lock *controlplane.Lock
}

// holdJournal makes the directory, readable by its owner alone, and takes the sole use of it.
func holdJournal(path string) (*heldJournal, error) {
	path, err := privatedir.Resolve(path)
	if err != nil {
		return nil, usage("--journal: %w", err)
	}
	for _, of := range []string{path, filepath.Dir(path)} {
		if of != path && datadir.Journal(of) != path {
			continue
		}
		if _, err := os.Lstat(datadir.ControlPlane(of)); err == nil {
			return nil, usage("--journal: %s is the data directory of a Carillon of this machine, which keeps its own journal there: name another directory", of)
		}
	}
	dir, err := privatedir.Make(path)
	if err != nil {
		return nil, usage("--journal: %w", err)
	}
	lock, err := controlplane.LockOpen(dir)
	var locked *controlplane.LockedError
	switch {
	case errors.As(err, &locked):
		dir.Close()
		who := "another process"
		if locked.PID > 0 {
			who = fmt.Sprintf("process %d", locked.PID)
		}
		return nil, fmt.Errorf("the journal in %s is written by %s: stop that process, or name another directory with --journal", path, who)
	case err != nil:
		dir.Close()
		return nil, fmt.Errorf("--journal: %w", err)
	}
	return &heldJournal{path: path, dir: dir, lock: lock}, nil
}

func (h *heldJournal) release() {
	h.lock.Release()
	h.dir.Close()
}

// clusterFile has the UID of the cluster whose runs the journal has.
const clusterFile = "cluster"

// of makes sure that the journal is that of the cluster with this UID at this host, or of none yet: runs that another
// one does not have would count as deleted.
func (h *heldJournal) of(uid, host string) error {
	text, err := h.dir.ReadFile(clusterFile, 1<<10)
	if errors.Is(err, fs.ErrNotExist) {
		if err = h.dir.WriteFile(clusterFile, []byte(uid+"\n")); err != nil {
			return fmt.Errorf("--journal: %w", err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("--journal: %w", err)
	}
	if was := strings.TrimSpace(string(text)); was != uid {
		return usage("--journal: the journal in %s is of another cluster than that at %s (the UID of their namespaces kube-system is %q and %q): name another directory",
			h.path, host, was, uid)
	}
	return nil
}

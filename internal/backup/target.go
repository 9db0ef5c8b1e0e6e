// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/carillon-dev/carillon/internal/controlplane"
	"github.com/carillon-dev/carillon/internal/datadir"
)

// target is the place of a restore.
type target struct {
	dir string
	// made: it was not there. state: something is kept there.
	made, state bool
	// user is the process that uses it, if somebody does: then it is not locked. Otherwise lock is ours.
	inUse bool
	user  int
	lock  *controlplane.Lock
}

// takeTarget looks at a place and locks it, if nobody else does. runs: only the history comes back.
func takeTarget(dir string, runs bool) (target, error) {
	t := target{dir: dir}
	names, err := entries(dir)
	if errors.Is(err, fs.ErrNotExist) {
		t.made = true
	} else if err != nil {
		return t, fmt.Errorf("the data directory cannot be used: %w (--data-dir names another)", err)
	}
	ours := []string{"log", "kubeconfig", placingMark, filepath.Base(datadir.ControlPlane("")), filepath.Base(datadir.Journal("")), filepath.Base(datadir.Node("")), filepath.Base(datadir.NodeName(""))}
	for _, name := range names {
		t.state = t.state || slices.Contains(ours, name)
	}
	// Before anything is made there: a mistyped name is no reason to touch a directory.
	if !t.state && len(names) > 0 {
		return t, request("%s is no data directory of Carillon, and it is not empty (%s is in it): name another with --data-dir", dir, names[0])
	}
	if runs && !t.state {
		return t, request("no Carillon keeps its state in %s, so there is no history to add to (--data-dir names another directory; without --runs everything is restored there)", dir)
	}
	t.lock, err = controlplane.LockDir(dir)
	var locked *controlplane.LockedError
	if errors.As(err, &locked) {
		t.inUse, t.user = true, locked.PID
		return t, nil
	}
	return t, err
}

// restoring tells whether there are directories of unfinished restores of dir.
func restoring(dir string) bool {
	found, err := workLeft(filepath.Dir(dir), datadir.RestorePrefix(dir))
	return err == nil && len(found) > 0
}

// entries lists what is in a directory, except for the lock and what restores have there.
func entries(dir string) ([]string, error) {
	list, err := os.ReadDir(dir)
	var names []string
	for _, e := range list {
		if e.Name() != "lock" && !strings.HasPrefix(e.Name(), datadir.RestorePrefix(dir)) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// allows tells why what is asked for cannot be done there, and what can.
func (t *target) allows(ctx context.Context, o RestoreOptions) error {
	if t.inUse && (o.Runs || restoring(t.dir)) {
		// A restore has no store there; and what came into the journal would be set aside with it.
		store, err := controlplane.ConnectStore(ctx, datadir.ControlPlane(t.dir))
		if err != nil {
			return fmt.Errorf("%s uses %s, and no store answers there: it starts or stops just now, or is another restore; try again in a moment (%w)", processText(t.user), t.dir, err)
		}
		_ = store.Close() // nothing was asked of it
	}
	if o.Runs {
		return nil
	}
	if t.inUse {
		return request("%s uses %s: its objects are left alone. To bring back only the history (runs, logs, what was missed) while it runs, add --runs; to bring back everything, stop it and restore with --replace, or restore into another directory with --data-dir", processText(t.user), t.dir)
	}
	if !t.state {
		return nil
	}
	if !o.Replace {
		return request("a Carillon keeps its state in %s. To set that aside (nothing is deleted) and restore in its place, add --replace; to bring back only the history, add --runs; to restore beside it, name another directory with --data-dir", t.dir)
	}
	alive, err := livingContainers(datadir.Containers(t.dir))
	if err != nil {
		return err
	}
	if alive > 0 {
		return fmt.Errorf("%d containers of the Carillon in %s run still, because it was killed: what they do would be done a second time. Start it once more (carillon up --data-dir %s) and stop it with Ctrl-C, which ends them", alive, t.dir, t.dir)
	}
	return nil
}

// release gives the place back; one that was made for nothing is removed.
func (t *target) release(failed bool) {
	if t.lock == nil {
		return
	}
	if t.made && failed {
		// Only if they hold nothing else.
		if names, err := os.ReadDir(t.dir); err == nil && len(names) == 1 && names[0].Name() == "lock" {
			_ = os.Remove(filepath.Join(t.dir, "lock"))
			_ = os.Remove(t.dir)
		}
	}
	t.lock.Release()
}

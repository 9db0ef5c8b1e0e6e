// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

const rootNone = shim.RootNone

// view is what the kernel allows us to show to containers.
type view struct {
	root     shim.Root // of containers that are not of RuntimeClass host
	pids     bool      // containers get a PID namespace
	user     bool      // namespaces need a user namespace
	warnings []string
	cure     string // what to do to get more, when root is RootNone
}

// findView tries the ways to build a root, the best first, with a shim that
// does everything but start a command.
func findView(_ context.Context, rootDir string) (view, error) {
	isRoot := os.Geteuid() == 0
	var tries []view
	if isRoot {
		tries = []view{{root: shim.RootOverlay, pids: true}, {root: shim.RootOverlay}}
	} else {
		tries = []view{{root: shim.RootUser, pids: true, user: true}, {root: shim.RootUser, user: true}}
	}
	var why []string
	for i, v := range tries {
		err := tryView(rootDir, v)
		if err == nil {
			if i > 0 {
				v.warnings = append(v.warnings, "containers see all processes of the machine, because the kernel gives no PID namespace: "+why[0])
			}
			return v, nil
		}
		if errIsSetup(err) {
			return view{}, err
		}
		why = append(why, err.Error())
	}
	v := view{root: shim.RootNone}
	if isRoot {
		v.cure = "overlays and mount namespaces need the capability CAP_SYS_ADMIN and the overlay filesystem (modprobe overlay); inside a container, run it privileged"
	} else {
		v.cure = "allow unprivileged user namespaces (sysctl -w user.max_user_namespaces=15000; Debian: kernel.unprivileged_userns_clone=1; Ubuntu: kernel.apparmor_restrict_unprivileged_userns=0) on Linux 5.11 or later, or run as root"
	}
	v.warnings = []string{fmt.Sprintf("containers run directly on the files of this machine and can not have volumes, because the kernel refuses to build a root for them (%s): %s", strings.Join(slices.Compact(why), "; "), v.cure)}
	return v, nil
}

// setupError is a failure that has nothing to do with the kernel.
type setupError struct{ error }

func errIsSetup(err error) bool {
	var setup setupError
	return errors.As(err, &setup)
}

func tryView(rootDir string, v view) error {
	dir, err := os.MkdirTemp(rootDir, "probe-")
	if err != nil {
		return setupError{fmt.Errorf("process runtime: %w", err)}
	}
	defer func() { _ = privatedir.RemoveTree(dir) }() // what stays is no sandbox and no container
	if err := shim.WriteSpec(dir, shim.Spec{ID: "probe", Root: v.root, Hidden: []string{filepath.Clean(rootDir)}}); err != nil {
		return setupError{fmt.Errorf("process runtime: %w", err)}
	}
	return shim.Probe(dir, shim.Namespaces{User: v.user, PID: v.pids, UTS: true})
}

// namespaces are those of a container, by its record.
func (r *Runtime) namespaces(c *container) shim.Namespaces {
	switch c.rec.Root {
	case shim.RootNone:
		return shim.Namespaces{None: true}
	case shim.RootHost:
		return shim.Namespaces{User: r.view.user}
	}
	ns := shim.Namespaces{User: r.view.user, PID: c.rec.PIDs, UTS: true}
	if c.rec.Root == shim.RootImage {
		ns.Unmapped = r.view.user
		ns.IPC = !sharesIPC(c.config)
	}
	return ns
}

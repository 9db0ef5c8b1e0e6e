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
	images   bool      // containers of images can have a root
	warnings []string
	cure     string // what to do to get more, when root is RootNone
}

// findView tries the ways to build a root, the best first, with a shim that
// does everything but start a command. Where there are no overlays, images can
// be copied and the machine's files cannot.
func findView(_ context.Context, rootDir string) (view, error) {
	isRoot := os.Geteuid() == 0
	machine := shim.RootUser
	if isRoot {
		machine = shim.RootOverlay
	}
	v, why, err := firstView(rootDir, machine, !isRoot)
	if err != nil || v.images {
		return v, err
	}
	if v, _, err = firstView(rootDir, shim.RootImage, !isRoot); err != nil {
		return v, err
	}
	v.root = shim.RootNone
	if isRoot {
		v.cure = "overlays and mount namespaces need the capability CAP_SYS_ADMIN and the overlay filesystem (modprobe overlay); inside a container, run it privileged"
	} else {
		v.cure = "allow unprivileged user namespaces (sysctl -w user.max_user_namespaces=15000; Debian: kernel.unprivileged_userns_clone=1; Ubuntu: kernel.apparmor_restrict_unprivileged_userns=0) on Linux 5.11 or later, or run as root"
	}
	who := "containers"
	if v.images {
		who = "each container of an image gets a copy of it, and those of image: host"
	}
	v.warnings = append(v.warnings, fmt.Sprintf("%s run directly on the files of this machine and can not have volumes, because the kernel refuses to build a root for them (%s): %s", who, strings.Join(slices.Compact(why), "; "), v.cure))
	return v, nil
}

// firstView is the first view with such a root that the kernel gives, or else
// none and why.
func firstView(rootDir string, root shim.Root, user bool) (v view, why []string, err error) {
	for _, pids := range []bool{true, false} {
		v := view{root: root, user: user, pids: pids, images: true}
		err := tryView(rootDir, v)
		if err == nil {
			if !pids {
				v.warnings = append(v.warnings, "containers see all processes of the machine, because the kernel gives no PID namespace: "+why[0])
			}
			return v, nil, nil
		}
		if errIsSetup(err) {
			return view{}, nil, err
		}
		why = append(why, err.Error())
	}
	return view{}, why, nil
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
	spec := shim.Spec{ID: "probe", Root: v.root, Hidden: []string{filepath.Clean(rootDir)}}
	if v.root == shim.RootImage {
		empty := filepath.Join(dir, "image")
		if err := os.Mkdir(empty, 0o755); err != nil {
			return setupError{fmt.Errorf("process runtime: %w", err)}
		}
		spec.Hidden, spec.Image = nil, &shim.Image{Lowers: []string{empty}, Own: machineUser(v.user)}
	}
	if err := shim.WriteSpec(dir, spec); err != nil {
		return setupError{fmt.Errorf("process runtime: %w", err)}
	}
	return shim.Probe(dir, shim.Namespaces{User: v.user, PID: v.pids, UTS: true, Unmapped: v.user && spec.Image != nil})
}

// machineUser is who containers of images are on the machine, when they are in
// a user namespace.
func machineUser(namespace bool) *shim.User {
	if !namespace {
		return nil
	}
	return &shim.User{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
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
		ns.IPC = !hostIPC(c.config)
	}
	return ns
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Form is how a store keeps layers. Who mounts them for a container uses the same.
type Form struct {
	// Flat is that no overlay can be mounted on the store: each image is one directory, with all its layers applied.
	Flat bool `json:"flat,omitempty"`
	// UserXattr is that overlays mark with xattrs that a user namespace may write, as an ordinary user's must.
	UserXattr bool `json:"userXattr,omitempty"`
}

func (f Form) String() string {
	switch {
	case f.Flat:
		return "flat"
	case f.UserXattr:
		return "overlay with user xattrs"
	}
	return "overlay"
}

// MountOptions are those with which overlays of the layers are mounted, besides the directories. What the kernel would
// note down of a layer to speed up or to repair others is turned off: layers are shared, and stay as they are.
func (f Form) MountOptions() string {
	if f.UserXattr {
		return "userxattr" // the others are off with it, and the kernel refuses to hear so
	}
	return "redirect_dir=off,index=off,metacopy=off"
}

// UnsupportedError says that layers cannot be applied on this machine by this user, and what helps.
type UnsupportedError struct {
	Why  error
	Cure string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("images cannot be unpacked, because the kernel gives no mount namespace of their own (%v): %s", e.Why, e.Cure)
}

// Unwrap gives the kernel's refusal.
func (e *UnsupportedError) Unwrap() error { return e.Why }

// What helps against the kernel's refusal: the words of the process runtime for the same.
const (
	cureRoot = "overlays and mount namespaces need the capability CAP_SYS_ADMIN and the overlay filesystem (modprobe overlay); inside a container, run it privileged"
	cureUser = "allow unprivileged user namespaces (sysctl -w user.max_user_namespaces=15000; Debian: kernel.unprivileged_userns_clone=1; Ubuntu: kernel.apparmor_restrict_unprivileged_userns=0) on Linux 5.11 or later, or run as root"
)

func cure() string {
	if os.Geteuid() == 0 {
		return cureRoot
	}
	return cureUser
}

// FindForm tries out how layers can be kept in store, which is a directory of ours that exists. An *UnsupportedError
// says that they cannot.
func FindForm(ctx context.Context, store string) (Form, error) {
	tries := []Form{{UserXattr: true}, {Flat: true}}
	if os.Geteuid() == 0 {
		tries = append([]Form{{}}, tries...) // in a user namespace root may have the user xattrs only
	}
	var problems []error
	for _, form := range tries {
		err := try(ctx, store, form)
		if err == nil || ctx.Err() != nil || errors.As(err, new(*UnsupportedError)) {
			return form, err
		}
		problems = append(problems, fmt.Errorf("%v: %w", form, err))
	}
	return Form{}, errors.Join(problems...)
}

// try applies layers that hide what the others have, and looks at what is left to see.
func try(ctx context.Context, store string, form Form) (err error) {
	dir, err := os.MkdirTemp(store, "tmp-probe-")
	if err != nil {
		return err
	}
	defer func() {
		if rerr := Remove(dir); err == nil {
			err = rerr
		}
	}()
	for _, name := range []string{"one", "two", "three", "work1", "work2", "work3"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	lower := filepath.Join(dir, "one")
	for _, path := range []string{"hidden/file", "opaque/old", "kept/file"} {
		if err := os.Mkdir(filepath.Join(lower, filepath.Dir(path)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(lower, path), nil, 0o644); err != nil {
			return err
		}
	}
	lowers := []string{lower}
	if form.Flat {
		lowers = nil
		if err := Copy(ctx, store, lower, filepath.Join(dir, "two")); err != nil {
			return err
		}
	}
	target := filepath.Join(dir, "two")
	r := Request{Form: form, Store: store, Target: target, Work: filepath.Join(dir, "work1"), Lowers: lowers, Compressed: strings.NewReader(probeLayer())}
	if _, err := Layer(ctx, r); err != nil {
		return err
	}
	j := job{Do: doList, Form: form, Target: target}
	if !form.Flat {
		j.Lowers, j.Target, j.Work = append([]string{target}, lowers...), filepath.Join(dir, "three"), filepath.Join(dir, "work2")
	}
	answer, err := run(ctx, store, j, nil, nil)
	if err != nil {
		return err
	}
	if want := []string{"kept", "kept/file", "opaque", "opaque/new"}; !slices.Equal(answer.Names, want) {
		return fmt.Errorf("layers on the filesystem of %s are not seen as they should be: %q instead of %q", store, answer.Names, want)
	}
	return nil
}

// unsupported makes an error of starting the process an *UnsupportedError if it is the kernel's refusal of namespaces.
func unsupported(err error) error {
	// ENOSPC is a limit of namespaces that is reached, or 0.
	for _, refusal := range []error{fs.ErrPermission, unix.ENOSPC, unix.EINVAL, unix.ENOSYS, unix.EUSERS} {
		if errors.Is(err, refusal) {
			return &UnsupportedError{Why: err, Cure: cure()}
		}
	}
	return err
}

// probeLayer hides files of a layer below, in each of the ways.
func probeLayer() string {
	var b strings.Builder
	w := tar.NewWriter(&b)
	for _, h := range []*tar.Header{
		{Name: ".wh.hidden", Typeflag: tar.TypeReg},
		{Name: "opaque/.wh..wh..opq", Typeflag: tar.TypeReg},
		{Name: "opaque/new", Typeflag: tar.TypeReg, Mode: 0o644},
	} {
		_ = w.WriteHeader(h) // a valid one, into memory
	}
	_ = w.Close()
	return b.String()
}

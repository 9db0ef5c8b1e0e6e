// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/mounts"
)

// The files of an image are a stranger's: any of its directories may be a link
// to anywhere. So nothing is mounted by a path while the machine's files are in
// sight. What the container gets of the machine is opened before the change of
// the root, as mounts that are attached nowhere, and put in its place
// afterwards, when the kernel resolves every path inside the image.

// imageRoot gives this process the files of an image for its root.
func (s *shim) imageRoot(ownPIDs bool) error {
	spec := &s.spec
	if spec.Image == nil || len(spec.Image.Lowers) == 0 {
		return errors.New("the image has no layers")
	}
	if err := privateMounts(); err != nil {
		return err
	}
	var user *User
	var home string
	if spec.Image.Own != nil {
		var err error
		if user, home, err = findInLayers(spec.Image); err != nil {
			return err
		}
		user = user.alone()
		if err := takeID(user, spec.Image.Own); err != nil {
			return err
		}
	}
	if err := mountImageVolumes(spec); err != nil {
		return err
	}
	l, err := newLayers(spec, spec.Image.Options)
	if err != nil {
		return err
	}
	if err := l.image(spec.Image); err != nil {
		return err
	}
	root, err := filepath.Abs(RootDir)
	if err != nil {
		return err
	}
	if user == nil {
		if user, home, err = spec.Image.User.find(root); err != nil {
			return err
		}
		spec.User = user
	}
	s.user = user
	if user.UID == 0 && len(spec.Image.RootSeccomp) > 0 {
		spec.Seccomp = spec.Image.RootSeccomp
	}
	if lookEnv(spec.Env, "HOME") == "" {
		spec.Env = append(spec.Env, "HOME="+home)
	}
	parts, err := openParts(spec, ownPIDs)
	defer parts.close()
	if err != nil {
		return err
	}
	if err := pivot(root); err != nil {
		return err
	}
	if err := parts.place(spec); err != nil {
		return err
	}
	if spec.Dir != "" {
		// As container runtimes do, for the user 0 of the image. What fails
		// here, the start of the command says better.
		if dir, err := resolve("/", spec.Dir); err == nil {
			_ = os.MkdirAll(dir, 0o755)
		}
	}
	if spec.ReadOnlyRoot {
		return readOnly("/", false)
	}
	return nil
}

// findInLayers finds who runs the command while this process is nobody in its
// user namespace, and can mount nothing that is to be written.
func findInLayers(image *Image) (*User, string, error) {
	if len(image.Lowers) == 1 {
		return image.User.find(image.Lowers[0])
	}
	if err := mountReadOnly(image.Lowers, RootDir, image.Options); err != nil {
		return nil, "", err
	}
	defer func() { _ = unix.Unmount(RootDir, unix.MNT_DETACH) }() // the next mount covers it anyhow
	root, err := filepath.Abs(RootDir)
	if err != nil {
		return nil, "", err
	}
	return image.User.find(root)
}

// parts are what a container gets of the machine: mounts that are attached
// nowhere, and close when nobody attaches them.
type parts struct {
	proc, sys, shm int
	cgroups        []part
	devices        map[string]part
	names          []string // of devices
	volumes        []part
}

// part is one of them; none when fd is negative.
type part struct {
	fd     int
	target string
	dir    bool
	link   string // a symbolic link in place of a mount
}

func (p *parts) close() {
	fds := []int{p.proc, p.sys, p.shm}
	for _, list := range [][]part{p.cgroups, p.volumes} {
		for _, c := range list {
			fds = append(fds, c.fd)
		}
	}
	for _, d := range p.devices {
		fds = append(fds, d.fd)
	}
	for _, fd := range fds {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// openParts opens all that the container gets of the machine.
func openParts(spec *Spec, ownPIDs bool) (*parts, error) {
	p := &parts{proc: -1, sys: -1, shm: -1, devices: map[string]part{}}
	// The youngest of the calls that all this is made of.
	if err := unix.MountSetattr(-1, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); errors.Is(err, unix.ENOSYS) {
		return p, errors.New("containers of images need Linux 5.12 or later: use image: host (or --local-files), or a container runtime with --container-runtime-endpoint")
	}
	var err error
	if p.proc, err = openProc(spec, ownPIDs); err != nil {
		return p, err
	}
	if p.sys, err = openTree("/sys", true); err != nil && !errors.Is(err, unix.ENOENT) {
		return p, err
	}
	if err := p.openCgroups(spec); err != nil {
		return p, err
	}
	switch {
	case spec.HostIPC:
		if p.shm, err = openTree("/dev/shm", true); err != nil && !errors.Is(err, unix.ENOENT) {
			return p, err
		}
	case spec.SharedMemory != "":
		if p.shm, err = openTree(spec.SharedMemory, false); err != nil {
			return p, err
		}
	}
	if p.names, err = deviceNames(spec); err != nil {
		return p, err
	}
	for _, name := range p.names {
		d, err := openDevice("/dev/" + name)
		if err != nil {
			return p, err
		}
		p.devices[name] = d
	}
	table, err := mounts.Table()
	if err != nil {
		return p, err
	}
	machine := mounts.Visible(table)
	for _, m := range byDepth(spec.Mounts) {
		v, err := openVolume(m, spec.Privileged, machine)
		if err != nil {
			return p, fmt.Errorf("volume at %s: %w", m.Target, err)
		}
		p.volumes = append(p.volumes, v)
	}
	return p, nil
}

// openTree makes a copy of the mount at path, with all that is mounted below
// when it is recursive, that is attached nowhere.
func openTree(path string, recursive bool) (int, error) {
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC)
	if recursive {
		flags |= unix.AT_RECURSIVE
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, flags)
	if err != nil {
		return -1, &os.PathError{Op: "opening for a mount", Path: path, Err: err}
	}
	return fd, nil
}

// attach puts a mount at a path that was resolved.
func attach(fd int, target string) error {
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return &os.PathError{Op: "mounting at", Path: target, Err: err}
	}
	return nil
}

// openProc makes a /proc of the container's processes, while the machine's can
// be seen: without one in sight the kernel gives no user namespace another.
func openProc(spec *Spec, ownPIDs bool) (int, error) {
	if ownPIDs {
		fd, err := newMount("proc", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
		if err == nil {
			return fd, nil
		}
		// See makeProc.
		if !errors.Is(err, unix.EPERM) || spec.PodPIDs {
			return -1, fmt.Errorf("mounting /proc: %w", err)
		}
	}
	return openTree("/proc", true)
}

// newMount makes a new filesystem that is attached nowhere.
func newMount(typ string, attr int) (int, error) {
	ctx, err := unix.Fsopen(typ, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(ctx) }()
	if err := unix.FsconfigCreate(ctx); err != nil {
		return -1, err
	}
	return unix.Fsmount(ctx, unix.FSMOUNT_CLOEXEC, attr)
}

// openCgroups opens the container's own cgroups, which take the place of the
// machine's in its /sys: seen from inside they are all there is.
func (p *parts) openCgroups(spec *Spec) error {
	if spec.Cgroup == nil || spec.Privileged || p.sys < 0 {
		return nil
	}
	table, err := mounts.Table()
	if err != nil {
		return err
	}
	for _, d := range spec.Cgroup.Dirs {
		point := ""
		for _, m := range mounts.Visible(table) {
			if (m.Type == "cgroup" || m.Type == "cgroup2") && mounts.Under(d.Path, m.Point) && len(m.Point) > len(point) {
				point = m.Point
			}
		}
		if point == "" || !mounts.Under(point, "/sys") {
			continue
		}
		fd, err := openTree(d.Path, false)
		if errors.Is(err, unix.ENOENT) {
			continue // it could not be made
		}
		if err != nil {
			return err
		}
		p.cgroups = append(p.cgroups, part{fd: fd, target: point, dir: true})
	}
	return nil
}

func openDevice(path string) (part, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return part{fd: -1}, nil // not on this machine
	}
	if info.Mode()&os.ModeSymlink != 0 {
		to, err := os.Readlink(path)
		if err != nil {
			return part{fd: -1}, nil
		}
		return part{fd: -1, link: to}, nil
	}
	fd, err := openTree(path, true)
	return part{fd: fd, dir: info.IsDir()}, err
}

// openVolume opens the source of a volume and gives it its attributes while
// nobody can reach it.
func openVolume(m Mount, privileged bool, machine []mounts.Mount) (part, error) {
	info, err := os.Stat(m.Source)
	if err != nil {
		return part{}, fmt.Errorf("its source on the machine: %w", err)
	}
	fd, err := openTree(m.Source, true)
	if err != nil {
		return part{}, err
	}
	v := part{fd: fd, target: m.Target, dir: info.IsDir()}
	if !m.Slave {
		err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Propagation: unix.MS_PRIVATE})
	}
	if err == nil && !privileged {
		err = noDevices(m.Source, "/proc/self/fd/"+strconv.Itoa(fd), machine)
	}
	if err == nil && m.ReadOnly {
		err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	}
	if err != nil {
		_ = unix.Close(fd)
	}
	return v, err
}

// place mounts the parts where they belong, in the root that is the image's by
// now.
func (p *parts) place(spec *Spec) error {
	for _, dir := range specialDirs {
		if err := makePlainDir(dir); err != nil {
			return err
		}
	}
	if err := attach(p.proc, "/proc"); err != nil {
		return err
	}
	if err := p.placeSys(spec); err != nil {
		return err
	}
	if err := makeDev(spec, "/", p.names, p.placeDevice); err != nil {
		return err
	}
	if p.shm >= 0 {
		if err := attach(p.shm, "/dev/shm"); err != nil {
			return err
		}
	}
	if err := os.Mkdir("/dev/mqueue", 0o755); err == nil && !spec.HostIPC {
		// A kernel may have none, and then nobody misses it.
		_ = unix.Mount("mqueue", "/dev/mqueue", "mqueue", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	}
	coverPaths(spec, "/")
	for _, v := range p.volumes {
		target, err := resolve("/", v.target)
		if err == nil && target == "/" {
			err = errors.New("the root of a container can not be a volume")
		}
		if err == nil {
			err = makeMountPoint(target, v.dir)
		}
		if err == nil {
			err = attach(v.fd, target)
		}
		if err != nil {
			return fmt.Errorf("volume at %s: %w", v.target, err)
		}
	}
	return nil
}

// makePlainDir makes a directory of the root that must be one: over a link, a
// mount would end up elsewhere in the image, or over its root.
func makePlainDir(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return os.Mkdir(dir, 0o755)
	case !info.IsDir():
		return fmt.Errorf("%s of the image is not a directory, so that nothing can be mounted there: use another image", dir)
	}
	return nil
}

func (p *parts) placeSys(spec *Spec) error {
	if p.sys < 0 {
		return nil
	}
	if err := attach(p.sys, "/sys"); err != nil {
		return err
	}
	for _, c := range p.cgroups {
		if err := attach(c.fd, c.target); err != nil {
			return err
		}
	}
	if spec.Privileged {
		return nil
	}
	return readOnly("/sys", true)
}

func (p *parts) placeDevice(name, target string) error {
	d := p.devices[name]
	switch {
	case d.link != "":
		return os.Symlink(d.link, target)
	case d.fd < 0:
		return nil
	}
	if err := makeMountPoint(target, d.dir); err != nil {
		return err
	}
	return attach(d.fd, target)
}

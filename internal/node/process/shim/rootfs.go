// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/image/overlay"
	"github.com/carillon-dev/carillon/internal/mounts"
)

// Directories of a container that hold its writable layer. They are relative:
// the working directory is the container's until the root changes, which keeps
// long or strange paths out of mount options.
const (
	RootDir  = "root"  // where the root is put together
	LayerDir = "layer" // upper and work directories of the overlays
)

// layers hands out upper and work directories for overlays.
type layers struct {
	dir     string // on a filesystem that can be an upper layer
	n       int
	options string   // of every overlay
	flags   uintptr  // of every mount: device nodes of a layer are of no use
	own     []string // directories that the user shall be able to write below
}

// newLayers prepares LayerDir. When the state directory lies on a filesystem
// that can not hold an upper layer (an overlay, NFS), the layers are kept in
// memory.
func newLayers(spec *Spec, options string) (*layers, error) {
	if err := os.MkdirAll(LayerDir, 0o700); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(RootDir, 0o755); err != nil {
		return nil, err
	}
	l := &layers{dir: LayerDir, options: options, flags: unix.MS_NODEV}
	if spec.Privileged {
		l.flags = 0
	}
	return l, nil
}

// inMemory moves the layers to a tmpfs, which the mount namespace takes along
// when it ends.
func (l *layers) inMemory() error {
	if err := unix.Mount("tmpfs", LayerDir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=700,"+memorySize()); err != nil {
		return fmt.Errorf("keeping the writable layer in memory: %w", err)
	}
	return nil
}

// memorySize bounds what a container may keep in memory outside its volumes, as
// an option of tmpfs: an eighth of the machine's memory, and no more than a
// gigabyte. The kernel would give each container half of it.
func memorySize() string {
	const most, part = 1 << 30, 8
	size := uint64(most)
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		size = min(size, uint64(info.Totalram)*uint64(info.Unit)/part)
	}
	return "size=" + strconv.FormatUint(size, 10)
}

// overlay mounts a writable view of lower at target. What is written goes to
// the container's layer.
func (l *layers) overlay(lower, target string) error {
	l.n++
	return l.numbered(l.n, target, lower)
}

// numbered is overlay with a number that nobody else has, over lowers, of which
// the topmost comes first.
func (l *layers) numbered(n int, target string, lowers ...string) error {
	name, lower := strconv.Itoa(n), lowers[0]
	upper, work := filepath.Join(l.dir, "u"+name), filepath.Join(l.dir, "w"+name)
	info, err := os.Stat(lower)
	if err != nil {
		return err
	}
	for _, d := range []string{upper, work} {
		if err := os.Mkdir(d, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	// The root of an overlay has the owner and mode of its upper directory.
	if st := new(unix.Stat_t); unix.Stat(lower, st) == nil {
		_ = os.Lchown(upper, int(st.Uid), int(st.Gid))
	}
	if err := os.Chmod(upper, info.Mode().Perm()|info.Mode()&(os.ModeSticky|os.ModeSetgid)); err != nil {
		return err
	}
	for _, dir := range l.own {
		if mounts.StrictlyUnder(dir, lower) {
			makeOwnPath(lower, upper, dir)
		}
	}
	m := overlay.Mount{Lowers: lowers, Upper: upper, Work: work, Flags: l.flags}
	// volatile leaves out every sync: nothing of this layer is to survive.
	for _, options := range [][]string{{l.options, "volatile"}, {l.options}} {
		m.Options = strings.Join(slices.DeleteFunc(options, func(o string) bool { return o == "" }), ",")
		if err = m.At(target); !errors.Is(err, unix.EINVAL) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("mounting an overlay over %s: %w", lower, err)
	}
	return nil
}

// makeOwnPath makes the directories from lower down to dir in the upper layer.
// Inside a user namespace the kernel can not copy up a directory of a user who
// is not mapped, and so nothing below it could be written: not even what
// belongs to us.
func makeOwnPath(lower, upper, dir string) {
	rel, err := filepath.Rel(lower, dir)
	if err != nil {
		return
	}
	for part := range strings.SplitSeq(rel, "/") {
		lower, upper = filepath.Join(lower, part), filepath.Join(upper, part)
		info, err := os.Lstat(lower)
		if err != nil || !info.IsDir() || os.Mkdir(upper, 0o755) != nil && !isDir(upper) {
			return
		}
		_ = os.Chmod(upper, info.Mode().Perm()|0o100|info.Mode()&os.ModeSticky)
	}
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// specialDirs are the directories that every container gets made new.
var specialDirs = []string{"/proc", "/sys", "/dev"}

// overlayRoot gives a process of the root user its root: an overlay over the
// machine's root filesystem, and one over each other filesystem mounted below
// it. A filesystem that can not lie under an overlay is shown read-only.
func overlayRoot(spec *Spec, ownPIDs bool) error {
	if err := privateMounts(); err != nil {
		return err
	}
	l, err := newLayers(spec, "")
	if err != nil {
		return err
	}
	if err := l.overlay("/", RootDir); err != nil {
		if merr := l.inMemory(); merr != nil {
			return errors.Join(err, merr)
		}
		if err := l.overlay("/", RootDir); err != nil {
			return err
		}
	}
	root, err := filepath.Abs(RootDir)
	if err != nil {
		return err
	}
	cow := []string{root}
	table, err := mounts.Table()
	if err != nil {
		return err
	}
	machine := mounts.Visible(table)
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	skip := append([]string{here}, specialDirs...)
	skip = append(skip, hiddenPaths(spec, machine)...)
	for _, m := range machine {
		if m.Point == "/" || underAny(m.Point, skip) || skipType(m.Type) {
			continue
		}
		target := filepath.Join(root, m.Point)
		if _, err := os.Stat(target); err != nil {
			continue // its parent is not shown
		}
		l.n++
		show := func() (bool, error) { return l.mount(m, l.n, target) }
		if remoteType(m.Type) {
			show = withRemoteTimeout(show)
		}
		writable, err := show()
		if err != nil {
			return err
		}
		if writable {
			cow = append(cow, target)
		}
	}
	return finishRoot(spec, root, ownPIDs, cow, machine)
}

// hiddenPaths are the directories to hide and every other path by which the
// mounts of the machine show them.
func hiddenPaths(spec *Spec, machine []mounts.Mount) []string {
	hidden := slices.Clone(spec.Hidden)
	for _, dir := range spec.Hidden {
		hidden = append(hidden, mounts.Aliases(machine, filepath.Clean(dir))...)
	}
	return hidden
}

// mount shows one mount of the machine, and reports whether it can be written.
func (l *layers) mount(m mounts.Mount, n int, target string) (bool, error) {
	info, err := os.Stat(m.Point)
	if err != nil {
		return false, nil // covered by a later mount, or not for us
	}
	if info.IsDir() && !readOnlyType(m.Type) && l.numbered(n, target, m.Point) == nil {
		return true, nil
	}
	// Not recursive: what is mounted below has its own turn.
	if unix.Mount(m.Point, target, "", unix.MS_BIND, "") != nil {
		return false, nil
	}
	attr := uint64(unix.MOUNT_ATTR_RDONLY)
	if l.flags&unix.MS_NODEV != 0 {
		attr |= unix.MOUNT_ATTR_NODEV
	}
	if err := restrict(target, attr, false); err != nil {
		return false, fmt.Errorf("making %s read-only: %w", target, err)
	}
	return false, nil
}

// remoteTimeout is how long a filesystem of another machine may take to
// answer before a container is started without it.
const remoteTimeout = time.Second

// withRemoteTimeout bounds f: a server that is down must not keep containers from
// starting. What answers later finds another root, and mounts nothing.
func withRemoteTimeout(f func() (bool, error)) func() (bool, error) {
	return func() (bool, error) {
		type result struct {
			ok  bool
			err error
		}
		ch := make(chan result, 1)
		go func() {
			ok, err := f()
			ch <- result{ok, err}
		}()
		timer := time.NewTimer(remoteTimeout)
		defer timer.Stop()
		select {
		case r := <-ch:
			return r.ok, r.err
		case <-timer.C:
			return false, nil
		}
	}
}

// remoteType names filesystems that may wait for somebody else.
func remoteType(typ string) bool {
	switch typ {
	case "nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "afs", "lustre", "gpfs", "beegfs":
		return true
	}
	return strings.HasPrefix(typ, "fuse")
}

// finishRoot is what all roots have in common once the machine's files are in
// place: kernel directories, hidden state, volumes, and going there. cow are
// the writable mounts that are not volumes, machine the mounts of the machine.
func finishRoot(spec *Spec, root string, ownPIDs bool, cow []string, machine []mounts.Mount) error {
	if err := kernelDirs(spec, root, ownPIDs); err != nil {
		return err
	}
	for _, d := range hiddenPaths(spec, machine) {
		target, err := resolve(root, d)
		if err != nil {
			return err
		}
		// What the machine gets there later would be seen as well. Where this root
		// can not be changed there is no more to be done.
		_ = os.MkdirAll(target, 0o755)
		if err := hide(target); err != nil {
			return err
		}
	}
	if err := bindVolumes(spec, root, machine); err != nil {
		return err
	}
	if spec.ReadOnlyRoot {
		for _, c := range cow {
			if err := readOnly(c, false); err != nil {
				return err
			}
		}
	}
	return pivot(root)
}

func underAny(path string, dirs []string) bool {
	for _, d := range dirs {
		if mounts.Under(path, filepath.Clean(d)) {
			return true
		}
	}
	return false
}

// skipType names filesystems that belong to other containers or to the kernel
// and have no place in this one.
func skipType(typ string) bool {
	switch typ {
	case "overlay", "nsfs", "autofs", "proc", "sysfs", "devtmpfs", "devpts", "mqueue",
		"cgroup", "cgroup2", "securityfs", "debugfs", "tracefs", "configfs", "pstore",
		"bpf", "efivarfs", "binfmt_misc", "hugetlbfs", "rpc_pipefs", "fusectl", "selinuxfs":
		return true
	}
	return false
}

// readOnlyType names filesystems that are read-only anyhow.
func readOnlyType(typ string) bool { return typ == "squashfs" || typ == "iso9660" || typ == "erofs" }

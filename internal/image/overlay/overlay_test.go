// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package overlay

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// envDir is set in a process that has namespaces of its own: where it may mount.
const envDir = "CARILLON_TEST_OVERLAY"

// All layers are seen, the topmost first, however many they are and whatever they are called; and what cannot be is
// said.
func TestMount(t *testing.T) {
	if os.Getenv(envDir) != "" {
		t.Skip("inside")
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.v", "-test.run=^TestInside$")
	cmd.Env = append(os.Environ(), envDir+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.ENOSPC) {
		t.Skipf("no namespaces here: %v", err)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func TestInside(t *testing.T) {
	dir := os.Getenv(envDir)
	if dir == "" {
		t.Skip("the other half of TestMount")
	}
	must(t, unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""))
	must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, ""))
	t.Chdir(dir)
	var many []string
	for i := range mostLowers + 1 {
		many = append(many, makeLayer(t, fmt.Sprintf("a-rather-long-name-of-a-layer-%d", i), i))
	}
	odd := makeLayer(t, `a,b:c\d`, -1)
	if !overlays(many[:2]) {
		t.Skip("no overlays here")
	}
	for name, lowers := range map[string][]string{
		"few": many[:3], "more than a page of names": many[:200], "more than a page of open files": many[:300],
		"as many as there can be": many[:mostLowers], "separators": {odd, many[0], many[1]},
	} {
		err := check(t, lowers, Mount.At)
		if tooMany := new(TooManyError); errors.As(err, &tooMany) && tooMany.Why != nil {
			t.Logf("%s: %v", name, err) // before Linux 6.5
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := check(t, many, Mount.At); !errors.As(err, new(*TooManyError)) {
		t.Errorf("more than there can be: %v", err)
	}
	if err := check(t, []string{many[0], "missing", odd}, Mount.At); !errors.Is(err, unix.ENOENT) {
		t.Errorf("one that is missing: %v", err)
	}
	byOpenFiles := func(m Mount, target string) error { return m.byOpenFiles(target, errOneByOne) }
	if err := check(t, slices.Concat([]string{odd}, many[:200]), byOpenFiles); err != nil {
		t.Errorf("by open files: %v", err)
	}
	if err := check(t, many[:300], byOpenFiles); !errors.As(err, new(*TooManyError)) || !errors.Is(err, errOneByOne) {
		t.Errorf("by too many open files: %v", err)
	}
}

// overlays reports whether the kernel gives any.
func overlays(lowers []string) bool {
	target := "probe"
	if os.Mkdir(target, 0o755) != nil {
		return false
	}
	err := unix.Mount("overlay", target, "overlay", 0, "lowerdir="+lowers[0]+":"+lowers[1])
	return err == nil && unix.Unmount(target, 0) == nil
}

// check mounts an overlay that can be written and looks at what is there.
func check(t *testing.T, lowers []string, mount func(Mount, string) error) error {
	t.Helper()
	top, err := os.MkdirTemp(".", "mount-")
	must(t, err)
	m := Mount{Lowers: lowers, Upper: filepath.Join(top, "upper"), Work: filepath.Join(top, "work"), Options: "userxattr", Flags: unix.MS_NODEV | unix.MS_NOSUID}
	target := filepath.Join(top, "target")
	for _, d := range []string{m.Upper, m.Work, target} {
		must(t, os.Mkdir(d, 0o755))
	}
	if err := mount(m, target); err != nil {
		return err
	}
	defer func() { must(t, unix.Unmount(target, 0)) }()
	all, err := os.ReadDir(filepath.Join(target, "all"))
	must(t, err)
	name, err := os.ReadFile(filepath.Join(target, "top"))
	must(t, err)
	if len(all) != len(lowers) || string(name) != lowers[0] {
		t.Errorf("%d of %d layers, topmost %q", len(all), len(lowers), name)
	}
	must(t, os.WriteFile(filepath.Join(target, "new"), nil, 0o600))
	if _, err := os.Stat(filepath.Join(m.Upper, "new")); err != nil {
		t.Error(err)
	}
	var st unix.Statfs_t
	must(t, unix.Statfs(target, &st))
	if st.Flags&unix.ST_NODEV == 0 || st.Flags&unix.ST_NOSUID == 0 {
		t.Errorf("mounted with the flags %x", st.Flags)
	}
	return nil
}

func makeLayer(t *testing.T, name string, number int) string {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(name, "all", fmt.Sprint(number)), 0o755))
	must(t, os.WriteFile(filepath.Join(name, "top"), []byte(name), 0o600))
	return name
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

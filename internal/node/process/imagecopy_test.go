// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// envCopies is set for tests that run where there are no overlays.
const envCopies = "CARILLON_TEST_COPIES"

// flatten makes one directory of layers, the topmost first.
func flatten(t testing.TB, layers []string) string {
	t.Helper()
	to := layer(t, nil)
	for _, from := range slices.Backward(layers) {
		if out, err := exec.Command("cp", "-a", from+"/.", to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return to
}

// Where no overlay can be mounted, on an overlay of an overlay say, each container
// of an image gets a copy of it: the tests of images themselves run once more
// there, as root and as an ordinary user.
func TestWithoutOverlays(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounts overlays")
	}
	if testing.Short() {
		t.Skip("runs the tests of images again")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const tests = "TestImage(Container|Args|Users|HostileLinks|Volumes|Rights|Pretends|StopSignal|InUse|SharedProcesses|KernelPaths|Openings|WithoutRoot|FromRegistry|ServerKilled|KillPoints|IPC|SharedProcessesUsers)$|TestCopiedImage$"
	const world = `set -e
cd "$1"
mkdir u1 w1 m1 u2 w2 m2
mount -t overlay overlay -o lowerdir=/,upperdir=u1,workdir=w1 m1
mount -t overlay overlay -o lowerdir=m1,upperdir=u2,workdir=w2 m2
for d in proc sys dev; do mount --rbind /$d m2/$d; done
mkdir -m 700 m2/tests m2/old
chown $3 m2/tests
cp "$2" m2/tests.exe
cd m2
pivot_root . old
umount -l /old
cd /tests
export TMPDIR=/tests HOME=/tests $5=1
exec setpriv --reuid=$3 --regid=$3 --clear-groups /tests.exe -test.v -test.short "-test.run=$4"`
	for _, uid := range []int{0, ordinaryUID} {
		t.Run(fmt.Sprint(uid), func(t *testing.T) {
			dir, err := os.MkdirTemp("", "copies")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", world, "sh", dir, exe, fmt.Sprint(uid), tests, envCopies)
			cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
			out, err := cmd.CombinedOutput()
			if bytes.Contains(out, []byte("overlay")) && !bytes.Contains(out, []byte("=== RUN")) {
				t.Skipf("no overlay of an overlay here: %s", out)
			}
			if err != nil || bytes.Count(out, []byte("\n--- PASS")) < 15 || !bytes.Contains(out, []byte("--- PASS: TestCopiedImage")) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// A copy is the container's: it is counted, and gone when the container has
// ended; the image stays as it is. What only an overlay could show is refused.
func TestCopiedImage(t *testing.T) {
	g, images := imageRig(t)
	if !images.flat {
		t.Skip("there are overlays here")
	}
	images.add(t, "app", probeConfig, layer(t, files{"f": "image\n", "closed/f": "x"}), probeLayer(t))
	dir := images.images["docker.io/library/app:latest"].layers[0]
	if err := os.Chmod(filepath.Join(dir, "closed"), 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(dir, "closed"), 0o755)
	images.add(t, "model", probeConfig, layer(t, files{"data/y": "y"}))
	config := probeContainer("app", "append:/f", "append:/closed/f", "cat:/f", "cat:/model/data/y", "write:/model/data/z", "wait")
	config.Mounts = []*runtimeapi.Mount{{ContainerPath: "/model", Image: &runtimeapi.ImageSpec{Image: "model"}}}
	id := g.begin(g.sandbox("p", ""), config)
	until(t, "it waits", func() bool { return strings.HasSuffix(g.output(id, "stdout"), "waiting\n") })
	lines(t, strings.Split(g.output(id, "stdout"), "\n"), "<nil>", "<nil>", "image", "run", "y", "open /model/data/z: read-only file system", "waiting", "")
	var program unix.Stat_t
	if err := unix.Stat("/proc/self/exe", &program); err != nil {
		t.Fatal(err)
	}
	stats, err := g.rt.ContainerStats(g.ctx(), &runtimeapi.ContainerStatsRequest{ContainerId: id})
	if err != nil || stats.GetStats().GetWritableLayer().GetUsedBytes().GetValue() < uint64(program.Size)/2 {
		t.Errorf("a copy of %d bytes is counted as %v (%v)", program.Size, stats.GetStats().GetWritableLayer(), err)
	}
	g.stop(id, 600)
	until(t, "the copy is gone", func() bool {
		_, err := os.Lstat(filepath.Join(g.opts.RootDir, "containers", id, shim.LayerDir))
		return os.IsNotExist(err)
	})
	if b, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(b) != "image\n" {
		t.Errorf("the image has %q (%v)", b, err)
	}

	images.flat = false
	images.add(t, "layers", probeConfig, layer(t, nil), probeLayer(t))
	id = g.create(g.sandbox("q", ""), probeContainer("layers", "id"))
	if _, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id}); err == nil || !strings.Contains(err.Error(), "--image-dir") {
		t.Errorf("an image of layers: %v", err)
	}
}

// Where an ordinary user may make no namespaces, a container of an image is
// refused with what helps, and one on the machine's files runs.
func TestWithoutNamespaces(t *testing.T) {
	if os.Getenv(envNoNamespaces) != "" {
		refusedWithoutNamespaces(t)
		return
	}
	if os.Getuid() != 0 {
		t.Skip("makes a place without namespaces")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "alone")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	// The limit is one of the user namespace in which it is set.
	const world = `set -e
chmod 755 "$1"
mkdir -m 700 "$1/tests"
chown $3 "$1/tests"
cp "$2" "$1/tests.exe"
echo 0 >/proc/sys/user/max_user_namespaces
cd "$1/tests"
export TMPDIR="$1/tests" HOME="$1/tests" $4=1
exec setpriv --reuid=$3 --regid=$3 --clear-groups "$1/tests.exe" -test.v "-test.run=^TestWithoutNamespaces$"`
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", world, "sh", dir, exe, fmt.Sprint(ordinaryUID), envNoNamespaces)
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}, {ContainerID: ordinaryUID, HostID: ordinaryUID, Size: 1}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true}
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: TestWithoutNamespaces")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// envNoNamespaces is set in such a place.
const envNoNamespaces = "CARILLON_TEST_NO_NAMESPACES"

func refusedWithoutNamespaces(t *testing.T) {
	g := stoppedRig(t)
	images := &fakeImages{dir: t.TempDir(), images: map[string]fakeImage{}}
	g.opts.Images, g.opts.LocalFiles = images, false
	g.start()
	images.add(t, "app", probeConfig, probeLayer(t))
	id := g.create(g.sandbox("p", ""), probeContainer("app", "id"))
	_, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id})
	for _, want := range []string{"docker.io/library/app:latest", "user.max_user_namespaces", "or run as root", "image: host", "--local-files"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	host := shell("echo ran")
	host.Image.Image = "host"
	id = g.begin(g.sandbox("host", ""), host)
	if st := g.wait(id); st.ExitCode != 0 || g.output(id, "stdout") != "ran\n" {
		t.Errorf("%v %q", st, g.output(id, "stdout"))
	}
}

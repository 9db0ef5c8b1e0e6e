// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// envContainerd asks for the specs to be proved against containerd.
const envContainerd = "CARILLON_CRI_CONTAINERD"

// What Carillon's runtime passes, Debian's containerd passes too, or the spec says why not. So a spec that is wrong is
// found, not only a runtime that is.
func TestContainerd(t *testing.T) {
	if os.Getenv(envContainerd) == "" {
		t.Skipf("%s=1 (make cri-containerd) starts Debian's containerd and needs root", envContainerd)
	}
	if os.Geteuid() != 0 {
		t.Fatal("containerd needs root")
	}
	e := startContainerd(t, serveImages(t, "127.0.0.1:0"))
	t.Cleanup(func() { removeCgroups(t, e.cgroupParent) })
	runSpecs(t, e)
}

// containerdConfig is for a containerd that has nothing in common with another one on this machine. It needs no network
// for Pods and no AppArmor, and takes images of docker.io from the specs' registry.
const containerdConfig = `version = 2
root = "%[1]s/root"
state = "%[1]s/state"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs", "io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "%[1]s/sock"
[ttrpc]
  address = "%[1]s/ttrpc"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "%[2]s"
  disable_apparmor = true
  restrict_oom_score_adj = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  stats_collect_period = 1
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "%[3]s"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "%[1]s/cni"
    conf_dir = "%[1]s/cni"
  [plugins."io.containerd.grpc.v1.cri".registry.mirrors."docker.io"]
    endpoint = ["%[4]s"]
`

// startContainerd installs containerd and runc if need be, and starts a containerd in a mount namespace of its own,
// with which all its mounts end.
func startContainerd(t *testing.T, images *imageServer) *endpoint {
	t.Helper()
	install(t, map[string]string{"containerd": "containerd", "runc": "runc"})
	dir, err := os.MkdirTemp("", "containerd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Never through a mount: in this namespace there is none.
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	config := filepath.Join(dir, "config.toml")
	text := fmt.Sprintf(containerdConfig, dir, images.name("pause"), snapshotter(t, dir), images.server.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	ctx, stop := context.WithCancel(context.Background())
	// What it keeps below /run whatever its configuration says ends with the mount namespace.
	const run = `mount -t tmpfs tmpfs /run && exec containerd --config "$1"`
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "--propagation", "slave", "sh", "-c", run, "sh", config)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	cmd.WaitDelay = patience
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		stop()
		<-ended
		if t.Failed() {
			if b, err := os.ReadFile(log.Name()); err == nil {
				t.Logf("the end of its log:\n%s", b[max(0, len(b)-4000):])
			}
		}
	})
	socket := filepath.Join(dir, "sock")
	for end := time.Now().Add(patience); ; {
		if _, err := os.Stat(socket); err == nil {
			break
		}
		select {
		case err := <-ended:
			ended <- err
			b, _ := os.ReadFile(log.Name())
			t.Fatalf("containerd ended: %v\n%s", err, b)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatal("containerd does not listen")
		}
	}
	e := dial(t, "unix://"+socket, "")
	e.registry, e.mirrored, e.cgroupParent = images, true, "/"+unique("carillon-specs")
	return e
}

// removeCgroups removes the cgroups of a name, which are empty by now, from all hierarchies.
func removeCgroups(t *testing.T, name string) {
	t.Helper()
	for _, pattern := range []string{"/sys/fs/cgroup" + name, "/sys/fs/cgroup/*" + name} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range found {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		}
	}
}

// install sees to it that programs are there, by the names of the Debian packages that have them.
func install(t *testing.T, packages map[string]string) {
	t.Helper()
	var missing []string
	for program, name := range packages {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return
	}
	apt := "apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends " + strings.Join(missing, " ")
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", apt).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", apt, err, out)
	}
}

// snapshotter is overlayfs where overlays can be mounted, which is not so on an overlay.
func snapshotter(t *testing.T, dir string) string {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	if st.Type == unix.OVERLAYFS_SUPER_MAGIC {
		return "native"
	}
	return "overlayfs"
}

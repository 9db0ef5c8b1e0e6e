// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// damage makes a file unreadable as a record.
func damage(t *testing.T, path, how string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	var err error
	switch how {
	case "gone":
	case "cut":
		err = os.WriteFile(path, []byte(`{"id":`), 0o600)
	case "empty":
		err = os.WriteFile(path, nil, 0o600)
	case "link":
		err = os.Symlink("/etc/passwd", path)
	case "directory":
		err = os.Mkdir(path, 0o700)
	case "foreign":
		err = os.WriteFile(path, []byte(`{"id":"`+newID()+`","sandbox":"`+newID()+`","config":{"metadata":{}}}`), 0o600)
	default:
		t.Fatalf("unknown damage %q", how)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A container that runs is the same after a restart that cannot read its
// record, or that of its sandbox: it runs on, once, and its end is known.
func TestUnreadableRecord(t *testing.T) {
	for name, tc := range map[string]struct{ container, sandbox string }{
		"container cut":        {container: "cut"},
		"container empty":      {container: "empty"},
		"container gone":       {container: "gone"},
		"container is a link":  {container: "link"},
		"another's record":     {container: "foreign"},
		"sandbox cut":          {sandbox: "cut"},
		"sandbox gone":         {sandbox: "gone"},
		"sandbox is a link":    {sandbox: "link"},
		"both":                 {container: "cut", sandbox: "empty"},
		"both are gone":        {container: "gone", sandbox: "gone"},
		"another's for both":   {container: "foreign", sandbox: "foreign"},
		"container, directory": {container: "directory", sandbox: "cut"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			sb := g.sandbox("p", "")
			id := g.begin(sb, withMount(shell(`echo run >> /x/runs; while [ ! -e /x/go ]; do sleep 0.01; done; exit 4`), dir, "/x", false))
			g.close()
			if tc.container != "" {
				damage(t, filepath.Join(g.opts.RootDir, "containers", id, containerFile), tc.container)
			}
			if tc.sandbox != "" {
				damage(t, filepath.Join(g.opts.RootDir, "sandboxes", sb, sandboxFile), tc.sandbox)
			}
			for range 2 { // the second time from the record that was written anew
				g.start()
				if st := g.status(id); st.State != runtimeapi.ContainerState_CONTAINER_RUNNING || st.Metadata.GetName() != "main" {
					t.Fatalf("%v", st)
				}
				resp, err := g.rt.PodSandboxStatus(g.ctx(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: sb})
				if err != nil || resp.Status.State != runtimeapi.PodSandboxState_SANDBOX_READY || resp.Status.Metadata.GetUid() != "uid-p" {
					t.Fatalf("its sandbox: %v %v", resp, err)
				}
				_, err = g.rt.CreateContainer(g.ctx(), &runtimeapi.CreateContainerRequest{PodSandboxId: sb, Config: shell("true")})
				if status.Code(err) != codes.AlreadyExists {
					t.Errorf("a second container: %v", err)
				}
				g.close()
			}
			g.start()
			if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if st := g.wait(id); st.ExitCode != 4 {
				t.Errorf("%v", st)
			}
			if b, _ := os.ReadFile(filepath.Join(dir, "runs")); string(b) != "run\n" {
				t.Errorf("runs: %q", b)
			}
		})
	}
}

// Where the copy is lost, too, the shim of the container is stopped before the
// next one can be created. What ran is left for somebody to look at.
func TestUnreadable(t *testing.T) {
	for _, handler := range []string{"", HandlerHost} {
		t.Run("handler "+handler, func(t *testing.T) {
			g := newRig(t)
			mark := "65432.1"
			id := g.begin(g.sandbox("p", handler), shell("exec sleep "+mark))
			dir := g.run.containers[id].dir
			until(t, "it runs", func() bool { return runsNow(mark) })
			g.close()
			damage(t, filepath.Join(dir, containerFile), "cut")
			damage(t, filepath.Join(dir, shim.StartMarkFile), "cut")
			g.start()
			if runsNow(mark) {
				t.Error("it runs on while another may be created")
			}
			if list := mustList(t, g); len(list) != 0 {
				t.Errorf("%v", list)
			}
			if _, err := os.Stat(filepath.Join(dir, shim.ExitFile)); err != nil {
				t.Errorf("what ran is not left to be looked at: %v", err)
			}
			g.wait(g.begin(g.sandbox("q", handler), shell("true")))
		})
	}
}

// What cannot be proved to be ours is not killed, whatever is written in our
// directory; and as long as it may be a container, none is created.
func TestUnreadableAndForeign(t *testing.T) {
	unidentifiedTimeout = 100 * time.Millisecond
	defer func() { unidentifiedTimeout = killSlack }()
	g := newRig(t)
	sb := g.sandbox("p", "")
	id := g.create(sb, shell("true"))
	dir := g.run.containers[id].dir
	g.close()

	victim := exec.Command("sleep", "1000")
	victim.Env = []string{"CARILLON_SHIM_DIR=" + dir, envContainer + "=" + newID()}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = victim.Wait() }()
	defer func() { _ = victim.Process.Kill() }()
	damage(t, filepath.Join(dir, containerFile), "cut")
	b, err := json.Marshal(shim.Identity{PID: victim.Process.Pid, Ticks: startTicks(t, victim.Process.Pid), BootID: shim.BootID()})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, shim.IdentityFile), b, 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := shim.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	g.start()
	if err := victim.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("a process that is not ours: %v", err)
	}
	_, err = g.rt.CreateContainer(g.ctx(), &runtimeapi.CreateContainerRequest{PodSandboxId: sb, Config: shell("true")})
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), dir) {
		t.Errorf("creating a container: %v", err)
	}
	lock.Close()
	g.wait(g.begin(sb, shell("true")))
}

func startTicks(t *testing.T, pid int) uint64 {
	t.Helper()
	stat, err := shim.ReadProcessStat(pid)
	if err != nil {
		t.Fatal(err)
	}
	return stat.StartTicks
}

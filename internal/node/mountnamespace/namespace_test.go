// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mountnamespace

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// The commands that mount something get a namespace of their own, with the data directory that they will use; those
// that must not have one never do.
func TestWanted(t *testing.T) {
	t.Setenv(datadir.Env, "/default")
	for args, want := range map[string]struct {
		dir string
		ok  bool
	}{
		"":                                      {"", false},
		"version":                               {"", false},
		"manager":                               {"", false},
		"up":                                    {"/default", true},
		"up -f x.yaml --data-dir /d":            {"/d", true},
		"up --data-dir=/d":                      {"/d", true},
		"up --data-dir /a --data-dir=/b -q":     {"/b", true},
		"--quiet up --data-dir rel":             {"rel", true},
		"up --data-dir":                         {"/default", true},
		"run -f x.yaml":                         {"", true},
		"run -f x.yaml --data-dir /d":           {"", true},
		"up --container-runtime-endpoint=x":     {"", false},
		"up --container-runtime-endpoint x":     {"", false},
		"kubectl run x --image y":               {"", false},
		"version -- up":                         {"", false},
		"up -- --container-runtime-endpoint=no": {"/default", true},
	} {
		dir, ok := needsNamespace(append([]string{"carillon"}, strings.Fields(args)...))
		if dir != want.dir || ok != want.ok {
			t.Errorf("%q: %q, %t; want %q, %t", args, dir, ok, want.dir, want.ok)
		}
	}
	if _, ok := needsNamespace(nil); ok {
		t.Error("no arguments at all")
	}
}

// TestMain plays the program: started as "up" by a test below, this binary has been through init as carillon would.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "up" {
		here, _ := current()
		directory, _ := os.Getwd()
		own, why := Entered()
		answer := state{Namespace: here, Own: own, PID: os.Getpid(), Args: os.Args, Directory: directory, MayHaveRun: os.Getenv(envEntered)}
		if why != nil {
			answer.Why = why.Error()
		}
		_ = json.NewEncoder(os.Stdout).Encode(answer)
		return
	}
	os.Exit(m.Run())
}

type state struct {
	Namespace, Directory, MayHaveRun, Why string
	Own                                   bool
	PID                                   int
	Args                                  []string
}

func startUp(t *testing.T, dataDir string, env ...string) state {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "up", "--data-dir", dataDir)
	cmd.Env = append(os.Environ(), env...)
	cmd.Dir = t.TempDir()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	var s state
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		t.Fatalf("%q: %v", &out, err)
	}
	if s.PID != cmd.Process.Pid || len(s.Args) != 4 || s.Args[3] != dataDir || s.Directory != cmd.Dir || s.MayHaveRun != "" {
		t.Errorf("the second start is another process, or with other arguments: %+v", s)
	}
	return s
}

func needMount(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 || onThread(func() error { return unix.Unshare(unix.CLONE_NEWNS) }) != nil {
		t.Skip("needs root with the right to have a mount namespace")
	}
}

// The program gets a namespace of its own with the same process ID, arguments and working directory, once, and stays
// where it is when a mark in its environment forbids it or Pods' mounts of an earlier life are here.
func TestEnter(t *testing.T) {
	needMount(t)
	machine, err := current()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if s := startUp(t, dir); !s.Own || s.Namespace == machine {
		t.Errorf("%+v", s)
	}
	if s := startUp(t, dir, envEntered+"=none"); s.Own || s.Namespace != machine || !strings.Contains(s.Why, envEntered) {
		t.Errorf("with a mark: %+v", s)
	}
	point := filepath.Join(datadir.Node(dir), "kubelet")
	if err := os.MkdirAll(point, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", point, "tmpfs", 0, "size=16k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if s := startUp(t, dir); s.Own || s.Namespace != machine || !strings.Contains(s.Why, point) {
		t.Errorf("with mounts in the machine's namespace: %+v", s)
	}
}

// A process that a record in the data directory proves to be a living shim hands on the namespace that it holds, and
// nothing else does.
func TestEnterThatOfRunningContainers(t *testing.T) {
	needMount(t)
	dir := t.TempDir()
	container := filepath.Join(datadir.Containers(dir), "c")
	if err := os.MkdirAll(container, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	// A process in a namespace of its own that holds another one open.
	var held string
	var holder *exec.Cmd
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return err
		}
		if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
			return err
		}
		var err error
		if held, err = current(); err != nil {
			return err
		}
		ns, err := os.Open("/proc/thread-self/ns/mnt")
		if err != nil {
			return err
		}
		defer ns.Close()
		holder = exec.Command("sleep", "1000")
		holder.Args[0] = "carillon-shim"
		holder.Env = []string{"CARILLON_SHIM_DIR=" + container}
		holder.ExtraFiles = []*os.File{ns}
		holder.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		return holder.Start()
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = holder.Process.Kill()
		_ = holder.Wait()
	})
	stat, err := shim.ReadProcessStat(holder.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	id := shim.Identity{PID: stat.PID, Ticks: stat.StartTicks, BootID: shim.BootID()}
	record := func(id shim.Identity) {
		data, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(container, shim.IdentityFile), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	record(id)
	if s := startUp(t, dir); !s.Own || s.Namespace != held {
		t.Errorf("%+v, want the namespace %s", s, held)
	}
	// Only if nobody else can have written the record.
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if s := startUp(t, dir); s.Namespace == held {
		t.Errorf("a record that others may have written was believed: %+v", s)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]shim.Identity{
		"another process with the same ID": {PID: id.PID, Ticks: id.Ticks + 1, BootID: id.BootID},
		"an ID of an earlier boot":         {PID: id.PID, Ticks: id.Ticks, BootID: "earlier"},
	} {
		record(other)
		if s := startUp(t, dir); !s.Own || s.Namespace == held {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// A container ends with the code of its command, and says so.
func TestExitCodes(t *testing.T) {
	g := newRig(t)
	for name, tc := range map[string]struct {
		script string
		code   int32
		reason string
	}{
		"success":             {"exit 0", 0, "Completed"},
		"failure":             {"exit 3", 3, "Error"},
		"largest":             {"exit 255", 255, "Error"},
		"killed by a signal":  {"kill -KILL $$", 137, "Error"},
		"ended by TERM":       {"kill -TERM $$", 143, "Error"},
		"aborted":             {"kill -ABRT $$", 134, "Error"},
		"not found in script": {"no-such-program", 127, "Error"},
	} {
		t.Run(name, func(t *testing.T) {
			g := g.in(t)
			st := g.wait(g.begin(g.sandbox(strings.ReplaceAll(name, " ", "-"), ""), shell(tc.script)))
			if st.ExitCode != tc.code || st.Reason != tc.reason {
				t.Errorf("code %d reason %q, want %d %q", st.ExitCode, st.Reason, tc.code, tc.reason)
			}
			if st.StartedAt < st.CreatedAt || st.FinishedAt < st.StartedAt || time.Since(time.Unix(0, st.CreatedAt)) > time.Hour {
				t.Errorf("times out of order: created %d started %d finished %d", st.CreatedAt, st.StartedAt, st.FinishedAt)
			}
			if st.ImageRef == "" || st.ImageId == "" || !filepath.IsAbs(st.LogPath) {
				t.Errorf("image ref %q, image ID %q, log path %q", st.ImageRef, st.ImageId, st.LogPath)
			}
		})
	}
}

// What can not be started ends with the code a shell would give and a message
// that says what to do.
func TestStartErrors(t *testing.T) {
	g := newRig(t)
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("echo no first line\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	interp := filepath.Join(t.TempDir(), "interp")
	if err := os.WriteFile(interp, []byte("#!/no/such/interpreter\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		edit func(*runtimeapi.ContainerConfig)
		code int32
		says []string
	}{
		"no command":        {func(c *runtimeapi.ContainerConfig) { c.Command = nil }, 128, []string{"no command", "entrypoint", "Set command:", "--local-files"}},
		"args only":         {func(c *runtimeapi.ContainerConfig) { c.Command, c.Args = nil, []string{"x"} }, 128, []string{"no command"}},
		"not in PATH":       {func(c *runtimeapi.ContainerConfig) { c.Command = []string{"no-such-program"} }, 127, []string{`"no-such-program"`, "not found in $PATH"}},
		"no such file":      {func(c *runtimeapi.ContainerConfig) { c.Command = []string{"/no/such/program"} }, 127, []string{`"/no/such/program"`, "no such file"}},
		"no interpreter":    {func(c *runtimeapi.ContainerConfig) { c.Command = []string{interp} }, 127, []string{"interpreter"}},
		"not executable":    {func(c *runtimeapi.ContainerConfig) { c.Command = []string{plain} }, 126, []string{"chmod +x"}},
		"a directory":       {func(c *runtimeapi.ContainerConfig) { c.Command = []string{"/etc"} }, 126, []string{"is a directory"}},
		"no first line":     {func(c *runtimeapi.ContainerConfig) { c.Command = []string{script} }, 126, []string{"#!/bin/sh"}},
		"empty word":        {func(c *runtimeapi.ContainerConfig) { c.Command = []string{""} }, 127, []string{"empty"}},
		"no workingDir":     {func(c *runtimeapi.ContainerConfig) { c.WorkingDir = "/no/such/dir" }, 128, []string{"workingDir", "/no/such/dir", "does not exist"}},
		"workingDir a file": {func(c *runtimeapi.ContainerConfig) { c.WorkingDir = "/etc/passwd" }, 128, []string{"workingDir", "not a directory"}},
		"volume without source": {func(c *runtimeapi.ContainerConfig) {
			c.Mounts = []*runtimeapi.Mount{{HostPath: "/no/such/source", ContainerPath: "/data"}}
		}, 128, []string{"volume at /data", "/no/such/source"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := g.in(t)
			config := shell("exit 0")
			tc.edit(config)
			id := g.create(g.sandbox(strings.ReplaceAll(name, " ", "-"), ""), config)
			_, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id})
			if err == nil {
				t.Fatal("started")
			}
			st := g.wait(id)
			if b, err := os.ReadFile(st.LogPath); err != nil || len(b) > 0 {
				t.Errorf("the log: %q %v", b, err)
			}
			if st.ExitCode != tc.code || st.Reason != "StartError" {
				t.Errorf("code %d reason %q, want %d StartError", st.ExitCode, st.Reason, tc.code)
			}
			for _, text := range tc.says {
				if !strings.Contains(st.Message, text) {
					t.Errorf("the status does not say %q: %s", text, st.Message)
				}
				if !strings.Contains(status.Convert(err).Message(), text) {
					t.Errorf("the error does not say %q: %v", text, err)
				}
			}
		})
	}
}

// The image called pause does nothing until it is stopped, in every spelling.
func TestPause(t *testing.T) {
	g := newRig(t)
	for name, image := range map[string]string{
		"short":      "pause",
		"registry":   "registry.k8s.io/pause:3.10",
		"with port":  "localhost:5000/pause",
		"and digest": "example.com/x/pause:1@sha256:" + strings.Repeat("0", 64),
	} {
		t.Run(name, func(t *testing.T) {
			g := g.in(t)
			config := shell("")
			config.Command, config.Image.Image = nil, image
			id := g.begin(g.sandbox(strings.ReplaceAll(name, " ", "-"), ""), config)
			if st := g.status(id); st.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
				t.Fatalf("state %v", st.State)
			}
			if resp := g.exec(id, "/bin/echo", "inside"); string(resp.Stdout) != "inside\n" {
				t.Errorf("exec printed %q", resp.Stdout)
			}
			g.stop(id, 30)
			if st := g.wait(id); st.ExitCode != 0 || st.Reason != "Completed" {
				t.Errorf("code %d reason %q", st.ExitCode, st.Reason)
			}
		})
	}
	for _, image := range []string{"pauses", "nopause:1", "pause/other"} {
		if isPause(image) {
			t.Errorf("%q counts as pause", image)
		}
	}
}

// Standard output and standard error reach the log in the CRI format; long
// lines come in parts, and a last line without end is a line.
func TestLog(t *testing.T) {
	g := newRig(t)
	id := g.begin(g.sandbox("p", ""), shell(`echo out; echo err >&2; head -c 40000 /dev/zero | tr '\0' x; echo; printf 'no end'`))
	st := g.wait(id)
	if got, want := g.output(id, "stderr"), "err\n"; got != want {
		t.Errorf("stderr %q, want %q", got, want)
	}
	want := "out\n" + strings.Repeat("x", 40000) + "\nno end\n"
	if got := g.output(id, "stdout"); got != want {
		t.Errorf("stdout differs: %s", cmp.Diff(want, got))
	}
	b, err := os.ReadFile(st.LogPath)
	if err != nil {
		t.Fatal(err)
	}
	partial := 0
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(line, " ", 4)
		if at, err := time.Parse(time.RFC3339Nano, f[0]); err != nil || at.UnixNano() < st.CreatedAt {
			t.Errorf("time %q: %v", f[0], err)
		}
		switch f[2] {
		case "P":
			partial++
		case "F":
		default:
			t.Errorf("tag %q", f[2])
		}
	}
	if partial != 2 {
		t.Errorf("%d partial records, want 2 of 16 KiB", partial)
	}
	if info, _ := os.Stat(st.LogPath); info.Mode().Perm()&0o007 != 0 {
		t.Errorf("the log has mode %v, others can read it", info.Mode())
	}
}

// After a rotation the log goes on in a new file at the same path.
func TestLogReopen(t *testing.T) {
	g := newRig(t)
	fifo := filepath.Join(t.TempDir(), "go")
	id := g.begin(g.sandbox("p", ""), withMount(shell(`echo before; while [ ! -e /go/on ]; do sleep 0.01; done; echo after`), filepath.Dir(fifo), "/go", true))
	path := g.status(id).LogPath
	until(t, "the first line is written", func() bool { b, _ := os.ReadFile(path); return strings.Contains(string(b), "before") })
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if _, err := g.rt.ReopenContainerLog(g.ctx(), &runtimeapi.ReopenContainerLogRequest{ContainerId: id}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("no new file when the call returned: %v", err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(fifo), "on"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	g.wait(id)
	if got := g.output(id, "stdout"); got != "after\n" {
		t.Errorf("the new file has %q", got)
	}
	_, err := g.rt.ReopenContainerLog(g.ctx(), &runtimeapi.ReopenContainerLogRequest{ContainerId: id})
	if status.Code(err) != codes.FailedPrecondition {
		t.Errorf("reopening the log of an ended container: %v", err)
	}
}

// The command gets its own environment and nothing of this program's, except
// PATH.
func TestEnvironment(t *testing.T) {
	g := newRig(t)
	t.Setenv("CARILLON_TEST_SECRET", "leaked")
	config := shell("env")
	config.Envs = []*runtimeapi.KeyValue{
		{Key: "GREETING", Value: []byte("hello\nworld")},
		{Key: "TWICE", Value: []byte("first")}, {Key: "TWICE", Value: []byte("second")},
		{Key: "HOME", Value: []byte("/elsewhere")},
		{Key: "KUBERNETES_SERVICE_HOST", Value: []byte("10.0.0.1")},
		{Key: "KUBERNETES_SERVICE_PORT", Value: []byte("443")},
		{Key: "KUBERNETES_PORT_443_TCP_ADDR", Value: []byte("10.0.0.1")},
	}
	id := g.begin(g.sandbox("mypod", ""), config)
	g.wait(id)
	out := "\n" + g.output(id, "stdout")
	for _, want := range []string{
		"GREETING=hello\nworld", "TWICE=second", "HOME=/elsewhere", "HOSTNAME=mypod", "PATH=",
		"KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=6443", "KUBERNETES_PORT=tcp://127.0.0.1:6443", "KUBERNETES_PORT_443_TCP_ADDR=127.0.0.1",
	} {
		if !strings.Contains(out, "\n"+want) {
			t.Errorf("%q is missing:%s", want, out)
		}
	}
	for _, not := range []string{"leaked", "10.0.0.1", "TWICE=first", "CARILLON_SHIM"} {
		if strings.Contains(out, not) {
			t.Errorf("%q is there:%s", not, out)
		}
	}
}

// A Pod that names another API server itself is left alone.
func TestAPIServerOfTheUser(t *testing.T) {
	set := map[string]string{"KUBERNETES_SERVICE_HOST": "example.com", "KUBERNETES_SERVICE_PORT": "443", "KUBERNETES_PORT_443_TCP_ADDR": "10.0.0.1"}
	pointToAPIServer(set, func(k, v string) { t.Errorf("%s set to %s", k, v) }, "127.0.0.1:6443")
}

// The first Pods of a fresh plane, made before the kubernetes service, find the
// API server as all others do.
func TestAPIServerWithoutItsService(t *testing.T) {
	got := map[string]string{}
	pointToAPIServer(map[string]string{}, func(k, v string) { got[k] = v }, "127.0.0.1:6443")
	if got["KUBERNETES_SERVICE_HOST"] != "127.0.0.1" || got["KUBERNETES_SERVICE_PORT"] != "6443" || got["KUBERNETES_PORT_443_TCP_ADDR"] != "127.0.0.1" {
		t.Errorf("got %v", got)
	}
}

// workingDir, arguments, host name and process IDs are as the Pod says.
func TestCommandLine(t *testing.T) {
	g := newRig(t)
	config := shell("")
	config.Command = []string{"sh", "-c"}
	config.Args = []string{`pwd; hostname; echo "$0|$1"`, "zero", "one two"}
	config.WorkingDir = "/usr"
	id := g.begin(g.sandbox("mypod", ""), config)
	g.wait(id)
	if got, want := g.output(id, "stdout"), "/usr\nmypod\nzero|one two\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A container sees its own processes only, unless the Pod shares the
// machine's.
func TestProcessNamespace(t *testing.T) {
	g := newRig(t)
	if !g.run.view.pids {
		t.Skip("this machine gives no PID namespaces")
	}
	own := g.begin(g.sandbox("own", ""), shell(`echo /proc/[0-9]* | wc -w; readlink /proc/self/ns/pid`))
	hostPID := shell(`echo /proc/[0-9]* | wc -w; readlink /proc/self/ns/pid`)
	hostPID.Linux.SecurityContext.NamespaceOptions.Pid = runtimeapi.NamespaceMode_NODE
	host := g.begin(g.sandbox("host", ""), hostPID)
	g.wait(own)
	g.wait(host)
	here, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	if out := g.output(own, "stdout"); strings.Contains(out, here) || len(strings.Fields(out)[0]) > 1 {
		t.Errorf("in its own namespace it sees %q", out)
	}
	if out := g.output(host, "stdout"); !strings.Contains(out, here) {
		t.Errorf("with hostPID it sees %q, not %s", out, here)
	}
}

// As root a container runs as the user, groups and with the capabilities that
// its security context names.
func TestSecurityContext(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can start processes as others")
	}
	g := newRig(t)
	const script = `id -u; id -g; id -G; grep -E 'CapBnd|CapEff|CapAmb|NoNewPrivs' /proc/self/status | tr -s '\t\n' '  '`
	num := func(n int64) *runtimeapi.Int64Value { return &runtimeapi.Int64Value{Value: n} }
	for name, tc := range map[string]struct {
		edit func(*runtimeapi.LinuxContainerSecurityContext)
		want string
	}{
		"nothing": {func(*runtimeapi.LinuxContainerSecurityContext) {},
			"0\n0\n0\nCapEff: 00000000a00405fb CapBnd: 00000000a00405fb CapAmb: 0000000000000000 NoNewPrivs: 0 \n"},
		"user and groups": {func(sc *runtimeapi.LinuxContainerSecurityContext) {
			sc.RunAsUser, sc.RunAsGroup, sc.SupplementalGroups = num(12345), num(23456), []int64{34567}
		}, "12345\n23456\n23456 34567\nCapEff: 0000000000000000 CapBnd: 00000000a00405fb CapAmb: 0000000000000000 NoNewPrivs: 0 \n"},
		"drop ALL add one, no new rights": {func(sc *runtimeapi.LinuxContainerSecurityContext) {
			sc.Capabilities = &runtimeapi.Capability{DropCapabilities: []string{"ALL"}, AddCapabilities: []string{"CAP_NET_ADMIN"}}
			sc.NoNewPrivs = true
		}, "0\n0\n0\nCapEff: 0000000000001000 CapBnd: 0000000000001000 CapAmb: 0000000000000000 NoNewPrivs: 1 \n"},
		"ambient": {func(sc *runtimeapi.LinuxContainerSecurityContext) {
			sc.RunAsUser, sc.RunAsGroup = num(12345), num(12345)
			sc.Capabilities = &runtimeapi.Capability{AddAmbientCapabilities: []string{"NET_BIND_SERVICE"}}
		}, "12345\n12345\n12345\nCapEff: 0000000000000400 CapBnd: 00000000a00405fb CapAmb: 0000000000000400 NoNewPrivs: 0 \n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := g.in(t)
			config := shell(script)
			tc.edit(config.Linux.SecurityContext)
			id := g.begin(g.sandbox("p-"+strings.Fields(name)[0], ""), config)
			g.wait(id)
			// Differences between kernels are in bits that nobody here sets.
			if diff := cmp.Diff(tc.want, g.output(id, "stdout")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for name, edit := range map[string]func(*runtimeapi.LinuxContainerSecurityContext){
		"negative user": func(sc *runtimeapi.LinuxContainerSecurityContext) { sc.RunAsUser = num(-1) },
		"unknown name":  func(sc *runtimeapi.LinuxContainerSecurityContext) { sc.RunAsUsername = "no-such-user" },
		"unknown capability": func(sc *runtimeapi.LinuxContainerSecurityContext) {
			sc.Capabilities = &runtimeapi.Capability{AddCapabilities: []string{"FLY"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := g.in(t)
			config := shell("true")
			edit(config.Linux.SecurityContext)
			_, err := g.rt.CreateContainer(g.ctx(), &runtimeapi.CreateContainerRequest{PodSandboxId: g.sandbox("bad-"+strings.Fields(name)[1]+name[:3], ""), Config: config})
			if status.Code(err) != codes.InvalidArgument {
				t.Errorf("%v", err)
			}
		})
	}
}

// Labels, annotations and metadata come back exactly as they were given, and
// filters choose by them.
func TestListsAndFilters(t *testing.T) {
	g := newRig(t)
	sb := g.sandbox("one", "")
	other := g.sandbox("two", "")
	config := shell("sleep 1000")
	config.Metadata.Attempt = 4
	config.Labels = map[string]string{"io.kubernetes.container.name": "main", "empty": ""}
	config.Annotations = map[string]string{"io.kubernetes.container.hash": "abc", "odd key": "ä\n"}
	id := g.begin(sb, config)
	g.begin(other, shell("sleep 1000"))

	st := g.status(id)
	if diff := cmp.Diff(config.Labels, st.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(config.Annotations, st.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(config.Metadata, st.Metadata, protocmp.Transform()); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	running := &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_RUNNING}
	exited := &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_EXITED}
	for name, tc := range map[string]struct {
		f    *runtimeapi.ContainerFilter
		want int
	}{
		"none":           {nil, 2},
		"ID prefix":      {&runtimeapi.ContainerFilter{Id: id[:12]}, 1},
		"sandbox":        {&runtimeapi.ContainerFilter{PodSandboxId: other}, 1},
		"running":        {&runtimeapi.ContainerFilter{State: running}, 2},
		"exited":         {&runtimeapi.ContainerFilter{State: exited}, 0},
		"label":          {&runtimeapi.ContainerFilter{LabelSelector: map[string]string{"io.kubernetes.container.name": "main"}}, 1},
		"empty label":    {&runtimeapi.ContainerFilter{LabelSelector: map[string]string{"empty": ""}}, 1},
		"absent label":   {&runtimeapi.ContainerFilter{LabelSelector: map[string]string{"absent": ""}}, 0},
		"all of several": {&runtimeapi.ContainerFilter{Id: id, State: running, PodSandboxId: sb}, 1},
		"contradiction":  {&runtimeapi.ContainerFilter{Id: id, PodSandboxId: other}, 0},
	} {
		resp, err := g.rt.ListContainers(g.ctx(), &runtimeapi.ListContainersRequest{Filter: tc.f})
		if err != nil || len(resp.Containers) != tc.want {
			t.Errorf("%s: %d containers, want %d (%v)", name, len(resp.GetContainers()), tc.want, err)
		}
	}
	for name, tc := range map[string]struct {
		f    *runtimeapi.PodSandboxFilter
		want int
	}{
		"none":      {nil, 2},
		"ID":        {&runtimeapi.PodSandboxFilter{Id: sb}, 1},
		"ready":     {&runtimeapi.PodSandboxFilter{State: &runtimeapi.PodSandboxStateValue{State: runtimeapi.PodSandboxState_SANDBOX_READY}}, 2},
		"not ready": {&runtimeapi.PodSandboxFilter{State: &runtimeapi.PodSandboxStateValue{State: runtimeapi.PodSandboxState_SANDBOX_NOTREADY}}, 0},
		"label":     {&runtimeapi.PodSandboxFilter{LabelSelector: map[string]string{"io.kubernetes.pod.uid": "uid-two"}}, 1},
	} {
		resp, err := g.rt.ListPodSandbox(g.ctx(), &runtimeapi.ListPodSandboxRequest{Filter: tc.f})
		if err != nil || len(resp.Items) != tc.want {
			t.Errorf("%s: %d sandboxes, want %d (%v)", name, len(resp.GetItems()), tc.want, err)
		}
	}
	resp, err := g.rt.PodSandboxStatus(g.ctx(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: sb})
	if err != nil {
		t.Fatal(err)
	}
	want := g.sandboxConfig("one", 0)
	if diff := cmp.Diff(want.Annotations, resp.Status.Annotations); diff != "" {
		t.Errorf("sandbox annotations (-want +got):\n%s", diff)
	}
	if resp.Status.Network.Ip != "127.0.0.1" || resp.Timestamp == 0 || len(resp.ContainersStatuses) != 1 {
		t.Errorf("IP %q, timestamp %d, %d containers", resp.Status.Network.Ip, resp.Timestamp, len(resp.ContainersStatuses))
	}
}

// Unknown IDs are NotFound where the caller needs to know, and nothing where
// the wish is fulfilled already.
func TestUnknownIDs(t *testing.T) {
	g := newRig(t)
	for name, call := range map[string]func() error{
		"ContainerStatus": func() error {
			_, err := g.rt.ContainerStatus(g.ctx(), &runtimeapi.ContainerStatusRequest{ContainerId: "x"})
			return err
		},
		"PodSandboxStatus": func() error {
			_, err := g.rt.PodSandboxStatus(g.ctx(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: "x"})
			return err
		},
		"StartContainer": func() error {
			_, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: "x"})
			return err
		},
		"CreateContainer": func() error {
			_, err := g.rt.CreateContainer(g.ctx(), &runtimeapi.CreateContainerRequest{PodSandboxId: "x", Config: shell("")})
			return err
		},
		"ExecSync": func() error {
			_, err := g.rt.ExecSync(g.ctx(), &runtimeapi.ExecSyncRequest{ContainerId: "x", Cmd: []string{"true"}})
			return err
		},
		"ContainerStats": func() error {
			_, err := g.rt.ContainerStats(g.ctx(), &runtimeapi.ContainerStatsRequest{ContainerId: "x"})
			return err
		},
		"PortForward": func() error {
			_, err := g.rt.PortForward(g.ctx(), &runtimeapi.PortForwardRequest{PodSandboxId: "x"})
			return err
		},
	} {
		if err := call(); status.Code(err) != codes.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, call := range map[string]func() error{
		"StopContainer": func() error {
			_, err := g.rt.StopContainer(g.ctx(), &runtimeapi.StopContainerRequest{ContainerId: "x"})
			return err
		},
		"RemoveContainer": func() error {
			_, err := g.rt.RemoveContainer(g.ctx(), &runtimeapi.RemoveContainerRequest{ContainerId: "x"})
			return err
		},
		"StopPodSandbox": func() error {
			_, err := g.rt.StopPodSandbox(g.ctx(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: "x"})
			return err
		},
		"RemovePodSandbox": func() error {
			_, err := g.rt.RemovePodSandbox(g.ctx(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: "x"})
			return err
		},
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Sandboxes that can not be had are refused with the reason.
func TestSandboxRefusals(t *testing.T) {
	g := newRig(t)
	for name, tc := range map[string]struct {
		edit    func(*runtimeapi.PodSandboxConfig)
		handler string
		says    string
	}{
		"unknown handler": {func(*runtimeapi.PodSandboxConfig) {}, "kata", `unknown runtime handler "kata"`},
		"sysctls": {func(c *runtimeapi.PodSandboxConfig) {
			c.Linux = &runtimeapi.LinuxPodSandboxConfig{Sysctls: map[string]string{"net.core.somaxconn": "1"}}
		}, "", "net.core.somaxconn"},
		"no metadata": {func(c *runtimeapi.PodSandboxConfig) { c.Metadata = nil }, "", "no name"},
	} {
		config := g.sandboxConfig("p", 0)
		tc.edit(config)
		_, err := g.rt.RunPodSandbox(g.ctx(), &runtimeapi.RunPodSandboxRequest{Config: config, RuntimeHandler: tc.handler})
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every image is there, has one ID for ever, and the user that we are.
func TestImages(t *testing.T) {
	g := newRig(t)
	status1, err := g.img.ImageStatus(g.ctx(), &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: "localhost:5000/a/b:1"}})
	if err != nil {
		t.Fatal(err)
	}
	pull, err := g.img.PullImage(g.ctx(), &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: "localhost:5000/a/b:1"}})
	if err != nil {
		t.Fatal(err)
	}
	img := status1.Image
	if img.Id == "" || pull.ImageRef != img.Id || img.Uid.GetValue() != int64(os.Getuid()) {
		t.Errorf("image %v, pulled %q", img, pull.ImageRef)
	}
	if len(img.RepoDigests) != 1 || img.RepoDigests[0] != "localhost:5000/a/b@"+img.Id {
		t.Errorf("digests %q", img.RepoDigests)
	}
	byID, err := g.img.ImageStatus(g.ctx(), &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: img.Id}})
	if err != nil || byID.Image.Id != img.Id {
		t.Errorf("by ID: %v %v", byID, err)
	}
	list, err := g.img.ListImages(g.ctx(), &runtimeapi.ListImagesRequest{})
	if err != nil || len(list.Images) != 1 || list.Images[0].RepoTags[0] != "localhost:5000/a/b:1" {
		t.Errorf("list: %v %v", list, err)
	}
	fs, err := g.img.ImageFsInfo(g.ctx(), &runtimeapi.ImageFsInfoRequest{})
	if err != nil || len(fs.ImageFilesystems) != 1 || fs.ImageFilesystems[0].UsedBytes.Value == 0 {
		t.Errorf("filesystem: %v %v", fs, err)
	}
}

// What a container uses is told while it runs.
func TestStats(t *testing.T) {
	g := newRig(t)
	sb := g.sandbox("p", "")
	id := g.begin(sb, shell("while :; do :; done"))
	until(t, "some CPU time is counted", func() bool {
		resp, err := g.rt.ContainerStats(g.ctx(), &runtimeapi.ContainerStatsRequest{ContainerId: id})
		if err != nil {
			t.Fatal(err)
		}
		return resp.Stats.GetCpu().GetUsageCoreNanoSeconds().GetValue() > 0 && resp.Stats.GetCpu().GetUsageNanoCores().GetValue() > 0 &&
			resp.Stats.GetMemory().GetWorkingSetBytes().GetValue() > 0
	})
	list, err := g.rt.ListContainerStats(g.ctx(), &runtimeapi.ListContainerStatsRequest{})
	if err != nil || len(list.Stats) != 1 {
		t.Errorf("list: %v %v", list, err)
	}
	pods, err := g.rt.ListPodSandboxStats(g.ctx(), &runtimeapi.ListPodSandboxStatsRequest{})
	if err != nil || len(pods.Stats) != 1 || pods.Stats[0].Linux.Process.ProcessCount.Value != 1 || pods.Stats[0].Linux.Cpu.UsageCoreNanoSeconds.Value == 0 {
		t.Errorf("Pods: %v %v", pods, err)
	}
}

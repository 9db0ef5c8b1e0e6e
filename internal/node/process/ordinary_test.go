// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"bytes"
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

// ordinaryUID is a user that no machine should have.
const ordinaryUID = 54321

// ordinaryGroup is one that he is in besides his own.
const ordinaryGroup = 54322

// Everything that does not need root works for an ordinary user: the tests
// themselves run once more as one.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("it is one already")
	}
	if testing.Short() {
		t.Skip("runs the tests a second time")
	}
	dir, err := os.MkdirTemp("", "carillon-ordinary-") // t.TempDir keeps others out
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(tmp, ordinaryUID, ordinaryUID); err != nil {
		t.Fatal(err)
	}
	for d := dir; d != "/"; d = filepath.Dir(d) {
		if info, err := os.Stat(d); err != nil || info.Mode().Perm()&0o001 == 0 {
			t.Skipf("others can not enter %s", d)
		}
	}
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.short",
		"-test.run=TestOrdinary|TestVolumes|TestWritesVanish|TestHidden|TestReadOnlyRoot|TestVolumeOverLink|TestExitCodes|TestStartErrors|TestLog|TestProcessNamespace|TestStop|TestNothingOutlives|TestExecSync|TestExecTerminal|TestAttach|TestCloseAndStart|TestSupervisorKilled|TestKilled$|TestKillPoints|TestNothingStays|TestKernelPaths|TestHost|TestImage")
	cmd.Dir = tmp
	cmd.Env = []string{"TMPDIR=" + tmp, "PATH=" + os.Getenv("PATH"), "HOME=" + tmp}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryUID, Gid: ordinaryUID, Groups: []uint32{ordinaryGroup}}}
	out, err := cmd.CombinedOutput()
	for line := range bytes.Lines(out) {
		if bytes.Contains(line, []byte("--- ")) || err != nil {
			t.Logf("%s", bytes.TrimRight(line, "\n"))
		}
	}
	if err != nil {
		t.Error(err)
	}
	if bytes.Count(out, []byte("--- PASS")) < 15 || bytes.Contains(out, []byte("SKIP: TestImage")) && !bytes.Contains(out, []byte("no roots here")) {
		t.Errorf("only %d tests passed", bytes.Count(out, []byte("--- PASS")))
	}
}

// An ordinary user's containers run in a user namespace, as that user, with no
// rights of their own; what needs root is refused with the reason.
func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("runs as an ordinary user")
	}
	g := newRig(t)
	if g.run.view.root == shim.RootUser {
		id := g.begin(g.sandbox("p", ""), shell(`id -u; id -g; grep CapEff /proc/self/status | tr -s '\t' ' '; mount -t tmpfs x /tmp 2>/dev/null && echo MOUNTED; true`))
		g.wait(id)
		if got, want := g.output(id, "stdout"), "54321\n54321\nCapEff: 0000000000000000\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	} else {
		t.Logf("no user namespaces here: %v", g.run.view.warnings)
	}
	num := func(n int64) *runtimeapi.Int64Value { return &runtimeapi.Int64Value{Value: n} }
	for name, edit := range map[string]func(*runtimeapi.LinuxContainerSecurityContext){
		"runAsUser":  func(sc *runtimeapi.LinuxContainerSecurityContext) { sc.RunAsUser = num(0) },
		"runAsGroup": func(sc *runtimeapi.LinuxContainerSecurityContext) { sc.RunAsGroup = num(0) },
		"fsGroup":    func(sc *runtimeapi.LinuxContainerSecurityContext) { sc.SupplementalGroups = []int64{0} },
	} {
		config := shell("true")
		edit(config.Linux.SecurityContext)
		_, err := g.rt.CreateContainer(g.ctx(), &runtimeapi.CreateContainerRequest{PodSandboxId: g.sandbox("bad"+strings.ToLower(name), ""), Config: config})
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "root") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Where the kernel allows no root of our own, containers still run, on the
// machine's files; volumes are refused with the cure, and the kubelet's own
// mounts are left out.
func TestPlain(t *testing.T) {
	g := newRig(t)
	g.run.view.root, g.run.view.pids, g.run.view.cure = shim.RootNone, false, "do this and that"
	sb := g.sandbox("p", "")
	config := withMount(shell("echo ran; pwd"), t.TempDir(), serviceAccountPath, true)
	config.WorkingDir = "/usr"
	id := g.begin(sb, config)
	if st := g.wait(id); st.ExitCode != 0 || g.output(id, "stdout") != "ran\n/usr\n" {
		t.Errorf("%v %q", st, g.output(id, "stdout"))
	}
	id = g.create(g.sandbox("q", ""), withMount(shell("true"), t.TempDir(), "/data", true))
	_, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id})
	if err == nil || !strings.Contains(err.Error(), "/data") || !strings.Contains(err.Error(), "do this and that") {
		t.Errorf("%v", err)
	}
	id = g.begin(g.sandbox("r", HandlerHost), shell(`(setsid sleep 54329.8 &) ; sleep 1000`))
	until(t, "it runs", func() bool { return runsNow("54329.8") })
	start := time.Now()
	g.stop(id, 600)
	if st := g.status(id); st.ExitCode != 143 || time.Since(start) > patience || runsNow("54329.8") {
		t.Errorf("%v", st)
	}
}

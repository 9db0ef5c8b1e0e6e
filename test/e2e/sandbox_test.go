// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A file that whoever started Carillon had open, and left open for it by
// mistake, does not reach a container.
func TestInheritedDescriptors(t *testing.T) {
	dir := filepath.Dir(newDataDir(t))
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(key, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := exec.CommandContext(t.Context(), carillon, "run", "-q", "-f", "-")
	cmd.Env = setEnv(environment(), "TMPDIR", dir)
	cmd.Stdin = strings.NewReader(shellJob{name: "list", script: "ls -l /proc/self/fd/"}.String())
	cmd.ExtraFiles = []*os.File{nil, nil, file, file} // 5 and 6: more than the shim's own
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.Contains(string(out), "/dev/null") || strings.Contains(string(out), key) {
		t.Errorf("a container has these files open:\n%s", out)
	}
}

// What the containers of a Job may do, from a manifest to the kernel: default
// capabilities and seccomp profile for who asks for nothing, what was asked
// for otherwise, and a bound on processes.
func TestContainerRights(t *testing.T) {
	type container struct{ name, security, script, want string }
	show := func(name string) string {
		return `echo ` + name + ` $(sed -n 's/^\(CapEff\|CapBnd\|CapInh\|Seccomp\):[^0-9a-f]*/\1=/p' /proc/self/status)`
	}
	containers := []container{
		{"default", "", show("default"), "default CapInh=0000000000000000 CapEff=00000000a00405fb CapBnd=00000000a00405fb Seccomp=2"},
		{"other-user", "runAsUser: 1000", show("other-user"), "other-user CapInh=0000000000000000 CapEff=0000000000000000 CapBnd=00000000a00405fb Seccomp=2"},
		{"unconfined", "seccompProfile: {type: Unconfined}", show("unconfined"), "Seccomp=0"},
		{"runtime-default", "seccompProfile: {type: RuntimeDefault}", "unshare --uts true 2>/dev/null && echo has a namespace; " + show("runtime-default"), "Seccomp=2"},
		{"dropped", "capabilities: {drop: [ALL], add: [NET_RAW]}", show("dropped"), "dropped CapInh=0000000000000000 CapEff=0000000000002000 CapBnd=0000000000002000 Seccomp=2"},
		{"device", "", "mknod /tmp/disk b 254 0 2>/dev/null && echo made a device; echo device tried", "device tried"},
		{"forks", "", "(i=0; while [ $i -lt 60 ]; do sleep 1 & i=$((i+1)); done; echo all were started) 2>/dev/null; echo forks tried", "forks tried"},
	}
	if os.Geteuid() != 0 {
		t.Skip("the rights of root's containers; ordinary users have TestOrdinaryRights beside the runtime")
	}
	var b strings.Builder
	b.WriteString("apiVersion: batch/v1\nkind: Job\nmetadata: {name: rights}\nspec:\n  backoffLimit: 0\n  template:\n    spec:\n      restartPolicy: Never\n      containers:\n")
	for _, c := range containers {
		b.WriteString("      - name: " + c.name + "\n        image: none\n        securityContext: {" + c.security + "}\n        command: [\"/bin/sh\", \"-c\"]\n        args:\n        - |\n" + indent(c.script, 10) + "\n")
	}
	t.Setenv("TMPDIR", filepath.Dir(newDataDir(t)))
	got := command(t, b.String(), "run", "-f", "-", "--pids-max", "40")
	if got.code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", got.code, got.stdout, got.stderr)
	}
	for _, c := range containers {
		if !strings.Contains(got.stdout, c.want) {
			t.Errorf("container %s did not write %q", c.name, c.want)
		}
	}
	for _, never := range []string{"has a namespace", "made a device", "all were started"} {
		if strings.Contains(got.stdout, never) {
			t.Errorf("a container %s", never)
		}
	}
	if t.Failed() {
		t.Logf("%s\n%s", got.stdout, got.stderr)
	}
}

// Containers of a Pod with shareProcessNamespace see each other's processes
// and none of the machine's, also after Carillon was killed; nothing of it
// stays.
func TestSharedProcessNamespace(t *testing.T) {
	marker := "31.4159011"
	dataDir := newDataDir(t)
	manifest := `apiVersion: batch/v1
kind: Job
metadata: {name: shared}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      shareProcessNamespace: true
      containers:
      - name: works
        image: none
        command: ["/bin/sh", "-c", "exec sleep ` + marker + `"]
      - name: looks
        image: none
        command: ["/bin/sh", "-c", "exec sleep 1000"]
`
	u := startReady(t, dataDir, "-f", write(t, manifest))
	pod := u.pod("shared", "running", func(p *corev1.Pod) bool {
		n := 0
		for _, c := range p.Status.ContainerStatuses {
			if c.State.Running != nil {
				n++
			}
		}
		return n == 2
	})
	const list = `for f in /proc/[0-9]*/cmdline; do tr '\0' ' ' <$f; echo; done 2>/dev/null; true`
	look := func(u *up) {
		t.Helper()
		var got result
		until(t, "an exec in the Pod", func() bool { // a node that has just begun does not know its Pods yet
			got = u.tryKubectl("", "exec", pod.Name, "-c", "looks", "--", "/bin/sh", "-c", list)
			return got.code == 0
		})
		if !strings.Contains(got.stdout, "sleep "+marker) || strings.Contains(got.stdout, dataDir) {
			t.Errorf("a container sees\n%s", got.stdout)
		}
	}
	look(u)
	u.kill()
	u = startReady(t, dataDir)
	look(u)
	u.kubectl("exec", pod.Name, "-c", "looks", "--", "pkill", "-f", "sleep "+marker)
	u.kubectl("delete", "job", "shared", "--grace-period=0")
	u.wantCleanStop(u.stop())
	wantNothingLeft(t, dataDir, marker)
}

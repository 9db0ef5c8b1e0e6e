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

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asStranger runs a shell script as an ordinary user.
func asStranger(t *testing.T, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-e", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("as user %d: %v\n%s", ordinary, err, out)
	}
}

// sharedDir is a directory like /tmp, in which everybody may make files.
func sharedDir(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to play somebody else")
	}
	dir := filepath.Dir(newDataDir(t))
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	return dir
}

// listing describes every file below dir, with what it holds.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		fmt.Fprintf(&text, "%s %v %d", path, info.Mode(), st.Uid)
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&text, " %q", data)
		}
		text.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// An ordinary user prepares a directory that looks like one that a killed
// "carillon run" left: its lock is a link to a file of root's, its records name
// another file and a process of root's as a container's. Root's next "carillon
// run" touches none of them.
func TestRunSweepsNothingOfOthers(t *testing.T) {
	dir := sharedDir(t)
	victims := t.TempDir()
	truncated, deleted := filepath.Join(victims, "truncated"), filepath.Join(victims, "deleted")
	for _, path := range []string{truncated, deleted} {
		if err := os.WriteFile(path, []byte("root's own"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	killed := exec.Command("sleep", "1000")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	died := make(chan error, 1)
	go func() { died <- killed.Wait() }()
	defer func() {
		_ = killed.Process.Kill()
		<-died
	}()
	evil := filepath.Join(dir, "carillon-run-evil")
	asStranger(t, fmt.Sprintf(`umask 077
c=%[1]s/node/process/containers/0123456789abcdef0123456789abcdef
mkdir -p $c %[1]s/node/process/sandboxes %[1]s/carillon-cg/0123456789abcdef0123456789abcdef
ln -s %[2]s %[1]s/lock
echo %[4]d > %[1]s/carillon-cg/0123456789abcdef0123456789abcdef/cgroup.procs
cat > $c/container.json <<END
{"id":"0123456789abcdef0123456789abcdef","sandbox":"0123456789abcdef0123456789abcdef","createdAt":1,"imageRef":"x","root":"none",
 "cgroups":["%[1]s/carillon-cg/0123456789abcdef0123456789abcdef","%[3]s"],"config":{"metadata":{"name":"x"}}}
END
echo > $c/start
touch -d '1 hour ago' %[1]s`, evil, truncated, deleted, killed.Process.Pid))
	before, mine := listing(t, evil), listing(t, victims)

	t.Setenv("TMPDIR", dir)
	got := command(t, shellJob{name: "sweeps", script: "echo ran"}.String(), "run", "-f", "-")
	if got.code != 0 || got.stdout != "ran\n" {
		t.Errorf("the run itself: %+v", got)
	}
	if after := listing(t, evil); after != before {
		t.Errorf("the directory was\n%sand is\n%s", before, after)
	}
	if after := listing(t, victims); after != mine {
		t.Errorf("root's files were\n%sand are\n%s", mine, after)
	}
	select {
	case err := <-died:
		t.Errorf("root's process ended: %v", err)
		died <- err
	default:
	}
}

// A data directory that somebody else made is refused with one line that names
// him and the cure, and nothing in it is read, followed or changed.
func TestForeignDataDirectory(t *testing.T) {
	dir := sharedDir(t)
	victims := t.TempDir()
	log := filepath.Join(victims, "log")
	if err := os.WriteFile(log, []byte("root's own"), 0o600); err != nil {
		t.Fatal(err)
	}
	data, linked := filepath.Join(dir, "data"), filepath.Join(dir, "linked")
	asStranger(t, fmt.Sprintf("mkdir -m 700 %[1]s %[1]s/log; ln -s %[2]s %[1]s/log/carillon.log; echo mine > %[1]s/ca.pem; ln -s %[3]s %[4]s", data, log, victims, linked))
	before, mine := listing(t, data), listing(t, victims)

	for _, path := range []string{data, linked} {
		got := command(t, "", "up", "--data-dir", path, "--exit-after", "1s")
		if got.code == 0 || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%s: %+v, want one line and a failure", path, got)
		}
		for _, want := range []string{path, fmt.Sprint("user ", ordinary), "--data-dir"} {
			if !strings.Contains(got.stderr, want) {
				t.Errorf("%q does not say %q", got.stderr, want)
			}
		}
	}
	got := command(t, "", "kubectl", "--data-dir", data, "get", "pods")
	if got.code == 0 {
		t.Errorf("kubectl on it: %+v", got)
	}
	if after := listing(t, data); after != before {
		t.Errorf("the directory was\n%sand is\n%s", before, after)
	}
	if after := listing(t, victims); after != mine {
		t.Errorf("root's files were\n%sand are\n%s", mine, after)
	}
}

// preciousJob is a Job that works in a directory of the user's through a
// subPath, for which the kubelet makes a bind mount in the data directory.
func preciousJob(t *testing.T, name, script string) (manifest, precious string) {
	t.Helper()
	host := filepath.Dir(newDataDir(t))
	precious = filepath.Join(host, "data", "precious")
	if err := errors.Join(os.Mkdir(filepath.Dir(precious), 0o755), os.WriteFile(precious, []byte("the user's"), 0o644)); err != nil {
		t.Fatal(err)
	}
	return shellJob{
		name: name, script: "set -e\ncat /user/precious; echo\n" + script,
		pod:    "volumes:\n- name: host\n  hostPath:\n    path: " + host,
		mounts: "- name: host\n  mountPath: /user\n  subPath: data",
	}.String(), precious
}

func wantPrecious(t *testing.T, path string) {
	t.Helper()
	if text, err := os.ReadFile(path); err != nil || string(text) != "the user's" {
		t.Errorf("the user's file on a hostPath volume: %q, %v", text, err)
	}
}

// A "carillon run" that is killed leaves no mount through which the next one,
// or the user, could remove what a hostPath volume shows; also where the path
// for temporary files has a space.
func TestSweepKeepsHostPaths(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("an ordinary user mounts nothing on the machine")
	}
	marker := "31.4159011"
	temp := filepath.Join(filepath.Dir(newDataDir(t)), "a b")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	manifest, precious := preciousJob(t, "killed", "exec sleep "+marker)
	for _, env := range []string{"", machineMounts} {
		cmd := exec.Command(carillon, "run", "-f", "-")
		cmd.Env = append(setEnv(environment(), "TMPDIR", temp), env)
		cmd.Stdin = strings.NewReader(manifest)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line := make([]byte, len("the user's\n"))
		_, err = stdout.Read(line)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if err != nil || string(line) != "the user's\n" {
			t.Fatalf("it wrote %q, %v", line, err)
		}
		until(t, "its Job to end with it", func() bool { return len(leftProcesses(marker)) == 0 })
		left, err := filepath.Glob(filepath.Join(temp, "carillon-run-*"))
		if err != nil || len(left) != 1 {
			t.Fatalf("left %q, %v", left, err)
		}
		if mounted := leftMounts(t, filepath.Base(left[0])); (len(mounted) > 0) != (env != "") {
			t.Errorf("with %q these mounts are left: %q", env, mounted)
		}
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(left[0], old, old); err != nil {
			t.Fatal(err)
		}

		t.Setenv("TMPDIR", temp)
		if got := command(t, shellJob{name: "next", script: "echo ran"}.String(), "run", "-f", "-"); got.code != 0 {
			t.Errorf("the next run: %+v", got)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("left in the directory for temporary files: %v, %v", left, err)
		}
		wantPrecious(t, precious)
		if mounted := leftMounts(t, filepath.Base(left[0])); len(mounted) > 0 {
			t.Errorf("mounted still: %q", mounted)
		}
	}
}

// machineMounts keeps the program in the machine's mount namespace, as kernels
// do that do not let it have one of its own.
const machineMounts = "CARILLON_MOUNT_NAMESPACE=none"

// After an orderly stop a data directory that was reached through a link can be
// removed, and what a hostPath volume showed is still there.
func TestRemoveAfterStop(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("an ordinary user mounts nothing on the machine")
	}
	for name, env := range map[string]string{"own mounts": "", "the machine's mounts": machineMounts} {
		t.Run(name, func(t *testing.T) {
			marker := "31.4159012"
			dir := filepath.Dir(newDataDir(t))
			link, data := filepath.Join(dir, "link"), filepath.Join(dir, "data")
			if err := errors.Join(os.Mkdir(data, 0o700), os.Symlink(data, link)); err != nil {
				t.Fatal(err)
			}
			manifest, precious := preciousJob(t, "stays", "exec sleep "+marker)
			u := startUpWith(t, nil, []string{env}, link, "-f", write(t, manifest))
			u.wait("ready", func(l line) bool { return l.Type == "step" && l.Message == "ready" })
			u.pod("stays", "running", running)
			u.wantCleanStop(u.stop())
			wantNothingLeft(t, data, marker)
			if err := os.RemoveAll(data); err != nil {
				t.Error(err)
			}
			wantPrecious(t, precious)
		})
	}
}

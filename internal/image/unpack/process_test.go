// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/mounts"
)

// patience is for what takes milliseconds on a machine that is not busy.
const patience = 20 * time.Second

// stalled is a layer of which the beginning comes, and the rest when the test ends.
func stalled(t *testing.T) (io.Reader, chan struct{}) {
	t.Helper()
	layer := layerOf(t, file("d/f", "f"), file("last", strings.Repeat("x", 1<<20)))
	r, w := io.Pipe()
	begun := make(chan struct{})
	go func() {
		_, _ = w.Write(layer[:len(layer)-4096])
		close(begun)
	}()
	t.Cleanup(func() { w.Close() })
	return r, begun
}

// helpers are the processes that unpack of a parent.
func helpers(t *testing.T, parent int) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, path := range stats {
		text, _ := os.ReadFile(path) // gone meanwhile
		if strings.Contains(string(text), "("+procName+") ") && strings.Contains(string(text), " "+strconv.Itoa(parent)+" ") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			found = append(found, pid)
		}
	}
	return found
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// A layer that is being applied can be stopped at any time: by its process's death, or because nobody wants it any
// more. Then there is an error at once, and nothing but files in the two directories, without a mount.
func TestStopped(t *testing.T) {
	for name, stop := range map[string]func(t *testing.T, cancel func()){
		"killed": func(t *testing.T, _ func()) {
			for _, pid := range helpers(t, os.Getpid()) {
				if err := unix.Kill(pid, unix.SIGKILL); err != nil {
					t.Error(err)
				}
			}
		},
		"cancelled": func(_ *testing.T, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			g := single(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			lower := g.mkdir()
			r := Request{Form: g.form, Store: g.store, Target: g.mkdir(), Work: g.mkdir(), Lowers: []string{lower}}
			if g.form.Flat {
				r.Lowers = nil
			}
			input, begun := stalled(t)
			r.Compressed = input
			ended := make(chan error, 1)
			go func() {
				_, err := Layer(ctx, r)
				ended <- err
			}()
			<-begun
			until(t, "the process works", func() bool {
				_, err := os.Stat(filepath.Join(r.Target, "d/f"))
				return err == nil
			})
			stop(t, cancel)
			select {
			case err := <-ended:
				if name == "cancelled" && !errors.Is(err, context.Canceled) || err == nil {
					t.Errorf("got %v", err)
				}
			case <-time.After(patience):
				t.Fatal("it goes on")
			}
			if left := helpers(t, os.Getpid()); len(left) > 0 {
				t.Errorf("processes %v are left", left)
			}
			if points, err := mounts.Below(g.store); err != nil || len(points) > 0 {
				t.Errorf("mounted: %v %v", points, err)
			}
			if left, err := os.ReadDir(g.store); err != nil || len(left) != 3 {
				t.Errorf("left %v %v", left, err)
			}
			for _, path := range []string{r.Target, r.Work} {
				if err := Remove(path); err != nil {
					t.Error(err)
				}
			}
			if left, err := os.ReadDir(lower); err != nil || len(left) > 0 {
				t.Errorf("the layer below has %v, %v", left, err)
			}
		})
	}
}

// When this program is killed, the process ends, and until it has, it holds what it was given to hold.
func TestOwnerKilled(t *testing.T) {
	if store := os.Getenv("UNPACK_OWNED"); store != "" {
		form, err := bestForm()
		if err != nil {
			t.Fatal(err)
		}
		g := &rig{t: t, store: store, form: form}
		lock, err := os.Create(filepath.Join(store, "lock"))
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		never, _, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_, _, _ = g.single(never, func(r *Request) { r.Held = []*os.File{lock} })
		return
	}
	mustForm(t)
	store := newStore(t)
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestOwnerKilled$")
	cmd.Env = append(os.Environ(), "UNPACK_OWNED="+store)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	until(t, "it runs", func() bool {
		pids = helpers(t, cmd.Process.Pid)
		return len(pids) == 1 && fileExists(filepath.Join(store, "lock"))
	})
	lock, err := os.Open(filepath.Join(store, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	until(t, "the lock is free", func() bool { return unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil })
	until(t, "the process is gone", func() bool { return !strings.Contains(commOf(pids[0]), procName) })
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func commOf(pid int) string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm") // "" when it is gone
	return string(text)
}

// The name alone makes no program a process that unpacks.
func TestMarked(t *testing.T) {
	if os.Args[0] == procName {
		t.Skip("this is what it is without the other half of the mark")
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{procName, "-test.run=^TestMarked$", "-test.v"}
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- SKIP")) {
		t.Errorf("with arguments: %v\n%s", err, out)
	}
	cmd = exec.Command("/proc/self/exe")
	cmd.Args, cmd.Env = []string{procName}, []string{"UNPACK_MARKED=1"}
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("an ordinary program")) {
		t.Errorf("without pipes: %v\n%s", err, out)
	}
}

func TestMain(m *testing.M) {
	if os.Getenv("UNPACK_MARKED") != "" {
		fmt.Println("an ordinary program")
		return
	}
	os.Exit(m.Run())
}

// What the process does not need it may not do.
func TestConfined(t *testing.T) {
	if os.Getenv("UNPACK_CONFINED") == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestConfined$")
		cmd.Env = append(os.Environ(), "UNPACK_CONFINED=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("has no capabilities to give up; the filter is the same")
	}
	if err := confine(); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("/proc/self/exe", "-test.run=none").Run(); err == nil {
		t.Error("programs can be started")
	}
	if _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("a socket: %v", err)
	}
	if err := unix.Kill(os.Getppid(), 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("a signal: %v", err)
	}
	if err := unix.Mount("tmpfs", t.TempDir(), "tmpfs", 0, ""); !errors.Is(err, unix.EPERM) {
		t.Errorf("a mount: %v", err)
	}
	text, err := os.ReadFile("/proc/self/status")
	if err != nil || !strings.Contains(string(text), "CapEff:\t000000008000001f") || !strings.Contains(string(text), "NoNewPrivs:\t1") {
		t.Errorf("%v\n%s", err, text)
	}
}

// Where a store is on an overlay, as in most containers, images are kept whole. In a mount namespace of its own, so
// that the machine sees nothing of it.
func TestOnOverlay(t *testing.T) {
	if dir := os.Getenv("UNPACK_OVERLAY"); dir != "" {
		if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
			t.Fatal(err)
		}
		options := "lowerdir=" + dir + "/lower,upperdir=" + dir + "/upper,workdir=" + dir + "/work"
		if err := unix.Mount("overlay", dir+"/merged", "overlay", 0, options); err != nil {
			t.Fatal(err)
		}
		if form, err := FindForm(t.Context(), dir+"/merged"); err != nil || !form.Flat {
			t.Errorf("got %v, %v", form, err)
		}
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root to make the overlay")
	}
	dir := newStore(t)
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestOnOverlay$")
	cmd.Env = append(os.Environ(), "UNPACK_OVERLAY="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Where the kernel gives no namespaces, that is said, with what helps. In a user namespace of its own, whose limit does
// not touch the machine's.
func TestWithoutNamespaces(t *testing.T) {
	if dir := os.Getenv("UNPACK_REFUSED"); dir != "" {
		if os.Geteuid() == 0 {
			if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile("/proc/sys/user/max_mnt_namespaces", []byte("0"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, err := FindForm(t.Context(), dir)
		if refused := new(*UnsupportedError); !errors.As(err, refused) || (*refused).Cure != cure() || !strings.Contains(err.Error(), cure()) {
			t.Errorf("got %v", err)
		}
		if os.Geteuid() == 0 && os.Getenv("UNPACK_REFUSED_USER") == "" {
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestWithoutNamespaces$")
			cmd.Env = append(os.Environ(), "UNPACK_REFUSED_USER=1")
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1, Gid: 1, NoSetGroups: true}}
			if err := os.Chown(dir, 1, 1); err != nil {
				t.Fatal(err)
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("as an ordinary user: %v\n%s", err, out)
			}
		}
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root to limit namespaces")
	}
	store := newStore(t)
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestWithoutNamespaces$")
	cmd.Env = append(os.Environ(), "UNPACK_REFUSED="+store)
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 2}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// ordinaryUID is a user that no machine should have.
const ordinaryUID = 54321

// Everything works for an ordinary user: the tests themselves run once more as one.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
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
	if err := os.Chown(dir, ordinaryUID, ordinaryUID); err != nil {
		t.Fatal(err)
	}
	for d := filepath.Dir(dir); d != "/"; d = filepath.Dir(d) {
		if info, err := os.Stat(d); err != nil || info.Mode().Perm()&0o001 == 0 {
			t.Skipf("others can not enter %s", d)
		}
	}
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.short")
	cmd.Dir = dir
	cmd.Env = []string{"TMPDIR=" + dir, "PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryUID, Gid: ordinaryUID}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, notPassed(out))
	}
	if n := bytes.Count(out, []byte("--- PASS")); n < 50 {
		t.Errorf("only %d tests passed", n)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v %v", left, err)
	}
}

// notPassed is what tests said but for those that passed, so that a failure is not the last of a thousand lines.
func notPassed(out []byte) string {
	var kept []string
	for line := range strings.Lines(string(out)) {
		if text := strings.TrimSpace(line); !strings.HasPrefix(text, "=== ") && !strings.HasPrefix(text, "--- PASS") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// A layer can be the last of many, more than a page has room for.
func TestManyLayers(t *testing.T) {
	g := single(t)
	if g.form.Flat {
		t.Skip("images are one directory here")
	}
	var lowers []string
	for range 400 {
		lowers = append(lowers, g.mkdir())
	}
	for _, d := range []string{lowers[0], lowers[399]} {
		if err := os.WriteFile(filepath.Join(d, filepath.Base(d)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	target := g.mkdir()
	r := Request{Form: g.form, Store: g.store, Target: target, Work: g.mkdir(), Lowers: lowers}
	r.Compressed = bytes.NewReader(layerOf(t, file(".wh."+filepath.Base(lowers[399]), ""), file("new", "")))
	_, err := Layer(g.ctx(), r)
	if errors.Is(err, ErrArchive) && strings.Contains(err.Error(), "use Linux 6.5 or later") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, line := range g.view(append([]string{target}, lowers...)) {
		names = append(names, strings.Fields(line)[0])
	}
	if all := strings.Join(names, " "); !strings.Contains(all, filepath.Base(lowers[0])) || strings.Contains(all, filepath.Base(lowers[399])) || !strings.Contains(all, "new") {
		t.Errorf("%q", names)
	}
	r.Lowers, r.Target, r.Work = append(lowers, make([]string, 101)...), g.mkdir(), g.mkdir()
	for i := range 101 {
		r.Lowers[400+i] = lowers[i]
	}
	if _, err := Layer(g.ctx(), r); !errors.Is(err, ErrArchive) || !strings.Contains(err.Error(), "501 layers") {
		t.Errorf("more than there can be: %v", err)
	}
}

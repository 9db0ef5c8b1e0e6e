// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// What is written is read back, and a broken record is an error with nothing
// in it.
func TestExitRecord(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadExit(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no record: %v", err)
	}
	want := Exit{ExitCode: 137, Signal: 9, StartedAt: 1, FinishedAt: 2, Reason: ReasonError, Message: "m\n"}
	if err := WriteExit(dir, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadExit(dir)
	if err != nil || got != want {
		t.Errorf("%v %s", err, cmp.Diff(want, got))
	}
	for name, text := range map[string]string{
		"empty":      ``,
		"cut":        `{"exitCode":1,"finis`,
		"two":        `{"exitCode":1,"finishedAt":1,"reason":"x"} {}`,
		"negative":   `{"exitCode":-1,"finishedAt":1,"reason":"x"}`,
		"too large":  `{"exitCode":256,"finishedAt":1,"reason":"x"}`,
		"no end":     `{"exitCode":1,"reason":"x"}`,
		"no reason":  `{"exitCode":1,"finishedAt":1}`,
		"wrong type": `{"exitCode":"1","finishedAt":1,"reason":"x"}`,
		"array":      `[]`,
	} {
		if e, err := ParseExit([]byte(text)); err == nil || e != (Exit{}) {
			t.Errorf("%s: %+v %v", name, e, err)
		}
	}
}

// No input makes the readers panic; what they accept is within its bounds and
// survives being written again.
func FuzzParseExit(f *testing.F) {
	f.Add([]byte(`{"exitCode":137,"signal":9,"startedAt":1,"finishedAt":2,"reason":"Error","message":"x"}`))
	f.Add([]byte(`{"exitCode":-1}`))
	f.Add([]byte(`{}{}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := ParseExit(b)
		if err != nil {
			if e != (Exit{}) {
				t.Errorf("an error with %+v", e)
			}
			return
		}
		if e.ExitCode < 0 || e.ExitCode > 255 || e.FinishedAt <= 0 || e.Reason == "" {
			t.Errorf("accepted %+v", e)
		}
		again, err := ParseExit(mustJSON(e))
		if err != nil || again != e {
			t.Errorf("%+v became %+v (%v)", e, again, err)
		}
	})
}

// The other files of a container's directory are read or refused, too.
func FuzzParseOthers(f *testing.F) {
	f.Add([]byte(`{"pid":1,"startedAt":2}`))
	f.Add([]byte(`["/run/x/y","/run/x"]`))
	f.Add([]byte(`["..","/../x",""]`))
	f.Add([]byte(`{"id":"x","args":["true"],"root":"overlay","user":{"uid":1},"cgroup":{"dirs":[{"path":"/x"}]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = parseStarted(b)
		if s, err := parseSpec(b); err == nil && s.Builtin == "" && len(s.Args) == 0 {
			t.Error("accepted a spec that runs nothing")
		}
		if made, err := parseMountPoints(b); err == nil {
			for _, path := range made {
				if path == "/" || !filepath.IsAbs(path) || filepath.Clean(path) != path {
					t.Errorf("accepted the mount point %q", path)
				}
			}
		}
	})
}

func FuzzParseIdentity(f *testing.F) {
	f.Add([]byte(`{"pid":1,"ticks":2,"bootID":"x"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if id, err := ParseIdentity(b); err == nil && id.PID <= 0 {
			t.Errorf("accepted %+v", id)
		}
	})
}

// A process is told from another with the same number by its start time, and
// a zombie counts as gone.
func TestIdentity(t *testing.T) {
	me, err := ownIdentity()
	if err != nil {
		t.Fatal(err)
	}
	if me.PID != os.Getpid() || !me.Alive() {
		t.Errorf("%+v is not alive", me)
	}
	other := me
	other.Ticks++
	if other.Alive() {
		t.Error("another start time counts as the same process")
	}
	other = me
	other.BootID = "another boot"
	if other.Alive() {
		t.Error("another boot counts as the same process")
	}
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stat, err := ReadProcessStat(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	child := Identity{PID: stat.PID, Ticks: stat.StartTicks, BootID: BootID()}
	if !child.Alive() {
		t.Error("a living child is gone")
	}
	_ = cmd.Process.Kill()
	var info unix.Siginfo
	// Wait without reaping: it is a zombie then.
	if err := unix.Waitid(unix.P_PID, stat.PID, &info, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	if child.Alive() {
		t.Error("a zombie is alive")
	}
	_ = cmd.Wait()
	if child.Alive() {
		t.Error("the dead is alive")
	}
}

// The lock of a container is held by one at a time.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	first, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(dir); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("a second: %v", err)
	}
	first.Close()
	second, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
}

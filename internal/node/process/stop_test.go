// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// A command without a handler for TERM ends by it at once, as it would in a
// shell, although it runs in a PID namespace.
func TestStopDefault(t *testing.T) {
	g := newRig(t)
	for _, handler := range []string{"", HandlerHost} {
		id := g.begin(g.sandbox("p"+handler, handler), &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, Image: &runtimeapi.ImageSpec{Image: "x"}, Command: []string{"sleep", "1000"},
		})
		g.stop(id, 600)
		if st := g.status(id); st.ExitCode != 143 || st.State != runtimeapi.ContainerState_CONTAINER_EXITED {
			t.Errorf("handler %q: state %v code %d", handler, st.State, st.ExitCode)
		}
		g.stop(id, 600) // twice is no error
	}
}

// A command that handles TERM has its time to end, and its own exit code.
func TestStopHandled(t *testing.T) {
	g := newRig(t)
	id := g.begin(g.sandbox("p", ""), shell(`trap 'echo ending; exit 7' TERM; echo ready; while :; do sleep 0.01; done`))
	until(t, "the handler is set", func() bool { return g.output(id, "stdout") == "ready\n" })
	g.stop(id, 600)
	if st := g.status(id); st.ExitCode != 7 || g.output(id, "stdout") != "ready\nending\n" {
		t.Errorf("code %d, log %q", st.ExitCode, g.output(id, "stdout"))
	}
}

// A command that ignores TERM is killed when its time is over, not before, and
// an earlier end counts when a second stop brings one.
func TestStopIgnored(t *testing.T) {
	g := newRig(t)
	id := g.begin(g.sandbox("p", ""), shell(`trap '' TERM; echo ready; while :; do sleep 0.01; done`))
	until(t, "the signal is ignored", func() bool { return g.output(id, "stdout") == "ready\n" })
	start := time.Now()
	g.stop(id, 1)
	if took := time.Since(start); took < time.Second {
		t.Errorf("killed after %v, before its second was over", took)
	}
	if st := g.status(id); st.ExitCode != 137 {
		t.Errorf("code %d", st.ExitCode)
	}

	id = g.begin(g.sandbox("q", ""), shell(`trap '' TERM; echo ready; while :; do sleep 0.01; done`))
	until(t, "the signal is ignored", func() bool { return g.output(id, "stdout") == "ready\n" })
	first := make(chan struct{})
	go func() {
		defer close(first)
		_, _ = g.rt.StopContainer(g.ctx(), &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: 600})
	}()
	g.stop(id, 0)
	<-first
}

// lifecycle.stopSignal replaces TERM.
func TestStopSignal(t *testing.T) {
	g := newRig(t)
	config := shell(`trap 'exit 9' USR1; echo ready; while :; do sleep 0.01; done`)
	config.StopSignal = runtimeapi.Signal_SIGUSR1
	id := g.begin(g.sandbox("p", ""), config)
	until(t, "the handler is set", func() bool { return g.output(id, "stdout") == "ready\n" })
	g.stop(id, 600)
	if st := g.status(id); st.ExitCode != 9 {
		t.Errorf("code %d", st.ExitCode)
	}
	for s, want := range map[runtimeapi.Signal]unix.Signal{
		runtimeapi.Signal_RUNTIME_DEFAULT: unix.SIGTERM, runtimeapi.Signal_SIGKILL: unix.SIGKILL, runtimeapi.Signal_SIGCLD: unix.SIGCHLD,
		runtimeapi.Signal_SIGRTMIN: 34, runtimeapi.Signal_SIGRTMAX: 64, 1000: unix.SIGTERM,
	} {
		if got := stopSignal(s); got != want {
			t.Errorf("%v is %d, want %d", s, got, want)
		}
	}
}

// Whatever the command started is gone when the container has ended: children
// that became daemons, too, with and without a PID namespace.
func TestNothingOutlives(t *testing.T) {
	g := newRig(t)
	// Double fork, new session, closed files: a proper daemon.
	const daemon = `(setsid sh -c 'exec >/dev/null 2>&1 </dev/null; exec sleep 98765.%s' &) ; sleep 0.05; echo started; %s`
	for name, tc := range map[string]struct{ handler, end string }{
		"ends by itself":          {"", "exit 0"},
		"is stopped":              {"", "sleep 1000"},
		"host, ends":              {HandlerHost, "exit 0"},
		"host, is stopped":        {HandlerHost, "sleep 1000"},
		"the PIDs of the machine": {"", "sleep 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			g := g.in(t)
			mark := strings.Map(func(r rune) rune {
				if r >= 'a' && r <= 'z' {
					return '0' + (r-'a')%10
				}
				return -1
			}, name)
			script := strings.Replace(strings.Replace(daemon, "%s", mark, 1), "%s", tc.end, 1)
			config := shell(script)
			if strings.HasPrefix(name, "the PIDs") {
				config.Linux.SecurityContext.NamespaceOptions.Pid = runtimeapi.NamespaceMode_NODE
			}
			id := g.begin(g.sandbox("p"+mark, tc.handler), config)
			until(t, "the daemon runs", func() bool { return strings.Contains(g.output(id, "stdout"), "started") })
			if tc.end != "exit 0" {
				if !runsNow("98765." + mark) {
					t.Fatal("the daemon does not run")
				}
				g.stop(id, 0)
			}
			g.wait(id)
			if runsNow("98765." + mark) {
				t.Error("the daemon lives on")
			}
		})
	}
}

// runsNow reports whether a process has a word in its command line.
func runsNow(word string) bool {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	for _, e := range entries {
		b, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && strings.Contains(string(b), "\x00"+word+"\x00") {
			return true
		}
	}
	return false
}

// A command that keeps forking can not outrun the killing.
func TestForkingTree(t *testing.T) {
	g := newRig(t)
	for _, handler := range []string{"", HandlerHost} {
		id := g.begin(g.sandbox("p"+handler, handler), shell(`trap '' TERM; n() { while :; do (setsid sleep 87654.3 &); sleep 0.002; done; }; n & n & echo ready; wait`))
		until(t, "it forks", func() bool { return runsNow("87654.3") })
		g.stop(id, 0)
		if runsNow("87654.3") {
			t.Errorf("handler %q: processes are left", handler)
		}
	}
}

// A signal sent to the shim from outside reaches the command, as with any
// supervisor; from inside, process 1 passes it on, too.
func TestSignalsArePassedOn(t *testing.T) {
	g := newRig(t)
	id := g.begin(g.sandbox("p", ""), shell(`trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done`))
	until(t, "the handler is set", func() bool { return g.output(id, "stdout") == "ready\n" })
	ident, err := shim.ReadIdentity(g.run.containers[id].dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(ident.PID, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if st := g.wait(id); st.ExitCode != 5 {
		t.Errorf("code %d", st.ExitCode)
	}
	if g.run.view.pids {
		id = g.begin(g.sandbox("q", ""), shell(`kill -KILL 1; kill -TERM 1; sleep 1000`))
		if st := g.wait(id); st.ExitCode != 143 {
			t.Errorf("code %d", st.ExitCode)
		}
	}
}

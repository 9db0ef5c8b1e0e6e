// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// states are the states of the processes of a container, one letter each.
func (g *rig) states(id string) string {
	g.t.Helper()
	who, err := shim.ReadIdentity(g.run.containers[id].dir)
	if err != nil {
		g.t.Fatal(err)
	}
	var all strings.Builder
	for _, pid := range shim.ProcessTree().Descendants(who.PID) {
		if stat, err := shim.ReadProcessStat(pid); err == nil {
			all.WriteByte(stat.State)
		}
	}
	return all.String()
}

// stoppedAll tells whether none runs: one may be waiting for a child that was
// stopped before it became another program (vfork), and one may have ended.
func stoppedAll(states string) bool {
	return strings.Contains(states, "T") && strings.Trim(states, "TZD") == ""
}

// Pause stops every process of every container, those that fork all the time
// too, and Resume lets them go on. A paused container can be killed.
func TestPauseAndResume(t *testing.T) {
	g := newRig(t)
	sb := g.sandbox("p", "")
	forks := g.begin(sb, named("forks", shell(`(while :; do /bin/true; done) & echo ready; while :; do (sleep 0.01); done`)))
	sleeps := g.begin(g.sandbox("q", HandlerHost), named("sleeps", shell(`echo ready; sleep 1000`)))
	for _, id := range []string{forks, sleeps} {
		until(t, "it is ready", func() bool { return g.output(id, "stdout") == "ready\n" })
	}
	g.run.Pause()
	for _, id := range []string{forks, sleeps} {
		until(t, "it is stopped", func() bool { return stoppedAll(g.states(id)) })
	}
	g.run.Resume()
	for _, id := range []string{forks, sleeps} {
		until(t, "it goes on", func() bool { return !strings.Contains(g.states(id), "T") })
	}
	g.run.Pause()
	if _, err := g.rt.StopContainer(g.ctx(), &runtimeapi.StopContainerRequest{ContainerId: forks, Timeout: 1}); err != nil {
		t.Error(err)
	}
	if st := g.wait(forks); st.ExitCode != 137 {
		t.Errorf("killed while it was paused: %+v", st)
	}
}

// Containers that were paused go on when their Runtime is closed, and when one
// that was killed is followed by the next.
func TestPauseEnds(t *testing.T) {
	g := newRig(t)
	id := g.begin(g.sandbox("p", ""), shell(`echo ready; sleep 1000`))
	until(t, "it is ready", func() bool { return g.output(id, "stdout") == "ready\n" })
	g.run.Pause()
	until(t, "it is stopped", func() bool { return stoppedAll(g.states(id)) })
	running := g.run
	g.close()
	g.run = running
	until(t, "it goes on", func() bool { return !strings.Contains(g.states(id), "T") })

	g.start()
	signalContainers([]*container{g.run.containers[id]}, unix.SIGSTOP) // of which this Runtime knows nothing
	until(t, "it is stopped", func() bool { return stoppedAll(g.states(id)) })
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := g.run.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if !stoppedAll(g.states(id)) {
		t.Fatal("it goes on without anybody's doing")
	}
	g.conn.Close()
	g.start()
	until(t, "it goes on", func() bool { return !strings.Contains(g.states(id), "T") })
}

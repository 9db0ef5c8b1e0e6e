// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// listener keeps what is told of ends.
type listener struct {
	mu   sync.Mutex
	ends map[string][]ContainerEnd
	fail error
}

func (l *listener) ended(e ContainerEnd) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ends == nil {
		l.ends = map[string][]ContainerEnd{}
	}
	l.ends[e.ID] = append(l.ends[e.ID], e)
	return l.fail
}

func (l *listener) of(id string) []ContainerEnd {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ends[id]
}

// only is the one end that was told of a container.
func (l *listener) only(t *testing.T, id string) ContainerEnd {
	t.Helper()
	ends := l.of(id)
	if len(ends) != 1 {
		t.Fatalf("told %d times: %+v", len(ends), ends)
	}
	return ends[0]
}

// listeningRig is a rig whose Runtime tells of ends.
func listeningRig(t *testing.T) (*rig, *listener) {
	t.Helper()
	g, l := stoppedRig(t), &listener{}
	g.opts.Ended = l.ended
	g.start()
	return g, l
}

// An end is told once, with what was used, before anybody sees it and while the log is there.
func TestEndIsTold(t *testing.T) {
	const burn = `i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; `
	for name, tc := range map[string]struct {
		handler      string
		config       *runtimeapi.ContainerConfig
		code, signal int
		reason       string
		output       int64
		stop         bool
	}{
		"well":           {"", shell(burn + `echo hello; printf abc >&2`), 0, 0, shim.ReasonCompleted, 9, false},
		"badly":          {"", shell(burn + `exit 3`), 3, 0, shim.ReasonError, 0, false},
		"host":           {HandlerHost, shell(burn + `echo x; exit 3`), 3, 0, shim.ReasonError, 2, false},
		"by a signal":    {"", shell(burn + `kill -KILL $$`), 137, 9, shim.ReasonError, 0, false},
		"stopped":        {"", shell(burn + `echo up; sleep 1000`), 143, 15, shim.ReasonError, 3, true},
		"much output":    {"", shell(burn + `dd if=/dev/zero bs=1000 count=3000 2>/dev/null`), 0, 0, shim.ReasonCompleted, 3000000, false},
		"no log":         {"", without(shell(burn + `echo hello`)), 0, 0, shim.ReasonCompleted, 6, false},
		"what it leaves": {HandlerHost, shell(`(` + burn + `) & wait; echo x`), 0, 0, shim.ReasonCompleted, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := stoppedRig(t)
			l := &listener{}
			g.opts.Ended = func(e ContainerEnd) error {
				g.run.mu.Lock()
				c := g.run.containers[e.ID]
				g.run.mu.Unlock()
				if c == nil || g.run.hasExited(c) {
					t.Error("it was to be seen before it was told")
				}
				if e.LogPath != "" {
					if _, err := os.Stat(e.LogPath); err != nil {
						t.Error(err)
					}
				}
				return l.ended(e)
			}
			g.start()
			tc.config.Metadata.Attempt = 2
			before := time.Now().Add(-time.Second)
			id := g.begin(g.sandbox("p", tc.handler), tc.config)
			if tc.stop {
				until(t, "it runs", func() bool { return g.output(id, "stdout") == "up\n" })
				g.stop(id, 10)
			}
			st := g.wait(id)
			e := l.only(t, id)
			if e.ExitCode != tc.code || e.Signal != tc.signal || e.Reason != tc.reason || e.OutputBytes != tc.output {
				t.Errorf("got %+v", e)
			}
			if e.CPU <= 0 || e.CPU > time.Minute || e.MemoryPeak < 100<<10 || e.MemoryPeak > 1<<30 {
				t.Errorf("CPU %v, memory %d", e.CPU, e.MemoryPeak)
			}
			if e.ID != id || e.PodName != "p" || e.PodNamespace != "default" || e.PodUID != "uid-p" || e.Container != "main" || e.Restart != 2 ||
				e.PodLabels["io.kubernetes.pod.uid"] != "uid-p" || e.LogPath != st.LogPath {
				t.Errorf("whose: %+v", e)
			}
			if e.Started.UnixNano() != st.StartedAt || e.Ended.UnixNano() != st.FinishedAt || e.Started.Before(before) || e.Ended.Before(e.Started) {
				t.Errorf("from %v to %v, the status says %d to %d", e.Started, e.Ended, st.StartedAt, st.FinishedAt)
			}
			g.close()
			g.start()
			l.only(t, id)
		})
	}
}

func without(c *runtimeapi.ContainerConfig) *runtimeapi.ContainerConfig {
	c.LogPath = ""
	return c
}

// What could not be started has ended, too; what was never started has not.
func TestEndOfWhatDidNotRun(t *testing.T) {
	g, l := listeningRig(t)
	sb := g.sandbox("p", "")
	config := named("missing", shell(""))
	config.Command = []string{"/no/such/program"}
	missing := g.create(sb, config)
	if _, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: missing}); err == nil {
		t.Fatal("it was started")
	}
	g.wait(missing)
	e := l.only(t, missing)
	if e.ExitCode != 127 || e.Reason != shim.ReasonStartError || !strings.Contains(e.Message, "/no/such/program") || e.Started.IsZero() || e.Ended.IsZero() {
		t.Errorf("got %+v", e)
	}
	refused := named("refused", shell(""))
	refused.Command = nil
	id := g.create(sb, refused)
	if _, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id}); err == nil {
		t.Fatal("it was started")
	}
	if e := l.only(t, id); e.ExitCode != 128 || e.Reason != shim.ReasonStartError {
		t.Errorf("got %+v", e)
	}
	created := g.create(sb, named("created", shell("exit 0")))
	if _, err := g.rt.RemovePodSandbox(g.ctx(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sb}); err != nil {
		t.Fatal(err)
	}
	if ends := l.of(created); len(ends) != 0 {
		t.Errorf("never started, and told: %+v", ends)
	}
	g.nothingLeft()
}

// Who removes a container that runs gets it ended, told, and then removed.
func TestEndOfWhatIsRemoved(t *testing.T) {
	g := stoppedRig(t)
	l := &listener{}
	entered, goOn := make(chan struct{}), make(chan struct{})
	g.opts.Ended = func(e ContainerEnd) error {
		close(entered)
		<-goOn
		if _, err := os.Stat(filepath.Join(g.opts.RootDir, "containers", e.ID, containerFile)); err != nil {
			t.Errorf("removed before it was told: %v", err)
		}
		return l.ended(e)
	}
	g.start()
	id := g.begin(g.sandbox("p", ""), shell("sleep 1000"))
	removed := make(chan error, 1)
	go func() {
		_, err := g.rt.RemoveContainer(g.ctx(), &runtimeapi.RemoveContainerRequest{ContainerId: id})
		removed <- err
	}()
	<-entered
	// Nothing but the end waits for who is told.
	if st := g.status(id); st.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
		t.Errorf("state %v while it is told", st.State)
	}
	close(goOn)
	if err := <-removed; err != nil {
		t.Fatal(err)
	}
	if e := l.only(t, id); e.Signal != 15 && e.Signal != 9 {
		t.Errorf("got %+v", e)
	}
}

// What was not kept is told again at the next start, and no more than once by each.
func TestEndThatWasNotKeptIsToldAgain(t *testing.T) {
	g, l := listeningRig(t)
	l.fail = errors.New("the disk is full")
	id := g.begin(g.sandbox("p", ""), shell("exit 3"))
	if st := g.wait(id); st.ExitCode != 3 {
		t.Errorf("the end itself: %v", st)
	}
	l.only(t, id)
	g.close()
	g.start()
	l.mu.Lock()
	l.fail = nil
	l.mu.Unlock()
	if n := len(l.of(id)); n != 2 {
		t.Fatalf("told %d times", n)
	}
	g.close()
	g.start()
	g.close()
	g.start()
	ends := l.of(id)
	if len(ends) != 3 {
		t.Fatalf("told %d times", len(ends))
	}
	for _, e := range ends {
		if e.ExitCode != 3 || e.CPU != ends[0].CPU || !e.Ended.Equal(ends[0].Ended) {
			t.Errorf("not the same: %+v, %+v", e, ends[0])
		}
	}
}

// After kill -9 those ends are told that came meanwhile, and those that come later.
func TestEndAfterKill(t *testing.T) {
	g := newRig(t)
	g.close()
	told := t.TempDir()
	server := g.serve(envEnded + "=" + told)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // containers write to it
		t.Fatal(err)
	}
	sb := g.sandbox("p", "")
	before := g.begin(sb, named("before", shell("exit 2")))
	g.wait(before)
	meanwhile := g.begin(sb, named("meanwhile", withMount(shell("while [ ! -e /go/meanwhile ]; do sleep 0.01; done; echo x; exit 3"), dir, "/go", false)))
	later := g.begin(sb, named("later", withMount(shell("while [ ! -e /go/later ]; do sleep 0.01; done; exit 4"), dir, "/go", false)))
	server.kill()
	g.conn.Close()
	if err := os.WriteFile(filepath.Join(dir, "meanwhile"), nil, 0o644); err != nil { //nolint:gosec // likewise
		t.Fatal(err)
	}
	until(t, "it has ended with nobody watching", func() bool {
		_, err := shim.ReadExit(filepath.Join(g.opts.RootDir, "containers", meanwhile))
		return err == nil
	})
	l := &listener{}
	full := errors.New("full")
	if _, err := TellEnds(g.opts.RootDir, g.logs, func(ContainerEnd) error { return full }); !errors.Is(err, full) {
		t.Errorf("what was not kept is no error: %v", err)
	}
	for range 2 { // the second time there is nothing more to tell
		if left, err := TellEnds(g.opts.RootDir, g.logs, l.ended); err != nil || left != (EndsLeft{Alive: 1}) {
			t.Errorf("%+v, %v", left, err)
		}
	}
	g.opts.Ended = l.ended
	g.start()
	if e := l.only(t, meanwhile); e.ExitCode != 3 || e.OutputBytes != 2 || e.CPU <= 0 || e.MemoryPeak <= 0 {
		t.Errorf("meanwhile: %+v", e)
	}
	if n := len(l.of(before)); n != 0 {
		t.Errorf("what the first Runtime told was told %d times more", n)
	}
	if e := readEnds(t, told, before); len(e) != 1 || e[0].ExitCode != 2 {
		t.Errorf("before: %+v", e)
	}
	if err := os.WriteFile(filepath.Join(dir, "later"), nil, 0o644); err != nil { //nolint:gosec // likewise
		t.Fatal(err)
	}
	g.wait(later)
	if e := l.only(t, later); e.ExitCode != 4 || e.CPU <= 0 {
		t.Errorf("later: %+v", e)
	}
}

// The end of the program at any point around the telling loses no end.
func TestEndIsToldWhereverItIsKilled(t *testing.T) {
	for _, point := range shim.EndFailPoints {
		t.Run(point, func(t *testing.T) {
			g := stoppedRig(t)
			points, told := t.TempDir(), t.TempDir()
			server := g.serve(shim.EnvFailPoint+"="+point+"=die", shim.EnvFailDir+"="+points, envEnded+"="+told)
			id := g.begin(g.sandbox("p", ""), shell("exit 3"))
			until(t, point+" is reached", func() bool { _, err := os.Stat(filepath.Join(points, point)); return err == nil })
			server.kill()
			g.conn.Close()
			l := &listener{}
			g.opts.Ended = l.ended
			g.start()
			if st := g.status(id); st.State != runtimeapi.ContainerState_CONTAINER_EXITED || st.ExitCode != 3 {
				t.Errorf("%v", st)
			}
			first, second := len(readEnds(t, told, id)), len(l.of(id))
			want := map[string][2]int{"end-telling": {0, 1}, "end-kept": {1, 1}, "end-told": {1, 0}}[point]
			if [2]int{first, second} != want {
				t.Errorf("told %d times before and %d times after, want %v", first, second, want)
			}
		})
	}
}

// readEnds are the ends that a server wrote down, see envEnded.
func readEnds(t *testing.T, dir, id string) []ContainerEnd {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, id))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var ends []ContainerEnd
	for line := range strings.Lines(string(b)) {
		var e ContainerEnd
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, e)
	}
	return ends
}

// writeEnds is the Options.Ended of a server: a line for each end.
func writeEnds(dir string) func(ContainerEnd) error {
	return func(e ContainerEnd) error {
		b, err := json.Marshal(e)
		if err != nil {
			return err
		}
		f, err := os.OpenFile(filepath.Join(dir, e.ID), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(append(b, '\n'))
		return errors.Join(err, f.Close())
	}
}

// With a cgroup the peak is that of all processes together, and the limit bounds it.
func TestEndByTheMemoryLimit(t *testing.T) {
	g, l := listeningRig(t)
	if g.run.cgroups.unified == "" && g.run.cgroups.v1["memory"] == "" {
		t.Skip("the memory cgroup of this machine can not be written")
	}
	const limit = 32 << 20
	config := shell("")
	config.Command = []string{"/bin/sh", "-c", `exec dd if=/dev/zero of=/dev/null bs=300M count=1`}
	config.Linux.Resources = &runtimeapi.LinuxContainerResources{MemoryLimitInBytes: limit}
	id := g.begin(g.sandbox("p", ""), config)
	g.wait(id)
	e := l.only(t, id)
	if e.Reason != shim.ReasonOOMKilled || e.ExitCode != 137 || e.Signal != 9 {
		t.Errorf("got %+v", e)
	}
	if e.MemoryPeak < limit/2 || e.MemoryPeak > limit+limit/8 {
		t.Errorf("its peak is %d of %d", e.MemoryPeak, limit)
	}
}

// Of a container whose supervisor was killed as much is told as is known.
func TestEndOfTheLost(t *testing.T) {
	g, l := listeningRig(t)
	id := g.begin(g.sandbox("p", ""), shell("sleep 1000"))
	ident, err := shim.ReadIdentity(g.run.containers[id].dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(ident.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	g.wait(id)
	if e := l.only(t, id); e.ExitCode != 255 || e.Reason != "ContainerStatusUnknown" || e.Started.IsZero() || e.Ended.IsZero() {
		t.Errorf("got %+v", e)
	}
}

// Without a sandbox's own record its copy tells whose a container was.
func TestEndWithoutTheRecordOfItsSandbox(t *testing.T) {
	g := newRig(t)
	sb := g.sandbox("p", "")
	id := g.begin(sb, shell("exit 3"))
	g.wait(id)
	g.close()
	if err := os.WriteFile(filepath.Join(g.opts.RootDir, "sandboxes", sb, sandboxFile), []byte("{broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := &listener{}
	g.opts.Ended = l.ended
	g.start()
	if e := l.only(t, id); e.PodName != "p" || e.ExitCode != 3 {
		t.Errorf("got %+v", e)
	}
}

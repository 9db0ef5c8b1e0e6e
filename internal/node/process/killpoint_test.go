// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// killCase is one container that is created, started and ends, while processes
// die at a point on the way.
type killCase struct {
	*rig
	sandboxID string
	points    string // where the fail point writes that it was reached
	count     string // where each run of the command writes a line
	config    func() *runtimeapi.ContainerConfig
	server    *server
}

const killCode = 7

func newKillCase(t *testing.T, handler, point, action string) *killCase {
	g := stoppedRig(t)
	k := &killCase{rig: g, points: t.TempDir(), count: t.TempDir()}
	if err := os.Chmod(k.count, 0o777); err != nil {
		t.Fatal(err)
	}
	k.config = func() *runtimeapi.ContainerConfig {
		return withMount(shell("echo run >> "+k.count+"/runs; exit 7"), k.count, k.count, false)
	}
	k.server = g.serve(shim.EnvFailPoint+"="+point+"="+action, shim.EnvFailDir+"="+k.points)
	k.sandboxID = g.sandbox("p", handler)
	return k
}

// attempt creates and starts the container, as far as that goes.
func (k *killCase) attempt() {
	resp, err := k.rt.CreateContainer(k.ctx(), &runtimeapi.CreateContainerRequest{PodSandboxId: k.sandboxID, Config: k.config()})
	if err == nil {
		_, _ = k.rt.StartContainer(k.ctx(), &runtimeapi.StartContainerRequest{ContainerId: resp.ContainerId})
	}
}

// reached waits until somebody has come to the point.
func (k *killCase) reached(point string) {
	k.t.Helper()
	until(k.t, point+" is reached", func() bool { _, err := os.Stat(filepath.Join(k.points, point)); return err == nil })
}

// release lets a process that waits at the point go on, or die.
func (k *killCase) release(point, how string) {
	k.t.Helper()
	if err := os.WriteFile(filepath.Join(k.points, point+how), nil, 0o644); err != nil {
		k.t.Error(err)
	}
}

// restart is the next start of the program after the one that was killed.
func (k *killCase) restart() {
	k.t.Helper()
	k.server.kill()
	k.conn.Close()
	k.start()
}

// drive does what the kubelet does with a Pod of restartPolicy Never until its
// container has ended: it creates one where it finds none, or none but created
// ones, and starts it. It returns the one container that there is then.
func (k *killCase) drive() *runtimeapi.ContainerStatus {
	k.t.Helper()
	var last *runtimeapi.ContainerStatus
	until(k.t, "the container has ended", func() bool {
		resp, err := k.rt.ListContainers(k.ctx(), &runtimeapi.ListContainersRequest{})
		if err != nil {
			k.t.Fatal(err)
		}
		if len(resp.Containers) == 0 {
			k.attempt()
			return false
		}
		if len(resp.Containers) > 1 {
			k.t.Fatalf("%d containers: %v", len(resp.Containers), resp.Containers)
		}
		found := resp.Containers[0]
		if found.State == runtimeapi.ContainerState_CONTAINER_CREATED && k.server.dead() {
			k.t.Errorf("after the restart a container is neither running nor gone: the kubelet would count a restart")
		}
		st, err := k.rt.ContainerStatus(k.ctx(), &runtimeapi.ContainerStatusRequest{ContainerId: found.Id})
		if status.Code(err) == codes.NotFound {
			return false
		}
		if err != nil {
			k.t.Fatal(err)
		}
		last = st.Status
		return last.State == runtimeapi.ContainerState_CONTAINER_EXITED
	})
	return last
}

// check compares with what must be: how often the command ran, and the code.
func (k *killCase) check(st *runtimeapi.ContainerStatus, leastRuns, mostRuns, code int) {
	k.t.Helper()
	b, _ := os.ReadFile(filepath.Join(k.count, "runs"))
	runs := strings.Count(string(b), "run\n")
	if runs < leastRuns || runs > mostRuns || int(st.ExitCode) != code {
		k.t.Errorf("ran %d times and ended with %d %s (%s); want %d to %d runs and code %d", runs, st.ExitCode, st.Reason, st.Message, leastRuns, mostRuns, code)
	}
	if code == 255 && (st.Reason != "ContainerStatusUnknown" || !strings.Contains(st.Message, "not started again")) {
		k.t.Errorf("a lost container says %s: %s", st.Reason, st.Message)
	}
	if st.Metadata.Attempt != 0 {
		k.t.Errorf("attempt %d: a crash of ours counts as a restart", st.Metadata.Attempt)
	}
}

// lost says what remains of a container whose shim dies at a point: whether the
// command may have run, has run, and whether its code is known.
func lost(point string) (leastRuns, mostRuns, code int) {
	at := slices.Index(shim.ShimFailPoints, point)
	before := func(p string) bool { return at < slices.Index(shim.ShimFailPoints, p) }
	switch {
	case before("shim-marked"): // another takes its place
		return 1, 1, killCode
	case before("shim-executed"): // the one place where a mark is and no run
		return 0, 0, 255
	case before("shim-ended"):
		return 0, 1, 255
	case before("shim-written"):
		return 1, 1, 255
	}
	return 1, 1, killCode
}

// Whatever dies at whatever point on the way of a container from its creation
// to its end, the command runs once, or not at all and says so; and the program
// itself may die anywhere without anybody noticing.
func TestKillPoints(t *testing.T) {
	handlers := []string{"", HandlerHost}
	if testing.Short() {
		handlers = handlers[:1] // where containers are set up with most steps
	}
	for _, handler := range handlers {
		name := "handler process"
		if handler != "" {
			name = "handler " + handler
		}
		t.Run(name, func(t *testing.T) {
			for _, point := range shim.RuntimeFailPoints {
				t.Run("program dies at "+point, func(t *testing.T) {
					k := newKillCase(t, handler, point, "die")
					k.attempt()
					k.reached(point)
					k.restart()
					k.check(k.drive(), 1, 1, killCode)
				})
			}
			for _, point := range shim.ShimFailPoints {
				t.Run("shim dies at "+point, func(t *testing.T) {
					k := newKillCase(t, handler, point, "die")
					k.attempt()
					k.reached(point)
					least, most, code := lost(point)
					k.check(k.drive(), least, most, code)
					k.restart() // and the next start says the same
					k.check(k.drive(), least, most, code)
				})
				t.Run("both die at "+point, func(t *testing.T) {
					k := newKillCase(t, handler, point, "wait")
					go k.attempt()
					k.reached(point)
					k.server.kill()
					k.release(point, ".die")
					k.restart()
					least, most, code := lost(point)
					k.check(k.drive(), least, most, code)
				})
				t.Run("program dies with the shim at "+point, func(t *testing.T) {
					k := newKillCase(t, handler, point, "wait")
					go k.attempt()
					k.reached(point)
					k.server.kill()
					var released sync.WaitGroup
					released.Go(func() { k.release(point, ".go") }) // while the next one starts
					k.restart()
					released.Wait()
					k.check(k.drive(), 1, 1, killCode)
				})
			}
		})
	}
}

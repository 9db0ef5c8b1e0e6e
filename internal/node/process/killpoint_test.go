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

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/image"
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

// killKind is on which files the container runs.
type killKind struct {
	name, handler string
	store         *image.Store // nil for the machine's files
	image         string
}

func newKillCase(t *testing.T, kind killKind, point, action string) *killCase {
	g := stoppedRig(t)
	k := &killCase{rig: g, points: t.TempDir(), count: t.TempDir()}
	if err := os.Chmod(k.count, 0o777); err != nil {
		t.Fatal(err)
	}
	k.config = func() *runtimeapi.ContainerConfig {
		return withMount(shell("echo run >> "+k.count+"/runs; exit 7"), k.count, k.count, false)
	}
	env := []string{shim.EnvFailPoint + "=" + point + "=" + action, shim.EnvFailDir + "=" + k.points}
	if kind.store != nil {
		k.config = func() *runtimeapi.ContainerConfig {
			return withMount(probeContainer(kind.image, "append:/count/runs", "exit:7"), k.count, "/count", false)
		}
		g.opts.Images, g.opts.LocalFiles = kind.store, false
		env = append(env, envImages+"="+kind.store.Dir())
	}
	k.server = g.serve(env...)
	k.sandboxID = g.sandbox("p", kind.handler)
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
	kinds := []killKind{{name: "handler process"}, {name: "handler host", handler: HandlerHost}}
	if testing.Short() {
		kinds = kinds[:1] // where containers are set up with most steps
	}
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) { killEverywhere(t, kind, shim.RuntimeFailPoints, shim.ShimFailPoints) })
	}
}

// The same holds for a container of an image, which nobody can remove as long
// as the container may run, and which is free in the end.
func TestImageKillPoints(t *testing.T) {
	g, store := storeRig(t)
	g.start()
	if !g.run.view.images {
		t.Skipf("no roots here: %v", g.run.view.warnings)
	}
	text := push(t, v1.Config{Entrypoint: []string{"/bin/probe"}}, archive(t, files{"bin/": "", "bin/probe": program(t)}))
	name, err := image.ParseName(text)
	if err != nil {
		t.Fatal(err)
	}
	img, err := store.Pull(t.Context(), name, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	points, shimPoints := shim.RuntimeFailPoints, shim.ShimFailPoints
	if testing.Short() {
		points, shimPoints = []string{"create-record", "start-forked"}, []string{"shim-locked", "shim-rooted", "shim-executed"}
	}
	killEverywhere(t, killKind{store: store, image: text}, points, shimPoints)
	until(t, "the image can be removed", func() bool { return store.Remove(img.ID) == nil })
}

// killEverywhere has processes die at all points on the way of a container.
func killEverywhere(t *testing.T, kind killKind, points, shimPoints []string) {
	for _, point := range points {
		t.Run("program dies at "+point, func(t *testing.T) {
			k := newKillCase(t, kind, point, "die")
			k.attempt()
			k.reached(point)
			k.restart()
			k.check(k.drive(), 1, 1, killCode)
		})
	}
	for _, point := range shimPoints {
		t.Run("shim dies at "+point, func(t *testing.T) {
			k := newKillCase(t, kind, point, "die")
			k.attempt()
			k.reached(point)
			least, most, code := lost(point)
			k.check(k.drive(), least, most, code)
			k.restart() // and the next start says the same
			k.check(k.drive(), least, most, code)
		})
		t.Run("both die at "+point, func(t *testing.T) {
			k := newKillCase(t, kind, point, "wait")
			go k.attempt()
			k.reached(point)
			k.server.kill()
			k.release(point, ".die")
			k.restart()
			least, most, code := lost(point)
			k.check(k.drive(), least, most, code)
		})
		t.Run("program dies with the shim at "+point, func(t *testing.T) {
			k := newKillCase(t, kind, point, "wait")
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
}

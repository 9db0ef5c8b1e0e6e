// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/image"
)

// askIPC is a container that says which IPC it has and what is in its shared
// memory, leaves something there, and waits if it is to.
func askIPC(name, img string, pids runtimeapi.NamespaceMode, wait bool) *runtimeapi.ContainerConfig {
	config := named(name, probeContainer(img, "link:/proc/self/ns/ipc", "ls:/dev/shm", "write:/dev/shm/"+name))
	config.Linux.SecurityContext.NamespaceOptions.Pid = pids
	if wait {
		config.Args = append(config.Args, "wait")
	}
	return config
}

// ipcOf runs such a container and returns what it said.
func (g *rig) ipcOf(sandbox string, config *runtimeapi.ContainerConfig) (ns, memory string) {
	g.t.Helper()
	id := g.begin(sandbox, config)
	until(g.t, "it has said it", func() bool { return strings.Count(g.output(id, "stdout"), "\n") >= 3 })
	out := strings.Split(g.output(id, "stdout"), "\n")
	if !strings.HasPrefix(out[2], "wrote ") {
		g.t.Errorf("shared memory: %q", out[2])
	}
	return out[0], out[1]
}

// Containers of images share System V IPC and /dev/shm with their Pod and with
// nobody else, those that come later too, unless the Pod uses the machine's. An
// ordinary user's do where they share processes as well.
func TestImageIPC(t *testing.T) {
	g, images := imageRig(t)
	images.add(t, "app", probeConfig, probeLayer(t))
	machine, err := os.Readlink("/proc/self/ns/ipc")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		pids   runtimeapi.NamespaceMode
		run    func(pod string) string
		shared bool
	}{
		"a namespace each": {runtimeapi.NamespaceMode_CONTAINER, func(pod string) string { return g.sandbox(pod, "") }, os.Getuid() == 0},
		"one for all":      {runtimeapi.NamespaceMode_POD, func(pod string) string { return g.sharing(pod) }, true},
	} {
		if tt.pids == runtimeapi.NamespaceMode_POD && !g.run.view.pids {
			continue
		}
		pod := "pod" + tt.pids.String()
		sb := tt.run(strings.ToLower(pod))
		first, empty := g.ipcOf(sb, askIPC("first", "app", tt.pids, false)) // has ended when the others come
		second, memory := g.ipcOf(sb, askIPC("second", "app", tt.pids, true))
		third, more := g.ipcOf(sb, askIPC("third", "app", tt.pids, true))
		// The number of one that has ended may be given to another.
		if first == machine || empty != "[]" || tt.shared && second != first || (third == second) != tt.shared {
			t.Errorf("%s: %s %s %s, the machine has %s; %s", name, first, second, third, machine, empty)
		}
		if wantMemory, wantMore := "[first]", "[first second]"; (memory == wantMemory) != tt.shared || (more == wantMore) != tt.shared {
			t.Errorf("%s: shared memory %s, %s", name, memory, more)
		}
		other, memory := g.ipcOf(tt.run(strings.ToLower(pod)+"2"), askIPC("other", "app", tt.pids, false))
		if other == second || other == third || memory != "[]" {
			t.Errorf("%s: another Pod has %s with %s", name, other, memory)
		}
		config := probeContainer("app", "link:/proc/self/ns/ipc")
		config.Linux.SecurityContext.NamespaceOptions.Pid, config.Linux.SecurityContext.NamespaceOptions.Ipc = tt.pids, runtimeapi.NamespaceMode_NODE
		id := g.begin(sb, named("host", config))
		if g.wait(id); g.output(id, "stdout") != machine+"\n" {
			t.Errorf("%s: hostIPC is %q, the machine has %s", name, g.output(id, "stdout"), machine)
		}
	}
	for id := range g.run.sandboxes {
		if _, err := g.rt.RemovePodSandbox(g.ctx(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: id}); err != nil {
			t.Error(err)
		}
	}
	g.nothingLeft()
}

// The server is killed, and what a Pod's containers share goes on.
func TestSharedIPCServerKilled(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("containers of an ordinary user have no IPC in common that the server would keep")
	}
	g, store := storeRig(t)
	text := push(t, v1.Config{Entrypoint: []string{"/bin/probe"}}, archive(t, files{"bin/": "", "bin/probe": program(t)}))
	parsed, err := image.ParseName(text)
	if err == nil {
		_, err = store.Pull(t.Context(), parsed, nil, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	server := g.serve(envImages + "=" + store.Dir())
	sb := g.sandbox("p", "")
	each := runtimeapi.NamespaceMode_CONTAINER
	first, _ := g.ipcOf(sb, askIPC("first", text, each, true))
	server.kill()
	g.conn.Close()
	g.start()
	second, memory := g.ipcOf(sb, askIPC("second", text, each, false))
	if first != second || memory != "[first]" {
		t.Errorf("%s before, %s with %s afterwards", first, second, memory)
	}
	if _, err := g.rt.RemovePodSandbox(g.ctx(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sb}); err != nil {
		t.Error(err)
	}
	g.nothingLeft()
}

// An ordinary user's containers of a Pod that share processes are all one user,
// whom the image of the first names; another is told so.
func TestImageSharedProcessesUsers(t *testing.T) {
	g, images := imageRig(t)
	if !g.run.view.pids {
		t.Skip("no PID namespaces here")
	}
	base := probeLayer(t)
	images.add(t, "zero", probeConfig, base)
	images.add(t, "app", image.Config{Entrypoint: probeConfig.Entrypoint, User: "1234:2345"}, base)
	share := func(name, img string, args ...string) *runtimeapi.ContainerConfig {
		config := named(name, probeContainer(img, args...))
		config.Linux.SecurityContext.NamespaceOptions.Pid = runtimeapi.NamespaceMode_POD
		return config
	}
	for img, want := range map[string]string{"zero": "0 0 []", "app": "1234 2345 []"} {
		sb := g.sharing(img)
		waits := g.begin(sb, share("waits", img, "wait"))
		id := g.begin(sb, share("same", img, "id", "cat:/proc/1/comm", "owner:/bin/probe", "ls:/proc"))
		g.wait(id)
		out := strings.Split(g.output(id, "stdout"), "\n")
		processes := 0
		for name := range strings.FieldsSeq(strings.Trim(strings.Join(out[min(3, len(out)):], ""), "[]")) {
			if _, err := strconv.Atoi(name); err == nil {
				processes++
			}
		}
		// Those of the Pod, of two containers, and their supervisors.
		if len(out) < 4 || out[0] != want || out[1] != "carillon-shim" || processes != 5 {
			t.Errorf("%s: %q %q", img, out, g.output(id, "stderr"))
		}
		other := map[string]string{"zero": "app", "app": "zero"}[img]
		id = g.create(sb, share("other", other, "id"))
		_, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id})
		if os.Getuid() == 0 && err != nil || os.Getuid() != 0 && (err == nil || !strings.Contains(err.Error(), "set runAsUser")) {
			t.Errorf("%s beside %s: %v", other, img, err)
		}
		g.stop(waits, 0)
	}
	if g.run.view.root == rootNone || os.Getenv(envCopies) != "" {
		return
	}
	// On the machine's files it is the machine's user.
	sb := g.sharing("host")
	written := filepath.Join(os.TempDir(), "carillon-"+sb)
	host := member("host", "id -u; touch "+written)
	host.Image.Image = "host"
	id := g.begin(sb, host)
	if st := g.wait(id); st.ExitCode != 0 || g.output(id, "stdout") != fmt.Sprintln(os.Getuid()) {
		t.Errorf("%v %q %q", st, g.output(id, "stdout"), g.output(id, "stderr"))
	}
	if _, err := os.Lstat(written); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it wrote to the machine: %v", err)
	}
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/image"
	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// Containers live on while the Runtime is closed. The next one finds those that
// live, with no gap in their log, and knows how the others ended; a command
// runs once.
func TestCloseAndStart(t *testing.T) {
	for _, handler := range []string{"", HandlerHost} {
		t.Run("handler "+handler, func(t *testing.T) {
			g := newRig(t)
			dir := t.TempDir()
			flag := filepath.Join(dir, "go")
			sb := g.sandbox("p", handler)
			lives := g.begin(sb, named("lives", withMount(shell(`n=0; while [ ! -e `+dir+`/go ]; do n=$((n+1)); echo $n; sleep 0.005; done; echo last $n; exit 4`), dir, dir, false)))
			ends := g.begin(sb, named("ends", shell(`sleep 0.2; exit 3`)))
			early := g.begin(sb, named("early", shell(`exit 2`)))
			created := g.create(sb, named("created", shell(`exit 0`)))
			g.wait(early)
			g.close()

			until(t, "the second has ended without a Runtime", func() bool {
				_, err := shim.ReadExit(filepath.Join(g.opts.RootDir, "containers", ends))
				return err == nil
			})
			g.start()
			if st := g.status(ends); st.State != runtimeapi.ContainerState_CONTAINER_EXITED || st.ExitCode != 3 || st.FinishedAt <= st.StartedAt {
				t.Errorf("the one that ended meanwhile: %v", st)
			}
			if st := g.status(early); st.ExitCode != 2 {
				t.Errorf("the one that ended before: %v", st)
			}
			if st := g.status(lives); st.State != runtimeapi.ContainerState_CONTAINER_RUNNING || st.StartedAt == 0 {
				t.Errorf("the one that lives: %v", st)
			}
			// What was not started is as if it had not been created: the
			// kubelet makes it anew, without counting a restart.
			if _, err := g.rt.ContainerStatus(g.ctx(), &runtimeapi.ContainerStatusRequest{ContainerId: created}); status.Code(err) != codes.NotFound {
				t.Errorf("the one not started: %v", err)
			}
			if st := g.wait(g.begin(sb, named("created", shell(`exit 6`)))); st.ExitCode != 6 || st.Metadata.Attempt != 0 {
				t.Errorf("the one not started, made anew: %v", st)
			}
			if resp := g.exec(lives, "echo", "still"); string(resp.Stdout) != "still\n" {
				t.Errorf("exec: %v", resp)
			}
			if err := os.WriteFile(flag, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if st := g.wait(lives); st.ExitCode != 4 {
				t.Errorf("its code: %d", st.ExitCode)
			}
			for i, line := range strings.Split(strings.TrimSpace(g.output(lives, "stdout")), "\n") {
				if line != fmt.Sprint(i+1) && !strings.HasPrefix(line, "last ") {
					t.Fatalf("line %d of the log is %q", i, line)
				}
			}
			if _, err := g.rt.RemovePodSandbox(g.ctx(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sb}); err != nil {
				t.Fatal(err)
			}
			g.nothingLeft()
		})
	}
}

func named(name string, c *runtimeapi.ContainerConfig) *runtimeapi.ContainerConfig {
	c.Metadata.Name = name
	c.LogPath = name + "/0.log"
	return c
}

// envServe makes this test binary a server that lives until it is killed.
const (
	envServe  = "CARILLON_TEST_SERVE"
	envSocket = "CARILLON_TEST_SOCKET"
	envEnded  = "CARILLON_TEST_ENDED"  // where ends are written down that are told; without, none are
	envImages = "CARILLON_TEST_IMAGES" // the store of its images; without, names of images stand for this machine's files
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(envServe); dir != "" {
		opts := Options{RootDir: dir, Socket: os.Getenv(envSocket), LocalFiles: true}
		if dir := os.Getenv(envEnded); dir != "" {
			opts.Ended = writeEnds(dir)
		}
		if dir := os.Getenv(envImages); dir != "" {
			store, err := image.Open(context.Background(), image.Options{Dir: dir})
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			opts.Images, opts.LocalFiles = store, false
		}
		run, err := New(opts)
		if err == nil {
			err = run.Start(context.Background())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("ready")
		<-run.Err()
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// server is a Runtime in a process of its own.
type server struct {
	cmd  *exec.Cmd
	done bool
}

// kill ends the process as kill -9 does.
func (s *server) kill() {
	if !s.done {
		s.done = true
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

func (s *server) dead() bool { return s.done }

// serve runs a Runtime in a process of its own, with more in its environment.
func (g *rig) serve(env ...string) *server {
	g.t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(append(os.Environ(), envServe+"="+g.opts.RootDir, envSocket+"="+g.opts.Socket), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		g.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	s := &server{cmd: cmd}
	g.t.Cleanup(s.kill)
	var line string
	if _, err := fmt.Fscanln(out, &line); err != nil || line != "ready" {
		g.t.Fatalf("%q %v", line, err)
	}
	g.dial()
	return s
}

// kill -9 of the program changes nothing for containers: they run on, and the
// next start adopts them or learns their true end.
func TestKilled(t *testing.T) {
	g := newRig(t)
	g.close()
	server := g.serve()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	sb := g.sandbox("p", "")
	const count = `echo run >> /count/`
	lives := g.begin(sb, named("lives", withMount(shell(count+`lives; while [ ! -e /count/go ]; do sleep 0.01; done; exit 4`), dir, "/count", false)))
	ends := g.begin(sb, named("ends", withMount(shell(count+`ends; sleep 0.3; exit 3`), dir, "/count", false)))
	server.kill()
	g.conn.Close()
	until(t, "the second has ended with nobody watching", func() bool {
		_, err := shim.ReadExit(filepath.Join(g.opts.RootDir, "containers", ends))
		return err == nil
	})
	g.start()
	if st := g.status(ends); st.ExitCode != 3 || st.State != runtimeapi.ContainerState_CONTAINER_EXITED {
		t.Errorf("the one that ended: %v", st)
	}
	if st := g.status(lives); st.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
		t.Errorf("the one that lives: %v", st)
	}
	for _, id := range []string{lives, ends} {
		_, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id})
		if id == ends && status.Code(err) != codes.FailedPrecondition || id == lives && err != nil {
			t.Errorf("starting again: %v", err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if st := g.wait(lives); st.ExitCode != 4 {
		t.Errorf("its code: %d", st.ExitCode)
	}
	for _, name := range []string{"lives", "ends"} {
		if b, _ := os.ReadFile(filepath.Join(dir, name)); string(b) != "run\n" {
			t.Errorf("%s ran: %q", name, b)
		}
	}
}

// Killing the program in the middle of starts never runs a command twice, and
// loses none: each runs once, the ones that were not started yet by being
// created anew.
func TestKilledWhileStarting(t *testing.T) {
	g := newRig(t)
	g.close()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for round := range 6 {
		server := g.serve()
		sb := g.sandbox(fmt.Sprintf("p%d", round), "")
		var ids []string
		for i := range 8 {
			name := fmt.Sprintf("c%d-%d", round, i)
			ids = append(ids, g.create(sb, named(name, withMount(shell(`echo run >> /count/`+name), dir, "/count", false))))
		}
		for _, id := range ids {
			go func() {
				_, _ = g.rt.StartContainer(context.Background(), &runtimeapi.StartContainerRequest{ContainerId: id})
			}()
		}
		time.Sleep(time.Duration(round) * 12 * time.Millisecond) // a different moment each round
		server.kill()
		g.conn.Close()

		g.start()
		for i, id := range ids {
			name := fmt.Sprintf("c%d-%d", round, i)
			_, err := g.rt.ContainerStatus(g.ctx(), &runtimeapi.ContainerStatusRequest{ContainerId: id})
			if status.Code(err) == codes.NotFound {
				id = g.begin(sb, named(name, withMount(shell(`echo run >> /count/`+name), dir, "/count", false)))
			} else if err != nil {
				t.Fatal(err)
			}
			st := g.wait(id)
			b, _ := os.ReadFile(filepath.Join(dir, name))
			if string(b) != "run\n" || st.ExitCode != 0 {
				t.Errorf("%s ran %q and ended with %d %s %s", name, b, st.ExitCode, st.Reason, st.Message)
			}
		}
		g.close()
	}
	g.start() // for the cleanup
}

// A container whose supervisor is killed is lost: it ends with 255 and says
// why, with all its processes, and is never started again.
func TestSupervisorKilled(t *testing.T) {
	for name, tc := range map[string]struct {
		handler string
		closed  bool
	}{
		"while watched":            {"", false},
		"host, while watched":      {HandlerHost, false},
		"while nobody looks":       {"", true},
		"host, while nobody looks": {HandlerHost, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			mark := "76543." + fmt.Sprint(len(name))
			id := g.begin(g.sandbox("p", tc.handler), shell(`(setsid sleep `+mark+` &); echo up; sleep 1000`))
			until(t, "all of it runs", func() bool { return runsNow(mark) && g.output(id, "stdout") == "up\n" })
			ident, err := shim.ReadIdentity(g.run.containers[id].dir)
			if err != nil {
				t.Fatal(err)
			}
			if tc.closed {
				g.close()
			}
			if err := unix.Kill(ident.PID, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if tc.closed {
				until(t, "the supervisor is gone", func() bool { return !ident.Alive() })
				g.start()
			}
			st := g.wait(id)
			if st.ExitCode != 255 || st.Reason != "ContainerStatusUnknown" || !strings.Contains(st.Message, "not started again") {
				t.Errorf("%v", st)
			}
			until(t, "its processes are gone", func() bool { return !runsNow(mark) })
			_, err = g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id})
			if status.Code(err) != codes.FailedPrecondition {
				t.Errorf("starting again: %v", err)
			}
		})
	}
}

// A mark without a shim, which a power cut right after the mark leaves, is a
// lost container, whichever version of the program made it; and a shim that
// comes all the same starts nothing.
func TestMarkWithoutShim(t *testing.T) {
	for name, mark := range map[string]string{
		"this version":  `{"bootID":"x","startedAt":1}`,
		"version 0.1":   "5b2b2f2e-0a55-4d5b-9d6c-0a1f6a1a1a1a\n",
		"cut short":     `{"boo`,
		"empty":         "",
		"of this boot":  shim.BootID(),
		"a later field": `{"bootID":"x","startedAt":1,"more":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			trace := filepath.Join(t.TempDir(), "ran")
			id := g.create(g.sandbox("p", HandlerHost), shell("echo x > "+trace))
			c := g.run.containers[id]
			g.close()
			if err := os.WriteFile(filepath.Join(c.dir, shim.StartMarkFile), []byte(mark), 0o600); err != nil {
				t.Fatal(err)
			}
			late := func(says string) {
				t.Helper()
				cmd, st, err := shim.Start(c.dir, "late", shim.Namespaces{}, nil, nil)
				if cmd != nil {
					_ = cmd.Wait()
				}
				if err != nil || !strings.Contains(st.Error, says) {
					t.Errorf("the late shim: %+v %v", st, err)
				}
			}
			late("started already")
			g.start()
			if st := g.status(id); st.State != runtimeapi.ContainerState_CONTAINER_EXITED || st.ExitCode != 255 {
				t.Errorf("%v", st)
			}
			late("ended already")
			if _, err := os.Stat(trace); err == nil {
				t.Error("the command ran")
			}
		})
	}
}

// Two shims for one container: the second starts nothing.
func TestSecondShim(t *testing.T) {
	g := newRig(t)
	id := g.begin(g.sandbox("p", ""), shell("sleep 1000"))
	c := g.run.containers[id]
	if err := shim.WriteSpec(c.dir, shim.Spec{ID: id, Args: []string{"true"}, Root: shim.RootHost}); err != nil {
		t.Fatal(err)
	}
	cmd, st, err := shim.Start(c.dir, "second", shim.Namespaces{}, nil, nil)
	if cmd != nil {
		_ = cmd.Wait()
	}
	if err != nil || !strings.Contains(st.Error, "another shim") {
		t.Errorf("%+v %v", st, err)
	}
	if st := g.status(id); st.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
		t.Errorf("the first: %v", st.State)
	}
}

// Only one Runtime works on a directory.
func TestSecondRuntime(t *testing.T) {
	g := newRig(t)
	second, err := New(g.opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(g.ctx()); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("%v", err)
	}
	if err := second.Close(g.ctx()); err != nil {
		t.Error(err)
	}
	if _, err := g.rt.Version(g.ctx(), &runtimeapi.VersionRequest{}); err != nil {
		t.Errorf("the first does not answer any more: %v", err)
	}
}

// Records that can not be read are reported and touch nothing else.
func TestBrokenRecords(t *testing.T) {
	g := newRig(t)
	sb := g.sandbox("p", "")
	good := g.begin(sb, shell("sleep 1000"))
	bad := g.create(g.sandbox("q", ""), shell("true"))
	g.close()
	if err := os.WriteFile(filepath.Join(g.opts.RootDir, "containers", bad, containerFile), []byte("{broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"containers", "sandboxes"} {
		if err := os.Mkdir(filepath.Join(g.opts.RootDir, dir, newID()), 0o700); err != nil { // a crash before the record
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(g.opts.RootDir, dir, "not-ours"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	g.start()
	if st := g.status(good); st.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
		t.Errorf("%v", st.State)
	}
	if ids := mustList(t, g); len(ids) != 1 {
		t.Errorf("%d containers", len(ids))
	}
	// It never ran, so nothing is lost by taking it away; one that ran is left
	// for somebody to look at, see TestUnreadable.
	if _, err := os.Stat(filepath.Join(g.opts.RootDir, "containers", bad)); err == nil {
		t.Error("what never ran is left")
	}
	if entries, _ := os.ReadDir(filepath.Join(g.opts.RootDir, "sandboxes")); len(entries) != 3 {
		t.Errorf("%d entries in sandboxes, want two and what is not ours", len(entries))
	}
	// An exit record that can not be read: lost, not started again.
	g.stop(good, 0)
	g.close()
	if err := os.WriteFile(filepath.Join(g.opts.RootDir, "containers", good, shim.ExitFile), []byte(`{"exitCode":-1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	g.start()
	if st := g.status(good); st.ExitCode != 255 || st.State != runtimeapi.ContainerState_CONTAINER_EXITED {
		t.Errorf("%v", st)
	}
}

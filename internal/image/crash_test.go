// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package image

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// envChild has the arguments of this test binary as a program that pulls: the store, and the name of the image.
const envChild = "CARILLON_IMAGE_TEST_CHILD"

func TestMain(m *testing.M) {
	if args := os.Getenv(envChild); args != "" {
		os.Exit(childMain(strings.Split(args, " ")))
	}
	os.Exit(m.Run())
}

// childMain pulls an image, prints its ID, and uses it until its input ends if asked to.
func childMain(args []string) int {
	err := func() error {
		s, err := Open(context.Background(), Options{Dir: args[0], backOff: func(int) time.Duration { return time.Millisecond }})
		if err != nil {
			return err
		}
		n, err := ParseName(args[1])
		if err != nil {
			return err
		}
		img, err := s.Pull(context.Background(), n, nil, nil)
		if err != nil {
			return err
		}
		if len(args) > 2 && args[2] == "memory" {
			// Not from getrusage, where a process begins with what the one had that started it.
			status, err := os.ReadFile("/proc/self/status")
			if err != nil {
				return err
			}
			_, peak, _ := strings.Cut(string(status), "VmHWM:")
			var children unix.Rusage
			if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &children); err != nil {
				return err
			}
			fmt.Println(strings.Fields(peak)[0], children.Maxrss)
			return nil
		}
		if len(args) > 2 && args[2] == "remove" {
			return s.Remove(img.ID)
		}
		if len(args) > 2 && args[2] == "use" {
			use, err := s.Use(img.ID)
			if err != nil {
				return err
			}
			defer func() { _ = use.Close() }()
			fmt.Println(img.ID)
			_, _ = os.Stdin.Read(make([]byte, 1)) // until the test ends it
			return nil
		}
		fmt.Println(img.ID)
		return nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// child starts a process that pulls an image.
func child(t testing.TB, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(append(os.Environ(), envChild+"="+strings.Join(args, " ")), env...)
	cmd.Stdout, cmd.Stderr = &bytes.Buffer{}, &bytes.Buffer{}
	return cmd
}

func killed(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == unix.SIGKILL
}

// intact checks what has to be true of a store at any time: it opens, what has a name in it is whole, and nothing of
// those who were killed is left once they are gone.
func intact(t testing.TB, dir string, want testImage) *Store {
	t.Helper()
	s := open(t, Options{Dir: dir, backOff: func(int) time.Duration { return time.Millisecond }})
	images, err := s.List()
	must(t, err)
	for _, img := range images {
		if img.ID != want.id() {
			t.Errorf("an image %s", img.ID)
		}
		for n := range want.layers {
			if content(t, s, img.ID, fmt.Sprint("f", n)) != crashContent(n) {
				t.Errorf("layer %d is damaged", n)
			}
		}
	}
	chain := map[string]int{}
	for n, c := range chainIDs(diffIDs(want)) {
		chain[c] = n
	}
	numbers, err := s.layerNumbers()
	must(t, err)
	seen := map[string]bool{}
	for _, n := range numbers {
		l, err := s.readLayer(n)
		must(t, err)
		if seen[l.Chain] {
			t.Errorf("layer %s is there twice", l.Chain)
		}
		seen[l.Chain] = true
		name := fmt.Sprint("f", chain[l.Chain])
		data, err := os.ReadFile(filepath.Join(s.layerDir(n), "fs", name))
		if err != nil || string(data) != crashContent(chain[l.Chain]) {
			t.Errorf("layer %d: %d bytes of %s, %v", n, len(data), name, err)
		}
	}
	// A process that applied a layer may live a moment longer than the one that started it.
	for deadline := time.Now().Add(10 * time.Second); ; {
		left, err := filepath.Glob(filepath.Join(dir, tmpPrefix+"*"))
		must(t, err)
		if len(left) == 0 {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("left %v", left)
		}
		must(t, s.sweep())
	}
}

func diffIDs(i testImage) (list []string) {
	for _, l := range i.layers {
		list = append(list, l.diffID)
	}
	return list
}

func crashContent(layer int) string { return noise(uint64(layer), 40_000) }

func crashImage(t testing.TB) testImage {
	t.Helper()
	var layers []testLayer
	for n := range 5 {
		layers = append(layers, gzipped(t, files(t, fmt.Sprint("f", n), crashContent(n))))
	}
	return newImage(t, here, layers...)
}

// Killed at each step, a pull leaves nothing that is half, and the next one goes on: what was published is not fetched
// again.
func TestKilledAtEachStep(t *testing.T) {
	for n, point := range failPoints {
		if testing.Short() && n%4 > 0 {
			continue
		}
		t.Run(point, func(t *testing.T) {
			reg := newRegistry(t)
			i := crashImage(t)
			reg.push(t, "app", "latest", i)
			dir := filepath.Join(private(t), "images")
			died := 0
			for range 3 {
				cmd := child(t, []string{EnvFailPoint + "=" + point}, dir, reg.host()+"/app")
				err := cmd.Run()
				if err == nil {
					break
				}
				if !killed(err) {
					t.Fatalf("%v: %s", err, cmd.Stderr)
				}
				died++
				intact(t, dir, i)
			}
			if died == 0 {
				t.Error("nobody comes here")
			}
			s := intact(t, dir, i)
			before, err := s.layerNumbers()
			must(t, err)
			reg.forget()
			cmd := child(t, nil, dir, reg.host()+"/app")
			if err := cmd.Run(); err != nil || strings.TrimSpace(cmd.Stdout.(*bytes.Buffer).String()) != i.id() {
				t.Fatalf("%v: %s", err, cmd.Stderr)
			}
			fetched := 0
			for _, l := range i.layers {
				fetched += reg.asked("GET", digestOf(l.blob))
			}
			if fetched > len(i.layers)-len(before) {
				t.Errorf("%d layers were here, and %d were fetched", len(before), fetched)
			}
			s = intact(t, dir, i)
			if img, ok, err := s.Find(reg.host() + "/app"); err != nil || !ok || img.ID != i.id() {
				t.Errorf("the image is not here: %v", err)
			}
			clean(t, s)
		})
	}
}

// Killed at any time.
func TestKilledAtRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	reg := newRegistry(t)
	i := crashImage(t)
	reg.push(t, "app", "latest", i)
	reg.through(slowly)
	dir := filepath.Join(private(t), "images")
	deaths, rounds := 0, 30
	if testing.Short() {
		rounds = 5
	}
	for round := range rounds {
		cmd := child(t, nil, dir, reg.host()+"/app")
		must(t, cmd.Start())
		wait := time.Duration(random.Int64N(int64(time.Millisecond) * int64(20+10*round)))
		timer := time.AfterFunc(wait, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		if err != nil && !killed(err) {
			t.Fatalf("%v: %s", err, cmd.Stderr)
		}
		s := intact(t, dir, i)
		if err == nil {
			clean(t, s)
			must(t, s.Remove(i.id()))
		} else {
			deaths++
		}
	}
	t.Logf("%d were killed", deaths)
	cmd := child(t, nil, dir, reg.host()+"/app")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, cmd.Stderr)
	}
	clean(t, intact(t, dir, i))
}

// Killed while it removes an image, a process leaves no image, and what it left of the layers goes with the next that
// is removed.
func TestKilledWhileRemoving(t *testing.T) {
	reg := newRegistry(t)
	i := crashImage(t)
	reg.push(t, "app", "latest", i)
	for _, point := range removalFailPoints {
		dir := filepath.Join(private(t), "images")
		cmd := child(t, []string{EnvFailPoint + "=" + point}, dir, reg.host()+"/app", "remove")
		if err := cmd.Run(); !killed(err) {
			t.Errorf("%s: %v: %s", point, err, cmd.Stderr)
		}
		s := intact(t, dir, i)
		if all, err := s.List(); err != nil || len(all) != 0 {
			t.Errorf("%s: left %v, %v", point, all, err)
		}
		if _, err := s.Prune(t.Context(), 0, time.Now()); err != nil {
			t.Errorf("%s: %v", point, err)
		}
		if bytes, _, err := s.Usage(); err != nil || bytes != 0 {
			t.Errorf("%s: left %d bytes, %v", point, bytes, err)
		}
	}
}

// slowly sends blobs in pieces.
func slowly(h http.Handler) http.Handler {
	return blobAnswers(func(w http.ResponseWriter, _ *http.Request, a *httptest.ResponseRecorder) {
		for key, values := range a.Header() {
			w.Header()[key] = values
		}
		w.WriteHeader(a.Code)
		for piece := range bytesIn(a.Body.Bytes(), 4000) {
			_, _ = w.Write(piece)
			_ = http.NewResponseController(w).Flush()
			<-time.After(time.Millisecond)
		}
	})(h)
}

func bytesIn(data []byte, size int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(data) > 0 {
			n := min(size, len(data))
			if !yield(data[:n]) {
				return
			}
			data = data[n:]
		}
	}
}

// Two processes that want one image fetch each blob once, and apply each layer once.
func TestTwoProcesses(t *testing.T) {
	reg := newRegistry(t)
	i := crashImage(t)
	reg.push(t, "app", "latest", i)
	reg.through(slowly)
	dir := filepath.Join(private(t), "images")
	var all []*exec.Cmd
	for range 3 {
		cmd := child(t, nil, dir, reg.host()+"/app")
		must(t, cmd.Start())
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil || strings.TrimSpace(cmd.Stdout.(*bytes.Buffer).String()) != i.id() {
			t.Errorf("%v: %s", err, cmd.Stderr)
		}
	}
	for n, l := range i.layers {
		if asked := reg.asked("GET", digestOf(l.blob)); asked != 1 {
			t.Errorf("layer %d was fetched %d times", n, asked)
		}
	}
	clean(t, intact(t, dir, i))
}

// The certificate authority of a registry is named as for any Go program.
func TestOwnAuthority(t *testing.T) {
	reg := &testRegistry{inner: newRegistryHandler()}
	reg.Server = httptest.NewTLSServer(reg)
	t.Cleanup(reg.Close)
	i := crashImage(t)
	reg.push(t, "app", "latest", i)
	dir := private(t)
	file := filepath.Join(dir, "ca.pem")
	must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: reg.Certificate().Raw}), 0o600))
	cmd := child(t, []string{"SSL_CERT_FILE=" + file}, filepath.Join(dir, "images"), reg.host()+"/app")
	if err := cmd.Run(); err != nil {
		t.Errorf("%v: %s", err, cmd.Stderr)
	}
}

// An image that another process uses stays, and goes when that one is killed.
func TestInUseByAnother(t *testing.T) {
	reg := newRegistry(t)
	i := crashImage(t)
	reg.push(t, "app", "latest", i)
	dir := filepath.Join(private(t), "images")
	cmd := child(t, nil, dir, reg.host()+"/app", "use")
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	must(t, err)
	in, err := cmd.StdinPipe()
	must(t, err)
	defer in.Close()
	must(t, cmd.Start())
	line := make([]byte, 100)
	if _, err := out.Read(line); err != nil {
		t.Fatalf("%v: %s", err, cmd.Stderr)
	}
	s := intact(t, dir, i)
	var used *InUseError
	if err := s.Remove(i.id()); !errors.As(err, &used) || !errors.Is(err, ErrInUse) || used.Image.ID != i.id() || !strings.Contains(err.Error(), "/app:latest") {
		t.Errorf("got %v", err)
	}
	if gone, err := s.Prune(t.Context(), 0, time.Now().Add(time.Hour)); err != nil || len(gone) != 0 {
		t.Errorf("pruned %v, %v", gone, err)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	if gone, err := s.Prune(t.Context(), 0, time.Now().Add(time.Hour)); err != nil || len(gone) != 1 {
		t.Errorf("pruned %v, %v", gone, err)
	}
	if numbers, err := s.layerNumbers(); err != nil || len(numbers) != 0 {
		t.Errorf("left %v, %v", numbers, err)
	}
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package browser

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/datadir"
)

// forever is how long a test waits for what comes at once on a machine that has time.
const forever = 2 * time.Minute

// started is what runs for all tests: one Carillon of the world, made for the first test that asks.
var started struct {
	once sync.Once
	dir  string
	// url is the address of the page, with its token; readOnly that of another one that changes nothing.
	url, readOnly string
	stops         []func()
}

// dataDir is that of the Carillon of the world.
func dataDir() string { return filepath.Join(started.dir, "data") }

// stopAll ends what runs, last first.
func stopAll() {
	for n := len(started.stops) - 1; n >= 0; n-- {
		started.stops[n]()
	}
	if started.dir != "" {
		_ = os.RemoveAll(started.dir)
	}
}

// page gives the address of the page of a Carillon that has run for two months.
func page(t *testing.T) string {
	t.Helper()
	needsBrowser(t)
	started.once.Do(func() { start(t) })
	if started.url == "" {
		t.Fatal("Carillon has not started; an earlier test says why")
	}
	return started.url
}

func start(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "cb-")
	if err != nil {
		t.Fatal(err)
	}
	started.dir = dir
	data := dataDir()
	settle(t, data)
	started.stops = append(started.stops, up(t, data))
	busy(t, data)
	address, stopUI := ui(t, data)
	started.stops = append(started.stops, stopUI)
	readOnly, stopReadOnly := ui(t, data, "--read-only")
	started.stops = append(started.stops, stopReadOnly)
	started.url, started.readOnly = address, readOnly
}

// settle makes the world in a data directory that no Carillon uses. A first start makes the objects, whose UIDs the
// history then names.
func settle(t *testing.T, data string) {
	t.Helper()
	manifest := filepath.Join(t.TempDir(), "world.yaml")
	if err := os.WriteFile(manifest, []byte(manifests()), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := up(t, data, "-f", manifest)
	uids := map[string]types.UID{}
	for _, resource := range []string{"cronjobs", "timetables"} {
		for line := range strings.Lines(kubectl(t, data, "get", resource, "-A", "--no-headers", "-o", "custom-columns=N:.metadata.namespace,M:.metadata.name,U:.metadata.uid")) {
			f := strings.Fields(line)
			uids[f[0]+"/"+f[1]] = types.UID(f[2])
		}
	}
	stop()
	for _, i := range world {
		if uids[i.namespace+"/"+i.name] == "" {
			t.Fatalf("%s/%s is not there: %v", i.namespace, i.name, uids)
		}
	}
	remember(t, datadir.Journal(data), uids, time.Now().UTC())
}

// CARILLON_WORLD=DIR go test ./test/browser -run TestWorld makes the world in the data directory DIR, to look at it by
// hand: carillon up --data-dir DIR.
func TestWorld(t *testing.T) {
	data := os.Getenv("CARILLON_WORLD")
	if data == "" {
		t.Skip("makes a world to look at only where CARILLON_WORLD names a data directory for it")
	}
	settle(t, data)
}

// message is a line of -o json.
type message struct{ Type, Message, URL string }

// launch starts the program, waits for a line that is as wanted, and gives that, and how to stop it.
func launch(t *testing.T, wanted func(message) bool, args ...string) (message, func()) {
	t.Helper()
	cmd := exec.Command(carillon, args...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // how it ends is for other tests
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			stop()
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		if wanted(m) {
			go func() { _, _ = io.Copy(io.Discard, stdout) }()
			return m, stop
		}
	}
	stop()
	t.Fatalf("carillon %s has ended", strings.Join(args, " "))
	return message{}, nil
}

func up(t *testing.T, data string, args ...string) (stop func()) {
	t.Helper()
	_, stop = launch(t, func(m message) bool { return m.Type == "step" && m.Message == "ready" }, append([]string{"up", "--data-dir", data, "-o", "json"}, args...)...)
	return stop
}

func ui(t *testing.T, data string, args ...string) (address string, stop func()) {
	t.Helper()
	m, stop := launch(t, func(m message) bool { return m.URL != "" }, append([]string{"ui", "--data-dir", data, "--listen", "127.0.0.1:0", "-o", "json"}, args...)...)
	return m.URL, stop
}

// kubectl runs a command of it, which must succeed.
func kubectl(t *testing.T, data string, args ...string) string {
	t.Helper()
	cmd := exec.Command(carillon, append([]string{"kubectl", "--data-dir", data}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return string(out)
}

// until waits for something that comes by itself.
func until(t *testing.T, what string, there func() bool) {
	t.Helper()
	if !waits(there) {
		t.Fatalf("waited %v in vain for %s", forever, what)
	}
}

// waits tells whether something comes by itself.
func waits(there func() bool) bool {
	for deadline := time.Now().Add(forever); !there(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

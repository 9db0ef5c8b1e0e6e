// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// killed is a run of kills in the midst of starting Jobs.
type killed struct {
	t       *testing.T
	rnd     *rand.Rand
	dataDir string
	dir     string          // where each run of a Job writes a line
	files   string          // the manifests of Jobs that are not done, applied at each start
	open    map[string]bool // Jobs that are not done
}

// jobsPerKill are applied with each start.
const jobsPerKill = 8

// Killed at random moments while Jobs start, again and again, Carillon runs
// each of them once: none is lost, none runs twice, none fails or counts a
// restart for what was our crash. No Job may fail even once here.
//
// CARILLON_KILLS says how often (make e2e-crash: 200), CARILLON_SEED repeats the
// moments of an earlier run, as far as the machine does.
func TestRandomKills(t *testing.T) {
	kills, seed := 4, uint64(time.Now().UnixNano())
	if n, err := strconv.Atoi(os.Getenv("CARILLON_KILLS")); err == nil {
		kills = n
	}
	if n, err := strconv.ParseUint(os.Getenv("CARILLON_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("%d kills, CARILLON_SEED=%d", kills, seed)
	k := &killed{t: t, rnd: rand.New(rand.NewPCG(seed, 0)), dataDir: newDataDir(t), dir: t.TempDir(), files: t.TempDir(), open: map[string]bool{}}
	for kill := range kills {
		k.kill(kill)
		if (kill+1)%10 == 0 || kill == kills-1 {
			k.settle()
			t.Logf("%d kills", kill+1)
		}
	}
	wantNothingLeft(t, k.dataDir, k.dir)
}

// kill starts Carillon with new Jobs and kills it when a random number of them
// has started, and a random moment more has passed.
func (k *killed) kill(round int) {
	k.t.Helper()
	names := k.write(round)
	u := startUp(k.t, k.dataDir, "-f", k.files)
	u.wait("the API to answer", func(l line) bool { return l.Type == "step" })
	wanted := k.rnd.IntN(jobsPerKill + 1)
	more := time.Duration(k.rnd.IntN(40)) * time.Millisecond
	if wanted == 0 {
		more = time.Duration(k.rnd.IntN(2000)) * time.Millisecond // before, in, or after all of it
	}
	deadline := time.Now().Add(forever)
	for k.started(names) < wanted {
		if time.Now().After(deadline) {
			k.t.Fatalf("%d of %d Jobs started, want %d; what it was doing is in %s", k.started(names), jobsPerKill, wanted, u.stacks())
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(more) // the moment is what the test is about
	u.kill()
}

// write makes the manifest of a round.
func (k *killed) write(round int) []string {
	k.t.Helper()
	volumes, mounts := hostDir(k.dir)
	var text strings.Builder
	var names []string
	for i := range jobsPerKill {
		name := fmt.Sprintf("kill-%d-%d", round, i)
		names = append(names, name)
		k.open[name] = true
		text.WriteString(shellJob{
			name: name, script: fmt.Sprintf("echo $HOSTNAME >> %s/%s.starts; sleep 0.3", k.dir, name),
			restart: []string{"Never", "OnFailure"}[i%2], pod: volumes, mounts: mounts,
		}.String())
	}
	if err := os.WriteFile(filepath.Join(k.files, fmt.Sprintf("%d.yaml", round)), []byte(text.String()), 0o644); err != nil {
		k.t.Fatal(err)
	}
	return names
}

// stacks ends the program and returns the name of a file, which is kept, with what its goroutines were doing.
func (u *up) stacks() string {
	u.t.Helper()
	_ = u.cmd.Process.Signal(syscall.SIGQUIT)
	<-u.ended
	f, err := os.CreateTemp("", "carillon-stacks-")
	if err != nil {
		u.t.Fatal(err)
	}
	defer f.Close()
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, err := f.WriteString(u.stderr.String() + "\n" + logOf(u.dataDir)); err != nil {
		u.t.Error(err)
	}
	return f.Name()
}

func (k *killed) started(names []string) int {
	n := 0
	for _, name := range names {
		if exists(k.dir, name+".starts") {
			n++
		}
	}
	return n
}

// settle lets all Jobs come to their end, looks at them, and deletes them.
func (k *killed) settle() {
	k.t.Helper()
	u := startUp(k.t, k.dataDir, "-f", k.files)
	client := u.client()
	for name := range k.open {
		job := u.job(name, "finished", func(job *batchv1.Job) bool { return complete(job) || failed(job) })
		if !complete(job) || job.Status.Succeeded != 1 || job.Status.Failed != 0 {
			k.t.Errorf("%s: %+v\n%+v", name, job.Status, statuses(u.pods(name)))
		}
		pods := u.pods(name)
		if len(pods) != 1 || len(pods[0].Status.ContainerStatuses) != 1 || pods[0].Status.ContainerStatuses[0].RestartCount != 0 {
			k.t.Errorf("%s: want one pod whose container was not restarted: %+v", name, statuses(pods))
		}
		if got := starts(k.t, k.dir, name); got != 1 {
			k.t.Errorf("%s ran %d times", name, got)
		}
		err := client.BatchV1().Jobs("default").Delete(k.t.Context(), name, metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)})
		if err != nil {
			k.t.Error(err)
		}
		delete(k.open, name)
	}
	files, err := filepath.Glob(filepath.Join(k.files, "*.yaml"))
	if err != nil {
		k.t.Fatal(err)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			k.t.Fatal(err)
		}
	}
	u.wantCleanStop(u.stop())
}

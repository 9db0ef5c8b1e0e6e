// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/journal"
	planrun "github.com/carillon-dev/carillon/internal/plan/run"
)

// What the page costs with fleets of several sizes, for docs/performance.md. It asserts nothing but that each page is
// there, since every number is the machine's, too; set CARILLON_MEASURE=1 to have it measured, and CARILLON_SCALE=100
// for one size.
func TestPageAtScale(t *testing.T) {
	if os.Getenv("CARILLON_MEASURE") == "" {
		t.Skip("set CARILLON_MEASURE=1 to measure; the figures need an idle machine")
	}
	for _, size := range []int{100, 10_000, 100_000} {
		if only := os.Getenv("CARILLON_SCALE"); only != "" && only != fmt.Sprint(size) {
			continue
		}
		t.Run(fmt.Sprint(size), func(t *testing.T) { measurePage(t, size) })
	}
}

// pageRuns is how many runs the journal has.
const pageRuns = 100_000

// fleetJournal writes a journal of runs of the first CronJobs, over a month; one in a hundred has failed.
func fleetJournal(t *testing.T, size int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "journal")
	j, err := journal.Open(dir, journal.Options{KeepLogs: -1})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC().Truncate(time.Second)
	batch := make([]planrun.Run, 0, 1000)
	for n := range pageRuns {
		of := n % size
		at := now.Add(-time.Duration(pageRuns-n) * 26 * time.Second)
		r := planrun.Run{
			UID: types.UID(fmt.Sprintf("20000000-0000-4000-8000-%012d", n)), APIVersion: "batch/v1", Kind: "Job", Namespace: fleetNamespace(of), Name: fmt.Sprintf("job-%06d-%d", of, n),
			Owner:   planrun.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: fmt.Sprintf("job-%06d", of), UID: types.UID(fleetUID(of))},
			Trigger: planrun.Schedule, ScheduledTime: at, Created: at, Started: at.Add(time.Second), Ended: at.Add(time.Duration(2+n%60) * time.Second), Outcome: planrun.Succeeded, Completions: 1, PodsSucceeded: 1,
		}
		switch {
		case n >= pageRuns-50:
			r.Outcome, r.Ended, r.PodsSucceeded, r.PodsRunning = planrun.Active, time.Time{}, 0, 1
		case n%100 == 7:
			r.Outcome, r.Reason, r.PodsSucceeded, r.PodsFailed = planrun.Failed, "BackoffLimitExceeded", 0, 1
		}
		if batch = append(batch, r); len(batch) == cap(batch) {
			if err := j.Record(t.Context(), batch, nil); err != nil {
				t.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// measuredPage is a page of a program of its own.
type measuredPage struct {
	t     *testing.T
	pid   int
	base  string
	token string
}

// startMeasured starts carillon ui and gives it once it has told its address.
func startMeasured(t *testing.T, args ...string) *measuredPage {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, carillon, append([]string{"ui", "--listen", "127.0.0.1:0", "-o", "json"}, args...)...)
	cmd.Env = environment()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("carillon ui said:\n%s", tail(said.String()))
		}
	})
	var told struct {
		URL string `json:"url"`
	}
	if err := json.NewDecoder(out).Decode(&told); err != nil {
		t.Fatalf("the address: %v\n%s", err, said.String())
	}
	at, err := url.Parse(told.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &measuredPage{t: t, pid: cmd.Process.Pid, base: "http://" + at.Host, token: at.Query().Get("token")}
}

func (s *measuredPage) request(ctx context.Context, path string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, nil)
	if err != nil {
		panic(err) // the paths are of this file
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	return r
}

// get asks for a page, and gives how long it took until all of it was there, and what it is.
func (s *measuredPage) get(path string) (took time.Duration, body []byte, code int) {
	s.t.Helper()
	began := time.Now()
	response, err := http.DefaultClient.Do(s.request(context.Background(), path))
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return time.Since(began), body, response.StatusCode
}

// measurePaint has a browser look at the page, if there is one.
func measurePaint(t *testing.T, s *measuredPage) {
	t.Helper()
	cmd := exec.Command("go", "test", "-count=1", "-run", "^TestFirstPaint$", "-v", "../browser")
	cmd.Env = append(os.Environ(), "CARILLON_BIN="+carillon, "CARILLON_PAGE="+s.base+"/?token="+s.token)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("first paint: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if _, said, found := strings.Cut(line, ".go:"); found || strings.Contains(line, "SKIP") {
			fmt.Print(said)
		}
	}
}

func measurePage(t *testing.T, size int) {
	fleet := newFleetServer(size)
	server := httptest.NewServer(fleet)
	t.Cleanup(server.Close) // after that of the program, which watches
	dir := fleetJournal(t, size)
	began := time.Now()
	s := startMeasured(t, "--kubeconfig", kubeconfigFor(t, server.URL), "--journal", dir)
	listening := time.Since(began)
	took, _, code := s.get("/")
	fmt.Printf("\n### %d schedules, %d runs\n\nlistens after %v; `/`, asked for at once, is there %v later (%d)\n\n", size, pageRuns, listening.Round(time.Millisecond), took.Round(time.Millisecond), code)
	schedule := "/schedule/cronjob/" + fleetNamespace(3) + "/job-000003"
	fmt.Println("| page | first | later: median of 10 | slowest | bytes | with gzip |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, path := range []string{"/", "/timeline", "/timeline?zoom=1mo", "/fleet", "/schedules", "/schedules?q=team-7", schedule, "/simulate"} {
		first, body, code := s.get(path)
		var later []time.Duration
		for range 10 {
			took, _, _ := s.get(path)
			later = append(later, took)
		}
		slices.Sort(later)
		var packed bytes.Buffer
		zip := gzip.NewWriter(&packed)
		_, _ = zip.Write(body)
		_ = zip.Close()
		fmt.Printf("| `%s` | %s | %s | %s | %d | %d |", path, milli(first), milli(later[5]), milli(later[9]), len(body), packed.Len())
		if code != http.StatusOK {
			t.Errorf("%s is %d: %.300s", path, code, body)
		}
		fmt.Println()
	}
	fmt.Printf("\nmemory: %d MiB resident, of it %d MiB anonymous; at most %d MiB\n", statusMiB(t, s.pid, "VmRSS"), statusMiB(t, s.pid, "RssAnon"), statusMiB(t, s.pid, "VmHWM"))
	measurePaint(t, s)
	idle := cpuTicks(t, s.pid)
	<-time.After(10 * time.Second)
	fmt.Printf("CPU while somebody has looked and nothing changes: %.1f %% of one core\n\n", float64(cpuTicks(t, s.pid)-idle)/10)

	end := make(chan struct{})
	var changing sync.WaitGroup
	changing.Go(func() { fleet.change(50, end) })
	fmt.Println("| viewers, with 50 changes a second | told, a second and viewer | `/` read, a second and viewer | median | slowest tenth | CPU |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, viewers := range []int{0, 1, 10} {
		s.measureViewers(viewers)
	}
	close(end)
	changing.Wait()
	fmt.Printf("\nmemory after that: %d MiB resident, of it %d MiB anonymous\n", statusMiB(t, s.pid, "VmRSS"), statusMiB(t, s.pid, "RssAnon"))
}

// measureViewers has viewers look at a page as a browser does: it reads the page again whenever it is told of a change.
func (s *measuredPage) measureViewers(count int) {
	s.t.Helper()
	const span = 15 * time.Second
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: count + 1}}
	var told, read atomic.Int64
	var mu sync.Mutex
	var took []time.Duration
	var viewers sync.WaitGroup
	for range count {
		viewers.Go(func() {
			response, err := client.Do(s.request(ctx, "/events"))
			if err != nil {
				return
			}
			defer response.Body.Close()
			for lines := bufio.NewScanner(response.Body); lines.Scan(); {
				if !strings.HasPrefix(lines.Text(), "event: changed") {
					continue
				}
				told.Add(1)
				began := time.Now()
				page, err := client.Do(s.request(ctx, "/"))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, page.Body)
				_ = page.Body.Close()
				read.Add(1)
				mu.Lock()
				took = append(took, time.Since(began))
				mu.Unlock()
			}
		})
	}
	<-time.After(2 * time.Second)
	cpu := cpuTicks(s.t, s.pid)
	told.Store(0)
	read.Store(0)
	<-time.After(span)
	used := float64(cpuTicks(s.t, s.pid)-cpu) / span.Seconds()
	each := func(n int64) float64 { return float64(n) / span.Seconds() / float64(max(1, count)) }
	rates := fmt.Sprintf("%.2f | %.2f", each(told.Load()), each(read.Load()))
	cancel()
	viewers.Wait()
	client.CloseIdleConnections()
	slices.Sort(took)
	middle, slow := "", ""
	if n := len(took); n > 0 {
		middle, slow = milli(took[n/2]), milli(took[n*9/10])
	}
	fmt.Printf("| %d | %s | %s | %s | %.0f %% of one core |\n", count, rates, middle, slow, used)
}

func milli(d time.Duration) string {
	return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
}

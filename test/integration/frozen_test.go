// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clocktesting "k8s.io/utils/clock/testing"

	build "github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/plane"
)

// A leader is stopped in the middle of its life, as by a hypervisor or a debugger, for longer than its lease. Another
// process takes over and serves the scheduled times. When the first one goes on, with caches that show nothing of that
// and timers that have fired, it starts no scheduled time once more, not even one whose Job has ended and been pruned,
// nor beside a Job that Forbid waits for; it makes and deletes no Job any more, and ends (guarantees 1 and 2). Before
// it notices that its lease is gone it may write a status, which is bound to the version that it has read live.
func TestFrozenLeader(t *testing.T) {
	if testing.Short() {
		t.Skip("takes one to two minutes by the wall clock: leases and schedules of processes")
	}
	p := plane.Start(t)
	w := &world{T: t, plane: p, client: p.Client(), namespace: p.Namespace(t), clock: clocktesting.NewFakeClock(time.Now()), patience: 4 * time.Minute}
	first := startProcess(w)
	first.readiness(http.StatusOK)

	never, always := "0 0 1 1 *", "* * * * *"
	cronJobs := map[string]*batchv1.CronJob{}
	for name, cj := range map[string]build.CronJobBuilder{
		"kept":   build.CronJob(w.namespace, "kept").History(100, 100),
		"pruned": build.CronJob(w.namespace, "pruned").History(0, 0),
		"forbid": build.CronJob(w.namespace, "forbid").Policy(batchv1.ForbidConcurrent),
	} {
		cronJobs[name] = w.createCronJob(cj.Schedule(never))
	}
	for name := range cronJobs { // the annotation tells that the first process has it, and has set its timer
		patch := fmt.Appendf(nil, `{"spec":{"schedule":%q}}`, always)
		w.eventually("an edit of "+name, func(ctx context.Context) error {
			_, err := w.client.BatchV1().CronJobs(w.namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "kubectl-edit"})
			return err
		})
		w.noted(name, always)
	}
	second := startProcess(w)
	second.readiness(http.StatusInternalServerError)

	first.watches.shut()
	first.signal(syscall.SIGSTOP)
	second.readiness(http.StatusOK)
	// Within ten seconds after a scheduled time a Job that has come and gone is not covered (lateStart).
	w.eventually("the second process serves a minute, and that is over ten seconds old", func(ctx context.Context) error {
		minute := time.Now().Truncate(time.Minute)
		for _, job := range w.jobsOf(ctx, cronJobs["pruned"]) {
			if len(job.Status.Conditions) == 0 {
				w.clock.SetTime(time.Now())
				w.complete(&job)
			}
		}
		for _, name := range []string{"kept", "pruned"} {
			made := fmt.Sprintf("%s-%d", name, minute.Unix()/60)
			if !slices.Contains(second.made(), made) {
				return fmt.Errorf("%s is not made", made)
			}
		}
		if left := w.jobsOf(ctx, cronJobs["pruned"]); len(left) > 0 {
			return fmt.Errorf("%s is not pruned", left[0].Name)
		}
		if age := time.Since(minute); age < 12*time.Second {
			return fmt.Errorf("%v after the minute", age)
		}
		return nil
	})

	thawed := time.Now()
	first.signal(syscall.SIGCONT)
	select {
	case <-first.ended:
		if exit := new(exec.ExitError); !errors.As(first.err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("the process that was frozen ended with %v, want exit code 1", first.err)
		}
		if said := first.output.String(); !strings.Contains(said, "leader election lost") {
			t.Errorf("it does not say why it ended:\n%s", said)
		}
	case <-time.After(patience):
		t.Error("the process that was frozen goes on")
	}
	for _, write := range first.in(w.namespace, nil) {
		if write.begun.After(thawed) {
			t.Logf("tried when it went on: %v", write)
			if write.accepted() && write.resource == "jobs" {
				t.Errorf("a Job was written after another one took over: %v", write)
			}
		}
	}
	starts := map[string]int{}
	for _, name := range append(first.made(), second.made()...) {
		if starts[name]++; starts[name] > 1 {
			t.Errorf("%s was started %d times", name, starts[name])
		}
	}
	if n := len(w.jobsOf(t.Context(), cronJobs["forbid"])); n != 1 {
		t.Errorf("%d unfinished Jobs under Forbid", n)
	}
	second.readiness(http.StatusOK)
}

// process is `carillon manager` as a process of its own: this binary, which runs the command (TestMain). What it asks
// the API server passes through the test.
type process struct {
	traffic
	world   *world
	command *exec.Cmd
	health  string
	watches gate          // holds back what it is told about CronJobs and Jobs
	ended   chan struct{} // closed when it has ended; then there are:
	err     error
	output  bytes.Buffer
}

// startProcess starts one for CronJobs, with variables besides those of the test.
func startProcess(w *world, variables ...string) *process {
	w.Helper()
	return startProcessWith(w, []string{"--controllers", "cronjob"}, variables...)
}

// startProcessWith starts one with these arguments.
func startProcessWith(w *world, arguments []string, variables ...string) *process {
	w.Helper()
	p := &process{world: w, health: freeAddr(w.T), ended: make(chan struct{})}
	config := p.on(w.plane.Config())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return told{next, &p.watches} })
	server, err := url.Parse(config.Host)
	if err != nil {
		w.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		w.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(server) }, Transport: transport, FlushInterval: -1,
	})
	path := filepath.Join(w.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"c": {Server: proxy.URL}},
		Contexts: map[string]*clientcmdapi.Context{"c": {Cluster: "c"}}, CurrentContext: "c",
	}, path); err != nil {
		w.Fatal(err)
	}
	executable, err := os.Executable()
	if err != nil {
		w.Fatal(err)
	}
	p.command = exec.Command(executable, append(arguments, "--kubeconfig", path, "--leader-elect", "--leader-elect-namespace", w.namespace,
		"--metrics-bind-address", "0", "--health-probe-bind-address", p.health)...)
	p.command.Env = append(append(os.Environ(), processVariable+"=manager"), variables...)
	p.command.Stdout, p.command.Stderr = &p.output, &p.output
	if err := p.command.Start(); err != nil {
		w.Fatal(err)
	}
	go func() {
		p.err = p.command.Wait()
		close(p.ended)
	}()
	w.Cleanup(func() {
		_ = p.command.Process.Kill()
		<-p.ended
		p.watches.open()
		proxy.CloseClientConnections()
		proxy.Close()
		if w.Failed() {
			w.Logf("a process said:\n%s", &p.output)
		}
	})
	return p
}

func (p *process) signal(s os.Signal) {
	p.world.Helper()
	if err := p.command.Process.Signal(s); err != nil {
		p.world.Fatal(err)
	}
}

// readiness waits until /readyz answers with that.
func (p *process) readiness(want int) {
	p.world.Helper()
	p.world.eventually(fmt.Sprintf("readiness %d", want), func(context.Context) error {
		select {
		case <-p.ended:
			p.world.Fatal("the process has ended")
		default:
		}
		got, body, err := get("http://" + p.health + "/readyz?verbose")
		if err == nil && got != want {
			err = fmt.Errorf("%d %s", got, body)
		}
		return err
	})
}

// made are the names of the Jobs that the process made.
func (p *process) made() (names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.writes {
		if w.verb == "create" && w.resource == "jobs" && w.accepted() {
			names = append(names, w.name)
		}
	}
	return names
}

// told holds back what watches of CronJobs and Jobs tell.
type told struct {
	next http.RoundTripper
	gate *gate
}

func (t told) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if err == nil && r.URL.Query().Get("watch") != "" && strings.HasPrefix(r.URL.Path, "/apis/batch/") {
		resp.Body = &gated{ReadCloser: resp.Body, gate: t.gate, closed: make(chan struct{})}
	}
	return resp, err
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/carillon-dev/carillon/internal/manager"
	build "github.com/carillon-dev/carillon/internal/testkit/make"
)

// laggingWatches holds back what watches of CronJobs, Timetables and Jobs tell, and notes what was asked.
type laggingWatches struct {
	gate gate
	// told are the answers so far.
	mu   sync.Mutex
	told bytes.Buffer
	// asked counts how often one CronJob, Timetable or Job was listed live: how new the server is.
	asked atomic.Int32
}

func (l *laggingWatches) on(config *rest.Config) *rest.Config {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return lagging{next, l} })
	return config
}

type lagging struct {
	next http.RoundTripper
	of   *laggingWatches
}

func (l lagging) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(r)
	if err != nil || r.Method != http.MethodGet || !strings.HasPrefix(r.URL.Path, "/apis/batch") {
		return resp, err
	}
	query := r.URL.Query()
	if query.Get("limit") == "1" {
		l.of.asked.Add(1)
	}
	if query.Get("watch") != "" {
		resp.Body = &gated{ReadCloser: &hearing{resp.Body, l.of}, gate: &l.of.gate, closed: make(chan struct{})}
	} else {
		resp.Body = &hearing{resp.Body, l.of}
	}
	return resp, err
}

type hearing struct {
	io.ReadCloser
	of *laggingWatches
}

func (h *hearing) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.told.Write(p[:n])
	return n, err
}

// show makes a suspended CronJob and a Job of this name, and waits until both were told of.
func (l *laggingWatches) show(w *world, name string) {
	w.Helper()
	w.createCronJob(build.CronJob(w.namespace, "cronjob-"+name).Suspend(true))
	if _, err := w.client.BatchV1().Jobs(w.namespace).Create(w.Context(), build.Job(w.namespace, "job-"+name).New(), metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	w.eventually(name+" is told of", func(context.Context) error { return l.toldOf("cronjob-"+name, "job-"+name) })
}

// toldOf says which of the objects was not told of; nil if all were.
func (l *laggingWatches) toldOf(objects ...string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, object := range objects {
		if !bytes.Contains(l.told.Bytes(), []byte(object)) {
			return errors.New(object + " is not")
		}
	}
	return nil
}

// A manager that takes over in the second in which a run has come and gone, with caches that show nothing of it, starts
// it no second time: it waits until its caches are as new as its leadership (timetable.md F2, guarantee 1).
func TestTakeoverWithOldCaches(t *testing.T) {
	w := newWorld(t, manager.Options{Controllers: []string{manager.TTLAfterFinished}}) // only for its namespace and clock
	var firstWrites, secondWrites traffic
	watches := &laggingWatches{}
	options := func(config *rest.Config) manager.Options {
		return manager.Options{Config: config, Clock: w.clock, Zone: time.UTC, Controllers: []string{manager.CronJob}, LeaderElect: true, LeaderElectionNamespace: w.namespace}
	}
	stopFirst := w.run(options(firstWrites.on(w.plane.Config())))
	second, _ := w.launch(options(watches.on(secondWrites.on(w.plane.Config()))))

	cj := w.createCronJob(build.CronJob(w.namespace, "tick").Schedule("* * * * *").History(0, 0))
	watches.show(w, "first-"+w.namespace)  // perhaps in a list,
	watches.show(w, "second-"+w.namespace) // but this one after it: the second one's caches are filled
	watches.gate.shut()

	w.pass(1)
	for _, job := range w.runs(cj, 1, 1) {
		w.complete(&job)
	}
	w.runs(cj, 0, 0)
	stopFirst()
	w.eventually("the second one leads, and asks how new its caches have to be", func(context.Context) error {
		select {
		case <-second.Ready():
		default:
			return errors.New("it does not lead")
		}
		if n := watches.asked.Load(); n < 2 {
			return errors.New("it does not ask")
		}
		return nil
	})
	watches.gate.open()
	w.pass(1)
	w.runs(cj, 1, 1)

	var made []string
	for _, by := range []*traffic{&firstWrites, &secondWrites} {
		for _, write := range by.in(w.namespace, func(w write) bool { return w.verb == "create" && w.resource == "jobs" && w.accepted() }) {
			made = append(made, write.name)
		}
	}
	if len(made) != 2 || made[0] == made[1] {
		t.Errorf("made %v, want one Job for each of two scheduled times", made)
	}
}

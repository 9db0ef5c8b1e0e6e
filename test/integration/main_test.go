// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"runtime/pprof"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/manager/command"
	"github.com/carillon-dev/carillon/internal/testkit/plane"
)

func TestMain(m *testing.M) {
	if os.Getenv(processVariable) != "" {
		if address := os.Getenv(holdVariable); address != "" {
			holdStarts(address)
		}
		c := command.New("manager")
		c.SetArgs(os.Args[1:])
		if err := c.Execute(); err != nil {
			os.Exit(1)
		}
		return
	}
	plane.Main(m)
}

// processVariable is set for a process that a test starts: this binary is the manager then.
const processVariable = "CARILLON_INTEGRATION_PROCESS"

// patience bounds every wait for the server or a controller; it is reached only when something is wrong.
const patience = time.Minute

// world is a namespace of the plane, with a manager that serves it by a clock of the test's own.
type world struct {
	*testing.T
	plane     *plane.Plane
	client    kubernetes.Interface
	namespace string
	clock     *clocktesting.FakeClock
	patience  time.Duration // 0: the usual
}

// newWorld starts a manager and waits until it is ready. The clock begins at the present, because the server stamps
// objects with it.
func newWorld(t *testing.T, options manager.Options) *world {
	t.Helper()
	p := plane.Start(t)
	w := &world{T: t, plane: p, client: p.Client(), namespace: p.Namespace(t), clock: clocktesting.NewFakeClock(time.Now())}
	if options.Config == nil {
		options.Config = p.Config()
	}
	if options.Clock == nil {
		options.Clock = w.clock
	}
	options.Zone = time.UTC
	w.run(options)
	return w
}

// in gives the world to a subtest.
func (w *world) in(t *testing.T) *world {
	sub := *w
	sub.T = t
	return &sub
}

// run starts a manager, waits until it is ready, and returns a function that stops it and waits for its end.
func (w *world) run(options manager.Options) (stop func()) {
	w.Helper()
	m, stop := w.launch(options)
	select {
	case <-m.Ready():
	case <-time.After(patience):
		w.Fatal("the manager does not become ready")
	}
	return stop
}

// launch starts a manager.
func (w *world) launch(options manager.Options) (m *manager.Manager, stop func()) {
	w.Helper()
	if options.Logger.GetSink() == nil {
		options.Logger = testr.NewWithInterface(quiet{w}, testr.Options{})
	}
	m, err := manager.New(options)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				var all bytes.Buffer // what has not ended can still be seen
				_ = pprof.Lookup("goroutine").WriteTo(&all, 2)
				w.Errorf("the manager ended with: %v\n%s", err, &all)
			}
		})
	}
	w.Cleanup(stop)
	return m, stop
}

// quiet keeps logs that come after the end of the test away from it.
type quiet struct{ *world }

func (q quiet) Log(args ...any) {
	if q.Context().Err() == nil {
		q.T.Log(args...)
	}
}

// eventually waits until check returns nil, and fails with its last error.
func (w *world) eventually(what string, check func(ctx context.Context) error) {
	w.Helper()
	var last error
	every := 5 * time.Millisecond
	if w.patience > 0 { // where much has to be waited for, looking costs much too
		every = 100 * time.Millisecond
	}
	err := wait.PollUntilContextTimeout(w.Context(), every, max(patience, w.patience), true, func(context.Context) (bool, error) {
		last = check(w.Context())
		return last == nil, nil
	})
	if err != nil {
		w.Fatalf("%s: %v", what, errors.Join(err, last))
	}
}

// jobsOf lists the Jobs that the CronJob controls.
func (w *world) jobsOf(ctx context.Context, owner *batchv1.CronJob) []batchv1.Job {
	w.Helper()
	list, err := w.client.BatchV1().Jobs(w.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	var jobs []batchv1.Job
	for _, j := range list.Items {
		if metav1.IsControlledBy(&j, owner) {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// complete does what a Job controller does when the Job has succeeded.
func (w *world) complete(job *batchv1.Job) {
	w.Helper()
	now := metav1.NewTime(w.clock.Now().Truncate(time.Second))
	started := now
	if job.Status.StartTime != nil {
		started = *job.Status.StartTime
	}
	done := job.DeepCopy()
	done.Status.StartTime, done.Status.CompletionTime = &started, &now
	done.Status.Succeeded = 1
	done.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	for _, typ := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		done.Status.Conditions = append(done.Status.Conditions, batchv1.JobCondition{Type: typ, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	if _, err := w.client.BatchV1().Jobs(w.namespace).UpdateStatus(w.Context(), done, metav1.UpdateOptions{}); err != nil {
		w.Fatalf("complete Job %s: %v", job.Name, err)
	}
}

// json encodes an object.
func (w *world) json(obj any) []byte {
	w.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		w.Fatal(err)
	}
	return data
}

func quantity(s string) *resource.Quantity {
	q := resource.MustParse(s)
	return &q
}

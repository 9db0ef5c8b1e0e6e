// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/journal/ended"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Journal is what is written to: a journal.Journal.
type Journal interface {
	Record(ctx context.Context, runs []run.Run, omissions []run.Omission) error
	RecordAttempt(ctx context.Context, a run.Attempt, log io.Reader) error
}

// Past is what is read of a journal: a journal.Reader.
type Past interface {
	Runs(ctx context.Context, q journal.Query) ([]run.Run, error)
	Attempts(ctx context.Context, uid types.UID) ([]run.Attempt, error)
}

// Ended is where the node leaves what is known of containers that have ended: an ended.Dir.
type Ended interface {
	Added() <-chan struct{}
	List() []string
	Read(id string) (ended.Container, error)
	Log(id string) (io.ReadCloser, error)
	Remove(id string) error
	SetAside(id string, why error)
}

var (
	_ Journal = (*journal.Journal)(nil)
	_ Past    = (*journal.Reader)(nil)
)

// Options configure a Recorder.
type Options struct {
	// Client reaches the API server; see NewClient.
	Client client.WithWatch
	// Journal is written to, and Past reads what is in it.
	Journal Journal
	Past    Past
	// Ended has the containers that have ended. Nil: the node leaves nothing, and LogsThroughAPI is used if it is
	// there.
	Ended Ended
	// LogsThroughAPI opens the log of a container with the given choices; see Logs. Nil: logs are not asked for.
	LogsThroughAPI func(ctx context.Context, namespace, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error)
	// Namespace has the only runs that are recorded, "" for all.
	Namespace string
	// LookForKinds is how often kinds are looked for that are not served; 0: when a definition changes, which must be
	// readable then.
	LookForKinds time.Duration
	// Reached is told when the API server cannot be reached any more, and with nil when it is again. Nil means nobody
	// listens.
	Reached func(err error)
	// Logger is where it logs what went wrong; the zero Logger is silent.
	Logger logr.Logger
	// Warn gets a line for the user, each once until what it tells of is over. Nil means nobody listens.
	Warn func(string)
}

// NewClient is a client for Options that reads built-in kinds in their compact encoding. The configuration is copied.
func NewClient(config *rest.Config) (client.WithWatch, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = "", "" // what suits each kind
	config.QPS = -1
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}

// Logs opens logs through the API server, for Options.LogsThroughAPI.
func Logs(config *rest.Config) (func(ctx context.Context, namespace, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error), error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, namespace, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
		return clients.CoreV1().Pods(namespace).GetLogs(pod, o).Stream(ctx)
	}, nil
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, batchv1.AddToScheme, kind.Timetable{}.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("recorder: %w", err)
		}
	}
	return scheme, nil
}

// Recorder writes what happens to runs into a journal. It is a manager.Witness.
type Recorder struct {
	o Options
	// look asks for another look at runs whose objects may have gone unseen.
	look chan struct{}
	// named asks for another look at containers whose run was not known by its name.
	named chan struct{}
	// listedOnce is closed when all kinds that are served have been listed, takenOnce when what the node had left
	// before has been taken in then.
	listedOnce, takenOnce chan struct{}
	// wake has a token when there is something to write.
	wake  chan struct{}
	kinds kinds

	mu        sync.Mutex
	known     map[types.UID]*known
	jobNames  map[types.NamespacedName]named // of Volcano's Jobs, whose Pods tell no UID
	pending   queue
	asked     map[types.UID]time.Time
	stopping  map[types.UID]stop
	swept     time.Time          // when old entries of asked and stopping were dropped
	late      map[types.UID]bool // runs that have attempts which came when the run was not known
	unwritten map[types.UID]int  // logs that are being asked for, by run
	// away: the API server could not be reached when it was asked last.
	away bool
	// unavailable: the journal could not be written to when it was tried last. ended: nothing is recorded any more.
	unavailable, ended bool
}

// New makes a Recorder. Nothing runs before Run.
func New(o Options) (*Recorder, error) {
	if o.Client == nil || o.Journal == nil || o.Past == nil {
		return nil, errors.New("recorder: a client, a journal and what is in it must be given")
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Reached == nil {
		o.Reached = func(error) {}
	}
	r := &Recorder{
		o: o, look: make(chan struct{}, 1), wake: make(chan struct{}, 1), known: map[types.UID]*known{},
		jobNames: map[types.NamespacedName]named{}, asked: map[types.UID]time.Time{}, stopping: map[types.UID]stop{},
		unwritten: map[types.UID]int{}, late: map[types.UID]bool{}, named: make(chan struct{}, 1),
		listedOnce: make(chan struct{}), takenOnce: make(chan struct{}),
	}
	r.kinds.recorder, r.kinds.changed = r, make(chan struct{}, 1)
	r.kinds.wanted, r.kinds.omitted = map[string]*wanted{}, map[types.UID][]uint64{}
	r.pending.runs = map[types.UID]*run.Run{}
	return r, nil
}

// endTimeout bounds what Run does after its context has ended. What is not in the journal then the next Run finds, but
// for what went meanwhile.
const endTimeout = 2 * time.Second

// Run records until ctx ends, and then what it has not written yet, for two seconds at most. It may be called once.
func (r *Recorder) Run(ctx context.Context) {
	writing, stopWriting := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWriting()
	var watching, wrote sync.WaitGroup
	wrote.Go(func() { r.write(writing) })
	watching.Go(func() { r.kinds.follow(ctx) })
	watching.Go(func() { r.findGone(ctx) })
	if r.o.Ended != nil {
		watching.Go(func() { r.takeContainers(ctx) })
	} else {
		close(r.takenOnce)
	}
	watching.Wait()

	r.mu.Lock()
	r.ended = true // nobody waits for it from here on
	r.mu.Unlock()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if r.o.Ended != nil && isClosed(r.listedOnce) {
		if err := r.takeAll(last); err != nil {
			r.o.Logger.Info("Containers that have ended wait for the next start", "reason", err.Error())
		}
	}
	stopWriting()
	wrote.Wait()
	if err := r.writeRest(last); err != nil {
		r.o.Logger.Error(err, "The end of some runs is not in the journal")
	}
}

// signal puts a token into a channel that holds one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// pause waits, and tells whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// backoff is how long to wait after failures in a row.
type backoff struct{ next time.Duration }

const (
	firstBackoff = 250 * time.Millisecond
	maxBackoff   = 30 * time.Second
)

func (b *backoff) after() time.Duration {
	b.next = min(maxBackoff, max(firstBackoff, 2*b.next))
	return b.next
}

func (b *backoff) reset() { b.next = 0 }

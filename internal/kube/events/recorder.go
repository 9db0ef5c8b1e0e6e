// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/carillon-dev/carillon/internal/kube/loadgate"
)

const (
	// writers is how many events are written at the same time. Notes about one object go to one writer, so that
	// they are told in order.
	writers = 4
	// queueLimit bounds the events that wait for one writer; beyond it new ones are counted and dropped.
	queueLimit = 20000
	// politeness bounds how long events wait for urgent work. When it goes on after that, at least batch events are
	// written, and a quarter of those that wait: under a load that does not end they are as many as come.
	politeness = 5 * time.Second
	batch      = 8
	// farewell is how long a stopping Recorder goes on writing what is queued.
	farewell = 3 * time.Second
	// rememberedObjects bounds the objects for which Once is remembered, rememberedCauses the causes of each.
	rememberedObjects = 1 << 16
	rememberedCauses  = 64
)

var dropped = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "carillon_events_dropped_total",
	Help: "Events that were not written, by cause: the queue was full, or the API server refused them for good.",
}, []string{"cause"})

func init() { metrics.Registry.MustRegister(dropped) }

// Options configure a Recorder.
type Options struct {
	Sink      Sink
	Component string         // source component of the events, such as "cronjob-controller"
	Host      string         // source host; may be empty
	Gate      *loadgate.Gate // events wait for urgent work; nil: never
	Clock     clock.Clock    // nil: the real one
	Logger    logr.Logger
}

// Recorder queues events and writes them as events. All methods may be called by several goroutines at once. It is
// a runnable of a controller-runtime manager; events made before Start wait for it.
type Recorder struct {
	options Options
	shards  [writers]chan Event

	mu   sync.Mutex
	said *lru.Cache // types.UID -> *causes
}

// NewRecorder returns a Recorder that writes nothing before Start.
func NewRecorder(options Options) *Recorder {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	r := &Recorder{options: options, said: lru.New(rememberedObjects)}
	for i := range r.shards {
		r.shards[i] = make(chan Event, queueLimit)
	}
	return r
}

// Event queues n, unless its cause has been told already, and returns at once. A nil Recorder says nothing.
func (r *Recorder) Event(n Event) {
	if r == nil || (n.Once != "" && r.saidAlready(n)) {
		return
	}
	n.Message = cut(n.Message, maxMessage)
	n.at = r.options.Clock.Now()
	h := fnv.New32a()
	h.Write([]byte(n.About.UID))
	h.Write([]byte(n.About.Name))
	select {
	case r.shards[h.Sum32()%writers] <- n:
	default:
		dropped.WithLabelValues("queue_full").Inc()
	}
}

// Forget drops what is remembered about an object that is gone.
func (r *Recorder) Forget(uid types.UID) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said.Remove(uid)
}

func (r *Recorder) saidAlready(n Event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, _ := r.said.Get(n.About.UID)
	said, ok := known.(*causes)
	if !ok {
		said = &causes{}
		r.said.Add(n.About.UID, said)
	}
	return said.has(cause{n.Reason, n.Once})
}

type cause struct{ reason, once string }

// causes are the last ones that were told about one object.
type causes struct {
	told []cause
	next int
}

// has reports whether c was told, and remembers it.
func (cs *causes) has(c cause) bool {
	if slices.Contains(cs.told, c) {
		return true
	}
	if len(cs.told) < rememberedCauses {
		cs.told = append(cs.told, c)
		return false
	}
	cs.told[cs.next] = c
	cs.next = (cs.next + 1) % rememberedCauses
	return false
}

// NeedLeaderElection tells the manager that a Recorder runs without leadership too.
func (*Recorder) NeedLeaderElection() bool { return false }

// Start writes events until ctx ends, then what is queued for a few seconds more.
func (r *Recorder) Start(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, events := range r.shards {
		w := newWriter(r.options)
		wg.Go(func() { r.run(ctx, w, events) })
	}
	wg.Wait()
	return nil
}

func (r *Recorder) run(ctx context.Context, w *writer, events <-chan Event) {
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
			defer cancel()
			w.drain(last, events, queueLimit)
			return
		case n := <-events:
			calm := r.options.Gate.Wait(ctx, politeness)
			w.write(ctx, n)
			if !calm {
				w.drain(ctx, events, max(batch, len(events)/4))
			}
		}
	}
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/carillon-dev/carillon/internal/kube/loadgate"
)

const (
	// writers is how many events are written at the same time. Events about one object go to one writer, so that they
	// are written in order.
	writers = 4
	// queueLimit bounds the events that wait for one writer; beyond it new ones are counted and dropped.
	queueLimit = 20000
	// maxEventDelay bounds how long events wait for urgent work. When it goes on after that, at least minBatch events
	// are written, and a quarter of those that wait: under a load that does not end they are as many as come.
	maxEventDelay = 5 * time.Second
	minBatch      = 8
	// drainTimeout is how long a stopping Recorder goes on writing what is queued.
	drainTimeout = 3 * time.Second
	// rememberedObjects bounds the objects whose keys are remembered, rememberedKeys the keys of each.
	rememberedObjects = 1 << 16
	rememberedKeys    = 64
)

var dropped = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "carillon_events_dropped_total",
	Help: "Events that were not written, by cause: the queue was full, or the API server refused them for good.",
}, []string{"cause"})

func init() { metrics.Registry.MustRegister(dropped) }

// Options configure a Recorder.
type Options struct {
	Sink      Sink           // nil: the API server of the manager that Add is given
	Component string         // source component of the events, such as "cronjob-controller"
	Host      string         // source host; may be empty
	Gate      *loadgate.Gate // events wait for urgent work; nil: never
	Clock     clock.Clock    // nil: the real one
	Logger    logr.Logger
}

// Recorder queues events and writes them. All methods may be called by several goroutines at once. It is a runnable of
// a controller-runtime manager; events made before Start wait for it.
type Recorder struct {
	options Options
	shards  [writers]*queue

	mu        sync.Mutex
	published *lru.Cache // types.UID -> *dedupKeys
}

// Add returns a new Recorder that mgr runs.
func Add(mgr manager.Manager, options Options) (*Recorder, error) {
	if options.Sink == nil {
		sink, err := newSink(mgr.GetConfig(), mgr.GetHTTPClient())
		if err != nil {
			return nil, fmt.Errorf("client for events: %w", err)
		}
		options.Sink = sink
	}
	r := NewRecorder(options)
	return r, mgr.Add(r)
}

// NewRecorder returns a Recorder that writes nothing before Start.
func NewRecorder(options Options) *Recorder {
	options.Clock = cmp.Or[clock.Clock](options.Clock, clock.RealClock{})
	r := &Recorder{options: options, published: lru.New(rememberedObjects)}
	for i := range r.shards {
		r.shards[i] = newQueue()
	}
	return r
}

// Event queues e, unless it repeats one of the same key, and returns at once. A nil Recorder does nothing.
func (r *Recorder) Event(e Event) { r.EventIfNew(e) }

// EventIfNew is Event, and reports whether e repeats none.
func (r *Recorder) EventIfNew(e Event) (isNew bool) {
	if r == nil || (e.DedupKey != "" && r.repeats(e)) {
		return false
	}
	e.Message = cut(e.Message, maxMessage)
	e.at = r.options.Clock.Now()
	h := fnv.New32a()
	h.Write([]byte(e.About.UID))
	h.Write([]byte(e.About.Name))
	if !r.shards[h.Sum32()%writers].add(e) {
		dropped.WithLabelValues("queue_full").Inc()
	}
	return true
}

// Forget drops what is remembered about an object that is gone.
func (r *Recorder) Forget(uid types.UID) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.published.Remove(uid)
}

// repeats reports whether an event of the same reason and key was made, and remembers this one.
func (r *Recorder) repeats(e Event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, _ := r.published.Get(e.About.UID)
	remembered, ok := known.(*dedupKeys)
	if !ok {
		remembered = &dedupKeys{}
		r.published.Add(e.About.UID, remembered)
	}
	return remembered.has(hashOf(e.Reason, e.DedupKey))
}

// seed makes hashes that nobody can choose keys for.
var seed = maphash.MakeSeed()

// hashOf stands for the reason and key of an event, whose text is several times as long: keys are remembered of tens of
// thousands of objects for as long as the process lives. Once in 10^17 events a hash is that of another key, and the
// event is not written.
func hashOf(reason, key string) uint64 {
	return maphash.Comparable(seed, [2]string{reason, key})
}

// dedupKeys are the hashes of the last ones of the events about one object.
type dedupKeys struct {
	ring []uint64
	next int
}

// has reports whether k is among the keys, and remembers it.
func (ks *dedupKeys) has(k uint64) bool {
	if slices.Contains(ks.ring, k) {
		return true
	}
	if len(ks.ring) < rememberedKeys {
		ks.ring = append(ks.ring, k)
		return false
	}
	ks.ring[ks.next] = k
	ks.next = (ks.next + 1) % rememberedKeys
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

func (r *Recorder) run(ctx context.Context, w *writer, events *queue) {
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
			defer cancel()
			w.drain(last, events, queueLimit)
			return
		case <-events.arrived:
		}
		e, ok := events.take()
		if !ok {
			continue
		}
		open := r.options.Gate.WaitIdle(ctx, maxEventDelay)
		w.write(ctx, e)
		if !open {
			w.drain(ctx, events, max(minBatch, events.len()/4))
		}
	}
}

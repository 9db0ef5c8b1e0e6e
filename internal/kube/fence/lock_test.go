// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

var errLost = errors.New("no answer")

func record(holder string) resourcelock.LeaderElectionRecord {
	return resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: 15, RenewTime: metav1.Now()}
}

// identity is a lock that only has a name.
type identity string

func (i identity) Identity() string                                              { return string(i) }
func (identity) Describe() string                                                { return "a lease" }
func (identity) RecordEvent(string)                                              {}
func (identity) Create(context.Context, resourcelock.LeaderElectionRecord) error { return nil }
func (identity) Update(context.Context, resourcelock.LeaderElectionRecord) error { return nil }
func (identity) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	panic("not asked for")
}

// server holds a lease, and may be out of reach.
type server struct {
	mu     sync.Mutex
	lease  *resourcelock.LeaderElectionRecord
	raw    byte // changes with each write
	broken error
}

func (s *server) locked(f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return s.broken
	}
	return f()
}

func (s *server) breakDown(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = err
}

func (s *server) holder() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil {
		return ""
	}
	return s.lease.HolderIdentity
}

// leaseOf is the lock of one process on a lease of the server.
type leaseOf struct {
	identity
	server *server
	seen   byte
}

func (l *leaseOf) Get(context.Context) (record *resourcelock.LeaderElectionRecord, raw []byte, err error) {
	err = l.server.locked(func() error {
		if l.server.lease == nil {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "x")
		}
		copied := *l.server.lease
		record, raw, l.seen = &copied, []byte{l.server.raw}, l.server.raw
		return nil
	})
	return record, raw, err
}

func (l *leaseOf) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, r)
}

func (l *leaseOf) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.server.locked(func() error {
		if l.server.raw != l.seen {
			return errors.New("conflict")
		}
		l.server.raw++
		l.server.lease, l.seen = &r, l.server.raw
		return nil
	})
}

// inBubble is a clock of the bubble that the test runs in.
func inBubble() func() Instant {
	start := time.Now()
	return func() Instant { return Instant(time.Hour + time.Since(start)) }
}

// A renewal counts from its beginning, and only if it was answered; whoever sees that another one holds the lease sends
// nothing more.
func TestRenewals(t *testing.T) {
	may := func(f *Fence) bool { return f.check(decision{made: true, at: f.now()}) == nil }
	for name, test := range map[string]struct {
		do   func(t *testing.T, s *server, l resourcelock.Interface, clock *hands)
		want bool
	}{
		"none": {do: func(*testing.T, *server, resourcelock.Interface, *hands) {}},
		"created": {do: func(t *testing.T, _ *server, l resourcelock.Interface, _ *hands) {
			must(t, l.Create(t.Context(), record("us")))
		}, want: true},
		"renewed": {do: func(t *testing.T, _ *server, l resourcelock.Interface, clock *hands) {
			must(t, l.Create(t.Context(), record("us")))
			clock.pass(4 * time.Second)
			must(t, l.Update(t.Context(), record("us")))
			clock.pass(4 * time.Second)
		}, want: true},
		"refused by the server": {do: func(t *testing.T, s *server, l resourcelock.Interface, clock *hands) {
			must(t, l.Create(t.Context(), record("us")))
			clock.pass(4 * time.Second)
			s.breakDown(errLost)
			if err := l.Update(t.Context(), record("us")); !errors.Is(err, errLost) {
				t.Error(err)
			}
			clock.pass(4 * time.Second)
		}},
		"read, and still ours": {do: func(t *testing.T, _ *server, l resourcelock.Interface, _ *hands) {
			must(t, l.Create(t.Context(), record("us")))
			_, _, err := l.Get(t.Context())
			must(t, err)
		}, want: true},
		"read, and another's": {do: func(t *testing.T, s *server, l resourcelock.Interface, _ *hands) {
			must(t, l.Create(t.Context(), record("us")))
			thief := record("thief")
			s.lease = &thief
			_, _, err := l.Get(t.Context())
			must(t, err)
		}},
		"given up": {do: func(t *testing.T, _ *server, l resourcelock.Interface, _ *hands) {
			must(t, l.Create(t.Context(), record("us")))
			must(t, l.Update(t.Context(), record("")))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			clock, s := newHands(), &server{}
			f := New(clock.now)
			test.do(t, s, f.Lock(&leaseOf{identity: "us", server: s}), clock)
			if got := may(f); got != test.want {
				t.Errorf("may send: %v, want %v", got, test.want)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The lease is given up when nothing that was sent can have an effect any more: at once after answers, five seconds
// after the last request without one; and not at all if there is no time for that.
func TestGivingUpTheLease(t *testing.T) {
	for name, test := range map[string]struct {
		requests func(f *Fence)
		limit    time.Duration
		want     time.Duration // until it is given up; 0 with expires: it is not
		expires  bool
	}{
		"nothing was sent": {requests: func(*Fence) {}},
		"answered":         {requests: func(f *Fence) { f.send()(true) }},
		"not answered":     {requests: func(f *Fence) { f.send()(false) }, want: 5 * time.Second},
		"not answered some time ago": {requests: func(f *Fence) {
			f.send()(false)
			<-time.After(2 * time.Second)
		}, want: 3 * time.Second},
		"not answered, and an answered one after it": {requests: func(f *Fence) {
			f.send()(false)
			<-time.After(time.Second)
			f.send()(true)
		}, want: 4 * time.Second},
		"answered meanwhile": {requests: func(f *Fence) {
			end := f.send()
			time.AfterFunc(time.Second, func() { end(true) })
		}, want: time.Second},
		"not answered meanwhile": {requests: func(f *Fence) {
			end := f.send()
			time.AfterFunc(time.Second, func() { end(false) })
		}, want: 5 * time.Second},
		"no time to wait": {requests: func(f *Fence) { f.send()(false) }, limit: 4 * time.Second, want: 4 * time.Second, expires: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				f := New(inBubble())
				l := f.Lock(&leaseOf{identity: "us", server: s})
				must(t, l.Create(t.Context(), record("us")))
				test.requests(f)
				if test.limit == 0 {
					test.limit = time.Minute
				}
				ctx, cancel := context.WithTimeout(t.Context(), test.limit)
				defer cancel()
				begun := time.Now()
				err := l.Update(ctx, record(""))
				if took := time.Since(begun); took < test.want || took > test.want+settleRecheck || (err != nil) != test.expires {
					t.Errorf("after %s: %v, want it after %s", took, err, test.want)
				}
				if given := s.holder() == ""; given == test.expires {
					t.Errorf("given up: %v", given)
				}
				if f.check(decision{made: true, at: f.now()}) == nil {
					t.Error("it goes on sending")
				}
			})
		})
	}
}

// send is a request that is on its way.
func (f *Fence) send() (end func(answered bool)) {
	if refusal := f.check(decision{made: true, at: f.now()}); refusal != nil {
		panic(refusal)
	}
	return f.begin()
}

// With client-go's leader election: a leader whose renewals fail sends nothing from five seconds after the last one on,
// gives up ten seconds after it, and nobody else leads before fifteen (TT-191).
func TestLeaderElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		f := New(inBubble())
		var gaveUp, successor time.Time
		led := make(chan struct{})
		run := func(l resourcelock.Interface, started func(context.Context), stopped func()) {
			e, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
				Lock: l, LeaseDuration: LeaseDuration, RenewDeadline: RenewDeadline, RetryPeriod: RetryPeriod, ReleaseOnCancel: true,
				Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: started, OnStoppedLeading: stopped},
			})
			must(t, err)
			e.Run(ctx)
		}
		var running sync.WaitGroup
		running.Go(func() {
			run(f.Lock(&leaseOf{identity: "us", server: s}), func(context.Context) { close(led) }, func() { gaveUp = time.Now() })
		})
		<-led
		other := New(inBubble())
		running.Go(func() {
			run(other.Lock(&leaseOf{identity: "other", server: s}), func(context.Context) { successor = time.Now() }, func() {})
		})
		may := func(f *Fence) bool { return f.check(decision{made: true, at: f.now()}) == nil }
		for range 100 {
			<-time.After(RetryPeriod / 2)
			if !may(f) || may(other) {
				t.Fatalf("in good health: the leader may %v, the other one %v", may(f), may(other))
			}
		}
		s.breakDown(errLost)
		broken := time.Now()
		var last time.Time
		for time.Since(broken) < 3*LeaseDuration {
			if may(f) {
				last = time.Now()
			}
			if time.Since(broken) > LeaseDuration+RetryPeriod {
				s.breakDown(nil)
			}
			<-time.After(10 * time.Millisecond)
		}
		stop()
		running.Wait()
		if d := last.Sub(broken); d > MaxRenewalAge || d < MaxRenewalAge-2*RetryPeriod {
			t.Errorf("it stopped sending %s after the server was gone", d)
		}
		if d := gaveUp.Sub(broken); d > RenewDeadline+2*RetryPeriod || !gaveUp.After(last) {
			t.Errorf("it gave up %s after the server was gone", d)
		}
		if d := successor.Sub(last); d < LeaseDuration-MaxRenewalAge {
			t.Errorf("the successor led %s after the last request", d)
		}
	})
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/carillon-dev/carillon/internal/ui/page"
)

// counter gives how often a key was asked for, after some time.
type counter struct {
	mu    sync.Mutex
	calls map[string]int
	takes time.Duration
	fails bool
}

func (c *counter) produce(ctx context.Context, key string) (int, error) {
	select {
	case <-time.After(c.takes):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[key]++
	if c.fails {
		return 0, errors.New("it fails")
	}
	return c.calls[key], nil
}

// siteOf is one that lives as long as the test.
func siteOf(t *testing.T) *page.Site {
	return &page.Site{Clock: time.Now, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Life: t.Context()}
}

// expect asks for a key; a value of 0 is one that is not there.
func expect(t *testing.T, k *kept[string, int], key string, within time.Duration, want int) {
	t.Helper()
	got, ready, err := k.get(key, within)
	if err != nil || ready != (want != 0) || got != want {
		t.Errorf("%s after %s: got %d, %t, %v, want %d", key, within, got, ready, err, want)
	}
}

func TestKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{calls: map[string]int{}, takes: 2 * time.Second}
		k := newKept(siteOf(t), time.Minute, c.produce)
		expect(t, k, "a", time.Second, 0)
		time.Sleep(1500 * time.Millisecond)
		expect(t, k, "a", 0, 1)
		time.Sleep(59 * time.Second)
		expect(t, k, "a", 0, 1)
		// It is a little old: it is given, and made anew.
		time.Sleep(2 * time.Second)
		expect(t, k, "a", time.Hour, 1)
		time.Sleep(3 * time.Second)
		expect(t, k, "a", 0, 2)
		// It is far too old.
		time.Sleep(10 * time.Minute)
		expect(t, k, "a", time.Second, 0)
		time.Sleep(2 * time.Second)
		expect(t, k, "a", 0, 3)
	})
}

// Results of several keys are made one after the other, and of one key once, however many ask.
func TestKeptTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{calls: map[string]int{}, takes: 2 * time.Second}
		k := newKept(siteOf(t), time.Minute, c.produce)
		began := time.Now()
		var all sync.WaitGroup
		for _, key := range []string{"a", "b", "a", "b", "a"} {
			all.Go(func() { expect(t, k, key, time.Hour, 1) })
		}
		all.Wait()
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// What took long is kept for longer.
func TestKeptLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{calls: map[string]int{}, takes: 20 * time.Second}
		k := newKept(siteOf(t), time.Minute, c.produce)
		expect(t, k, "a", time.Hour, 1)
		time.Sleep(3 * time.Minute)
		expect(t, k, "a", 0, 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		if c.calls["a"] != 1 {
			t.Errorf("it was made %d times", c.calls["a"])
		}
	})
}

// An error is told, and soon tried again.
func TestKeptFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{calls: map[string]int{}, takes: time.Second, fails: true}
		k := newKept(siteOf(t), time.Minute, c.produce)
		k.begin("a")
		if _, ready, err := k.get("a", time.Minute); !ready || err == nil || err.Error() != "it fails" {
			t.Errorf("got %t, %v", ready, err)
		}
		c.fails = false
		time.Sleep(time.Second)
		if _, _, err := k.get("a", time.Minute); err == nil {
			t.Error("it was tried again at once")
		}
		time.Sleep(2 * time.Second)
		expect(t, k, "a", time.Minute, 2)
		// One that never ends is given up.
		c.takes = time.Hour
		if _, ready, err := k.get("b", 3*time.Minute); !ready || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %t, %v", ready, err)
		}
	})
}

// Of many keys those that nobody asks for go.
func TestKeptForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{calls: map[string]int{}}
		k := newKept(siteOf(t), time.Hour, c.produce)
		for n := range 3 * mostKept {
			expect(t, k, string(rune('A'+n)), time.Minute, 1)
			expect(t, k, "always", time.Minute, 1)
			time.Sleep(time.Second)
		}
		if len(k.known) > mostKept || c.calls["always"] != 1 {
			t.Errorf("%d are kept, one was made %d times", len(k.known), c.calls["always"])
		}
		expect(t, k, "A", time.Minute, 2)
	})
}

// What panics is an error for those who wait, and holds up nobody.
func TestKeptPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKept(siteOf(t), time.Minute, func(_ context.Context, key string) (int, error) {
			if key == "bad" {
				panic("it cannot count")
			}
			return 1, nil
		})
		if _, ready, err := k.get("bad", time.Minute); !ready || err == nil || !strings.Contains(err.Error(), "it cannot count") {
			t.Errorf("got %t, %v", ready, err)
		}
		expect(t, k, "good", time.Minute, 1)
	})
}

// What a site has begun ends with it, and can be waited for.
func TestKeptEndsWithItsSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{calls: map[string]int{}, takes: time.Minute}
		s := siteOf(t)
		life, end := context.WithCancel(t.Context())
		s.Life = life
		k := newKept(s, time.Minute, c.produce)
		began := time.Now()
		for _, key := range []string{"a", "b", "c"} {
			k.begin(key)
		}
		end()
		s.Beside.Wait()
		if took := time.Since(began); took != 0 {
			t.Errorf("it went on for %s", took)
		}
		if _, ready, err := k.get("a", 0); !ready || !sectionOf(ready, err).Counting {
			t.Errorf("a viewer is told %v, %t", err, ready)
		}
	})
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// terminal is a reader that can stop reading, go away and be full.
type terminal struct {
	mu   sync.Mutex
	stop chan struct{} // while it is open nothing is read; nil: all is
	err  error
	got  bytes.Buffer
}

func (w *terminal) Write(p []byte) (int, error) {
	w.mu.Lock()
	stop := w.stop
	w.mu.Unlock()
	if stop != nil {
		<-stop
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	return w.got.Write(p)
}

func (w *terminal) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.got.String()
}

func output(i int) Line {
	return Line{Type: Output, Source: "p", Message: fmt.Sprintf("%06d%s", i, strings.Repeat("x", 1000)), End: "\n"}
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// A terminal that takes nothing stops neither those who speak nor the end: memory stays bounded, and how much was not
// shown is said.
func TestNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &terminal{stop: make(chan struct{})}
		c := New(w, Options{})
		began := time.Now()
		const said = 20000 // 20 MB
		for i := range said {
			c.Print(output(i))
		}
		c.Print(Line{Type: Finished, Object: "job/default/x", Outcome: Complete})
		if took := time.Since(began); took > 2*writeTimeout {
			t.Errorf("speaking took %v", took)
		}
		if c.queue.bytes > 2*queueLimit {
			t.Errorf("%d bytes wait", c.queue.bytes)
		}
		began = time.Now()
		err := c.Close(ended())
		if took := time.Since(began); took > 2*writeTimeout {
			t.Errorf("the end took %v", took)
		}
		if want := fmt.Sprintf("%d lines were not written", said+1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("said %v, want %q", err, want)
		}
		close(w.stop)
		synctest.Wait()
	})
}

// A terminal that is read again goes on, with a line in the place of those that were left out.
func TestReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &terminal{stop: make(chan struct{})}
		c := New(w, Options{})
		for i := range 10000 {
			c.Print(output(i))
		}
		w.mu.Lock()
		close(w.stop)
		w.stop = nil
		w.mu.Unlock()
		synctest.Wait()
		c.Print(Line{Type: Info, Message: "the end"})
		err := c.Close(context.Background())
		got := w.String()
		shown := strings.Count(got, "│")
		if want := fmt.Sprintf("%d lines are not shown", 10000-shown); shown == 10000 || !strings.Contains(got, want) || !strings.HasSuffix(got, "the end\n") {
			t.Errorf("%d shown, the rest is not told of (%q) in …%q, %v", shown, want, got[len(got)-200:], err)
		}
	})
}

// A slow reader gets every line of output, in order, and the end waits for it.
func TestSlowReader(t *testing.T) {
	for name, keep := range map[string]bool{"kept": true, "bounded": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &slow{}
				c := New(w, Options{WaitForReader: keep})
				for i := range 10000 {
					c.Print(output(i))
				}
				if err := c.Close(context.Background()); err != nil {
					t.Error(err)
				}
				if got := strings.Count(w.got.String(), "\n"); got != 10000 {
					t.Errorf("%d lines read", got)
				}
			})
		})
	}
}

// slow takes half of a second for each write.
type slow struct{ got bytes.Buffer }

func (w *slow) Write(p []byte) (int, error) {
	time.Sleep(writeTimeout / 2)
	return w.got.Write(p)
}

// With Keep nothing is left out while nobody reads; those who write output wait, and the others do not.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &terminal{stop: make(chan struct{})}
		c := New(w, Options{WaitForReader: true})
		var said sync.WaitGroup
		said.Go(func() {
			for i := range 10000 {
				c.Print(output(i))
			}
		})
		<-time.After(time.Hour)
		c.Print(Line{Type: Info, Message: "between"}) // returns
		if !c.Blocked() {
			t.Error("it does not say that nobody reads")
		}
		close(w.stop)
		said.Wait()
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if got := strings.Count(w.String(), "\n"); got != 10001 {
			t.Errorf("%d lines read", got)
		}
	})
}

// A stop ends the waiting: what nobody reads is left out then, and counted.
func TestRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &terminal{stop: make(chan struct{})}
		defer close(w.stop)
		c := New(w, Options{WaitForReader: true})
		var said sync.WaitGroup
		said.Go(func() {
			for i := range 100000 {
				c.Print(output(i))
			}
		})
		<-time.After(time.Hour)
		c.StopWaiting()
		said.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := c.Close(ctx); err == nil || !strings.Contains(err.Error(), "100000 lines were not written") {
			t.Errorf("got %v", err)
		}
	})
}

// A reader that is gone is told of at once, and no error of ours.
func TestReaderGone(t *testing.T) {
	for _, gone := range []error{syscall.EPIPE, syscall.EIO} {
		synctest.Test(t, func(t *testing.T) {
			c := New(&terminal{err: gone}, Options{})
			c.Print(output(1))
			<-c.ReaderGone()
			c.Print(output(2))
			if err := c.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A disk that is full under our output ends nothing, and is told of.
func TestDiskFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(&terminal{err: syscall.ENOSPC}, Options{})
		c.Print(output(1))
		synctest.Wait()
		select {
		case <-c.ReaderGone():
			t.Error("taken for a reader that is gone")
		default:
		}
		if err := c.Close(context.Background()); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("got %v", err)
		}
	})
}

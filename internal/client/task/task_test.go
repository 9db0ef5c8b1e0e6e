// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
)

// A panic is an error, whose stack is logged once; the rest of the work is done.
func TestGroup(t *testing.T) {
	var log bytes.Buffer
	g := NewGroup(slog.New(slog.NewTextHandler(&log, nil)))
	var done atomic.Int32
	for n := range 4 {
		g.Go("the third", func() {
			if n == 2 {
				panic("it makes no sense")
			}
			done.Add(1)
		})
	}
	err := g.Wait()
	if fault, ok := errors.AsType[*PanicError](err); !ok || fault.Work != "the third" || !strings.Contains(err.Error(), "it makes no sense") {
		t.Errorf("got %v", err)
	}
	if text := log.String(); done.Load() != 3 || strings.Count(text, "work for a page panicked") != 1 || !strings.Contains(text, "TestGroup") {
		t.Errorf("%d were done; logged was %s", done.Load(), text)
	}
}

func TestDo(t *testing.T) {
	own := errors.New("its own")
	for name, test := range map[string]struct{ gives, wanted error }{"works": {}, "fails": {own, own}} {
		if err := Do(slog.New(slog.DiscardHandler), name, func() error { return test.gives }); !errors.Is(err, test.wanted) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Of many pieces each is done, whichever fails or panics, and the first error in their order is given.
func TestEach(t *testing.T) {
	odd := errors.New("odd")
	for name, test := range map[string]struct {
		n      int
		fails  map[int]error
		panics int // -1: none
		wanted string
	}{
		"none":            {n: 0, panics: -1},
		"all well":        {n: 9, panics: -1},
		"two fail":        {n: 9, fails: map[int]error{3: odd, 7: errors.New("later")}, panics: -1, wanted: "odd"},
		"one panics":      {n: 9, fails: map[int]error{3: odd}, panics: 2, wanted: "one of them: a fault of Carillon: no sense"},
		"the only panics": {n: 1, panics: 0, wanted: "one of them: a fault of Carillon: no sense"},
	} {
		t.Run(name, func(t *testing.T) {
			var done atomic.Int32
			err := Each(slog.New(slog.DiscardHandler), "one of them", 4, test.n, func(i int) error {
				done.Add(1)
				if i == test.panics {
					panic("no sense")
				}
				return test.fails[i]
			})
			if said := fmt.Sprint(err); (err != nil || test.wanted != "") && said != test.wanted {
				t.Errorf("got %s", said)
			}
			if int(done.Load()) != test.n {
				t.Errorf("%d of %d were done", done.Load(), test.n)
			}
		})
	}
}

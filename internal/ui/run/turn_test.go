// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"testing"
)

func TestTurns(t *testing.T) {
	var leave []func()
	for range cap(searching) {
		l, ok := enter(t.Context())
		if !ok {
			t.Fatal("there was room")
		}
		leave = append(leave, l)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok := enter(ended); ok {
		t.Fatal("there was no room")
	}
	got := make(chan bool)
	go func() {
		l, ok := enter(t.Context())
		if ok {
			l()
		}
		got <- ok
	}()
	leave[0]()
	if !<-got {
		t.Error("it did not get the room of the one that left")
	}
	leave[1]()
}

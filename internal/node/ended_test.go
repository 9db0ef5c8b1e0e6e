// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/node/process"
)

// What the runtime tells of an end is passed on whole, and so is the answer.
func TestEndsArePassedOn(t *testing.T) {
	o := Options{DataDir: t.TempDir(), LocalFiles: true}
	if options := runtimeOptions(&o, newImageStore(&o)); options.Ended != nil {
		t.Error("nobody asks, and the runtime tells")
	}
	var got ContainerEnd
	full := errors.New("the disk is full")
	o.Ended = func(e ContainerEnd) error {
		got = e
		return full
	}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	end := process.ContainerEnd{
		ID: "c", PodNamespace: "ns", PodName: "p", PodUID: "u", PodLabels: map[string]string{"k": "v"}, Container: "main", Restart: 1,
		Started: noon, Ended: noon.Add(time.Minute), ExitCode: 137, Signal: 9, Reason: "Error", Message: "why",
		CPU: 2, MemoryPeak: 3, OutputBytes: 4, LogPath: "/logs/0.log",
	}
	if err := runtimeOptions(&o, newImageStore(&o)).Ended(end); !errors.Is(err, full) {
		t.Errorf("the answer is %v", err)
	}
	if !reflect.DeepEqual(got, ContainerEnd(end)) {
		t.Errorf("got %+v", got)
	}
	for v, i := reflect.ValueOf(got), 0; i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("%s was not tried", v.Type().Field(i).Name)
		}
	}
}

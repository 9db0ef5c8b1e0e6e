// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"strings"
	"testing"
	"time"
)

// A line says how much is here, how fast it comes and how long the rest takes, as soon as that can be known.
func TestMeter(t *testing.T) {
	began := time.Date(2026, 5, 4, 12, 10, 0, 0, time.UTC)
	const mib = 1 << 20
	p := Progress{Image: "python:3.12"}
	var m Meter
	for _, step := range []struct {
		after              time.Duration
		layers, layersDone int
		bytes, done        int64
		want               string
	}{
		{0, 0, 0, 0, 0, "pulling python:3.12"},
		{100 * time.Millisecond, 5, 0, 100 * mib, 0, "pulling python:3.12 · 0 B/100 MiB · 0/5 layers"},
		{500 * time.Millisecond, 5, 0, 100 * mib, 5 * mib, "pulling python:3.12 · 5.0/100 MiB · 0/5 layers"},
		{2 * time.Second, 5, 1, 100 * mib, 20 * mib, "pulling python:3.12 · 20/100 MiB · 1/5 layers · 9s left · 10 MiB/s"},
		{4 * time.Second, 5, 1, 100 * mib, 40 * mib, "pulling python:3.12 · 40/100 MiB · 1/5 layers · 7s left · 10 MiB/s"},
		{10 * time.Second, 5, 4, 100 * mib, 100 * mib, "pulling python:3.12 · 100/100 MiB · 4/5 layers · unpacking"},
		{11 * time.Second, 5, 5, 100 * mib, 100 * mib, "pulling python:3.12 · 100/100 MiB · 5/5 layers"},
	} {
		p.Layers, p.LayersDone, p.Bytes, p.BytesDone = step.layers, step.layersDone, step.bytes, step.done
		if got := m.Line(p, began.Add(step.after)); got != step.want {
			t.Errorf("after %s: %q, want %q", step.after, got, step.want)
		}
	}
}

// A download that stands still says so, and nothing that a registry says can crash a line or reach the terminal.
func TestMeterOfNonsense(t *testing.T) {
	began := time.Date(2026, 5, 4, 12, 10, 0, 0, time.UTC)
	var m Meter
	for i, p := range []Progress{
		{Image: "x\x1b[2J", Bytes: 1 << 62, BytesDone: 0}, {Bytes: 1 << 62, BytesDone: 1}, {Bytes: -5, BytesDone: -7}, {Bytes: 1, BytesDone: 9}, {LayersDone: 3}, {Bytes: 1 << 62, BytesDone: 2},
	} {
		if line := m.Line(p, began.Add(time.Duration(i)*10*time.Second)); strings.ContainsRune(line, '\x1b') || len(line) > 200 {
			t.Errorf("%+v: %q", p, line)
		}
	}
	m = Meter{}
	m.Line(Progress{Bytes: 1 << 30, BytesDone: 0}, began)
	m.Line(Progress{Bytes: 1 << 30, BytesDone: 1 << 20}, began.Add(time.Second))
	stalled := m.Line(Progress{Bytes: 1 << 30, BytesDone: 1 << 20}, began.Add(time.Hour))
	if !strings.HasSuffix(stalled, "1.0 MiB/1.0 GiB") {
		t.Errorf("stalled: %q", stalled)
	}
}

// On a terminal of 80 columns there is room for all that changes, however long the name is.
func TestLongName(t *testing.T) {
	began := time.Date(2026, 5, 4, 12, 10, 0, 0, time.UTC)
	var m Meter
	p := Progress{Image: "registry.example:5000/a/b/c/d/e/report-of-the-year:2026", Layers: 12, LayersDone: 3, Bytes: 999 << 20}
	m.Line(p, began)
	p.BytesDone = 20 << 20
	if got, want := m.Line(p, began.Add(2*time.Second)), "pulling …c/d/e/report-of-the-year:2026 · 20/999 MiB · 3/12 layers · 1m38s left"; !strings.HasPrefix(got, want) || len([]rune(want)) > 79 {
		t.Errorf("%q, want %q", got, want)
	}
}

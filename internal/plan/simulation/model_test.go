// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/simulation"
)

func TestArithmetic(t *testing.T) {
	near := func(what string, got, want, within float64) {
		if math.Abs(got-want) > within*max(1, math.Abs(want)) {
			t.Errorf("%s is %g, want %g", what, got, want)
		}
	}
	for _, x := range []float64{1e-9, 0.001, 0.5, 0.7, 1, 1.5, 2, math.E, 10, 86400, 1e12} {
		near("ln", simulation.Ln(x), math.Log(x), 1e-14)
	}
	for _, x := range []float64{-50, -3, -0.1, 0, 0.1, 1, 2.5, 10, 100} {
		near("exp", simulation.Exp(x)/math.Exp(x), 1, 1e-13)
	}
	for _, z := range []float64{-4, -2.5, -1, 0, 0.3, 1, 2, 3.5} {
		near("below", simulation.Below(z), 0.5*math.Erfc(-z/math.Sqrt2), 1e-12)
	}
	for _, p := range []float64{0.001, 0.05, 0.5, 0.9, 0.99, 0.999} {
		near("deviations", simulation.Below(simulation.Deviations(p)), p, 1e-12)
	}
	if !math.IsInf(simulation.Exp(1e9), 1) || simulation.Exp(-1e9) != 0 {
		t.Error("exp of what is too large or too small")
	}
}

// Two quantiles are met, and what is drawn has them, too.
func TestFit(t *testing.T) {
	d := durations(t, "p50=5m,p99=1h")
	if d.At(50) != 5*time.Minute || d.At(99) != time.Hour {
		t.Errorf("p50 is %s, p99 %s", d.At(50), d.At(99))
	}
	if got := d.String(); got != "p50=5m0s, p99=1h0m0s (log-normal)" {
		t.Error(got)
	}
	var drawn []time.Duration
	for i := range 20_000 {
		drawn = append(drawn, simulation.Model{Durations: d}.Fate("k", "ns", "n", time.Unix(int64(i)*60, 0), 1).Duration)
	}
	slices.Sort(drawn)
	for percent, want := range map[int]time.Duration{10: d.At(10), 50: d.At(50), 90: d.At(90), 99: d.At(99)} {
		if got := drawn[len(drawn)*percent/100]; got < want*9/10 || got > want*11/10 {
			t.Errorf("p%d of what is drawn is %s, want about %s", percent, got, want)
		}
	}
	three := durations(t, "p50=10m,p90=20m,p99=30m")
	if at := three.At(90); at < 15*time.Minute || at > 21*time.Minute {
		t.Errorf("of three quantiles p90 is %s", at)
	}
}

func TestFate(t *testing.T) {
	m := simulation.Model{Durations: durations(t, "1m"), Fail: 0.05}
	failed := 0
	for i := range 20_000 {
		if m.Fate("k", "ns", "n", time.Unix(int64(i)*60, 0), 1).Fails {
			failed++
		}
	}
	if failed < 900 || failed > 1100 {
		t.Errorf("%d of 20000 fail", failed)
	}
	at := time.Unix(0, 0)
	m.Durations = durations(t, "p50=1h,p99=4h")
	seen := map[time.Duration]string{}
	other := m
	other.Seed = 1
	for name, d := range map[string]time.Duration{
		"one": m.Fate("k", "ns", "n", at, 1).Duration, "another attempt": m.Fate("k", "ns", "n", at, 2).Duration, "another time": m.Fate("k", "ns", "n", at.Add(time.Second), 1).Duration,
		"another name": m.Fate("k", "ns", "m", at, 1).Duration, "another namespace": m.Fate("k", "n", "sn", at, 1).Duration, "another seed": other.Fate("k", "ns", "n", at, 1).Duration,
	} {
		if same := seen[d]; same != "" {
			t.Errorf("%s and %s take the same, %s", name, same, d)
		}
		seen[d] = name
	}
}

func TestParseDurations(t *testing.T) {
	for text, want := range map[string]string{
		"10m": "10m0s", "90s": "1m30s", "2d": "48h0m0s", "p50=5m": "5m0s", " p50=5m , p99=5m ": "5m0s", "1500ms": "2s", "p99=1h,p50=5m": "p50=5m0s, p99=1h0m0s (log-normal)",
	} {
		if got := durations(t, text).String(); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"": "is no duration", "ten": "is no duration", "0s": "a second at least", "-5m": "a second at least", "20000d": "ten years at most", "p50=": "is no duration",
		"50=5m": "is no quantile", "p50:5m,p9=1h": "is no quantile", "p50=5m,p99=4m": "is less than", "p50=5m,p50=6m": "given twice", "p0=5m": "from p0.1 to p99.9",
		"p100=1h": "from p0.1 to p99.9", "p50=1ms": "a second at least", "p99=20000d": "ten years", "pNaN=5m": "quantile", "p50=5m,": "is no quantile",
	} {
		if _, err := simulation.ParseDurations(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want one that says %q", text, err, want)
		}
	}
}

func TestParseProbability(t *testing.T) {
	for text, want := range map[string]float64{"5%": 0.05, "0.05": 0.05, "0": 0, "100%": 1, "1": 1, " 2.5 % ": 0.025} {
		if got, err := simulation.ParseProbability(text); err != nil || math.Abs(got-want) > 1e-12 {
			t.Errorf("%q is %g (%v), want %g", text, got, err, want)
		}
	}
	for _, text := range []string{"", "5", "101%", "-1%", "NaN", "five", "%"} {
		if _, err := simulation.ParseProbability(text); err == nil {
			t.Errorf("%q is a probability", text)
		}
	}
}

// Whatever is written, it is read or refused, and what is read gives durations in their bounds.
func FuzzParseDurations(f *testing.F) {
	for _, text := range []string{"10m", "p50=5m,p99=1h", "p0.1=1s,p99.9=10y", "p50=1s,p50.0001=9999h", "=", "p=p", "p1e300=5m", "p-1=5m", "3d", "p50=3d"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := simulation.ParseDurations(text)
		if err != nil {
			return
		}
		for seed := range uint64(20) {
			got := simulation.Model{Durations: d, Seed: seed}.Fate("k", "ns", "n", time.Unix(0, 0), 1).Duration
			if got < time.Second || got > 10*365*24*time.Hour || got%time.Second != 0 {
				t.Fatalf("%q gives %s", text, got)
			}
		}
		if d.At(50) > d.At(99) {
			t.Fatalf("%q: half take %s, and 1%% more than %s", text, d.At(50), d.At(99))
		}
	})
}

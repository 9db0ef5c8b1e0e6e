// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"math"
	"os"
	"strconv"
	"testing"
	"time"
)

// The grace period is the Pod's, within the bound, whatever the Pod asks for.
func TestOwnGrace(t *testing.T) {
	for name, tc := range map[string]struct {
		annotation string
		most, want time.Duration
	}{
		"its own":               {"90", time.Hour, 90 * time.Second},
		"shorter than usual":    {"5", time.Hour, 5 * time.Second},
		"none at all":           {"0", time.Hour, 0},
		"negative":              {"-1", time.Hour, 0},
		"more than is given":    {"7200", time.Hour, time.Hour},
		"more than can be told": {strconv.Itoa(math.MaxInt64), time.Hour, time.Hour},
		"not a number":          {"soon", time.Hour, 30 * time.Second},
		"bound below default":   {"", 10 * time.Second, 10 * time.Second},
		"bound below a second":  {"5", time.Millisecond, time.Millisecond},
		"nobody said":           {"", time.Hour, 30 * time.Second},
	} {
		annotations := map[string]string{}
		if tc.annotation != "" {
			annotations[graceAnnotation] = tc.annotation
		}
		if got := gracePeriod(annotations, tc.most); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// Drain gives each Pod its own grace period: one that asked for none is killed
// while one that asked for an hour ends by itself.
func TestDrain(t *testing.T) {
	g := newRig(t)
	deaf := shell(`trap '' TERM; echo ready; while :; do sleep 0.01; done`)
	deaf.Annotations = map[string]string{graceAnnotation: "0"}
	// Ends only when it has seen that the other is gone, so a common grace
	// period, long or short, fails one of the two.
	gone := t.TempDir() + "/gone"
	patient := shell(`trap 'while test ! -e ` + gone + `; do sleep 0.01; done; exit 6' TERM; echo ready; while :; do sleep 0.01; done`)
	patient.Annotations = map[string]string{graceAnnotation: "3600"}
	handler := HandlerHost // sees the file that the test makes
	ids := []string{g.begin(g.sandbox("deaf", handler), deaf), g.begin(g.sandbox("patient", handler), patient)}
	for _, id := range ids {
		until(t, "it is ready", func() bool { return g.output(id, "stdout") == "ready\n" })
	}
	if pods, longest := g.run.DrainEstimate(20 * time.Minute); pods != 2 || longest != 20*time.Minute {
		t.Errorf("%d Pods, up to %v", pods, longest)
	}
	done := make(chan error, 1)
	go func() { done <- g.run.Drain(g.ctx(), 20*time.Minute) }()
	if st := g.wait(ids[0]); st.ExitCode != 137 {
		t.Errorf("the deaf one: %+v", st)
	}
	if err := os.WriteFile(gone, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if st := g.status(ids[1]); st.ExitCode != 6 {
		t.Errorf("the patient one: %+v", st)
	}
	if pods, longest := g.run.DrainEstimate(time.Hour); pods != 0 || longest != 0 {
		t.Errorf("afterwards %d Pods, up to %v", pods, longest)
	}
}

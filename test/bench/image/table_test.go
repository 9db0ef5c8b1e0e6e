// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"os"
	"testing"
)

func TestSummary(t *testing.T) {
	for want, values := range map[string][]float64{"–": nil, "2.0 (1.0–30)": {30, 1, 2}, "15 (2.0–40)": {2, 10, 40, 20}} {
		if got := summary(values); got != want {
			t.Errorf("%v: %q, want %q", values, got, want)
		}
	}
}

func TestTreeMemory(t *testing.T) {
	got := treeMemory([]int{os.Getpid()})
	if got.private <= 0 || got.resident < got.private {
		t.Errorf("this process uses %+v", got)
	}
}

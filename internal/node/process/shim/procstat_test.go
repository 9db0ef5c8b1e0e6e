// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"fmt"
	"strings"
	"testing"
)

// A process is read whatever it calls itself, and what is no such line is an error.
func TestParseProcessStat(t *testing.T) {
	numbers := make([]string, 0, 49)
	for n := 4; n <= 52; n++ {
		numbers = append(numbers, fmt.Sprint(n))
	}
	for _, name := range []string{"sh", "a) R 1 (b", "x y", ""} {
		s, err := parseProcessStat([]byte("17 (" + name + ") S " + strings.Join(numbers, " ") + "\n"))
		if err != nil || s.PID != 17 || s.State != 'S' || s.Parent != 4 || s.StartTicks != 22 || s.Field(24) != 24 || s.Ended() {
			t.Errorf("%q: %+v, %v", name, s, err)
		}
		if s.Field(53) != 0 || s.Field(0) != 0 {
			t.Errorf("%q: fields that are not there: %d, %d", name, s.Field(53), s.Field(0))
		}
	}
	for _, line := range []string{"", "17", "17 (sh)", "x (sh) S " + strings.Join(numbers, " "), "17 (sh) S x " + strings.Join(numbers[1:], " ")} {
		if s, err := parseProcessStat([]byte(line)); err == nil {
			t.Errorf("%q: %+v", line, s)
		}
	}
}

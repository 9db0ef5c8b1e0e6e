// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"
)

// Between two changes of a zone there is more time than both jumps take, so that no local time is skipped by one and
// shown by another, and none is shown three times.
func TestChangesAreFarApart(t *testing.T) {
	for _, name := range []string{
		"Africa/Cairo", "Africa/Casablanca", "Africa/Juba", "Africa/Monrovia", "America/Argentina/Ushuaia", "America/Caracas",
		"America/Havana", "America/Juneau", "America/New_York", "America/Nuuk", "America/Sao_Paulo", "Antarctica/Casey",
		"Antarctica/Troll", "Antarctica/Vostok", "Asia/Gaza", "Asia/Manila", "Asia/Pyongyang", "Australia/Lord_Howe",
		"Europe/Amsterdam", "Europe/Berlin", "Europe/Dublin", "Europe/Warsaw", "Pacific/Apia", "Pacific/Guam", "Pacific/Kwajalein",
	} {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		z := zoneOf(loc)
		jump := func(i int) int64 { return max(z.offsets[i]-z.offsets[i-1], z.offsets[i-1]-z.offsets[i]) }
		for i := 2; i < len(z.starts); i++ {
			if apart := z.starts[i] - z.starts[i-1]; apart <= jump(i-1)+jump(i) {
				t.Errorf("%s: changes at %d and %d", name, z.starts[i-1], z.starts[i])
			}
		}
	}
}

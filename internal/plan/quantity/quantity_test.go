// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package quantity_test

import (
	"testing"

	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

func TestQuantity(t *testing.T) {
	for want, got := range map[string]string{
		"0 runs":     quantity.Count(0, "run"),
		"1 run":      quantity.Count(1, "run"),
		"1412 runs":  quantity.Count(1412, "run"),
		"1 start":    quantity.CountGrouped(1, "start"),
		"999 runs":   quantity.CountGrouped(999, "run"),
		"1,000 runs": quantity.CountGrouped(1000, "run"),
		"-999":       quantity.Grouped(-999),
		"0 B":        quantity.Bytes(-1),
		"1023 B":     quantity.Bytes(1023),
		"1.0 KiB":    quantity.Bytes(1024),
		"9.9 KiB":    quantity.Bytes(10_180),
		"10 KiB":     quantity.Bytes(10_200),
		"1.0 MiB":    quantity.Bytes(1<<20 - 1),
		"113 MiB":    quantity.Bytes(113 << 20),
		"1.2 GiB":    quantity.Bytes(1_300_000_000),
		"2048 TiB":   quantity.Bytes(2 << 50),
		"-1,234,567": quantity.Grouped(int64(-1234567)),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

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
		"-1,234,567": quantity.Grouped(int64(-1234567)),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

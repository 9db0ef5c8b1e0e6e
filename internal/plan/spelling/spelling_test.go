// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package spelling_test

import (
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/plan/spelling"
)

func TestNearest(t *testing.T) {
	names := []string{"backup", "backup-db", "report", "nightly-report"}
	for name, want := range map[string]string{"bakup": "backup", "reports": "report", "backup-dbb": "backup-db backup", "zzz": "", "": "", "report-nightly": "report"} {
		if got := strings.Join(spelling.Nearest(name, names), " "); got != want {
			t.Errorf("%s: %q, not %q", name, got, want)
		}
	}
}

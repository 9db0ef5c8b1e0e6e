// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"strings"
	"testing"

	"github.com/carillon-dev/carillon/internal/plan/history"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// Runs of an earlier object of the same name are listed as such, and are not counted as its own.
func TestEarlierObject(t *testing.T) {
	old := runs(4)
	for i := range old {
		old[i].Owner.UID = "u-before"
	}
	_, body := uitest.Get(t, site(t, uitest.World{Runs: old}), "/schedule/cronjob/default/backup")
	for _, say := range []string{"of an earlier backup", "No run of it is known yet."} {
		if !strings.Contains(body, say) {
			t.Errorf("%q is not said", say)
		}
	}
	if strings.Contains(body, "100 %") {
		t.Error("runs of another one are counted")
	}
}

// What was used, and what was late or tried again, are sentences of their own.
func TestUsedText(t *testing.T) {
	if got := usedText(history.Summary{Retries: 2}); got != "2 runs needed more than one try." {
		t.Error(got)
	}
}

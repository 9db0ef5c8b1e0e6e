// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A start that succeeds at last ends the delays that its failures have made long: what fails after it, such as the
// write of its record, is tried again soon (guarantee 6, found by TestSimulation: a finished Job beyond the limit
// stayed for minutes, because its record met one error after a long time over quota).
func TestStartEndsItsDelays(t *testing.T) {
	w := newWorld(t, tick().Obj())
	quota := apierrors.NewForbidden(jobs, "tick-29631610", errors.New("exceeded quota"))
	for range 8 {
		w.fail("create", fault{err: quota})
		w.sync("12:10:00.1")
	}
	w.wantRetry(640 * time.Millisecond)
	w.fail("record", fault{err: broken})
	w.sync("12:10:00.2")
	w.wantRetry(5 * time.Millisecond)
}

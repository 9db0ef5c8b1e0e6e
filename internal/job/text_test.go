// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"
)

// A plan and its status plan as text, every effect with its reason.
func TestPlansTellThemselves(t *testing.T) {
	t.Parallel()
	text := func(shorthand string, m mishaps, expectations Expectations, pods ...string) string {
		j := aJob(shorthand, started(time.Minute))
		list := somePods(pods...)
		plan := Decide(Snapshot{Job: j, Pods: list, Expectations: expectations, Now: now, Options: Options{Standalone: true}})
		return textOf(plan, plan.PlanStatus(m.carryOut(plan)))
	}
	tests := map[string]struct{ got, want string }{
		"one ended, one starts": {text("p2 c5", mishaps{}, Expectations{}, "a ready", "b succeeded"), `
create job-*
event Normal SuccessfulCreate: Created pod: job-*
write: active 2, ready 1, terminating 0, succeeded 0, failed 0, uncounted [b] []
remove finalizer of b
`},
		"too many, one cannot be deleted": {text("p1 c5", mishaps{deletes: sets.New("b")}, Expectations{}, "a ready", "b running", "c orphan", "d stranger"), `
adopt c
release d
remove finalizer and delete c: more pods than wanted
remove finalizer and delete b: more pods than wanted
event Normal SuccessfulDelete: Deleted pod: c
event Warning FailedDelete: Error deleting: refused
write: active 2, ready 1, terminating 1, succeeded 0, failed 0
`},
		"the end": {text("bl0", mishaps{}, Expectations{}, "a failed"), `
verdict: Failure, BackoffLimitExceeded: Job has reached the specified backoff limit (found now)
write the end: active 0, ready 0, terminating 0, succeeded 0, failed 1, FailureTarget=True(BackoffLimitExceeded), Failed=True(BackoffLimitExceeded)
event Warning BackoffLimitExceeded: Job has reached the specified backoff limit
remove finalizer of a
`},
		"a wait": {text("ads90", mishaps{}, creating("job-zzzzz")), `
wake in 9s
`},
		"not ours": {Decide(Snapshot{Job: aJob(""), Now: now}).String(), `
skip: not ours
`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(strings.TrimPrefix(test.want, "\n"), test.got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

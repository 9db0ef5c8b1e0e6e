// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/cron"
)

// What a user has to mend is told at once and then every half hour for as long as it lasts, wakes the CronJob for that,
// and is named in one word; when it is mended, nothing is left of it (CJ-180).
func TestMisconfigured(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, "x", nil)
	denied := apierrors.NewForbidden(jobs, "tick", errors.New("admission webhook denied the request"))
	for name, c := range map[string]struct {
		kinds  string
		given  []given
		want   cron.Misconfiguration
		reason map[rune]string
		cure   given
	}{
		"a schedule that cannot be read": {kinds: "KVT", given: []given{schedule("nonsense")}, want: cron.InvalidSchedule,
			reason: map[rune]string{'K': "UnparseableSchedule", 'V': "UnParseableCronJobSchedule", 'T': "UnparseableSchedule"}, cure: schedule("0 0 1 1 *")},
		"a date that does not exist": {kinds: "KVT", given: []given{schedule("0 0 30 2 *")}, want: cron.InvalidSchedule,
			reason: map[rune]string{'K': "InvalidSchedule", 'V': "InvalidSchedule", 'T': "InvalidSchedule"}, cure: schedule("0 0 1 1 *")},
		"a zone that does not exist": {kinds: "KV", given: []given{zone("Mars/Olympus")}, want: cron.InvalidTimeZone,
			reason: map[rune]string{'K': "UnknownTimeZone", 'V': "InvalidTimeZone"}, cure: zone("UTC")},
		"a full quota": {kinds: "KVT", given: []given{schedule("0 12 * * *"), made("11:00"), createFails(quota)}, want: cron.QuotaExceeded,
			reason: map[rune]string{'K': "FailedCreate", 'V': "FailedCreate", 'T': "FailedCreate"}, cure: createFails(nil)},
		"an invalid template": {kinds: "KVT", given: []given{schedule("0 12 * * *"), made("11:00"), createFails(invalid)}, want: cron.InvalidTemplate,
			reason: map[rune]string{'K': "FailedCreate", 'V': "FailedCreate", 'T': "FailedCreate"}, cure: createFails(nil)},
		"a webhook that refuses": {kinds: "KVT", given: []given{schedule("0 12 * * *"), made("11:00"), createFails(denied)}, want: cron.CreateForbidden,
			reason: map[rune]string{'K': "FailedCreate", 'V': "FailedCreate", 'T': "FailedCreate"}, cure: createFails(nil)},
		"a name that is taken": {kinds: "KVT", given: []given{schedule("0 12 * * *"), made("11:00"), onServer("12:00", ownedBy(nil))}, want: cron.NameTaken,
			reason: map[rune]string{'K': "FailedCreate", 'V': "ForeignJob", 'T': "FailedCreate"}, cure: func(s *scene) { clear(s.live); s.in.Children = nil }},
		"too many missed": {kinds: "T", given: []given{schedule("* * * * *"), made("09:00")}, want: cron.TooManyMissed,
			reason: map[rune]string{'T': "TooManyMissedTimes"}, cure: deadline(100)},
	} {
		for _, kind := range c.kinds {
			t.Run(string(kind)+" "+name, func(t *testing.T) {
				s := fixture(string(kind), "12:10:00", c.given...)
				keys := map[string]bool{}
				at := s.in.Now
				for i, later := range []time.Duration{0, time.Minute, 29*time.Minute + 59*time.Second, 30 * time.Minute, 59 * time.Minute, time.Hour, 6 * time.Hour} {
					s.catchUp(at.Add(later).Format(time.RFC3339))
					plan := s.last(t)
					if plan.Misconfigured != c.want {
						t.Errorf("after %v it is %q, want %q", later, plan.Misconfigured, c.want)
					}
					if left := plan.Wake.Sub(s.in.Now); plan.Wake.IsZero() || left <= 0 || left > 30*time.Minute {
						t.Errorf("after %v it wakes in %v, want half an hour at most", later, left)
					}
					for _, n := range plan.Events {
						if n.Reason == c.reason[kind] {
							keys[n.DedupKey] = true
						}
					}
					if want := []int{1, 1, 1, 2, 2, 3, 4}[i]; len(keys) != want {
						t.Errorf("after %v it was told %d times, want %d: %v", later, len(keys), want, keys)
					}
				}
				s.catchUp(at.Add(6*time.Hour+time.Minute).Format(time.RFC3339), c.cure)
				plan := s.last(t)
				for _, n := range plan.Events {
					if n.Reason == c.reason[kind] {
						t.Errorf("mended, it says %s", n)
					}
				}
				if plan.Misconfigured != "" {
					t.Errorf("mended, it is %q", plan.Misconfigured)
				}
			})
		}
	}
}

// last is the last plan of a sync, which is played to its end.
func (s *scene) last(t *testing.T) cron.Plan {
	t.Helper()
	s.play(t)
	return s.plan
}

// A quota that nobody raises is not told for a scheduled time that is over.
func TestMisconfiguredEndsWithItsTime(t *testing.T) {
	s := fixture("K", "12:10:00", createFails(quota), deadline(60))
	if plan := s.last(t); plan.Misconfigured != cron.QuotaExceeded {
		t.Errorf("%q", plan.Misconfigured)
	}
	s.catchUp("12:12:00")
	if plan := s.last(t); plan.Misconfigured != "" || !plan.Wake.Equal(at("12:20")) {
		t.Errorf("%q, wakes at %v", plan.Misconfigured, plan.Wake)
	}
}

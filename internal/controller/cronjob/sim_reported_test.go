// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cronjob

import (
	"regexp"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// toldTruth are the scheduled times that one event says were not started.
type toldTruth struct{ first, last time.Time }

var simTold = regexp.MustCompile(`^(?:The scheduled time|\d+ scheduled times from (\S+) to) (\S+) (?:was|were) not started, reason \w+`)

// toldOf notes what an event says.
func (t *truth) toldOf(o *ownerTruth, message string) {
	found := simTold.FindStringSubmatch(message)
	if found == nil {
		t.breaks("guarantee 8: who should understand this? %s", message)
		return
	}
	last, err := time.Parse(time.RFC3339, found[2])
	first := last
	if found[1] != "" && err == nil {
		first, err = time.Parse(time.RFC3339, found[1])
	}
	if err != nil {
		t.breaks("guarantee 8: %v: %s", err, message)
		return
	}
	t.excess++ // it is recorded
	o.told = append(o.told, toldTruth{first, last})
}

// unheard forgives an event that a process did not live to write.
func (t *truth) unheard(e corev1.Event) {
	if o := t.owners[e.InvolvedObject.UID]; o != nil && e.Reason == "MissSchedule" && t.world.Broken() == "" {
		t.toldOf(o, e.Message)
	}
}

// checkTold is guarantee 8 for the CronJobs that nobody has touched, up to their latest run: what was missed before it
// has been told by then. Where two processes lead, or one begins with an old list, each of them knows a part. What
// Forbid holds up is another story.
func (t *truth) checkTold() {
	if t.world.Broken() != "" || t.overlap || t.stale {
		return
	}
	for _, planned := range t.plan.cronJobs {
		cj, _ := t.server.Get("CronJob", ns, planned.obj.Name).(*batchv1.CronJob)
		if !planned.quiet || cj == nil || cj.Spec.Schedule == simSchedules[8] || cj.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent {
			continue
		}
		o := t.owners[cj.UID]
		s, err := t.parse(&cj.Spec)
		if o == nil || err != nil {
			continue
		}
		for at := s.Next(o.created); !at.IsZero() && !at.After(o.latest); at = s.Next(at) {
			if !t.ran(o, at) && !o.toldOf(at) {
				t.breaks("guarantee 8: the run of %s for %v is not there, and nobody was told", cj.Name, at)
			}
		}
	}
}

func (o *ownerTruth) toldOf(at time.Time) bool {
	for _, told := range o.told {
		if !at.Before(told.first) && !at.After(told.last) {
			return true
		}
	}
	return false
}

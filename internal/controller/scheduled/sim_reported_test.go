// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// toldTruth are so many scheduled times that one event says were not started. by is the process that told them, "" for
// all: when it was recorded that they are told, no other one may tell them again.
type toldTruth struct {
	count       int
	first, last time.Time
	by          string
	// edit: an edit that nobody saw in time passed them over.
	edit bool
}

var simTold = regexp.MustCompile(`^(?:The scheduled time|(\d+) scheduled times from (\S+) to) (\S+) (?:was|were) not started, reason \w+`)

// toldOf reads an event.
func toldOf(message string) (told toldTruth, err error) {
	found := simTold.FindStringSubmatch(message)
	if found == nil {
		return told, fmt.Errorf("who should understand this? %s", message)
	}
	told.count, told.edit = 1, strings.Contains(message, "reason edit")
	if told.last, err = time.Parse(time.RFC3339, found[3]); err == nil {
		told.first = told.last
	}
	if found[2] != "" && err == nil {
		told.count, _ = strconv.Atoi(found[1])
		told.first, err = time.Parse(time.RFC3339, found[2])
	}
	return told, err
}

// tells judges what a process tells of scheduled times that were not started.
func (t *truth) tells(m *simManager, o *ownerTruth, message string) {
	told, err := toldOf(message)
	if err != nil {
		t.breaks("guarantee 8: %v", err)
		return
	}
	told.by = m.process.Name
	cj, _ := t.server.Get("CronJob", ns, o.name).(*batchv1.CronJob)
	if cj != nil && cj.UID == o.uid {
		t.toldOnce(o, cj, told, message)
		if t.recordedMissed(cj, told.last) {
			told.by = ""
		}
	}
	t.excess++ // it is recorded
	o.told = append(o.told, told)
}

// recordedMissed reports whether it stands in the CronJob that the scheduled times up to this one were told.
func (t *truth) recordedMissed(cj *batchv1.CronJob, last time.Time) bool {
	var recorded struct{ Missed time.Time }
	_ = json.Unmarshal([]byte(cj.Annotations[adapter.AnnotationTimetable]), &recorded) // users write nonsense there
	served := cj.Status.LastScheduleTime
	return !recorded.Missed.Before(last) || served != nil && !served.Time.Before(last)
}

// toldOnce judges that so many of the scheduled times as an event says did not start, and were not told before. It holds
// for CronJobs that nobody touches, where one process leads at a time and no clock is set.
func (t *truth) toldOnce(o *ownerTruth, cj *batchv1.CronJob, told toldTruth, message string) {
	s, err := t.parse(&cj.Spec)
	if err != nil || !t.quiet(o.name) || cj.Spec.Schedule == simSchedules[8] || !t.tellsApart() {
		return
	}
	news := 0
	for at := s.Next(told.first.Add(-time.Second)); !at.IsZero() && !at.After(told.last); at = s.Next(at) {
		if !t.knowsRun(o.runs[at.Unix()], told.by) && !o.told.has(at, told.by) {
			news++
		}
	}
	if news < told.count {
		t.breaks("guarantee 8: of %d scheduled times of %s %d did start, or were told before: %s", told.count, o.name, told.count-news, message)
	}
}

// tellsApart reports whether each process can know what those before it have told.
func (t *truth) tellsApart() bool {
	return !t.overlap && !t.stale && !slices.ContainsFunc(t.plan.upsets, func(u simUpset) bool { return strings.HasPrefix(u.what, "clock") })
}

func (t *truth) quiet(name string) bool {
	i := slices.Index(t.keys, types.NamespacedName{Namespace: ns, Name: name})
	return i >= 0 && t.plan.cronJobs[i].quiet && !t.calm
}

// knowsRun reports whether a process can know that a run was started: its Job is there, or its time was recorded.
func (t *truth) knowsRun(j *jobTruth, process string) bool {
	return j != nil && !j.lost && !j.orphaned() && (!t.unsure[j.name] || j.maker != process)
}

// toldTruths are what was told.
type toldTruths []toldTruth

// has reports whether it was told, so that this process knows.
func (told toldTruths) has(at time.Time, process string) bool {
	return slices.ContainsFunc(told, func(t toldTruth) bool {
		return (t.by == "" || t.by == process || process == "") && !at.Before(t.first) && !at.After(t.last)
	})
}

// unheard forgives an event that a process did not live to write.
func (t *truth) unheard(e corev1.Event) {
	if o := t.owners[e.InvolvedObject.UID]; o != nil && e.Reason == "MissSchedule" {
		if told, err := toldOf(e.Message); err == nil {
			told.by = "nobody"
			o.told = append(o.told, told)
		}
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
			if !t.ran(o, at) && !o.told.has(at, "") {
				t.breaks("guarantee 8: the run of %s for %v is not there, and nobody was told", cj.Name, at)
			}
		}
	}
}

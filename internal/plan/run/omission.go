// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"time"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// reasonWords are the words for reasons that only CronJobs have; the others are those of a Timetable's status.
var reasonWords = map[cron.Reason]string{
	cron.NotStartedSharedName: "SharedName",
	cron.NotStartedTooMany:    "TooManyMissed",
	cron.NotStartedEdit:       "Edited",
}

// omissionTexts say what the words mean.
var omissionTexts = map[string]string{
	"Overlap":       "an earlier run had not ended",
	"Suspended":     "it was suspended",
	"Paused":        "it was paused, because too many runs had failed in a row",
	"Excluded":      "the time is excluded",
	"NotReady":      "nothing could be started, for something was wrong with the object",
	"Superseded":    "it waited for room, and a newer one took its place",
	"QueueFull":     "it found no place in the queue",
	"Edited":        "the schedule was changed before it could start",
	"Outage":        "nobody looked when it was due: no controller ran, or the machine slept",
	"CatchUpLimit":  "nobody looked when it was due, and more times were found than are made up for",
	"Deadline":      "it was found too late to start",
	"CreateFailed":  "its object could not be created",
	"NameTaken":     "an object of someone else had its name",
	"Stopping":      "an earlier run was being stopped for it",
	"SharedName":    "an earlier time has the same name",
	"TooManyMissed": "more than 100 times were missed before",
}

// OmissionText says in a few words what the word of an omission means; "" if it is not known.
func OmissionText(reason string) string { return omissionTexts[reason] }

// Omitted reads what a controller says of scheduled times of a CronJob that it knows to be over; false if a run stands
// for them. seen is when it said so.
func Omitted(of kind.Info, owner cron.Owner, o cron.RunOutcome, seen time.Time) (Omission, bool) {
	if o.Result != cron.Skipped && o.Result != cron.Missed || o.First.IsZero() {
		return Omission{}, false
	}
	apiVersion, kindName := of.Owner.ToAPIVersionAndKind()
	word := cmp.Or(reasonWords[o.Reason], timetable.ReasonWord(o.Reason))
	omission := Omission{
		Namespace:     owner.Namespace,
		Owner:         Owner{APIVersion: apiVersion, Kind: kindName, Name: owner.Name, UID: owner.UID},
		ScheduledTime: o.First.UTC(), Count: int64(max(1, o.Count)), Missed: o.Result == cron.Missed,
		Reason: word, Message: omissionTexts[word], Seen: seen.UTC(),
	}
	if o.Last.After(o.First) {
		omission.Until = o.Last.UTC()
	}
	return omission, true
}

// OmissionsOf reads the status of a Timetable, in the order of its ledger. seen is when it was read. The Timetable is
// not modified.
func OmissionsOf(t *v1alpha1.Timetable, seen time.Time) []Omission {
	var omissions []Omission
	apiVersion, kindName := kind.Timetable{}.Info().Owner.ToAPIVersionAndKind()
	owner := Owner{APIVersion: apiVersion, Kind: kindName, Name: t.Name, UID: t.UID}
	for i := range t.Status.Ledger {
		e := &t.Status.Ledger[i]
		if e.Result != v1alpha1.ResultSkipped && e.Result != v1alpha1.ResultMissed {
			continue
		}
		omissions = append(omissions, Omission{
			Namespace: t.Namespace, Owner: owner, ScheduledTime: instant(&e.ScheduledTime), Until: instant(e.Until),
			Count: int64(max(1, e.Count)), Missed: e.Result == v1alpha1.ResultMissed, Reason: e.Reason,
			Message: omissionTexts[e.Reason], Seen: seen.UTC(),
		})
	}
	return omissions
}

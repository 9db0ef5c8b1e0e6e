// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	runs "github.com/carillon-dev/carillon/internal/plan/run"
)

// remembered is a run of the backup that a journal has, for a scheduled time, created and ended then.
func remembered(scheduled, created, ended string, outcome runs.Outcome, change func(*runs.Run)) runs.Run {
	r := runs.Run{
		APIVersion: "batch/v1", Kind: "Job", Namespace: "data", Owner: runs.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "backup-uid"},
		Trigger: runs.Schedule, ScheduledTime: instant(scheduled), Created: instant(created), Started: instant(created), Outcome: outcome, Attempts: 1, ExitCode: new(int32(0)),
	}
	if ended != "" {
		r.Ended = instant(ended)
	}
	r.Name = fmt.Sprintf("backup-%d", r.ScheduledTime.Unix()/60)
	r.UID = types.UID(r.Name + "-uid")
	if change != nil {
		change(&r)
	}
	return r
}

func failedRemembered(r *runs.Run) {
	r.Reason, r.Message, r.ExitCode, r.Attempts, r.MemoryPeak = "BackoffLimitExceeded", "Job has reached the specified backoff limit", new(int32(137)), 3, 512<<20
}

func omitted(from, until string, count int64, missed bool, reason string) runs.Omission {
	o := runs.Omission{Namespace: "data", ScheduledTime: instant(from), Count: count, Missed: missed, Reason: reason, Message: runs.OmissionText(reason), Seen: instant(from).Add(time.Minute)}
	if until != "" {
		o.Until = instant(until)
	}
	return o
}

// withJournal gives the evidence a journal since August.
func withJournal(known ...any) func(*diagnosis.Evidence) {
	journal := diagnosis.Journal{Since: instant("2026-08-25T01:04:00Z")}
	for _, k := range known {
		switch k := k.(type) {
		case runs.Run:
			journal.Runs = append(journal.Runs, k)
		case runs.Omission:
			journal.Omissions = append(journal.Omissions, k)
		}
	}
	return func(e *diagnosis.Evidence) { e.Kubectl = "carillon kubectl"; e.Remember(journal) }
}

// goneJob is the evidence of a Job that is only in a journal.
func goneJob(t *testing.T, r runs.Run) *diagnosis.Evidence {
	t.Helper()
	e := &diagnosis.Evidence{Now: now, Kubectl: "carillon kubectl", Read: diagnosis.Kinds{Jobs: true}}
	e.Remember(diagnosis.Journal{Gone: &r})
	return e
}

func TestExplainAJobThatIsGone(t *testing.T) {
	for name, test := range map[string]struct {
		run     runs.Run
		verdict diagnosis.Verdict
		says    string
	}{
		"succeeded":  {remembered("2026-11-10T01:00:00Z", "2026-11-10T01:00:01Z", "2026-11-10T01:04:00Z", runs.Succeeded, nil), diagnosis.Succeeded, "cronjob/backup started it for 2026-11-10 01:00 UTC, on time."},
		"failed":     {remembered("2026-11-10T01:00:00Z", "2026-11-10T01:10:00Z", "2026-11-10T01:14:00Z", runs.Failed, failedRemembered), diagnosis.Failed, "10m late."},
		"cancelled":  {remembered("2026-11-10T01:00:00Z", "2026-11-10T01:00:01Z", "2026-11-10T01:04:00Z", runs.Cancelled, func(r *runs.Run) { r.Message = "it was deleted before it had ended" }), diagnosis.Cancelled, "it was deleted before it had ended (exit code 0)."},
		"nobody saw": {remembered("2026-11-10T01:00:00Z", "2026-11-10T01:00:01Z", "", runs.Unknown, nil), diagnosis.CannotTell, "nobody saw how"},
		"by hand":    {remembered("2026-11-10T01:00:00Z", "2026-11-10T01:00:01Z", "2026-11-10T01:04:00Z", runs.Succeeded, func(r *runs.Run) { r.Trigger, r.ScheduledTime = runs.Manual, time.Time{} }), diagnosis.Succeeded, "Somebody started it by hand from cronjob/backup"},
		"on its own": {remembered("2026-11-10T01:00:00Z", "2026-11-10T01:00:01Z", "2026-11-10T01:04:00Z", runs.Succeeded, func(r *runs.Run) { r.Owner = runs.Owner{} }), diagnosis.Succeeded, "no schedule made it"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := diagnosis.Explain(goneJob(t, test.run), diagnosis.Question{})
			if answer.Verdict != test.verdict || answer.Object.Name != test.run.Name || len(answer.Missing) == 0 || len(answer.Evidence) == 0 || answer.Evidence[0].Source != "journal" {
				t.Errorf("%+v", answer)
			}
			found := false
			for _, s := range answer.Sentences {
				found = found || strings.Contains(s.Text, test.says)
			}
			if !found {
				t.Errorf("it does not say %q: %+v", test.says, answer.Sentences)
			}
		})
	}
}

// What the journal has of a time outranks when the object was made: a restored one is younger than its history.
func TestExplainBeforeItWasRestored(t *testing.T) {
	restored := cronJob(func(c *batchv1.CronJob) { c.CreationTimestamp = at("2026-11-20T10:00:00Z") })
	for name, test := range map[string]struct {
		known   any
		verdict diagnosis.Verdict
	}{
		"missed":       {omitted("2026-11-19T01:00:00Z", "", 1, true, "Outage"), diagnosis.Missed},
		"within a gap": {omitted("2026-11-18T01:00:00Z", "2026-11-20T01:00:00Z", 3, true, "Outage"), diagnosis.Missed},
		"a run":        {remembered("2026-11-19T01:00:00Z", "2026-11-19T01:00:01Z", "2026-11-19T01:04:00Z", runs.Succeeded, nil), diagnosis.RanOnTime},
		"another time": {omitted("2026-11-17T01:00:00Z", "", 1, true, "Outage"), diagnosis.Skipped},
	} {
		t.Run(name, func(t *testing.T) {
			e := evidence(t, "", restored)
			withJournal(test.known)(e)
			asked := diagnosis.At{From: instant("2026-11-19T01:00:00Z"), Until: instant("2026-11-19T01:01:00Z")}
			if got := diagnosis.Explain(e, diagnosis.Question{At: &asked}); got.Verdict != test.verdict {
				t.Errorf("%s: %s", got.Verdict, got.Headline())
			}
		})
	}
}

func anyRemembered(t *rapid.T) diagnosis.Journal {
	journal := diagnosis.Journal{}
	if maybe(t, "a journal since long") {
		journal.Since = instant(anyTime(t, "since"))
	}
	for range rapid.IntRange(0, 4).Draw(t, "remembered") {
		outcome := rapid.SampledFrom([]runs.Outcome{runs.Active, runs.Succeeded, runs.Failed, runs.Cancelled, runs.Unknown}).Draw(t, "outcome")
		r := remembered(anyTime(t, "scheduled"), anyTime(t, "created"), anyTime(t, "ended"), outcome, nil)
		if maybe(t, "by hand") {
			r.Trigger, r.ScheduledTime, r.Name = runs.Manual, time.Time{}, "by-hand"
		}
		if maybe(t, "tells little") {
			r.Ended, r.ExitCode, r.Created = time.Time{}, nil, time.Time{}
		}
		journal.Runs = append(journal.Runs, r)
	}
	for range rapid.IntRange(0, 3).Draw(t, "omissions") {
		o := omitted(anyTime(t, "omitted"), "", 1, maybe(t, "missed"), rapid.SampledFrom([]string{"", "Overlap", "Suspended", "Excluded", "Outage", "Strange"}).Draw(t, "reason"))
		if maybe(t, "several") {
			o.Until, o.Count = o.ScheduledTime.Add(time.Hour), 3
		}
		journal.Omissions = append(journal.Omissions, o)
	}
	return journal
}

// Nor does an answer from a journal alone say more than that has.
func TestAnswersFromAJournalAloneRestOnIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := &diagnosis.Evidence{Now: now, Kubectl: "carillon kubectl", Read: diagnosis.Kinds{Jobs: true}}
		journal := anyRemembered(t)
		journal.Only = &diagnosis.Object{Kind: "CronJob", Namespace: "data", Name: "backup"}
		if maybe(t, "nobody was asked") {
			journal.Unasked = "the Carillon on /data does not run"
			if journal.Stopped = maybe(t, "it is stopped"); journal.Stopped && maybe(t, "and left a sign") {
				journal.StoppedAt = instant(anyTime(t, "last sign"))
			}
		}
		e.Remember(journal)
		question := diagnosis.Question{}
		if maybe(t, "about a time") {
			at, err := diagnosis.ParseAt(anyTime(t, "asked"), now, e.Zone())
			if err != nil {
				t.Fatal(err)
			}
			question.At = &at
		}
		check(t, diagnosis.Explain(e, question), map[string]bool{"journal": true})
	})
}

// Whatever a journal has, the answer rests on what there is.
func TestAnswersFromAJournalRestOnEvidence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		objects, names := anyObjects(t)
		all := read(t, objects...)
		e := diagnosis.Gather(all, all.Scheduled[0], "data", "")
		e.Now, e.Read = now, diagnosis.Kinds{Jobs: true, Pods: true, Events: true, Leases: true}
		names["journal"] = true
		e.Remember(anyRemembered(t))
		question := diagnosis.Question{}
		if maybe(t, "about a time") {
			at, err := diagnosis.ParseAt(anyTime(t, "asked"), now, e.Zone())
			if err != nil {
				t.Fatal(err)
			}
			question.At = &at
		}
		check(t, diagnosis.Explain(e, question), names)
	})
}

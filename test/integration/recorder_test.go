// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/carillon-dev/carillon/internal/controller/job"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/recorder"
	"github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/plane"
)

// record runs a Recorder beside the test, that writes to j, or to a journal in dir if that is nil.
func record(t *testing.T, dir string, j recorder.Journal) *recorder.Recorder {
	t.Helper()
	if j == nil {
		opened, err := journal.Open(dir, journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := opened.Close(); err != nil {
				t.Error(err)
			}
		})
		j = opened
	}
	client, err := recorder.NewClient(plane.Start(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	past := recorder.NewJournalPast(dir)
	r, err := recorder.New(recorder.Options{Client: client, Journal: j, Past: past})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if err := past.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// Jobs that are deleted in the instant in which they end are in the journal when they are gone, by time to live as by
// history limit, and so is a time that was skipped.
func TestRunsAreRecordedBeforeTheyAreDeleted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	w := newWorld(t, manager.Options{Controllers: []string{manager.CronJob, manager.TTLAfterFinished}, Witness: record(t, dir, nil)})
	past := recorder.NewJournalPast(dir)
	defer past.Close()
	runsOf := func(ctx context.Context, cj *batchv1.CronJob) []run.Run {
		found, err := past.Runs(ctx, journal.Query{OwnerUID: cj.UID})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	template := make.Job(w.namespace, "x").ManagedBy(job.ManagedBy)
	byTTL := w.createCronJob(make.CronJob(w.namespace, "ttl").Schedule("* * * * *").Template(make.Job(w.namespace, "x").ManagedBy(job.ManagedBy).TTL(0)))
	byLimit := w.createCronJob(make.CronJob(w.namespace, "limit").Schedule("* * * * *").Template(template).History(0, 0))
	for n := range 3 {
		w.pass(1)
		for _, cj := range []*batchv1.CronJob{byTTL, byLimit} {
			j := w.runs(cj, 1, 1)[0]
			w.complete(&j)
			w.runs(cj, 0, 0)
			found := runsOf(t.Context(), cj)
			if len(found) != n+1 || found[0].Name != j.Name || found[0].Outcome != run.Succeeded || found[0].ScheduledTime.IsZero() {
				t.Fatalf("%s is gone, and the journal has %+v", j.Name, found)
			}
		}
	}

	forbid := w.createCronJob(make.CronJob(w.namespace, "forbid").Schedule("* * * * *").Template(template).Policy(batchv1.ForbidConcurrent))
	w.pass(1)
	w.runs(forbid, 1, 1)
	w.pass(1)
	w.eventually("the time that was skipped is recorded", func(ctx context.Context) error {
		reader, err := journal.OpenReader(dir)
		if err != nil {
			return err
		}
		defer reader.Close()
		omissions, err := reader.Omissions(ctx, journal.Query{OwnerUID: forbid.UID})
		if err != nil {
			return err
		}
		for _, o := range omissions {
			if !o.Missed && o.Reason == "Overlap" && o.Owner.Name == forbid.Name {
				return nil
			}
		}
		w.pass(1) // it is clear that a time is skipped when the next one comes
		return fmt.Errorf("omissions: %+v", omissions)
	})
}

// full is a journal on a full disk.
type full struct{}

func (full) Record(context.Context, []run.Run, []run.Omission) error { return journal.ErrUnavailable }

func (full) RecordAttempt(context.Context, run.Attempt, io.Reader) error {
	return journal.ErrUnavailable
}

// A journal that can never be written to stops no run, and keeps nothing from being deleted.
func TestFullDiskStopsNoRun(t *testing.T) {
	w := newWorld(t, manager.Options{Controllers: []string{manager.CronJob, manager.TTLAfterFinished}, Witness: record(t, t.TempDir(), full{})})
	cj := w.createCronJob(make.CronJob(w.namespace, "brief").Schedule("* * * * *").Template(make.Job(w.namespace, "x").ManagedBy(job.ManagedBy).TTL(0)))
	for range 3 {
		w.pass(1)
		j := w.runs(cj, 1, 1)[0]
		w.complete(&j)
		w.runs(cj, 0, 0)
	}
}

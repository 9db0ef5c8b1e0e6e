// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// BenchmarkStatus is the whole command with 10,000 CronJobs of an API server and a journal of 100,000 runs.
func BenchmarkStatus(b *testing.B) {
	const schedules, runs = 10_000, 100_000
	s := &apiServer{nodes: []corev1.Node{readyNode("tower")}, readyz: "ok"}
	for n := range schedules {
		s.cronJobs = append(s.cronJobs, *cronJob("shop", fmt.Sprintf("job-%05d", n), fmt.Sprintf("%d %d * * *", n%60, n%24)).(*batchv1.CronJob))
	}
	dir := b.TempDir()
	j, err := journal.Open(dir, journal.Options{KeepLogs: -1})
	if err != nil {
		b.Fatal(err)
	}
	batch := make([]run.Run, 0, 1000)
	for n := range runs {
		name := fmt.Sprintf("job-%05d", n%schedules)
		r := runOf("shop", name, time.Duration(runs-n)*20*time.Second)
		r.UID, r.Outcome, r.Ended = types.UID(fmt.Sprintf("run-%d", n)), run.Succeeded, r.Started.Add(time.Second)
		switch {
		case n%1000 == 7:
			r = failedRun("shop", name, time.Duration(runs-n)*20*time.Second, time.Second, 1)
			r.UID = types.UID(fmt.Sprintf("run-%d", n))
		case n >= runs-50:
			r.Outcome, r.Ended = run.Active, time.Time{}
		}
		if batch = append(batch, r); len(batch) == cap(batch) {
			if err := j.Record(b.Context(), batch, nil); err != nil {
				b.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		reader, err := journal.OpenReader(dir)
		if err != nil {
			b.Fatal(err)
		}
		text, err := askStatus(b, s, lookup.NewJournal(reader, "the journal of a benchmark", ""), "--since", "2d")
		if err != nil || !strings.Contains(text, "10,000 schedules") || !strings.Contains(text, "50 running") {
			b.Fatalf("%v\n%s", err, text)
		}
	}
}

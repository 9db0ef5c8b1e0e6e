// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/statistics"
)

// manyRun is the nth of many runs, of 10,000 owners; 1 in 50 failed.
func manyRun(n int) run.Run {
	r := aRun(n, run.Succeeded)
	o := n % 10_000
	r.Owner = run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: fmt.Sprintf("report-%05d", o), UID: uid(5_000_000 + o)}
	r.Namespace = fmt.Sprintf("team-%02d", o%50)
	r.Name = fmt.Sprintf("report-%05d-%d", o, 29_000_000+n/10)
	r.ScheduledTime = at(n / 100)
	r.Created, r.Started = r.ScheduledTime.Add(time.Second), r.ScheduledTime.Add(2*time.Second)
	r.Ended = r.Started.Add(time.Duration(n%60) * time.Second)
	if n%50 == 0 {
		r.Outcome, r.PodsSucceeded, r.PodsFailed = run.Failed, 0, 1
		r.Reason, r.Message = "BackoffLimitExceeded", "Job has reached the specified backoff limit"
	}
	return r
}

func manyAttempt(n int) run.Attempt {
	r := manyRun(n)
	a := anAttempt(n, n)
	a.ContainerID = fmt.Sprintf("carillon://%016x%048x", uint64(n)*0x9e3779b97f4a7c15, n)
	a.Namespace, a.Pod, a.Started, a.Ended = r.Namespace, r.Name+"-x7k2p", r.Started, r.Ended
	if n%50 == 0 {
		a.ExitCode, a.Reason = 1, "Error"
	}
	return a
}

// BenchmarkRecord is what one run's end costs, alone and with others at the same time.
func BenchmarkRecord(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("%d callers", callers), func(b *testing.B) {
			j := open(b, tempDir(b), Options{KeepLogs: -1})
			var n atomic.Int64
			b.SetParallelism(callers)
			log := logText(20)
			b.ResetTimer()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					n := int(n.Add(1))
					if err := j.Record(b.Context(), []run.Run{manyRun(n)}, nil); err != nil {
						b.Fatal(err)
					}
					if err := j.RecordAttempt(b.Context(), manyAttempt(n), strings.NewReader(log)); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}

// many fills a journal with 100,000 runs, each with an attempt, and a log if there is a text.
func many(b *testing.B, dir, log string) {
	b.Helper()
	const total, together = 100_000, 100
	j := open(b, dir, Options{KeepLogs: -1})
	var heap [2]runtime.MemStats
	for n := 0; n < total; n += together {
		var all []run.Run
		var omissions []run.Omission
		for i := n; i < n+together; i++ {
			r := manyRun(i)
			if i%1000 == 1 {
				r.Outcome, r.Ended, r.Reason, r.Message = run.Active, time.Time{}, "", ""
			}
			all = append(all, r)
			if i%10 == 0 {
				omissions = append(omissions, run.Omission{Namespace: r.Namespace, Owner: r.Owner, ScheduledTime: r.ScheduledTime.Add(30 * time.Second),
					Count: 1, Missed: true, Reason: "DeadlineExceeded", Message: "It could not be started within the deadline", Seen: r.Created})
			}
		}
		if err := j.Record(b.Context(), all, omissions); err != nil {
			b.Fatal(err)
		}
		if err := j.do(b.Context(), func(d *database) error {
			for i := n; i < n+together; i++ {
				a := manyAttempt(i)
				s := step{attempt: a, last: true}
				if log != "" {
					c := compressed([]byte(log))
					s.pending, s.end, s.disk, s.text = []chunk{c}, 1, c.disk(), c.size
				}
				if _, err := s.apply(d); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
		if n == total/10 {
			runtime.GC()
			runtime.ReadMemStats(&heap[0])
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&heap[1])
	b.ReportMetric(float64(int64(heap[1].HeapAlloc)-int64(heap[0].HeapAlloc))/(1<<20), "MiB-heap-growth")
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
	extent, err := read(b, dir).Extent(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(extent.DiskBytes-extent.LogBytes)/total, "disk-bytes/run")
	b.ReportMetric(float64(extent.LogBytes)/total, "log-bytes/run")
}

// BenchmarkManyRuns is the disk and the memory of 100,000 runs, with logs of 20 lines and without.
func BenchmarkManyRuns(b *testing.B) {
	for name, log := range map[string]string{"without logs": "", "with logs": logText(20)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				many(b, tempDir(b), log)
			}
		})
	}
}

// BenchmarkQueries is what status asks a journal of 100,000 runs of 10,000 owners.
func BenchmarkQueries(b *testing.B) {
	dir := tempDir(b)
	many(b, dir, "")
	var owners []types.UID
	for o := range 10_000 {
		owners = append(owners, uid(5_000_000+o))
	}
	end := manyRun(100_000).Ended
	for name, f := range map[string]func(r *Reader) (int, error){
		"active": func(r *Reader) (int, error) {
			all, err := r.Runs(b.Context(), Query{Outcomes: []run.Outcome{run.Active}})
			return len(all), err
		},
		"failed in the last two hours": func(r *Reader) (int, error) {
			all, err := r.Runs(b.Context(), Query{Outcomes: []run.Outcome{run.Failed}, EndedFrom: end.Add(-2 * time.Hour)})
			return len(all), err
		},
		"omissions of the last two hours": func(r *Reader) (int, error) {
			all, err := r.Omissions(b.Context(), Query{From: end.Add(-2 * time.Hour)})
			return len(all), err
		},
		"usual of 10000 owners": func(r *Reader) (int, error) {
			all, err := r.Usual(b.Context(), owners)
			return len(all), err
		},
		"runs of one owner": func(r *Reader) (int, error) {
			all, err := r.Runs(b.Context(), Query{Namespace: "team-07", OwnerKind: "CronJob", OwnerName: "report-00007"})
			return len(all), err
		},
		"runs of 40 owners": func(r *Reader) (int, error) {
			all, err := r.Runs(b.Context(), Query{OwnerUIDs: owners[:40], From: at(0), Until: at(100_000)})
			return len(all), err
		},
		"tally of 40 owners": func(r *Reader) (int, error) {
			all, err := r.Tally(b.Context(), Query{OwnerUIDs: owners[:40], From: at(0), Until: at(100_000)}, time.Hour)
			return len(all), err
		},
		"tally of all": func(r *Reader) (int, error) {
			all, err := r.Tally(b.Context(), Query{From: at(0), Until: at(100_000)}, time.Hour)
			return len(all), err
		},
		"tally of failures": func(r *Reader) (int, error) {
			all, err := r.Tally(b.Context(), Query{Outcomes: []run.Outcome{run.Failed}, From: at(0)}, 0)
			return len(all), err
		},
		"owners": func(r *Reader) (int, error) {
			all, err := r.Owners(b.Context(), Query{From: at(0), Until: at(100_000)})
			return len(all), err
		},
		"the newest 50 of a namespace": func(r *Reader) (int, error) {
			all, err := r.Runs(b.Context(), Query{Namespace: "team-07", Limit: 50})
			return len(all), err
		},
		"the newest 50": func(r *Reader) (int, error) {
			all, err := r.Runs(b.Context(), Query{Limit: 50})
			return len(all), err
		},
		"all 100000 runs": func(r *Reader) (int, error) {
			all, err := r.Runs(b.Context(), Query{})
			return len(all), err
		},
		"statistics of a year of days": func(r *Reader) (int, error) {
			q := statistics.Query{}
			for d := range 366 {
				q.Bounds = append(q.Bounds, end.AddDate(0, 0, d-364))
			}
			s, err := r.Statistics(b.Context(), q)
			return len(s.Spans), err
		},
		"statistics of 10000 owners": func(r *Reader) (int, error) {
			s, err := r.Statistics(b.Context(), statistics.Query{Bounds: []time.Time{end.AddDate(-1, 0, 0), end.AddDate(0, 0, 1)}, Owners: true})
			return len(s.Owners), err
		},
		"statistics of one namespace": func(r *Reader) (int, error) {
			s, err := r.Statistics(b.Context(), statistics.Query{Namespace: "team-07", Bounds: []time.Time{end.AddDate(-1, 0, 0), end.AddDate(0, 0, 1)}, Owners: true})
			return len(s.Owners), err
		},
		"extent": func(r *Reader) (int, error) {
			e, err := r.Extent(b.Context())
			return int(e.Runs), err
		},
	} {
		b.Run(name, func(b *testing.B) {
			r := read(b, dir)
			rows := 0
			for b.Loop() {
				n, err := f(r)
				if err != nil || n == 0 {
					b.Fatal(n, err)
				}
				rows = n
			}
			b.ReportMetric(float64(rows), "rows")
		})
	}
	b.Run("check", func(b *testing.B) {
		d, err := connect(b.Context(), dir+"/"+fileName, "ro", readPragmas)
		if err != nil {
			b.Fatal(err)
		}
		defer d.close()
		for b.Loop() {
			if err := d.check(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Which of the runs that a watch sees is waited for.
func TestPick(t *testing.T) {
	is := func(name string, age time.Duration, outcome run.Outcome, more ...func(*run.Run)) *run.Run {
		r := &run.Run{UID: types.UID(name), Name: name, Created: logsNow.Add(-age), Outcome: outcome, ScheduledTime: logsNow.Add(-age).Truncate(time.Minute)}
		for _, f := range more {
			f(r)
		}
		return r
	}
	first := func(r *run.Run) sighting { return sighting{run: r, initial: true} }
	later := func(r *run.Run) sighting { return sighting{run: r} }
	retry := func(n int) func(*run.Run) {
		return func(r *run.Run) { r.Retry, r.ScheduledTime = n, logsNow.Add(-time.Hour) }
	}
	hourAgo := diagnosis.At{From: logsNow.Add(-time.Hour), Until: logsNow.Add(-59 * time.Minute)}
	synced := sighting{synced: true}
	for name, test := range map[string]struct {
		set   func(*pick)
		seen  []sighting
		want  string
		ended bool
		gone  bool
	}{
		"nothing": {seen: []sighting{synced, {}}},
		"the active one": {
			seen: []sighting{first(is("a", time.Hour, run.Succeeded)), first(is("b", time.Minute, run.Active)), synced, later(is("c", 0, run.Active))},
			want: "b",
		},
		"the newest active one": {
			seen: []sighting{first(is("b", time.Minute, run.Active)), first(is("a", time.Hour, run.Active)), first(is("c", time.Second, run.Active)), synced},
			want: "c",
		},
		"the next, as none is active": {
			seen: []sighting{first(is("a", time.Hour, run.Succeeded)), synced, later(is("a", time.Hour, run.Succeeded)), later(is("c", 0, run.Active))},
			want: "c",
		},
		"the next, not the active one": {
			set:  func(p *pick) { p.next = true },
			seen: []sighting{first(is("a", time.Hour, run.Active)), synced, later(is("a", time.Hour, run.Failed)), later(is("c", 0, run.Active))},
			want: "c",
		},
		"created since the command began, and ended before the watch did": {
			set:  func(p *pick) { p.next = true },
			seen: []sighting{first(is("a", time.Hour, run.Active)), first(is("c", 0, run.Failed)), synced},
			want: "c", ended: true,
		},
		"seen when it was gone": {
			seen: []sighting{synced, {run: is("c", 0, run.Succeeded), gone: true, last: true}},
			want: "c", ended: true, gone: true,
		},
		"gone before it had ended": {
			seen: []sighting{first(is("b", time.Minute, run.Active)), synced, {run: is("b", time.Minute, run.Active), gone: true}},
			want: "b", gone: true,
		},
		"an older state that comes later": {
			seen: []sighting{synced, later(is("c", 0, run.Succeeded)), later(is("c", 0, run.Active))},
			want: "c", ended: true,
		},
		"a Job, ended or not": {
			set:  func(p *pick) { p.job = true },
			seen: []sighting{first(is("a", time.Hour, run.Failed)), synced, later(is("b", 0, run.Active))},
			want: "a", ended: true,
		},
		"a scheduled time": {
			set:  func(p *pick) { p.at = &hourAgo },
			seen: []sighting{first(is("a", 2*time.Hour, run.Active)), first(is("b", time.Hour, run.Succeeded)), first(is("c", time.Minute, run.Active)), synced},
			want: "b", ended: true,
		},
		"the last retry of a scheduled time": {
			set: func(p *pick) { p.at = &hourAgo },
			seen: []sighting{first(is("b-2", time.Minute, run.Failed, retry(2))), first(is("b", time.Hour, run.Failed, retry(1))), synced,
				later(is("b-3", 0, run.Active, retry(3)))},
			want: "b-3",
		},
		"a try that has failed, of a time that is tried again": {
			set:  func(p *pick) { p.begun = []time.Time{hourAgo.From} },
			seen: []sighting{first(is("a", time.Minute, run.Failed)), first(is("b", time.Hour, run.Failed, retry(1))), synced}, want: "b", ended: true,
		},
		"the next, and no try of what had begun": {
			set:  func(p *pick) { p.next, p.begun = true, []time.Time{hourAgo.From} },
			seen: []sighting{synced, later(is("b-2", 0, run.Active, retry(2))), later(is("c", 0, run.Active))}, want: "c",
		},
		"the next, and no try of what was seen before": {
			set:  func(p *pick) { p.next = true },
			seen: []sighting{first(is("b", time.Hour, run.Failed, retry(1))), synced, later(is("b-2", 0, run.Active, retry(2))), later(is("c", 0, run.Active))}, want: "c",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPick(&subject{}, logsNow)
			if test.set != nil {
				test.set(p)
			}
			for _, s := range test.seen {
				p.see(s)
			}
			got := ""
			if p.chosen != nil {
				got = p.chosen.Name
			}
			if got != test.want || p.ended() != test.ended || p.gone != test.gone {
				t.Errorf("got %q, ended %t, gone %t", got, p.ended(), p.gone)
			}
		})
	}
}

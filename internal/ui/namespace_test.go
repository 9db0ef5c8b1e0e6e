// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/cache"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// A page of one namespace tells nothing that a journal remembers of another one: no name, and no count.
func TestJournalOfOneNamespace(t *testing.T) {
	runOf := func(namespace, owner string, n int, outcome run.Outcome) run.Run {
		at := uitest.Now.Add(-time.Duration(n+1) * time.Minute)
		name := fmt.Sprintf("%s-%d", owner, n)
		r := run.Run{UID: types.UID("uid-" + name), APIVersion: "batch/v1", Kind: "Job", Namespace: namespace, Name: name, Trigger: run.Schedule, ScheduledTime: at,
			Created: at.Add(10 * time.Second), Started: at.Add(10 * time.Second), Outcome: outcome, PodsFailed: 3,
			Owner: run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: owner, UID: types.UID("u-" + owner)}}
		if outcome.Ended() {
			r.Ended = r.Started.Add(time.Duration(n+1) * time.Second)
		}
		return r
	}
	w := uitest.World{Stopped: t.TempDir()}
	outcomes := []run.Outcome{run.Active, run.Failed, run.Succeeded}
	for n, outcome := range outcomes {
		w.Runs = append(w.Runs, runOf("own", "backup", n, outcome))
	}
	for n := range 3 * 777 {
		w.Runs = append(w.Runs, runOf("elsewhere", "secret", n, outcomes[n%3]))
	}
	w.Omissions = []run.Omission{{Namespace: "elsewhere", Owner: w.Runs[5].Owner, ScheduledTime: uitest.Now.Add(-time.Hour), Count: 777, Missed: true, Reason: "Outage",
		Message: "secret", Seen: uitest.Now}}
	site := uitest.Site(t, w)
	site.Namespace = "own"
	c := cache.New(cache.Options{Source: site.Source, Namespace: site.Namespace, DataDir: w.Stopped, Clock: site.Clock, Log: site.Log})
	done := make(chan struct{})
	go func() { defer close(done); c.Run(t.Context()) }()
	t.Cleanup(func() { <-done })
	site.Cache = c
	h := Handler(t.Context(), site)
	more := map[string][]string{ // beside each route as it comes
		"GET /{$}":                           {"/?show=failed", "/?show=running", "/?show=missed"},
		"GET /timeline":                      {"/timeline?as=table", "/timeline?sort=failure", "/timeline?q=secret", "/timeline?show=running", "/timeline?zoom=1h"},
		"GET /fleet":                         {"/fleet?kind=cronjob"},
		"GET /fleet/day":                     {"/fleet/day?date=2026-11-02", "/fleet/day?date=2026-11-02&outcome=failed", "/fleet/day?date=2026-11-02&outcome=active"},
		"GET /schedules":                     {"/schedules?q=secret"},
		"GET /why/{kind}/{namespace}/{name}": {"/why/cronjob/own/backup?at=2026-11-02T10:58:00Z"},
		"GET /run/{namespace}/{name}":        {"/run/own/backup-1?uid=uid-secret-1"},
	}
	for _, pattern := range site.Patterns() {
		method, path, _ := strings.Cut(pattern, " ")
		if method != http.MethodGet || strings.HasSuffix(path, "/events") || strings.HasPrefix(path, "/assets/") {
			continue // a stream tells that something has changed, and what a run writes whose page is seen
		}
		path = strings.NewReplacer("{$}", "", "{kind}", "cronjob", "{namespace}", "own", "{act}", "stop").Replace(path)
		targets := append(more[pattern], strings.ReplaceAll(path, "{name}", "backup"), strings.ReplaceAll(path, "{name}", "backup-1"), strings.ReplaceAll(path, "{name}", "secret"),
			strings.ReplaceAll(path, "{name}", "secret-1")+"?uid=uid-secret-1")
		delete(more, pattern)
		for _, target := range targets {
			t.Run(target, func(t *testing.T) {
				var body string
				var code int
				for code == 0 || strings.Contains(body, "are being counted") {
					code, body = uitest.Get(t, h, target)
				}
				if code >= 500 && code != http.StatusServiceUnavailable { // which acts answer without an API server
					t.Errorf("it answers %d", code)
				}
				unwanted := []string{"elsewhere", "777", "778", "2,331", "2,334"}
				if !strings.Contains(target, "secret") { // otherwise it is what was asked for that is said
					unwanted = append(unwanted, "secret")
				} else if code == http.StatusOK {
					unwanted = append(unwanted, "secret-2", "/run/own/secret", "u-secret")
				}
				uitest.Says(t, body, nil, unwanted)
			})
		}
	}
	for pattern := range more {
		t.Errorf("there is no route %s", pattern)
	}
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedules

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

func cronJob(namespace, name, schedule, rest string) string {
	return fmt.Sprintf(`---
apiVersion: batch/v1
kind: CronJob
metadata: {name: %s, namespace: %s, uid: uid-%s, resourceVersion: "1", creationTimestamp: "2026-11-02T10:59:30Z", labels: {team: "%s-team"}}
spec: {schedule: "%s"%s, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: a}]}}}}}
`, name, namespace, name, namespace, schedule, rest)
}

var fleet = cronJob("shop", "backup", "30 2 * * *", ", timeZone: Europe/Berlin") +
	cronJob("shop", "backup-database", "*/5 * * * *", "") +
	cronJob("billing", "invoices", "0 4 1 * *", "") +
	cronJob("billing", "paused", "0 12 * * *", ", suspend: true") +
	cronJob("billing", "never", "0 0 30 2 *", "") + `---
apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: sync, namespace: data, uid: uid-sync, resourceVersion: "1", creationTimestamp: "2026-11-02T10:59:30Z"}
spec: {schedules: [{name: a, cron: "0 9 * * 1-5"}, {name: b, every: 6h}], timeZone: UTC, template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: a}]}}}}}
`

func ended(owner string, n int, outcome run.Outcome) run.Run {
	at := uitest.Now.Add(-time.Duration(n+1) * time.Minute)
	return run.Run{UID: types.UID(fmt.Sprintf("%s-%d", owner, n)), APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: fmt.Sprintf("%s-%d", owner, n), Outcome: outcome,
		Owner:         run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: owner, UID: types.UID("uid-" + owner)},
		ScheduledTime: at, Created: at, Started: at, Ended: at.Add(3 * time.Second)}
}

var history = []run.Run{ended("backup-database", 0, run.Failed), ended("backup-database", 1, run.Failed), ended("backup-database", 2, run.Succeeded)}

// names are the names of the schedules that a page lists, in its order.
func names(body string) []string {
	var all []string
	for _, part := range strings.Split(body, `<td class="list-name">`)[1:] {
		_, part, _ = strings.Cut(part, "<strong>")
		name, _, _ := strings.Cut(part, "</strong>")
		all = append(all, name)
	}
	return all
}

func TestList(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		want []string
	}{
		"all, by name":                 {"/schedules", []string{"invoices", "never", "paused", "sync", "backup", "backup-database"}},
		"a namespace":                  {"/schedules?namespace=shop", []string{"backup", "backup-database"}},
		"a kind":                       {"/schedules?kind=Timetable", []string{"sync"}},
		"a name, the whole one first":  {"/schedules?q=backup&kind=", []string{"backup", "backup-database"}},
		"a part of a name":             {"/schedules?q=DATA&sort=", []string{"backup-database", "sync"}},
		"words of the schedule":        {"/schedules?q=every+5+minutes&sort=", []string{"backup-database"}},
		"an expression":                {"/schedules?q=30+2+*&sort=", []string{"never", "backup"}},
		"a label":                      {"/schedules?q=team%3Dbilling-team&sort=name", []string{"invoices", "never", "paused"}},
		"a zone":                       {"/schedules?q=berlin&sort=", []string{"backup"}},
		"by the next time":             {"/schedules?sort=next", []string{"backup-database", "sync", "backup", "invoices", "never", "paused"}},
		"by failures":                  {"/schedules?sort=failures&namespace=shop", []string{"backup-database", "backup"}},
		"failing":                      {"/schedules?state=failing", []string{"backup-database"}},
		"paused":                       {"/schedules?state=paused", []string{"paused"}},
		"what cannot run":              {"/schedules?state=blocked", []string{"never"}},
		"no such state counts nothing": {"/schedules?state=%3Cscript%3E&sort=%27", []string{"invoices", "never", "paused", "sync", "backup", "backup-database"}},
		"nothing matches":              {"/schedules?q=nothing+like+this", nil},
		"a page far behind":            {"/schedules?page=9999999", []string{"invoices", "never", "paused", "sync", "backup", "backup-database"}},
		"no page":                      {"/schedules?page=-1&page=x", []string{"invoices", "never", "paused", "sync", "backup", "backup-database"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := uitest.Get(t, uitest.Site(t, uitest.World{Manifests: fleet, Runs: history}, Register), c.path)
			if got := names(body); code != http.StatusOK || !slices.Equal(got, c.want) {
				t.Errorf("it answers %d and lists %v", code, got)
			}
		})
	}
}

func TestRows(t *testing.T) {
	code, body := uitest.Get(t, uitest.Site(t, uitest.World{Manifests: fleet, Runs: history}, Register), "/schedules")
	if code != http.StatusOK {
		t.Fatal(code)
	}
	uitest.Says(t, body, []string{`href="/schedule/timetable/data/sync"`, "at 02:30 every day", "<code>30 2 * * *</code>", "Europe/Berlin", "every 6 hours",
		"The last 3 runs: 2 failed, 1 succeeded", "11:59: failed after 3s", "failing, 2×", "suspended", "names no date that exists",
		`Failing <span class="list-count">1</span>`, `<option>billing</option>`, `aria-sort="ascending"`}, nil)
}

// What alone matches a search from the head of a page is shown itself; a list that is narrowed is one.
func TestDirect(t *testing.T) {
	site := uitest.Site(t, uitest.World{Manifests: fleet, Runs: history}, Register)
	for path, want := range map[string]int{
		"/schedules?q=invoices":            http.StatusSeeOther,
		"/schedules?q=backup":              http.StatusOK,
		"/schedules?q=invoices&namespace=": http.StatusOK,
		"/schedules?q=":                    http.StatusOK,
	} {
		if code, to := uitest.Get(t, site, path); code != want || code == http.StatusSeeOther && to != "/schedule/cronjob/billing/invoices" {
			t.Errorf("%s: %d %.60s", path, code, to)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/schedules?q=invoices&namespace=&state=", nil)
	r.Header.Set("HX-Request", "true")
	r.Header.Set("HX-Trigger", formID)
	w := httptest.NewRecorder()
	site.ServeHTTP(w, r)
	if got := w.Header().Get("HX-Push-Url"); w.Code != http.StatusOK || got != "/schedules?q=invoices&sort=" {
		t.Errorf("while one types: %d, %q", w.Code, got)
	}
}

func TestMany(t *testing.T) {
	var manifests strings.Builder
	for n := range 120 {
		manifests.WriteString(cronJob("shop", fmt.Sprintf("job-%03d", n), "0 4 * * *", ""))
	}
	site := uitest.Site(t, uitest.World{Manifests: manifests.String()}, Register)
	for path, want := range map[string]struct{ first, text, link string }{
		"/schedules?q=job":             {"job-000", "1 to 50 of 120", `href="/schedules?page=2&amp;q=job"`},
		"/schedules?page=3&sort=name":  {"job-100", "101 to 120 of 120", `href="/schedules?page=2&amp;sort=name"`},
		"/schedules?page=77&sort=name": {"job-100", "101 to 120 of 120", `href="/schedules?page=2&amp;sort=name"`},
	} {
		code, body := uitest.Get(t, site, path)
		if got := names(body); code != http.StatusOK || len(got) == 0 || got[0] != want.first || !strings.Contains(body, want.text) || !strings.Contains(body, want.link) {
			t.Errorf("%s: %d, %v", path, code, got)
		}
	}
}

func TestEmptyAndBroken(t *testing.T) {
	if code, body := uitest.Get(t, uitest.Site(t, uitest.World{}, Register), "/schedules"); code != http.StatusOK || !strings.Contains(body, "There is no CronJob and no Timetable yet.") {
		t.Errorf("without any: %d\n%s", code, body)
	}
	if code, body := uitest.Get(t, uitest.Site(t, uitest.World{Fails: errors.New("the disk is gone")}, Register), "/schedules"); code != http.StatusInternalServerError || !strings.Contains(body, "the disk is gone") {
		t.Errorf("broken: %d\n%s", code, body)
	}
	hostile := "/schedules?q=" + url.QueryEscape(`"><script>alert(1)</script>`+"\x1b[31m\xff") + "&namespace=" + url.QueryEscape(`"'><img>`)
	code, body := uitest.Get(t, uitest.Site(t, uitest.World{Manifests: fleet}, Register), hostile)
	if code != http.StatusOK || strings.Contains(body, "<script>alert") || strings.Contains(body, "<img>") {
		t.Errorf("hostile: %d\n%s", code, body)
	}
}

// What changes is seen: a new version of an object, and a time that has passed.
func TestIndex(t *testing.T) {
	site := uitest.Site(t, uitest.World{Manifests: fleet})
	all, err := site.Cache.Schedules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x := &index{log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	of := func(all []*workload.Scheduled, now time.Time) []entry {
		entries, err := x.of(all, true, true, now)
		if err != nil {
			t.Fatal(err)
		}
		return entries
	}
	at := slices.IndexFunc(of(all, uitest.Now), func(e entry) bool { return e.name == "backup-database" })
	if next := of(all, uitest.Now)[at].Next; !next.Equal(uitest.Now.Add(5 * time.Minute)) {
		t.Errorf("next is %v", next)
	}
	if next := of(all, uitest.Now.Add(7*time.Minute))[at].Next; !next.Equal(uitest.Now.Add(10 * time.Minute)) {
		t.Errorf("then next is %v", next)
	}
	changed, err := uitest.Site(t, uitest.World{Manifests: strings.NewReplacer("*/5 * * * *", "0 3 * * *", `"1"`, `"2"`).Replace(fleet)}).Cache.Schedules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if e := of(changed, uitest.Now)[at]; !slices.Equal(e.Words, []string{"at 03:00 every day"}) || len(x.entries) != len(changed) {
		t.Errorf("after an edit: %v, %d entries", e.Words, len(x.entries))
	}
}

// FuzzQuery: whatever an address asks for, its own address asks for the same.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"q=a", "q=%ff&state=failing", "page=3&sort=next", "q=+&namespace=x&kind=CronJob"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		q := parseQuery(v)
		again, err := url.Parse(q.URL())
		if err != nil {
			t.Fatal(err)
		}
		got := parseQuery(again.Query())
		got.Direct, q.Direct = false, false
		if got != q {
			t.Errorf("%q: %+v became %+v", text, q, got)
		}
	})
}

// What cannot be seen is said, and nothing is called in order then.
func TestUnseen(t *testing.T) {
	manifests := cronJob("shop", "backup", "30 2 * * *", "")
	for name, c := range map[string]struct {
		world      uitest.World
		want, lack []string
	}{
		"all is seen":        {uitest.World{Manifests: manifests}, []string{"1 in all", "in order", "none known"}, []string{"not known"}},
		"Jobs":               {uitest.World{Manifests: manifests, Notes: []string{"Jobs may not be read"}, Unread: status.Unread{Runs: "Jobs may not be read"}}, []string{">backup<", "Jobs may not be read", "not known"}, []string{"in order", "none known"}},
		"CronJobs":           {uitest.World{Notes: []string{"CronJobs may not be read"}, Unread: status.Unread{Schedules: "CronJobs may not be read"}}, []string{"Not known: CronJobs may not be read"}, []string{"There is no CronJob", "0 in all"}},
		"what goes on fails": {uitest.World{Manifests: manifests, StatusFails: errors.New("no <answer>")}, []string{">backup<", "What goes on is not known: no &lt;answer&gt;", "1 in all"}, []string{"in order"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := uitest.Get(t, uitest.Site(t, c.world, Register), "/schedules")
			if code != http.StatusOK {
				t.Fatal(code, body)
			}
			uitest.Says(t, body, c.want, c.lack)
		})
	}
}

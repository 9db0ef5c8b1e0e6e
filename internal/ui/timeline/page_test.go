// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

func cronJob(namespace, name, spec string) string {
	return "---\n" + `{apiVersion: batch/v1, kind: CronJob, metadata: {name: "` + name + `", namespace: ` + namespace + `, uid: u-` + namespace + "-" + name +
		`, creationTimestamp: "2026-01-01T00:00:00Z"}, spec: {` + spec + `, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}}}}` + "\n"
}

func owner(namespace, name string) run.Owner {
	return run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: name, UID: types.UID("u-" + namespace + "-" + name)}
}

// aRun began so long before uitest.Now, and took that long.
func aRun(namespace, of, name string, before, took time.Duration, outcome run.Outcome) run.Run {
	at := uitest.Now.Add(-before)
	r := run.Run{UID: types.UID("uid-" + name), APIVersion: "batch/v1", Kind: "Job", Namespace: namespace, Name: name, Owner: owner(namespace, of), Trigger: run.Schedule,
		ScheduledTime: at, Created: at, Started: at, Outcome: outcome}
	if of == "" {
		r.Owner, r.ScheduledTime, r.Trigger = run.Owner{}, time.Time{}, ""
	}
	if outcome.Ended() {
		r.Ended = at.Add(took)
	}
	return r
}

func world() uitest.World {
	late := aRun("shop", "sync", "sync-late", 50*time.Minute, 5*time.Minute, run.Succeeded)
	late.Created, late.Started, late.Ended = late.Created.Add(7*time.Minute), late.Started.Add(7*time.Minute), late.Ended.Add(7*time.Minute)
	waits := aRun("shop", "sync", "sync-waits", 5*time.Minute, 0, run.Active)
	waits.Started = time.Time{}
	w := uitest.World{
		Manifests: cronJob("shop", "backup", `schedule: "0 * * * *"`) + cronJob("shop", "sync", `schedule: "*/10 * * * *"`) +
			cronJob("shop", "minutely", `schedule: "* * * * *"`) + cronJob("ops", "asleep", `schedule: "0 3 * * *", suspend: true`),
		Runs: []run.Run{
			aRun("shop", "backup", "backup-1", 3*time.Hour, 20*time.Minute, run.Succeeded),
			aRun("shop", "backup", "backup-2", 2*time.Hour, 20*time.Minute, run.Failed),
			aRun("shop", "backup", "backup-3", time.Hour, 0, run.Active),
			aRun("shop", "backup", "backup-long", 30*time.Hour, 29*time.Hour, run.Succeeded),
			late, waits,
			aRun("shop", "retired", "retired-1", 4*time.Hour, time.Hour, run.Succeeded),
			aRun("dev", "", "import", 90*time.Minute, 10*time.Minute, run.Failed),
		},
		Omissions: []run.Omission{
			{Namespace: "shop", Owner: owner("shop", "backup"), ScheduledTime: uitest.Now.Add(-4 * time.Hour), Count: 1, Missed: true, Reason: "DeadlineExceeded", Message: "too late"},
			{Namespace: "shop", Owner: owner("shop", "sync"), ScheduledTime: uitest.Now.Add(-5 * time.Hour), Until: uitest.Now.Add(-4 * time.Hour), Count: 7, Reason: "Overlap", Message: "one ran"},
		},
		Usual: map[types.UID]journal.Usual{"u-shop-backup": {Runs: 20, Median: 40 * time.Minute}},
	}
	for n := range 600 {
		outcome := run.Succeeded
		if n == 300 {
			outcome = run.Failed
		}
		w.Runs = append(w.Runs, aRun("shop", "minutely", fmt.Sprintf("minutely-%d", n), time.Duration(n+1)*time.Minute, 10*time.Second, outcome))
	}
	return w
}

func TestPage(t *testing.T) {
	noServer := func(s *page.Site) { s.Server = nil }
	for name, test := range map[string]struct {
		edit       func(*uitest.World)
		register   []func(*page.Site)
		query      string
		code       int
		want, lack []string
	}{
		"a day": {
			want: []string{"Sun 1 Nov 19:00 – Mon 2 Nov 19:00", `href="/schedule/cronjob/shop/backup"`, "/run/shop/backup-2?uid=uid-backup-2",
				"backup-1 succeeded, scheduled Mon 2 Nov 09:00", "backup-2 failed", "backup-3 running", "backup-long",
				"sync-late succeeded, scheduled Mon 2 Nov 11:10, started 7m late, took 5m", "sync-waits waiting, scheduled Mon 2 Nov 11:55, not started yet",
				"/why/cronjob/shop/backup?at=2026-11-02T07%3A00%3A00Z", "missed: Mon 2 Nov 08:00, too late", "skipped: Mon 2 Nov 07:00 to Mon 2 Nov 08:00, 7 times, one ran",
				"shop · gone", "Jobs of their own", "import failed, created Mon 2 Nov 10:30", "suspended", "due: Mon 2 Nov 13:00, in 1h",
				"1 failed, 14 succeeded", "What the signs mean", "6 rows", "the journal of a test"},
			lack: []string{"ZgotmplZ", "style=", "minutely-12 ", `href="/run/shop/minutely`},
		},
		"an hour": {
			query: "zoom=1h", want: []string{"Mon 2 Nov 11:20–12:20", "minutely-12 succeeded"}, lack: []string{"backup-2 "},
		},
		"a week":        {query: "zoom=1w", want: []string{"Wed 28 Oct 00:00 – Wed 4 Nov 00:00", "Thu 29 Oct"}},
		"a month":       {query: "zoom=1mo", want: []string{"October 2026", "November 2026", "On Sun 25 Oct the clocks of Europe/Berlin go back by 1 hour, at 03:00."}},
		"a day of 25 h": {query: "date=2026-10-25", want: []string{"Sun 25 Oct 00:00 – Mon 26 Oct 00:00", "Sun 25 Oct · 25 h"}},
		"a past day":    {query: "date=2026-11-01", want: []string{"backup-long succeeded"}, lack: []string{"backup-1 ", ">now<"}},
		"a fixed time":  {query: "zoom=6h&from=2026-11-02T06:00:00Z", want: []string{"Mon 2 Nov 07:00–13:00", "zoom=6h&amp;from=", "/timeline?from=2026-11-02T12%3A00%3A00Z&amp;zoom=6h"}},
		"as tables":     {query: "as=table", want: []string{"<table", "backup-2 failed", "sync-late", "As a picture", "1 failed, 14 succeeded"}, lack: []string{"tl-track"}},
		"of a name":     {query: "q=BACK", want: []string{"1 row", "backup-2"}, lack: []string{"sync-late"}},
		"of a namespace": {
			query: "namespace=dev", want: []string{"import failed", "1 row"}, lack: []string{"backup-2"},
		},
		"what runs":         {query: "show=running", want: []string{"2 rows", "backup-3", "sync-waits"}, lack: []string{"retired"}},
		"what failed last":  {query: "show=failing", want: []string{"backup-2"}, lack: []string{"sync-late", "retired-1"}},
		"what is paused":    {query: "show=paused", want: []string{"1 row", "asleep"}},
		"what is gone":      {query: "show=gone", want: []string{"1 row", "retired-1"}},
		"Jobs of their own": {query: "show=jobs", want: []string{"1 row", "import"}},
		"by the next time":  {query: "sort=next&show=", want: []string{"6 rows"}},
		"nothing matches":   {query: "q=nobody", want: []string{"Nothing here is like that.", "Show everything"}},
		"hostile filter": {
			query: "q=" + url.QueryEscape(`"><script>alert(1)</script>`) + "&namespace=" + url.QueryEscape("<b>\x00"),
			want:  []string{"&lt;script&gt;", "Nothing here is like that."}, lack: []string{"<script>alert", "<b>"},
		},
		"nothing at all": {edit: func(w *uitest.World) { *w = uitest.World{} }, want: []string{"There is no schedule yet"}},
		"a journal alone": {register: []func(*page.Site){noServer},
			want: []string{"No API server is asked", "backup-2", "retired-1"}, lack: []string{"· gone"}},
		"nothing can be read": {edit: func(w *uitest.World) { w.Fails = errors.New("disk <broken>") },
			want: []string{"Whose runs there are could not be read: disk &lt;broken&gt;.", "Runs could not be read"}, lack: []string{"<broken>"}},
		"hostile names": {
			edit: func(w *uitest.World) {
				r := aRun("shop", "x", `"><script>alert(2)</script>`, time.Hour, time.Minute, run.Failed)
				r.Owner.Name, r.Reason = `<img src=x onerror=alert(3)>`+strings.Repeat("long", 200), "\x1b[31m<i>"
				w.Runs = append(w.Runs, r)
			},
			lack: []string{"<script>alert", "<img", "<i>"},
		},
		"no such zoom":     {query: "zoom=2y", code: http.StatusBadRequest, want: []string{"There are 1h, 6h, 1d, 1w and 1mo"}},
		"no time":          {query: "from=yesterday", code: http.StatusBadRequest, want: []string{"is no time"}},
		"no date":          {query: "date=2026-13-45", code: http.StatusBadRequest, want: []string{"is no date"}},
		"too long ago":     {query: "date=0001-01-01", code: http.StatusBadRequest, want: []string{"1970 to 2200"}},
		"no page":          {query: "page=-1", code: http.StatusBadRequest, want: []string{"is no page"}},
		"no order":         {query: "sort=luck", code: http.StatusBadRequest, want: []string{"There is no order"}},
		"a page too far":   {query: "page=99999", want: []string{"6 rows"}},
		"far in the past":  {query: "zoom=1mo&date=1970-01-01", want: []string{"January 1970"}},
		"far ahead":        {query: "zoom=1mo&date=2199-12-20", want: []string{"December 2199"}},
		"nothing to show ": {query: "show=nonsense", code: http.StatusBadRequest, want: []string{"nothing to show that is called"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := world()
			if test.edit != nil {
				test.edit(&w)
			}
			s := uitest.Site(t, w, append([]func(*page.Site){Register}, test.register...)...)
			code, body := uitest.Get(t, s, "/timeline?"+test.query)
			if test.code == 0 {
				test.code = http.StatusOK
			}
			if code != test.code {
				t.Fatalf("code %d, want %d", code, test.code)
			}
			for _, want := range test.want {
				if !strings.Contains(body, want) && !strings.Contains(html.UnescapeString(body), want) {
					t.Errorf("%q is not there", want)
				}
			}
			for _, lack := range test.lack {
				if strings.Contains(body, lack) {
					t.Errorf("%q is there", lack)
				}
			}
			if t.Failed() && testing.Verbose() {
				t.Log(body)
			}
		})
	}
}

// The next time is told where nothing else is drawn, which on a phone is further left.
func TestNextWhereThereIsRoom(t *testing.T) {
	const rarely = `schedule: "0 3 24 12 *"`
	w := uitest.World{
		Manifests: cronJob("shop", "earlier", rarely) + cronJob("shop", "lately", rarely) + cronJob("shop", "runs", rarely),
		Runs: []run.Run{
			aRun("shop", "earlier", "earlier-1", 5*time.Hour, time.Hour, run.Succeeded),
			aRun("shop", "lately", "lately-1", 2*time.Hour, time.Hour, run.Succeeded),
			aRun("shop", "runs", "runs-1", time.Minute, 0, run.Active),
		},
		Usual: map[types.UID]journal.Usual{"u-shop-runs": {Runs: 20, Median: 3 * time.Hour}},
	}
	_, body := uitest.Get(t, uitest.Site(t, w, Register), "/timeline")
	for name, want := range map[string]string{"earlier": `class="label tl-next"`, "lately": `class="label tl-next tl-tight"`, "runs": ""} {
		_, row, _ := strings.Cut(body, `id="tl.cronjob.shop.`+name+`"`)
		row, _, found := strings.Cut(row, "</li>")
		if !found || want != "" && !strings.Contains(row, want) || want == "" && strings.Contains(row, "tl-next") {
			t.Errorf("the row of %s has no %q:\n%s", name, want, row)
		}
	}
}

// Each row has one link that the tabulator key comes to, and each link has a name.
func TestKeyboard(t *testing.T) {
	_, body := uitest.Get(t, uitest.Site(t, world(), Register), "/timeline")
	rows := strings.Split(body, `<svg class="tl-track"`)[1:]
	if len(rows) != 6 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		row, _, _ = strings.Cut(row, "</li>")
		links := strings.Split(row, "<a ")[1:]
		reached := 0
		for _, link := range links {
			if tag, rest, _ := strings.Cut(link, ">"); !strings.Contains(tag, `tabindex="-1"`) {
				reached++
			} else if !strings.HasPrefix(rest, "<title>") {
				t.Errorf("a link has no name: %.200s", link)
			}
		}
		if reached != min(1, len(links)) {
			t.Errorf("the keyboard comes to %d of %d links: %.300s", reached, len(links), row)
		}
		if !strings.Contains(row, ` role="group" aria-label="`) {
			t.Errorf("a row has no name: %.200s", row)
		}
	}
}

// The addresses that a page leads to are read back to the same state.
func TestStateIsReadBack(t *testing.T) {
	for name, s := range map[string]State{
		"as it comes": {Zoom: standard, Page: 1},
		"everything":  {Zoom: 4, From: time.Date(2026, 10, 25, 1, 30, 0, 0, time.UTC), Q: `a&b="c"/é`, Namespace: "shop", Show: "running", Sort: "failure", Page: 7, Table: true},
	} {
		t.Run(name, func(t *testing.T) {
			u, err := url.Parse(s.URL())
			if err != nil {
				t.Fatal(err)
			}
			if got, err := readState(u.Query(), time.UTC); err != nil || got != s {
				t.Errorf("%s is %+v, %v; want %+v", u, got, err, s)
			}
		})
	}
}

func FuzzState(f *testing.F) {
	for _, q := range []string{"", "zoom=1mo&date=2026-10-25", "from=2026-11-02T06:00:00Z&page=2&q=a&show=gone&sort=next&as=table", "from=9999-12-31T23:59:59-23:59"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		q, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		s, err := readState(q, time.UTC)
		if err != nil {
			return
		}
		w := s.Window(uitest.Now, time.UTC)
		if !w.Until.After(w.From) {
			t.Fatalf("%q has a window from %v to %v", query, w.From, w.Until)
		}
		u, err := url.Parse(s.URL())
		if err != nil {
			t.Fatal(err)
		}
		if again, err := readState(u.Query(), time.UTC); err != nil || !again.From.Equal(s.From) || again.Q != s.Q || again.Page != s.Page || again.Zoom != s.Zoom {
			t.Fatalf("%q is %+v, and its address %s is %+v, %v", query, s, u, again, err)
		}
	})
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

const objects = `---
apiVersion: batch/v1
kind: CronJob
metadata: {name: backup, namespace: shop, uid: uid-backup, creationTimestamp: "2026-11-02T10:00:00Z"}
spec: {schedule: "30 2 * * *", timeZone: Europe/Berlin, suspend: true, concurrencyPolicy: Forbid, startingDeadlineSeconds: 3600,
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: a}]}}}}}
---
apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: sync, namespace: data, uid: uid-sync, creationTimestamp: "2026-11-02T10:00:00Z"}
spec: {schedules: [{name: a, cron: "0 9 * * *"}, {name: b, every: 6h, anchor: "2026-01-01T00:00:00Z"}], timeZone: UTC,
  exclude: [{period: "2026-11-04"}, {calendar: holidays}], concurrency: {policy: Queue},
  template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: a}]}}}}}
---
apiVersion: batch.carillon.dev/v1alpha1
kind: Calendar
metadata: {name: holidays, namespace: data}
spec: {periods: [{period: "2026-11-05", name: a feast}]}
`

var tags = regexp.MustCompile(`<[^>]*>`)

// try asks the page, and gives what it says without tags.
func try(t *testing.T, query url.Values) (code int, body, text string) {
	t.Helper()
	code, body = uitest.Get(t, uitest.Site(t, uitest.World{Manifests: objects}, Register), "/simulate?"+query.Encode())
	return code, body, html.UnescapeString(tags.ReplaceAllString(body, ""))
}

func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		query      url.Values
		want, lack []string
	}{
		"nothing asked yet": {url.Values{}, []string{"Try one of these", "*/45 * * * *"}, []string{"In words"}},
		"an expression": {url.Values{"schedule": {"0 7 * * 1-5"}, "zone": {"America/New_York"}},
			[]string{"It runs at 07:00 on weekdays (Monday to Friday) (America/New_York).", "Mon 2 Nov 2026 07:00", "Mon 2 Nov 2026 13:00", "Where you are (Europe/Berlin)", "1 run would start: 1 succeeds."}, nil},
		"where clocks show the same": {url.Values{"schedule": {"0 7 * * *"}, "zone": {"Europe/Paris"}}, []string{"Tue 3 Nov 2026 07:00", "1 run a day"}, []string{"Where you are"}},
		"a time that the clock skips": {url.Values{"schedule": {"30 2 * * *"}, "zone": {"Europe/Berlin"}, "from": {"2027-03-27"}, "for": {"3d"}},
			[]string{"Sun 28 Mar 2027 02:30", "does not come: the clock skips it", "2 runs would start", "Days on which the clocks change", "Choose a time outside of that hour"}, nil},
		"overlap": {url.Values{"schedule": {"*/10 * * * *"}, "duration": {"15m"}, "policy": {"Forbid"}, "for": {"1h"}},
			[]string{"skipped: an earlier run had not ended", "concurrencyPolicy Forbid", "Overlap"}, nil},
		"beside each other": {url.Values{"schedule": {"*/10 * * * *"}, "duration": {"25m"}, "policy": {"Allow"}, "for": {"2h"}}, []string{"3 runs would go on at the same time"}, nil},
		"failures":          {url.Values{"schedule": {"0 * * * *"}, "fail": {"100%"}}, []string{"24 fail", "fails"}, []string{"succeeds"}},
		"an outage": {url.Values{"schedule": {"0 * * * *"}, "outage": {"+90m..+5h"}, "deadline": {"10m"}},
			[]string{"missed", "no controller runs from Mon 2 Nov 2026 12:30"}, nil},
		"the language of Timetables": {url.Values{"schedule": {"0 18 L * *"}}, []string{"a Timetable", "the last day of the month", "Mon 30 Nov 2026 18:00"}, nil},
		"several lines":              {url.Values{"schedule": {"0 9 * * *\r\n\r\nevery 6h\nat 2026-11-02T15:30"}}, []string{"a Timetable", "line-1", "Mon 2 Nov 2026 15:30"}, nil},
		"what cannot come":           {url.Values{"schedule": {"0 0 30 2 *"}}, []string{"names no date that exists", "0 runs would start"}, nil},
		"more than is simulated":     {url.Values{"schedule": {"* * * * *"}, "for": {"366d"}, "duration": {"1s"}}, []string{"There are more than 5,000 times in that span", "1 to 50 of "}, nil},
		"another page":               {url.Values{"schedule": {"* * * * *"}, "for": {"2h"}, "page": {"3"}}, []string{"101 to 120 of 120"}, nil},
		"an object": {url.Values{"of": {"cronjob/shop/backup"}},
			[]string{"Tried with the other settings of cronjob/shop/backup", "at 02:30 every day", "Tue 3 Nov 2026 02:30", "concurrencyPolicy: Forbid", "1 run would start"}, nil},
		"an object otherwise": {url.Values{"of": {"cronjob/shop/backup"}, "schedule": {"0 4 * * *"}}, []string{"at 04:00 every day", "concurrencyPolicy: Forbid"}, []string{"02:30"}},
		"a Timetable with its exclusions": {url.Values{"of": {"timetable/data/sync"}, "for": {"4d"}},
			[]string{"every 6 hours", "left out: 2026-11-04", "left out: a feast in the Calendar holidays", "Queue"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, text := try(t, c.query)
			if code != http.StatusOK {
				t.Fatalf("it answers %d:\n%s", code, text)
			}
			uitest.Says(t, text, c.want, c.lack)
		})
	}
}

// What is wrong stands at its field, and all that was written is kept.
func TestFaults(t *testing.T) {
	many := strings.Repeat("*/2 * * * * *\n", 19)
	for name, c := range map[string]struct{ field, value, want string }{
		"no expression":            {"schedule", "99 * * * *", "minute 99 is out of range"},
		"words":                    {"schedule", "every day at nine", "Schedule"},
		"a script":                 {"schedule", `"><script>alert(1)</script>`, "script"},
		"too many lines":           {"schedule", strings.Repeat("0 1 * * *\n", 21), "21 lines"},
		"too long":                 {"schedule", strings.Repeat("1,", 3000) + " * * * *", "too long"},
		"too much to look at":      {"schedule", many, "would take long"},
		"a line of several":        {"schedule", "0 9 * * *\n0 99 * * *", "Line 2"},
		"no zone":                  {"zone", "Mars/Base", "no time zone"},
		"the zone of the machine":  {"zone", "Local", "no time zone"},
		"no span":                  {"for", "soon", "no duration"},
		"too short a span":         {"for", "10s", "from a minute"},
		"too long a span":          {"for", "3000d", "from a minute"},
		"no duration":              {"duration", "-5m", "a second at least"},
		"no quantiles":             {"duration", "p50=x", "no duration"},
		"no probability":           {"fail", "200%", "no probability"},
		"no time":                  {"from", "yesterday", "no time"},
		"before zones were known":  {"from", "1066-10-14", "1970"},
		"no outage":                {"outage", "2h", "FROM..TO"},
		"an outage backwards":      {"outage", "+4h..+2h", "ends before it begins"},
		"an outage elsewhere":      {"outage", "+400d..+401d", "lies outside"},
		"no deadline":              {"deadline", "-1", "no duration"},
		"no policy":                {"policy", "Sometimes", "no policy"},
		"a policy of the others":   {"policy", "Queue", "only a Timetable"},
		"no language":              {"as", "crontab", "no kind"},
		"control bytes, no UTF-8":  {"zone", "\x1b[31m\xff\x00", "no time zone"},
		"a duration out of bounds": {"duration", "99999999999h", "no duration"},
	} {
		t.Run(name, func(t *testing.T) {
			query := url.Values{"schedule": {"0 9 * * *"}, "zone": {"Europe/Berlin"}, "duration": {"7m"}}
			query.Set(c.field, c.value)
			code, body, text := try(t, query)
			if code != http.StatusUnprocessableEntity {
				t.Fatalf("it answers %d", code)
			}
			_, fault, found := strings.Cut(body, `id="`+c.field+`-fault">`)
			fault, _, _ = strings.Cut(fault, "</p>")
			if !found || !strings.Contains(strings.ToLower(html.UnescapeString(fault)), strings.ToLower(c.want)) {
				t.Errorf("at %s it says %q", c.field, fault)
			}
			if c.field != "duration" && !strings.Contains(body, `value="7m"`) || !strings.Contains(text, "That cannot be tried yet") || strings.Contains(body, "<script>alert") {
				t.Errorf("it does not keep what was written, or is not whole:\n%s", body)
			}
		})
	}
}

func TestNoSuchObject(t *testing.T) {
	for of, want := range map[string]int{"cronjob/shop/none": http.StatusNotFound, "backup": http.StatusBadRequest, "job/shop/backup": http.StatusNotFound,
		"cronjob.batch/shop/backup": http.StatusOK, "cronjob.batch.volcano.sh/shop/backup": http.StatusNotFound, "<b>/x/y": http.StatusNotFound} {
		if code, body, _ := try(t, url.Values{"of": {of}}); code != want || strings.Contains(body, "<b>") {
			t.Errorf("%s: %d", of, code)
		}
	}
}

// The object that is tried with is no other afterwards.
func TestObjectStays(t *testing.T) {
	site := uitest.Site(t, uitest.World{Manifests: objects}, Register)
	if code, _ := uitest.Get(t, site, "/simulate?of=timetable/data/sync&schedule=0+1+*+*+*&deadline=5m"); code != http.StatusOK {
		t.Fatal(code)
	}
	all, err := site.Cache.Schedules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if tt := s.Timetable(); tt != nil && (tt.Spec.Schedules[0].Cron != "0 9 * * *" || tt.Spec.StartingDeadline != nil) {
			t.Errorf("it is %+v now", tt.Spec)
		}
	}
}

// A span ends where it has as many times as are simulated.
func TestBounded(t *testing.T) {
	for text, want := range map[string]time.Duration{"* * * * *": mostTimes * time.Minute, "@every 2s": 2 * mostTimes * time.Second, "0 0 * * *": 366 * 24 * time.Hour, "@every 24h": 366 * 24 * time.Hour} {
		f := formOf(url.Values{"schedule": {text}, "for": {"366d"}})
		a := f.read(uitest.Now, time.UTC)
		object, err := a.object(nil)
		if err != nil {
			t.Fatal(err)
		}
		span := a.span
		end, cut := bounded(object, span)
		if !cut {
			end = span.To
		}
		if got := end.Sub(span.From); (got-want).Abs() > time.Minute || cut != (want < 366*24*time.Hour) {
			t.Errorf("%s: %v, %v", text, got, cut)
		}
	}
}

// What has taken too long is told as far as it came.
func TestEnoughWork(t *testing.T) {
	asks := formOf(url.Values{"schedule": {"* * * * *"}, "for": {"3d"}, "duration": {"6h"}, "policy": {"Allow"}})
	whole := asks.answer(nil, uitest.Now, time.UTC, func() bool { return false })
	cut := asks.answer(nil, uitest.Now, time.UTC, func() bool { return true })
	if whole == nil || cut == nil {
		t.Fatalf("%v", asks.Faults)
	}
	if whole.Cut != "" || cut.Cut == "" || !strings.Contains(cut.Cut, "would take long") || !cut.Span.To.Before(whole.Span.To) || cut.Summary.Started >= whole.Summary.Started {
		t.Errorf("%q until %v with %d, %q until %v with %d", whole.Cut, whole.Span.To, whole.Summary.Started, cut.Cut, cut.Span.To, cut.Summary.Started)
	}
}

// FuzzAnswer: whatever is asked, there is an answer, and it takes no great while.
func FuzzAnswer(f *testing.F) {
	f.Add("0 9 * * *", "Europe/Berlin", "2027-03-27", "3d", "5m", "+1h..+2h", "1h", uint8(1))
	f.Add("* * * * * *\nevery 1s", "", "+5h", "366d", "p50=5m,p99=1h", "", "10", uint8(3))
	f.Add("at 2027-03-01T14:00", "UTC", "", "", "", "", "", uint8(0))
	f.Fuzz(func(t *testing.T, text, zone, from, lasts, takes, outage, deadline string, choice uint8) {
		policies := []string{"", "Allow", "Forbid", "Replace", "Queue"}
		asks := formOf(url.Values{"schedule": {text}, "zone": {zone}, "from": {from}, "for": {lasts}, "duration": {takes}, "outage": {outage}, "deadline": {deadline}, "policy": {policies[int(choice)%len(policies)]}})
		if !asks.Asked() {
			return
		}
		begun := time.Now()
		o := asks.answer(nil, uitest.Now, time.UTC, func() bool { return time.Since(begun) > longestWork })
		if (o == nil) != (len(asks.Faults) > 0) {
			t.Errorf("%+v has the faults %v, and the answer %v", asks, asks.Faults, o)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("%+v took %v", asks, took)
		}
	})
}

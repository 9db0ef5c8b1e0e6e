// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestShort(t *testing.T) {
	for name, c := range map[string]struct{ zone, now, at, want string }{
		"this day":                      {"UTC", "2026-11-02T11:00:00Z", "2026-11-02T03:05:00Z", "03:05"},
		"with seconds":                  {"UTC", "2026-11-02T11:00:00Z", "2026-11-02T03:05:09Z", "03:05:09"},
		"tomorrow":                      {"UTC", "2026-11-02T23:59:00Z", "2026-11-03T00:00:00Z", "Tue 00:00"},
		"yesterday":                     {"UTC", "2026-11-02T00:00:00Z", "2026-11-01T23:59:00Z", "Sun 23:59"},
		"yesterday, today in the zone":  {"Asia/Tokyo", "2026-11-02T11:00:00Z", "2026-11-01T15:00:00Z", "00:00"},
		"today, tomorrow in the zone":   {"Asia/Tokyo", "2026-11-02T11:00:00Z", "2026-11-02T15:00:00Z", "Tue 00:00"},
		"almost six days on":            {"UTC", "2026-11-02T11:00:00Z", "2026-11-08T10:59:00Z", "Sun 10:59"},
		"six days on":                   {"UTC", "2026-11-02T11:00:00Z", "2026-11-08T11:00:00Z", "8 Nov 11:00"},
		"six days ago":                  {"UTC", "2026-11-02T11:00:00Z", "2026-10-27T11:00:00Z", "27 Oct 11:00"},
		"a year on, on the day":         {"UTC", "2026-11-02T11:00:00Z", "2027-11-02T11:00:00Z", "2 Nov 2027 11:00"},
		"the year before":               {"UTC", "2026-11-02T11:00:00Z", "2025-12-31T23:59:59Z", "31 Dec 2025 23:59:59"},
		"near, of another year":         {"UTC", "2026-12-31T11:00:00Z", "2027-01-01T00:00:00Z", "Fri 00:00"},
		"the second hour of two":        {"Europe/Berlin", "2026-10-25T10:00:00Z", "2026-10-25T01:30:00Z", "02:30"},
		"beyond what a duration can be": {"UTC", "2026-11-02T11:00:00Z", "9999-01-01T00:00:00Z", "1 Jan 9999 00:00"},
		"a zone with half an hour":      {"Asia/Kolkata", "2026-11-02T11:00:00Z", "2026-11-02T11:00:00Z", "16:30"},
	} {
		t.Run(name, func(t *testing.T) {
			now, err := time.Parse(time.RFC3339, c.now)
			if err != nil {
				t.Fatal(err)
			}
			at, err := time.Parse(time.RFC3339, c.at)
			if err != nil {
				t.Fatal(err)
			}
			v := &page.View{Now: now, Zone: time.UTC}
			if got := v.Short(at, zone(t, c.zone)); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestTimesInTemplates(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	v := &page.View{Now: time.Date(2026, 11, 2, 11, 0, 0, 0, time.UTC), Zone: berlin}
	at := time.Date(2026, 11, 2, 9, 0, 5, 0, time.UTC)
	const whole = `<time datetime="2026-11-02T09:00:05Z" title="Mon 2 Nov 2026 10:00:05 CET (Europe/Berlin)">`
	hostile := time.FixedZone(`"><script>&`, 3600)
	const escaped = `<time datetime="2026-11-02T09:00:05Z" title="Mon 2 Nov 2026 10:00:05 &#34;&gt;&lt;script&gt;&amp; (&#34;&gt;&lt;script&gt;&amp;)">`
	for name, c := range map[string]struct{ got, want string }{
		"short":                        {string(v.Time(at)), whole + `10:00:05</time>`},
		"in another zone":              {string(v.TimeIn(at, time.UTC)), `<time datetime="2026-11-02T09:00:05Z" title="Mon 2 Nov 2026 09:00:05 UTC (UTC)">09:00:05</time>`},
		"full":                         {string(v.Full(at)), whole + `Mon 2 Nov 2026 10:00:05 CET</time>`},
		"relative, past":               {string(v.Relative(at)), whole + `1h59m ago</time>`},
		"relative, to come":            {string(v.Relative(at.Add(2 * time.Hour))), `<time datetime="2026-11-02T11:00:05Z" title="Mon 2 Nov 2026 12:00:05 CET (Europe/Berlin)">in 5s</time>`},
		"none, short":                  {string(v.Time(time.Time{})), `<span class="none">–</span>`},
		"none, full":                   {string(v.Full(time.Time{})), `<span class="none">–</span>`},
		"none, relative":               {string(v.Relative(time.Time{})), `<span class="none">–</span>`},
		"a zone whose name is hostile": {string(v.TimeIn(at, hostile)), escaped + `10:00:05</time>`},
		"the same, full":               {string((&page.View{Now: v.Now, Zone: hostile}).Full(at)), escaped + `Mon 2 Nov 2026 10:00:05 &#34;&gt;&lt;script&gt;&amp;</time>`},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", name, c.got, c.want)
		}
	}
}

func TestOutcomeOf(t *testing.T) {
	began := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	for want, r := range map[page.Outcome]run.Run{
		{Class: "succeeded", Icon: "check", Text: "succeeded"}:         {Outcome: run.Succeeded, Started: began},
		{Class: "failed", Icon: "cross", Text: "failed"}:               {Outcome: run.Failed, Started: began},
		{Class: "waiting", Icon: "retry", Text: "failed, tried again"}: {Outcome: run.Failed, Retrying: true},
		{Class: "cancelled", Icon: "stop", Text: "cancelled"}:          {Outcome: run.Cancelled},
		{Class: "unknown", Icon: "question", Text: "unknown"}:          {Outcome: run.Unknown},
		{Class: "waiting", Icon: "pause", Text: "suspended"}:           {Outcome: run.Active, Suspended: true, Started: began},
		{Class: "waiting", Icon: "clock", Text: "waiting"}:             {Outcome: run.Active},
		{Class: "active", Icon: "play", Text: "running"}:               {Outcome: run.Active, Started: began},
		{Class: "unknown", Icon: "question", Text: run.LeftWords}:      {Outcome: run.Active, Started: began, Left: true},
	} {
		if got := page.OutcomeOf(&r); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// What a machine without a zone of its own says is in words of its own.
func TestZoneName(t *testing.T) {
	now := time.Date(2026, 11, 2, 11, 0, 0, 0, time.UTC)
	if got := (&page.View{Now: now, Zone: zone(t, "Asia/Tokyo")}).ZoneName(); got != "Asia/Tokyo" {
		t.Errorf("%q", got)
	}
	if got := (&page.View{Now: now, Zone: time.Local}).ZoneName(); !strings.HasPrefix(got, "this machine (") {
		t.Errorf("%q", got)
	}
}

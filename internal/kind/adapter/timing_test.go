// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

var minutely = adapter.Info{Traits: &cron.KindTraits{NameUnit: time.Minute}}

// A schedule is read in the zone that is asked for, else in its own, else in that of the process; and what cannot be
// read has no times, and says which check it fails.
func TestCronTiming(t *testing.T) {
	tokyo := time.FixedZone("JST", 9*60*60)
	noon := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		text  string
		zone  *string
		next  string
		fails cron.StartCheck
	}{
		"in UTC if nothing says otherwise":         {text: "0 3 * * *", zone: new("UTC"), next: "2026-05-05T03:00:00Z"},
		"in the zone of the process":               {text: "0 3 * * *", next: "2026-05-04T18:00:00Z"},
		"in the zone that is asked for":            {text: "0 3 * * *", zone: new("Europe/Rome"), next: "2026-05-05T01:00:00Z"},
		"in its own zone":                          {text: "TZ=Europe/Rome 0 3 * * *", next: "2026-05-05T01:00:00Z"},
		"in its own zone, whatever is asked for":   {text: "TZ=Europe/Rome 0 3 * * *", zone: new("UTC"), next: "2026-05-05T01:00:00Z"},
		"a zone that does not exist":               {text: "0 3 * * *", zone: new("Mars/Olympus"), fails: cron.CheckZoneLoads},
		"a schedule that cannot be read":           {text: "61 * * * *", fails: cron.CheckScheduleFires},
		"a schedule without any time":              {text: "0 0 30 2 *", fails: cron.CheckScheduleFires},
		"nothing at all is a schedule like others": {fails: cron.CheckScheduleFires},
	} {
		t.Run(name, func(t *testing.T) {
			timing := adapter.CronTiming(c.text, c.zone, minutely, adapter.ReadOptions{Zone: tokyo})
			if c.fails != 0 {
				if timing.Times != nil || timing.Obstacle == nil || timing.Obstacle.Check != c.fails || timing.Obstacle.Message == "" {
					t.Fatalf("got %+v, want an obstacle to check %v", timing, c.fails)
				}
				return
			}
			if timing.Obstacle != nil {
				t.Fatal(timing.Obstacle)
			}
			if got := timing.Times.Next(noon).UTC().Format(time.RFC3339); got != c.next {
				t.Errorf("next at %s, want %s", got, c.next)
			}
		})
	}
}

// What the annotation remembers of a timing is what was written into it, and two timings have the same fingerprint only
// if schedule and zone are the same.
func TestAnnotationProperties(t *testing.T) {
	texts := rapid.SampledFrom([]string{"", "0 3 * * *", "0  3 * * *", "UTC 0 3 * * *", `"UTC" 0 3 * * *`, "@daily", "\n", `"`, "\x00"})
	zones := rapid.SampledFrom([]string{"", "UTC", "Europe/Rome", `"`, `" 0 3 * * *`, "\n"})
	rapid.Check(t, func(t *rapid.T) {
		text, zone := texts.Draw(t, "schedule"), zones.Draw(t, "zone")
		timing := adapter.CronTiming(text, &zone, minutely, adapter.ReadOptions{})
		since := time.Unix(rapid.Int64Range(0, 1<<32).Draw(t, "since"), rapid.Int64Range(0, 999999999).Draw(t, "nanos")).UTC()
		served := cron.ServedTiming{Fingerprint: timing.Fingerprint, ZoneName: zone, Times: timing.Times, Since: &since,
			Presumed: rapid.Bool().Draw(t, "presumed")}
		annotation, err := adapter.TimetableAnnotation(served)
		if err != nil {
			t.Fatal(err)
		}
		got := adapter.ServedTiming(annotation, timing, minutely, adapter.ReadOptions{})
		if got.Fingerprint != served.Fingerprint || got.ZoneName != zone || !got.Since.Equal(since) || got.Presumed != served.Presumed ||
			(got.Times == nil) != (timing.Times == nil) || got.Unreadable != nil {
			t.Fatalf("wrote %+v as %s, read %+v", served, annotation, got)
		}
		text2, zone2 := texts.Draw(t, "another schedule"), zones.Draw(t, "another zone")
		same := adapter.CronTiming(text2, &zone2, minutely, adapter.ReadOptions{}).Fingerprint == timing.Fingerprint
		if same != (text == text2 && zone == zone2) {
			t.Fatalf("%q in %q and %q in %q: same fingerprint: %v", text, zone, text2, zone2, same)
		}
	})
}

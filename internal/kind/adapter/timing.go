// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/schedule"
)

// ReadOptions are what a kind has to know beside a CronJob to read it.
type ReadOptions struct {
	// Zone is the zone of schedules that name none: that of the process. Nil means UTC.
	Zone *time.Location
	// Dependency gives an object of the namespace that another one depends on, from a cache: it must not be modified.
	// False: there is none. Nil for kinds that are not Dependent.
	Dependency func(namespace string, d Dependency) (Object, bool)
	// DependencyTrouble says in words, without a full stop, why no object of that kind can be read; "" if they can. Nil:
	// all can.
	DependencyTrouble func(kind schema.GroupVersionKind) string
}

// CronTiming reads a schedule as batch/v1 writes it (cronjob.md 3). A nil timeZone asks for none.
func CronTiming(text string, timeZone *string, info Info, options ReadOptions) cron.Timing {
	t := cron.Timing{Fingerprint: fingerprint(text, timeZone)}
	zone := options.Zone // in which the schedule is read
	if zone == nil {
		zone = time.UTC
	}
	if info.Traits.StampInZone {
		t.Zone = zone
	}
	if timeZone != nil {
		t.ZoneName = *timeZone
		asked, err := schedule.LoadZone(*timeZone)
		if err != nil {
			t.Obstacle = unknownZone(*timeZone, err, info)
			return t
		}
		t.Zone = asked
		if !zoneInside(text) {
			zone = asked
		}
	}
	if zoneInside(text) {
		t.Remarks = append(t.Remarks, zoneInSchedule(text, info))
	}
	parsed, err := schedule.Parse(text, zone)
	switch {
	case err != nil:
		t.Obstacle = badSchedule(text, err, info)
		return t
	case !parsed.Satisfiable():
		t.Obstacle = neverFires(text, info)
		return t
	}
	t.Times = parsed
	if period, every := parsed.Every(); every {
		t.Every = period
		if period < info.Traits.NameUnit {
			t.Remarks = append(t.Remarks, tooFine(text, info))
		}
	}
	return t
}

// zoneInside tells whether the schedule brings its own zone: the letters TZ anywhere (cronjob.md 3.1).
func zoneInside(text string) bool { return strings.Contains(text, "TZ") }

// fingerprint is the zone, quoted, and the schedule: it can be read back (fromFingerprint).
func fingerprint(text string, timeZone *string) string {
	if timeZone == nil || *timeZone == "" {
		return `"" ` + text
	}
	return strconv.Quote(*timeZone) + " " + text
}

func fromFingerprint(f string) (text, zone string) {
	quoted, err := strconv.QuotedPrefix(f)
	if err != nil {
		return f, ""
	}
	zone, _ = strconv.Unquote(quoted)
	return strings.TrimPrefix(f[len(quoted):], " "), zone
}

// AnnotationTimetable is the annotation of ours on a CronJob that remembers which schedule and time zone it was last
// served with, and since when (cronjob.md B2).
const AnnotationTimetable = "carillon.dev/timetable"

// timetable is the value of the annotation.
type timetable struct {
	Schedules []string   `json:"schedules"`
	TimeZone  string     `json:"timeZone,omitempty"`
	Since     *time.Time `json:"since,omitempty"`
	Presumed  bool       `json:"presumed,omitempty"`
	Missed    *time.Time `json:"missed,omitempty"`
}

// ServedTiming reads the annotation of a CronJob; "" is that there is none. What it does not tell is zero.
func ServedTiming(annotation string, now cron.Timing, info Info, options ReadOptions) cron.ServedTiming {
	if annotation == "" {
		return cron.ServedTiming{}
	}
	var t timetable
	if json.Unmarshal([]byte(annotation), &t) != nil || len(t.Schedules) == 0 {
		return cron.ServedTiming{Unreadable: malformedAnnotation(annotation, info)}
	}
	text := strings.Join(t.Schedules, "\n")
	served := cron.ServedTiming{Fingerprint: fingerprint(text, &t.TimeZone), ZoneName: t.TimeZone, Times: now.Times,
		Since: t.Since, Presumed: t.Presumed, Missed: t.Missed}
	if served.Fingerprint != now.Fingerprint {
		var zone *string
		if t.TimeZone != "" {
			zone = &t.TimeZone
		}
		served.Times = CronTiming(text, zone, info, options).Times
	}
	return served
}

// TimetableAnnotation writes the annotation that ServedTiming reads.
func TimetableAnnotation(served cron.ServedTiming) (string, error) {
	text, zone := fromFingerprint(served.Fingerprint)
	data, err := json.Marshal(timetable{Schedules: []string{text}, TimeZone: zone, Since: served.Since, Presumed: served.Presumed, Missed: served.Missed})
	if err != nil {
		return "", fmt.Errorf("encoding annotation %s: %w", AnnotationTimetable, err)
	}
	return string(data), nil
}

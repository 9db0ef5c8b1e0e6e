// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"fmt"

	"github.com/carillon-dev/carillon/internal/cron"
)

// What users write into schedule and timeZone by mistake, and what they are told about it (cronjob.md 5.1): the words
// name the object and the cure.

func unknownZone(zone string, err error, info Info) *cron.Obstacle {
	return &cron.Obstacle{Check: cron.CheckZoneLoads, Misconfigured: cron.InvalidTimeZone, Err: retried(info.Traits.BadZoneRetries, "spec.timeZone", err),
		Remark: cron.Remark{Event: info.Traits.Events.UnknownZone, Key: "zone/" + zone, Message: fmt.Sprintf("Nothing is scheduled: "+
			".spec.timeZone %q cannot be loaded: %v. Set it to a name of the tz database, such as Europe/Rome", zone, err)}}
}

func zoneInSchedule(text string, info Info) cron.Remark {
	return cron.Remark{Event: info.Traits.Events.ZoneInSchedule, Key: "zone in schedule/" + text, Message: fmt.Sprintf("The schedule %q "+
		"carries TZ or CRON_TZ, which is not supported officially, and .spec.timeZone is ignored; set .spec.timeZone "+
		"instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#time-zones", text)}
}

func badSchedule(text string, err error, info Info) *cron.Obstacle {
	return &cron.Obstacle{Check: cron.CheckScheduleFires, Misconfigured: cron.InvalidSchedule, EditEvent: info.Traits.Events.BadEdit,
		Err: retried(info.Traits.BadScheduleRetries, "spec.schedule", err),
		Remark: cron.Remark{Event: info.Traits.Events.BadSchedule, Key: "schedule/" + text, Message: fmt.Sprintf("Nothing is scheduled: "+
			".spec.schedule %q cannot be read: %v. Correct it; a schedule has minute, hour, day of month, month and day of "+
			"week, such as \"30 6 * * 1-5\"", text, err)}}
}

func neverFires(text string, info Info) *cron.Obstacle {
	return &cron.Obstacle{Check: cron.CheckScheduleFires, Misconfigured: cron.InvalidSchedule,
		Err: retried(info.Traits.NeverFiresRetries, "spec.schedule", fmt.Errorf("%q names no date that exists", text)),
		Remark: cron.Remark{Event: info.Traits.Events.NeverFires, Key: "never/" + text, Message: fmt.Sprintf("Nothing is scheduled: "+
			".spec.schedule %q names no date that exists. Correct its day or its month", text)}}
}

func tooFine(text string, info Info) cron.Remark {
	return cron.Remark{Event: info.Traits.Events.TooFine, Key: "too fine/" + text, Message: fmt.Sprintf("Schedule %q fires more than once "+
		"in %v, but each %s is named after its %v: one of them starts each time, the others are skipped", text,
		info.Traits.NameUnit, info.Traits.ChildKind, info.Traits.NameUnit)}
}

func malformedAnnotation(text string, info Info) *cron.Remark {
	return &cron.Remark{Event: info.Traits.Events.BadTimetable, Key: "timetable/" + text, Message: fmt.Sprintf("Annotation %s cannot be read "+
		"and is ignored, so an edit of the schedule that was made while nobody looked may be missed. Remove it", AnnotationTimetable)}
}

func retried(retries bool, field string, err error) error {
	if !retries {
		return nil
	}
	return fmt.Errorf("%s: %w", field, err)
}

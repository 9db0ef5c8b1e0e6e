// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

// AnnotationTimetable is the annotation of ours on a CronJob that remembers which schedule and time zone it was last
// served with, and since when (cronjob.md B2).
const AnnotationTimetable = "carillon.dev/timetable"

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Schedule names times: exactly one of cron, every and at.
//
// +kubebuilder:validation:XValidation:rule=`[has(self.cron), has(self.every), has(self.at)].filter(x, x).size() == 1`,message="exactly one of cron, every and at must be set"
// +kubebuilder:validation:XValidation:rule=`has(self.cron) || (self.dayRule == 'Either' && !has(self.everyWeeks))`,message="dayRule and everyWeeks belong to cron"
// +kubebuilder:validation:XValidation:rule=`!has(self.cron) || self.cron.contains('@') || self.cron.matches('^[ \\t]*[^ \\t]+([ \\t]+[^ \\t]+){4,6}[ \\t]*$')`,message="cron must have the five fields minute, hour, day of month, month, day of week; a sixth is seconds and comes first, a seventh is the year and comes last"
// +kubebuilder:validation:XValidation:rule=`!has(self.cron) || self.cron.matches('^[ \\t]*@(yearly|annually|monthly|weekly|daily|midnight|hourly)[ \\t]*$|^[0-9A-Za-z*?,/()# \\t-]*$')`,message="cron is made of letters, digits and * ? , / ( ) # -, or is one of @yearly, @monthly, @weekly, @daily and @hourly; instead of TZ= write timeZone, instead of @every 5m write every: 5m"
// +kubebuilder:validation:XValidation:rule=`!has(self.anchor) || has(self.every) || has(self.everyWeeks)`,message="anchor belongs to every or everyWeeks"
// +kubebuilder:validation:XValidation:rule=`!has(self.everyWeeks) || (has(self.anchor) && size(self.anchor) == 10)`,message="everyWeeks needs an anchor that is a date, such as 2026-01-05"
// +kubebuilder:validation:XValidation:rule=`!has(self.every) || !has(self.anchor) || size(self.anchor) > 10`,message="the anchor of every needs a time of day"
// +kubebuilder:validation:XValidation:rule=`!has(self.every) || duration(self.every) >= duration('1s')`,message="every must be at least 1s"
// +kubebuilder:validation:XValidation:rule=`!has(self.at) || self.at.all(x, size(x) > 10)`,message="at needs a date and a time of day"
type Schedule struct {
	// What runs, variables and the ledger call this schedule: main by default. It
	// is part of what an H in cron is computed from: another name moves those
	// times.
	//
	// +optional
	// +kubebuilder:default=main
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$`
	Name string `json:"name,omitempty"`

	// Times by the fields minute, hour, day of month, month, day of week, as in a
	// CronJob; a sixth field is seconds and comes first, a seventh is the year
	// and comes last. Beyond CronJob: ranges that wrap (22-2), L, L-3, 15W, LW
	// (days of the month), 5#2 and 5L (second and last Friday), and H, a value
	// fixed by the Timetable's name that spreads many Timetables over the hour or
	// the day.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[ \t]*(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|[0-9A-Za-z*?,/()#-]+([ \t]+[0-9A-Za-z*?,/()#-]+)*)[ \t]*$`
	Cron string `json:"cron,omitempty"`

	// What cron means when day of month and day of week are both restricted:
	// Either, the default, a day that matches one of them, as in a CronJob, or
	// Both, a day that matches both (0 9 13 * FRI with Both: Friday the 13th).
	//
	// +optional
	// +kubebuilder:default=Either
	DayRule DayRule `json:"dayRule,omitempty"`

	// Of the times of cron, those in every so many weeks only. The weeks, Monday
	// to Sunday in local time, are counted from the one that anchor, a date, lies
	// in.
	//
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=104
	EveryWeeks *int32 `json:"everyWeeks,omitempty"`

	// Times that are so far apart, counted from anchor in real time: neither zone
	// nor daylight saving moves them, nor do edits or restarts. Without an anchor
	// they are counted from 1970-01-01T00:00:00Z, so that 1h is each full hour of
	// UTC.
	//
	// +optional
	Every *Duration `json:"every,omitempty"`

	// Where every or everyWeeks counts from: for every a date and time of day,
	// for everyWeeks a date.
	//
	// +optional
	Anchor *Moment `json:"anchor,omitempty"`

	// Single moments, such as 2027-03-01T14:00. One that is past already when it
	// is written never runs.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	At []Moment `json:"at,omitempty"`
}

// DayRule says which days a cron with two restricted day fields names.
//
// +kubebuilder:validation:Enum=Either;Both
type DayRule string

// The day rules.
const (
	EitherDay DayRule = "Either"
	BothDays  DayRule = "Both"
)

// DST says when a local time runs that does not exist or exists twice because
// clocks change. It concerns cron items that name hours of the clock, and
// moments; items such as */15 or 0 * keep their spacing in real time.
type DST struct {
	// What happens to a local time that does not exist: Shift, the default, runs
	// at the first instant after the gap, Skip not at all.
	//
	// +optional
	// +kubebuilder:default=Shift
	Gap GapPolicy `json:"gap,omitempty"`

	// Which of the two instants of a local time that exists twice runs: First,
	// the default, Last or Both.
	//
	// +optional
	// +kubebuilder:default=First
	Overlap OverlapPolicy `json:"overlap,omitempty"`
}

// GapPolicy says what happens to a local time that does not exist.
//
// +kubebuilder:validation:Enum=Skip;Shift
type GapPolicy string

// The gap policies.
const (
	SkipGap  GapPolicy = "Skip"
	ShiftGap GapPolicy = "Shift"
)

// OverlapPolicy says which instants of a local time that exists twice count.
//
// +kubebuilder:validation:Enum=First;Last;Both
type OverlapPolicy string

// The overlap policies.
const (
	FirstOfOverlap OverlapPolicy = "First"
	LastOfOverlap  OverlapPolicy = "Last"
	BothOfOverlap  OverlapPolicy = "Both"
)

// Window bounds the scheduled times that count, both ends included. Times
// outside it are no scheduled times at all.
//
// +kubebuilder:validation:XValidation:rule=`has(self.notBefore) || has(self.notAfter)`,message="window needs notBefore or notAfter"
// +kubebuilder:validation:XValidation:rule=`!has(self.notBefore) || !has(self.notAfter) || self.notBefore <= self.notAfter`,message="notBefore must not be later than notAfter"
type Window struct {
	// The first instant that counts, such as 2026-06-01T00:00:00Z.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	NotBefore *metav1.Time `json:"notBefore,omitempty"`

	// The last instant that counts. A run that began in time goes on, and a time
	// that waits may start later.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	NotAfter *metav1.Time `json:"notAfter,omitempty"`
}

// Exclusion takes times out: exactly one of period and calendar.
//
// +kubebuilder:validation:XValidation:rule=`has(self.period) != has(self.calendar)`,message="exactly one of period and calendar must be set"
type Exclusion struct {
	// A period in spec.timeZone: 2026-12-25 or 2026-12-24/2027-01-02 (whole days,
	// both included), 12-25 or 12-24/01-02 (every year), or
	// 2026-12-24T18:00/2026-12-27T06:00 (the end is not included).
	//
	// +optional
	Period *Period `json:"period,omitempty"`

	// The name of a Calendar of this namespace, whose periods are excluded. While
	// it does not exist no scheduled time starts: a freeze that cannot be read
	// must hold.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Calendar *string `json:"calendar,omitempty"`
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import "time"

// Policy is what the user asks for, the same for all kinds. Nil and empty mean "not set"; defaults are the API's.
type Policy struct {
	// Timing says when runs start.
	Timing Timing
	// Deadline is how late a start may be, in seconds; nil for no limit.
	Deadline *int64
	// CatchUp says which of several times start that are due at once.
	CatchUp CatchUp
	// Room says how many runs may be active at once, and what becomes of a time that finds no room.
	Room    Room
	Suspend bool
	// What follows of pauses is for kinds whose status holds a cursor.

	// SuspendUntil is when a suspension ends by itself; nil for none.
	SuspendUntil *time.Time
	// PauseAfterFailures is after how many failed runs in a row no scheduled time starts any more; 0 for no number.
	// Another ResumeToken ends that.
	PauseAfterFailures int
	ResumeToken        string
	// CatchUpOnResume: times that passed while no scheduled time started are made up for at the end, as CatchUp says.
	// Otherwise they are skipped.
	CatchUpOnResume bool
	// Retry says how often an attempt that failed is repeated.
	Retry Retry
	// Timeout is how long after its creation a child is stopped that has not ended; 0 is never. It is for children that
	// have no such limit of their own (Child.OwnDeadline).
	Timeout time.Duration
	// Succeeded and Failed say which finished children of that class are kept.
	Succeeded, Failed Retention
	// KeepAtLeast is how long after its creation a child is kept, whatever the history says: so long its name locks its
	// time against a create that is repeated by mistake (timetable.md 5.5 F3).
	KeepAtLeast time.Duration
	// Ledger is how many outcomes are kept, where the status holds them.
	Ledger int
	// LateAfter is how long a time that came while somebody looked may wait before that is told; 0: for ever.
	LateAfter time.Duration
	// Template tells the templates of an object apart, and all else that its children are made of: each is tried once
	// (templatecheck.go). "" is never tried.
	Template string
	// ChildObstacle is what keeps any child from being made, also where Timing.Obstacle tells of something else; nil if
	// nothing does.
	ChildObstacle *Obstacle
	// Conditions: status.conditions are asked for (cronjob.md 2.3b).
	Conditions bool
}

// Timing says when runs start, as the adapter of the kind has read it: the scheduled times, or why there are none. The
// zero Timing names no times.
type Timing struct {
	// Fingerprint tells timings apart: those that may name different times have different ones. It is never "" in a
	// timing that somebody wrote.
	Fingerprint string
	// Times are the scheduled times; nil if there is an obstacle.
	Times Times
	// Excluded are the times that Times lack because the user has taken them out one by one; they are counted as skipped.
	// Nil if there are none.
	Excluded Times
	// Every, if not 0, tells that Times have no grid of their own: each is that much later than the one before.
	Every time.Duration
	// ZoneName is the time zone that is asked for, "" for none.
	ZoneName string
	// Zone is the zone in which scheduled times are written; nil means UTC.
	Zone *time.Location
	// Obstacle is why nothing can be scheduled until somebody mends the timing; nil if nothing is.
	Obstacle *Obstacle
	// Remarks are what else there is to say of the timing.
	Remarks []Remark
}

// Times are the scheduled times of a timing. Methods return the zero time where there is none. An implementation is
// immutable.
type Times interface {
	// LastBetween is the latest scheduled time in (after, until]. It is exact: no missed run is lost to an estimate
	// (cronjob.md Q2).
	LastBetween(after, until time.Time) time.Time
	// Count is how many scheduled times lie in (after, until], saturating.
	Count(after, until time.Time) int
	// Next is the first scheduled time later than t.
	Next(t time.Time) time.Time
}

// Times may have a method PlannedStart(t time.Time) time.Time: when a scheduled time is to start, no earlier than t and
// before the next one. Without it that is t. It counts in kinds whose status holds a cursor.

// Retry says how often and when an attempt that failed is repeated. The zero Retry repeats none.
type Retry struct {
	// Limit is how many attempts may follow the first.
	Limit int
	// Delay is the time from the end of the first attempt to the second; it doubles each time, up to MaxDelay.
	Delay, MaxDelay time.Duration
}

// Retention says which finished children of one class are kept.
type Retention struct {
	// Limit is how many of them; nil keeps all.
	Limit *int32
	// MaxAge is how long after their end; 0 is for ever.
	MaxAge time.Duration
}

// CatchUp says which of several times start that are due at once. Kinds K, V and T start the latest.
type CatchUp struct {
	// Policy is CatchUpLatest unless it is one of the others.
	Policy CatchUpPolicy
	// Limit is how many times that were found late may wait under CatchUpAll.
	Limit int
}

// CatchUpPolicy says which of several times start that are due at once.
type CatchUpPolicy string

// The values of CatchUpPolicy.
const (
	// CatchUpLatest starts the latest.
	CatchUpLatest CatchUpPolicy = "Latest"
	// CatchUpNone starts the latest, unless it is found late.
	CatchUpNone CatchUpPolicy = "None"
	// CatchUpAll starts all of them, one after the other if there is no room for all.
	CatchUpAll CatchUpPolicy = "All"
)

// Room says how many runs may be active at once, and what becomes of a time that finds no room: it waits, and may start
// late. The zero Room has room for any number.
type Room struct {
	// Limit is how many runs may be active at once; 0: any number.
	Limit int
	// WaitLimit is how many times may wait for room. Kinds K, V and T have one place.
	WaitLimit int
	// Queues: of too many times that wait the newest is turned away. Otherwise it takes the place of an older one.
	Queues bool
	// Stops: a time that finds no room stops runs that the schedule started, the oldest first (Replace).
	Stops bool
	// StartsBesideStopped: it starts as soon as their deletes are accepted. Otherwise it waits until they are gone.
	StartsBesideStopped bool
}

// noTimes is the empty set of times.
type noTimes struct{}

func (noTimes) LastBetween(_, _ time.Time) time.Time { return time.Time{} }
func (noTimes) Count(_, _ time.Time) int             { return 0 }
func (noTimes) Next(time.Time) time.Time             { return time.Time{} }

// orNone makes nil the empty set.
func orNone(times Times) Times {
	if times == nil {
		return noTimes{}
	}
	return times
}

// Obstacle is something that keeps everything from being started until somebody mends it: a mistake in the timing, or
// children that cannot be made.
type Obstacle struct {
	Remark
	// Check is the start check that fails: CheckZoneLoads or CheckScheduleFires for the timing, CheckChildKind for
	// children. The former keep scheduled times from starting, the latter attempts of runs that have begun, too. Zero: it
	// keeps nothing from starting.
	Check StartCheck
	// EditEvent, if not zero, takes the place of Remark.Event when an edit brought the mistake.
	EditEvent EventReason
	// Misconfigured is the mistake in one word.
	Misconfigured Misconfiguration
	// Err, if not nil, makes the sync fail, so that it is repeated with back-off. Otherwise the mistake waits for an
	// edit.
	Err error
}

// Remark is something about an object that people should know, found by the adapter of its kind.
type Remark struct {
	// Event is the reason under which it is reported; the zero EventReason keeps it silent.
	Event EventReason
	// Key tells remarks apart. One of a timing is reported once for each generation of the object.
	Key     string
	Message string
}

// event is the event of a remark about the timing.
func (r Remark) event(in *Input) Event {
	return r.Event.event(dedupKey(r.Key, in.Owner.Generation), "%s", r.Message)
}

// event is the event of an obstacle; edited: an edit brought it, and this sync is the first to see that.
func (o Obstacle) event(in *Input, edited bool) Event {
	r := o.Remark
	if edited && o.EditEvent != (EventReason{}) {
		r.Event = o.EditEvent
	}
	return r.event(in).lasting()
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KindTraits are the differences between the kinds, as data (cronjob.md 2.5). They are constants of a kind: shared, and
// never modified. The zero value of each field is the quiet choice.
type KindTraits struct {
	// Group and Kind identify the CronJob in a child's controller reference (Q6).
	Group string
	Kind  string
	// ChildKind names the children in messages.
	ChildKind string
	// TemplateField is the field of the spec that says what a child is; "" is jobTemplate.
	TemplateField string

	// NameUnit is the resolution of child names: time.Minute or time.Second (anything below counts as a second).
	NameUnit time.Duration
	// RunName gives the name of the first child of the run of a scheduled time; nil names it after the time in NameUnits.
	RunName func(owner string, scheduled time.Time) string
	// StampInZone: the stamp of a CronJob without a time zone is written in the zone of the process instead of UTC.
	StampInZone bool
	// TrustStamp: a stamp alone proves a scheduled time. Otherwise the child's name must be the one of that time, too.
	TrustStamp bool

	// StartChecks are what has to hold before anything starts, in the order in which they are checked.
	StartChecks []StartCheck
	// BadZoneRetries, BadScheduleRetries and NeverFiresRetries: a sync that meets this mistake of the user fails and is
	// repeated with back-off. Otherwise the mistake waits for an edit.
	BadZoneRetries, BadScheduleRetries, NeverFiresRetries bool
	// ManyRefused: with more than 100 missed times nothing starts, and nothing is tried until an event.
	ManyRefused bool

	// ActiveRebuilt: status.active is rebuilt from the children each time instead of being remembered.
	ActiveRebuilt bool
	// Durable are the parts of a Memory that the status, or the annotation of ours, can hold.
	Durable Parts
	// MaxActive is how many references the API takes in status.active; 0: any number. Only for ActiveRebuilt: what the
	// list has no room for is known from the children.
	MaxActive int
	// RecordDespiteError: a sync that failed still writes what it learnt.
	RecordDespiteError bool
	// StatusCarriesAnnotation: a status write may carry an annotation, so the timing comes with the first
	// one.
	StatusCarriesAnnotation bool
	// DeletedIsIgnored: a CronJob that is being deleted gets no attention at all. Otherwise its status and history are
	// kept.
	DeletedIsIgnored bool

	// ManualAside: runs that somebody started by hand are left aside: Forbid does not wait for one that is suspended, and
	// Replace starts beside them. Otherwise they take room like any other.
	ManualAside bool

	// ReadBeforeStop: an active child is read live before Replace deletes it; one that is gone is an error then.
	ReadBeforeStop bool
	// GoneIsStopped: a child that Replace finds gone is as good as deleted.
	GoneIsStopped bool
	// ExistsFails: a name that is already taken makes the sync fail, whoever holds it.
	ExistsFails bool
	// ChecksController: a created child that comes back without our controller reference is deleted again.
	ChecksController bool
	// AdoptionReports: an adopted child that is finished already is reported like any completion.
	AdoptionReports bool
	// PruneSilencesCompletion: a completion is not reported when the child is pruned in the same sync.
	PruneSilencesCompletion bool

	// History is the order in which finished children age.
	History HistoryOrder
	// FailedFirst: the history of failures is pruned before that of successes.
	FailedFirst bool
	// Propagation of every delete of a child; nil sends none and leaves it to the server.
	Propagation *metav1.DeletionPropagation

	// Conditions gives status.conditions at the end of a sync, from those that are stored and what it has found out; nil
	// for a kind that has none. It is a pure function.
	Conditions func(stored []metav1.Condition, f Facts) []metav1.Condition

	// MaxBackoff is how long after a sync that failed, or found a name taken, the next one follows at most; 0: 1000 s after
	// one that failed, and no sync of its own for a name.
	MaxBackoff time.Duration

	// CausesToldOnce: what lasts is told by the status, so that an event reports it once for each cause. Otherwise it is
	// reported again from time to time.
	CausesToldOnce bool

	// ConditionEvents are the reasons under which it is reported, in the condition's words, that a condition of that type has
	// become True.
	ConditionEvents map[string]EventReason

	// ResyncIgnored: an update of the CronJob that changes nothing, as a periodic resync sends, calls for no sync.
	ResyncIgnored bool
	// CreationSkew: the time from scheduled to created is observed in the kind's histogram (cronjob.md 5.2).
	CreationSkew bool
	// ResumeAnnotation is the annotation whose change ends a pause after failures, "" when the kind has no such pause.
	ResumeAnnotation string
	// EventSource is the component that events name, "" when the kind has no events.
	EventSource string
	// ReasonWord is how messages write the reason of an outcome; nil writes it as it is.
	ReasonWord func(Reason) string
	// ReasonTexts say why scheduled times were missed, and what to do about it, where the kind has other fields than a
	// CronJob of batch/v1; a reason that is not there is told in the words for that.
	ReasonTexts map[Reason]string
	// Events are the reasons under which the kind reports; the zero EventReason is silent.
	Events EventReasons
}

func (k *KindTraits) reasonWord(reason Reason) string {
	if k.ReasonWord == nil {
		return string(reason)
	}
	return k.ReasonWord(reason)
}

// StartCheck is something that has to hold before a CronJob starts anything.
type StartCheck int

const (
	// CheckZoneLoads: the time zone can be loaded.
	CheckZoneLoads StartCheck = iota + 1
	// CheckNotSuspended: the CronJob is not suspended.
	CheckNotSuspended
	// CheckScheduleFires: the schedules parse, and name a time at all.
	CheckScheduleFires
	// CheckChildKind: children of the kind that is asked for can be started and watched.
	CheckChildKind
)

// HistoryOrder says which of two finished children is older.
type HistoryOrder int

const (
	// ByStart: status.startTime; without one it is the newest; then by name.
	ByStart HistoryOrder = iota
	// ByCreation: metadata.creationTimestamp; without one it is the newest; then by name.
	ByCreation
	// ByStartUnstartedFirst: status.startTime; without one it is the oldest; then by name.
	ByStartUnstartedFirst
)

// EventReason is the type and reason under which a kind reports a cause.
type EventReason struct{ Type, Reason string }

// EventReasons has a field for every cause that some kind reports.
type EventReasons struct {
	Created              EventReason // a child was created
	Deleted              EventReason // a child was deleted: pruned or replaced
	Completed            EventReason // an active child has finished
	RunSucceeded         EventReason // a run has ended well, where the status holds outcomes
	RunFailed            EventReason // a run has failed, likewise
	RunCancelled         EventReason // a run was stopped, or its child was deleted, likewise
	RunRetrying          EventReason // an attempt has failed, and another one follows
	Missing              EventReason // an active reference has no object
	Unexpected           EventReason // an unfinished child that is not in the active list
	Forbidden            EventReason // due, but a child is unfinished and the policy is Forbid
	Replacing            EventReason // due, and unfinished children are being replaced
	ManualActive         EventReason // due, and starting beside manual runs, which Replace leaves alone
	NotStarted           EventReason // scheduled times did not start, and will not
	Skipped              EventReason // scheduled times did not start, as the user asked
	TooManyMissed        EventReason // more than 100 scheduled times have passed
	UnknownZone          EventReason // the time zone cannot be loaded
	ZoneInSchedule       EventReason // the schedule carries a zone of its own
	BadSchedule          EventReason // the schedule does not parse
	BadEdit              EventReason // the schedule was edited into one that does not parse
	NeverFires           EventReason // the schedule names no time at all
	TooFine              EventReason // the schedule fires more often than children can be named
	FailedGet            EventReason // a live read for Replace failed
	FailedDelete         EventReason // a delete failed
	FailedCreate         EventReason // a create failed
	NamespaceTerminating EventReason // a create failed because the namespace is going away
	PausedAfterFailures  EventReason // no scheduled time starts any more, because too many runs failed in a row
	Resumed              EventReason // scheduled times start again
	ClockWentBack        EventReason // what was decided lies far ahead of the clock
	Foreign              EventReason // an object of someone else holds the child's name
	BadTimetable         EventReason // the annotation of ours holds what we did not write
	OwnerRemoved         EventReason // something takes our owner reference off what is created
	TemplateRejected     EventReason // the server refuses what the template makes, as a dry run has shown
	FieldsLeftOut        EventReason // the server accepts it, but does not know some of its fields
}

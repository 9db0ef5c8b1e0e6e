// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Timetable says when runs happen, what a run is, and what to do when the two
// do not fit: a run takes too long, the controller was away, a run failed, a
// day is a holiday, a clock changed. Its status says what became of each
// scheduled time.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=tt,categories=carillon
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether the spec is understood and allowed"
// +kubebuilder:printcolumn:name=Healthy,type=string,JSONPath=`.status.conditions[?(@.type=="Healthy")].status`,description="Whether runs succeed, and in time"
// +kubebuilder:printcolumn:name=Active,type=integer,JSONPath=`.status.activeCount`,description="How many runs have begun and not ended"
// +kubebuilder:printcolumn:name=Next,type=string,JSONPath=`.status.next[0].time`,description="The next scheduled time"
// +kubebuilder:printcolumn:name="Last Success",type=date,JSONPath=`.status.lastSuccessfulTime`,description="How long ago the newest success ended"
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name=Paused,type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Paused")].reason`,description="Why no scheduled time starts; Active if they do"
// +kubebuilder:printcolumn:name=Waiting,type=integer,priority=1,JSONPath=`.status.waitingCount`,description="How many scheduled times wait"
// +kubebuilder:printcolumn:name=Failures,type=integer,priority=1,JSONPath=`.status.consecutiveFailures`,description="How many scheduled runs in a row have failed"
// +kubebuilder:printcolumn:name=Zone,type=string,priority=1,JSONPath=`.spec.timeZone`,description="The time zone of the schedules"
// +kubebuilder:validation:XValidation:rule=`size(self.metadata.name) <= 63 && !self.metadata.name.contains('.')`,message="metadata.name must be a DNS label: at most 63 lower case letters, digits and hyphens"
type Timetable struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is asked for.
	//
	// +required
	Spec TimetableSpec `json:"spec"`

	// What the controller has done and will do. It may be erased but for cursor,
	// counts, pause and waiting.
	//
	// +optional
	Status TimetableStatus `json:"status,omitzero"`
}

// TimetableSpec says when runs happen and what they are. Only schedules and
// template have to be there.
//
// +kubebuilder:validation:XValidation:rule=`has(self.outcome) != ((self.template.apiVersion + '/' + self.template.kind) in ['batch/v1/Job', 'v1/Pod', 'jobset.x-k8s.io/v1alpha2/JobSet', 'batch.volcano.sh/v1alpha1/Job'])`,message="outcome must be set for kinds that Carillon does not know, and only for those (known: Job, Pod, JobSet, Volcano Job)"
// +kubebuilder:validation:XValidation:rule=`!has(self.startingDeadline) || duration(self.startingDeadline) >= duration('1s')`,message="startingDeadline must be at least 1s; to start nothing, set suspend"
// +kubebuilder:validation:XValidation:rule=`!has(self.jitter) || duration(self.jitter) <= duration('24h')`,message="jitter must be at most 24h"
// +kubebuilder:validation:XValidation:rule=`!has(self.timeout) || duration(self.timeout) >= duration('1s')`,message="timeout must be at least 1s"
// +kubebuilder:validation:XValidation:rule=`self.catchUp.policy != 'All' || self.concurrency.policy != 'Replace'`,message="catchUp All and concurrency Replace contradict each other: either every time matters, or only the newest"
// +kubebuilder:validation:XValidation:rule=`!(has(self.suspendUntil) && has(self.suspend) && self.suspend)`,message="use one of suspend and suspendUntil"
type TimetableSpec struct {
	// When runs happen: at the times of all these schedules together. A time that
	// several of them name is one run.
	//
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Schedules []Schedule `json:"schedules"`

	// The time zone in which cron, moments and periods are read: a name of the tz
	// database, such as Europe/Rome; UTC by default.
	//
	// +optional
	// +kubebuilder:default="UTC"
	// +kubebuilder:validation:MaxLength=44
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9_+-]{0,13}(/[A-Za-z][A-Za-z0-9_+-]{0,13}){0,2}$`
	// +kubebuilder:validation:XValidation:rule=`self.lowerAscii() != 'local' && self.matches('^[A-Za-z][A-Za-z0-9_+-]{0,13}(/[A-Za-z][A-Za-z0-9_+-]{0,13}){0,2}$')`,message="timeZone must be a name of the tz database, such as Europe/Rome; Local would be another one on each machine"
	TimeZone string `json:"timeZone,omitempty"`

	// What happens to local times that daylight saving takes out or doubles. By
	// default a daily run happens exactly once on every day of the year.
	//
	// +optional
	// +kubebuilder:default={}
	DST DST `json:"dst,omitzero"`

	// The instants between which scheduled times count.
	//
	// +optional
	Window *Window `json:"window,omitempty"`

	// Periods and Calendars whose times do not run. They are counted as skipped
	// and never made up.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Exclude []Exclusion `json:"exclude,omitempty"`

	// Runs start later than their scheduled time by an offset of at most this, at
	// most 24h: the same each time, different from Timetable to Timetable, and
	// never past the next scheduled time.
	//
	// +optional
	Jitter *Duration `json:"jitter,omitempty"`

	// How late a run may start, whatever held it up; later, its time is missed.
	// Without it there is no limit.
	//
	// +optional
	StartingDeadline *Duration `json:"startingDeadline,omitempty"`

	// Which times start that came due while nobody looked, as in an outage of the
	// controller: by default the latest.
	//
	// +optional
	// +kubebuilder:default={}
	CatchUp CatchUp `json:"catchUp,omitzero"`

	// What becomes of times that passed while suspended or paused: Skip, the
	// default, starts none of them, CatchUp treats them as catchUp says.
	//
	// +optional
	// +kubebuilder:default=Skip
	OnResume ResumePolicy `json:"onResume,omitempty"`

	// How many runs may be active at a time, and what a time does that finds no
	// room: by default one run, and the newest time waits.
	//
	// +optional
	// +kubebuilder:default={}
	Concurrency Concurrency `json:"concurrency,omitzero"`

	// While true no scheduled time starts; active runs and their retries go on.
	//
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Until this instant no scheduled time starts; at the instant itself they do
	// again.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	SuspendUntil *metav1.Time `json:"suspendUntil,omitempty"`

	// After so many scheduled runs in a row have failed no more start, until
	// one that is under way succeeds, the spec is changed, or the annotation
	// carillon.dev/resume gets a new value. Without it failures pause nothing.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	PauseAfterFailures *int32 `json:"pauseAfterFailures,omitempty"`

	// How often a failed run is tried again. Without it, never; a Job has its own
	// backoffLimit beside this.
	//
	// +optional
	Retry *Retry `json:"retry,omitempty"`

	// How long one attempt may take. A Job gets it as activeDeadlineSeconds, and
	// fails; other kinds are deleted.
	//
	// +optional
	Timeout *Duration `json:"timeout,omitempty"`

	// How long a time may wait to start before the condition Late becomes true:
	// 10m by default.
	//
	// +optional
	// +kubebuilder:default="10m"
	LateAfter Duration `json:"lateAfter,omitempty"`

	// Values that the template asks for with $(carillon.parameters.NAME), each
	// with a default.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Parameters []Parameter `json:"parameters,omitempty"`

	// What a run starts: a Job, or an object of another kind.
	//
	// +required
	Template RunTemplate `json:"template"`

	// When an object of a kind that Carillon does not know has succeeded or
	// failed. It must not be set for a Job, Pod, JobSet or Volcano Job.
	//
	// +optional
	Outcome *Outcome `json:"outcome,omitempty"`

	// How many finished runs are kept, and for how long, and how many results the
	// status lists.
	//
	// +optional
	// +kubebuilder:default={}
	History History `json:"history,omitzero"`
}

// TimetableList is a list of Timetables.
//
// +kubebuilder:object:root=true
type TimetableList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Timetable `json:"items"`
}

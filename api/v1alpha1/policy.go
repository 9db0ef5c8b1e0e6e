// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// CatchUp says which of the scheduled times start that came due while nobody
// looked.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.limit) || self.policy == 'All'`,message="catchUp.limit belongs to policy All"
type CatchUp struct {
	// None starts a time only if it is at most 60 s late, Latest, the default,
	// the newest one however late, All the newest ones up to limit, in their
	// order.
	//
	// +optional
	// +kubebuilder:default=Latest
	Policy CatchUpPolicy `json:"policy,omitempty"`

	// How many caught-up times may wait under policy All, 10 if it is absent;
	// older ones are missed.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Limit *int32 `json:"limit,omitempty"`
}

// CatchUpPolicy says which overdue times start.
//
// +kubebuilder:validation:Enum=None;Latest;All
type CatchUpPolicy string

// The catch-up policies.
const (
	CatchUpNone   CatchUpPolicy = "None"
	CatchUpLatest CatchUpPolicy = "Latest"
	CatchUpAll    CatchUpPolicy = "All"
)

// ResumePolicy says what becomes of times that passed while suspended or
// paused.
//
// +kubebuilder:validation:Enum=Skip;CatchUp
type ResumePolicy string

// The resume policies.
const (
	SkipOnResume    ResumePolicy = "Skip"
	CatchUpOnResume ResumePolicy = "CatchUp"
)

// Concurrency says how many runs may be active at a time, and what a time
// does that finds no room.
//
// +kubebuilder:validation:XValidation:rule=`self.policy != 'Allow' || !has(self.limit)`,message="policy Allow has no limit"
// +kubebuilder:validation:XValidation:rule=`!has(self.queueLimit) || self.policy == 'Queue'`,message="queueLimit belongs to policy Queue"
type Concurrency struct {
	// What a time does that finds no room. Forbid, the default: the newest one
	// waits, an older one is skipped. Queue: up to queueLimit wait, one too many
	// is skipped. Replace: the oldest run is stopped, and the time starts once it
	// is gone. Allow: there is room for 100 runs.
	//
	// +optional
	// +kubebuilder:default=Forbid
	Policy ConcurrencyPolicy `json:"policy,omitempty"`

	// How many runs may be active at a time, 1 if it is absent. A run that waits
	// for its retry is active.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Limit *int32 `json:"limit,omitempty"`

	// How many times wait under policy Queue, 10 if it is absent. With 0 a time
	// that finds no room is skipped at once.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	QueueLimit *int32 `json:"queueLimit,omitempty"`
}

// ConcurrencyPolicy says what a time does that finds no room.
//
// +kubebuilder:validation:Enum=Forbid;Queue;Replace;Allow
type ConcurrencyPolicy string

// The concurrency policies.
const (
	ForbidConcurrent  ConcurrencyPolicy = "Forbid"
	QueueConcurrent   ConcurrencyPolicy = "Queue"
	ReplaceConcurrent ConcurrencyPolicy = "Replace"
	AllowConcurrent   ConcurrencyPolicy = "Allow"
)

// Retry says how often a failed run is tried again, and when. Between
// attempts the run is active and holds its place.
//
// +kubebuilder:validation:XValidation:rule=`duration(self.delay) <= duration(self.maxDelay)`,message="delay must not exceed maxDelay"
type Retry struct {
	// How many attempts may follow the first one.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Limit int32 `json:"limit"`

	// How long after the end of the first attempt the second one starts; 10s by
	// default. The delay doubles with each attempt.
	//
	// +optional
	// +kubebuilder:default="10s"
	Delay Duration `json:"delay,omitempty"`

	// What the doubled delay never exceeds: 10m by default.
	//
	// +optional
	// +kubebuilder:default="10m"
	MaxDelay Duration `json:"maxDelay,omitempty"`
}

// History says how many finished runs are kept, and for how long. All
// attempts of a run are kept or deleted together.
type History struct {
	// Runs that succeeded: by default the newest three are kept.
	//
	// +optional
	// +kubebuilder:default={}
	Succeeded Retention `json:"succeeded,omitzero"`

	// Runs that failed or were cancelled: by default the newest three are kept.
	//
	// +optional
	// +kubebuilder:default={}
	Failed Retention `json:"failed,omitzero"`

	// How many results status.ledger lists: 20 by default.
	//
	// +optional
	// +kubebuilder:default=20
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Ledger *int32 `json:"ledger,omitempty"`
}

// Retention says how many finished runs of one outcome are kept, and for how
// long.
type Retention struct {
	// How many are kept, the newest by creation: 3 by default. Nothing is deleted
	// before its result is written, nor within 60 s of its creation, even with 0.
	//
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Limit *int32 `json:"limit,omitempty"`

	// How long after its end a run is kept at most; without it, age deletes
	// nothing.
	//
	// +optional
	MaxAge *Duration `json:"maxAge,omitempty"`
}

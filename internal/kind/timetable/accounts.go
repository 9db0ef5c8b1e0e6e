// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

var _ adapter.Accounted = Kind{}

// outcomeWords are the results and reasons of timetable.md 4.3, in its order.
var outcomeWords = []adapter.OutcomeWords{
	{Result: string(v1alpha1.ResultSucceeded)},
	{Result: string(v1alpha1.ResultFailed), Reason: "RunFailed"},
	{Result: string(v1alpha1.ResultFailed), Reason: "Timeout"},
	{Result: string(v1alpha1.ResultCancelled), Reason: "Replaced"},
	{Result: string(v1alpha1.ResultCancelled), Reason: "Deleted"},
	{Result: string(v1alpha1.ResultSkipped), Reason: "Suspended"},
	{Result: string(v1alpha1.ResultSkipped), Reason: "Paused"},
	{Result: string(v1alpha1.ResultSkipped), Reason: "Excluded"},
	{Result: string(v1alpha1.ResultSkipped), Reason: "Superseded"},
	{Result: string(v1alpha1.ResultSkipped), Reason: "QueueFull"},
	{Result: string(v1alpha1.ResultSkipped), Reason: "Edited"},
	{Result: string(v1alpha1.ResultMissed), Reason: "Outage"},
	{Result: string(v1alpha1.ResultMissed), Reason: "CatchUpLimit"},
	{Result: string(v1alpha1.ResultMissed), Reason: "Deadline"},
	{Result: string(v1alpha1.ResultMissed), Reason: "CreateFailed"},
	{Result: string(v1alpha1.ResultMissed), Reason: "NameTaken"},
	{Result: string(v1alpha1.ResultMissed), Reason: "NotReady"},
}

// waitingReasons are what scheduled times wait for (timetable.md 2).
var waitingReasons = []string{"Overlap", "Stopping", "CreateFailed", "NameTaken", "NotReady", "Suspended"}

// Outcomes implements adapter.Accounted.
func (Kind) Outcomes() []adapter.OutcomeWords { return slices.Clone(outcomeWords) }

// OutcomeWords implements adapter.Accounted.
func (Kind) OutcomeWords(o *cron.RunOutcome) (adapter.OutcomeWords, bool) {
	result, listed := writtenResults[o.Result]
	words := adapter.OutcomeWords{Result: string(result), Reason: writtenReason(o.Reason)}
	if !slices.Contains(outcomeWords, words) {
		words.Reason = ""
	}
	return words, listed
}

// NewStatusCounts implements adapter.Accounted.
func (Kind) NewStatusCounts() adapter.StatusCounts {
	counts := adapter.StatusCounts{Active: new(0), Waiting: map[string]int{}, Conditions: map[adapter.ConditionWords]int{}}
	for _, reason := range waitingReasons {
		counts.Waiting[reason] = 0
	}
	for _, of := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionHealthy, v1alpha1.ConditionLate, v1alpha1.ConditionPaused, v1alpha1.ConditionCompleted} {
		for _, status := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown} {
			counts.Conditions[adapter.ConditionWords{Type: of, Status: string(status)}] = 0
		}
	}
	return counts
}

// AddStatus implements adapter.Accounted, for both forms of a Timetable. What a status says in other words is left out.
func (Kind) AddStatus(obj adapter.Object, counts adapter.StatusCounts) {
	addCondition := func(kind string, status metav1.ConditionStatus) {
		if words := (adapter.ConditionWords{Type: kind, Status: string(status)}); known(counts.Conditions, words) {
			counts.Conditions[words]++
		}
	}
	var status *v1alpha1.TimetableStatus
	switch tt := obj.(type) {
	case *Object:
		if tt != nil {
			status = &tt.Status
		}
	case *compactTimetable:
		if tt != nil {
			status = &tt.status
			for i := range tt.conditions {
				says := tt.conditions[i].says.Value()
				addCondition(says.kind, says.status)
			}
		}
	}
	if status == nil {
		return
	}
	for i := range status.Conditions {
		addCondition(status.Conditions[i].Type, status.Conditions[i].Status)
	}
	*counts.Active += len(status.Active)
	for i := range status.Waiting {
		if reason := status.Waiting[i].Reason; known(counts.Waiting, reason) {
			counts.Waiting[reason]++
		}
	}
}

func known[K comparable](counts map[K]int, word K) bool {
	_, known := counts[word]
	return known
}

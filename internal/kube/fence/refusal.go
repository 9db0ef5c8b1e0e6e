// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Refusal is the error of a request that was not sent. Like the refusals of an API server it is a no for certain
// (apierrors.APIStatus, code 412), so callers do with it what they do with those: they try again, on a new decision.
type Refusal struct {
	Reason Reason
	// Age is that of the decision or of the renewal, whichever Reason names.
	Age time.Duration
}

var _ apierrors.APIStatus = (*Refusal)(nil)

// Reason is why a request was not sent.
type Reason string

const (
	// DecisionTooOld: more than MaxDecisionAge has passed since the state was read that the request was decided upon.
	DecisionTooOld Reason = "decision_too_old"
	// LeaseNotRenewed: more than MaxRenewalAge has passed since the lease was renewed.
	LeaseNotRenewed Reason = "lease_not_renewed"
	// LeaseNotHeld: the process does not hold the lease.
	LeaseNotHeld Reason = "lease_not_held"
	// Undecided: the request does not say when it was decided. That is a fault of this program.
	Undecided Reason = "undecided"
)

// Reasons are all there are.
var Reasons = []Reason{DecisionTooOld, LeaseNotRenewed, LeaseNotHeld, Undecided}

// Error implements error.
func (r *Refusal) Error() string {
	switch r.Reason {
	case DecisionTooOld:
		return fmt.Sprintf("not sent: it was decided %s ago, and only decisions of the last %s are carried out, because more may have changed since; it is decided anew",
			r.Age.Round(time.Millisecond), MaxDecisionAge)
	case LeaseNotRenewed:
		return fmt.Sprintf("not sent: this process last renewed its lease %s ago, and starts and ends work only within %s of that, because another process may lead soon; "+
			"it is decided anew, by whoever leads then", r.Age.Round(time.Millisecond), MaxRenewalAge)
	case LeaseNotHeld:
		return "not sent: this process does not hold the lease, so another one may lead; it is decided anew, by whoever leads"
	default:
		return "not sent: the request does not say when it was decided; please report this"
	}
}

// Status implements apierrors.APIStatus.
func (r *Refusal) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Code: http.StatusPreconditionFailed, Reason: metav1.StatusReasonUnknown, Message: r.Error()}
}

// docs/metrics.md explains it to operators.
var refused = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "carillon_requests_not_sent_total",
	Help: "Creates, deletes and status writes of Timetables that were not sent, because another process may lead or the decision was old. They are decided anew.",
}, []string{"reason"})

func init() {
	metrics.Registry.MustRegister(refused)
	for _, reason := range Reasons {
		refused.WithLabelValues(string(reason))
	}
}

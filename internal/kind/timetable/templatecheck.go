// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"errors"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// JudgeTemplate implements adapter.TemplateChecker (timetable.md 3.9, 5.9).
func (Kind) JudgeTemplate(owner, answer adapter.Object, err, strict error) cron.TemplateCheckResult {
	switch {
	case err == nil && Owns(owner, answer):
		return cron.TemplateCheckResult{Verdict: cron.TemplateAccepted, Message: leftOut(strict)}
	case err == nil:
		return cron.TemplateCheckResult{Verdict: cron.TemplateOwnerRemoved}
	case rejects(err):
		return cron.TemplateCheckResult{Verdict: cron.TemplateRejected, Message: bounded("the API server refuses what spec.template makes: "+err.Error()+
			"; each run is tried all the same", conditionMessageBytes)}
	}
	return cron.TemplateCheckResult{Verdict: cron.TemplateUnjudged}
}

// leftOut says what the server leaves out of what a template makes; "" if nothing.
func leftOut(strict error) string {
	if strict == nil {
		return ""
	}
	_, fields, found := strings.Cut(strict.Error(), "strict decoding error: ")
	if !found {
		fields = strict.Error()
	}
	return bounded("the API server does not know all of what spec.template makes, and leaves out what it does not know: "+fields+
		"; correct the name of the field", conditionMessageBytes-len(accepted+andYet))
}

// rejects tells whether an error says that the server refuses the child whenever it is created. A quota may be full at
// one time only, what is not granted is told by the condition Ready, a namespace that goes away takes all with it, and
// a webhook may be one that takes no part in dry runs, whatever it says of the child itself.
func rejects(err error) bool {
	switch code := codeOf(err); {
	case strings.Contains(err.Error(), "does not support dry run"), strings.Contains(err.Error(), "exceeded quota"),
		apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return false
	case code == http.StatusForbidden: // so the API server words what its authorizer refuses
		return !strings.Contains(err.Error(), `: User "`)
	case code == http.StatusBadRequest, code == http.StatusUnprocessableEntity:
		return true
	default: // a webhook may refuse with any code
		return code < http.StatusInternalServerError && strings.Contains(err.Error(), "denied the request")
	}
}

// codeOf is the HTTP code of an error of the API server, 0 if it is none.
func codeOf(err error) int32 {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code
	}
	return 0
}

// readTemplateCheck reads what a status tells of the template: the condition Ready says what is wrong with it. Without
// that nothing is known.
func readTemplateCheck(s *v1alpha1.TimetableStatus) cron.TemplateCheck {
	check := cron.TemplateCheck{Template: s.CheckedTemplate}
	c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	if c == nil {
		return cron.TemplateCheck{}
	}
	if c.Status != metav1.ConditionFalse {
		_, check.LeftOut, _ = strings.Cut(c.Message, accepted+andYet)
		return check
	}
	switch Reason(c.Reason) {
	case OwnerRemoved:
		check = cron.TemplateCheck{OwnerRemoved: c.ObservedGeneration}
	case TemplateRejected:
		check.Rejected = c.Message
	}
	return check
}

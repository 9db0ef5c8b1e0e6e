// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// checkTemplate makes a dry run of the create of a child, so that a template which the server refuses is told before a
// run needs it (timetable.md 3.9). It belongs to the second half of a sync: no start waits for it.
func (r *reconciler) checkTemplate(ctx context.Context, s *ongoingSync, check cron.Start) {
	result := cron.TemplateCheckResult{Verdict: cron.TemplateUnjudged}
	if checker, ok := r.kind.(adapter.TemplateChecker); ok {
		answer, err := r.dryRun(ctx, s, check, metav1.FieldValidationStrict)
		var strict error
		if isStrict(err) { // the create itself leaves out what the server does not know
			strict = err
			answer, err = r.dryRun(ctx, s, check, metav1.FieldValidationIgnore)
		}
		result = checker.JudgeTemplate(s.owner, answer, err, strict)
		if result.Verdict == cron.TemplateUnjudged {
			r.log.V(1).Info("A dry run tells nothing of a template and is made again", "object", s.key.String(), "error", err)
		}
	}
	s.in.AddTemplateCheckResult(result)
	r.countTemplateCheck(result.Verdict)
}

// isStrict tells whether an object was refused only because it has fields that the server does not know, or has one twice.
func isStrict(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "strict decoding error")
}

// dryRun gives what the server would make of the child of a start.
func (r *reconciler) dryRun(ctx context.Context, s *ongoingSync, check cron.Start, unknown client.FieldValidation) (client.Object, error) {
	obj, err := r.kind.Build(s.owner, adapter.Start{Start: check, Timing: s.in.Policy.Timing, Memory: s.in.Stored})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return obj, r.writer.Create(ctx, obj, client.DryRunAll, unknown)
}

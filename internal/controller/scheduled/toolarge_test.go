// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"encoding/json"
	"errors"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

// A status that the server refuses as too large is written without the oldest entries of its ledger, with the words of the
// API server and of its store; it is told once. Any other refusal is none of that (timetable.md 4.5, TT-260).
func TestStatusTooLarge(t *testing.T) {
	for name, refusal := range map[string]error{
		"by the API server":   apierrors.NewRequestEntityTooLargeError("limit is 3145728"),
		"by its store":        apierrors.NewInternalError(errors.New("etcdserver: request is too large")),
		"by the client of it": apierrors.NewInternalError(errors.New("rpc error: code = ResourceExhausted desc = trying to send message larger than max (2099152 vs. 2097152)")),
	} {
		t.Run(name, func(t *testing.T) {
			serveTimetable(t, nil, func(w *timetabled) {
				w.refuses = func(written []byte) error {
					var patch struct{ Status v1alpha1.TimetableStatus }
					if err := json.Unmarshal(written, &patch); err != nil {
						return err
					}
					if len(patch.Status.Ledger) > 2 {
						return refusal
					}
					return nil
				}
				w.sync()
				for range 6 {
					w.next(1)
					w.finish(batchv1.JobComplete)
					w.sync()
				}
				s := w.stored().Status
				if n := len(s.Ledger); n < 1 || n > 2 || !s.Ledger[0].ScheduledTime.Equal(s.LastScheduleTime) {
					t.Errorf("the ledger is %+v", s.Ledger)
				}
				if s.Counts.Succeeded != 6 || s.Counts.Started != 6 {
					t.Errorf("%+v", s.Counts)
				}
				if told := w.says("StatusTooLarge"); len(told) != 1 {
					t.Errorf("told %q", told)
				}
			})
		})
	}
	serveTimetable(t, nil, func(w *timetabled) {
		w.sync()
		w.next(1)
		tries := 0
		w.refuses = func([]byte) error { tries++; return apierrors.NewInternalError(errors.New("etcdserver: no leader")) }
		w.finish(batchv1.JobComplete)
		w.sync()
		if tries != 1 || len(w.says("StatusTooLarge")) > 0 {
			t.Errorf("%d writes, told %q", tries, w.says("StatusTooLarge"))
		}
	})
}

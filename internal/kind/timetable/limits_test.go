// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/kindtest"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/testkit/vectors"
)

// timetableCRD is the definition of Timetables.
func timetableCRD(t *testing.T) *kindtest.CRD {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/crds/batch.carillon.dev_timetables.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return kindtest.ParseCRDs(t, text)[0]
}

// admitStatus fails unless the schema takes a status as it is.
func admitStatus(t *testing.T, crd *kindtest.CRD, status *v1alpha1.TimetableStatus) {
	t.Helper()
	data, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	obj := vectors.Timetable(t)
	obj["status"] = vectors.Decode(t, string(data))
	if err := crd.Admit(t, obj).ToAggregate(); err != nil {
		t.Errorf("the schema refuses it: %v", err)
	}
	if diff := cmp.Diff(vectors.Decode(t, string(data)), obj["status"]); diff != "" {
		t.Errorf("stored otherwise (-sent +stored):\n%s", diff)
	}
}

// Whatever others put into its texts, and however long its lists were to be, a status has less than 200 KiB and the
// schema takes it (TG8, TT-184).
func TestWorstStatus(t *testing.T) {
	crd := timetableCRD(t)
	for sentence, text := range map[string]string{
		"letters":            strings.Repeat("m", 10_000),
		"what HTML escapes":  strings.Repeat("<", 10_000),
		"quotes":             strings.Repeat(`"`, 10_000),
		"control characters": strings.Repeat("x\x01", 10_000),
		"no text":            strings.Repeat("\xff", 10_000),
		"separators":         strings.Repeat("x\u2028", 10_000),
		"bells":              strings.Repeat("🔔", 10_000),
	} {
		status := vectors.WorstTimetableStatus(at("2026-05-04T12:10:00Z"))
		for i := range status.Conditions {
			status.Conditions[i].Message = text
		}
		for range 5 {
			status.Conditions = append(status.Conditions, metav1.Condition{Type: "Other", Message: text})
		}
		status.Conditions = append(status.Conditions[:5:5], status.Conditions[:4]...)
		for i := range status.Conditions[5:] {
			status.Conditions[5+i].Type = string(rune('A' + i))
		}
		for i := range status.Waiting {
			status.Waiting[i].Message = text
		}
		for i := range status.Ledger {
			status.Ledger[i].Message = text
		}
		status.Pause.ResumeToken = text
		status.Next = append(status.Next, status.Next...)
		status.Active = append(status.Active, status.Active...)
		status.Waiting = append(status.Waiting, status.Waiting...)
		status.Ledger = append(status.Ledger, status.Ledger...)
		timetable.Limit(status)
		data, err := json.Marshal(status)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", sentence, len(data))
		if len(data) >= 200<<10 {
			t.Errorf("%s: %d bytes", sentence, len(data))
		}
		admitStatus(t, crd, status)
		again := status.DeepCopy()
		timetable.Limit(again)
		if diff := cmp.Diff(status, again); diff != "" {
			t.Errorf("%s: limited twice (-once +twice):\n%s", sentence, diff)
		}
	}
}

// A status within its limits stays as it is.
func TestLimitLeavesWhatFits(t *testing.T) {
	status := vectors.WorstTimetableStatus(at("2026-05-04T12:10:00Z"))
	want := status.DeepCopy()
	timetable.Limit(status)
	if diff := cmp.Diff(want, status); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	empty := &v1alpha1.TimetableStatus{}
	timetable.Limit(empty)
	if diff := cmp.Diff(&v1alpha1.TimetableStatus{}, empty); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A resume token has at most 64 bytes as encoded; values that people write are their own, and two others have two.
func TestResumeToken(t *testing.T) {
	for value, want := range map[string]string{"": "", "2026-05-04T12:10:00Z": "2026-05-04T12:10:00Z", "again": "again", strings.Repeat("x", 64): strings.Repeat("x", 64)} {
		if got := timetable.ResumeToken(value); got != want {
			t.Errorf("%q: %q", value, got)
		}
	}
	draw := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("ab <\"\n\x00é"))), rapid.StringN(60, 70, -1))
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		token := timetable.ResumeToken(a)
		if data, err := json.Marshal(token); err != nil || len(data) > 66 {
			t.Fatalf("%q: %d bytes, %v", token, len(data), err)
		}
		if timetable.ResumeToken(token) != token {
			t.Fatalf("the token of %q is another one", token)
		}
		if (a == b) != (token == timetable.ResumeToken(b)) {
			t.Fatalf("%q and %q: %q", a, b, token)
		}
	})
}

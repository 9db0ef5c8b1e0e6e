// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cronjob

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	kinds "github.com/carillon-dev/carillon/internal/kind/batchv1"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

func entry(manager, subresource, fields string, when time.Time) metav1.ManagedFieldsEntry {
	at := metav1.NewTime(when)
	return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, Time: &at, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
}

// Of managed fields the cache keeps exactly what tells when the schedule was last written, so a decision on the trimmed
// object is the one on the whole.
func TestTrimKeepsWhoWroteTheSchedule(t *testing.T) {
	cj := tick().Obj()
	cj.ManagedFields = []metav1.ManagedFieldsEntry{
		entry("kubectl", "", `{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:schedule":{},"f:suspend":{}}}`, at("12:04:00")),
		entry("helm", "", `{"f:spec":{"f:timeZone":{}}}`, at("12:05:00")),
		entry("labeller", "", `{"f:metadata":{"f:labels":{"f:b":{}}}}`, at("12:06:00")),
		entry("suspender", "", `{"f:spec":{"f:suspend":{}}}`, at("12:07:00")),
		entry("carillon", "status", `{"f:status":{"f:active":{}}}`, at("12:08:00")),
		entry("garbage", "", `not JSON`, at("12:09:00")),
		{Manager: "no time", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:schedule":{}}}`)},
	}
	whole, _, _, err := kinds.Kind{}.Read(cj)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Trim(cj); err != nil {
		t.Fatal(err)
	}
	trimmed, _, _, err := kinds.Kind{}.Read(cj)
	if err != nil {
		t.Fatal(err)
	}
	if whole != trimmed || !trimmed.Touched.Equal(at("12:05:00")) {
		t.Errorf("read %+v from the trimmed object, %+v from the whole one", trimmed, whole)
	}
	if len(cj.ManagedFields) != 2 {
		t.Errorf("%d entries kept, want 2", len(cj.ManagedFields))
	}
	if got := cj.ManagedFields[0].FieldsV1.GetRawString(); got != `{"f:spec":{"f:schedule":{}}}` {
		t.Errorf("kept %s", got)
	}
}

// Objects without a schedule lose all of it, also in tombstones; what is no object passes.
func TestTrim(t *testing.T) {
	job := make.Job("batch", "x").Obj()
	job.ManagedFields = []metav1.ManagedFieldsEntry{entry("kubectl", "", `{"f:spec":{"f:completions":{}}}`, at("12:04:00"))}
	if _, err := Trim(toolscache.DeletedFinalStateUnknown{Key: "batch/x", Obj: job}); err != nil {
		t.Fatal(err)
	}
	if len(job.ManagedFields) != 0 {
		t.Error("managed fields of a Job were kept")
	}
	if got, err := Trim("garbage"); got != "garbage" || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

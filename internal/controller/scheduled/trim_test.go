// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	kinds "github.com/carillon-dev/carillon/internal/kind/batchv1"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

func entry(manager, subresource, fields string, when time.Time) metav1.ManagedFieldsEntry {
	at := metav1.NewTime(when)
	return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, Time: &at, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
}

// trim is that of a cache for batch/v1.
var trim = Trim(kinds.Kind{})

// almanac is a kind with field names of its own.
type almanac struct{ kinds.Kind }

func (almanac) Info() kind.Info {
	info := kinds.Kind{}.Info()
	info.ScheduleFields, info.LastScheduleField, info.LastSuccessField = []string{"timetable", "place"}, "lastStart", ""
	return info
}

// Of managed fields the cache keeps exactly what tells when the schedule was last written, whatever its kind calls the
// fields, so a decision on the trimmed object is the one on the whole.
func TestTrimKeepsWhoWroteTheSchedule(t *testing.T) {
	for _, k := range append([]kind.Kind{almanac{}}, kind.All...) {
		t.Run(strings.Join(k.Info().ScheduleFields, " "), func(t *testing.T) {
			info := k.Info()
			first, last := info.ScheduleFields[0], info.ScheduleFields[len(info.ScheduleFields)-1]
			cj := tick().Obj()
			cj.ManagedFields = []metav1.ManagedFieldsEntry{
				entry("kubectl", "", `{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:`+first+`":{"f:deeper":{}},"f:suspend":{}}}`, at("12:04:00")),
				entry("helm", "", `{"f:spec":{"f:`+last+`":{}}}`, at("12:05:00")),
				entry("labeller", "", `{"f:metadata":{"f:labels":{"f:b":{}}}}`, at("12:06:00")),
				entry("suspender", "", `{"f:spec":{"f:suspend":{}}}`, at("12:07:00")),
				entry("carillon", "status", `{"f:status":{"f:active":{}}}`, at("12:08:00")),
				entry("garbage", "", `not JSON`, at("12:09:00")),
				{Manager: "no time", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:` + first + `":{}}}`)},
			}
			whole := adapter.Owner(cj, info)
			if _, err := Trim(k)(cj); err != nil {
				t.Fatal(err)
			}
			trimmed := adapter.Owner(cj, info)
			if whole != trimmed || !trimmed.ScheduleUnchangedSince.Equal(at("12:05:00")) {
				t.Errorf("read %+v from the trimmed object, %+v from the whole one", trimmed, whole)
			}
			if len(cj.ManagedFields) != 2 {
				t.Errorf("%d entries kept, want 2", len(cj.ManagedFields))
			}
			if got := cj.ManagedFields[0].FieldsV1.GetRawString(); got != `{"f:spec":{"f:`+first+`":{}}}` {
				t.Errorf("kept %s", got)
			}
		})
	}
}

// Another controller is known by the fields that its kind has for a controller's writes.
func TestTrimKeepsWhoWroteTheStatus(t *testing.T) {
	for _, k := range append([]kind.Kind{almanac{}}, kind.All...) {
		for _, field := range []string{k.Info().LastScheduleField, k.Info().LastSuccessField} {
			if field == "" {
				continue
			}
			cj := tick().Obj()
			cj.ManagedFields = []metav1.ManagedFieldsEntry{
				entry("another", "status", `{"f:status":{"f:`+field+`":{},"f:active":{}}}`, at("12:04:00")),
				entry("policy", "status", `{"f:status":{"f:conditions":{}}}`, at("12:04:00")),
			}
			if _, err := Trim(k)(cj); err != nil {
				t.Fatal(err)
			}
			if len(cj.ManagedFields) != 1 || cj.ManagedFields[0].FieldsV1.GetRawString() != `{"f:status":{"f:`+field+`":{}}}` {
				t.Errorf("%s: kept %v", field, cj.ManagedFields)
			}
		}
	}
}

// What is known of managed fields survives in the form for caches, and there is nothing left to trim.
func TestTrimCompacts(t *testing.T) {
	k := kinds.Kind{}
	cj := tick().Obj()
	cj.ManagedFields = []metav1.ManagedFieldsEntry{
		entry("kubectl", "", `{"f:spec":{"f:schedule":{}}}`, at("12:05:00")),
		entry("another", "status", `{"f:status":{"f:lastScheduleTime":{}}}`, at("12:06:00")),
		entry("carillon-manager", "status", `{"f:status":{"f:lastScheduleTime":{}}}`, at("12:07:00")),
	}
	got, err := trim(cj)
	if err != nil {
		t.Fatal(err)
	}
	again, err := trim(toolscache.DeletedFinalStateUnknown{Key: "batch/tick", Obj: got})
	if err != nil || again.(toolscache.DeletedFinalStateUnknown).Obj != got {
		t.Errorf("trimmed again: %v, %v", again, err)
	}
	cached := got.(kind.Object)
	owner, _, _, err := k.Read(cached, kind.ReadOptions{})
	if err != nil || !owner.ScheduleUnchangedSince.Equal(at("12:05:00")) {
		t.Errorf("the schedule is unchanged since %v, %v", owner.ScheduleUnchangedSince, err)
	}
	if fields := cached.GetManagedFields(); len(fields) != 1 || fields[0].Manager != "another" || fields[0].Subresource != "status" || !fields[0].Time.Equal(cj.ManagedFields[1].Time) {
		t.Errorf("writers of the status: %v", fields)
	}
}

// Objects without a schedule lose all of it, also in tombstones; what is no object passes.
func TestTrim(t *testing.T) {
	job := make.Job("batch", "x").Obj()
	job.ManagedFields = []metav1.ManagedFieldsEntry{entry("kubectl", "", `{"f:spec":{"f:completions":{}}}`, at("12:04:00"))}
	if _, err := trim(toolscache.DeletedFinalStateUnknown{Key: "batch/x", Obj: job}); err != nil {
		t.Fatal(err)
	}
	if len(job.ManagedFields) != 0 {
		t.Error("managed fields of a Job were kept")
	}
	if got, err := trim("garbage"); got != "garbage" || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/kindtest"
	"github.com/carillon-dev/carillon/internal/testkit/vectors"
)

// What the schema admits the Go types can read, however odd: one object that they could not read would keep a typed
// client from all others.
func TestAdmittedTextIsReadProperties(t *testing.T) {
	definition := crd(t, "timetables")
	shortest := vectors.Timetable(t)
	rapid.Check(t, func(rt *rapid.T) {
		spec := map[string]any{
			"jitter": rapid.StringMatching(`([0-9]{1,3}[hms]){1,3}|[0-9a-z.µ]{0,6}|-?1h`).Draw(rt, "jitter"),
			"window": map[string]any{
				"notAfter":  rapid.StringMatching(`2999-1[0-9]-[0-3][0-9][Tt ][0-9]{2}:[0-6][0-9]:[0-6][0-9]([.,:][0-9]{1,12})?(Z|z|[+-][0-9]{2}:[0-9]{2})`).Draw(rt, "notAfter"),
				"notBefore": rapid.SampledFrom([]string{"2026-05-04T12:00:00Z", "2026-05-04t12:00:00Z", "2026-05-04T12:00:00", "2026-05-04", ""}).Draw(rt, "notBefore"),
			},
		}
		for _, field := range []string{"jitter", "window"} {
			obj := runtime.DeepCopyJSON(shortest)
			obj["spec"].(map[string]any)[field] = spec[field]
			if admits(t, definition, obj) {
				readable(rt, obj)
			}
		}
	})
}

func admits(t *testing.T, definition *kindtest.CRD, obj map[string]any) bool {
	t.Helper()
	return len(definition.Admit(t, obj)) == 0
}

func readable(rt *rapid.T, obj map[string]any) {
	data, err := json.Marshal(obj)
	if err != nil {
		rt.Fatal(err)
	}
	var timetable v1alpha1.Timetable
	if err := json.Unmarshal(data, &timetable); err != nil {
		rt.Fatalf("%v:\n%s", err, data)
	}
	if jitter := timetable.Spec.Jitter; jitter != nil {
		if d, err := time.ParseDuration(string(*jitter)); err != nil || d < 0 || d > 24*time.Hour {
			rt.Fatalf("jitter %s: %v, %v", *jitter, d, err)
		}
	}
}

// A period that the schema admits has an order, and dates that are at least in some year.
func TestAdmittedPeriodsProperties(t *testing.T) {
	definition := crd(t, "calendars")
	date := rapid.StringMatching(`(202[67]-)?[01][0-9]-[0-3][0-9](T[0-2][0-9]:[0-6][0-9])?`)
	rapid.Check(t, func(rt *rapid.T) {
		from, to := date.Draw(rt, "from"), date.Draw(rt, "to")
		text := rapid.SampledFrom([]string{from, from + "/" + to}).Draw(rt, "period")
		obj := vectors.Decode(t, "{apiVersion: batch.carillon.dev/v1alpha1, kind: Calendar, metadata: {name: c}, spec: {periods: []}}")
		obj["spec"].(map[string]any)["periods"] = []any{map[string]any{"period": text}}
		if got, want := admits(t, definition, obj), periodIsFit(text); got != want {
			rt.Fatalf("%s is admitted: %t, want %t", text, got, want)
		}
	})
}

// periodIsFit is a second reading of what the contract says of a period: both ends have one form, dates exist (29
// February in any year), and the end is not before the begin. A period that comes every year may wrap.
func periodIsFit(text string) bool {
	from, to, span := strings.Cut(text, "/")
	if !span {
		to = from
	}
	if len(from) != len(to) {
		return false
	}
	layout, prefix := map[int]string{5: "2006-01-02", 10: "2006-01-02", 16: "2006-01-02T15:04"}[len(from)], ""
	if len(from) == 5 {
		prefix = "2024-"
	}
	if layout == "" || len(from) == 16 && !span {
		return false
	}
	for _, end := range []string{from, to} {
		end = strings.Replace(end, "-02-29", "-02-28", 1) // checked by the controller, which knows the year
		if _, err := time.Parse(layout, prefix+end); err != nil {
			return false
		}
	}
	switch len(from) {
	case 16:
		return from < to
	case 10:
		return from <= to
	}
	return true
}

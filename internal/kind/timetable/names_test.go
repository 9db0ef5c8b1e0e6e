// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// The name vectors of timetable-vectors.json (TT-016).
func TestNameVectors(t *testing.T) {
	text, err := os.ReadFile("../../../docs/contract/timetable-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Names []struct {
			Timetable, Kind, Child string
			Time                   time.Time
			UID                    types.UID
			Attempt                int32
		}
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Names) < 5 {
		t.Fatalf("only %d vectors", len(vectors.Names))
	}
	for _, v := range vectors.Names {
		var run string
		switch v.Kind {
		case "scheduled":
			run = timetable.RunName(v.Timetable, v.Time)
		case "manual":
			run = timetable.ManualRunName(v.Timetable, v.UID)
		case "backfill":
			run = timetable.BackfillRunName(v.Timetable, v.UID, v.Time)
		}
		if got := timetable.ChildName(run, v.Attempt); got != v.Child {
			t.Errorf("%+v: %s", v, got)
		}
	}
}

// Whatever the Timetable, the time and the attempt, a name is a DNS label of at most 58 characters, and another one of
// them has another name.
func TestNamesAreLabels(t *testing.T) {
	type key struct {
		kind, timetable, request string
		unix                     int64
		attempt                  int32
	}
	draw := rapid.Custom(func(t *rapid.T) key {
		return key{
			kind: rapid.SampledFrom([]string{"scheduled", "scheduled", "manual", "backfill"}).Draw(t, "kind"),
			timetable: rapid.OneOf(rapid.SampledFrom([]string{"a", strings.Repeat("a", 30), strings.Repeat("a", 31), strings.Repeat("a-", 15) + "b"}),
				rapid.StringMatching("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")).Draw(t, "timetable"),
			request: rapid.StringMatching("[0-9a-f]{2}").Draw(t, "request"),
			unix:    rapid.Int64Range(0, 7258118399).Draw(t, "time"), // the last second of 2199
			attempt: int32(rapid.IntRange(1, 11).Draw(t, "attempt")),
		}
	})
	name := func(k key) string {
		at := time.Unix(k.unix, 0)
		switch k.kind {
		case "manual":
			return timetable.ChildName(timetable.ManualRunName(k.timetable, types.UID(k.request)), k.attempt)
		case "backfill":
			return timetable.ChildName(timetable.BackfillRunName(k.timetable, types.UID(k.request), at), k.attempt)
		}
		return timetable.ChildName(timetable.RunName(k.timetable, at), k.attempt)
	}
	rapid.Check(t, func(t *rapid.T) {
		a := draw.Draw(t, "a")
		b := a
		switch other := draw.Draw(t, "b"); rapid.SampledFrom([]string{"all", "time", "attempt", "request", "kind"}).Draw(t, "differ in") {
		case "all":
			b = other
		case "time":
			b.unix = other.unix
		case "attempt":
			b.attempt = other.attempt
		case "request":
			b.request = other.request
		case "kind":
			b.kind = other.kind
		}
		for _, k := range []*key{&a, &b} {
			if k.kind == "manual" {
				k.unix = 0
			}
			if k.kind == "scheduled" {
				k.request = ""
			}
		}
		if got := name(a); len(got) > 58 || len(validation.IsDNS1123Label(got)) > 0 {
			t.Fatalf("%+v: %s has %d characters: %v", a, got, len(got), validation.IsDNS1123Label(got))
		}
		if a.timetable == b.timetable && (a == b) != (name(a) == name(b)) {
			t.Fatalf("%+v and %+v: %s and %s", a, b, name(a), name(b))
		}
	})
}

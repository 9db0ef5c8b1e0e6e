// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

type vector struct {
	ID, Namespace, Timetable, TimeZone string
	DST                                schedule.DST
	Schedules                          []timeset.Item
	Exclude                            []string
	Window                             struct{ NotBefore, NotAfter time.Time }
	JitterSeconds                      int
	From                               time.Time
	Next, StartsAt                     []time.Time
	Names                              [][]string
}

func readVectors(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "contract", "timetable-vectors.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Schedule []vector }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Schedule) < 125 {
		t.Fatalf("only %d vectors", len(file.Schedule))
	}
	return file.Schedule
}

func (v vector) spec() timeset.Spec {
	spec := timeset.Spec{
		Hash: schedule.Hash{Namespace: v.Namespace, Name: v.Timetable}, TimeZone: v.TimeZone, DST: v.DST, Items: v.Schedules,
		NotBefore: v.Window.NotBefore, NotAfter: v.Window.NotAfter, Jitter: time.Duration(v.JitterSeconds) * time.Second,
	}
	for _, period := range v.Exclude {
		spec.Exclude = append(spec.Exclude, timeset.Exclusion{Period: period})
	}
	return spec
}

// The next times after an instant, their names and planned starts are those of the contract (TT-116): all vectors of
// its section 11.
func TestVectors(t *testing.T) {
	for _, v := range readVectors(t) {
		t.Run(v.ID, func(t *testing.T) {
			set, err := timeset.Compile(v.spec())
			if obstacle, ok := errors.AsType[*timeset.Obstacle](err); ok && obstacle.Reason == timeset.NeverFires && len(v.Next) == 0 {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			from := v.From
			for i, want := range v.Next {
				next := set.Next(from)
				if !next.Equal(want) {
					t.Fatalf("after %v comes %v, want %v", from, next, want)
				}
				if names := set.Names(next); v.Names != nil && !slices.Equal(names, v.Names[i]) {
					t.Errorf("names of %v: %v, want %v", next, names, v.Names[i])
				}
				if v.StartsAt != nil && !set.PlannedStart(next).Equal(v.StartsAt[i]) {
					t.Errorf("planned start of %v: %v, want %v", next, set.PlannedStart(next), v.StartsAt[i])
				}
				from = next
			}
			next, end := set.Search(from)
			switch {
			case len(v.Next) == 3:
			case v.ID == "XX-07" && end != timeset.GaveUp:
				t.Errorf("the search ends with %v, %v", next, end)
			case v.ID != "XX-07" && end != timeset.NoMoreTimes:
				t.Errorf("after the last one comes %v, %v", next, end)
			}
			if n := set.Count(v.From, from); n != len(v.Next) {
				t.Errorf("Count(%v, %v) = %d", v.From, from, n)
			}
		})
	}
}

// Any jitter of a Timetable with times far apart is its hashed offset: the vectors of jitter.
func TestJitterOffsets(t *testing.T) {
	for name, want := range map[string][2]time.Duration{
		"ops/nightly": {34 * time.Second, 3059 * time.Second},
		"ops/tick":    {40 * time.Second, 3425 * time.Second},
		"dev/nightly": {15 * time.Second, 597 * time.Second},
	} {
		namespace, name, _ := strings.Cut(name, "/")
		spec := timeset.Spec{
			Hash:  schedule.Hash{Namespace: namespace, Name: name},
			Items: []timeset.Item{{Every: "24h"}},
		}
		at := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)
		for i, jitter := range []time.Duration{5 * time.Minute, time.Hour} {
			spec.Jitter = jitter
			if got := mustCompile(t, spec).PlannedStart(at).Sub(at); got != want[i] {
				t.Errorf("%s/%s with jitter %v: %v, want %v", namespace, name, jitter, got, want[i])
			}
		}
	}
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func mustCompile(t fataler, spec timeset.Spec) *timeset.Set {
	t.Helper()
	set, err := timeset.Compile(spec)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return set
}

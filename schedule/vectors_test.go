// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-dev/carillon/schedule"
)

type parseVectors struct {
	Parse []struct {
		Schedule     string
		Valid        bool
		Why          string
		EverySeconds *int64
		Next         *time.Time `json:"nextAfter2026-01-01T00:00:00Z"`
	}
	Sequences []struct {
		Name     string
		Schedule string
		TimeZone string
		From     time.Time
		Next     []time.Time
	}
}

type cronVector struct {
	Name            string
	Schedule        string
	TimeZone        string
	Creation        time.Time
	LastSchedule    *time.Time
	DeadlineSeconds *int64
	Now             time.Time
	ProcessTimeZone string
	Expect          struct {
		MostRecent                 *time.Time
		ExactMostRecent            *time.Time
		MostRecentIgnoringDeadline *time.Time
		MissedClass                string
		NextRequeueNanos           int64
		Earliest                   time.Time
		Unsatisfiable              bool
		Listing                    *struct {
			UnmetCount int
			LastMissed *time.Time
			Next       *time.Time
			Error      *string
		}
	}
}

func readVectors(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile("../docs/contract/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func mustParse(t fataler, expr string, loc *time.Location) schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse(expr, loc)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustLoad(t fataler, zone string) *time.Location {
	t.Helper()
	loc, err := schedule.LoadZone(zone)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// CJ-016: every schedule text of the contract parses or fails as it says, and
// fires first where it says.
func TestParseVectors(t *testing.T) {
	var vectors parseVectors
	readVectors(t, "cron-parse-vectors.json", &vectors)
	if len(vectors.Parse) < 70 {
		t.Fatalf("only %d vectors", len(vectors.Parse))
	}
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, v := range vectors.Parse {
		t.Run(v.Schedule, func(t *testing.T) {
			s, err := schedule.Parse(v.Schedule, time.UTC)
			if (err == nil) != v.Valid {
				t.Fatalf("error = %v, want valid = %v (%s)", err, v.Valid, v.Why)
			}
			if err != nil {
				return
			}
			var want time.Time
			if v.Next != nil {
				want = *v.Next
			}
			if got := s.Next(from); !got.Equal(want) {
				t.Errorf("Next = %v, want %v", got, want)
			}
			if got := s.Satisfiable(); got != (v.Next != nil) {
				t.Errorf("Satisfiable = %v", got)
			}
			period, ok := s.Every()
			if ok != (v.EverySeconds != nil) || ok && period != time.Duration(*v.EverySeconds)*time.Second {
				t.Errorf("Every = %v, %v", period, ok)
			}
		})
	}
}

// CJ-016, S01 to S22: a schedule fires at these instants one after the other, also
// across changes of the clock, and the same looking back.
func TestSequences(t *testing.T) {
	var vectors parseVectors
	readVectors(t, "cron-parse-vectors.json", &vectors)
	if len(vectors.Sequences) < 22 {
		t.Fatalf("only %d sequences", len(vectors.Sequences))
	}
	for _, v := range vectors.Sequences {
		t.Run(v.Name, func(t *testing.T) {
			s := mustParse(t, v.Schedule, mustLoad(t, v.TimeZone))
			last := v.Next[len(v.Next)-1]

			var next []time.Time
			for tick := s.Next(v.From); len(next) < len(v.Next); tick = s.Next(tick) {
				next = append(next, tick)
			}
			if diff := cmp.Diff(v.Next, next); diff != "" {
				t.Errorf("Next (-want +got):\n%s", diff)
			}

			var between []time.Time
			for tick := range s.Between(v.From, last) {
				between = append(between, tick)
			}
			if diff := cmp.Diff(v.Next, between); diff != "" {
				t.Errorf("Between (-want +got):\n%s", diff)
			}

			if got := s.Count(v.From, last); got != len(v.Next) {
				t.Errorf("Count = %d, want %d", got, len(v.Next))
			}
			if got := s.LastBetween(v.From, last); !got.Equal(last) {
				t.Errorf("LastBetween = %v, want %v", got, last)
			}
			for i := len(v.Next) - 1; i > 0; i-- {
				if got := s.Prev(v.Next[i]); !got.Equal(v.Next[i-1]) {
					t.Errorf("Prev(%v) = %v, want %v", v.Next[i], got, v.Next[i-1])
				}
			}
		})
	}
}

// CJ-015 with decisions Q2 and B5: for each vector the last missed time, the class
// of how many were missed, and the next wake-up follow from this package's answers.
// The exact last tick counts where the contract's estimate would lose a run.
func TestCronVectors(t *testing.T) {
	var vectors []cronVector
	readVectors(t, "cron-vectors.json", &vectors)
	if len(vectors) < 88 {
		t.Fatalf("only %d vectors", len(vectors))
	}
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			zone := v.TimeZone
			if zone == "" {
				zone = v.ProcessTimeZone
			}
			s := mustParse(t, v.Schedule, mustLoad(t, zone))
			if s.Satisfiable() == v.Expect.Unsatisfiable {
				t.Fatalf("Satisfiable = %v", s.Satisfiable())
			}
			if v.Expect.Unsatisfiable {
				if got := s.Count(v.Creation, v.Now); got != 0 {
					t.Errorf("Count = %d", got)
				}
				return
			}

			base := v.Creation
			if v.LastSchedule != nil {
				base = *v.LastSchedule
			}
			want := v.Expect.MostRecent
			wantIgnoring := v.Expect.MostRecentIgnoringDeadline
			if v.Expect.ExactMostRecent != nil {
				want, wantIgnoring = v.Expect.ExactMostRecent, v.Expect.ExactMostRecent
			}
			earliest := v.Expect.Earliest
			equalOrZero(t, "last tick", s.LastBetween(earliest, v.Now), want)
			equalOrZero(t, "last tick without a deadline", s.LastBetween(base, v.Now), wantIgnoring)

			class := "none"
			switch n := s.Count(earliest, v.Now); {
			case n > 100:
				class = "many"
			case n > 1:
				class = "few"
			}
			if class != v.Expect.MissedClass && v.Expect.ExactMostRecent == nil {
				t.Errorf("class = %s (%d ticks), want %s", class, s.Count(earliest, v.Now), v.Expect.MissedClass)
			}

			if v.Expect.ExactMostRecent == nil {
				const pad = 100 * time.Millisecond
				from := s.LastBetween(base, v.Now)
				if from.IsZero() {
					from = base
				}
				if got := s.Next(from).Add(pad).Sub(v.Now); got != time.Duration(v.Expect.NextRequeueNanos) {
					t.Errorf("wake-up in %v, want %v", got, time.Duration(v.Expect.NextRequeueNanos))
				}
			}

			if l := v.Expect.Listing; l != nil {
				n := 0
				for range s.Between(earliest, v.Now) {
					if n++; n > 100 {
						break
					}
				}
				if l.Error != nil {
					if n != 101 {
						t.Errorf("%d ticks listed, want too many", n)
					}
				} else {
					if n != l.UnmetCount {
						t.Errorf("%d ticks listed, want %d", n, l.UnmetCount)
					}
					equalOrZero(t, "last listed", s.LastBetween(earliest, v.Now), l.LastMissed)
					equalOrZero(t, "next after now", s.Next(v.Now), l.Next)
				}
			}
		})
	}
}

func equalOrZero(t *testing.T, what string, got time.Time, want *time.Time) {
	t.Helper()
	if want == nil && !got.IsZero() || want != nil && !got.Equal(*want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// Instants are limited, so that no span overflows a count.
func TestCountOfEverything(t *testing.T) {
	s := mustParse(t, "@every 1s", nil)
	got := s.Count(time.Unix(math.MinInt64/2, 0), time.Unix(math.MaxInt64/2, 0))
	if want := 1 << 56; got != want {
		t.Errorf("Count = %d, want %d", got, want)
	}
}

// fataler is what testing.TB and rapid.T have in common.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/carillon-dev/carillon/internal/kind/kindtest"
	"github.com/carillon-dev/carillon/internal/testkit/vectors"
	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// The schema refuses nothing that the controller can read, and for periods and durations it admits nothing else, but
// for 29 February, which needs the year.
func FuzzSchemaAgreesWithReaders(f *testing.F) {
	for _, text := range []string{
		"* * * * *", "\t 0 0 2 * * ? 2027 ", "@daily", "@every 5m", "TZ=UTC 0 2 * * *", "H(1-5)/2 H lW,15w,L-3 nov-FEB 5#2,friL", "22-2/2 ,5 +1 * *",
		"2026-12-25", "2026-12-24/2027-01-02", "12-25", "12-24/01-02", "2026-12-24T18:00/2026-12-27T06:00", "02-29", "2027-02-29", "2026-12-25/2026-12-24",
		"2027-03-01T14:00", "2027-03-01T14:00:30+02:00", "2027-03-01T14:00Z", "2027-02-30T14:00",
		"1h30m", "90m", "1d", "99999h99999m99999s", "0s", "", "1m1h", "100000s",
	} {
		f.Add(text)
	}
	var definition *kindtest.CRD
	f.Fuzz(func(t *testing.T, text string) {
		if definition == nil {
			definition = crd(t, "timetables")
		}
		if !utf8.ValidString(text) {
			t.Skip("JSON has no such text")
		}
		admitted := func(field string, value any) bool {
			obj := vectors.Timetable(t)
			obj["spec"].(map[string]any)[field] = value
			return admits(t, definition, obj)
		}
		if _, err := schedule.Compile(schedule.Item{Name: "main", Cron: text}, schedule.Options{}); err == nil && utf8.RuneCountInString(text) <= 256 &&
			!admitted("schedules", []any{map[string]any{"cron": text}}) {
			t.Errorf("cron %q can be read and is refused", text)
		}
		if moment, err := timeset.ParseMoment(text); err == nil && !moment.DateOnly && !admitted("schedules", []any{map[string]any{"at": []any{text}}}) {
			t.Errorf("moment %q can be read and is refused", text)
		}
		if _, err := timeset.ParseDuration(text); (err == nil) != admitted("lateAfter", text) {
			t.Errorf("duration %q is read with the error %v, and admitted: %t", text, err, err != nil)
		}
		_, err := timeset.ParsePeriod(text)
		if (err == nil) != admitted("exclude", []any{map[string]any{"period": text}}) && !strings.Contains(text, "-02-29") {
			t.Errorf("period %q is read with the error %v, and admitted: %t", text, err, err != nil)
		}
	})
}

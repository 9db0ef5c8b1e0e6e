// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/plan/forecast"
)

// A picture fits the terminal, marks the peak, shows every start, and is ASCII where that is asked, for whatever is
// forecast, in whatever zone; and the one for documents is XML.
func TestPictures(t *testing.T) {
	zoneNames := rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo"})
	rapid.Check(t, func(r *rapid.T) {
		minutes := rapid.SampledFrom([]int{1, 7, 60, 90, 1440, 1500, 10080, 44640}).Draw(r, "minutes")
		numbers := make([]int64, minutes)
		for range rapid.IntRange(0, 20).Draw(r, "starts") {
			numbers[rapid.IntRange(0, minutes-1).Draw(r, "minute")] += rapid.SampledFrom([]int64{1, 1, 2, 30, 100000}).Draw(r, "number")
		}
		zone, err := time.LoadLocation(zoneNames.Draw(r, "zone"))
		if err != nil {
			r.Fatal(err)
		}
		f := &forecast.Forecast{From: froms.Draw(r, "from"), Starts: numbers, Running: numbers}
		o := forecast.ChartOptions{Zone: zone, Width: rapid.IntRange(0, 250).Draw(r, "width"), ASCII: rapid.Bool().Draw(r, "ASCII")}
		rows := f.Chart(o)
		text := strings.Join(rows, "\n")
		for _, row := range rows {
			if n := utf8.RuneCountInString(row); n > max(o.Width, 40) {
				r.Fatalf("a row has %d columns of %d: %q", n, o.Width, row)
			}
		}
		if o.ASCII && len(text) != utf8.RuneCountInString(text) {
			r.Fatalf("it is not ASCII: %s", text)
		}
		peak := f.Summary().Starts
		if want := fmt.Sprintf("%d at ", peak.Number); peak.Number > 0 && !strings.Contains(rows[0], want) {
			r.Fatalf("the peak is not told: %q", rows[0])
		}
		// The lowest row of bars has one in each column with a start.
		lowest, columns := []rune(rows[8]), map[int]bool{}
		for n, starts := range numbers {
			if starts > 0 {
				columns[n/f.ColumnMinutes(o)] = true
			}
		}
		shown := 0
		for _, c := range lowest[strings.IndexAny(string(lowest), "┤|")+1:] {
			if c != ' ' && c != '┤' {
				shown++
			}
		}
		if shown != len(columns) {
			r.Fatalf("%d columns have bars, want %d:\n%s", shown, len(columns), text)
		}
		for d := xml.NewDecoder(strings.NewReader(f.SVG(zone))); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				r.Fatal(err)
			}
		}
	})
}
